// Starts and finishes bit-sliced counting; the portable kernel. See bit_row_sum.h.
#include "bits/bit_row_sum.h"

#include <algorithm>

namespace batmap {

namespace {

#include "bits/bit_row_sum_kernel.h"

struct Word {
  using Value = uint64_t;
  static constexpr size_t kWords = 1;
  static Value load(const uint64_t* at) { return *at; }
  static void store(uint64_t* at, Value value) { *at = value; }
  /// high, low = the two bits of a + b + c, for each bit position.
  static void add(Value& high, Value& low, Value a, Value b, Value c) {
    const Value either = a ^ b;
    high = (a & b) | (either & c);
    low = either ^ c;
  }
};

}  // namespace

void BitRowSum::start(size_t column_words) {
  words = column_words;
  groups = 0;
  levels = 4;
  for (int level = 0; level < levels; ++level) std::fill_n(plane[level], words, 0);
  std::fill_n(no_row, words, 0);
}

void BitRowSum::counts(size_t word, uint32_t (&out)[64]) const {
  // Eight columns at a time: the bits of a byte are spread over eight bytes, which eight levels fill.
  constexpr uint64_t kEachByte = 0x0101010101010101u;
  constexpr uint64_t kOwnBit = 0x8040201008040201u;
  std::fill_n(out, 64, 0u);
  for (int first = 0; first < levels; first += 8) {
    for (int byte = 0; byte < 8; ++byte) {
      uint64_t columns = 0;
      for (int level = first; level < std::min(first + 8, levels); ++level) {
        const uint64_t own = (plane[level][word] >> (8 * byte) & 0xff) * kEachByte & kOwnBit;
        columns |= ((own + 0x7f * kEachByte) >> 7 & kEachByte) << (level - first);
      }
      for (int i = 0; i < 8; ++i) out[8 * byte + i] |= static_cast<uint32_t>(columns >> (8 * i) & 0xff) << first;
    }
  }
}

void finish(BitRowSum& sum) {
  const int levels = sum.levels;
  uint64_t carry[BitRowSum::kMaxWords] = {};
  for (int level = 4; level < levels; ++level) {
    const bool waiting = sum.groups >> (level - 4) & 1;
    for (size_t w = 0; w < sum.words; ++w)
      Word::add(carry[w], sum.plane[level][w], sum.plane[level][w], waiting ? sum.pending[level][w] : 0, carry[w]);
  }
  if (std::all_of(carry, carry + sum.words, [](uint64_t bits) { return bits == 0; })) return;
  std::copy_n(carry, sum.words, sum.plane[sum.levels++]);
}

void add_bit_rows_scalar(BitRowSum& sum, const uint64_t* bits, size_t stride, const uint32_t* rows, size_t count) {
  add_rows_by_groups<Word>(sum, bits, stride, rows, count);
}

}  // namespace batmap
