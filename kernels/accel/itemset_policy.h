// Whether a device searches for itemsets over bit rows: a pure function of the expected work of the
// search, the device's rates and the time the CPU would take. Source: ours; Losiak 2009, section 7, asks
// to look at the input first.
#pragma once

#include <cstdint>

#include "accel/accelerator.h"
#include "accel/device_policy.h"

namespace batmap {

/// The work of a search over bit rows.
struct RowSearchSizes {
  double joins = 0;     // pairs of rows that are ANDed and counted
  double itemsets = 0;  // frequent itemsets: each gets a row
  double steps = 0;     // times that the host waits for the device
  double host_ms = 0;   // host time that either side needs, such as making candidates
  uint64_t items = 0;
  uint64_t row_bytes = 0;
  uint64_t occurrences = 0;   // bits set in the items' rows
  uint64_t memory_limit = 0;  // bytes on the device; 0: all it has
};

struct RowSearchEstimate {
  double milliseconds = 0;  // includes making and sending the rows, and the context if there is none yet
  bool fits = false;        // the rows of the items and those of one parent's level fit
};
RowSearchEstimate estimate_row_search(const RowSearchSizes& sizes, const DeviceTraits& device);

/// @param cpu_ms  used under kAuto only; under kCuda and kRequire a search that fits goes to the device
DeviceVerdict choose_row_search(DeviceMode mode, const RowSearchSizes& sizes, const DeviceTraits& device, double cpu_ms);

}  // namespace batmap
