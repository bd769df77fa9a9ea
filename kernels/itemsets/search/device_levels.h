// RowLevels in the memory of a device (accel/device_itemsets.h): the bit rows stay there, supports come back.
#pragma once

#include <memory>

#include "accel/offload.h"
#include "itemsets/search/row_levels.h"

namespace batmap {

struct DeviceLevelJob {
  int32_t device = 0;
  uint64_t memory_limit = 0;  // bytes on the device; 0: all that is free
  bool prunes = false;        // extend_rows() will be called with `prune`
};

/// @param bits     copied to the device
/// @param options  must outlive the levels
/// @throws DeviceFailure, here and in all calls; Error, std::bad_alloc
std::unique_ptr<RowLevels> rows_on_device(const AcceleratorApi& api, const DeviceLevelJob& job, const WeightedBits& bits,
                                          const ExecutionOptions& options);

}  // namespace batmap
