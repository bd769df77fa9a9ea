// A cancel token that stops a run at a chosen poll.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/options.h"

namespace batmap::test {

/// Lets so many polls pass, over all threads together. All later polls answer that the run must stop.
struct Countdown {
  std::atomic<int64_t> left;

  CancelToken token() {
    return {[](void* arg) { return static_cast<Countdown*>(arg)->left.fetch_sub(1) <= 0; }, this};
  }
};

}  // namespace batmap::test
