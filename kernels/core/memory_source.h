// Where memory comes from that the host owns: in a server, a memory context, which counts it and frees it with the group
// that it belongs to. Pieces for data that grows piece by piece are cut from larger ones, in powers of two, and are used
// again. Objects over it need no destructor. Cost: a few nanoseconds a piece; at most half of a piece is unused.
// Source: size classes as in any allocator; ours.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstring>

namespace batmap {

class MemorySource {
 public:
  /// Memory at a multiple of 8. @throws Error{kMemoryLimit}, std::bad_alloc
  virtual std::byte* take(size_t bytes) = 0;
  /// @param bytes  as it was asked for
  virtual void give(std::byte* memory, size_t bytes) noexcept = 0;

 protected:
  ~MemorySource() = default;
};

/// Not thread-safe. What it has taken ends with its source.
class PiecePool {
 public:
  static constexpr unsigned kSmallest = 4;  // binary logarithms of bytes
  static constexpr unsigned kLargest = 13;

  explicit PiecePool(MemorySource& source) : source_(&source) {}

  /// The class of pieces that hold this many bytes. @param bytes  at most 2^kLargest
  static unsigned size_class(size_t bytes) {
    assert(bytes <= size_t{1} << kLargest);
    return std::max(kSmallest, static_cast<unsigned>(std::bit_width(bytes - (bytes > 0))));
  }

  /// A piece of 2^size_class bytes, uninitialised, at a multiple of 8. @throws as MemorySource::take()
  std::byte* take(unsigned size_class) {
    std::byte*& free = free_[size_class - kSmallest];
    if (free != nullptr) {
      std::byte* const piece = free;
      std::memcpy(&free, piece, sizeof free);
      return piece;
    }
    const size_t bytes = size_t{1} << size_class;
    if (static_cast<size_t>(end_ - next_) < bytes) refill(bytes);
    std::byte* const piece = next_;
    next_ += bytes;
    return piece;
  }

  void give(std::byte* piece, unsigned size_class) noexcept {
    std::byte*& free = free_[size_class - kSmallest];
    std::memcpy(piece, &free, sizeof free);
    free = piece;
  }

 private:
  static constexpr size_t kFirstSlab = 512;
  static constexpr size_t kLastSlab = size_t{64} << 10;

  /// What is left of the slab becomes free pieces.
  void refill(size_t bytes) {
    const size_t slab = std::max(slab_, bytes);
    std::byte* const more = source_->take(slab);
    for (unsigned size_class = kLargest; size_class >= kSmallest; --size_class)
      for (const size_t piece = size_t{1} << size_class; static_cast<size_t>(end_ - next_) >= piece; next_ += piece)
        give(next_, size_class);
    next_ = more;
    end_ = more + slab;
    slab_ = std::min(2 * slab, kLastSlab);
  }

  MemorySource* source_;
  std::array<std::byte*, kLargest - kSmallest + 1> free_{};
  std::byte* next_ = nullptr;
  std::byte* end_ = nullptr;
  size_t slab_ = kFirstSlab;
};

}  // namespace batmap
