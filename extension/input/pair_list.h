// Rows of two values of one kind, from the text of a query: a list of pairs of items, or the edges of a graph. The query runs
// like any input query (inner_query.h), but a list that keeps its order is read without parallel workers. Rows with a NULL are
// ignored.
#pragma once

#include "extension/input/dictionary.h"
#include "extension/input/inner_query.h"
#include "extension/server/progress.h"
#include "relation/row_log.h"

#include "extension/server/pg.h"

namespace batmap::pg {

struct PairListInput {
  RowLog* log;  // filled and sealed; not owned
  ProgressReport* progress;
  Oid item_type;        // of an _of form: that of both columns; ANYELEMENTOID: any; InvalidOid: they are integers
  const char* values;   // what the columns have, for hints: "items"
  const char* columns;  // what they are, for hints
  bool keeps_order;
  bool by_bytes;  // texts are told apart by their bytes, as those of a relation, whatever their collation
  // Results:
  Dictionary* items = nullptr;  // the values of the ids in the log, not sorted; nullptr: they are integers
  Oid collation = InvalidOid;   // of the items
  const char* kind = "";        // how they were read: a word for batmap_last_run()
};

/// @raises what analyze_select() does; 42P10 unless two columns; 42804 for wrong types; 42P21 as check_collations() does
void read_pair_list(const InnerQuery& query, PairListInput& input, MemoryMeter& meter, MemoryContext context);

/// @raises 42P21 for two collations of which one is not deterministic: they may tell values apart differently
void check_collations(Oid first, Oid second);

}  // namespace batmap::pg
