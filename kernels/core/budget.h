// The budgets that all runs of a host share: memory, and helper threads. The engine asks; the host keeps the
// count, over any number of runs, sessions or processes. Every thread of a run may call. Source: ours.
#pragma once

#include <cstddef>

namespace batmap {

class MemoryBudget {
 public:
  /// @throws Error{kMemoryLimit} that says what is used up and what to do about it; then nothing is charged
  virtual void charge(size_t bytes) = 0;
  virtual void release(size_t bytes) noexcept = 0;
  /// Bytes that a charge would be granted now. Another run may take them first.
  virtual size_t available() const noexcept = 0;
  /// The same if all that others hold were given back.
  virtual size_t attainable() const noexcept { return available(); }

 protected:
  ~MemoryBudget() = default;
};

/// Helper threads. The threads that call the engine are not counted: they compute in any case.
class ThreadBudget {
 public:
  /// @return how many threads may be started, 0 .. wanted; give_back() them when they have ended
  virtual size_t take(size_t wanted) noexcept = 0;
  virtual void give_back(size_t threads) noexcept = 0;

 protected:
  ~ThreadBudget() = default;
};

}  // namespace batmap
