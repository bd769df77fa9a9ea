// Turns a counter into answers. It counts on several threads, drops the pairs that the question excludes, and hands the
// rest over batch by batch. So neither all counts nor all answers are ever in memory, unless a measure orders them.
//
// Answers come in a fixed order: with top_k best first, otherwise by the ranks of the counter's items. Every
// counter with any number of threads gives the same sequence. Source: ours.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "core/options.h"
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
  ~PairAnswers();

  /// Gets the next answers. Returns after about one task's work, so that the caller can do other things in between.
  /// @param batch  set; valid until the next call; may be empty although more answers follow
  /// @return false after the last answer; `batch` is then empty
  /// @throws Error, std::bad_alloc; after that next() must not be called again
  bool next(PairBatch& batch);

  uint64_t results() const;
  /// Tasks of the blocks that have begun.
  uint64_t tasks() const;
  uint64_t tasks_done() const;
  const Truncation& truncation() const;
  /// The memory that handing over may still take, for this counter and similar ones.
  /// @param pairs  upper bound of the number of pairs
  uint64_t max_bytes(uint64_t pairs) const;

 private:
  class Work;
  std::unique_ptr<Work> work_;
};

}  // namespace batmap
