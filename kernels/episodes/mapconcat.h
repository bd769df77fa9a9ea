// Counts one episode in several segments of the stream at once. Source: EP III-B, kept for comparison.
//
// What a segment adds depends on where the last occurrence before it ended. Only ends within reach of the
// segment (the sum of the episode's gaps) make a difference. *Map*: a segment runs one machine for each such
// end, and one for all earlier ends. A machine that completes an occurrence before its segment begins stands
// for an end that is impossible, and is dropped. A machine that completes an occurrence where the first one did
// continues like that one, so most machines stop early. *Concatenate*: from the first segment to the last, the
// end of the occurrences counted so far picks the machine whose count is added. EP starts as many machines as
// the episode has symbols. We start one for each possible end, so that the count is exact.
//
// Cost: that of the automaton, once for each machine until it meets the first. An unbounded gap leaves one segment.
#pragma once

#include <cstdint>

#include "core/options.h"
#include "episodes/event_axis.h"

namespace batmap {

/// @param segments    number of segments wanted; there are fewer if they would be shorter than the episode's reach
/// @param blocked_to  see with_rule() of counting_rule.h
uint64_t count_by_mapconcat(const EventAxisView& view, EpisodeView episode, size_t segments, int64_t& blocked_to,
                            const ExecutionOptions& options);

}  // namespace batmap
