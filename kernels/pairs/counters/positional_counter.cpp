// Method `positional`: for each item, the bit rows of its transactions are summed column by column, 4,096
// partners at a time (bit_row_sum.h). The sums stay bit-sliced: the threshold is compared in that form, and
// only sums that reach it become numbers. Work: (transactions of the item) x (later items / 64) words. This
// is less than AND + popcount by the density of the data, and does not depend on the number of pair
// instances. See pair_counter.h. Source: ours.
#include <algorithm>
#include <bit>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "pairs/counters/pair_counter.h"
#include "pairs/counters/row_tasks.h"

namespace batmap {

namespace {

constexpr size_t kColumnGroup = 8;                // words: rows are added 512 columns at a time
constexpr size_t kRowsPerPoll = size_t{1} << 14;  // a multiple of BitRowSum::kGroupRows; about 100 us of work
// with this many columns or more, all 64 counts of a word are unpacked together
constexpr int kManyInAWord = 12;
constexpr uint64_t kTaskWords = uint64_t{1} << 20;
constexpr uint64_t kMaxBeyond = 8;      // a task may have this many times its expected results
constexpr uint64_t kComparedRows = 64;  // rows that are added in the time of comparing their sum with the threshold

class PositionalCounter final : public PairCounter {
 public:
  PositionalCounter(TransactionBits form, const WantedPairs& pairs, uint64_t pair_instances, const AndPopcountKernel& kernel,
                    const ExecutionOptions& options)
      : form_(std::move(form)),
        kernel_(kernel),
        options_(options),
        pairs_(pairs),
        item_count_(static_cast<uint32_t>(form_.lists.length.size())),
        tasks_(cut(pair_instances)) {
    for (int worker = 0; worker < options.threads; ++worker) sums_.emplace_back(*options.memory, 1);
  }

  size_t tasks() const override { return tasks_.size(); }
  uint64_t max_results() const override { return tasks_.max_results() * kMaxBeyond; }
  std::span<const uint32_t> supports() const override { return form_.lists.length.span(); }

  void count(size_t task, int worker, uint32_t threshold, GrowingBuffer<PairCount>& out) override {
    BitRowSum& sum = sums_[static_cast<size_t>(worker)][0];
    for (uint32_t item = tasks_.begin(task); item < tasks_.end(task); ++item) {
      if (form_.lists.length[item] < threshold) continue;
      const size_t first = (pairs_.first_after(item) - form_.first_bit) / 64 / kColumnGroup * kColumnGroup;
      for (size_t word = first; word < form_.words; word += BitRowSum::kMaxWords) {
        const size_t words = std::min(BitRowSum::kMaxWords, form_.words - word);
        add_transactions(sum, item, word, words);
        collect(sum, item, word, threshold, out);
      }
    }
  }

 private:
  RowTasks cut(uint64_t pair_instances) const {
    const std::span<const uint32_t> length = form_.lists.length.span();
    uint64_t rows = 0;
    for (uint32_t item = 0; item < pairs_.leading; ++item) rows += length[item];
    // Average partners of a row of a leading item; twice that for the item that leads all others.
    // Items may have many more.
    const uint64_t partners = 2 * pair_instances / std::max<uint64_t>(rows, 1) + 1;
    return RowTasks(pairs_.leading, kTaskWords, options_.threads, [&](uint32_t item) -> RowCost {
      const uint64_t columns = item_count_ - pairs_.first_after(item);
      return {.work = (length[item] + kComparedRows) * (columns / 64 + 1),
              .results = std::clamp(length[item] * partners / pairs_.min_count, columns / kMaxBeyond + 1, columns)};
    });
  }

  void add_transactions(BitRowSum& sum, uint32_t item, size_t word, size_t words) {
    const std::span<const uint32_t> tids = std::as_const(form_.lists).list(item);
    sum.start(words);
    for (size_t from = 0; from < tids.size(); from += kRowsPerPoll) {
      options_.cancel.throw_if_requested();
      const size_t count = std::min(kRowsPerPoll, tids.size() - from);
      kernel_.add_rows(sum, form_.bits.data() + word, form_.words, tids.data() + from, count);
    }
    finish(sum);
  }

  void collect(const BitRowSum& sum, uint32_t item, size_t first_word, uint32_t threshold,
               GrowingBuffer<PairCount>& out) const {
    const uint32_t first = pairs_.first_after(item);
    for (size_t word = 0; word < sum.words; ++word) {
      const auto column = static_cast<uint32_t>(form_.first_bit + (first_word + word) * 64);
      if (column + 63 < first) continue;
      uint64_t reached = sum.columns_reaching(word, threshold);
      if (column < first) reached &= ~uint64_t{0} << (first - column);
      if (reached == 0) continue;
      PairCount* at = out.room(64);
      size_t found = 0;
      const bool many = std::popcount(reached) >= kManyInAWord;
      uint32_t counts[64];
      if (many) sum.counts(word, counts);
      for (; reached != 0; reached &= reached - 1) {
        const int bit = std::countr_zero(reached);
        at[found++] = {item, column + static_cast<uint32_t>(bit), many ? counts[bit] : sum.count(word, bit)};
      }
      out.add(found);
    }
  }

  TransactionBits form_;
  const AndPopcountKernel& kernel_;
  const ExecutionOptions& options_;
  WantedPairs pairs_;
  uint32_t item_count_;
  RowTasks tasks_;
  std::vector<Buffer<BitRowSum>> sums_;  // [threads][1]
};

}  // namespace

std::unique_ptr<PairCounter> count_positionally(TransactionBits form, const WantedPairs& pairs, uint64_t pair_instances,
                                                const AndPopcountKernel& kernel, const ExecutionOptions& options) {
  return std::make_unique<PositionalCounter>(std::move(form), pairs, pair_instances, kernel, options);
}

}  // namespace batmap
