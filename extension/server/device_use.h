// The devices of this backend: the accelerator module, loaded when a run first asks, and how runs may use it by the
// settings.
#pragma once

#include "accel/offload.h"

namespace batmap::pg {

/// One for the life of the backend.
Offload& backend_offload();

/// By batmap.device, batmap.gpu_devices and batmap.gpu_memory_limit. In a parallel worker, where siblings compute already,
/// none.
DeviceUse selected_devices();

/// The argument `device` of a function instead of batmap.device; runs inside guarded.
/// @throws Error{kInvalidParameter} for an unknown name
DeviceUse selected_devices(const char* mode);

}  // namespace batmap::pg
