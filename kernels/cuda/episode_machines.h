// The kernels of automaton and mapconcat: machines that wait for symbols (episodes/automaton.h), one a thread. A machine has
// a cursor in the list of each of its symbols and takes the earliest event of all; so it meets the events of its episode in
// order of time. It skips those that nothing waits for, or only what is too near.
//
// Few of the events that wait for the next symbol have to be kept. Of three, x < y < z with z - x <= high - low, y is
// dropped: until x is too old, x serves where y would, and then z is old enough, and serves longer. Those of one place that
// are not too old are then 2 (high / (high - low + 1)) + 2 at most, so that the host knows how much room a machine needs
// before it starts: a ring for each place, in shared memory where those of a block fit.
//
// Mapconcat cuts the time into segments, none shorter than an episode reaches, as episodes/mapconcat.h does it: *map* runs a
// machine for each end before a segment that makes a difference, a thread for each episode and segment; *concatenate* goes
// from end to end, a thread for each episode. Automaton has one segment. Source: EP III-A and III-B; the rings are ours.
//
// Cost: for each event of the first list, and each that may follow one, a look at all cursors and a search nearby, by one
// thread; for mapconcat once more for each machine until it ends where the segment's first one does.
#pragma once

#include "cuda/episode_steps.h"

namespace batmap::cuda {

/// What a machine found in its segment.
struct MachinePath {
  int64_t last_end;
  uint32_t last;  // its place in the list of the last symbol
  uint32_t count;
};

/// Machines of some episodes of one length, each over all segments.
struct EpisodeMachines {
  const int64_t* list_times;
  const EpisodeNode* places;  // [episodes x length] the list of each symbol and the gap before it
  uint32_t length;            // 2 or more
  uint32_t episodes;
  uint32_t segments;
  int64_t segment_ticks;
  int64_t reach;              // from the first to the last event of an occurrence, at most
  uint32_t ring;              // events that wait at a place: a power of two
  int64_t* state;             // [machine_words x machines]; null: it fits into shared memory
  MachinePath* segment_path;  // [episodes x segments] of all ends that are far back
  const uint64_t* first_end;  // [episodes] where the ends of its last list begin in the next two; of several segments only
  MachinePath* end_path;      // [ends] through the segment behind an end
  uint32_t* rank;             // [ends] zeros: which one of its segment's first machine; 0: none
  uint32_t* counts;           // [episodes] overwritten
  const volatile int* stop;   // set by the host when the job is cancelled
};

/// Events that may wait for a symbol. @param list_size  of the symbol before it
uint64_t most_waiting(uint32_t list_size, int64_t low, int64_t high);
/// Of 8 bytes, for each machine.
size_t machine_words(size_t length, uint64_t ring);
inline constexpr int kMachineThreads = 64;  // of a block, at most

void map_segments(const EpisodeMachines& machines, cudaStream_t stream);
void concatenate(const EpisodeMachines& machines, cudaStream_t stream);

}  // namespace batmap::cuda
