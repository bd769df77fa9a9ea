// Reports a broken property in a fuzz target: prints it to standard error and calls abort(), which
// the fuzzer catches.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace batmap::test {

inline void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "violated: %s\n", what);
  std::abort();
}

}  // namespace batmap::test
