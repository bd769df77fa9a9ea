// Cuts the triangle or rectangle of pairs into tiles, so that what a tile compares stays in cache: strips of
// rows, each a task, and blocks of columns within a strip. Strips and blocks end before the bytes of their
// items exceed the second-level cache. Results of a strip come in order of (a, b). Source: Amossen & Pagh
// 2011, III-C; the sizes are ours.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/options.h"
#include "pairs/counters/pair_counter.h"

namespace batmap {

class Tiles {
 public:
  Tiles() = default;
  /// @param bytes_of  bytes_of(item): what one comparison of the item reads
  template <typename BytesOf>
  Tiles(uint32_t items, const WantedPairs& pairs, BytesOf bytes_of) : pairs_(pairs) {
    begin_.push_back(0);
    uint64_t bytes = 0;
    for (uint32_t item = 0; item < items; ++item) {
      if (item > begin_.back() && (bytes + bytes_of(item) > kBlockBytes || item - begin_.back() == kMaxItems)) {
        begin_.push_back(item);
        bytes = 0;
      }
      if (item == pairs.leading && item > begin_.back()) begin_.push_back(item), bytes = 0;
      if (item < pairs.leading) strips_ = begin_.size();
      bytes += bytes_of(item);
    }
    begin_.push_back(items);
  }

  size_t strips() const { return strips_; }
  /// Upper bound of the pairs that visit() appends, and as much room again for ordering them.
  uint64_t max_results() const { return uint64_t{2} * kMaxItems * begin_.back(); }

  /// Calls compare(a, b) for all wanted pairs of the strip, and appends those with a result above 0.
  template <typename Compare>
  void visit(size_t strip, const CancelToken& cancel, GrowingBuffer<PairCount>& out, Compare compare) const {
    const size_t first_found = out.size();
    for (size_t block = pairs_.rectangle() ? strips_ : strip; block + 1 < begin_.size(); ++block) {
      for (uint32_t a = begin_[strip]; a < begin_[strip + 1]; ++a) {
        cancel.throw_if_requested();
        for (uint32_t b = std::max(pairs_.first_after(a), begin_[block]); b < begin_[block + 1]; ++b)
          if (const uint32_t common = compare(a, b); common > 0) out.push_back({a, b, common});
      }
    }
    order_by_row(begin_[strip], first_found, out);
  }

 private:
  /// Pairs are found block by block and must be ordered row by row. Within a row, columns are ascending already.
  static void order_by_row(uint32_t first_row, size_t first_found, GrowingBuffer<PairCount>& out) {
    const size_t count = out.size() - first_found;
    size_t offset[kMaxItems + 1] = {};
    for (size_t i = 0; i < count; ++i) ++offset[out[first_found + i].a - first_row + 1];
    for (uint32_t row = 1; row < kMaxItems; ++row) offset[row] += offset[row - 1];
    PairCount* const ordered = out.room(count);
    PairCount* const found = out.begin() + first_found;
    for (size_t i = 0; i < count; ++i) ordered[offset[found[i].a - first_row]++] = found[i];
    std::copy_n(ordered, count, found);
  }

  static constexpr uint64_t kBlockBytes = 128 << 10;  // two of them take a quarter of a 1 MiB second-level cache
  static constexpr uint32_t kMaxItems = 64;

  WantedPairs pairs_;
  std::vector<uint32_t> begin_;  // first items of strips and blocks, and the end
  size_t strips_ = 0;
};

}  // namespace batmap
