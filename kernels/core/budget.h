// What the runs of a host share: memory, and helper threads. The engine asks; the host keeps count over as many runs,
// sessions or processes as it likes. Any thread of a run may call.
#pragma once

#include <cstddef>

namespace batmap {

class MemoryBudget {
 public:
  /// @throws Error{kMemoryLimit}, which says what is used up and what to do about it; nothing is charged then
  virtual void charge(size_t bytes) = 0;
  virtual void release(size_t bytes) noexcept = 0;
  /// Bytes that a charge would be granted now. Others may be faster.
  virtual size_t available() const noexcept = 0;

 protected:
  ~MemoryBudget() = default;
};

/// Of threads beside those that call the engine, which compute in any case.
class ThreadBudget {
 public:
  /// @return how many of them may be started: 0 .. wanted, to be given back when they have ended
  virtual size_t take(size_t wanted) noexcept = 0;
  virtual void give_back(size_t threads) noexcept = 0;

 protected:
  ~ThreadBudget() = default;
};

}  // namespace batmap
