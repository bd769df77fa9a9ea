// The table functions of pair support, for the table of streamed functions (row_stream.cpp).
#pragma once

#include "extension/functions/row_stream.h"

extern "C" {
PGDLLEXPORT Datum batmap_pairs_query(PG_FUNCTION_ARGS);
PGDLLEXPORT Datum batmap_pairs_of_query(PG_FUNCTION_ARGS);
PGDLLEXPORT Datum batmap_pairs_relation(PG_FUNCTION_ARGS);
PGDLLEXPORT Datum batmap_pairs_counts(PG_FUNCTION_ARGS);
}

namespace batmap::pg {

RowStream* open_pairs_query(FunctionCallInfo fcinfo, MemoryContext context);
RowStream* open_pairs_of_query(FunctionCallInfo fcinfo, MemoryContext context);
RowStream* open_pairs_relation(FunctionCallInfo fcinfo, MemoryContext context);
RowStream* open_pairs_counts(FunctionCallInfo fcinfo, MemoryContext context);

}  // namespace batmap::pg
