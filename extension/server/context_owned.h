// A C++ object that lives as long as a memory context. It is destroyed when the context is reset or
// deleted, which the server also does after an error. Engine objects survive between the steps of an SQL
// function this way.
#pragma once

#include <new>
#include <utility>

#include "core/memory.h"
#include "extension/server/backend.h"
#include "extension/server/boundary.h"
#include "extension/server/budget.h"

namespace batmap::pg {

template <typename T>
class ContextOwned {
 public:
  /// Reserves room for a T in `context`, empty at first. Calls the server and may raise an error.
  static ContextOwned* reserve(MemoryContext context) {
    auto* owned = static_cast<ContextOwned*>(MemoryContextAllocZero(context, sizeof(ContextOwned)));
    owned->callback_.func = [](void* arg) { static_cast<ContextOwned*>(arg)->destroy(); };
    owned->callback_.arg = owned;
    MemoryContextRegisterResetCallback(context, &owned->callback_);  // cannot fail
    return owned;
  }

  /// Constructs the object. Exceptions become errors of the server.
  template <typename... Args>
  T* emplace(Args&&... args) {
    guarded([&] { new (storage_) T(std::forward<Args>(args)...); });
    alive_ = true;
    return get();
  }
  T* get() { return std::launder(reinterpret_cast<T*>(storage_)); }

 private:
  void destroy() {
    if (std::exchange(alive_, false)) get()->~T();
  }

  static_assert(alignof(T) <= MAXIMUM_ALIGNOF, "palloc aligns to MAXIMUM_ALIGNOF only");
  MemoryContextCallback callback_;
  bool alive_;
  alignas(T) std::byte storage_[sizeof(T)];
};

/// A meter with the limits of the session, for what is allocated in `context` and the contexts below it.
inline MemoryMeter* call_meter(MemoryContext context) {
  return ContextOwned<MemoryMeter>::reserve(context)->emplace(memory_limit_bytes(), session_memory());
}

}  // namespace batmap::pg
