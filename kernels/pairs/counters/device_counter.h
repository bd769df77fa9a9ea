// Counts pair support on devices (accel/accelerator.h). Coded rows, or the elements of sets, are sent as they are
// decoded, and the device builds the form; or batmaps are sent as they are. The device returns the pairs at or
// above the threshold, in order, or the counts of listed pairs. A task is a range of rows of the triangle or
// rectangle; each device takes the next task when it is free. Source: ours.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "accel/offload.h"
#include "pairs/counters/pair_counter.h"
#include "relation/encoded_relation.h"
#include "relation/kept_items.h"
#include "relation/tidlists.h"
#include "relation/transactions.h"
#include "set/set_collection.h"

namespace batmap {

/// @param devices    prepared; at least one
/// @param options    must outlive the counter
/// @param instances  nullptr, or set: the pair instances, which are counted while rows are sent
/// @throws DeviceFailure, here and in count(); Error, std::bad_alloc
std::unique_ptr<PairCounter> count_on_devices(Offload& offload, std::span<const DeviceTraits> devices, DeviceMethod method,
                                              uint64_t memory_limit, const EncodedRelation& relation, const KeptItems& kept,
                                              const ExecutionOptions& options, uint64_t* instances);

/// The pairs of stored sets, all of them batmaps of one width. Ranks are positions in `order`, which has the
/// sets by rising cardinality.
/// @param sets, order  needed until this returns; the other parameters are those above
std::unique_ptr<PairCounter> count_sets_on_devices(Offload& offload, std::span<const DeviceTraits> devices,
                                                   uint64_t memory_limit, const SetCollection& sets,
                                                   std::span<const uint32_t> order, const ExecutionOptions& options);

/// Pairs to be counted, or to be left out. Several threads call both functions at once, each for other pairs.
struct ListedPairs {
  size_t size;
  bool counts_all;  // they are many of all pairs (pays_to_count_all)
  /// Writes those of [first, last) that devices count. @return how many these are
  std::function<size_t(size_t first, size_t last, uint32_t* a, uint32_t* b)> fill;
  /// Takes their counts.
  std::function<void(size_t first, size_t last, const uint32_t* counts)> take;
};

/// Counts the pairs of a list, and no others. Pairs with one side in common are to be neighbours.
/// @param method     kBitmap or kLists
/// @param lists      the transactions of each item; needed until this returns, as are the others
/// @param tid_slots  tids are smaller
/// @throws as count_on_devices()
void count_list_on_devices(Offload& offload, std::span<const DeviceTraits> devices, DeviceMethod method,
                           uint64_t memory_limit, const Tidlists& lists, uint32_t tid_slots, const ListedPairs& pairs,
                           const ExecutionOptions& options);
/// The same over stored sets, which are those of count_sets_on_devices().
void count_listed_sets_on_devices(Offload& offload, std::span<const DeviceTraits> devices, uint64_t memory_limit,
                                  const SetCollection& sets, std::span<const uint32_t> order, const ListedPairs& pairs,
                                  const ExecutionOptions& options);

/// The same over any sets, whose elements are sent as rows. @param method  kLists, or kHorizontal to count all pairs
/// @param width  elements are below 2^width, and that below 2^32
void count_listed_elements_on_devices(Offload& offload, std::span<const DeviceTraits> devices, DeviceMethod method,
                                      uint64_t memory_limit, const SetCollection& sets, std::span<const uint32_t> order,
                                      int width, const ListedPairs& pairs, const ExecutionOptions& options);

/// The number of threads that keeps this many devices busy.
int threads_for_devices(size_t devices);

}  // namespace batmap
