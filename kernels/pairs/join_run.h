// One run of join-project: all (a, c) for which R(a, b) and S(b, c) have at least a given number of distinct
// b in common, with that number. The two relations become one (joined_relation.h); its pairs of an a and a c
// are a rectangle of pair support (pair_run.h). Source: Amossen & Pagh 2011, section I, for the reduction.
#pragma once

#include <optional>

#include "core/options.h"
#include "pairs/pair_run.h"
#include "relation/joined_relation.h"

namespace batmap {

struct JoinQuery {
  std::optional<int64_t> min_count;       // common b; none: 1
  bool distinct_only = false;             // pairs without counts: a pair is not counted further once it has min_count
  std::optional<int64_t> top_k;           // by the number of common b; ties by a, then c
  std::optional<int64_t> per_item_top_k;  // for each a and for each c
  std::optional<int64_t> max_results;
  bool bag = false;                  // repeated rows multiply, as in a SQL join; else they count once
  bool ties = false;                 // top_k: at least all pairs as good as the k-th, in any order
  std::optional<PairMethod> method;  // none: the chooser decides
  PairKernels kernels;
  DeviceUse device;

  /// @throws Error{kInvalidParameter} with the value, the bound and a hint
  void check() const { pairs().check(); }
  /// The same question about the joined relation.
  PairQuery pairs() const;
};

class JoinRun {
 public:
  /// @param joined   moved in
  /// @param options  copied; its meter must outlive the run
  /// @throws Error, std::bad_alloc
  JoinRun(JoinedRelation joined, const JoinQuery& query, const ExecutionOptions& options);
  JoinRun(const JoinRun&) = delete;
  JoinRun& operator=(const JoinRun&) = delete;

  /// See PairRun::next. item_a is an a, item_b a c, and support the number of common b; with distinct_only it
  /// is min_count. There are no supports of items. The order of the rows depends on the two relations only.
  bool next(PairBatch& batch) { return run_.next(batch); }

  /// transactions: the b that both have; items: the a and c with such a b; pair_instances: rows of the join.
  const RunRecord& record() const { return run_.record(); }

  /// See PairRun.
  bool may_run_out() const { return run_.may_run_out(); }
  void count_all() { run_.count_all(); }
  /// The run keeps the rows that it needs.
  static constexpr bool needs_rows() { return false; }

 private:
  Buffer<int64_t> values_;                // of the items, for the run
  std::optional<JoinedRelation> joined_;  // kept as long as the run needs its rows
  PairRun run_;
};

}  // namespace batmap
