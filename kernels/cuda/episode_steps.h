// The kernels of tracking: one step extends the frontiers (episodes/frontier.h) of many prefixes at once, each by the events
// of one symbol; at the end the occurrences that do not overlap are counted. What is extended is a node of a trie; nodes of
// one depth lie behind each other, and their lists are cut into tiles, so that the host knows all launches before the first
// frontier is known.
//
// A tile of events needs a range of its parent's frontier, whose bounds two warps search for; every event then searches the
// range, from shared memory where it fits. Cost: a search in a few hundred entries for each event of the lists, twice with
// count-scan-write; a tile that no entry reaches costs its two searches.
#pragma once

#include "accel/device_episodes.h"
#include "cuda/device_memory.h"

namespace batmap::cuda {

inline constexpr uint32_t kTileEvents = 2048;

/// The first place at or behind `from` whose time is later.
__device__ inline uint32_t first_after(const int64_t* times, uint32_t from, uint32_t size, int64_t time) {
  size -= from;
  while (size > 0) {
    const uint32_t half = size / 2;
    if (times[from + half] <= time) {
      from += half + 1;
      size -= half + 1;
    } else {
      size = half;
    }
  }
  return from;
}

/// The same where it is likely to be near.
__device__ inline uint32_t first_after_nearby(const int64_t* times, uint32_t from, uint32_t size, int64_t time) {
  uint32_t step = 8;
  uint32_t to = from;
  while (to < size && times[to] <= time) {
    from = to + 1;
    to += step;
    step *= 2;
  }
  return first_after(times, from, min(to, size), time);
}

/// A prefix: the one before it, its last symbol's list and the gap before that.
struct EpisodeNode {
  uint32_t parent;  // among the nodes of the depth before
  uint32_t list_begin;
  uint32_t list_size;
  uint32_t first_tile;  // tiles of kTileEvents events, up to the next node's
  int64_t low;
  int64_t high;
};

/// The frontiers of all nodes of one depth. Of single symbols they are the lists; otherwise each node's entries lie behind
/// each other where either tiles begin or counters have ended.
struct Frontiers {
  const EpisodeNode* nodes;  // [nodes + 1], the last one with a first_tile only
  const int64_t* ends;
  const int64_t* starts;
  const uint32_t* tile_begin;  // [tiles + 1] in ends; null: see the next two
  const uint32_t* node_begin;  // [nodes] in ends; null, too: these are lists
  const uint32_t* node_end;    // [nodes]
};

/// One node's.
struct FrontierSpan {
  const int64_t* ends;
  const int64_t* starts;
  uint32_t size;
};

__device__ inline FrontierSpan frontier_of(const Frontiers& all, uint32_t node) {
  uint32_t begin;
  uint32_t end;
  if (all.tile_begin != nullptr) {
    begin = all.tile_begin[all.nodes[node].first_tile];
    end = all.tile_begin[all.nodes[node + 1].first_tile];
  } else if (all.node_begin != nullptr) {
    begin = all.node_begin[node];
    end = all.node_end[node];
  } else {
    begin = all.nodes[node].list_begin;
    end = begin + all.nodes[node].list_size;
  }
  return {all.ends + begin, all.starts + begin, end - begin};
}

/// Entries [first, last) of a frontier.
struct EntryRange {
  uint32_t first;
  uint32_t last;
};

/// One step of all nodes of a depth.
struct EpisodeStep {
  const int64_t* list_times;
  Frontiers from;  // of the depth before
  const EpisodeNode* nodes;
  const uint32_t* tile_node;  // [tiles]
  uint32_t tiles;
  EntryRange* ranges;    // [tiles] from counting to writing
  uint32_t* tile_begin;  // [tiles + 1] counts, once they are summed up places
  uint32_t* node_end;    // [nodes] of the atomic compaction
  int64_t* ends;         // where the entries go
  int64_t* starts;
};

/// Queue a pass over all tiles of a step.
void count_entries(const EpisodeStep& step, cudaStream_t stream);   // @post tile_begin[tile]: how many
void write_entries(const EpisodeStep& step, cudaStream_t stream);   // @pre tile_begin summed up
void append_entries(const EpisodeStep& step, cudaStream_t stream);  // at node_end, which grows; the order of tiles is lost

/// Queues the count of a largest set without overlaps of each node's frontier. @param counts  [nodes] added to
/// @param stop  set by the host when the job is cancelled
void count_apart(const Frontiers& frontiers, const uint32_t* tile_node, uint32_t tiles, uint32_t* counts,
                 const volatile int* stop, cudaStream_t stream);

/// All extensions of one prefix by the events inside one gap, counted together.
struct EpisodeWalk {
  uint32_t parent;         // whose frontier it is
  uint32_t first_segment;  // of kWalkEntries entries, up to the next walk's
  int64_t low;
  int64_t high;
};
inline constexpr uint32_t kWalkEntries = 512;
inline constexpr int kWalkWarps = 4;                                             // of a block
inline constexpr size_t kWalkBytesASymbol = sizeof(int64_t) + sizeof(uint32_t);  // of shared memory, for each warp

struct EpisodeWalks {
  const int64_t* times;  // of the stream
  const uint32_t* symbols;
  uint32_t events;
  uint32_t symbol_count;  // so many that a block's state fits into shared memory
  Frontiers from;
  const EpisodeWalk* walks;
  const uint32_t* segment_walk;  // [segments]
  uint32_t segments;
  uint32_t* counts;  // [walks x symbol_count] added to
  const volatile int* stop;
};

void walk_frontiers(const EpisodeWalks& walks, cudaStream_t stream);

}  // namespace batmap::cuda
