// The kernels of automaton and mapconcat: machines that wait for symbols (episodes/automaton.h), one a thread. A machine
// has a cursor in the list of each of its symbols and always takes the earliest event, so it meets the events of its
// episode in order of time. It skips events that nothing waits for, and events that are too near to all that wait.
//
// Few of the events that wait for the next symbol have to be kept. Of three waiting events x < y < z with
// z - x <= high - low, y is dropped: until x is too old, x serves wherever y would; then z is far enough back, and
// serves longer. So at most 2 (high / (high - low + 1)) + 2 events wait at one position, and the host knows how much
// room a machine needs before it starts: a ring for each position, in shared memory if those of a block fit.
//
// Mapconcat cuts the time into segments, none shorter than the reach of an episode, as episodes/mapconcat.h
// does. *Map* has a thread for each episode and segment, which runs a machine for each end before the segment
// that makes a difference. *Concatenate* has a thread for each episode, which goes from end to end. Automaton
// has one segment. Source: EP III-A and III-B; the rings are ours.
//
// Cost: one thread looks at all cursors and searches nearby, for each event of the first list and each event that
// may follow one. Mapconcat does this again for each machine, until it ends where the first one of its segment does.
// thread; for mapconcat once more for each machine until it ends where the segment's first one does.
#pragma once

#include "cuda/episode_steps.h"

namespace batmap::cuda {

/// What a machine found in its segment.
struct MachinePath {
  int64_t last_end;
  uint32_t last;  // index of last_end in the list of the last symbol
  uint32_t count;
};

/// Machines of some episodes of one length, each over all segments.
struct EpisodeMachines {
  const int64_t* list_times;
  const EpisodeNode* positions;  // [episodes x length] the list of each symbol and the gap before it
  uint32_t length;               // 2 or more
  uint32_t episodes;
  uint32_t segments;
  int64_t segment_ticks;
  int64_t reach;              // largest distance between the first and the last event of an occurrence
  uint32_t ring;              // events that may wait at a position: a power of two
  int64_t* state;             // [machine_words x machines]; null: the state fits into shared memory
  MachinePath* segment_path;  // [episodes x segments] for all ends that are far back
  const uint64_t* first_end;  // [episodes] first index of its last list's ends in the next two; null with one segment
  MachinePath* end_path;      // [ends] through the segment behind an end
  uint32_t* rank;             // [ends] zeros at first: number of the end for its segment's first machine; 0: none
  uint32_t* counts;           // [episodes] overwritten
  const volatile int* stop;   // set by the host when the job is cancelled
};

/// The most events that may wait for a symbol. @param list_size  of the symbol before it
uint64_t max_waiting(uint32_t list_size, int64_t low, int64_t high);
/// Words of 8 bytes for the state of one machine.
size_t machine_words(size_t length, uint64_t ring);
inline constexpr int kMachineThreads = 64;  // of a block, at most

void map_segments(const EpisodeMachines& machines, cudaStream_t stream);
void concatenate(const EpisodeMachines& machines, cudaStream_t stream);

}  // namespace batmap::cuda
