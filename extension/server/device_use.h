// The devices of this backend: the accelerator module, which is loaded when a run first asks for a GPU, and
// the limits that the settings put on its use.
#pragma once

#include "accel/offload.h"

namespace batmap::pg {

/// The one Offload of the backend; it lives as long as the backend.
Offload& backend_offload();

/// Devices by batmap.device, batmap.gpu_devices and batmap.gpu_memory_limit. None in a parallel worker: the
/// other workers compute already.
DeviceUse selected_devices();

/// The same with the argument `device` of a function in place of batmap.device. Runs inside guarded.
/// @throws Error{kInvalidParameter} for an unknown name
DeviceUse selected_devices(const char* mode);

}  // namespace batmap::pg
