// A C++ object that lives as long as a memory context: destroyed when the context is reset or deleted, which the
// server also does after an error. This is how engine objects survive between the steps of an SQL function.
#pragma once

#include <new>
#include <utility>

#include "extension/server/boundary.h"

namespace batmap::pg {

template <typename T>
class ContextOwned {
 public:
  /// Room for a T in `context`, empty for now. A server call: may raise an error.
  static ContextOwned* reserve(MemoryContext context) {
    auto* owned = static_cast<ContextOwned*>(MemoryContextAllocZero(context, sizeof(ContextOwned)));
    owned->callback_.func = [](void* arg) { static_cast<ContextOwned*>(arg)->destroy(); };
    owned->callback_.arg = owned;
    MemoryContextRegisterResetCallback(context, &owned->callback_);  // cannot fail
    return owned;
  }

  /// Constructs the object; exceptions become server errors.
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

}  // namespace batmap::pg
