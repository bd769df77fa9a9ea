// One run of a search for frequent itemsets, from rows to answers: it codes the relation, drops the items that cannot
// matter, merges equal transactions, and searches. The order of the answers depends only on the rows and the query.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "accel/device_session.h"
#include "accel/itemset_policy.h"
#include "bits/and_popcount.h"
#include "core/options.h"
#include "core/run_record.h"
#include "itemsets/answers/itemset_sink.h"
#include "itemsets/answers/itemset_spectrum.h"
#include "itemsets/answers/itemset_visitor.h"
#include "itemsets/answers/search_bounds.h"
#include "itemsets/forms/mask_kernel.h"
#include "itemsets/forms/occurrence_lists.h"
#include "itemsets/forms/search_root.h"
#include "itemsets/itemset_forecast.h"
#include "itemsets/known_itemsets.h"
#include "itemsets/search/itemset_target.h"
#include "itemsets/search/row_levels.h"
#include "itemsets/search/search_levels.h"
#include "measures/threshold.h"
#include "relation/chunk.h"
#include "relation/row_log.h"

namespace batmap {

struct ItemsetQuery {
  // The threshold: one of the two, or neither together with top_k (then min_count is 1).
  std::optional<int64_t> min_count;
  std::optional<double> min_support;
  std::optional<double> max_support;  // a fraction: more frequent itemsets are not answers
  std::optional<int64_t> min_length;
  std::optional<int64_t> max_length;
  ItemsetTarget target = ItemsetTarget::kAll;
  std::optional<std::vector<int64_t>> include;   // item values; an itemset needs one of them
  std::optional<std::vector<int64_t>> exclude;   // item values; their rows are ignored
  std::optional<std::span<const int64_t>> only;  // item values, ascending: rows of others are ignored. Must outlive the run
  std::optional<int64_t> top_k;                  // the itemsets of largest support; ties: fewer items, then smaller items
  std::optional<int64_t> max_results;            // this and timeout_ms are observed by ItemsetStream
  std::optional<int64_t> timeout_ms;
  // kAuto on the CPU: DepthFirst, or TargetSearch for other targets than all. The others: BreadthFirst, search_bit_rows().
  ItemsetAlgorithm algorithm = ItemsetAlgorithm::kAuto;
  const MaskKernel* kernel = nullptr;       // nullptr: the fastest
  const AndPopcountKernel* bits = nullptr;  // the same, for bit rows
  DeviceUse device;

  /// @throws Error{kInvalidParameter} with the value, the bound and a hint
  void check() const;
  /// The threshold as a number of transactions.
  uint64_t min_count_among(uint64_t transactions) const {
    return batmap::min_count_among(transactions, min_count, min_support);
  }
};

/// "all", "closed", "maximal", "generators". @throws Error{kInvalidParameter} for another name
ItemsetTarget parse_itemset_target(const std::string& name);
/// "auto", "pbi", "tbi", "dfs". @throws Error{kInvalidParameter} for another name
ItemsetAlgorithm parse_itemset_algorithm(const std::string& name);

/// The root of a search: the rows are grouped once, and can be searched any number of times.
class ItemsetRun {
 public:
  /// @param chunks     must stay valid until the constructor returns
  /// @param item_rank  see EncodedRelation; where it is given, include, exclude and value() are ranks
  /// @param options    copied; its meter must outlive the run
  /// @throws Error, std::bad_alloc
  ItemsetRun(std::vector<ChunkView> chunks, std::span<const uint32_t> item_rank, const ItemsetQuery& query,
             const ExecutionOptions& options);
  /// The same from a sealed log, in memory or in files. Rows in files are searched in two rounds (itemset_parts.h)
  /// before the constructor returns. @throws what the files throw, too
  ItemsetRun(const RowLog& log, std::span<const uint32_t> item_rank, const ItemsetQuery& query,
             const ExecutionOptions& options);
  /// Chooses from the itemsets of stored counts (counts/itemset_counts.h). Kernels, algorithm and device are ignored.
  /// @param counts  a finished value; need not outlive the constructor
  ItemsetRun(const std::byte* counts, const ItemsetQuery& query, const ExecutionOptions& options);
  ItemsetRun(const ItemsetRun&) = delete;
  ItemsetRun& operator=(const ItemsetRun&) = delete;

  /// How many branches the search has. Searched one after the other, they give all answers in order.
  size_t branches() const;
  /// Searches one branch a call, and hands all its answers to the sink. Branches are asked for in ascending order.
  using Searcher = std::function<void(size_t branch)>;
  /// @param sink, options  must outlive the searcher; several searchers may run at once, each with its own
  Searcher searcher(ItemsetSink& sink, const ExecutionOptions& options);
  /// Makes the run ready for another search after an exception of the sink ended one. No other search may be running.
  void restart();
  /// Searches all branches in this thread. @throws Error, what the sink throws
  void search(ItemsetSink& sink);
  /// The same answers in the same order. Where all subsets of perfect extensions are answers, they come in one visit.
  void search(ItemsetVisitor& visitor);
  /// The number of answers of each length and support. The answers may be too many to list.
  GrowingBuffer<SpectrumRow> spectrum();
  /// The number of answers: exact if they can be counted in half of the time, else estimated by random ways in
  /// the other half (at least two rounds). @note for target kAll without top_k only; ignores the algorithm
  ItemsetForecast forecast(double milliseconds);

  /// The item value of a rank.
  int64_t value(Rank rank) const { return values_[index_of(rank)]; }
  size_t ranks() const { return values_.size(); }
  const ItemsetQuery& query() const { return query_; }
  uint64_t transactions() const { return record_.transactions; }
  ExecutionSite site() const;  // from any thread
  /// Without results and truncation, which the stream knows. From any thread.
  RunRecord record() const;
  const SearchLevels& levels() const { return levels_; }  // of pbi and tbi
  /// Whether the itemsets were known before the search: those of stored counts, or of rows in files.
  bool is_known() const { return known_.has_value(); }

 private:
  ItemsetRun(const ItemsetQuery& query, const ExecutionOptions& options);
  void group(std::vector<ChunkView> chunks, std::span<const uint32_t> item_rank);
  void group_parts(const RowPartitions& rows, std::span<const uint32_t> item_rank);
  bool begin(uint64_t transactions, uint64_t items);
  void set_known(KnownItemsets known);
  uint64_t count_best();
  void select_known(ItemsetSink& sink, const ItemsetLengths& lengths, uint32_t max_support, uint32_t leading,
                    const ExecutionOptions& options);
  /// DepthFirst or TargetSearch search, which hand over answers as they find them.
  bool is_streamed() const {
    return !query_.top_k && query_.algorithm == ItemsetAlgorithm::kAuto && !began_on_device_ && !known_;
  }
  bool on_device() const { return !session_.devices().empty(); }
  ItemsetAlgorithm algorithm() const;
  void choose_device();
  std::unique_ptr<RowLevels> rows(const ExecutionOptions& options) const;
  void search_anywhere(ItemsetSink& sink, const ExecutionOptions& options);
  /// A searcher that tells a visitor what it finds, branch by branch.
  Searcher searcher(ItemsetVisitor& visitor, const ExecutionOptions& options);
  void search_papers(ItemsetSink& sink, const ItemsetLengths& lengths, uint32_t max_support, uint32_t leading,
                     const ExecutionOptions& options);
  bool wanted(uint32_t length, uint32_t support) const;
  void search_target(ItemsetSink& sink, const ExecutionOptions& options);
  void search_chosen(ItemsetSink& sink, const ExecutionOptions& options);

  ItemsetQuery query_;
  ExecutionOptions options_;
  RunRecord record_;
  SearchLevels levels_;
  SearchRoot root_;
  std::optional<KnownItemsets> known_;  // in place of a root to search
  OccurrenceLists occurrences_;         // of the root's lists, for targets other than all
  Buffer<int64_t> values_;              // [kept items]
  ItemsetLengths lengths_;
  uint64_t min_count_ = 1;  // the threshold of the query
  uint32_t max_support_ = UINT32_MAX;
  SearchBounds bounds_;
  DeviceSession session_;  // of one device
  bool began_on_device_ = false;
  mutable std::mutex site_mutex_;
  ExecutionSite site_;
};

}  // namespace batmap
