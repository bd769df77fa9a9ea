// Pair support on devices (accel/accelerator.h): coded rows go there as they are decoded, the form is built there, or stored
// batmaps go as they are; what comes back are the pairs at or above the threshold, in order. A task is a range of rows of
// the triangle or rectangle; tasks are dealt to the devices by whoever is free.
#pragma once

#include <memory>
#include <span>

#include "accel/offload.h"
#include "pairs/counters/pair_counter.h"
#include "relation/encoded_relation.h"
#include "relation/kept_items.h"
#include "relation/transactions.h"
#include "set/set_collection.h"

namespace batmap {

/// @param devices  ready; at least one
/// @param options  outlives the counter
/// @throws DeviceFailure, here and in count(); Error, std::bad_alloc
std::unique_ptr<PairCounter> count_on_devices(Offload& offload, std::span<const DeviceTraits> devices, DeviceMethod method,
                                              uint64_t memory_limit, const EncodedRelation& relation, const KeptItems& kept,
                                              const ExecutionOptions& options);

/// The pairs of stored sets, by ranks in `order`, which names sets by rising cardinality, all of them batmaps of one width.
/// @param sets, order  needed until this returns; the rest as above
std::unique_ptr<PairCounter> count_sets_on_devices(Offload& offload, std::span<const DeviceTraits> devices,
                                                   uint64_t memory_limit, const SetCollection& sets,
                                                   std::span<const uint32_t> order, const ExecutionOptions& options);

/// Threads that keep so many devices busy.
int threads_for_devices(size_t devices);

}  // namespace batmap
