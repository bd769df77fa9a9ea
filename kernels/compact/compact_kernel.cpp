// The portable kernel. See compact_kernel.h.
#include "compact/compact_kernel.h"

#include <bit>
#include <cstring>

#include "compact/compact_format.h"

namespace batmap {

namespace {

#include "compact/compact_kernel_body.h"

size_t count_common(const std::byte* a, size_t a_count, const std::byte* b, size_t b_count) {
  size_t count = 0;
  walk_elements(a, a_count, b, b_count, [&](uint16_t x, uint16_t y) { count += x == y; });
  return count;
}

size_t keep_common(const std::byte* a, size_t a_count, const std::byte* b, size_t b_count, uint16_t* out) {
  uint16_t* to = out;
  walk_elements(a, a_count, b, b_count, [&](uint16_t x, uint16_t y) {
    *to = x;
    to += x == y;
  });
  return static_cast<size_t>(to - out);
}

size_t keep_missing(const std::byte* a, size_t a_count, const std::byte* b, size_t b_count, uint16_t* out) {
  uint16_t* to = out;
  const Rests rests = walk_elements(a, a_count, b, b_count, [&](uint16_t x, uint16_t y) {
    *to = x;
    to += x < y;
  });
  return static_cast<size_t>(rests.a.copy_to(to) - out);
}

size_t keep_either(const std::byte* a, size_t a_count, const std::byte* b, size_t b_count, uint16_t* out) {
  return merge_rest(a, a_count, b, b_count, true, out);
}

size_t keep_single(const std::byte* a, size_t a_count, const std::byte* b, size_t b_count, uint16_t* out) {
  return merge_rest(a, a_count, b, b_count, false, out);
}

void mark_elements(const std::byte* array, size_t count, uint64_t* words) {
  std::memset(words, 0, kBitmapBlockBytes);
  mark_words_from(array, 0, count, words);
}

void combine_words(SetCombination operation, const std::byte* a, const std::byte* b, uint64_t* words) {
  // The smallest registers that the processors have which run this: two words.
  typedef uint64_t Words __attribute__((vector_size(16)));
  auto* const out = reinterpret_cast<std::byte*>(words);
  with_combination(operation, [&](auto combined) {
    for (size_t at = 0; at < kBitmapBlockBytes; at += sizeof(Words))
      store_le<Words>(out + at, combined(load_le<Words>(a + at), load_le<Words>(b + at)));
  });
}

uint32_t count_array_runs(const uint16_t* elements, size_t count) { return 1 + count_array_runs_from(elements, 1, count); }

}  // namespace

constinit const CompactKernel kCompactKernelScalar = {
    count_common,  keep_common,   keep_either,     keep_single,         keep_missing, count_array_runs,
    mark_elements, combine_words, count_word_runs, and_popcount_scalar, 32,           4096};

uint32_t CompactKernel::count_words(const std::byte* a, const std::byte* b) const {
  uint32_t count = 0;
  and_popcount({.rows = reinterpret_cast<const uint64_t*>(a),
                .row_stride = 0,
                .row_count = 1,
                .columns = reinterpret_cast<const uint64_t*>(b),
                .column_stride = 0,
                .column_count = 1,
                .words = kBitmapBlockWords,
                .counts = &count,
                .count_stride = 0});
  return count;
}

}  // namespace batmap
