// Sorting by digits, and dropping duplicates. See sort_elements.h.
#include "core/sort_elements.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/polled.h"

namespace batmap {

namespace {

constexpr int kDigitBits = 11;
constexpr size_t kDigits = size_t{1} << kDigitBits;
constexpr size_t kRadixPays = 1024;  // elements
/// One pass of a least-significant-digit radix sort.
/// @return false if all digits are equal; then nothing is written
bool scatter_by_digit(std::span<const uint64_t> from, uint64_t* to, int shift, const CancelToken& cancel) {
  std::array<size_t, kDigits> offsets{};
  const auto digit = [shift](uint64_t x) { return x >> shift & (kDigits - 1); };
  in_parts(from.size(), cancel, [&](size_t begin, size_t end) {
    for (const uint64_t x : from.subspan(begin, end - begin)) ++offsets[digit(x)];
  });
  if (offsets[digit(from[0])] == from.size()) return false;
  size_t sum = 0;
  for (size_t& offset : offsets) sum += std::exchange(offset, sum);
  in_parts(from.size(), cancel, [&](size_t begin, size_t end) {
    for (const uint64_t x : from.subspan(begin, end - begin)) to[offsets[digit(x)]++] = x;
  });
  return true;
}

}  // namespace

void sort_elements(std::span<uint64_t> elements, const ExecutionOptions& options) {
  if (elements.size() < kRadixPays) {
    std::sort(elements.begin(), elements.end());
    return;
  }
  uint64_t all = 0;
  in_parts(elements.size(), options.cancel, [&](size_t begin, size_t end) {
    for (const uint64_t x : elements.subspan(begin, end - begin)) all |= x;
  });
  Buffer<uint64_t> scratch(*options.memory, elements.size());
  std::span<uint64_t> from = elements;
  std::span<uint64_t> to = scratch.span();
  for (int shift = 0; shift < 64 && all >> shift != 0; shift += kDigitBits)
    if (scatter_by_digit(from, to.data(), shift, options.cancel)) std::swap(from, to);
  if (from.data() == elements.data()) return;
  in_parts(from.size(), options.cancel,
           [&](size_t begin, size_t end) { std::copy(from.begin() + begin, from.begin() + end, elements.begin() + begin); });
}

size_t ascending_front(std::span<const uint64_t> elements, const CancelToken& cancel) {
  constexpr size_t kPart = 16384;  // a poll for each 128 KB: this may be the only pass
  size_t front = std::min<size_t>(elements.size(), 1);
  size_t end = 0;
  while (front >= end && end < elements.size()) {
    cancel.throw_if_requested();
    end = std::min(end + kPart, elements.size());
    while (front < end && elements[front - 1] < elements[front]) ++front;
  }
  return front;
}

void sort_distinct(GrowingBuffer<uint64_t>& elements, const ExecutionOptions& options) {
  size_t kept = ascending_front(elements.span(), options.cancel);
  if (kept == elements.size()) return;
  bool is_sorted = true;
  in_parts(elements.size(), options.cancel, [&](size_t begin, size_t end) {
    is_sorted = is_sorted && std::is_sorted(elements.begin() + (begin == 0 ? 0 : begin - 1), elements.begin() + end);
  });
  if (!is_sorted) {
    sort_elements({elements.begin(), elements.size()}, options);
    kept = 0;
  }
  size_t next = kept;
  in_parts(elements.size() - kept, options.cancel, [&](size_t begin, size_t end) {
    for (const size_t behind = next + (end - begin); next < behind; ++next)
      if (kept == 0 || elements[kept - 1] != elements[next]) elements[kept++] = elements[next];
  });
  elements.shrink(kept);
}

}  // namespace batmap
