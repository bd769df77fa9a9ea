// A run of the engine for an itemset search in plain SQL: it reads the input, searches, and returns the itemsets.
#pragma once

#include <cstdint>

#include "extension/input/key_encoder.h"
#include "extension/plan/itemsets/itemset_path.h"
#include "extension/streams/row_stream.h"

#include "extension/server/pg.h"

namespace batmap::pg {

struct ItemsetInput {
  const ItemsetSpec& spec;
  const List* lists;  // ItemsetList
  PlanState* parent;
  PlanState* plan;
  int64_t min_count;
  KeyEncoder* items;  // output
};

/// An itemset as codes, in ascending order of the values.
struct FoundItemset {
  const int64_t* items;
  int64_t support;
};

struct ItemsetRows {
  RowStream* stream;            // called with next(nullptr); nullptr: the run gave up
  const FoundItemset* itemset;  // the row of the last call
  const char* why_plain;        // the run gave up; else nullptr
};

/// Finds all itemsets before it returns: later the run could not give up any more.
ItemsetRows open_itemsets(ItemsetInput& input, MemoryContext context);

}  // namespace batmap::pg
