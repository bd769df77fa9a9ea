// Makes sets in compact form: block by block, in ascending order of keys, or from all elements at once. Each block is
// written in the kind that takes the fewest bytes, so that a set has one compact form whichever way it was made.
// Scratch: the bytes of the result. Cost: about 1 ns an element that is ascending, and sorting otherwise. Source: ours.
#pragma once

#include <span>

#include "compact/compact_kernel.h"
#include "compact/compact_view.h"
#include "core/options.h"

namespace batmap {

/// Reusable: the memory is kept for the next set. Not thread-safe.
class CompactWriter {
 public:
  /// @param options  memory is charged for the result, cancel is polled; both must outlive the writer
  explicit CompactWriter(const ExecutionOptions& options)
      : options_(options), directory_(*options.memory), data_(*options.memory) {}

  /// Begins a new set.
  void clear() {
    directory_.shrink(0);
    data_.shrink(0);
    cardinality_ = 0;
  }

  /// Makes room for this many blocks and bytes of data, so that appending them moves nothing. More may be appended.
  void reserve(size_t blocks, size_t bytes) {
    directory_.room(blocks);
    data_.room(bytes);
  }

  // Each of these appends a block, whose key must be above all keys so far. Nothing is appended if it has no elements.
  void add_block(const CompactBlock& block);
  /// @param elements  their 16 low bits, ascending and distinct
  void add_array(uint64_t key, std::span<const uint16_t> elements, const CompactKernel& kernel);
  /// @param words  [1024]
  void add_words(uint64_t key, const uint64_t* words, const CompactKernel& kernel);
  /// @param runs  ascending, not adjacent
  void add_runs(uint64_t key, std::span<const BlockRun> runs);

  /// Appends all elements. @param ascending  distinct, all < 2^62 @throws Error{kCancelled, kMemoryLimit}
  void add_elements(std::span<const uint64_t> ascending);
  void add_elements(std::span<const uint32_t> ascending);

  /// Appends [first, last]. @throws Error{kCancelled, kMemoryLimit}
  void add_range(uint64_t first, uint64_t last);

  uint64_t cardinality() const { return cardinality_; }
  /// The size of the value. @throws Error{kTooLarge} if that is more than a value can have
  size_t bytes() const;
  /// Writes the value: bytes() bytes, at any alignment.
  void write(std::byte* out) const;

 private:
  struct Entry {
    uint64_t key;
    uint32_t count;
    BlockShape shape;
  };

  std::byte* append(uint64_t key, uint32_t count, BlockShape shape);
  template <typename Element>
  void add_ascending(std::span<const Element> elements);
  template <typename Element>
  void add_part(uint64_t key, std::span<const Element> elements, uint32_t runs);
  size_t head_bytes() const;

  ExecutionOptions options_;
  GrowingBuffer<Entry> directory_;
  GrowingBuffer<std::byte> data_;
  uint64_t cardinality_ = 0;
};

}  // namespace batmap
