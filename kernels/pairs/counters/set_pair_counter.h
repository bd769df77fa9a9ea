// Counters over stored sets: what all_pairs.h chooses from. Ranks are places in `order`, which names the sets to count by
// rising cardinality; every set has fewer than 2^32 elements.
#pragma once

#include <memory>
#include <span>

#include "pairs/counters/pair_counter.h"
#include "set/set_collection.h"

namespace batmap {

/// Tile by tile (tiles.h), each pair as and_cardinality() does it. Pairs whose sizes rule out the least Jaccard index are
/// not compared. @param options  outlives the counter
std::unique_ptr<PairCounter> count_set_tiles(SetCollection sets, std::span<const uint32_t> order, double min_jaccard,
                                             const SetKernel& kernel, const ExecutionOptions& options);

/// Bytes of a set that a comparison reads.
double compared_bytes(const SetView& set);

/// What comparing batmaps of one width on a device takes.
struct BatmapSizes {
  uint64_t bytes = 0;  // 0: the sets are not all batmaps of one width
  double words = 0;    // of planes, 32 slots each, of the larger set of every pair
};
BatmapSizes batmap_sizes(const SetCollection& sets, std::span<const uint32_t> order);

/// The sets taken apart into bit rows and lists, for count_positionally(). Cost: a decoded element and a bit of a row for
/// each element; where there are few rows for 64 sets, a written word for each of them instead of scattered bits.
/// @param element_bound  above every element
TransactionBits transaction_bits_of_sets(const SetCollection& sets, std::span<const uint32_t> order, uint64_t element_bound,
                                         const SetKernel& kernel, const ExecutionOptions& options);

/// Bytes that takes at most, for the chooser.
uint64_t transaction_bits_of_sets_bytes(uint64_t sets, uint64_t element_bound, uint64_t elements,
                                        const ExecutionOptions& options);

}  // namespace batmap
