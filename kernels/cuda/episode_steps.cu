// Steps, and the greedy count. See episode_steps.h.
#include "cuda/episode_steps.h"

namespace batmap::cuda {

namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;
constexpr int kRows = kTileEvents / kThreads;
constexpr uint32_t kWindow = 2048;  // entries of a range that fit into shared memory
constexpr unsigned kAll = 0xffffffffu;
constexpr uint32_t kBatchesAPoll = 256;

/// How many of some ascending values are below a bound.
__device__ uint32_t count_below(const int64_t* values, uint32_t size, int64_t bound) {
  uint32_t low = 0;
  while (size > 0) {
    const uint32_t half = size / 2;
    if (values[low + half] < bound) {
      low += half + 1;
      size -= half + 1;
    } else {
      size = half;
    }
  }
  return low;
}

/// The same, by a warp that looks at 32 values at once.
__device__ uint32_t warp_count_below(const int64_t* values, uint32_t size, int64_t bound) {
  const uint32_t lane = threadIdx.x % 32;
  uint32_t low = 0;
  while (size > 32) {
    const uint32_t stride = (size + 31) / 32;
    const uint32_t probe = min((lane + 1) * stride, size) - 1;
    const auto below = static_cast<uint32_t>(__popc(__ballot_sync(kAll, values[low + probe] < bound)));
    const uint32_t skipped = min(below * stride, size);
    low += skipped;
    if (skipped == size) return low;
    size = min(stride, size - skipped) - 1;
  }
  return low + static_cast<uint32_t>(__popc(__ballot_sync(kAll, lane < size && values[low + lane] < bound)));
}

enum class Pass { kCount, kWrite, kAppend };

template <Pass kPass>
__global__ void __launch_bounds__(kThreads) extend(EpisodeStep step) {
  __shared__ int64_t window[kWindow];
  __shared__ uint32_t bounds[2];
  __shared__ uint32_t warp_entries[kWarps];
  __shared__ uint32_t first_entry;
  const uint32_t tile = blockIdx.x;
  if (kPass == Pass::kWrite && step.tile_begin[tile] == step.tile_begin[tile + 1]) return;
  const uint32_t warp = threadIdx.x / 32;
  const uint32_t lane = threadIdx.x % 32;
  const uint32_t at = step.tile_node[tile];
  const EpisodeNode node = step.nodes[at];
  const uint32_t offset = (tile - node.first_tile) * kTileEvents;
  const int64_t* const list = step.list_times + node.list_begin + offset;
  const uint32_t events = min(kTileEvents, node.list_size - offset);
  const FrontierSpan from = frontier_of(step.from, node.parent);
  EntryRange range;
  if (kPass == Pass::kWrite) {
    range = step.ranges[tile];
  } else {
    if (warp < 2) {
      const int64_t bound = warp == 0 ? list[0] - node.high : list[events - 1] - node.low;
      const uint32_t found = warp_count_below(from.ends, from.size, bound);
      if (lane == 0) bounds[warp] = found;
    }
    if (threadIdx.x == 0) first_entry = 0;
    __syncthreads();
    range = {bounds[0], bounds[1]};
    if (range.first >= range.last) {
      if (kPass == Pass::kCount && threadIdx.x == 0) step.tile_begin[tile] = 0;
      return;
    }
    if (kPass == Pass::kCount && threadIdx.x == 0) step.ranges[tile] = range;
  }
  const uint32_t entries = range.last - range.first;
  const int64_t* ends = from.ends + range.first;
  if (entries <= kWindow) {
    for (uint32_t k = threadIdx.x; k < entries; k += kThreads) window[k] = ends[k];
    __syncthreads();
    ends = window;
  }

  // Each warp has consecutive events, 32 of them a row.
  unsigned found[kRows];
  uint32_t owner[kRows];
  uint32_t own_entries = 0;
  const uint32_t first = warp * 32 * kRows;
#pragma unroll
  for (int row = 0; row < kRows; ++row) {
    const uint32_t k = first + static_cast<uint32_t>(row) * 32 + lane;
    bool reached = false;
    if (k < events) {
      const int64_t time = list[k];
      const uint32_t passed = count_below(ends, entries, time - node.low);
      reached = passed > 0 && ends[passed - 1] >= time - node.high;
      owner[row] = passed - 1;
    }
    found[row] = __ballot_sync(kAll, reached);
    own_entries += static_cast<uint32_t>(__popc(found[row]));
  }
  if (kPass == Pass::kAppend) {
    // Takes room from a counter of the block, then from one of the node.
    uint32_t before = 0;
    if (lane == 0) before = atomicAdd(&first_entry, own_entries);
    before = __shfl_sync(kAll, before, 0);
    __syncthreads();
    if (threadIdx.x == 0) first_entry = atomicAdd(step.node_end + at, first_entry);
    __syncthreads();
    own_entries = first_entry + before;
  } else {
    if (lane == 0) warp_entries[warp] = own_entries;
    __syncthreads();
    uint32_t before = 0;
    for (uint32_t k = 0; k < (kPass == Pass::kCount ? uint32_t{kWarps} : warp); ++k) before += warp_entries[k];
    if (kPass == Pass::kCount) {
      if (threadIdx.x == 0) step.tile_begin[tile] = before;
      return;
    }
    own_entries = step.tile_begin[tile] + before;
  }
  uint32_t to = own_entries;
#pragma unroll
  for (int row = 0; row < kRows; ++row) {
    if ((found[row] >> lane & 1) != 0) {
      const uint32_t entry = to + static_cast<uint32_t>(__popc(found[row] & ((1u << lane) - 1)));
      step.ends[entry] = list[first + static_cast<uint32_t>(row) * 32 + lane];
      step.starts[entry] = from.starts[range.first + owner[row]];
    }
    to += static_cast<uint32_t>(__popc(found[row]));
  }
}

/// A warp counts a segment of a frontier. An entry that starts later than the one before it has ended is
/// chosen, whatever was chosen before. Segments begin and end at such entries, so that no warp waits for
/// another. A warp that finds none behind its segment goes on through the next segments.
__global__ void count_segments(Frontiers frontiers, const uint32_t* tile_node, uint32_t tiles, uint32_t* counts,
                               const volatile int* stop) {
  const uint32_t tile = blockIdx.x * kWarps + threadIdx.x / 32;
  const uint32_t lane = threadIdx.x % 32;
  if (tile >= tiles) return;
  const uint32_t node = tile_node[tile];
  const FrontierSpan entries = frontier_of(frontiers, node);
  uint32_t at = (tile - frontiers.nodes[node].first_tile) * kTileEvents;
  if (at >= entries.size) return;
  const uint32_t own_end = min(at + kTileEvents, entries.size);
  const auto begins = [&](uint32_t k) { return k == 0 || entries.starts[k] > entries.ends[k - 1]; };
  for (;; at += 32) {
    if (at >= own_end) return;
    const unsigned found = __ballot_sync(kAll, at + lane < own_end && begins(at + lane));
    if (found == 0) continue;
    at += static_cast<uint32_t>(__ffs(static_cast<int>(found))) - 1;
    break;
  }
  uint32_t count = 0;
  int64_t last_end = -1;
  for (uint32_t batch = 0;; ++batch, at += 32) {
    const uint32_t k = at + lane;
    bool is_mine = k < entries.size;
    const int64_t start = is_mine ? entries.starts[k] : 0;
    const int64_t end = is_mine ? entries.ends[k] : 0;
    const unsigned others = __ballot_sync(kAll, is_mine && k >= own_end && begins(k));
    if (others != 0) is_mine = is_mine && lane + 1 < static_cast<uint32_t>(__ffs(static_cast<int>(others)));
    for (;;) {
      const unsigned apart = __ballot_sync(kAll, is_mine && start > last_end);
      if (apart == 0) break;
      last_end = __shfl_sync(kAll, end, __ffs(static_cast<int>(apart)) - 1);
      ++count;
    }
    if (others != 0 || at + 32 >= entries.size) break;
    if (batch % kBatchesAPoll == kBatchesAPoll - 1 && *stop != 0) break;
  }
  if (lane == 0) atomicAdd(counts + node, count);
}

}  // namespace

void count_entries(const EpisodeStep& step, cudaStream_t stream) {
  extend<Pass::kCount><<<step.tiles, kThreads, 0, stream>>>(step);
  check_launch("extend");
}

void write_entries(const EpisodeStep& step, cudaStream_t stream) {
  extend<Pass::kWrite><<<step.tiles, kThreads, 0, stream>>>(step);
  check_launch("extend");
}

void append_entries(const EpisodeStep& step, cudaStream_t stream) {
  extend<Pass::kAppend><<<step.tiles, kThreads, 0, stream>>>(step);
  check_launch("extend");
}

void count_apart(const Frontiers& frontiers, const uint32_t* tile_node, uint32_t tiles, uint32_t* counts,
                 const volatile int* stop, cudaStream_t stream) {
  count_segments<<<(tiles + kWarps - 1) / kWarps, kThreads, 0, stream>>>(frontiers, tile_node, tiles, counts, stop);
  check_launch("count_segments");
}

}  // namespace batmap::cuda
