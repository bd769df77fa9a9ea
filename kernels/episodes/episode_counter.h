// Counting a batch of episodes by one of the methods, and which one to take.
//
// The interface is plain arrays: a stream (EventStreamView), a batch (EpisodeBatch), counts. A device that takes tracking is
// one more row in the table of methods.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/options.h"
#include "episodes/event_stream.h"

namespace batmap {

/// tracking: each episode on one thread (tracking.h). count-scan-write, atomic: each on all threads, by one of the
/// compactions.
enum class EpisodeMethod { kTracking, kCountScanWrite, kAtomic, kAutomaton, kMapConcat };
inline constexpr size_t kEpisodeMethods = 5;
inline constexpr const char* kEpisodeMethodNames[kEpisodeMethods] = {"tracking", "count_scan_write", "atomic", "automaton",
                                                                     "mapconcat"};
std::string episode_method_names();  // with commas

/// What the choice depends on.
struct EpisodeJob {
  uint64_t episodes;
  uint64_t length;
  uint64_t events;       // of all symbols
  uint64_t list_events;  // of the symbols of the episodes, summed up over all places of all episodes
  uint64_t unforeseen;   // of these, by a sample: where a share p of a list extends a frontier, the lesser of p and 1 - p
  int threads;
};

/// Threads as if each were alone: they share memory, and two of them a core.
double threads_apart(int threads);

/// Estimated milliseconds. Pure.
double estimate_episodes(EpisodeMethod method, const EpisodeJob& job);
/// The least estimate. Pure.
EpisodeMethod choose_episode_method(const EpisodeJob& job);

/// @param batch  of which some episodes are tracked in a slice of the stream
EpisodeJob describe_job(const EventStreamView& view, const EpisodeBatch& batch, int threads);

/// @param counts  [batch.size] added to
/// @throws Error, std::bad_alloc
void count_episodes(EpisodeMethod method, const EventStreamView& view, const EpisodeBatch& batch, std::span<uint64_t> counts,
                    const ExecutionOptions& options);

}  // namespace batmap
