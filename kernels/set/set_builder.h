// Encodes sorted elements as a stored set. A build is deterministic: the same elements and width give the same bytes.
//
// Arrays and bitmaps are written directly. A batmap is placed first (placement.h): each element in two of its
// three slots if two are free, the others by the cuckoo walk of Amossen & Pagh II-A, and what fails in the
// stash. Scratch: 4 bytes a slot if a key with its two flags has at most 32 bits, else 8; so at most 24 or 48
// bytes an element. bench/set_bench.cpp measures the times.
#pragma once

#include <span>

#include "core/options.h"
#include "set/set_format.h"

namespace batmap {

/// Reusable: the scratch memory is kept for the next set. Not thread-safe.
class SetEncoder {
 public:
  /// @param options  memory is charged for scratch, cancel is polled; both must outlive the encoder
  explicit SetEncoder(const ExecutionOptions& options) : options_(options), stash_(*options.memory) {}

  /// Places the elements. The caller must keep them until write() is done.
  /// @param sorted_distinct  ascending, all < 2^width
  /// @return the exact size in bytes
  /// @throws Error{kInvalidParameter} for a width outside 0 .. 62, or elements not ascending or outside the universe;
  ///         Error{kTooLarge, kMemoryLimit, kCancelled}
  size_t prepare(std::span<const uint64_t> sorted_distinct, int width);

  /// Writes what prepare() has placed: exactly that many bytes, at any alignment. May be called again.
  void write(std::byte* out);

  /// Places a batmap without its header, also for sets that are stored in another container. key_bits of
  /// batmap_shape() must not be negative.
  /// @param sorted_distinct, width  as for prepare()
  void place_batmap(std::span<const uint64_t> sorted_distinct, int width);

  /// Writes the planes of the batmap placed last: shape().bytes(), at any alignment.
  void write_planes(std::byte* out) const;

  /// The elements of the batmap placed last that found no slot, ascending.
  std::span<const uint64_t> stash() const { return stash_.span(); }

 private:
  template <typename Slot>
  void place(Buffer<Slot>& slots);
  template <typename Slot>
  void write_slots(const Buffer<Slot>& slots, std::byte* out) const;

  ExecutionOptions options_;
  std::span<const uint64_t> elements_;
  int width_ = 0;
  Container container_ = Container::kArray;
  BatmapShape shape_{};
  Buffer<uint32_t> narrow_;  // [3][slots]; only one of the two is used
  Buffer<uint64_t> wide_;
  GrowingBuffer<uint64_t> stash_;
};

}  // namespace batmap
