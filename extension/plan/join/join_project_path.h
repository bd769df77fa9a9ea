// The path of a join-project, its cost, and the plan that node_join_project.* runs.
#pragma once

#include "extension/input/key_column.h"
#include "extension/plan/query/join_project_query.h"

#include "extension/server/pg.h"

namespace batmap::pg {

/// Where the items of a side come from, if they are not in its input.
enum class Lookup : int { kNone, kOwn, kOfLeft };

/// What the node must know when it runs: plain ints, so that a plan can hold them.
struct JoinProjectSpec {
  struct Side {
    int keys;  // columns of the input: keys first, then codes
    int codes;
    KeyKind key;
    KeyKind item;    // of the codes
    int null_items;  // 0: rows whose code is NULL are left out
    int packed;      // the input returns chunks (node_pack_rows.h)
    int items;       // columns of the answer: the codes, or what a lookup finds for them
    Lookup lookup;
    KeyKind lookup_key;
    int adds_up;  // aggregates are sums of products of factors (join_sums.h)
    int factors;  // then, columns of the input after the codes; a self-join has those of both sides
  };
  Side sides[2];
  Side shared;  // only its lookup, by the key of the join
  int grouped;  // the node adds up the counts of codes by the items that they stand for
  PairCondition condition;
  int compared_value;  // see JoinProjectQuery
  int self_join;       // both sides are one input
  PairCondition order;
  JoinProjectCount counting;
  int rows_repeat;
  int comparisons;    // of items: the first of the conditions, to be checked before aggregates are computed
  int has_threshold;  // its bound is the first of custom_exprs
  int threshold_excluded;
  int has_limit;    // the next of custom_exprs
  int has_offset;   // the next of custom_exprs; arguments and conditions of aggregates follow
  int kept_table;   // Oid: its kept counts are read instead of the input (join_kept.h); 0: none are
  int kept_counts;  // Oid: the companion with the counts

  const Side& side(int number) const { return sides[self_join ? 0 : number]; }
  bool adds_up() const { return sides[0].adds_up != 0; }
  int inputs() const { return self_join ? 1 : 2; }
  /// The lookups: of the left side, of the right side, by the key.
  const Side& looked_up(int number) const { return number < 2 ? sides[number] : shared; }
  static constexpr int kLookups = 3;
};

/// Are keys and items of a side their own codes?
bool has_own_keys(const JoinProjectSpec::Side& side);

/// A path that returns some expressions of a relation.
Path* path_of(PlannerInfo* root, RelOptInfo* rel, List* expressions);

/// A path that returns the keys and items of a side: in chunks from parallel workers if that is cheaper.
/// @param expansion   see JoinProjectQuery
/// @param may_repeat  whether rows may come more often than the side has them
/// @param[in,out] columns  `packed` is set
Path* input_path(PlannerInfo* root, const JoinProjectSide& side, const RowExpansion* expansion, bool may_repeat,
                 JoinProjectSpec::Side& columns);

/// The lists that CustomScan::custom_private holds.
enum JoinProjectList {
  kSpec,
  kKeyOperators,
  kLeftItemOperators,
  kRightItemOperators,
  kSharedOperators,
  kLeftShown,  // this and the next two: see plan_encoder()
  kRightShown,
  kSharedShown,
  kStates,
  kInputs,
  kSums
};

/// In the list kInputs, for each aggregate: the expressions that it has.
enum AggregateInput : int { kArgument = 1, kCondition = 2 };

// ---- the answer

/// The columns of the node's rows: items of the left, items of the right, those of both, aggregates.
List* scan_targets(const JoinProjectQuery& query);

/// What the node returns if the server groups its rows again: the columns that the query needs.
PathTarget* finer_target(const JoinProjectQuery& query);

/// A path that groups the rows of the node by what the query groups by, and combines their states.
Path* regrouped(PlannerInfo* root, RelOptInfo* output, const JoinProjectQuery& query, Path* rows, double groups,
                List* having);

/// Can the rows of a path be put into the columns of the node?
bool gives_answer(const Path* plain, const JoinProjectQuery& query);

/// A path with the plain answer in the columns of the node. An item that the query does not group by is NULL: nothing reads
/// it any more.
Path* plain_path(PlannerInfo* root, RelOptInfo* input, RelOptInfo* output, Path* plain, const JoinProjectQuery& query);

List* join_project_lists(const List* custom_private);
JoinProjectSpec join_project_spec(const List* lists);

/// @param plain  the cheapest path of the server with the same answer
/// @return the path, of which `plain` becomes a part, to take over when memory is too small; nullptr if `plain` does not
/// have the columns for that
Path* join_project_path(PlannerInfo* root, RelOptInfo* input, RelOptInfo* output, JoinProjectQuery& query, Path* plain,
                        const CustomPathMethods* methods);

}  // namespace batmap::pg
