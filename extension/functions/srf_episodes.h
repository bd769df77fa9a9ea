// The table functions of episodes, for the table of streamed functions (row_stream.cpp).
#pragma once

#include "extension/functions/row_stream.h"

extern "C" {
PGDLLEXPORT Datum batmap_episodes_query(PG_FUNCTION_ARGS);
PGDLLEXPORT Datum batmap_episodes_of_query(PG_FUNCTION_ARGS);
PGDLLEXPORT Datum batmap_episode_count_query(PG_FUNCTION_ARGS);
PGDLLEXPORT Datum batmap_episode_count_of_query(PG_FUNCTION_ARGS);
PGDLLEXPORT Datum batmap_episode_occurrences_query(PG_FUNCTION_ARGS);
PGDLLEXPORT Datum batmap_episode_occurrences_of_query(PG_FUNCTION_ARGS);
PGDLLEXPORT Datum batmap_generate_spikes(PG_FUNCTION_ARGS);
}

namespace batmap::pg {

RowStream* open_episodes(FunctionCallInfo fcinfo, MemoryContext context);
RowStream* open_episodes_of(FunctionCallInfo fcinfo, MemoryContext context);
RowStream* open_episode_count(FunctionCallInfo fcinfo, MemoryContext context);
RowStream* open_episode_count_of(FunctionCallInfo fcinfo, MemoryContext context);
RowStream* open_episode_occurrences(FunctionCallInfo fcinfo, MemoryContext context);
RowStream* open_episode_occurrences_of(FunctionCallInfo fcinfo, MemoryContext context);
RowStream* open_generate_spikes(FunctionCallInfo fcinfo, MemoryContext context);

}  // namespace batmap::pg
