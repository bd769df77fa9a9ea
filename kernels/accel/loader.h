// Loading an accelerator module at run time. Nothing of CUDA is needed to build, load or run the engine: the module is a
// file that may be there or not.
#pragma once

#include <string>

#include "accel/accelerator.h"

namespace batmap {

/// Loads the module and asks for its functions. It stays loaded for the life of the process. Threads that it starts, and
/// what it starts in turn, have all signals blocked.
/// @param why  set where there is none: the file is missing, or speaks another version of the ABI
/// @return nullptr: there is none
const AcceleratorApi* load_accelerator(const std::string& path, std::string& why);

}  // namespace batmap
