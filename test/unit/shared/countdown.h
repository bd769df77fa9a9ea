// What stops a run at a look of the test's choice.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/options.h"

namespace batmap::test {

/// Lets so many looks pass, of all threads together; all others say that the run is to stop.
struct Countdown {
  std::atomic<int64_t> left;

  CancelToken token() {
    return {[](void* arg) { return static_cast<Countdown*>(arg)->left.fetch_sub(1) <= 0; }, this};
  }
};

}  // namespace batmap::test
