// Method `bitmap`: a task is a strip of rows against all their columns. Columns are taken in blocks, and
// words in segments, so that rows, columns and counters in use stay in the first two caches, while each bit
// of the matrix is read once a strip. If counts are limited (`enough`), segments start short and grow, and a
// block ends when all its pairs have enough. See pair_counter.h. Source: standard cache blocking; ours.
#include <algorithm>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "pairs/counters/pair_counter.h"

namespace batmap {

namespace {

constexpr size_t kRowsAtOnce = 8;  // 8 x 2 KiB of rows take half of a 32 KiB first-level cache
constexpr size_t kStripRows = 32;
constexpr size_t kColumnsAtOnce = 32;
constexpr size_t kSegmentWords = 256;     // 2 KiB of a row
constexpr size_t kFirstWords = 8;         // first segment, if a block may end early
constexpr size_t kMaxCounters = 1 << 20;  // of a strip: 4 MiB a thread

class BitmapCounter final : public PairCounter {
 public:
  BitmapCounter(BitMatrix matrix, const WantedPairs& pairs, const AndPopcountKernel& kernel, const ExecutionOptions& options)
      : matrix_(std::move(matrix)),
        kernel_(kernel),
        options_(options),
        item_count_(static_cast<uint32_t>(matrix_.support.size())),
        pairs_(pairs) {
    const size_t max_columns = item_count_ - pairs.first_column;
    strip_rows_ = std::clamp<size_t>(kMaxCounters / std::max<size_t>(max_columns, 1), 1, kStripRows);
    const size_t counters = strip_rows_ * max_columns;
    for (int worker = 0; worker < options.threads; ++worker) counters_.emplace_back(*options.memory, counters);
  }

  size_t tasks() const override { return (pairs_.leading + strip_rows_ - 1) / strip_rows_; }
  uint64_t max_results() const override { return strip_rows_ * (item_count_ - pairs_.first_column); }
  std::span<const uint32_t> supports() const override { return matrix_.support.span(); }

  void count(size_t task, int worker, uint32_t threshold, GrowingBuffer<PairCount>& out) override {
    const size_t first = task * strip_rows_;
    const size_t rows = std::min(strip_rows_, pairs_.leading - first);
    // In a triangle the rows of the strip are columns, too: the diagonal block.
    const size_t first_column = std::max<size_t>(first, pairs_.first_column);
    const size_t columns = item_count_ - first_column;
    uint32_t* const counters = counters_[static_cast<size_t>(worker)].data();
    std::fill_n(counters, rows * columns, 0);

    for (size_t column = 0; column < columns; column += kColumnsAtOnce) {
      const size_t column_count = std::min(kColumnsAtOnce, columns - column);
      size_t segment = pairs_.enough == UINT32_MAX ? kSegmentWords : kFirstWords;
      for (size_t word = 0; word < matrix_.words; word += segment) {
        options_.cancel.throw_if_requested();
        if (word > 0 && pairs_.enough != UINT32_MAX) {
          if (all_enough(counters + column, rows, columns, column_count)) break;
          segment = std::min(word, kSegmentWords);
        }
        const size_t words = std::min(segment, matrix_.words - word);
        for (size_t row = 0; row < rows; row += kRowsAtOnce)
          kernel_.count({.rows = matrix_.row(first + row) + word,
                         .row_stride = matrix_.words,
                         .row_count = std::min(kRowsAtOnce, rows - row),
                         .columns = matrix_.row(first_column + column) + word,
                         .column_stride = matrix_.words,
                         .column_count = column_count,
                         .words = words,
                         .counts = counters + row * columns + column,
                         .count_stride = columns});
      }
    }
    for (size_t row = 0; row < rows; ++row) {
      const auto a = static_cast<uint32_t>(first + row);
      const size_t before = pairs_.first_after(a) - first_column;
      collect(a, pairs_.first_after(a), {counters + row * columns + before, columns - before}, threshold, out);
    }
  }

 private:
  /// Whether all pairs of a block have enough.
  bool all_enough(const uint32_t* counters, size_t rows, size_t stride, size_t columns) const {
    for (size_t row = 0; row < rows; ++row)
      for (size_t column = 0; column < columns; ++column)
        if (counters[row * stride + column] < pairs_.enough) return false;
    return true;
  }

  static void collect(uint32_t a, uint32_t first, std::span<const uint32_t> counters, uint32_t threshold,
                      GrowingBuffer<PairCount>& out) {
    constexpr size_t kGroup = 16;
    size_t column = 0;
    for (; column + kGroup <= counters.size(); column += kGroup) {
      uint32_t max_count = 0;
      for (size_t i = 0; i < kGroup; ++i) max_count = std::max(max_count, counters[column + i]);
      if (max_count < threshold) continue;
      PairCount* at = out.room(kGroup);
      size_t found = 0;
      for (size_t i = 0; i < kGroup; ++i) {
        at[found] = {a, first + static_cast<uint32_t>(column + i), counters[column + i]};
        found += counters[column + i] >= threshold;
      }
      out.add(found);
    }
    for (; column < counters.size(); ++column)
      if (counters[column] >= threshold) out.push_back({a, first + static_cast<uint32_t>(column), counters[column]});
  }

  BitMatrix matrix_;
  const AndPopcountKernel& kernel_;
  const ExecutionOptions& options_;
  uint32_t item_count_;
  WantedPairs pairs_;
  size_t strip_rows_;
  std::vector<Buffer<uint32_t>> counters_;  // [threads][strip rows * columns]
};

}  // namespace

std::unique_ptr<PairCounter> count_bitmaps(BitMatrix matrix, const WantedPairs& pairs, const AndPopcountKernel& kernel,
                                           const ExecutionOptions& options) {
  return std::make_unique<BitmapCounter>(std::move(matrix), pairs, kernel, options);
}

}  // namespace batmap
