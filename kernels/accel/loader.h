// Loads an accelerator module at run time. Building, loading and running the engine needs nothing of CUDA:
// the module is a separate file that may be missing.
#pragma once

#include <string>

#include "accel/accelerator.h"

namespace batmap {

/// Loads the module and asks for its functions. The module stays loaded for the life of the process. The
/// caller blocks all signals meanwhile, since threads that the module starts inherit the signal mask.
/// @param why  set if there is none: the file is missing, or it has another version of the ABI
/// @return nullptr if there is none
const AcceleratorApi* load_accelerator(const std::string& path, std::string& why);

}  // namespace batmap
