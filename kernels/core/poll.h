// Looks at the cancel token after every 65,536 steps of work, some ten microseconds. Source: ours.
#pragma once

#include <cstdint>

#include "core/options.h"

namespace batmap {

class Poll {
 public:
  explicit Poll(const CancelToken& cancel) : cancel_(cancel) {}
  /// @param work  elementary steps since the last call @throws Error{kCancelled}
  void after(uint64_t work) {
    if ((work_ += work) < 1u << 16) return;
    work_ = 0;
    cancel_.throw_if_requested();
  }

 private:
  const CancelToken& cancel_;
  uint64_t work_ = 0;
};

}  // namespace batmap
