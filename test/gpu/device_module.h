// The module under test, which BATMAP_ACCELERATOR names.
#pragma once

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

#include "accel/accelerator.h"

namespace batmap {

inline const AcceleratorApi& api() {
  static const AcceleratorApi* const loaded = [] {
    const char* const path = std::getenv("BATMAP_ACCELERATOR");
    void* const module = dlopen(path != nullptr ? path : "batmap_cuda.so", RTLD_NOW | RTLD_LOCAL);
    if (module == nullptr) {
      std::fprintf(stderr, "%s\n", dlerror());
      std::abort();
    }
    return reinterpret_cast<const AcceleratorApi* (*)()>(dlsym(module, "batmap_accelerator"))();
  }();
  return *loaded;
}

/// Under a sanitizer, tests take a hundred times as long.
inline bool is_small() { return std::getenv("BATMAP_SMALL") != nullptr; }

}  // namespace batmap
