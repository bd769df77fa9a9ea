// Equality, order and hash of sets. They do not depend on container, width or placement. See set_intersect.h.
#include <algorithm>
#include <cstring>

#include "compact/compact_operations.h"
#include "set/set_decode.h"
#include "set/set_intersect.h"

namespace batmap {

namespace {

constexpr uint64_t kNothing = ~uint64_t{0};

/// Equal bytes mean equal sets; the reverse need not hold.
bool same_bytes(const SetView& a, const SetView& b, const CancelToken& cancel) {
  constexpr size_t kBytesPerPoll = 65536;
  if (a.bytes() != b.bytes()) return false;
  for (size_t at = 0; at < a.bytes(); at += kBytesPerPoll) {
    if (at > 0) cancel.throw_if_requested();
    if (std::memcmp(a.span().data() + at, b.span().data() + at, std::min(kBytesPerPoll, a.bytes() - at)) != 0) return false;
  }
  return true;
}

/// Lowers `min` to the smallest element of a that b lacks. Only elements below the current `min` are
/// looked up; the more the two sets differ, the sooner few are left.
void lower_to_first_missing(const SetView& a, const SetView& b, uint64_t& min, const CancelToken& cancel) {
  SetReader reader(a, best_set_kernel(), cancel);
  uint64_t chunk[kChunkElements];
  uint64_t members[kChunkElements];
  while (const size_t count = reader.next(chunk)) {
    const uint64_t* const end = std::remove_if(chunk, chunk + count, [&](uint64_t x) { return x >= min; });
    const uint64_t* const members_end =
        members + keep_members(b, {members, std::copy(static_cast<const uint64_t*>(chunk), end, members)});
    const uint64_t* member = members;
    for (const uint64_t* x = chunk; x != end; ++x) {
      if (member != members_end && *member == *x)
        ++member;
      else
        min = std::min(min, *x);
    }
  }
}

/// The 64-bit finaliser of MurmurHash3.
uint64_t mix(uint64_t x) {
  x = (x ^ x >> 33) * 0xff51afd7ed558ccd;
  x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53;
  return x ^ x >> 33;
}

}  // namespace

int compare(SetView a, SetView b, const ExecutionOptions& options) {
  if (a.is_compact() && b.is_compact()) return compare_compact(a.compact(), b.compact(), options.cancel);
  if (same_bytes(a, b, options.cancel)) return 0;
  uint64_t only_a = kNothing;
  lower_to_first_missing(a, b, only_a, options.cancel);
  uint64_t only_b = only_a;
  lower_to_first_missing(b, a, only_b, options.cancel);
  if (only_a == kNothing && only_b == kNothing) return 0;
  // The sequences agree up to the first difference. There, the set that has the element is smaller, unless
  // the other set has no more elements.
  if (only_b < only_a) return set_max(a, options.cancel).value_or(0) > only_b && !a.empty() ? 1 : -1;
  return set_max(b, options.cancel).value_or(0) > only_a && !b.empty() ? -1 : 1;
}

bool equal(SetView a, SetView b, const SetKernel& kernel, const CancelToken& cancel) {
  if (a.cardinality() != b.cardinality()) return false;
  if (same_bytes(a, b, cancel)) return true;
  // A set has one compact form.
  if (a.is_compact() && b.is_compact()) return false;
  return is_subset(a, b, kernel, cancel);
}

uint64_t hash(SetView set, uint64_t seed, const CancelToken& cancel) {
  uint64_t sum = 0;
  for_each_element(set, cancel, [&](uint64_t x) { sum += mix(x + seed + 0x9e3779b97f4a7c15); });
  return mix(sum ^ mix(set.cardinality() + seed));
}

}  // namespace batmap
