// Replaces operator new by one whose n-th call fails. Included by one file of a program only.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <new>

namespace batmap::test {

inline constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

inline std::atomic<int64_t> allocations_left{kNever};  // that succeed; then one fails
inline std::atomic<bool> all_fail_after{false};        // all later ones fail, too
inline std::atomic<int64_t> live{0};                   // blocks

inline void* allocate(std::size_t bytes, std::size_t alignment) {
  if (allocations_left.load() != kNever) {
    const int64_t left = allocations_left.fetch_sub(1);
    if (left == 0 || (left < 0 && all_fail_after)) throw std::bad_alloc();
  }
  const std::size_t padded = (bytes + alignment - 1) / alignment * alignment;
  void* block = std::aligned_alloc(alignment, padded == 0 ? alignment : padded);
  if (block == nullptr) throw std::bad_alloc();
  ++live;
  return block;
}

inline void release(void* block) noexcept {
  if (block == nullptr) return;
  --live;
  std::free(block);
}

}  // namespace batmap::test

void* operator new(std::size_t bytes) { return batmap::test::allocate(bytes, __STDCPP_DEFAULT_NEW_ALIGNMENT__); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return batmap::test::allocate(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* block) noexcept { batmap::test::release(block); }
void operator delete(void* block, std::size_t) noexcept { batmap::test::release(block); }
void operator delete(void* block, std::align_val_t) noexcept { batmap::test::release(block); }
void operator delete(void* block, std::size_t, std::align_val_t) noexcept { batmap::test::release(block); }
