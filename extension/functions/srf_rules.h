// The table functions of association rules, for the table of streamed functions (row_stream.cpp).
#pragma once

#include "extension/functions/row_stream.h"

extern "C" {
PGDLLEXPORT Datum batmap_rules_query(PG_FUNCTION_ARGS);
PGDLLEXPORT Datum batmap_rules_of_query(PG_FUNCTION_ARGS);
PGDLLEXPORT Datum batmap_rules_relation(PG_FUNCTION_ARGS);
}

namespace batmap::pg {

RowStream* open_rules_query(FunctionCallInfo fcinfo, MemoryContext context);
RowStream* open_rules_of_query(FunctionCallInfo fcinfo, MemoryContext context);
RowStream* open_rules_relation(FunctionCallInfo fcinfo, MemoryContext context);

}  // namespace batmap::pg
