// All pairs of stored sets with the number of their common elements. There are four ways:
//   tiles       each set is in memory once, in prepared form, and pairs are compared in tiles that stay in the cache (tiles.h)
//   positional  the sets become bit rows by element, which are summed (count_positionally()): if the sets are so dense in one
//               universe that decoding them costs less than comparing them
//   relation    the elements become a relation (tid = element, item = set), which pair_run.h counts by the method that fits: if
//               bit rows would be too wide or too empty. If the sets are too large for memory (collected_sets.h), this is the
//               only way, and the relation is in files
//   prefix      candidates are found by their rarest elements (prefix_counter.h): if pairs must have much in common
// Devices count the sets themselves, if all are batmaps of one width, or the relation.
//
// All ways answer in the same order: by rising cardinality of the sets, then by id, unless a top-k form orders the pairs.
// Source: tiles after Amossen & Pagh 2011; the other ways and the choice are ours.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "core/options.h"
#include "pairs/collected_sets.h"
#include "pairs/counters/prefix_counter.h"
#include "pairs/pair_run.h"
#include "set/set_collection.h"

namespace batmap {

enum class AllPairsWay { kTiles, kPositional, kRelation, kPrefix };
inline constexpr size_t kAllPairsWays = 4;

/// @return nothing for "auto" @throws Error{kInvalidParameter} for a name that no way has
std::optional<AllPairsWay> all_pairs_way(std::string_view name);

/// At least one of min_count, min_jaccard, top_k and per_item_top_k is required.
struct AllPairsQuery {
  std::optional<int64_t> min_count;  // common elements; none: 1
  std::optional<double> min_jaccard;
  std::optional<int64_t> top_k;  // by Jaccard index if min_jaccard is given, else by common elements
  std::optional<int64_t> per_item_top_k;
  std::optional<int64_t> max_results;
  std::optional<AllPairsWay> way;  // none: the cheapest
  PairKernels kernels;
  DeviceUse device;

  /// @throws Error{kInvalidParameter} with the value, the bound and a hint
  void check() const;
};

class AllPairsRun {
 public:
  /// @param sets     moved in
  /// @param options  copied; its meter must outlive the run
  /// @throws Error{kTooLarge} for a set of 2^32 elements or more; Error, std::bad_alloc
  AllPairsRun(SetCollection sets, const AllPairsQuery& query, const ExecutionOptions& options);
  /// The same for sets that may be in files. @param sets  sealed; moved in @throws what the files throw, too
  AllPairsRun(CollectedSets sets, const AllPairsQuery& query, const ExecutionOptions& options);
  AllPairsRun(const AllPairsRun&) = delete;
  AllPairsRun& operator=(const AllPairsRun&) = delete;
  ~AllPairsRun();

  /// See PairAnswers::next. item_a and item_b are ids, item_a <= item_b. Sets with the same id count as different sets.
  bool next(PairBatch& batch);

  /// items: number of sets; occurrences: elements of the sets that are counted.
  const RunRecord& record() const { return record_; }

 private:
  struct Input;
  struct Costs;

  AllPairsRun(const AllPairsQuery& query, const ExecutionOptions& options);
  void prepare(SetCollection given);
  void prepare_rows(CollectedSets given);
  Costs estimate() const;
  void look_at_elements(Costs& costs);
  double sampled_pair_instances() const;
  void set_counting_costs(Costs& costs, double tid_slots, double pair_instances) const;
  AllPairsWay choose(const Costs& costs);
  bool count_on_devices(const Costs& costs, AllPairsWay& way);
  void count(AllPairsWay way, uint64_t element_bound);
  void count_relation();
  void start_relation();
  void follow_relation();
  void start(std::unique_ptr<PairCounter> counter);
  PairMeasure measure() const;
  PairSelection selection() const;

  AllPairsQuery query_;
  ExecutionOptions options_;
  uint64_t min_count_;
  RunRecord record_;
  std::vector<ItemPair> named_;   // the last batch
  std::vector<int64_t> ids_;      // ascending; while counting, a set is named by its position here
  std::unique_ptr<Input> input_;  // empty once the sets are decoded or handed on
  struct {
    AllPairsWay way;
    uint64_t element_bound;
  } resume_{};                             // used if devices fail
  std::unique_ptr<PrefixCounter> prefix_;  // made for its estimate, until the way is known
  std::unique_ptr<RowLog> log_;            // rows of the relation, while they are needed
  Buffer<uint32_t> name_of_number_;        // of the sets of rows in files
  OffloadedAnswers answers_;               // of all ways but the relation
  std::optional<PairRun> relation_run_;
};

}  // namespace batmap
