// Order and hash of sets, independent of container, width and placement. See set_intersect.h.
#include <algorithm>
#include <cstring>

#include "set/set_decode.h"
#include "set/set_intersect.h"

namespace batmap {

namespace {

constexpr uint64_t kNothing = ~uint64_t{0};

/// Lowers `least` to the smallest element of a that b lacks. Only elements below the least so far are looked up; the larger
/// the difference of the two sets, the sooner these are few.
void lower_to_first_missing(const SetView& a, const SetView& b, uint64_t& least, const CancelToken& cancel) {
  SetReader reader(a);
  uint64_t chunk[kChunkElements];
  uint64_t members[kChunkElements];
  for (uint64_t chunks = 1; const size_t count = reader.next(chunk); ++chunks) {
    if (chunks % 128 == 0) cancel.throw_if_requested();
    const uint64_t* const end = std::remove_if(chunk, chunk + count, [&](uint64_t x) { return x >= least; });
    const uint64_t* const members_end =
        members + keep_members(b, {members, std::copy(static_cast<const uint64_t*>(chunk), end, members)});
    const uint64_t* member = members;
    for (const uint64_t* x = chunk; x != end; ++x) {
      if (member != members_end && *member == *x)
        ++member;
      else
        least = std::min(least, *x);
    }
  }
}

/// MurmurHash3's 64-bit finaliser.
uint64_t mix(uint64_t x) {
  x = (x ^ x >> 33) * 0xff51afd7ed558ccd;
  x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53;
  return x ^ x >> 33;
}

}  // namespace

int compare(SetView a, SetView b, const ExecutionOptions& options) {
  if (a.bytes() == b.bytes() && std::memcmp(a.span().data(), b.span().data(), a.bytes()) == 0) return 0;
  uint64_t only_a = kNothing;
  lower_to_first_missing(a, b, only_a, options.cancel);
  uint64_t only_b = only_a;
  lower_to_first_missing(b, a, only_b, options.cancel);
  if (only_a == kNothing && only_b == kNothing) return 0;
  // Up to the first difference the sequences agree. There the one that has the element is smaller, unless the other has
  // ended.
  if (only_b < only_a) return set_max(a).value_or(0) > only_b && !a.empty() ? 1 : -1;
  return set_max(b).value_or(0) > only_a && !b.empty() ? -1 : 1;
}

uint64_t hash(SetView set, uint64_t seed) {
  uint64_t sum = 0;
  for_each_element(set, [&](uint64_t x) { sum += mix(x + seed + 0x9e3779b97f4a7c15); });
  return mix(sum ^ mix(set.cardinality() + seed));
}

}  // namespace batmap
