// Recognises a join-project in a query that is being planned: the relations of a block fall into two sides that are
// joined by equalities; the block is grouped by expressions of one side each and counts the joined rows, the distinct
// join keys, or nothing (DISTINCT).
//
//   SELECT a.item, b.item, count(*) FROM t a JOIN t b USING (tid) WHERE a.item < b.item GROUP BY 1, 2 HAVING count(*) >= 10
//   SELECT DISTINCT r.a, s.c FROM r JOIN s ON r.b = s.b
//   SELECT p.name, q.name, count(*) FROM t a JOIN t b USING (tid) JOIN products p ON p.id = a.item
//     JOIN products q ON q.id = b.item WHERE a.item < b.item GROUP BY 1, 2
//
// A query that is not proved to be one is left alone. Source: the equivalence with pair support, Amossen &
// Pagh 2011, section I.
#pragma once

#include "extension/plan/query/refusals.h"
#include "pairs/grouped_pairs.h"

#include "extension/server/pg.h"

namespace batmap::pg {

struct RowExpansion;

/// What is counted for each pair.
enum class JoinProjectCount : int { kNothing, kRows, kKeys };

/// In JoinProjectSide::item_refs: the item is in no group and no column of the query, only in a comparison.
constexpr int kOnlyCompared = -1;

/// A relation that is read apart from its side and finds values for each row of it: it has at most one row for each key.
struct JoinProjectLookup {
  RelOptInfo* rel;  // nullptr: there is none
  Node* key;        // an expression of it that is equal to the code of the side, or to the key of the join
  List* values;     // an expression of it for each item
};

struct JoinProjectSide {
  RelOptInfo* rel;             // one relation, or a join of several
  List* keys;                  // expressions; the n-th joins with the n-th of the other side
  List* items;                 // expressions that tell the rows of the answer apart
  List* item_operators;        // Oid: the equality of each item
  List* item_refs;             // int: the reference number in GROUP BY; 0: a column of the query; kOnlyCompared
  bool items_are_not_null;     // by the definition of the table
  bool null_items_are_wanted;  // false if a clause of the query rejects them
  List* codes;                 // what the engine counts: the items, or one expression by which `lookup` finds them
  List* code_operators;        // Oid: the equality of each code
  JoinProjectLookup lookup;
  double rows_with_lookups;  // estimated for the side as the query has it
  List* factors;             // if the query sums: expressions, columns of the input after keys and codes
};

struct JoinProjectQuery {
  JoinProjectSide sides[2];
  RowExpansion* expansion;  // the sides are calls of a function over the same rows (join_unnest.h); else nullptr
  List* key_operators;      // Oid: the equality of each key, of two values of one type
  bool self_join;           // both sides are the same rows
  PairCondition order;      // of the left and the right item of a self-join, if no other clause is about them
  JoinProjectCount counting;
  bool rows_repeat;  // rows may repeat, and that changes the counts
  bool finer;        // the server combines the node's groups, which may be finer, by their aggregates' states
  List* aggregates;  // Aggref, each once
  List* looked_at;   // items and columns that become items: an aggregate shows them, or computes an expression of them
  bool adds_up;      // the engine sums products of factors (join_sums.h)
  List* sums;        // then, ints for each aggregate: SumSpec; the next three lists are empty
  List* states;      // int for each: AggregateState
  List* arguments;   // expression for each, or nullptr: the aggregate counts all rows
  List* conditions;  // FILTER for each, or nullptr
  List* quals;       // conditions to check on each row of the answer: comparisons of items, then HAVING
  int comparisons;   // number of the former
  List* compared;    // all comparisons of items, also the one that became `order`
  Expr* threshold;   // least count, or nullptr
  bool threshold_excluded;  // the count must be larger
  Node* limit;              // number of rows with the largest counts, or nullptr
  Node* offset;             // number of rows to skip before them, or nullptr
  PathTarget* target;
  List* groups;  // SortGroupClause: what the query groups by

  // Set by read_lookups_apart() (join_lookups.h):
  bool grouped;             // the node adds up the counts of codes by the items that they stand for
  PairCondition condition;  // between the codes of a pair, or between what lookups find for them
  int compared_value;       // its index in the values of both lookups; -1: the codes are compared
  JoinProjectSide shared;   // items that the key determines, perhaps none, and their lookup
  double share_of_keys;     // the estimated share of the rows whose key that lookup has

  Refusal refusal;  // why it is no join-project
  Node* about;      // the expression that `refusal` is about, or nullptr

  /// @return false
  bool refuse(Refusal why, void* expression = nullptr) {
    if (why >= refusal) {
      refusal = why;
      about = static_cast<Node*>(expression);
    }
    return false;
  }
};

// ---- parts of the recognition that all nodes share

/// Does the stage group the rows of the join by something, or take DISTINCT of them?
bool groups_rows(const PlannerInfo* root, UpperRelationKind stage);

/// Is the block an inner join of relations that nothing in the query looks through?
bool is_plain_block(PlannerInfo* root, UpperRelationKind stage, const RelOptInfo* input, JoinProjectQuery& query);

/// Does each relation of the block return the same rows each time it is read, by the node or by the plain plan?
bool relations_are_plain(PlannerInfo* root, JoinProjectQuery& query);

/// Does count(x) count each row, because x is never NULL?
bool is_never_null(PlannerInfo* root, const JoinProjectQuery& query, Node* expression);

/// The rows that an aggregate sees: all of them, or one for each key; kNothing: others.
JoinProjectCount counted_by(PlannerInfo* root, const JoinProjectQuery& query, const Aggref* aggregate);

/// Takes `count >= k` or `count > k` as the threshold of the engine. @return false if the condition is another one
bool take_threshold(const PlannerInfo* root, JoinProjectQuery& query, Expr* clause);

/// @param input, output  relations of the planning stage, as the planner passes them to its hook
/// @param adds_up  whether its aggregates are to be sums of products (join_sums.h)
/// @return whether the query is a join-project; if not, `refusal` says why
bool recognize_join_project(PlannerInfo* root, UpperRelationKind stage, RelOptInfo* input, RelOptInfo* output,
                            JoinProjectQuery& query, bool adds_up = false);

/// Makes a threshold and conditions of HAVING, for groups that are those of the query.
void take_having(const PlannerInfo* root, JoinProjectQuery& query, List* having);
/// Takes ORDER BY count DESC LIMIT n, if all rows of the node go into that sort.
void take_limit(PlannerInfo* root, JoinProjectQuery& query);
/// May a pair of key and codes occur twice on a side?
bool rows_may_repeat(PlannerInfo* root, const JoinProjectQuery& query);

}  // namespace batmap::pg
