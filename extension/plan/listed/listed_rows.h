// A run of the engine for listed pairs in plain SQL: it reads the list and the inputs, counts, and returns the answers.
#pragma once

#include "extension/input/key_encoder.h"
#include "extension/plan/listed/listed_path.h"
#include "extension/streams/row_stream.h"
#include "pairs/listed_run.h"

#include "extension/server/pg.h"

namespace batmap::pg {

struct ListedInputs {
  const ListedSpec& spec;
  const List* lists;  // ListedList
  PlanState* parent;
  PlanState* plans[2];  // the second one is nullptr for a self-join
  PlanState* list;
  KeyEncoder codes[2];  // output: of the left and of the right input
  TupleCodes* values;   // output: of rows of the list, for ListedAnswer::kRow; else nullptr
};

struct ListedRows {
  RowStream* stream;       // called with next(nullptr); nullptr: memory was too small
  const ListedPair* pair;  // the row of the last call; its `row` is the number of the values
};

/// @return no stream if memory is too small
ListedRows open_listed_pairs(ListedInputs& inputs, MemoryContext context);

}  // namespace batmap::pg
