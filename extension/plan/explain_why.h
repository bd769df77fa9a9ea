// Says why blocks of a query keep the plain plan: batmap_explain_why(query), and lines of EXPLAIN under
// batmap.explain_why.
#pragma once

#include "extension/plan/query/refusals.h"

#include "extension/server/pg.h"

namespace batmap::pg {

void install_explain_why();

/// Does anybody want to know why the node is refused?
bool explains_refusals();

/// Notes what became of a block.
/// @param refusal  Refusal::kNone: the node is offered to the planner
/// @param about    an expression of the block, or nullptr
void note_refusal(PlannerInfo* root, Refusal refusal, Node* about);

}  // namespace batmap::pg
