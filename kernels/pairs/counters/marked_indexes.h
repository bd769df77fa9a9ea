// Marks some indexes of an array, visits them once in ascending order, and clears the marks. It avoids sorting the
// indexes. There is a bit for each index, a bit for each word of these bits, and a bit for each word of those. So
// few marks among many indexes cost little: a visit reads one word for every 262,144 indexes. Source: ours.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/memory.h"

namespace batmap {

class MarkedIndexes {
 public:
  MarkedIndexes(MemoryMeter& meter, size_t indexes)
      : marks_(meter, (indexes >> 6) + 1, Fill::kZero),
        words_(meter, (indexes >> 12) + 1, Fill::kZero),
        groups_(meter, (indexes >> 18) + 1, Fill::kZero) {}

  void mark(size_t index) {
    marks_[index >> 6] |= bit(index);
    words_[index >> 12] |= bit(index >> 6);
    groups_[index >> 18] |= bit(index >> 12);
  }

  /// Calls visit(index) for the marked indexes, ascending, and clears their marks.
  template <typename Visit>
  void visit(Visit visit) {
    const auto visit_words = [&](size_t word) { take_bits(marks_, word, visit); };
    const auto visit_groups = [&](size_t group) { take_bits(words_, group, visit_words); };
    for (size_t k = 0; k < groups_.size(); ++k) take_bits(groups_, k, visit_groups);
  }

 private:
  static uint64_t bit(size_t index) { return uint64_t{1} << (index & 63); }

  /// Calls visit(index of the bit) for every set bit of a word, and clears the word.
  template <typename Visit>
  static void take_bits(Buffer<uint64_t>& level, size_t word, const Visit& visit) {
    for (uint64_t bits = std::exchange(level[word], 0); bits != 0; bits &= bits - 1)
      visit(word * 64 + static_cast<size_t>(std::countr_zero(bits)));
  }

  Buffer<uint64_t> marks_;
  Buffer<uint64_t> words_;   // one bit for each word of marks_: it is not zero
  Buffer<uint64_t> groups_;  // one bit for each word of words_: it is not zero
};

}  // namespace batmap
