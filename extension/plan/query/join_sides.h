// The two sides of a join: how the relations of a block are divided, so that each grouped expression reads one
// side and each clause that reads both is an equality or a comparison of items. The planner has built each
// side as a relation of its own; the node reads its cheapest path.
//
// Two sides are copies of one another if a renaming of relations turns one into the other. Then the rows of both
// are the same, and one is read. A relation of one side that has at most one row for each key can be joined to
// the other side, too, without a change of the answer; where that makes the sides copies, it is done.
#pragma once

#include "extension/plan/query/join_project_query.h"

#include "extension/server/pg.h"

namespace batmap::pg {

/// Blocks with more relations keep the plain plan: there are 2^(n-1) - 1 ways to divide n relations.
constexpr int kMaxRelations = 8;

/// The relations without the numbers that stand for outer joins.
Relids base_of(const PlannerInfo* root, Relids relids);

/// The relation of some base relations, if the planner has a path for it that needs nothing from outside; else nullptr.
RelOptInfo* relation_of(PlannerInfo* root, Relids base);

/// The ways to divide the relations of a block, those with the fewest rows first: lists of two RelOptInfo. Each grouped
/// expression reads one side, special joins stay within a side, and the planner has a path for each side.
/// @param grouped  the expressions of GROUP BY
List* divisions(PlannerInfo* root, const List* grouped);

/// Are two expressions equal in each row of the join of `relids`, by the clauses of the query?
bool are_equivalent(const PlannerInfo* root, Node* a, Node* b, Relids relids);

/// Does a unique index of one relation of a side cover its keys and codes, and do its other relations add no rows?
bool is_unique_on(PlannerInfo* root, const JoinProjectQuery& query, const JoinProjectSide& side);

/// Are the sides of `query` copies of one another? May add relations to sides, see above.
bool make_copies(PlannerInfo* root, JoinProjectQuery& query);

/// How one relation hangs on others: by one equality, and nothing else in the query reads it together with them.
struct OneEquality {
  Node* key;       // of the relation, which has at most one row for each value
  List* partners;  // expressions of the others that are equal to it in each row of the join
};

/// @param others       relations of the same side
/// @param comparisons  expressions that may read it together with others
/// @return whether `relation` hangs so on them
bool find_one_equality(PlannerInfo* root, int relation, Relids others, const List* comparisons, OneEquality& found);

/// An expression of `relids` that is equal to another one, which reads more, in each row of `side`. @return nullptr: there is none
Node* equal_within(const PlannerInfo* root, Node* expression, Relids side, Relids relids);

}  // namespace batmap::pg
