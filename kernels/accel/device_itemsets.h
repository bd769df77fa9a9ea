// The part of the C ABI (accelerator.h) that searches for frequent itemsets over bit rows. One device holds a stack of levels. A
// level has the rows of some itemsets of one length, and an itemset is named by its position in its level.
//
// There are two ways to make the next level. extend() makes candidates on the device, counts them, and hands over those that are
// frequent. A host that makes its own candidates calls count(), and then push() with those that it keeps. Calls on one
// DeviceItemsets come from one thread at a time. Usable from C++17 (nvcc).
#pragma once

#include "accel/accelerator.h"

namespace batmap {

/// The union of two itemsets of the top level that share all but their last items; `other` lies behind `parent`.
struct JoinedItemset {
  uint32_t parent;  // position in the top level
  uint32_t other;   // position in the top level
  uint32_t support;
};

/// A range of columns that stand for 2^shift transactions each (itemsets/forms/weighted_bits.h).
struct DevicePlane {
  uint64_t first;  // first 64-bit word in a row
  uint64_t words;
  uint32_t shift;
};

struct DeviceItemsetJob {
  uint32_t items;
  uint64_t words;  // 64-bit words of a row; a multiple of 8
  // [items][words] the first level; the caller may free rows and planes when open() returns
  const uint64_t* rows;
  const DevicePlane* planes;
  uint32_t plane_count;  // at most 32
  uint32_t has_bitmaps;  // not 0: the search will call extend() with `prune`
  int32_t device;
  uint64_t memory_limit;  // bytes on the device; 0: all it has
  bool (*stop)(void*);    // called some hundred times a second; may be null
  void* stop_arg;
};

/// A step from the top level to the next. The itemsets at [first, last) of the top level are the parents. A candidate is the
/// union of a parent and a later itemset of the level that has all but its last item in common with it.
struct DeviceExtension {
  uint32_t first;
  uint32_t last;
  uint32_t min_count;  // candidates of at least this support are found
  // if not 0, a candidate with an infrequent subset is not counted. The top level must be complete then
  uint32_t prune;
  // with prune: nothing is known of itemsets whose first item is this or a later one, because they were not counted
  uint32_t leading;
  // a candidate of this support is found but gets no row: its last item is a perfect extension of the only parent
  uint32_t fold_support;
  uint32_t push;  // if not 0, the rows of what is found become the new top level
};

/// Receives the itemsets of one extend(). `room` is called once; if it returns null there is no room, and the
/// call ends with kOutOfMemory.
struct DeviceItemsetSink {
  JoinedItemset* (*room)(void* arg, size_t itemsets);
  void* arg;
};

/// Milliseconds of a job so far.
struct DeviceItemsetTimes {
  double transfer;    // between host and device, wall clock
  double candidates;  // joining and pruning on the device
  double counting;    // supports, threshold, and making the rows of the next level
};

struct DeviceItemsets;  // a search on its device

struct DeviceItemsetApi {
  /// Starts with one level: the items.
  AcceleratorStatus (*open)(const DeviceItemsetJob* job, DeviceItemsets** itemsets, AcceleratorMessage* why);
  /// Counts the candidates of a step. Those that are found come in order of their two positions. After kOutOfMemory the levels
  /// are unchanged.
  /// @param candidates  overwritten: how many candidates were counted
  AcceleratorStatus (*extend)(DeviceItemsets* itemsets, const DeviceExtension* step, const DeviceItemsetSink* sink,
                              uint64_t* candidates, AcceleratorMessage* why);
  /// Sets the supports of candidates, which are joins of the top level.
  AcceleratorStatus (*count)(DeviceItemsets* itemsets, JoinedItemset* candidates, size_t size, AcceleratorMessage* why);
  /// Makes the rows of `kept`, which become the new top level.
  /// @param kept  joins of the top level, in order of their positions
  AcceleratorStatus (*push)(DeviceItemsets* itemsets, const JoinedItemset* kept, size_t size, AcceleratorMessage* why);
  /// Removes the top level.
  void (*pop)(DeviceItemsets* itemsets);
  /// Frees the rows of all levels below the top one. Nothing will be joined there any more.
  void (*drop_lower)(DeviceItemsets* itemsets);
  /// Bytes left for rows.
  uint64_t (*room)(DeviceItemsets* itemsets);
  void (*times)(DeviceItemsets* itemsets, DeviceItemsetTimes* times);
  void (*close)(DeviceItemsets* itemsets);
};

}  // namespace batmap
