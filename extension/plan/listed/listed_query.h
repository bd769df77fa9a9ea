// Recognises a list of pairs in a query that is being planned: two inputs are joined by a key, and a third one, the list, is
// joined to both by their items. Only the listed pairs are counted.
//
//   SELECT a.item, b.item, count(*) FROM lines a JOIN lines b USING (key) JOIN wanted c ON c.x = a.item AND c.y = b.item
//     GROUP BY 1, 2
//   SELECT count(*) FROM edges a JOIN edges b ON a.dst = b.src JOIN edges c ON c.src = a.src AND c.dst = b.dst
//
// What the query returns and groups by must be known from a row of the list. If the groups are the two items, the node
// returns them; otherwise it returns the listed pairs with their numbers of rows, and the server adds these up by group.
#pragma once

#include "extension/plan/query/join_project_query.h"

#include "extension/server/pg.h"

namespace batmap::pg {

/// There are about 3^n / 2 ways to divide n relations into two inputs and a list.
constexpr int kMaxListedRelations = 6;

/// What becomes one row of the node.
enum class ListedAnswer : int {
  kPair,  // each different pair
  kRow,   // each row of the list
  kAll    // everything
};

struct ListedJoin {
  JoinProjectQuery block;     // what the node returns; its items are all on the left side
  JoinProjectSide inputs[2];  // keys: what they are joined by; codes: what the list names
  JoinProjectSide list;       // keys: the codes of the left input; codes: those of the right one
  List* key_operators;        // Oid: the equality of each key
  List* code_operators[2];    // Oid: the equality of each code of the inputs
  bool self_join;             // both inputs are the same rows
  ListedAnswer answer;
  List* sources;   // int for each item of `block`: the input of which it is the code (kPair)
  List* values;    // for each item: an expression of the list (kRow)
  double lookups;  // estimated number of rows that are looked up in others
};

/// @param input, output  relations of the planning stage, as the planner passes them to its hook
/// @return whether the block counts listed pairs; if it does but for some detail, `refusal` of the block says which
bool recognize_listed_pairs(PlannerInfo* root, UpperRelationKind stage, RelOptInfo* input, RelOptInfo* output,
                            ListedJoin& join);

}  // namespace batmap::pg
