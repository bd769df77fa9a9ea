// Method `positional`: for each item, the bit rows of its transactions are summed column by column, 4,096 of its partners
// at a time (bit_row_sum.h). The sums stay bit-sliced; the threshold is compared in that form, and only what
// reaches it is turned into numbers. Work is (transactions of the item) x (later items / 64) words: less than
// AND+popcount by the density of the data, and independent of how many pair instances there are. Where one shared
// transaction is enough the rows are united instead, until all columns are in. See pair_counter.h.
#include <algorithm>
#include <bit>

#include "support/pair_counter.h"

namespace batmap {

namespace {

constexpr size_t kColumnGroup = 8;                // words: rows are added 512 columns at a time
constexpr size_t kRowsPerPoll = size_t{1} << 14;  // a multiple of BitRowSum::kGroupRows; some 100 us of work
constexpr int kManyInAWord = 12;                  // columns from which all 64 counts are unpacked together
constexpr size_t kRowsPerLook = 16;               // united between two looks at whether all columns are in
constexpr uint64_t kTaskWords = uint64_t{1} << 20;
constexpr uint64_t kTaskPairs = 1 << 16;

class PositionalCounter final : public PairCounter {
 public:
  PositionalCounter(TransactionBits form, const WantedPairs& pairs, const AndPopcountKernel& kernel,
                    const ExecutionOptions& options)
      : form_(std::move(form)),
        kernel_(kernel),
        options_(options),
        pairs_(pairs),
        item_count_(static_cast<uint32_t>(form_.lists.length.size())) {
    const uint32_t leading = pairs.leading;
    uint64_t words = 0;
    uint64_t results = 0;
    task_begin_.push_back(0);
    for (uint32_t item = 0; item < leading; ++item) {
      const uint64_t columns = item_count_ - pairs.first_after(item);
      words += (form_.lists.length[item] + BitRowSum::kGroupRows) * (columns / 64 + 1);
      results += columns;
      if (words >= kTaskWords || results >= kTaskPairs || item + 1 == leading) {
        task_begin_.push_back(item + 1);
        words = results = 0;
      }
    }
    if (pairs.enough == 1) {
      all_columns_ = Buffer<uint64_t>(*options.memory, form_.words, Fill::kZero);
      for (uint32_t item = std::max(pairs.first_column, form_.first_bit); item < item_count_; ++item)
        all_columns_[(item - form_.first_bit) / 64] |= uint64_t{1} << (item % 64);
    }
    for (int worker = 0; worker < options.threads; ++worker) sums_.emplace_back(*options.memory, 1);
  }

  size_t tasks() const override { return task_begin_.size() - 1; }
  std::span<const uint32_t> supports() const override { return form_.lists.length.span(); }

  void count(size_t task, int worker, uint32_t threshold, GrowingBuffer<PairCount>& out) override {
    BitRowSum& sum = sums_[static_cast<size_t>(worker)][0];
    for (uint32_t item = task_begin_[task]; item < task_begin_[task + 1]; ++item) {
      if (form_.lists.length[item] < threshold) continue;
      const size_t first = (pairs_.first_after(item) - form_.first_bit) / 64 / kColumnGroup * kColumnGroup;
      for (size_t word = first; word < form_.words; word += BitRowSum::kMostWords) {
        const size_t words = std::min(BitRowSum::kMostWords, form_.words - word);
        if (pairs_.enough == 1)
          unite_transactions(sum, item, word, words);
        else
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

  /// Sums that are 0 or 1.
  void unite_transactions(BitRowSum& sum, uint32_t item, size_t word, size_t words) {
    const std::span<const uint32_t> tids = std::as_const(form_.lists).list(item);
    const uint64_t* const all = all_columns_.data() + word;
    sum.start(words);
    uint64_t* const united = sum.plane[0];
    for (size_t k = 0; k < tids.size(); ++k) {
      if (k % kRowsPerPoll == 0) options_.cancel.throw_if_requested();
      const uint64_t* const row = form_.bits.data() + tids[k] * form_.words + word;
      for (size_t w = 0; w < words; ++w) united[w] |= row[w];
      if (k % kRowsPerLook == 0 && std::equal(united, united + words, all)) return;
    }
  }

  void collect(const BitRowSum& sum, uint32_t item, size_t first_word, uint32_t threshold,
               GrowingBuffer<PairCount>& out) const {
    const uint32_t first = pairs_.first_after(item);
    for (size_t word = 0; word < sum.words; ++word) {
      const auto column = static_cast<uint32_t>(form_.first_bit + (first_word + word) * 64);
      if (column + 63 < first) continue;
      uint64_t reached = sum.at_least(word, threshold);
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
  Buffer<uint64_t> all_columns_;  // [words] where one is enough: the bits of all columns
  std::vector<uint32_t> task_begin_;
  std::vector<Buffer<BitRowSum>> sums_;  // [threads][1]
};

}  // namespace

std::unique_ptr<PairCounter> count_positionally(TransactionBits form, const WantedPairs& pairs,
                                                const AndPopcountKernel& kernel, const ExecutionOptions& options) {
  return std::make_unique<PositionalCounter>(std::move(form), pairs, kernel, options);
}

}  // namespace batmap
