// Counts a batch of episodes by one of several methods, and chooses the method.
//
// The interface is plain arrays: a stream (EventAxisView), a batch (EpisodeBatch), counts.
// Devices count through device_tracker.h.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "core/options.h"
#include "episodes/event_streams.h"

namespace batmap {

/// tracking: each episode on one thread (tracking.h). count_scan_write, atomic: each episode on all threads, by
/// one of the two compactions. automaton: automaton.h. mapconcat: mapconcat.h.
enum class EpisodeMethod { kTracking, kCountScanWrite, kAtomic, kAutomaton, kMapConcat };
inline constexpr size_t kEpisodeMethods = 5;
inline constexpr const char* kEpisodeMethodNames[kEpisodeMethods] = {"tracking", "count_scan_write", "atomic", "automaton",
                                                                     "mapconcat"};

/// What the choice of a method depends on.
struct EpisodeJob {
  uint64_t episodes;
  uint64_t length;
  uint64_t events;       // of all symbols
  uint64_t list_events;  // list lengths, added up over all positions of all episodes
  uint64_t unforeseen;   // of these, by a sample: if a share p of a list extends a frontier, the lesser of p and 1 - p
  int threads;
};

/// The speed-up of independent threads: they share memory bandwidth, and two of them share a core.
double threads_apart(int threads);

/// Estimated milliseconds. Pure.
double estimate_episodes(EpisodeMethod method, const EpisodeJob& job);
/// The method of the smallest estimate. Pure.
EpisodeMethod choose_episode_method(const EpisodeJob& job);

/// Describes the counting of a batch. To foresee its branches, it tracks some of the episodes in a slice of the stream.
EpisodeJob describe_job(const EventAxisView& view, const EpisodeBatch& batch, int threads);

/// The method for a batch on an axis of a part: the best one, but a stream in pieces is tracked.
EpisodeMethod choose_for_part(const EventPart& part, const EventAxisView& view, const EpisodeBatch& batch, int threads);

/// @param counts      [batch.size] added to
/// @param blocked_to  [batch.size] see with_rule() of counting_rule.h; empty: nothing is blocked
/// @param carried     [batch.size x (batch.length - 1)] for tracking over pieces, see tracking.h; empty: nothing is carried
/// @throws Error, std::bad_alloc
void count_episodes(EpisodeMethod method, const EventAxisView& view, const EpisodeBatch& batch, std::span<uint64_t> counts,
                    const ExecutionOptions& options, std::span<int64_t> blocked_to = {}, std::span<Occurrence> carried = {});

/// Counts a batch in all parts of the streams.
/// @param method  empty: choose_for_part()
/// @return the method that was used last
EpisodeMethod count_in_parts(const EventStreams& streams, const EpisodeBatch& batch, std::optional<EpisodeMethod> method,
                             std::span<uint64_t> counts, const ExecutionOptions& options);

}  // namespace batmap
