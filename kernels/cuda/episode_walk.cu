// Counts the extensions of a prefix by all symbols at once, as episodes/level_wise.cpp does on the CPU. A warp
// walks over the events that a segment of the frontier reaches, with the last end of each symbol in shared
// memory. All events that one entry reaches have the same start, so only the first one of each symbol can be
// chosen, and the warp looks at 32 of them together.
//
// A segment begins at an entry that starts later than any event reached before it: from there on all symbols are
// as if nothing had been chosen. A warp that finds no such entry behind its segment goes on through the next
// segments. Cost: for each entry two searches, and a step for every 32 events that it reaches. Source: ours.
#include "cuda/episode_steps.h"

namespace batmap::cuda {

namespace {

constexpr int kWarps = kWalkWarps;
constexpr unsigned kAll = 0xffffffffu;
constexpr uint32_t kBatchesAPoll = 64;

__global__ void walk(EpisodeWalks job) {
  extern __shared__ int64_t state[];
  const uint32_t lane = threadIdx.x % 32;
  const uint32_t segment = blockIdx.x * kWarps + threadIdx.x / 32;
  if (segment >= job.segments) return;
  int64_t* const last_ends = state + threadIdx.x / 32 * job.symbol_count;
  auto* const found = reinterpret_cast<uint32_t*>(state + kWarps * job.symbol_count) + threadIdx.x / 32 * job.symbol_count;
  const uint32_t index = job.segment_walk[segment];
  const EpisodeWalk mine = job.walks[index];
  const FrontierSpan entries = frontier_of(job.from, mine.parent);
  uint32_t at = (segment - mine.first_segment) * kWalkEntries;
  if (at >= entries.size) return;
  const uint32_t own_end = min(at + kWalkEntries, entries.size);
  const auto begins = [&](uint32_t k) { return k == 0 || entries.starts[k] > entries.ends[k - 1] + mine.high; };
  for (;; at += 32) {
    if (at >= own_end) return;
    const unsigned candidates = __ballot_sync(kAll, at + lane < own_end && begins(at + lane));
    if (candidates == 0) continue;
    at += static_cast<uint32_t>(__ffs(static_cast<int>(candidates))) - 1;
    break;
  }
  for (uint32_t symbol = lane; symbol < job.symbol_count; symbol += 32) {
    last_ends[symbol] = -1;
    found[symbol] = 0;
  }
  __syncwarp();

  uint32_t passed = 0;  // the events before this index have been passed
  for (uint32_t batch = 0;; ++batch, at += 32) {
    const uint32_t k = at + lane;
    bool is_mine = k < entries.size;
    const unsigned others = __ballot_sync(kAll, is_mine && k >= own_end && begins(k));
    if (others != 0) is_mine = is_mine && lane + 1 < static_cast<uint32_t>(__ffs(static_cast<int>(others)));
    int64_t start = 0;
    uint32_t begin = 0;
    uint32_t end = 0;
    if (is_mine) {
      start = entries.starts[k];
      const int64_t time = entries.ends[k];
      int64_t max_time = time + mine.high;
      if (k + 1 < entries.size) max_time = min(max_time, entries.ends[k + 1] + mine.low);
      begin = first_after(job.times, passed, job.events, time + mine.low);
      end = first_after_nearby(job.times, begin, job.events, max_time);
    }
    for (unsigned reaching = __ballot_sync(kAll, begin < end); reaching != 0; reaching &= reaching - 1) {
      const int entry = __ffs(static_cast<int>(reaching)) - 1;
      const int64_t entry_start = __shfl_sync(kAll, start, entry);
      const uint32_t last = __shfl_sync(kAll, end, entry);
      for (uint32_t event = __shfl_sync(kAll, begin, entry) + lane; event - lane < last; event += 32) {
        // The session that sent the symbols may have changed them after they were checked.
        const uint32_t symbol = event < last ? min(job.symbols[event], job.symbol_count - 1) : UINT32_MAX;
        const unsigned alike = __match_any_sync(kAll, symbol);
        if (symbol != UINT32_MAX && lane + 1 == static_cast<uint32_t>(__ffs(static_cast<int>(alike))) &&
            last_ends[symbol] < entry_start) {
          last_ends[symbol] = job.times[event];
          ++found[symbol];
        }
        __syncwarp();
      }
    }
    if (others != 0 || at + 32 >= entries.size) break;
    passed = __shfl_sync(kAll, begin, 31);
    if (batch % kBatchesAPoll == kBatchesAPoll - 1 && *job.stop != 0) break;
  }
  uint32_t* const counts = job.counts + size_t{index} * job.symbol_count;
  for (uint32_t symbol = lane; symbol < job.symbol_count; symbol += 32)
    if (found[symbol] > 0) atomicAdd(counts + symbol, found[symbol]);
}

}  // namespace

void walk_frontiers(const EpisodeWalks& walks, cudaStream_t stream) {
  const size_t bytes = kWarps * kWalkBytesASymbol * walks.symbol_count;
  allow_shared_memory<walk>();
  walk<<<(walks.segments + kWarps - 1) / kWarps, 32 * kWarps, bytes, stream>>>(walks);
  check_launch("walk");
}

}  // namespace batmap::cuda
