// Pairs by a few threads, by warps, and by blocks. See list_counts.h.
#include "cuda/list_counts.h"

#include <algorithm>

#include "cuda/device_memory.h"
#include "cuda/found_pairs.h"
#include "cuda/sorted_search.h"

namespace batmap::cuda {

namespace {

constexpr int kThreads = 256;
constexpr uint32_t kWarps = kThreads / 32;
constexpr uint32_t kStepsOneByOne = 8;  // in a range

constexpr uint32_t kMostPairs = 128;  // of a block at a time
constexpr uint32_t kFewestPairs = 16;
constexpr uint32_t kBlocksEach = 16;  // blocks for each multiprocessor, if there are pairs for them
constexpr uint32_t kSegment = 2048;   // hashes that are staged at once
constexpr uint32_t kSlots = 4;        // of a bucket
constexpr uint32_t kMaxExtra = 32;    // hashes of a segment that find their bucket full: one for each lane
// A list is staged for pairs that walk through at least twice as many hashes. A pair walks along if a segment has enough of
// its hashes for a warp.
constexpr uint64_t kStagingPays = 2;
constexpr uint64_t kMaxRatio = kSegment / 32;  // of the sizes of two lists

/// Is a hash in [at, end)? Most ranges are short. Those of tids that were chosen for it may be long.
__device__ bool has(const uint32_t* hashes, uint32_t at, uint32_t end, uint32_t hash) {
  for (uint32_t step = 0; at < end && hashes[at] < hash; ++step, ++at) {
    if (step < kStepsOneByOne) continue;
    at = first_not_below(hashes, at, end, hash);
    break;
  }
  return at < end && hashes[at] == hash;
}

/// Is a hash in a list that is not empty?
__device__ bool has(const Lists& lists, const List& list, uint32_t hash) {
  const uint32_t* const range = lists.ranges + list.ranges + list.range_of(hash);
  return has(lists.hashes, range[0], range[1], hash);
}

/// A lane's share of the common hashes of two lists.
template <uint32_t kLanes>
__device__ uint32_t count_common(const Lists& lists, const List& x, const List& y, uint32_t lane) {
  const List& small = x.size > y.size ? y : x;
  const List& large = x.size > y.size ? x : y;
  uint32_t count = 0;
  for (uint32_t i = lane; i < small.size; i += kLanes) count += has(lists, large, lists.hashes[small.begin + i]);
  return count;
}

template <uint32_t kLanes>
__global__ void __launch_bounds__(kThreads)
    count_by_lanes(const Lists lists, const uint32_t* a, const uint32_t* b, size_t size, uint32_t* counts) {
  constexpr uint32_t kPairsABlock = kThreads / kLanes;
  const uint32_t lane = threadIdx.x % kLanes;
  // Whole warps take part to the end, because they add up their counts.
  for (size_t first = blockIdx.x * size_t{kPairsABlock}; first < size; first += size_t{gridDim.x} * kPairsABlock) {
    const size_t pair = first + threadIdx.x / kLanes;
    uint32_t count = pair < size ? count_common<kLanes>(lists, lists.of(a[pair]), lists.of(b[pair]), lane) : 0;
    for (uint32_t offset = kLanes / 2; offset > 0; offset /= 2) count += __shfl_down_sync(0xffffffffu, count, offset);
    if (lane == 0 && pair < size) counts[pair] = count;
  }
}

/// The pairs that a block counts at a time, in shared memory.
struct BlockPairs {
  uint32_t b[kMostPairs];
  uint32_t sizes[kMostPairs];  // of the lists of a
  bool walks[kMostPairs];      // along when the list of b is staged
  uint32_t counts[kMostPairs];
};

/// A segment of a list, in shared memory.
struct Segment {
  uint4* buckets;  // what is left of a bucket has a hash of another one
  uint32_t shift;  // of a hash, to the number of its bucket
  uint32_t mask;   // of this number
  uint32_t extra[kMaxExtra];
  uint32_t extras;

  __device__ uint32_t has(uint32_t hash) const {
    const uint4 bucket = buckets[hash >> shift & mask];
    return bucket.x == hash || bucket.y == hash || bucket.z == hash || bucket.w == hash;
  }
};

/// Decides which pairs walk along. All threads call it.
__device__ void choose_walks(const Lists& lists, BlockPairs& pairs, uint32_t size) {
  for (uint32_t first = threadIdx.x; first < size; first += kThreads) {
    if (first > 0 && pairs.b[first - 1] == pairs.b[first]) continue;
    const uint64_t longer = lists.lists[pairs.b[first]].size;
    uint64_t walked = 0;
    uint32_t last = first;
    for (; last < size && pairs.b[last] == pairs.b[first]; ++last) {
      const uint32_t own = pairs.sizes[last];
      pairs.walks[last] = own > 0 && own <= longer && own * kMaxRatio >= longer;
      if (pairs.walks[last]) walked += own;
    }
    if (walked >= kStagingPays * longer) continue;
    for (uint32_t k = first; k < last; ++k) pairs.walks[k] = false;
  }
  __syncthreads();
}

/// Puts hashes into buckets. All threads call it. @param hashes  [size] in order @param prefix  what all of them begin with
/// @param prefix_bits  of it @return false if there is no room for them
__device__ bool stage(Segment& segment, const uint32_t* hashes, uint32_t size, uint32_t prefix, uint32_t prefix_bits) {
  if (size > kSegment) return false;
  uint32_t bits = 1;
  while (1u << bits < size && prefix_bits + bits < 32) ++bits;
  const uint32_t shift = 32 - prefix_bits - bits;
  __syncthreads();  // the segment before is not needed any more
  if (threadIdx.x == 0) {
    segment.shift = shift;
    segment.mask = (1u << bits) - 1;
    segment.extras = 0;
  }
  for (uint32_t i = threadIdx.x; i < 1u << bits; i += kThreads) {
    const uint32_t other = ((prefix << bits | i) ^ 1) << shift;
    segment.buckets[i] = make_uint4(other, other, other, other);
  }
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < size; i += kThreads) {
    const uint32_t bucket = hashes[i] >> shift;
    uint32_t slot = 0;  // the number of hashes before it in the bucket
    while (slot < kSlots && slot < i && hashes[i - slot - 1] >> shift == bucket) ++slot;
    if (slot < kSlots) {
      reinterpret_cast<uint32_t*>(segment.buckets)[(bucket & segment.mask) * kSlots + slot] = hashes[i];
    } else if (const uint32_t extra = atomicAdd(&segment.extras, 1); extra < kMaxExtra) {
      segment.extra[extra] = hashes[i];
    }
  }
  __syncthreads();
  return segment.extras <= kMaxExtra;
}

/// A lane's share of the hashes [from, to) that are in a segment.
__device__ uint32_t count_staged(const Segment& segment, const uint32_t* hashes, uint32_t from, uint32_t to, uint32_t lane) {
  uint32_t count = 0;
  uint32_t i = from + lane;
  for (; i + 96 < to; i += 128) {  // four reads are on their way at once
    const uint32_t some[] = {hashes[i], hashes[i + 32], hashes[i + 64], hashes[i + 96]};
    count += segment.has(some[0]) + segment.has(some[1]) + segment.has(some[2]) + segment.has(some[3]);
  }
  for (; i < to; i += 32) count += segment.has(hashes[i]);
  return count;
}

/// Counts pairs [first, last), which have the same b and of which those that walk are wanted. All threads call it.
__device__ void count_run(const Lists& lists, const uint32_t* a, BlockPairs& pairs, uint32_t first, uint32_t last,
                          Segment& segment) {
  const uint32_t lane = threadIdx.x % 32;
  const List large = lists.lists[pairs.b[first]];
  uint32_t cut = 0;  // bits of a hash that name its segment, which is three quarters full at most in the mean
  while (large.size >> cut > kSegment / 4 * 3 && cut < large.bits) ++cut;
  for (uint32_t number = 0; number < 1u << cut; ++number) {
    const uint32_t* const own = lists.ranges + large.ranges + (number << (large.bits - cut));
    const uint32_t begin = own[0];
    const uint32_t size = own[1u << (large.bits - cut)] - begin;
    if (size == 0) continue;
    const bool is_staged = stage(segment, lists.hashes + begin, size, number, cut);
    for (uint32_t k = first + threadIdx.x / 32; k < last; k += kWarps) {
      if (!pairs.walks[k]) continue;
      const List small = lists.of(a[k]);
      // The ranges of the small list that hold the segment's hashes, and perhaps others.
      const uint32_t ranges = small.bits >= cut ? 1u << (small.bits - cut) : 1;
      const uint32_t range = small.bits >= cut ? number << (small.bits - cut) : number >> (cut - small.bits);
      const uint32_t* const theirs = lists.ranges + small.ranges + range;
      const uint32_t from = theirs[0];
      const uint32_t to = theirs[ranges];
      uint32_t count = 0;
      if (is_staged && small.bits >= cut) {
        count = count_staged(segment, lists.hashes, from, to, lane);
      } else {
        for (uint32_t i = from + lane; i < to; i += 32) {
          const uint32_t hash = lists.hashes[i];
          if (cut > 0 && hash >> (32 - cut) != number) continue;
          count += is_staged ? segment.has(hash) : has(lists, large, hash);
        }
      }
      if (is_staged && lane < segment.extras) count += has(lists, small, segment.extra[lane]);
      count = warp_sum(count);
      if (lane == 0) pairs.counts[k] += count;
    }
  }
}

__global__ void __launch_bounds__(kThreads) count_by_blocks(const Lists lists, const uint32_t* a, const uint32_t* b,
                                                            size_t size, uint32_t pairs_a_block, uint32_t* counts) {
  extern __shared__ uint4 buckets[];
  __shared__ BlockPairs pairs;
  __shared__ Segment segment;
  if (threadIdx.x == 0) segment.buckets = buckets;
  for (size_t begin = blockIdx.x * size_t{pairs_a_block}; begin < size; begin += size_t{gridDim.x} * pairs_a_block) {
    const auto here = static_cast<uint32_t>(min(size_t{pairs_a_block}, size - begin));
    for (uint32_t k = threadIdx.x; k < here; k += kThreads) {
      pairs.b[k] = min(b[begin + k], lists.items - 1);
      pairs.sizes[k] = lists.of(a[begin + k]).size;
      pairs.counts[k] = 0;
    }
    __syncthreads();
    choose_walks(lists, pairs, here);
    for (uint32_t k = threadIdx.x / 32; k < here; k += kWarps) {
      if (pairs.walks[k]) continue;
      const uint32_t lane = threadIdx.x % 32;
      const uint32_t count = warp_sum(count_common<32>(lists, lists.of(a[begin + k]), lists.lists[pairs.b[k]], lane));
      if (lane == 0) pairs.counts[k] = count;
    }
    for (uint32_t first = 0, last = 0; first < here; first = last) {
      bool walks = false;
      for (; last < here && pairs.b[last] == pairs.b[first]; ++last) walks = walks || pairs.walks[last];
      if (walks) count_run(lists, a + begin, pairs, first, last, segment);
    }
    __syncthreads();
    for (uint32_t k = threadIdx.x; k < here; k += kThreads) counts[begin + k] = pairs.counts[k];
    __syncthreads();
  }
}

unsigned blocks_for(size_t size, uint32_t of_block) {
  return static_cast<unsigned>(std::min<size_t>((size + of_block - 1) / of_block, 1 << 16));
}

}  // namespace

void count_short_lists(const Lists& lists, const uint32_t* a, const uint32_t* b, size_t size, uint32_t* counts,
                       cudaStream_t stream) {
  constexpr uint32_t kLanes = 8;
  count_by_lanes<kLanes><<<blocks_for(size, kThreads / kLanes), kThreads, 0, stream>>>(lists, a, b, size, counts);
  check_launch("count_by_lanes");
}

void count_long_lists(const Lists& lists, const uint32_t* a, const uint32_t* b, size_t size, uint32_t* counts,
                      cudaStream_t stream) {
  count_by_lanes<32><<<blocks_for(size, kWarps), kThreads, 0, stream>>>(lists, a, b, size, counts);
  check_launch("count_by_lanes");
}

void count_runs_of_lists(const Lists& lists, const uint32_t* a, const uint32_t* b, size_t size, uint32_t* counts,
                         uint32_t multiprocessors, cudaStream_t stream) {
  const auto each =
      static_cast<uint32_t>(std::clamp<size_t>(size / (size_t{kBlocksEach} * multiprocessors), kFewestPairs, kMostPairs));
  count_by_blocks<<<blocks_for(size, each), kThreads, kSegment * sizeof(uint4), stream>>>(lists, a, b, size, each, counts);
  check_launch("count_by_blocks");
}

}  // namespace batmap::cuda
