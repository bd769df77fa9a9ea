// Recognises a join-project in a query that is being planned: two relations are joined by equalities
// and grouped by expressions of one side each; the query counts the joined rows, the distinct join
// keys, or nothing (DISTINCT).
//
//   SELECT a.item, b.item, count(*) FROM t a JOIN t b USING (tid) WHERE a.item < b.item GROUP BY 1, 2 HAVING count(*) >= 10
//   SELECT DISTINCT r.a, s.c FROM r JOIN s ON r.b = s.b
//
// A query that is not proved to be one is left alone. Source: the equivalence with pair support, Amossen &
// Pagh 2011, section I.
#pragma once

#include "extension/server/pg.h"

namespace batmap::pg {

/// What is counted for each pair.
enum class JoinProjectCount : int { kNothing, kRows, kKeys };

/// The order of the two items of a pair that the query asks for, if it asks for nothing else.
enum class ItemOrder : int { kAny, kLeftSmaller, kLeftLarger };

struct JoinProjectSide {
  RelOptInfo* rel;
  List* keys;                  // expressions; the n-th joins with the n-th of the other side
  List* items;                 // expressions of GROUP BY
  List* item_operators;        // Oid: the equality of each item
  bool items_are_not_null;     // by the definition of the table
  bool null_items_are_wanted;  // false if a clause of the query rejects them
};

struct JoinProjectQuery {
  JoinProjectSide sides[2];
  List* key_operators;  // Oid: the equality of each key, of two values of one type
  bool self_join;       // both sides are the same rows
  ItemOrder order;      // for a self-join only
  JoinProjectCount counting;
  bool rows_repeat;         // rows may repeat, and that changes the counts
  List* aggregates;         // Aggref: all counts, each once
  List* null_when;          // int for each: 0, or 1 + the side whose item must not be NULL
  List* quals;              // conditions to check on each row of the answer
  Expr* threshold;          // least count, or nullptr
  bool threshold_excluded;  // the count must be larger
  Node* limit;              // number of rows with the largest counts, or nullptr
  Node* offset;             // number of rows to skip before them, or nullptr
  PathTarget* target;
};

/// @param input, output  relations of the planning stage, as the planner passes them to its hook
/// @return whether the query is a join-project
bool recognize_join_project(PlannerInfo* root, UpperRelationKind stage, RelOptInfo* input, RelOptInfo* output,
                            JoinProjectQuery& query);

}  // namespace batmap::pg
