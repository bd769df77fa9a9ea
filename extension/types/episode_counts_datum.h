// The SQL type batmap_episode_counts: access to its bytes in a varlena. See kernels/episodes/episode_counts.h.
#pragma once

#include "episodes/episode_counts.h"

#include "extension/types/summed_type.h"

#include "extension/server/pg.h"

namespace batmap::pg {

extern const SummedType kSummedEpisodeCounts;

/// An argument of the type, finished. It may lie in memory of the caller.
inline struct varlena* episode_counts_argument(FunctionCallInfo fcinfo, int argument) {
  return summed_argument(kSummedEpisodeCounts, fcinfo, argument);
}

}  // namespace batmap::pg
