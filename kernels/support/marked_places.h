// Places of an array that are to be visited in order, each once, and then forgotten: a bit for each place, and a bit for
// each word of these, so that few marks among many places cost little. Instead of sorting the places. Source: ours.
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
      : marks_(meter, places / 64 + 1, Fill::kZero), words_(meter, places / 4096 + 1, Fill::kZero) {}

  void mark(size_t place) {
    marks_[place / 64] |= uint64_t{1} << place % 64;
    words_[place / 4096] |= uint64_t{1} << place / 64 % 64;
  }

  /// Calls visit(place) for the marked places, ascending, and takes their marks away.
  template <typename Visit>
  void visit(Visit visit) {
    for (size_t k = 0; k < words_.size(); ++k) {
      for (uint64_t words = std::exchange(words_[k], 0); words != 0; words &= words - 1) {
        const size_t word = k * 64 + static_cast<size_t>(std::countr_zero(words));
        for (uint64_t marks = std::exchange(marks_[word], 0); marks != 0; marks &= marks - 1)
          visit(word * 64 + static_cast<size_t>(std::countr_zero(marks)));
      }
    }
  }

 private:
  Buffer<uint64_t> marks_;
  Buffer<uint64_t> words_;
};

}  // namespace batmap
