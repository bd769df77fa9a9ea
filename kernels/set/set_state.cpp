// Compacts, merges and checks flat set states. See set_state.h.
#include "set/set_state.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <string>

#include "core/polled.h"

namespace batmap {

namespace {

constexpr uint8_t kVersion = 1;
constexpr int kMaxWidth = 62;
/// For fewer elements std::sort is faster than counting 256 buckets.
constexpr size_t kSmallSort = 512;
constexpr size_t kPollEvery = 1 << 16;

/// American flag sort by the byte at `shift`, then bucket by bucket by the lower bytes.
void sort_bytes(uint64_t* elements, size_t count, int shift, const CancelToken& cancel) {
  if (count < kSmallSort) {
    std::sort(elements, elements + count);
    return;
  }
  if (count >= kPollEvery) cancel.throw_if_requested();
  auto bucket_of = [shift](uint64_t element) { return static_cast<size_t>(element >> shift & 0xff); };
  std::array<size_t, 257> starts{};
  in_parts(count, cancel, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) ++starts[bucket_of(elements[i]) + 1];
  });
  for (size_t b = 0; b < 256; ++b) starts[b + 1] += starts[b];
  std::array<size_t, 256> next;
  std::copy_n(starts.begin(), 256, next.begin());
  size_t cycles = 0;
  for (size_t b = 0; b < 256; ++b) {
    while (next[b] < starts[b + 1]) {
      if (++cycles % kPollEvery == 0) cancel.throw_if_requested();
      uint64_t element = elements[next[b]];
      for (size_t home = bucket_of(element); home != b; home = bucket_of(element))
        std::swap(element, elements[next[home]++]);
      elements[next[b]++] = element;
    }
  }
  if (shift == 0) return;
  const int lower = std::max(shift - 8, 0);
  for (size_t b = 0; b < 256; ++b) sort_bytes(elements + starts[b], starts[b + 1] - starts[b], lower, cancel);
}

/// Keeps each element once, or only those that occur an odd number of times. @return how many are kept
size_t thin_out(uint64_t* elements, size_t count, bool odd_only, const CancelToken& cancel) {
  size_t kept = 0;
  size_t equal = 0;  // copies of the current element so far
  in_parts(count, cancel, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      ++equal;
      if (i + 1 < count && elements[i + 1] == elements[i]) continue;
      if (!odd_only || equal % 2 == 1) elements[kept++] = elements[i];
      equal = 0;
    }
  });
  return kept;
}

/// The fault of a header. @return nullptr if there is none
const char* header_fault(std::span<const std::byte> bytes) {
  if (bytes.size() < kStateHeaderBytes) return "too short";
  const StateHeader header = state_header(bytes.data());
  if (header.version != kVersion) return "unknown version";
  if (header.kind < StateKind::kUnion || header.kind > StateKind::kSymmetricDifference) return "unknown kind";
  if (header.width > kMaxWidth && header.width != kUndeclaredWidth) return "width out of range";
  if (header.zero != 0 || header.sorted > 1) return "unknown flags";
  if (header.kind == StateKind::kIntersection && header.sorted == 0) return "an intersection is not sorted";
  return bytes.size() < state_used(header) ? "number of elements and size disagree" : nullptr;
}

[[noreturn]] void fail(const char* what) {
  throw Error(ErrorCode::kInvalidData, std::string("invalid batmap_state: ") + what);
}

}  // namespace

void sort_in_place(std::span<uint64_t> elements, const CancelToken& cancel) {
  if (elements.empty()) return;
  uint64_t differing = 0;
  in_parts(elements.size(), cancel, [&](size_t begin, size_t end) {
    for (const uint64_t element : elements.subspan(begin, end - begin)) differing |= element ^ elements[0];
  });
  if (differing == 0) return;
  sort_bytes(elements.data(), elements.size(), std::max(static_cast<int>(std::bit_width(differing)) - 8, 0), cancel);
}

void state_init(std::byte* bytes, StateKind kind, uint8_t width) {
  set_state_header(bytes, {kVersion, kind, width, 0, 0, 1});
}

bool state_append(std::byte* bytes, size_t capacity, std::span<const uint64_t> elements) {
  StateHeader header = state_header(bytes);
  assert(header.kind != StateKind::kIntersection);
  if (elements.empty()) return true;
  if (capacity - state_used(header) < elements.size_bytes()) return false;
  const std::span<const uint64_t> old = state_elements(bytes);
  if (!old.empty() && elements.front() <= old.back()) header.sorted = 0;
  std::memcpy(bytes + state_used(header), elements.data(), elements.size_bytes());
  header.count += static_cast<uint32_t>(elements.size());
  set_state_header(bytes, header);
  return true;
}

void state_assign(std::byte* bytes, [[maybe_unused]] size_t capacity, std::span<const uint64_t> elements) {
  StateHeader header = state_header(bytes);
  assert(header.count == 0 && capacity >= state_bytes(elements.size()));
  if (elements.empty()) return;
  std::memcpy(bytes + kStateHeaderBytes, elements.data(), elements.size_bytes());
  header.count = static_cast<uint32_t>(elements.size());
  set_state_header(bytes, header);
}

void state_compact(std::byte* bytes, const CancelToken& cancel) {
  StateHeader header = state_header(bytes);
  if (header.sorted != 0) return;
  auto* const elements = reinterpret_cast<uint64_t*>(bytes + kStateHeaderBytes);
  sort_in_place({elements, header.count}, cancel);
  header.count =
      static_cast<uint32_t>(thin_out(elements, header.count, header.kind == StateKind::kSymmetricDifference, cancel));
  header.sorted = 1;
  set_state_header(bytes, header);
}

void state_intersect(std::byte* bytes, std::span<const uint64_t> elements) {
  const std::span<uint64_t> mine = state_elements(bytes);
  size_t kept = 0;
  size_t at = 0;
  for (const uint64_t element : mine) {
    while (at < elements.size() && elements[at] < element) ++at;
    if (at < elements.size() && elements[at] == element) mine[kept++] = element;
  }
  state_truncate(bytes, kept);
}

void state_truncate(std::byte* bytes, size_t count) {
  StateHeader header = state_header(bytes);
  assert(header.kind == StateKind::kIntersection && count <= header.count);
  header.count = static_cast<uint32_t>(count);
  set_state_header(bytes, header);
}

bool state_merge(std::byte* bytes, size_t capacity, const std::byte* other) {
  const StateHeader theirs = state_header(other);
  assert(state_header(bytes).kind == theirs.kind);
  if (theirs.kind == StateKind::kIntersection)
    state_intersect(bytes, state_elements(other));
  else if (!state_append(bytes, capacity, state_elements(other)))
    return false;
  StateHeader header = state_header(bytes);
  header.width = std::max(header.width, theirs.width);
  if (theirs.sorted == 0) header.sorted = 0;
  set_state_header(bytes, header);
  return true;
}

void state_finish(const std::byte* bytes, GrowingBuffer<uint64_t>& out, const CancelToken& cancel) {
  const StateHeader header = state_header(bytes);
  const std::span<const uint64_t> elements = state_elements(bytes);
  if (elements.empty()) return;
  const size_t before = out.size();
  uint64_t* const room = out.room(elements.size());
  in_parts(elements.size(), cancel,
           [&](size_t begin, size_t end) { std::memcpy(room + begin, elements.data() + begin, 8 * (end - begin)); });
  size_t count = elements.size();
  if (header.sorted == 0) {
    sort_in_place({room, count}, cancel);
    count = thin_out(room, count, header.kind == StateKind::kSymmetricDifference, cancel);
  }
  out.add(count);
  assert(out.size() == before + count);
  static_cast<void>(before);
}

bool is_set_state(std::span<const std::byte> bytes) { return header_fault(bytes) == nullptr; }

void state_validate(std::span<const std::byte> bytes) {
  if (const char* const fault = header_fault(bytes)) fail(fault);
  const StateHeader header = state_header(bytes.data());
  if (bytes.size() != state_used(header)) fail("number of elements and size disagree");
  const int width = header.width == kUndeclaredWidth ? kMaxWidth : header.width;
  uint64_t previous = 0;
  for (uint32_t i = 0; i < header.count; ++i) {
    uint64_t element;
    std::memcpy(&element, bytes.data() + state_bytes(i), sizeof element);
    if (element >> width != 0) fail("element out of range");
    if (header.sorted != 0 && i > 0 && element <= previous) fail("elements are not ascending");
    previous = element;
  }
}

}  // namespace batmap
