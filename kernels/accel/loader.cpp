// Loads the module with dlopen and checks its version. See loader.h.
#include "accel/loader.h"

#include <dlfcn.h>

namespace batmap {

const AcceleratorApi* load_accelerator(const std::string& path, std::string& why) {
  const auto complaint = [] {
    const char* const text = dlerror();
    return std::string(text != nullptr ? text : "unknown error");
  };
  void* const module = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (module == nullptr) {
    why = complaint();
    return nullptr;
  }
  using Entry = const AcceleratorApi* (*)();
  const auto entry = reinterpret_cast<Entry>(dlsym(module, "batmap_accelerator"));
  if (entry == nullptr) {
    why = complaint();
    return nullptr;
  }
  const AcceleratorApi* const api = entry();
  if (api == nullptr || api->abi != kAcceleratorAbi || api->size != sizeof(AcceleratorApi)) {
    why = "\"" + path + "\" was made for another version of batmap";
    return nullptr;
  }
  return api;
}

}  // namespace batmap
