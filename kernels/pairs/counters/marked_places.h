// Marks some places of an array, visits them once in ascending order, and clears the marks. It avoids sorting the
// places. There is a bit for each place, a bit for each word of these bits, and a bit for each word of those. So
// few marks among many places cost little: a visit reads one word for every 262,144 places. Source: ours.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/memory.h"

namespace batmap {

class MarkedPlaces {
 public:
  MarkedPlaces(MemoryMeter& meter, size_t places)
      : marks_(meter, (places >> 6) + 1, Fill::kZero),
        words_(meter, (places >> 12) + 1, Fill::kZero),
        groups_(meter, (places >> 18) + 1, Fill::kZero) {}

  void mark(size_t place) {
    marks_[place >> 6] |= bit(place);
    words_[place >> 12] |= bit(place >> 6);
    groups_[place >> 18] |= bit(place >> 12);
  }

  /// Calls visit(place) for the marked places, ascending, and clears their marks.
  template <typename Visit>
  void visit(Visit visit) {
    const auto visit_words = [&](size_t word) { take_bits(marks_, word, visit); };
    const auto visit_groups = [&](size_t group) { take_bits(words_, group, visit_words); };
    for (size_t k = 0; k < groups_.size(); ++k) take_bits(groups_, k, visit_groups);
  }

 private:
  static uint64_t bit(size_t place) { return uint64_t{1} << (place & 63); }

  /// Calls visit(place of the bit) for every set bit of a word, and clears the word.
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
