// The kernels of tracking. A step extends the frontiers (episodes/frontier.h) of many prefixes at once, each by the events
// of one symbol; at the end the non-overlapped occurrences are counted. A prefix is a node of a trie. The nodes of one depth
// are consecutive, and their lists are cut into tiles, so the host knows all launches before the first frontier is known.
//
// A tile of events needs a range of its parent's frontier. Two warps search for the bounds of the range; then
// every event searches the range, in shared memory if it fits. Cost: a search in a few hundred entries for each
// event of the lists, twice with count-scan-write; for a tile that no entry reaches only its two searches.
#pragma once

#include "accel/device_episodes.h"
#include "cuda/device_memory.h"

namespace batmap::cuda {

inline constexpr uint32_t kTileEvents = 2048;

/// The first index from `from` on whose time is later than `time`.
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

/// The same, faster if that index is near.
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

/// A prefix: its parent, the list of its last symbol, and the gap before that symbol.
struct EpisodeNode {
  uint32_t parent;  // index in the depth before
  uint32_t list_begin;
  uint32_t list_size;
  uint32_t first_tile;  // tiles of kTileEvents events, up to the next node's first one
  int64_t low;
  int64_t high;
};

/// The frontiers of all nodes of one depth. For single symbols they are the lists. Else the entries of a node are
/// consecutive: from its first tile to the next node's, or from node_begin to node_end.
struct Frontiers {
  const EpisodeNode* nodes;  // [nodes + 1]; the last one only has a first_tile
  const int64_t* ends;
  const int64_t* starts;
  const uint32_t* tile_begin;  // [tiles + 1] index in ends; null: see the next two
  const uint32_t* node_begin;  // [nodes] index in ends; null as well: these are lists
  const uint32_t* node_end;    // [nodes]
};

/// The frontier of one node.
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
  EntryRange* ranges;    // [tiles] kept from counting to writing
  uint32_t* tile_begin;  // [tiles + 1] counts; summed up, the index of each tile's first entry
  uint32_t* node_end;    // [nodes] for the atomic compaction
  int64_t* ends;         // where the entries go
  int64_t* starts;
};

/// Each of these queues a pass over all tiles of a step.
void count_entries(const EpisodeStep& step, cudaStream_t stream);   // @post tile_begin[tile] is the number of its entries
void write_entries(const EpisodeStep& step, cudaStream_t stream);   // @pre tile_begin is summed up
void append_entries(const EpisodeStep& step, cudaStream_t stream);  // at node_end, which grows; entries are not in order

/// Queues the count of a largest set without overlaps in each node's frontier. @param counts  [nodes] added to
/// @param stop  set by the host when the job is cancelled
void count_apart(const Frontiers& frontiers, const uint32_t* tile_node, uint32_t tiles, uint32_t* counts,
                 const volatile int* stop, cudaStream_t stream);

/// All extensions of one prefix by one gap, counted together.
struct EpisodeWalk {
  uint32_t parent;         // the node of the prefix
  uint32_t first_segment;  // segments of kWalkEntries entries, up to the next walk's first one
  int64_t low;
  int64_t high;
};
inline constexpr uint32_t kWalkEntries = 512;
inline constexpr int kWalkWarps = 4;                                             // of a block
inline constexpr size_t kWalkBytesASymbol = sizeof(int64_t) + sizeof(uint32_t);  // of shared memory, for each warp

struct EpisodeWalks {
  const int64_t* times;  // of the axis
  const uint32_t* symbols;
  uint32_t events;
  uint32_t symbol_count;  // few enough for a block's state to fit into shared memory
  Frontiers from;
  const EpisodeWalk* walks;
  const uint32_t* segment_walk;  // [segments]
  uint32_t segments;
  uint32_t* counts;  // [walks x symbol_count] added to
  const volatile int* stop;
};

void walk_frontiers(const EpisodeWalks& walks, cudaStream_t stream);

}  // namespace batmap::cuda
