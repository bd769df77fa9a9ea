// Counts rows horizontally: a row that occurs m times counts m times. A pair of items gets the sum over
// transactions of the product of their multiplicities, which is what a SQL join counts (bag semantics). The
// support of an item is its count with itself, a sum of squares. Items are counted one by one, as in
// horizontal_counter.cpp, with 64-bit counters. Source: ours. See pair_counter.h.
#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/poll.h"
#include "core/polled.h"
#include "core/thread_team.h"
#include "pairs/counters/pair_counter.h"
#include "pairs/counters/row_tasks.h"

namespace batmap {

namespace {

/// An item of a transaction, and how often it occurs there.
struct Occurrence {
  uint32_t item;
  uint32_t weight;
};

/// The wanted partners of one occurrence in its transaction.
struct WeightedTail {
  uint64_t begin;
  uint32_t length;
  uint32_t weight;  // of the occurrence
};

class WeightedCounter final : public PairCounter {
 public:
  WeightedCounter(const EncodedRelation& relation, const KeptItems& kept, const TransactionLengths& lengths,
                  uint64_t threshold, const ExecutionOptions& options)
      : options_(options),
        pairs_(kept.pairs),
        columns_(kept.size),
        threshold_(threshold),
        squares_(*options.memory, kept.size, Fill::kZero) {
    gather(relation, kept, lengths);
    link();
    cut_into_tasks();
    for (int worker = 0; worker < options.threads; ++worker)
      counters_.push_back(Buffer<uint64_t>(*options.memory, columns_, Fill::kZero));
  }

  size_t tasks() const override { return tasks_->size(); }
  uint64_t max_results() const override { return tasks_->max_results(); }
  std::span<const uint32_t> supports() const override { return {}; }
  std::span<const uint64_t> wide_supports() const override { return squares_.span(); }

  void count(size_t task, int worker, uint32_t threshold, GrowingBuffer<PairCount>& out) override {
    const uint64_t min_count = std::max<uint64_t>(threshold, threshold_);
    uint64_t* const counters = counters_[static_cast<size_t>(worker)].data();
    for (uint32_t item = tasks_->begin(task); item < tasks_->end(task); ++item) {
      increment(item, counters);
      for (uint32_t other = pairs_.first_after(item); other < columns_; ++other) {
        const uint64_t count = std::exchange(counters[other], 0);
        if (count >= min_count) out.push_back({item, other, count});
      }
    }
  }

 private:
  /// Collects the transactions: items ascending, each once.
  void gather(const EncodedRelation& relation, const KeptItems& kept, const TransactionLengths& lengths) {
    MemoryMeter& meter = *options_.memory;
    const size_t slots = lengths.length.size();
    Buffer<uint64_t> end(meter, slots);
    uint64_t at = 0;
    for (size_t tid = 0; tid < slots; ++tid) {
      end[tid] = at;
      at += lengths.length[tid];
    }
    Buffer<uint32_t> ranks(meter, at);
    uint32_t tids[kChunkRows];
    uint32_t items[kChunkRows];
    for (size_t block = 0; block < relation.blocks(); ++block) {
      options_.cancel.throw_if_requested();
      const uint32_t rows = relation.decode(block, tids, items);
      for (uint32_t k = 0; k < rows; ++k) {
        const Rank rank = kept.rank(ItemCode{items[k]});
        if (rank != KeptItems::kDropped) ranks[end[tids[k]]++] = index_of(rank);
      }
    }
    occurrences_ = Buffer<Occurrence>(meter, at);
    length_ = Buffer<uint32_t>(meter, slots);
    uint64_t to = 0;
    at = 0;
    Poll poll(options_.cancel);
    for (size_t tid = 0; tid < slots; ++tid) {
      poll.after(end[tid] - at);
      if (end[tid] - at < kPollEvery)
        std::sort(ranks.data() + at, ranks.data() + end[tid]);
      else
        std::sort(ranks.data() + at, ranks.data() + end[tid], polled(options_.cancel, std::less<>()));
      const uint64_t first = to;
      for (; at < end[tid]; ++at) {
        if (to == first || occurrences_[to - 1].item != ranks[at]) occurrences_[to++] = {ranks[at], 0};
        ++occurrences_[to - 1].weight;
      }
      length_[tid] = static_cast<uint32_t>(to - first);
    }
  }

  /// Collects for each leading item its partners in each of its transactions.
  void link() {
    tails_begin_ = Buffer<uint64_t>(*options_.memory, uint64_t{pairs_.leading} + 1, Fill::kZero);
    visit([&](const Occurrence& own, uint64_t, uint64_t) {
      squares_[own.item] += uint64_t{own.weight} * own.weight;
      if (own.item < pairs_.leading) ++tails_begin_[own.item];
    });
    uint64_t tails = 0;
    for (uint64_t& begin : tails_begin_) tails += std::exchange(begin, tails);
    tails_ = Buffer<WeightedTail>(*options_.memory, tails);
    visit([&](const Occurrence& own, uint64_t partners, uint64_t end) {
      if (own.item < pairs_.leading)
        tails_[tails_begin_[own.item]++] = {partners, static_cast<uint32_t>(end - partners), own.weight};
    });
    std::copy_backward(tails_begin_.begin(), tails_begin_.end() - 1, tails_begin_.end());
    tails_begin_[0] = 0;
  }

  /// Calls visit(occurrence, begin of its partners, end of its partners).
  template <typename Visit>
  void visit(Visit visit) {
    uint64_t begin = 0;
    Poll poll(options_.cancel);
    for (size_t tid = 0; tid < length_.size(); ++tid) {
      const uint64_t end = begin + length_[tid];
      uint64_t columns = begin;  // in a rectangle: where the columns begin
      while (columns < end && occurrences_[columns].item < pairs_.first_column) ++columns;
      for (uint64_t at = begin; at < end; ++at) {
        visit(occurrences_[at], std::max(at + 1, columns), end);
        poll.after(1);
      }
      begin = end;
    }
  }

  void cut_into_tasks() {
    tasks_.emplace(pairs_.leading, kTaskIncrements, options_.threads, [&](uint32_t item) -> RowCost {
      uint64_t increments = 0;
      for (const WeightedTail& tail : tails_of(item)) increments += tail.length;
      const uint64_t columns = columns_ - pairs_.first_after(item);
      return {.work = increments + columns, .results = std::min(increments, columns)};  // all columns are scanned
    });
  }

  std::span<const WeightedTail> tails_of(uint32_t item) const {
    return tails_.span().subspan(tails_begin_[item], tails_begin_[item + 1] - tails_begin_[item]);
  }

  void increment(uint32_t item, uint64_t* counters) {
    Poll poll(options_.cancel);
    for (const WeightedTail& tail : tails_of(item)) {
      for (const Occurrence& other : occurrences_.span().subspan(tail.begin, tail.length))
        counters[other.item] += uint64_t{tail.weight} * other.weight;
      poll.after(tail.length + 1);
    }
  }

  const ExecutionOptions& options_;
  WantedPairs pairs_;
  uint32_t columns_;  // number of all ranks
  uint64_t threshold_;
  Buffer<uint64_t> squares_;        // [items]
  Buffer<Occurrence> occurrences_;  // transaction by transaction
  Buffer<uint32_t> length_;         // [tids] distinct items of each
  Buffer<uint64_t> tails_begin_;    // [leading + 1]
  Buffer<WeightedTail> tails_;      // by rank
  std::optional<RowTasks> tasks_;
  std::vector<Buffer<uint64_t>> counters_;  // [threads][columns] all zero between two items, unless the run was abandoned
};

}  // namespace

std::unique_ptr<PairCounter> count_weighted(const EncodedRelation& relation, const KeptItems& kept,
                                            const TransactionLengths& lengths, uint64_t threshold,
                                            const ExecutionOptions& options) {
  return std::make_unique<WeightedCounter>(relation, kept, lengths, threshold, options);
}

}  // namespace batmap
