// What the engine and a module with an accelerator's code say to each other: a C ABI of plain structs and functions, so that
// either can be built, shipped and replaced without the other. The module exports one symbol, `batmap_accelerator`.
//
// Nothing here throws, and nothing of one side is freed by the other. Jobs are described by numbers and pointers; a module
// that does not want one declines, and the CPU does it. All calls but those on one DevicePairs are thread-safe; of these,
// count_rows() and count_list() may be called by several threads at once after build(). Usable from C++17 (nvcc).
#pragma once

#include <cstddef>
#include <cstdint>

namespace batmap {

inline constexpr uint32_t kAcceleratorAbi = 3;
inline constexpr uint32_t kMostDevices = 16;

enum class AcceleratorStatus : int32_t {
  kOk = 0,
  kDeclined,     // not a job for this module
  kNoDevice,     // no device, or no driver
  kOutOfMemory,  // of a device, or past the limit of the job
  kCancelled,    // the job's `stop` said so
  kFailed,       // an error of a device: it is not to be used again
};

/// Why a call did not succeed: one line, lower case, no full stop.
struct AcceleratorMessage {
  char text[240];
};

/// What a device does in a nanosecond. Measured by prepare(); before that, by its class.
struct DeviceRates {
  double context_ms;      // that the first use in a process costs; 0 once it is there
  double upload_bytes;    // host to device, from pinned memory
  double download_bytes;  // device to host
  double and_bits;        // pairs x transactions of bit rows ANDed and counted
  double increments;      // counters of horizontal counting
  double grouped_rows;    // rows turned into the horizontal form
  double launch_ms;       // a job that does nothing
};

struct DeviceTraits {
  int32_t index;  // as the driver numbers it
  int32_t major;  // compute capability
  int32_t minor;
  int32_t multiprocessors;
  uint64_t memory_bytes;
  int32_t ready;  // prepare() has been here
  char name[64];
  char bit_kernel[32];  // what counts bit rows
  DeviceRates rates;
};

enum class DeviceMethod : int32_t {
  kBitmap,      // tiles of AND+popcount over bit rows, by tensor cores where there are
  kHorizontal,  // counters of an item's partners, walked by transaction
  kBatmap,      // tiles of batmaps (DeviceSets)
};

/// Pairs of items, by rank, in the words of relation/wanted_pairs.h.
struct DevicePairJob {
  uint32_t items;
  uint32_t leading;
  uint32_t first_column;
  uint32_t tid_slots;
  uint64_t rows;  // that add_rows() will bring, at most
  DeviceMethod method;
  uint32_t device_count;
  int32_t devices[kMostDevices];  // indices; each gets the whole form and a share of the rows to count
  uint64_t memory_limit;          // bytes on each device; 0: what there is
  bool (*stop)(void*);            // asked from any thread of the job, some hundred times a second; may be null
  void* stop_arg;
};

/// Stored batmaps of one width, in the words of set/FORMAT.md.
struct DeviceSets {
  uint32_t sets;
  uint32_t width;
  const uint64_t* cardinality;         // [sets] rising: what shapes follow from
  const unsigned char* const* planes;  // [sets] groups of blocks
  const uint32_t* stash_begin;         // [sets + 1]
  const uint64_t* stash;               // each set's ascending
};

/// The same layout as PairCount.
struct DevicePair {
  uint32_t a;
  uint32_t b;
  uint64_t count;
};

/// Where the pairs of one count_rows() go. Called once, with their number; null: there is no room, and the call ends with
/// kOutOfMemory.
struct DevicePairSink {
  DevicePair* (*room)(void* arg, size_t pairs);
  void* arg;
};

struct DevicePairs;       // a job on its devices
struct DeviceEpisodeApi;  // device_episodes.h
struct DeviceItemsetApi;  // device_itemsets.h

struct AcceleratorApi {
  uint32_t abi;
  uint32_t size;  // of this struct

  /// Devices that can be used, without waking any. @param traits  [kMostDevices]
  AcceleratorStatus (*devices)(DeviceTraits* traits, uint32_t* count, AcceleratorMessage* why);
  /// Wakes a device and measures its rates; once for each in a process.
  AcceleratorStatus (*prepare)(int32_t device, DeviceTraits* traits, AcceleratorMessage* why);

  /// Takes what the job needs on all its devices.
  AcceleratorStatus (*open_pairs)(const DevicePairJob* job, DevicePairs** pairs, AcceleratorMessage* why);
  /// Rows of kept items: tid codes and item ranks; duplicates count once. Thread-safe. The arrays are free on return.
  AcceleratorStatus (*add_rows)(DevicePairs* pairs, const uint32_t* tids, const uint32_t* items, size_t rows,
                                AcceleratorMessage* why);
  /// Batmaps instead of rows. The arrays are free on return. job: items, leading, first_column, method kBatmap.
  AcceleratorStatus (*add_sets)(DevicePairs* pairs, const DeviceSets* sets, AcceleratorMessage* why);
  /// After the last row. @param supports  [items] overwritten: distinct tids of each
  AcceleratorStatus (*build)(DevicePairs* pairs, uint32_t* supports, AcceleratorMessage* why);
  /// The wanted pairs (a, b) with first <= a < last and count >= threshold, in order of (a, b).
  /// @param first  a multiple of 128; `last` too, or the number of leading items
  AcceleratorStatus (*count_rows)(DevicePairs* pairs, uint32_t first, uint32_t last, uint32_t threshold,
                                  const DevicePairSink* sink, AcceleratorMessage* why);
  /// The counts of `size` pairs (a[i], b[i]) of ranks. @param counts  [size] overwritten. Not for kHorizontal
  AcceleratorStatus (*count_list)(DevicePairs* pairs, const uint32_t* a, const uint32_t* b, size_t size, uint32_t* counts,
                                  AcceleratorMessage* why);
  /// Milliseconds that devices spent: building, and in the kernels of count_rows() and count_list(), all together.
  void (*times)(const DevicePairs* pairs, double* build_ms, double* count_ms);
  void (*close_pairs)(DevicePairs* pairs);

  const DeviceEpisodeApi* episodes;  // null: this module counts none
  const DeviceItemsetApi* itemsets;  // null: likewise
};

}  // namespace batmap

/// What a module exports: its functions, for as long as it is loaded.
extern "C" const batmap::AcceleratorApi* batmap_accelerator();
