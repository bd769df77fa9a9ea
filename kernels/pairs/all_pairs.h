// All pairs of stored sets by what they have in common. Each set is in memory once; pairs are compared in tiles that stay
// in cache (tiles.h). Where the sets share a universe so densely that comparing costs more than taking them apart, they
// become bit rows by element, which are summed (count_positionally()), or, where such rows would be too wide or too empty,
// a relation (tid = element, item = set) that pair_run.h counts by the method that fits it. Devices count sets as they are,
// where all of them are batmaps of one width, and the relation.
//
// Answers come in one order whatever the way: by rising cardinality of the sets, then by id, unless a top-k form orders
// them.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "core/options.h"
#include "pairs/pair_run.h"
#include "set/set_collection.h"

namespace batmap {

enum class AllPairsWay { kTiles, kPositional, kRelation };
inline constexpr size_t kAllPairsWays = 3;

/// At least one of the first four is wanted.
struct AllPairsQuery {
  std::optional<int64_t> min_count;  // least intersection
  std::optional<double> min_jaccard;
  std::optional<int64_t> top_k;  // by Jaccard index where min_jaccard is given, else by intersection
  std::optional<int64_t> per_item_top_k;
  std::optional<int64_t> max_results;
  std::optional<AllPairsWay> way;  // none: by cost
  PairKernels kernels;
  DeviceUse device;

  /// @throws Error{kInvalidParameter} with the value, the bound and a hint
  void check() const;
};

class AllPairsRun {
 public:
  /// @param sets     used up
  /// @param options  copied; its meter must outlive the run
  /// @throws Error{kTooLarge} a set of 2^32 elements or more; Error, std::bad_alloc
  AllPairsRun(SetCollection sets, const AllPairsQuery& query, const ExecutionOptions& options);
  AllPairsRun(const AllPairsRun&) = delete;
  AllPairsRun& operator=(const AllPairsRun&) = delete;
  ~AllPairsRun();

  /// See PairAnswers::next. item_a and item_b are ids, item_a <= item_b; sets of the same id are sets of their own.
  bool next(std::vector<PairRow>& batch);

  /// items: sets; occurrences: elements of the sets that were counted.
  const PairReport& report() const { return report_; }

 private:
  struct Input;
  struct Costs;

  void prepare(SetCollection given);
  Costs estimate() const;
  AllPairsWay choose(const Costs& costs);
  bool count_on_devices(const Costs& costs, AllPairsWay& way);
  void count(AllPairsWay way, uint64_t element_bound);
  void count_relation();
  void follow_relation();
  void start(std::unique_ptr<PairCounter> counter);
  PairMeasure measure() const;
  PairSelection selection() const;

  AllPairsQuery query_;
  ExecutionOptions options_;
  PairReport report_;
  std::vector<int64_t> ids_;      // ascending; a set is called by its place here while it is counted
  std::unique_ptr<Input> input_;  // until it is taken apart or handed on
  struct {
    AllPairsWay way;
    uint64_t element_bound;
  } resume_{};                    // where devices fail
  std::unique_ptr<PairLog> log_;  // of a relation, while its rows are needed
  OffloadedAnswers answers_;      // but for a relation
  std::optional<PairRun> relation_run_;
};

}  // namespace batmap
