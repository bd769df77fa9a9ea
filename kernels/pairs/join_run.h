// One run of join-project: all (a, c) that R(a, b) and S(b, c) join at enough distinct b, with the number of these. The two
// become one relation (joined_relation.h) whose pairs of an a and a c are a rectangle of pair support (pair_run.h).
#pragma once

#include <optional>
#include <vector>

#include "core/options.h"
#include "pairs/pair_run.h"
#include "relation/joined_relation.h"

namespace batmap {

struct JoinQuery {
  std::optional<int64_t> min_count;       // least number of shared b; none: 1
  bool distinct_only = false;             // the pairs without their counts: a pair is left once it has min_count
  std::optional<int64_t> top_k;           // by the number of shared b; ties by a, then c
  std::optional<int64_t> per_item_top_k;  // of each a and of each c
  std::optional<int64_t> max_results;
  bool bag = false;                    // rows that repeat multiply, as in a join in SQL; else they count once
  bool ties = false;                   // top_k: at least all pairs as good as the k-th, in no order
  std::optional<uint64_t> max_passes;  // see PairQuery
  std::optional<PairMethod> method;    // none: the chooser's
  PairKernels kernels;
  DeviceUse device;

  /// @throws Error{kInvalidParameter} with the value, the bound and a hint
  void check() const { pairs().check(); }
  /// The same question about the joined relation.
  PairQuery pairs() const;
};

class JoinRun {
 public:
  /// @param joined   used up
  /// @param options  copied; its meter must outlive the run
  /// @throws Error, std::bad_alloc
  JoinRun(JoinedRelation joined, const JoinQuery& query, const ExecutionOptions& options);
  JoinRun(const JoinRun&) = delete;
  JoinRun& operator=(const JoinRun&) = delete;

  /// See PairRun::next. item_a is an a, item_b a c, support the number of shared b, or, with distinct_only, min_count.
  /// Rows are in an order that depends on the two relations alone.
  bool next(std::vector<PairRow>& batch);

  /// transactions: b that both have; items: a and c that have such a b; pair_instances: rows of the join.
  const PairReport& report() const { return run_.report(); }

  /// See PairRun.
  bool may_run_out() const { return run_.may_run_out(); }
  void count_all() { run_.count_all(); }
  /// See PairRun. What a join needs it has itself.
  static constexpr bool needs_rows() { return false; }

 private:
  bool distinct_only_;
  Buffer<int64_t> values_;
  std::optional<JoinedRelation> joined_;  // for as long as the run needs its rows
  PairRun run_;
};

}  // namespace batmap
