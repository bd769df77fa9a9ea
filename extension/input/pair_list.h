// A list of pairs of items from the text of a query of two columns. The query runs like any input query (inner_query.h), but
// without parallel workers, so that the list keeps its order. Rows with a NULL are ignored.
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
  Oid item_type;         // of an _of form: that of both columns; InvalidOid: items are integers
  const char* columns;   // what they are, for hints
  // Results:
  Dictionary* items;  // of an _of form: the values of the ids in the log; not sorted
  Oid collation;      // of the items
};

/// @raises what analyze_select() does; 42P10 unless two columns; 42804 for wrong types; 42P22 for two collations
void read_pair_list(const InnerQuery& query, PairListInput& input, MemoryMeter& meter, MemoryContext context);

/// Which pairs of collations tell values apart differently, if one of them is not deterministic.
/// @raises 42P21 if they are two, and one is such
void check_collations(Oid first, Oid second);

}  // namespace batmap::pg
