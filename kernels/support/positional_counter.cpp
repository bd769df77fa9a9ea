// Method `positional`: for each item, the bit rows of its transactions are summed column by column, 4,096 later
// items at a time (bit_row_sum.h). The sums stay bit-sliced; the threshold is compared in that form, and only what
// reaches it is turned into numbers. Work is (transactions of the item) x (later items / 64) words: less than
// AND+popcount by the density of the data, and independent of how many pair instances there are. See pair_counter.h.
#include <algorithm>
#include <bit>

#include "support/pair_counter.h"

namespace batmap {

namespace {

constexpr size_t kColumnGroup = 8;                // words: rows are added 512 columns at a time
constexpr size_t kRowsPerPoll = size_t{1} << 14;  // a multiple of BitRowSum::kGroupRows; some 100 us of work
constexpr int kManyInAWord = 12;                  // columns from which all 64 counts are unpacked together
constexpr uint64_t kTaskWords = uint64_t{1} << 20;
constexpr uint64_t kTaskPairs = 1 << 16;

class PositionalCounter final : public PairCounter {
 public:
  PositionalCounter(TransactionBits form, uint32_t leading, const AndPopcountKernel& kernel, const ExecutionOptions& options)
      : form_(std::move(form)),
        kernel_(kernel),
        options_(options),
        item_count_(static_cast<uint32_t>(form_.lists.length.size())) {
    uint64_t words = 0;
    uint64_t pairs = 0;
    task_begin_.push_back(0);
    for (uint32_t item = 0; item < leading; ++item) {
      words += (form_.lists.length[item] + BitRowSum::kGroupRows) * uint64_t{(item_count_ - item) / 64 + 1};
      pairs += item_count_ - item - 1;
      if (words >= kTaskWords || pairs >= kTaskPairs || item + 1 == leading) {
        task_begin_.push_back(item + 1);
        words = pairs = 0;
      }
    }
    for (int worker = 0; worker < options.threads; ++worker) sums_.emplace_back(*options.memory, 1);
  }

  size_t tasks() const override { return task_begin_.size() - 1; }
  std::span<const uint32_t> supports() const override { return form_.lists.length.span(); }

  void count(size_t task, int worker, uint32_t threshold, GrowingBuffer<PairCount>& out) override {
    BitRowSum& sum = sums_[static_cast<size_t>(worker)][0];
    for (uint32_t item = task_begin_[task]; item < task_begin_[task + 1]; ++item) {
      if (form_.lists.length[item] < threshold) continue;
      const size_t first = (item + 1) / 64 / kColumnGroup * kColumnGroup;
      for (size_t word = first; word < form_.words; word += BitRowSum::kMostWords) {
        const size_t words = std::min(BitRowSum::kMostWords, form_.words - word);
        add_transactions(sum, item, word, words);
        collect(sum, item, word, threshold, out);
      }
    }
  }

 private:
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

  static void collect(const BitRowSum& sum, uint32_t item, size_t first_word, uint32_t threshold,
                      GrowingBuffer<PairCount>& out) {
    for (size_t word = 0; word < sum.words; ++word) {
      const auto column = static_cast<uint32_t>((first_word + word) * 64);
      if (column + 63 <= item) continue;
      uint64_t reached = sum.at_least(word, threshold);
      if (column <= item) reached &= ~uint64_t{0} << (item - column) << 1;  // later items only
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
  uint32_t item_count_;
  std::vector<uint32_t> task_begin_;
  std::vector<Buffer<BitRowSum>> sums_;  // [threads][1]
};

}  // namespace

std::unique_ptr<PairCounter> count_positionally(TransactionBits form, uint32_t leading, const AndPopcountKernel& kernel,
                                                const ExecutionOptions& options) {
  return std::make_unique<PositionalCounter>(std::move(form), leading, kernel, options);
}

}  // namespace batmap
