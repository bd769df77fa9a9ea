// The table functions of join-project, for the table of streamed functions (row_stream.cpp).
#pragma once

#include "extension/functions/row_stream.h"

extern "C" {
PGDLLEXPORT Datum batmap_join_project_query(PG_FUNCTION_ARGS);
PGDLLEXPORT Datum batmap_join_project_of_query(PG_FUNCTION_ARGS);
PGDLLEXPORT Datum batmap_join_project_relation(PG_FUNCTION_ARGS);
}

namespace batmap::pg {

RowStream* open_join_query(FunctionCallInfo fcinfo, MemoryContext context);
RowStream* open_join_of_query(FunctionCallInfo fcinfo, MemoryContext context);
RowStream* open_join_relation(FunctionCallInfo fcinfo, MemoryContext context);

}  // namespace batmap::pg
