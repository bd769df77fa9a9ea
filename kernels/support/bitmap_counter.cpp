// Method `bitmap`: a task is a strip of rows against all later columns. Columns are taken in blocks and words in
// segments, so that the strip's part, the block's part and the counters stay in the first two caches while each
// bit of the matrix is read once a strip. See pair_counter.h.
#include <algorithm>

#include "support/pair_counter.h"

namespace batmap {

namespace {

constexpr size_t kRowsAtOnce = 8;  // 8 x 2 KiB of rows: half of a 32 KiB first-level cache
constexpr size_t kStripRows = 32;
constexpr size_t kColumnsAtOnce = 32;
constexpr size_t kSegmentWords = 256;      // 2 KiB of a row
constexpr size_t kMostCounters = 1 << 20;  // of a strip: 4 MiB a thread

class BitmapCounter final : public PairCounter {
 public:
  BitmapCounter(BitMatrix matrix, uint32_t leading, const AndPopcountKernel& kernel, const ExecutionOptions& options)
      : matrix_(std::move(matrix)),
        kernel_(kernel),
        options_(options),
        item_count_(static_cast<uint32_t>(matrix_.support.size())),
        leading_(leading) {
    strip_rows_ = std::clamp<size_t>(kMostCounters / std::max<size_t>(item_count_, 1), 1, kStripRows);
    const size_t counters = strip_rows_ * item_count_;
    for (int worker = 0; worker < options.threads; ++worker) counters_.emplace_back(*options.memory, counters);
  }

  size_t tasks() const override { return (leading_ + strip_rows_ - 1) / strip_rows_; }
  std::span<const uint32_t> supports() const override { return matrix_.support.span(); }

  void count(size_t task, int worker, uint32_t threshold, GrowingBuffer<PairCount>& out) override {
    const size_t first = task * strip_rows_;
    const size_t rows = std::min(strip_rows_, leading_ - first);
    const size_t columns = item_count_ - first;  // the strip's own rows are columns too: the diagonal block
    uint32_t* const counters = counters_[static_cast<size_t>(worker)].data();
    std::fill_n(counters, rows * columns, 0);

    for (size_t column = 0; column < columns; column += kColumnsAtOnce) {
      const size_t column_count = std::min(kColumnsAtOnce, columns - column);
      for (size_t word = 0; word < matrix_.words; word += kSegmentWords) {
        options_.cancel.throw_if_requested();
        const size_t words = std::min(kSegmentWords, matrix_.words - word);
        for (size_t row = 0; row < rows; row += kRowsAtOnce)
          kernel_.count({.rows = matrix_.row(first + row) + word,
                         .row_stride = matrix_.words,
                         .row_count = std::min(kRowsAtOnce, rows - row),
                         .columns = matrix_.row(first + column) + word,
                         .column_stride = matrix_.words,
                         .column_count = column_count,
                         .words = words,
                         .counts = counters + row * columns + column,
                         .count_stride = columns});
      }
    }
    for (size_t row = 0; row < rows; ++row) collect(first, row, counters + row * columns, columns, threshold, out);
  }

 private:
  static void collect(size_t first, size_t row, const uint32_t* counters, size_t columns, uint32_t threshold,
                      GrowingBuffer<PairCount>& out) {
    constexpr size_t kGroup = 16;
    const auto a = static_cast<uint32_t>(first + row);
    size_t column = row + 1;
    for (; column + kGroup <= columns; column += kGroup) {
      uint32_t largest = 0;
      for (size_t i = 0; i < kGroup; ++i) largest = std::max(largest, counters[column + i]);
      if (largest < threshold) continue;
      PairCount* at = out.room(kGroup);
      size_t found = 0;
      for (size_t i = 0; i < kGroup; ++i) {
        at[found] = {a, static_cast<uint32_t>(first + column + i), counters[column + i]};
        found += counters[column + i] >= threshold;
      }
      out.add(found);
    }
    for (; column < columns; ++column)
      if (counters[column] >= threshold) out.push_back({a, static_cast<uint32_t>(first + column), counters[column]});
  }

  BitMatrix matrix_;
  const AndPopcountKernel& kernel_;
  const ExecutionOptions& options_;
  uint32_t item_count_;
  size_t leading_;
  size_t strip_rows_;
  std::vector<Buffer<uint32_t>> counters_;  // [threads][strip rows * columns]
};

}  // namespace

std::unique_ptr<PairCounter> count_bitmaps(BitMatrix matrix, uint32_t leading, const AndPopcountKernel& kernel,
                                           const ExecutionOptions& options) {
  return std::make_unique<BitmapCounter>(std::move(matrix), leading, kernel, options);
}

}  // namespace batmap
