// The C ABI between the engine and an accelerator module: plain structs and functions, so that either side
// can be built, shipped and replaced without the other. The module exports one symbol, `batmap_accelerator`.
//
// No function throws, and neither side frees memory of the other. Numbers and pointers describe a job; a
// module may decline it, and then the CPU does it. All calls are thread-safe except those on one DevicePairs.
// Of these, several threads at once may call add_rows() or add_planes() before build(), and count_rows() and
// count_list() after it. Usable from C++17 (nvcc). Source: ours.
#pragma once

#include <cstddef>
#include <cstdint>

namespace batmap {

inline constexpr uint32_t kAcceleratorAbi = 7;
inline constexpr uint32_t kMaxDevices = 16;

enum class AcceleratorStatus : int32_t {
  kOk = 0,
  kDeclined,     // not a job for this module
  kNoDevice,     // no device, or no driver
  kOutOfMemory,  // a device has too little memory, or the job's limit is reached
  kCancelled,    // the job's `stop` returned true
  kFailed,       // error of a device: it must not be used again
};

/// Why a call did not succeed: one line, lower case, no full stop.
struct AcceleratorMessage {
  char text[240];
};

/// Speed of a device: amounts are per nanosecond, times in milliseconds. Measured by prepare(); before it,
/// typical of the class of device.
struct DeviceRates {
  double context_ms;      // first use in a process; 0 once the context exists
  double upload_bytes;    // bytes from host to device, from pinned memory
  double download_bytes;  // bytes from device to host
  double and_bits;        // pairs x transactions of bit rows that are ANDed and counted
  double increments;      // updates of counters in horizontal counting
  double grouped_rows;    // rows turned into the horizontal form
  double launch_ms;       // a job that does nothing
};

struct DeviceTraits {
  int32_t index;  // device number of the driver
  int32_t major;  // compute capability
  int32_t minor;
  int32_t multiprocessors;
  uint64_t memory_bytes;
  int32_t ready;  // prepare() has succeeded
  char name[64];
  char bit_kernel[32];  // name of the kernel that counts bit rows
  DeviceRates rates;
};

enum class DeviceMethod : int32_t {
  kBitmap,      // tiles of AND + popcount over bit rows; tensor cores where the device has them
  kHorizontal,  // walks transactions and counts the partners of an item
  kBatmap,      // tiles of batmaps (DeviceSets)
  kLists,       // looks the tids of one item up among those of another; for count_list() only
};

/// A job over pairs of items. Items are ranks; the fields follow relation/wanted_pairs.h.
struct DevicePairJob {
  uint32_t items;
  uint32_t leading;
  uint32_t first_column;
  uint32_t tid_slots;
  uint64_t rows;  // upper bound of the rows that add_rows() will bring
  DeviceMethod method;
  // count_list() looks pairs up in the counts of all pairs, which build() makes if there is memory. With kHorizontal it
  // cannot do without: build() then ends with kOutOfMemory. Not for kLists.
  uint32_t counts_all;
  uint32_t device_count;
  int32_t devices[kMaxDevices];  // indices; each device gets the whole form and a share of the rows to count
  uint64_t memory_limit;         // bytes on each device; 0: all it has
  bool (*stop)(void*);           // called from any thread of the job, some hundred times a second; may be null
  void* stop_arg;
};

/// Stored batmaps of one width, as in set/FORMAT.md, without their planes.
struct DeviceSets {
  uint32_t sets;
  uint32_t width;
  const uint64_t* cardinality;  // [sets] ascending: the shape of a set follows from it
  const uint32_t* stash_begin;  // [sets + 1]
  const uint64_t* stash;        // [stash_begin[sets]] ascending within each set
};

/// Bytes of the planes of batmaps: of a part of a set, or of a whole one.
struct PlanePiece {
  const unsigned char* data;
  uint64_t bytes;
};

/// The same layout as PairCount.
struct DevicePair {
  uint32_t a;
  uint32_t b;
  uint64_t count;
};

/// Receives the pairs of one count_rows(). `room` is called once with their number. If it returns null there
/// is no room, and the call ends with kOutOfMemory.
struct DevicePairSink {
  DevicePair* (*room)(void* arg, size_t pairs);
  void* arg;
};

struct DevicePairs;       // a job on its devices
struct DeviceEpisodeApi;  // device_episodes.h
struct DeviceItemsetApi;  // device_itemsets.h

struct AcceleratorApi {
  uint32_t abi;
  uint32_t size;  // bytes of this struct

  /// Lists the usable devices without waking any. @param traits  [kMaxDevices]
  AcceleratorStatus (*devices)(DeviceTraits* traits, uint32_t* count, AcceleratorMessage* why);
  /// Wakes a device and measures its rates, once a process and device.
  AcceleratorStatus (*prepare)(int32_t device, DeviceTraits* traits, AcceleratorMessage* why);

  /// Reserves what the job needs on all its devices.
  AcceleratorStatus (*open_pairs)(const DevicePairJob* job, DevicePairs** pairs, AcceleratorMessage* why);
  /// Adds rows of kept items: tid codes and item ranks; duplicates count once. Thread-safe. The caller may
  /// free the arrays on return.
  AcceleratorStatus (*add_rows)(DevicePairs* pairs, const uint32_t* tids, const uint32_t* items, size_t rows,
                                AcceleratorMessage* why);
  /// Announces batmaps instead of rows, once. The caller may free the arrays on return. The job sets items,
  /// leading, first_column and method kBatmap.
  AcceleratorStatus (*add_sets)(DevicePairs* pairs, const DeviceSets* sets, AcceleratorMessage* why);
  /// Adds planes of these batmaps. The planes of all sets lie one behind the other, and these pieces from the
  /// byte `offset` on. All of them are needed. Thread-safe. The caller may free the pieces on return.
  AcceleratorStatus (*add_planes)(DevicePairs* pairs, uint64_t offset, const PlanePiece* pieces, size_t count,
                                  AcceleratorMessage* why);
  /// Call it after the last row or plane. @param supports  [items] overwritten: distinct tids of each item
  AcceleratorStatus (*build)(DevicePairs* pairs, uint32_t* supports, AcceleratorMessage* why);
  /// The wanted pairs (a, b) with first <= a < last and count >= threshold, in order of (a, b).
  /// @param first  a multiple of 128; `last` is one too, or the number of leading items
  AcceleratorStatus (*count_rows)(DevicePairs* pairs, uint32_t first, uint32_t last, uint32_t threshold,
                                  const DevicePairSink* sink, AcceleratorMessage* why);
  /// The counts of `size` pairs (a[i], b[i]) of ranks. With kHorizontal only if the job counts all pairs. kLists is fastest
  /// where pairs with the same b follow each other, and b has more tids than a.
  /// @param counts  [size] overwritten
  AcceleratorStatus (*count_list)(DevicePairs* pairs, const uint32_t* a, const uint32_t* b, size_t size, uint32_t* counts,
                                  AcceleratorMessage* why);
  /// Milliseconds of all devices together: for building, and in the kernels of count_rows() and count_list().
  void (*times)(const DevicePairs* pairs, double* build_ms, double* count_ms);
  void (*close_pairs)(DevicePairs* pairs);

  const DeviceEpisodeApi* episodes;  // null: this module counts no episodes
  const DeviceItemsetApi* itemsets;  // null: this module searches no itemsets

  /// Bounds the memory of all jobs of this process together, on each device, beside the limits of the jobs.
  /// @param bytes  0: no bound. May be null
  void (*limit_memory)(uint64_t bytes);
  /// Bytes that jobs have on a device now, without its context. May be null
  uint64_t (*memory_used)(int32_t device);
  /// Pins memory of the caller, of whole pages: add_rows(), add_planes() and count_list() then copy from there and to there
  /// without a stop in between. The caller must not count on what is in it while the call runs: others may be able to write to it.
  /// @param device  one that jobs use. May be null
  AcceleratorStatus (*pin)(int32_t device, void* memory, size_t bytes, AcceleratorMessage* why);
  /// When no call uses it any more. Not null if `pin` is not
  void (*unpin)(void* memory);
};

}  // namespace batmap

/// The one symbol of a module: its functions, valid as long as it is loaded.
extern "C" const batmap::AcceleratorApi* batmap_accelerator();
