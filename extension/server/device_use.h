// The devices of this backend: the accelerator module, which is loaded when a run first asks for a GPU, and
// the limits that the settings put on its use.
#pragma once

#include <string>

#include "accel/offload.h"

namespace batmap::pg {

/// The one Offload of the backend; it lives as long as the backend. It uses the GPU process of the server
/// (gpu_process.h), or loads the module itself where batmap.gpu_process is off or that process cannot be used.
Offload& backend_offload();

/// The path of the module that batmap.accelerator names.
std::string accelerator_path();

/// Devices by batmap.device, batmap.gpu_devices and batmap.gpu_memory_limit. None in a parallel worker: the
/// other workers compute already.
DeviceUse selected_devices();

/// The same with the argument `device` of a function in place of batmap.device. Runs inside guarded.
/// @throws Error{kInvalidParameter} for an unknown name
DeviceUse selected_devices(const char* mode);

}  // namespace batmap::pg
