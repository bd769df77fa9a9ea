// Counts of given pairs of lists (list_form.cu).
//
// A list is the hashes of an item's tids, in order, with a table of where each range of hashes begins. Some threads walk
// through the shorter list of a pair and look its hashes up in the longer one. Both lists are in one order and hashes are
// spread evenly, so neighbouring threads read neighbouring words: in effect the lists are merged.
//
// Where pairs with one b follow each other, a block of threads counts them together. It stages the list of b in shared
// memory, a segment of a few thousand hashes at a time: buckets of four hashes, where a look-up is one read and four
// comparisons. A bucket has one hash in the mean. The few hashes that find their bucket full are looked up the other way
// round, in the list of a.
//
// Cost: one look-up for each hash of the shorter list (bench/device_pairs.cpp, part list). Source: ours; hashes with a table of
// ranges are interpolation search with the guess written down.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace batmap::cuda {

/// The list of an item.
struct List {
  uint32_t begin;  // of its hashes
  uint32_t size;
  uint32_t ranges;  // of its table, which has one entry more than ranges; none if the list is empty
  uint32_t bits;    // of a hash, that name its range

  /// The range of a hash. Of a list with `bits` 0, there is one.
  __device__ uint32_t range_of(uint32_t hash) const {
    return static_cast<uint32_t>(static_cast<uint64_t>(hash) >> (32 - bits));
  }
};

/// All of a job, on the device.
struct Lists {
  const List* lists;  // [items]
  uint32_t items;
  const uint32_t* hashes;  // ascending in each list
  const uint32_t* ranges;  // places in `hashes`

  /// The list of an item. What is named may come from memory that another process can still write to.
  __device__ const List& of(uint32_t item) const { return lists[min(item, items - 1)]; }
};

/// Queues the counting of pairs of lists that are short: a few threads for each.
void count_short_lists(const Lists& lists, const uint32_t* a, const uint32_t* b, size_t size, uint32_t* counts,
                       cudaStream_t stream);
/// The same for long lists: a warp for each.
void count_long_lists(const Lists& lists, const uint32_t* a, const uint32_t* b, size_t size, uint32_t* counts,
                      cudaStream_t stream);
/// The same where pairs with the same b follow each other, and the list of b is mostly not the shorter one: by blocks.
/// @param multiprocessors  of the device
void count_runs_of_lists(const Lists& lists, const uint32_t* a, const uint32_t* b, size_t size, uint32_t* counts,
                         uint32_t multiprocessors, cudaStream_t stream);

}  // namespace batmap::cuda
