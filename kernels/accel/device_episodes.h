// Counting serial episodes on a device: the part of the C ABI of accelerator.h that streams of events are counted by, in the
// words of episodes/event_stream.h and episodes/episode.h. A list of times goes to the device once and stays there for all
// batches of a run. Usable from C++17 (nvcc).
#pragma once

#include "accel/accelerator.h"

namespace batmap {

/// One axis. Several streams lie on it, `reach` apart.
struct DeviceEventAxis {
  uint64_t events;
  uint32_t symbol_count;
  const uint32_t* begin;  // [symbol_count + 1] of each symbol in the lists; copied
  int64_t last_time;      // of all events; the first is at 0 or later
  int64_t reach;          // gaps are cut to this
};

/// What is known of each event of an axis.
enum class DeviceEventArray : int32_t {
  kListTimes,  // int64_t by symbol, strictly ascending in each
  kTimes,      // int64_t ascending
  kSymbols,    // uint32_t in the same order
};

struct DeviceEpisodeJob {
  const DeviceEventAxis* axes;
  uint64_t axis_count;
  int32_t has_order;  // besides lists, kTimes and kSymbols will be sent: episodes that begin alike are cheaper then
  int32_t device;
  uint64_t memory_limit;  // bytes on the device; 0: what there is
  bool (*stop)(void*);    // asked from the thread of a call, some hundred times a second; may be null
  void* stop_arg;
};

/// Half-open: low < distance <= high.
struct DeviceGap {
  int64_t low;
  int64_t high;
};

/// Tracking, by how the entries of a frontier that were found by many threads come to lie behind each other (EP IV-D, IV-E);
/// or machines that wait for symbols (EP III).
enum class DeviceEpisodeMethod : int32_t {
  kCountScanWrite,  // counted, summed up, found again and written
  kAtomic,          // written where counters say, then sorted
  kAutomaton,       // a thread for each episode
  kMapConcat,       // a thread for each episode and segment of time
};

/// Episodes of one length, one behind the other. Tracking does the work of those that begin alike once where they are
/// neighbours.
struct DeviceEpisodeBatch {
  const uint32_t* symbols;  // [size x length]
  const DeviceGap* gaps;    // [size x (length - 1)]
  uint64_t length;
  uint64_t size;
  DeviceEpisodeMethod method;
};

struct DeviceEpisodes;  // the lists of a run on a device

/// All calls on one DeviceEpisodes but send() come from one thread at a time.
struct DeviceEpisodeApi {
  uint32_t size;  // of this struct

  AcceleratorStatus (*open)(const DeviceEpisodeJob* job, DeviceEpisodes** episodes, AcceleratorMessage* why);
  /// Values [first, first + size) of an array of an axis: of the lists, before the first count() of a batch that has their
  /// symbols; of the order, before the first of all. Thread-safe. `values` is free on return.
  AcceleratorStatus (*send)(DeviceEpisodes* episodes, uint64_t axis, DeviceEventArray array, uint64_t first,
                            const void* values, uint64_t size, AcceleratorMessage* why);
  /// @param counts  [batch->size] added to
  AcceleratorStatus (*count)(DeviceEpisodes* episodes, const DeviceEpisodeBatch* batch, uint64_t* counts,
                             AcceleratorMessage* why);
  /// Milliseconds that the kernels of count() have taken so far.
  double (*kernel_ms)(const DeviceEpisodes* episodes);
  void (*close)(DeviceEpisodes* episodes);
};

}  // namespace batmap
