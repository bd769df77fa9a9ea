// Counts all pairs of a relation into a value of pair_counts.h, with the counter that the chooser picks. Source: ours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/options.h"
#include "pairs/build_counter.h"
#include "relation/chunk.h"

namespace batmap {

/// Appends the counts of the pairs, items and transactions of some chunks to `out`, as one finished value.
/// Memory: that of the counter, and 24 bytes for each pair that occurs.
/// @param total  number of transactions, if larger than that of distinct tids: some have no items
/// @param texts  what the items are numbers of, ascending; empty: they are integers
/// @throws Error{kTooLarge, kMemoryLimit, kCancelled}, std::bad_alloc
void count_pairs_of(std::vector<ChunkView> chunks, uint64_t total, const PairKernels& kernels, GrowingBuffer<std::byte>& out,
                    const ExecutionOptions& options, std::span<const std::string_view> texts = {});

}  // namespace batmap
