// Type batmap_episode_counts: text and binary form, addition, sum and summary figures. The text form is "e1:" and the bytes in
// base64. Bytes from outside are validated in full. See kernels/episodes/episode_counts.h for the format.
#include <span>

#include "extension/types/episode_counts_datum.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

struct varlena* episode_counts_allocate(size_t capacity) {
  return value_allocate("batmap_episode_counts", "Raise the threshold or give max_length.", capacity);
}

constexpr FlatType kEpisodeCountsType = {
    "batmap_episode_counts", "e1:", "Make episode counts with batmap_episode_counts_from(query, gaps, min_count => 10).",
    episode_counts_allocate, [](std::span<const std::byte> bytes) { return is_episode_counts(bytes, bytes.size()); }};

}  // namespace

const SummedType kSummedEpisodeCounts = {kEpisodeCountsType, add_episode_counts, episode_counts_append,
                                         validate_episode_counts};

}  // namespace batmap::pg

using namespace batmap;
using namespace batmap::pg;

namespace {

EpisodeCountsHeader episode_header_argument(FunctionCallInfo fcinfo) {
  return summed_header_argument<EpisodeCountsHeader>(kSummedEpisodeCounts, fcinfo, is_episode_counts);
}

}  // namespace

BATMAP_FUNCTION(batmap_episode_counts_in) { return summed_in(kSummedEpisodeCounts, fcinfo); }
BATMAP_FUNCTION(batmap_episode_counts_out) { return summed_out(kSummedEpisodeCounts, fcinfo); }
BATMAP_FUNCTION(batmap_episode_counts_recv) { return summed_recv(kSummedEpisodeCounts, fcinfo); }
BATMAP_FUNCTION(batmap_episode_counts_send) { return summed_send(kSummedEpisodeCounts, fcinfo); }
BATMAP_FUNCTION(batmap_episode_counts_add) { return summed_add(kSummedEpisodeCounts, fcinfo); }
BATMAP_FUNCTION(batmap_episode_counts_merge) { return summed_merge(kSummedEpisodeCounts, fcinfo); }
BATMAP_FUNCTION(batmap_episode_counts_sum_final) { return summed_final(kSummedEpisodeCounts, fcinfo); }

BATMAP_FUNCTION(batmap_episode_counts_total) { PG_RETURN_INT64(static_cast<int64>(episode_header_argument(fcinfo).rows)); }
BATMAP_FUNCTION(batmap_episode_counts_streams) {
  PG_RETURN_INT64(static_cast<int64>(episode_header_argument(fcinfo).streams));
}
BATMAP_FUNCTION(batmap_episode_counts_episodes) {
  PG_RETURN_INT64(static_cast<int64>(episode_header_argument(fcinfo).episodes));
}
