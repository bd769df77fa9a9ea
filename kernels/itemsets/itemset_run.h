// One run of a search for frequent itemsets, from rows to answers: codes the relation, drops what cannot matter, merges
// equal transactions, and searches. The order of the answers depends on the rows and the question alone.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "accel/offload.h"
#include "bits/and_popcount.h"
#include "core/options.h"
#include "itemsets/answers/itemset_sink.h"
#include "itemsets/answers/itemset_spectrum.h"
#include "itemsets/answers/itemset_visitor.h"
#include "itemsets/answers/search_bounds.h"
#include "itemsets/forms/mask_kernel.h"
#include "itemsets/forms/occurrence_lists.h"
#include "itemsets/forms/search_root.h"
#include "itemsets/itemset_forecast.h"
#include "itemsets/search/itemset_target.h"
#include "itemsets/search/row_levels.h"
#include "itemsets/search/search_levels.h"
#include "itemsets/search/search_sample.h"
#include "relation/chunk.h"

namespace batmap {

/// Who searches: auto is DepthFirst, or pbi on a device; the others are the algorithms of two papers, over bit rows
/// (breadth_first.h, bit_row_search.h), here or on a device.
enum class ItemsetAlgorithm { kAuto, kPbi, kTbi, kDfs };
inline constexpr size_t kItemsetAlgorithms = 4;

struct ItemsetQuery {
  // At most one of the two; none only together with top_k (then 1).
  std::optional<int64_t> min_count;
  std::optional<double> min_support;
  std::optional<double> max_support;  // a fraction: itemsets that are more frequent are no answers
  std::optional<int64_t> min_length;
  std::optional<int64_t> max_length;
  ItemsetTarget target = ItemsetTarget::kAll;
  std::optional<std::vector<int64_t>> include;  // item values; an itemset needs one of them
  std::optional<std::vector<int64_t>> exclude;  // item values; rows of theirs do not count
  std::optional<int64_t> top_k;                 // the itemsets of most support; ties: the shorter, then the smaller items
  std::optional<int64_t> max_results;           // heeded by ItemsetStream, as is the next
  std::optional<int64_t> timeout_ms;
  ItemsetAlgorithm algorithm = ItemsetAlgorithm::kAuto;
  const MaskKernel* kernel = nullptr;       // none: the fastest
  const AndPopcountKernel* bits = nullptr;  // likewise, for bit rows
  DeviceUse device;

  /// @throws Error{kInvalidParameter} with the value, the bound and a hint
  void check() const;
};

/// "all", "closed", "maximal", "generators". @throws Error{kInvalidParameter} for another name
ItemsetTarget parse_itemset_target(const std::string& name);
/// "auto", "pbi", "tbi", "dfs". @throws Error{kInvalidParameter} for another name
ItemsetAlgorithm parse_itemset_algorithm(const std::string& name);

struct ItemsetReport {
  std::string method;  // at the beginning: see ItemsetPlace
  std::string kernel;
  std::string reason;  // for the device or against it, where one was thought of
  uint64_t transactions = 0;
  uint64_t items = 0;
  uint64_t items_kept = 0;
  uint64_t occurrences = 0;  // rows of kept items
  uint64_t distinct_transactions = 0;
  uint64_t threshold = 0;
  double group_ms = 0;   // with the choice of a device
  double choice_ms = 0;  // of it
};

/// Where a search is done, and how: changes when a device fails.
struct ItemsetPlace {
  std::string method;
  std::string kernel;
  std::string device = "cpu";  // or the name of a GPU
  std::string notice;          // what the user should be told: a device failed
};

/// The root of a search: rows grouped, ready to be searched any number of times.
class ItemsetRun {
 public:
  /// @param chunks     must stay valid until the constructor returns
  /// @param item_rank  see EncodedRelation; with it, include, exclude and value() are ranks
  /// @param options    copied; its meter must outlive the run
  /// @throws Error, std::bad_alloc
  ItemsetRun(std::vector<ChunkView> chunks, std::span<const uint32_t> item_rank, const ItemsetQuery& query,
             const ExecutionOptions& options);
  ItemsetRun(const ItemsetRun&) = delete;
  ItemsetRun& operator=(const ItemsetRun&) = delete;

  /// The search is cut into so many parts; one after the other they give all answers in order.
  size_t branches() const;
  /// Searches one branch at a call, in ascending order, and hands all its answers to the sink.
  using Searcher = std::function<void(size_t branch)>;
  /// @param sink, options  must outlive it; several may be at work at once, each with its own
  Searcher searcher(ItemsetSink& sink, const ExecutionOptions& options);
  /// Forgets a search that was left by an exception of its sink, so that it can be begun anew. No other may be at work.
  void restart();
  /// All of it from this thread. @throws Error, what the sink throws
  void search(ItemsetSink& sink);
  /// The same answers in the same order, subsets of perfect extensions together where all of them are answers.
  void search(ItemsetVisitor& visitor);
  /// How many answers there are of each length and support, whatever their number.
  GrowingBuffer<SpectrumRow> spectrum();
  /// Their number, exact where counting them takes no longer than half of the time, else from random ways in the other half
  /// (two rounds of them at least). @note target kAll without top_k only; algorithm is not heeded
  ItemsetForecast forecast(double milliseconds);

  /// The item that a step's rank stands for.
  int64_t value(uint32_t rank) const { return values_[rank]; }
  size_t ranks() const { return values_.size(); }
  const ItemsetQuery& query() const { return query_; }
  const ItemsetReport& report() const { return report_; }
  ItemsetPlace place() const;                             // from any thread
  const SearchLevels& levels() const { return levels_; }  // of pbi and tbi

 private:
  /// DepthFirst or TargetSearch give the answers as they find them.
  bool is_streamed() const { return !query_.top_k && query_.algorithm == ItemsetAlgorithm::kAuto && !began_on_device_; }
  ItemsetAlgorithm algorithm() const;
  void choose_device();
  bool is_for_a_device(const DeviceTraits& device);
  double host_ms(const SearchOutline& outline, double row_words, double planes, double candidates_ms) const;
  std::unique_ptr<RowLevels> rows(const ExecutionOptions& options) const;
  void search_anywhere(ItemsetSink& sink, const ExecutionOptions& options);
  /// What a search tells a visitor, branch by branch.
  Searcher searcher(ItemsetVisitor& visitor, const ExecutionOptions& options);
  void search_papers(ItemsetSink& sink, const ItemsetLengths& lengths, uint32_t max_support, uint32_t leading,
                     const ExecutionOptions& options);
  bool wanted(uint32_t length, uint32_t support) const;
  void search_target(ItemsetSink& sink, const ExecutionOptions& options);
  void search_chosen(ItemsetSink& sink, const ExecutionOptions& options);

  ItemsetQuery query_;
  ExecutionOptions options_;
  ItemsetReport report_;
  SearchLevels levels_;
  SearchRoot root_;
  OccurrenceLists occurrences_;  // of the root's lists, for targets
  Buffer<int64_t> values_;       // [kept items]
  ItemsetLengths lengths_;
  uint32_t max_support_ = UINT32_MAX;
  SearchBounds bounds_;
  bool began_on_device_ = false;
  std::optional<DeviceTraits> device_;  // none, or none any more: the CPU searches
  mutable std::mutex place_mutex_;
  ItemsetPlace place_;
};

}  // namespace batmap
