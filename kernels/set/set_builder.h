// From sorted elements to a stored set. A build is deterministic: the same elements and width give the same bytes.
//
// Arrays and bitmaps are written straight away. A batmap is placed first: each element in two of its three slots where two
// are free, the rest by the cuckoo walk of Amossen & Pagh II-A, what fails into the stash. Scratch: 4 bytes a slot where a
// key with its two flags has at most 32 bits, else 8; that is 24 (48) bytes an element at most. bench/set_bench.cpp has the
// times.
#pragma once

#include <span>

#include "core/options.h"
#include "set/set_format.h"

namespace batmap {

/// Reusable: scratch stays for the next set. Not thread-safe.
class SetEncoder {
 public:
  /// @param options  memory is charged for scratch, cancel is polled; must outlive the encoder
  explicit SetEncoder(const ExecutionOptions& options) : options_(options), stash_(*options.memory) {}

  /// Places the elements; they must stay until write() is done.
  /// @param sorted_distinct  ascending, all < 2^width
  /// @return exact size in bytes
  /// @throws Error{kInvalidParameter} width outside 0..62, elements not ascending or outside the universe;
  ///         Error{kTooLarge}, Error{kMemoryLimit}, Error{kCancelled}
  size_t prepare(std::span<const uint64_t> sorted_distinct, int width);

  /// Writes what prepare() has placed: exactly that many bytes, any alignment. May be called again.
  void write(std::byte* out);

  /// The tables of a batmap alone, also for sets that are stored otherwise. key_bits of batmap_shape() must not be negative.
  /// @param sorted_distinct, width  as above
  void place_batmap(std::span<const uint64_t> sorted_distinct, int width);

  /// Writes the planes of the batmap placed last: shape().bytes(), any alignment.
  void write_planes(std::byte* out) const;

  /// Of the batmap placed last: elements that found no place, ascending.
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
  Buffer<uint32_t> narrow_;  // [3][slots]; one of the two is in use
  Buffer<uint64_t> wide_;
  GrowingBuffer<uint64_t> stash_;
};

/// Sorts ascending, in place, by radix where it pays. Scratch of the same size for large inputs.
/// @throws Error{kMemoryLimit}, Error{kCancelled} (elements are then a permutation of themselves or incomplete)
void sort_elements(std::span<uint64_t> elements, const ExecutionOptions& options);

/// Sorts ascending and drops duplicates. Input that is sorted already costs one pass.
void sort_distinct(GrowingBuffer<uint64_t>& elements, const ExecutionOptions& options);

}  // namespace batmap
