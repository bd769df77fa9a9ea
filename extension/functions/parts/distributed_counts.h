// What table functions need of the functions over several servers: the counts themselves. See distributed_counts.cpp.
#pragma once

#include "extension/server/pg.h"

namespace batmap::pg {

/// Where the arguments of a function over the episodes of a table on several servers are; argument 0 is the table.
struct EpisodePlaces {
  int gaps;
  int min_count;
  int min_rate;
  int max_length;
  int include;
  int exclude;
  int counting;
  int same_time;
  int columns;  // of the first of three: time, event, stream
  int servers;  // disjoint follows it
};

/// The counts of all frequent episodes of a table whose streams lie on several servers.
/// @return a value of batmap_episode_counts in the current context; 0: NULL
Datum distributed_episode_counts(FunctionCallInfo fcinfo, const char* operation, const EpisodePlaces& places);

}  // namespace batmap::pg
