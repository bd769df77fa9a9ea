// Join-projects of one row with itself: a function that returns a set is called twice over each row of the other
// relations, and the block groups by the elements of both calls. The row is the key.
//
//   SELECT x, y, count(*) FROM posts, unnest(tags) x, unnest(tags) y WHERE x < y GROUP BY 1, 2
//
// The sides are always copies of one another, so the node reads the rows once and calls the function once for each
// (node_expand_rows.h).
#pragma once

#include "extension/plan/query/join_project_query.h"

#include "extension/server/pg.h"

namespace batmap::pg {

struct RowExpansion {
  RelOptInfo* rows;  // what the function is called for: one relation, or a join of several
  int functions[2];  // of the range table
  FuncExpr* call;
  List* conditions;  // of each element, as the left side has them
  List* of_answer;   // conditions that are not the same for both calls, to be checked on rows of the answer
};

/// The ways to read a block with LATERAL as expansions: lists of a RowExpansion and two RelOptInfo, the sides.
List* expansions(PlannerInfo* root);

/// Makes the number of the row the key, and reads the conditions of elements and those between the sides.
/// @param input  the relation of the whole join
bool read_expansion(PlannerInfo* root, const RelOptInfo* input, JoinProjectQuery& query);

/// Makes the sides copies: each gets the items that only the other one has.
bool complete_items(PlannerInfo* root, JoinProjectQuery& query);

/// Does the expression have another value in each row that is expanded, and never NULL?
bool numbers_rows(PlannerInfo* root, const JoinProjectQuery& query, Node* expression, Oid equals);

/// The estimated number of pairs of elements, of which conditions of the answer leave `rows`.
double pair_instances(PlannerInfo* root, const JoinProjectQuery& query, double rows);

/// An expression of the left side, with the call in place of its elements.
Node* with_call(const RowExpansion& expansion, Node* expression);

}  // namespace batmap::pg
