// Items, keys and comparisons of a join-project: the expressions of one side each, and the clauses between them.
#pragma once

#include "extension/plan/query/join_project_query.h"
#include "extension/server/sorted_limit.h"

#include "extension/server/pg.h"

namespace batmap::pg {

inline Node* node_of(void* node) { return static_cast<Node*>(node); }

/// The side whose relations an expression reads; -1: none, or both.
int side_of(PlannerInfo* root, const JoinProjectQuery& query, Node* expression);

/// The index of an item; -1: the expression is no item of that side.
int item_index(const JoinProjectSide& side, Node* expression);
bool is_item(const JoinProjectQuery& query, Node* expression);

/// If an expression is an item, notes that the query returns it, so that it is not only compared.
bool return_item(JoinProjectQuery& query, Node* expression);

/// Adds the expressions of GROUP BY as items.
bool add_grouped_items(PlannerInfo* root, JoinProjectQuery& query);

/// Adds an expression that the query does not group by.
/// @param ref  see JoinProjectSide::item_refs
bool add_item(PlannerInfo* root, JoinProjectQuery& query, Node* expression, int ref);

/// Adds a comparison of one value of each side, to be made after the grouping. Values that the query does not group by become
/// items, too; then the groups of the node are finer than those of the query.
bool add_comparison(PlannerInfo* root, JoinProjectQuery& query, Expr* clause);

/// Adds an equality of one value of each side as a key. @return false if the clause is another one
bool add_key(JoinProjectQuery& query, const RestrictInfo* clause);

/// Reads the clauses that join the sides: keys, and comparisons that are checked on the rows of the answer.
bool read_join(PlannerInfo* root, const RelOptInfo* input, JoinProjectQuery& query);

/// The operand of a comparison without casts that change nothing: varchar is compared as text.
Node* compared(void* argument);

/// What a comparison of the left with the right value means in the order of their type. @return false: nothing there
bool read_condition(Oid operation, Oid type, PairCondition& condition);

/// Is the expression never NULL, by the definition of the table?
bool is_not_null(PlannerInfo* root, Node* expression);

/// Is the expression a key of the join, or equal to one in every row of a side?
bool is_key(PlannerInfo* root, const JoinProjectQuery& query, Node* expression);

Node* as_int8(Node* expression);

/// The columns that the output and HAVING read besides what the query groups by. They have one value in each group: the server has
/// proved it. The target of a stage may have other columns, too, of which it later computes grouped expressions once more.
/// @param grouped  all expressions of GROUP BY or DISTINCT
List* columns_of_groups(PlannerInfo* root, const List* grouped, List* having);

}  // namespace batmap::pg
