// Blocks of 1 MiB and more come from mmap, smaller ones from the C++ heap. See memory.h.
#include "core/memory.h"

#include <sys/mman.h>

#include <cstring>
#include <new>
#include <string>

#include "core/error.h"

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace batmap {

namespace {

constexpr size_t kMapFrom = size_t{1} << 20;
constexpr size_t kHugePagesFrom = size_t{4} << 20;
constexpr std::align_val_t kAlignment{64};
constexpr size_t kTrimFrom = size_t{8} << 20;

void ask_for_huge_pages(void* block, size_t bytes) {
  if (bytes >= kHugePagesFrom) madvise(block, bytes, MADV_HUGEPAGE);  // advice only: failure changes nothing
}

}  // namespace

MemoryMeter::~MemoryMeter() {
  if (budget_ != nullptr) budget_->release(current());
#if defined(__GLIBC__)
  if (peak() >= kTrimFrom) malloc_trim(0);
#endif
}

void MemoryMeter::charge(size_t bytes) {
  const size_t now = current_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  if (now > limit_ || now < bytes) {
    current_.fetch_sub(bytes, std::memory_order_relaxed);
    throw Error(ErrorCode::kMemoryLimit, "run needs more than its memory limit of " + std::to_string(limit_ >> 10) +
                                             " kB (" + std::to_string(bytes >> 10) + " kB more were asked for)");
  }
  if (budget_ != nullptr) {
    try {
      budget_->charge(bytes);
    } catch (...) {
      current_.fetch_sub(bytes, std::memory_order_relaxed);
      throw;
    }
  }
  size_t seen = peak_.load(std::memory_order_relaxed);
  while (seen < now && !peak_.compare_exchange_weak(seen, now, std::memory_order_relaxed)) {
  }
}

namespace detail {

void* allocate_block(size_t bytes, bool zeroed) {
  if (bytes < kMapFrom) {
    void* block = ::operator new(bytes, kAlignment);
    if (zeroed) std::memset(block, 0, bytes);
    return block;
  }
  void* block = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (block == MAP_FAILED) throw std::bad_alloc();
  ask_for_huge_pages(block, bytes);
  return block;
}

void* grow_block(void* block, size_t bytes, size_t more_bytes) {
  void* larger = allocate_block(more_bytes, false);
  if (bytes < kMapFrom) {
    if (bytes > 0) std::memcpy(larger, block, bytes);
    free_block(block, bytes);
    return larger;
  }
  // The pages move to the addresses that were just reserved, which a sanitizer has thus seen.
  // If that fails, the addresses are not given back, although they count as memory: the call may have unmapped them, and another
  // thread have mapped them since.
  if (mremap(block, bytes, more_bytes, MREMAP_MAYMOVE | MREMAP_FIXED, larger) == MAP_FAILED) throw std::bad_alloc();
  ask_for_huge_pages(larger, more_bytes);
  return larger;
}

void free_block(void* block, size_t bytes) noexcept {
  if (bytes < kMapFrom)
    ::operator delete(block, kAlignment);
  else
    munmap(block, bytes);
}

}  // namespace detail
}  // namespace batmap
