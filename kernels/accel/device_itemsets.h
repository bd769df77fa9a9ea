// The part of the module's ABI that searches for frequent itemsets over bit rows: a stack of levels on one device, each with
// the rows of some itemsets of one length. Itemsets are named by their places in their level. What joins, prunes, counts and
// packs without the host is extend(); a host that makes its own candidates has them counted by count() and kept by push().
// Calls on one DeviceItemsets come from one thread at a time. Usable from C++17 (nvcc).
#pragma once

#include "accel/accelerator.h"

namespace batmap {

/// An itemset made of two of the top level that share all but their last items: `other` comes later.
struct JoinedItemset {
  uint32_t parent;  // place
  uint32_t other;   // place
  uint32_t support;
};

/// Columns that count alike (itemsets/forms/weighted_bits.h): 2^shift transactions each.
struct DevicePlane {
  uint64_t first;  // 64-bit word of a row
  uint64_t words;
  uint32_t shift;
};

struct DeviceItemsetJob {
  uint32_t items;
  uint64_t words;        // of a row; a multiple of 8
  const uint64_t* rows;  // [items][words] of the first level; free when open() returns, as the planes
  const DevicePlane* planes;
  uint32_t plane_count;  // 32 at most
  uint32_t has_bitmaps;  // extend() will be asked to prune
  int32_t device;
  uint64_t memory_limit;  // bytes on the device; 0: what there is
  bool (*stop)(void*);    // asked some hundred times a second; may be null
  void* stop_arg;
};

/// A step from the top level to the next.
struct DeviceExtension {
  uint32_t first;  // places of the parents
  uint32_t last;
  uint32_t least;         // support of what is found
  uint32_t prune;         // what has an infrequent subset is not counted; the top level is whole
  uint32_t leading;       // prune: itemsets that begin with this item or a later one have not been counted
  uint32_t fold_support;  // itemsets of this support are found, but have no row: perfect extensions of the one parent
  uint32_t push;          // the rows of what is found become the top level
};

/// Where the itemsets of one extend() go. Called once; null: there is no room, and the call ends with kOutOfMemory.
struct DeviceItemsetSink {
  JoinedItemset* (*room)(void* arg, size_t itemsets);
  void* arg;
};

/// Milliseconds that a job has taken so far.
struct DeviceItemsetTimes {
  double transfer;    // between host and device, by the clock
  double candidates;  // joining and pruning on the device
  double counting;    // supports, threshold, and the rows of the next level
};

struct DeviceItemsets;  // a search on its device

struct DeviceItemsetApi {
  /// One level: the items.
  AcceleratorStatus (*open)(const DeviceItemsetJob* job, DeviceItemsets** itemsets, AcceleratorMessage* why);
  /// Joins each of some parents with all later itemsets of its own parent. What is found comes in order of its places.
  /// After kOutOfMemory the levels are as before.
  /// @param candidates  set: how many were counted
  AcceleratorStatus (*extend)(DeviceItemsets* itemsets, const DeviceExtension* step, const DeviceItemsetSink* sink,
                              uint64_t* candidates, AcceleratorMessage* why);
  /// Sets the supports of candidates of the top level.
  AcceleratorStatus (*count)(DeviceItemsets* itemsets, JoinedItemset* candidates, size_t size, AcceleratorMessage* why);
  /// Their rows become the top level. @param kept  of the top level, in order of their places
  AcceleratorStatus (*push)(DeviceItemsets* itemsets, const JoinedItemset* kept, size_t size, AcceleratorMessage* why);
  /// The top level goes.
  void (*pop)(DeviceItemsets* itemsets);
  /// The rows of the levels under the top one go: nothing will be joined there any more.
  void (*drop_lower)(DeviceItemsets* itemsets);
  /// Bytes that are left for rows.
  uint64_t (*room)(DeviceItemsets* itemsets);
  void (*times)(DeviceItemsets* itemsets, DeviceItemsetTimes* times);
  void (*close)(DeviceItemsets* itemsets);
};

}  // namespace batmap
