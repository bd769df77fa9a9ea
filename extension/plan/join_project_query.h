// Recognises, in a query that is being planned, a join-project: two relations joined by equalities, grouped by expressions
// of one side each, with a count of the joined rows, of the distinct join keys, or of nothing at all (DISTINCT).
//
//   SELECT a.item, b.item, count(*) FROM t a JOIN t b USING (tid) WHERE a.item < b.item GROUP BY 1, 2 HAVING count(*) >= 10
//   SELECT DISTINCT r.a, s.c FROM r JOIN s ON r.b = s.b
//
// Whatever is not proved to be one is left alone. Source: the equivalence with pair support is Amossen & Pagh 2011, I.
#pragma once

#include "extension/server/pg.h"

namespace batmap::pg {

/// What is counted for each pair.
enum class JoinProjectCount : int { kNothing, kRows, kKeys };

/// The order that the query wants between the items of a pair, where it is no more than that.
enum class ItemOrder : int { kAny, kLeftSmaller, kLeftLarger };

struct JoinProjectSide {
  RelOptInfo* rel;
  List* keys;                  // expressions; the n-th equals the n-th of the other side
  List* items;                 // expressions, grouped by
  List* item_operators;        // Oid, their equality
  bool items_are_not_null;     // known from the table
  bool null_items_are_wanted;  // else a clause of the query refuses them
};

struct JoinProjectQuery {
  JoinProjectSide sides[2];
  List* key_operators;  // Oid, an equality of two values of one type
  bool self_join;       // both sides are the same rows
  ItemOrder order;      // of a self-join only
  JoinProjectCount counting;
  bool rows_repeat;         // or may repeat, and that makes a difference
  List* aggregates;         // Aggref: everything that is counted, each once
  List* null_when;          // int for each: 0, or 1 + the side whose (single) item must not be NULL to be counted
  List* quals;              // what is left to be checked of each row
  Expr* threshold;          // least count, or nullptr
  bool threshold_excluded;  // the count must be larger
  Node* limit;              // rows wanted, the largest counts first; or nullptr
  Node* offset;             // before them, or nullptr
  PathTarget* target;
};

/// @param input, output  of the stage, as the planner's hook gets them
/// @return whether it is one
bool recognize_join_project(PlannerInfo* root, UpperRelationKind stage, RelOptInfo* input, RelOptInfo* output,
                            JoinProjectQuery& query);

}  // namespace batmap::pg
