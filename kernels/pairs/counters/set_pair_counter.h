// Counters over stored sets, from which all_pairs.h chooses. Ranks are positions in `order`, which has the
// sets to count by rising cardinality. Every set has fewer than 2^32 elements. Source: Amossen & Pagh
// 2011, III-C, for the tiles.
#pragma once

#include <memory>
#include <span>

#include "pairs/counters/pair_counter.h"
#include "set/set_collection.h"

namespace batmap {

/// Counts tile by tile (tiles.h), each pair as and_cardinality() does. Pairs whose sizes rule out the least
/// Jaccard index are skipped.
/// @param options  must outlive the counter
std::unique_ptr<PairCounter> count_set_tiles(SetCollection sets, std::span<const uint32_t> order, double min_jaccard,
                                             const SetKernel& kernel, const ExecutionOptions& options);

/// The width that compact sets are prepared for: no set has an element or a universe beyond it.
int common_width(const SetCollection& sets, std::span<const uint32_t> order);

/// The sizes of comparing batmaps of one width on a device, once compact sets are prepared for this width.
struct BatmapSizes {
  uint64_t bytes = 0;  // 0: the sets are not all batmaps of one width
  double words = 0;    // words of planes, 32 slots each, of the larger set of every pair
};
BatmapSizes batmap_sizes(const SetCollection& sets, std::span<const uint32_t> order, int width);

/// Decodes the sets into bit rows and lists, for count_positionally(). Cost for each element: decoding it,
/// and setting one bit of a row. If 64 sets have many elements for the number of rows, one word is written
/// for each row instead of scattered bits.
/// @param element_bound  larger than every element; at most UINT32_MAX
TransactionBits transaction_bits_of_sets(const SetCollection& sets, std::span<const uint32_t> order, uint64_t element_bound,
                                         const SetKernel& kernel, const ExecutionOptions& options);

/// Upper bound of the bytes that transaction_bits_of_sets() takes, for the chooser.
uint64_t transaction_bits_of_sets_bytes(uint64_t sets, uint64_t element_bound, uint64_t elements,
                                        const ExecutionOptions& options);

}  // namespace batmap
