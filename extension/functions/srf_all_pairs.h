// The table function batmap_all_pairs, for the table of streamed functions (row_stream.cpp).
#pragma once

#include "extension/functions/row_stream.h"

extern "C" {
PGDLLEXPORT Datum batmap_all_pairs(PG_FUNCTION_ARGS);
}

namespace batmap::pg {

RowStream* open_all_pairs(FunctionCallInfo fcinfo, MemoryContext context);

}  // namespace batmap::pg
