// A run of the engine over the inputs of a join-project: reads them, counts, and gives the pairs.
#pragma once

#include <optional>

#include "extension/functions/row_stream.h"
#include "extension/input/item_codes.h"
#include "extension/plan/join_project_path.h"
#include "pairs/best_pairs.h"

#include "extension/server/pg.h"

namespace batmap::pg {

struct JoinProjectBounds {
  int64_t min_count = 1;
  std::optional<int64_t> best;  // only so many of the largest counts are wanted, and what equals the last
  double plain_cost = 0;        // of the plan that answers where memory is too small, if there is one
};

struct JoinProjectInputs {
  const JoinProjectSpec& spec;
  const List* lists;  // JoinProjectList
  PlanState* parent;
  PlanState* plans[2];
  ItemCodes* items[2];  // overwritten
};

/// The pairs, by their codes: of a self-join each once, whichever way round; else the left item first.
struct JoinProjectRows {
  RowStream* stream;   // to be pulled without values; nullptr: memory was too small
  const PairRow* row;  // the last one pulled
};

/// @param may_give_up  give no stream where memory is too small, instead of raising an error
JoinProjectRows open_join_project(JoinProjectInputs& inputs, const JoinProjectBounds& bounds, bool may_give_up,
                                  MemoryContext context);

}  // namespace batmap::pg
