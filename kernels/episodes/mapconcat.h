// Counting one episode over segments of the stream at once. Source: EP III-B, kept for comparison.
//
// What a segment adds depends on where the last occurrence before it ended, and only ends within reach of the segment (the
// sum of the episode's gaps) make a difference. *Map*: a segment runs one machine for each such end, and one for all that
// lie further back. A machine that completes an occurrence before its segment begins stands for an end that cannot be; one
// that completes where another one did goes on as that one does, so all but the first end soon. *Concatenate*: from the
// first segment to the last, the end of what was counted so far picks the machine that counts on. EP starts as many machines
// as the episode has symbols; we start as many as there may be ends, so that the count is exact.
//
// Cost: the automaton's, once for each machine until it meets another; a gap without bound leaves one segment.
#pragma once

#include <cstdint>

#include "core/options.h"
#include "episodes/event_stream.h"

namespace batmap {

/// @param segments  as many as wanted; fewer where they would be shorter than the episode reaches
uint64_t count_by_mapconcat(const EventStreamView& view, EpisodeView episode, size_t segments,
                            const ExecutionOptions& options);

}  // namespace batmap
