// What a fuzz target says of a broken promise before it ends: standard error, and abort() for the fuzzer to catch.
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
