// Turns a counter into answers. It counts on several threads, drops the pairs that the question excludes, and hands the
// rest over batch by batch. So neither all counts nor all answers are ever in memory, unless a measure orders them.
//
// Answers come in a fixed order: with top_k best first, otherwise by the ranks of the counter's items. Every
// counter with any number of threads gives the same sequence. Source: ours.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "core/options.h"
#include "core/thread_team.h"
#include "core/truncation.h"
#include "pairs/best_pairs.h"
#include "pairs/counters/pair_counter.h"

namespace batmap {

/// Which item of a pair comes first.
enum class PairOrder {
  kByValue,  // the smaller one
  kByRank,   // the item of the smaller rank
  kTurned    // the other one
};

/// Which of the counted pairs are answers, and how they are handed over.
struct PairSelection {
  uint64_t min_count = 1;  // the threshold
  double min_jaccard = 0;
  std::optional<int64_t> top_k;
  std::optional<int64_t> per_item_top_k;
  // With per_item_top_k. If not empty, each item for which this holds is handed over with each of its partners, the item
  // first. The measure may then depend on which item is first.
  std::function<bool(uint32_t rank)> has_partners = {};
  std::optional<int64_t> max_results;
  PairRanking ranking;   // for the top-k forms
  bool ties = false;     // top_k, by support: at least all pairs with the support of the k-th, in no order
  bool supports = true;  // answers have the supports of their items
  PairOrder order = PairOrder::kByValue;
  bool distinct_only = false;  // the threshold is handed over as the support of each pair
  bool diagonal = false;       // before all pairs: each item with itself
};

/// For counting in blocks of rows: makes the counter of the next block, nullptr after the last. Called
/// between blocks by the thread that calls next(). All blocks share their supports, which outlive them.
using NextBlock = std::function<std::unique_ptr<PairCounter>()>;

class PairAnswers {
 public:
  /// @param values   [items] the item value of each rank, for the answers
  /// @param options  copied; its meter must outlive the answers
  /// @param next     makes the blocks after `counter`; empty: there are none
  /// @throws Error{kMemoryLimit}
  PairAnswers(std::unique_ptr<PairCounter> counter, Buffer<int64_t> values, const PairSelection& selection,
              const ExecutionOptions& options, NextBlock next = {});
  PairAnswers(const PairAnswers&) = delete;
  PairAnswers& operator=(const PairAnswers&) = delete;

  /// Gets the next answers. Returns after about one task's work, so that the caller can do other things in between.
  /// @param batch  set; valid until the next call; may be empty although more answers follow
  /// @return false after the last answer; `batch` is then empty
  /// @throws Error, std::bad_alloc; after that next() must not be called again
  bool next(PairBatch& batch);

  uint64_t results() const { return limit_.taken(); }
  /// Tasks of the blocks that have begun.
  uint64_t tasks() const { return tasks_begun_; }
  uint64_t tasks_done() const { return tasks_done_; }
  const Truncation& truncation() const { return limit_.truncation(); }
  /// The memory that handing over may still take, for this counter and similar ones.
  /// @param pairs  upper bound of the number of pairs
  uint64_t max_bytes(uint64_t pairs) const;

 private:
  /// The result of a task: answers, or the counts from which a top-k form selects.
  struct Found {
    GrowingBuffer<PairCount> counts;
    PairList rows;
  };

  std::optional<Found> next_task();
  void start_tasks();
  void next_counted(PairBatch& batch);
  void next_selected(PairBatch& batch);
  void select();
  void finish_selection();
  void count_ties();
  void offer(const PairRow& row);
  void drop_ties();
  void offer_diagonal();
  void offer_partner(uint32_t item, uint32_t partner, uint64_t count);
  PairRow directed_row(uint32_t item, uint32_t partner, uint64_t count) const {
    return {values_[item], values_[partner], count, support(item), support(partner)};
  }
  void next_diagonal(PairBatch& batch);
  uint64_t support(uint32_t item) const { return wide_supports_.empty() ? supports_[item] : wide_supports_[item]; }
  Found count(size_t task, int worker);
  void count_pairs(size_t task, int worker, GrowingBuffer<PairCount>& counts);
  void recycle(Found found);
  void put_rows(std::span<const PairCount> pairs, PairList& out) const;
  void put_rows(const FoundPairs& pairs, PairList& out) const;
  void put_row(uint32_t a, uint32_t b, uint64_t count, const PairList::Room& to, size_t at) const;
  PairRow row(uint32_t a, uint32_t b, uint64_t count) const;

  std::unique_ptr<PairCounter> counter_;
  NextBlock next_block_;
  std::span<const uint32_t> supports_;  // by rank; one of the two is empty
  std::span<const uint64_t> wide_supports_;
  Buffer<int64_t> values_;
  PairSelection selection_;
  ExecutionOptions options_;
  AnswerLimit limit_;
  uint64_t tasks_begun_ = 0;
  uint64_t tasks_done_ = 0;
  bool done_ = false;
  bool selects_;                                // counts are offered to a top-k form; otherwise they become answers at once
  uint32_t diagonal_ = 0;                       // the next item for `diagonal`
  std::atomic<uint64_t> min_count_;             // rises while the k best are searched for
  std::optional<BestPairs> best_;               // with top_k, until selected_ is set
  std::optional<GrowingBuffer<PairRow>> ties_;  // with `ties`: what may be an answer; none: it became too much
  std::optional<BestPairsPerItem> best_per_item_;   // with per_item_top_k, until selected_ is set
  std::optional<GrowingBuffer<PairRow>> selected_;  // with a top-k form: all answers, in order
  std::optional<Found> counted_;                    // without: the results of the current task
  PairList some_;                                   // rows that are made for one batch
  size_t handed_over_ = 0;                          // position in selected_ or counted_
  std::vector<GrowingBuffer<PairCount>> counts_;    // [threads] of the current task, if it makes answers
  std::vector<FoundPairs> found_;                   // [threads] the same, if pairs are found without counts
  std::mutex spare_mutex_;
  std::vector<Found> spare_;  // emptied results of tasks, to be filled again
  // The counting threads, once started. The last member, so that it is destroyed first.
  std::optional<OrderedTasks<Found>> tasks_;
};

}  // namespace batmap
