// The devices of this backend: the accelerator module, which is loaded when a run first asks for a GPU, and
// the limits that the settings put on its use.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "accel/offload.h"
#include "process/client/gpu_client.h"

namespace batmap::pg {

/// The beginning of the reason why there is no GPU where the module is missing.
constexpr std::string_view kNoModule = "no module for GPUs is installed";

/// The one Offload of the backend; it lives as long as the backend. It uses the GPU process of the server
/// (gpu_process.h), or loads the module itself where batmap.gpu_process is off or that process cannot be used.
Offload& backend_offload();

/// The use of the GPU process, if this session is connected to it.
std::optional<process::ProcessUse> gpu_process_use();
/// The same; connects first if that process runs and has a GPU awake. Runs inside guarded.
std::optional<process::ProcessUse> awake_gpu_process_use();

/// The path of the module that batmap.accelerator names.
std::string accelerator_path();

/// Devices by batmap.device, batmap.gpu_devices and batmap.gpu_memory_limit. None in a parallel worker: the
/// other workers compute already.
DeviceUse selected_devices();

/// The same with the argument `device` of a function in place of batmap.device. Runs inside guarded.
/// @throws Error{kInvalidParameter} for an unknown name
DeviceUse selected_devices(const char* mode);

}  // namespace batmap::pg
