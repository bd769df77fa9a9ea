// Memory of a run: a meter with a limit and a peak, and an owning array that is charged to it.
//
// Arrays that grow with the input are `Buffer<T>`: uninitialised or zeroed, aligned to 64 bytes. From 1 MiB
// up they are mapped directly from the system, so a run that ends or is cancelled gives every page back at
// once and the heap of the process is not fragmented. Small bookkeeping may use the standard containers; when
// the meter of a large run is destroyed, the heap returns the free pages that they left behind. Source: ours.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#include "core/budget.h"
#include "core/error.h"

namespace batmap {

/// Counts bytes against the limit of one run, and against the budget of all runs. Thread-safe.
class MemoryMeter {
 public:
  static constexpr size_t kUnlimited = SIZE_MAX;

  /// @param budget  shared by all runs; not owned; nullptr: none
  explicit MemoryMeter(size_t limit_bytes = kUnlimited, MemoryBudget* budget = nullptr)
      : limit_(limit_bytes), budget_(budget) {}
  MemoryMeter(const MemoryMeter&) = delete;
  MemoryMeter& operator=(const MemoryMeter&) = delete;
  /// Gives back to the budget what has not been released: the memory of dictionaries, which end with their context. After a
  /// peak of 8 MiB or more, the heap returns its free pages.
  ~MemoryMeter();

  /// @throws Error{kMemoryLimit} if the limit or the budget would be exceeded; then nothing is charged
  void charge(size_t bytes);
  void release(size_t bytes) noexcept {
    current_.fetch_sub(bytes, std::memory_order_relaxed);
    if (budget_ != nullptr) budget_->release(bytes);
  }

  size_t limit() const noexcept { return limit_; }
  size_t current() const noexcept { return current_.load(std::memory_order_relaxed); }
  size_t peak() const noexcept { return peak_.load(std::memory_order_relaxed); }
  size_t available() const noexcept { return budget_ == nullptr ? own_left() : std::min(own_left(), budget_->available()); }
  /// The same if all that other users of the budget hold were given back.
  size_t attainable() const noexcept {
    return budget_ == nullptr ? own_left() : std::min(own_left(), budget_->attainable());
  }

 private:
  size_t own_left() const noexcept {
    const size_t used = current();
    return used < limit_ ? limit_ - used : 0;
  }

  size_t limit_;
  MemoryBudget* budget_;
  std::atomic<size_t> current_{0};
  std::atomic<size_t> peak_{0};
};

namespace detail {
/// @return 64-byte aligned memory, zeroed if asked; @throws std::bad_alloc
void* allocate_block(size_t bytes, bool zeroed);
/// A block with more bytes in place of this one, and with its contents. Large blocks keep their pages: nothing is copied.
/// @param block  may be nullptr if bytes is 0 @throws std::bad_alloc; then the block is as it was
void* grow_block(void* block, size_t bytes, size_t more_bytes);
void free_block(void* block, size_t bytes) noexcept;
}  // namespace detail

enum class Fill { kNone, kZero };

/// Owning array of `size` trivially copyable elements, charged to a meter for its whole life. Move-only.
template <typename T>
class Buffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Buffer() = default;
  /// @throws Error{kMemoryLimit}, std::bad_alloc
  Buffer(MemoryMeter& meter, size_t size, Fill fill = Fill::kNone) : meter_(&meter), size_(size) {
    if (size == 0) return;
    if (size > SIZE_MAX / sizeof(T)) throw std::bad_alloc();
    meter.charge(bytes());
    try {
      data_ = static_cast<T*>(detail::allocate_block(bytes(), fill == Fill::kZero));
    } catch (...) {
      meter.release(bytes());
      throw;
    }
  }
  Buffer(Buffer&& other) noexcept
      : meter_(other.meter_), data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    if (this != &other) {
      reset();
      meter_ = other.meter_;
      data_ = std::exchange(other.data_, nullptr);
      size_ = std::exchange(other.size_, 0);
    }
    return *this;
  }
  ~Buffer() { reset(); }

  /// Keeps the elements and makes room for more. Only the difference is charged, while both blocks of less than 1 MiB exist
  /// for a moment. @param size  no less than size() @throws Error{kMemoryLimit}, std::bad_alloc; then nothing has changed
  void grow(MemoryMeter& meter, size_t size) {
    if (size > SIZE_MAX / sizeof(T)) throw std::bad_alloc();
    const size_t more = (size - size_) * sizeof(T);
    meter.charge(more);
    try {
      data_ = static_cast<T*>(detail::grow_block(data_, bytes(), size * sizeof(T)));
    } catch (...) {
      meter.release(more);
      throw;
    }
    meter_ = &meter;
    size_ = size;
  }

  void reset() noexcept {
    if (data_ == nullptr) return;
    detail::free_block(data_, bytes());
    meter_->release(bytes());
    data_ = nullptr;
    size_ = 0;
  }

  T* data() noexcept { return data_; }
  const T* data() const noexcept { return data_; }
  size_t size() const noexcept { return size_; }
  size_t bytes() const noexcept { return size_ * sizeof(T); }
  bool empty() const noexcept { return size_ == 0; }
  T& operator[](size_t i) noexcept { return data_[i]; }
  const T& operator[](size_t i) const noexcept { return data_[i]; }
  T* begin() noexcept { return data_; }
  T* end() noexcept { return data_ + size_; }
  const T* begin() const noexcept { return data_; }
  const T* end() const noexcept { return data_ + size_; }
  std::span<T> span() noexcept { return {data_, size_}; }
  std::span<const T> span() const noexcept { return {data_, size_}; }

 private:
  MemoryMeter* meter_ = nullptr;
  T* data_ = nullptr;
  size_t size_ = 0;
};

/// Growing array over `Buffer`: push_back with doubling, charged to the meter. Move-only.
template <typename T>
class GrowingBuffer {
 public:
  explicit GrowingBuffer(MemoryMeter& meter) : meter_(&meter) {}
  GrowingBuffer(GrowingBuffer&& other) noexcept
      : meter_(other.meter_), buffer_(std::move(other.buffer_)), size_(std::exchange(other.size_, 0)) {}
  GrowingBuffer& operator=(GrowingBuffer&& other) noexcept {
    meter_ = other.meter_;
    buffer_ = std::move(other.buffer_);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }

  void push_back(const T& value) {
    if (size_ == buffer_.size()) grow(size_ + 1);
    buffer_[size_++] = value;
  }
  /// Makes room for `count` more elements; the caller writes them at end() and calls add().
  T* room(size_t count) {
    if (buffer_.size() - size_ < count) grow(size_ + count);
    return buffer_.data() + size_;
  }
  /// The same for an empty buffer. It takes no more memory than that, and gives back what it had before.
  T* room_for_all(size_t count) {
    if (buffer_.size() < count) {
      buffer_.reset();
      buffer_ = Buffer<T>(*meter_, count);
    }
    return buffer_.data();
  }
  void add(size_t count) noexcept { size_ += count; }
  /// Keeps the first `size` elements.
  void shrink(size_t size) noexcept { size_ = size; }
  void reset() noexcept {
    buffer_.reset();
    size_ = 0;
  }

  size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  T& operator[](size_t i) noexcept { return buffer_[i]; }
  const T& operator[](size_t i) const noexcept { return buffer_[i]; }
  T* begin() noexcept { return buffer_.data(); }
  T* end() noexcept { return buffer_.data() + size_; }
  const T* begin() const noexcept { return buffer_.data(); }
  const T* end() const noexcept { return buffer_.data() + size_; }
  std::span<const T> span() const noexcept { return {buffer_.data(), size_}; }

 private:
  void grow(size_t needed) {
    size_t capacity = buffer_.size() < 64 ? 64 : buffer_.size() * 2;
    if (capacity < needed) capacity = needed;
    buffer_.grow(*meter_, capacity);
  }

  MemoryMeter* meter_;
  Buffer<T> buffer_;
  size_t size_ = 0;
};

/// Runs the work. @return false if it met the memory limit @throws any other error
template <typename Work>
bool within_memory_limit(Work work) {
  try {
    work();
    return true;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kMemoryLimit) throw;
    return false;
  }
}

}  // namespace batmap
