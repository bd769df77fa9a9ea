// The part of the C ABI (accelerator.h) that counts serial episodes on a device. The terms are those of
// episodes/event_axis.h and episodes/episode.h. A list of times is sent to the device once and stays there
// for all batches of a run. Usable from C++17 (nvcc).
#pragma once

#include "accel/accelerator.h"

namespace batmap {

/// One time axis. Several streams lie on it, `reach` apart.
struct DeviceEventAxis {
  uint64_t events;
  uint32_t symbol_count;
  const uint32_t* begin;  // [symbol_count + 1] where the list of each symbol begins; copied
  int64_t last_time;      // of all events; the first event is at time 0 or later
  int64_t reach;          // longer gaps are cut to this
};

/// An array of the events of an axis.
enum class DeviceEventArray : int32_t {
  kListTimes,  // int64_t, grouped by symbol, strictly ascending for each symbol
  kTimes,      // int64_t, ascending
  kSymbols,    // uint32_t, in the order of kTimes
};

struct DeviceEpisodeJob {
  const DeviceEventAxis* axes;
  uint64_t axis_count;
  // kTimes and kSymbols will be sent besides the lists; episodes with a common prefix then cost less
  int32_t has_order;
  int32_t device;
  uint64_t memory_limit;  // bytes on the device; 0: all it has
  bool (*stop)(void*);    // called from the thread of a call, some hundred times a second; may be null
  void* stop_arg;
};

/// A half-open interval of distances: low < distance <= high.
struct DeviceGap {
  int64_t low;
  int64_t high;
};

/// Two ways of tracking, which differ in how many threads write the entries of one frontier next to each
/// other (EP IV-D, IV-E), and two ways with automata that wait for symbols (EP III).
enum class DeviceEpisodeMethod : int32_t {
  kCountScanWrite,  // count the entries, add up, find them again and write them
  kAtomic,          // write at positions from atomic counters, then sort
  kAutomaton,       // one thread an episode
  kMapConcat,       // one thread an episode and segment of time
};

/// Episodes of one length, one after the other. Tracking does the work of a common prefix once if the
/// episodes that share it are neighbours.
struct DeviceEpisodeBatch {
  const uint32_t* symbols;  // [size x length]
  const DeviceGap* gaps;    // [size x (length - 1)]
  uint64_t length;
  uint64_t size;
  DeviceEpisodeMethod method;
};

struct DeviceEpisodes;  // the arrays of a run on a device

/// Calls on one DeviceEpisodes come from one thread at a time; only send() is thread-safe.
struct DeviceEpisodeApi {
  uint32_t size;  // of this struct

  AcceleratorStatus (*open)(const DeviceEpisodeJob* job, DeviceEpisodes** episodes, AcceleratorMessage* why);
  /// Sends values [first, first + size) of an array of an axis. Lists must arrive before the first count() of
  /// a batch that has their symbols, kTimes and kSymbols before the first count() of all. Thread-safe. The
  /// caller may free `values` on return.
  AcceleratorStatus (*send)(DeviceEpisodes* episodes, uint64_t axis, DeviceEventArray array, uint64_t first,
                            const void* values, uint64_t size, AcceleratorMessage* why);
  /// @param counts  [batch->size] the counts are added to these
  AcceleratorStatus (*count)(DeviceEpisodes* episodes, const DeviceEpisodeBatch* batch, uint64_t* counts,
                             AcceleratorMessage* why);
  /// Milliseconds in the kernels of count() so far.
  double (*kernel_ms)(const DeviceEpisodes* episodes);
  void (*close)(DeviceEpisodes* episodes);
};

}  // namespace batmap
