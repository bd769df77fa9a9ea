// The table functions of frequent itemsets, for the table of streamed functions (row_stream.cpp).
#pragma once

#include "extension/functions/row_stream.h"

extern "C" {
PGDLLEXPORT Datum batmap_itemsets_query(PG_FUNCTION_ARGS);
PGDLLEXPORT Datum batmap_itemsets_of_query(PG_FUNCTION_ARGS);
PGDLLEXPORT Datum batmap_itemsets_relation(PG_FUNCTION_ARGS);
}

namespace batmap::pg {

RowStream* open_itemsets_query(FunctionCallInfo fcinfo, MemoryContext context);
RowStream* open_itemsets_of_query(FunctionCallInfo fcinfo, MemoryContext context);
RowStream* open_itemsets_relation(FunctionCallInfo fcinfo, MemoryContext context);

}  // namespace batmap::pg
