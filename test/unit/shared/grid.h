// Whether a test runs at its full size (`make check-reference`, which sets BATMAP_TEST_GRID=full) or at a smaller
// one (`make check`, sanitizers).
#pragma once

#include <cstdlib>
#include <string>

namespace batmap::test {

inline bool full_grid() {
  const char* grid = std::getenv("BATMAP_TEST_GRID");
  return grid != nullptr && std::string(grid) == "full";
}

}  // namespace batmap::test
