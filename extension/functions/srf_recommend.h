// The table functions that recommend items, for the table of streamed functions (row_stream.cpp).
#pragma once

#include "extension/functions/row_stream.h"

extern "C" {
PGDLLEXPORT Datum batmap_recommend_query(PG_FUNCTION_ARGS);
PGDLLEXPORT Datum batmap_recommend_of_query(PG_FUNCTION_ARGS);
PGDLLEXPORT Datum batmap_recommend_relation(PG_FUNCTION_ARGS);
}

namespace batmap::pg {

RowStream* open_recommend_query(FunctionCallInfo fcinfo, MemoryContext context);
RowStream* open_recommend_of_query(FunctionCallInfo fcinfo, MemoryContext context);
RowStream* open_recommend_relation(FunctionCallInfo fcinfo, MemoryContext context);

}  // namespace batmap::pg
