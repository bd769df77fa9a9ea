// Whether a device is to search for itemsets over bit rows: a pure function of what the search is expected to do, the
// device's rates and what the CPU would take. Source: ours; Losiak 2009, 7, asks for it: look at the input first.
#pragma once

#include <cstdint>
#include <string>

#include "accel/accelerator.h"
#include "accel/device_policy.h"

namespace batmap {

/// What a search over bit rows does.
struct RowSearchSizes {
  double joins = 0;     // pairs of rows that are ANDed and counted
  double itemsets = 0;  // that are frequent: they get a row
  double steps = 0;     // times that the host waits for the device
  double host_ms = 0;   // of the host, whoever counts: candidates that it makes
  uint64_t items = 0;
  uint64_t row_bytes = 0;
  uint64_t occurrences = 0;   // bits of the items' rows
  uint64_t memory_limit = 0;  // bytes on the device; 0: what there is
};

struct RowSearchEstimate {
  double milliseconds = 0;  // with rows to be made and sent, and the context where there is none yet
  bool fits = false;        // the rows of the items, and those of a level of one parent
};
RowSearchEstimate estimate_row_search(const RowSearchSizes& sizes, const DeviceTraits& device);

struct RowSearchChoice {
  bool on_device = false;
  std::string reason;
};

/// @param cpu_ms  none under kCuda and kRequire: what fits goes there
RowSearchChoice choose_row_search(DeviceMode mode, const RowSearchSizes& sizes, const DeviceTraits& device, double cpu_ms);

}  // namespace batmap
