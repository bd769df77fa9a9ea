// One run of pair support, from rows to answers. It codes the relation, drops items that cannot matter,
// chooses a method and builds its form; pair_answers.h counts and hands over. Ranks are those of
// kept_items.h, so the order of the answers depends on the rows only. Source: ours.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "accel/offload.h"
#include "core/options.h"
#include "core/run_record.h"
#include "measures/threshold.h"
#include "pairs/build_counter.h"
#include "pairs/choose.h"
#include "pairs/offloaded_answers.h"
#include "pairs/spilled_pairs.h"
#include "pairs/spooled_pairs.h"
#include "relation/kept_items.h"
#include "relation/row_log.h"
#include "relation/transactions.h"

namespace batmap {

struct PairQuery {
  // min_count and min_support exclude each other. One is required, unless a top-k form is given
  // (then the threshold is 1).
  std::optional<int64_t> min_count;
  std::optional<double> min_support;
  std::optional<int64_t> top_k;
  std::optional<int64_t> per_item_top_k;
  std::optional<double> min_jaccard;   // an additional condition
  std::optional<PairMeasure> measure;  // what the top-k forms rank by; none: support. Without them it does not matter
  std::optional<std::vector<int64_t>> include;
  std::optional<std::vector<int64_t>> exclude;
  std::optional<std::span<const int64_t>> only;  // ascending; no other items are counted. Must outlive the run
  std::optional<int64_t> max_results;
  // Items below this are one kind, the others another; a pair has one of each. Not together with include.
  std::optional<int64_t> left_items;
  bool bag = false;            // repeated rows multiply, as in a SQL join; else they count once
  bool diagonal = false;       // also pairs of an item with itself
  bool partners = false;       // per_item_top_k: each item, of `include` if given, with its partners, the item first
  bool ties = false;           // top_k: at least all pairs with the support of the k-th, in any order
  bool distinct_only = false;  // only which pairs there are: the threshold is handed over as their support
  bool supports = true;        // also the supports of the items of a pair
  // with left_items, if not empty: what item i is handed over as. They ascend on each side. Must outlive the run.
  std::span<const int64_t> item_values = {};
  std::optional<PairMethod> method;  // none: the chooser decides
  PairKernels kernels;
  DeviceUse device;

  /// @throws Error{kInvalidParameter} with the value, the bound and a hint
  void check() const;
  /// The threshold as a number of transactions.
  uint64_t min_count_among(uint64_t transactions) const {
    return batmap::min_count_among(transactions, min_count, min_support);
  }
};

/// The method of this name; nothing for "auto". @throws Error{kInvalidParameter} for an unknown name
std::optional<PairMethod> parse_pair_method(const std::string& name);

class PairRun {
 public:
  /// Groups the rows and builds the form of the method.
  /// @param chunks     must stay valid until the constructor returns; also, like item_rank, while needs_rows()
  /// @param item_rank  see EncodedRelation; with it, include, exclude and the items of the answers are ranks
  /// @param options    copied; its meter must outlive the run
  /// @throws Error, std::bad_alloc
  PairRun(std::vector<ChunkView> chunks, std::span<const uint32_t> item_rank, const PairQuery& query,
          const ExecutionOptions& options);
  /// The same from a sealed log, in memory or in files. Rows in files are read from there during the run: the
  /// files and item_rank must then outlive it.
  PairRun(const RowLog& log, std::span<const uint32_t> item_rank, const PairQuery& query, const ExecutionOptions& options);
  PairRun(const PairRun&) = delete;
  PairRun& operator=(const PairRun&) = delete;

  /// Gets the next answers. Returns after about one task's work, so that the caller can do other things in between.
  /// @param batch  set; valid until the next call; may be empty although more answers follow
  /// @return false after the last answer; `batch` is then empty
  /// @throws Error, std::bad_alloc; after that next() must not be called again
  bool next(PairBatch& batch);

  const RunRecord& record() const { return record_; }

  /// Whether memory may not suffice for the answers still to come.
  bool may_run_out() const;
  /// Counts to the end before any answer is handed over. The answers wait, without the supports of items, in a file (needs
  /// ExecutionOptions::files), and next() then needs no more memory.
  /// @throws Error, std::bad_alloc, what the files throw; after that the run cannot continue
  void count_all();

  /// Whether the input is still needed: if a device fails, the CPU counts it again and skips the answers already given.
  bool needs_rows() const { return answers_.on_devices(); }

 private:
  void group(std::vector<ChunkView> chunks, std::span<const uint32_t> item_rank);
  Buffer<int64_t> values_of(uint32_t items, const std::function<int64_t(uint32_t rank)>& item);
  void group_spilled(const RowPartitions& rows, std::span<const uint32_t> item_rank);
  bool begin(uint64_t transactions, uint64_t items, uint64_t most_item_rows);
  bool counts_rows() const;
  ItemFilter filter(bool weighted) const;
  PairSelection selection(uint32_t leading) const;
  std::unique_ptr<PairCounter> next_block();
  void count_kept(std::span<const uint32_t> supports);
  std::unique_ptr<PairCounter> count_on_a_device(const EncodedRelation& relation, const KeptItems& kept, PairJob& job,
                                                 std::optional<TransactionLengths>& lengths);
  void refuse_without_device(const char* why) const;

  PairQuery query_;
  ExecutionOptions options_;
  RunRecord record_;
  uint64_t min_count_ = 1;         // the threshold of the query
  std::vector<ChunkView> chunks_;  // while devices count: for a restart on the CPU
  std::span<const uint32_t> item_rank_;
  std::optional<SpilledPairs> spilled_;  // if the rows are in files
  OffloadedAnswers answers_;             // not started if there is nothing to count
  PairOrder order_ = PairOrder::kByValue;
  uint64_t max_pairs_ = UINT64_MAX;      // upper bound of the number of pairs
  uint64_t restart_bytes_ = 0;           // while devices count: what the CPU would need
  std::optional<SpooledPairs> spooled_;  // replaces answers_ after count_all()
};

}  // namespace batmap
