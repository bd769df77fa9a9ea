// The functions of each kind of job, as calls of the GPU process. Source: ours.
#pragma once

#include "accel/accelerator.h"
#include "accel/device_episodes.h"
#include "accel/device_itemsets.h"

namespace batmap::process::client {

/// A table that has the functions of pairs only.
AcceleratorApi pair_calls();
const DeviceEpisodeApi* episode_calls();
const DeviceItemsetApi* itemset_calls();

}  // namespace batmap::process::client
