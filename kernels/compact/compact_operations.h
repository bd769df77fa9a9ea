// Algebra and counts of two compact sets, block by block. Blocks that only one set has are copied; those that both
// have are merged as arrays or runs where these are short, and as bitmaps otherwise. Cost: linear in the blocks that
// are read; an intersection skips the blocks of the other set. Source: as Roaring does it; the sweep over runs is ours.
#pragma once

#include <span>

#include "compact/compact_writer.h"

namespace batmap {

/// Walks over two sets look for a cancel after this many steps.
inline constexpr uint32_t kStepsPerPoll = 64;

/// Appends the blocks of the result to `out`. @throws Error{kMemoryLimit, kCancelled}
void combine_compact(const CompactView& a, const CompactView& b, SetCombination operation, const CompactKernel& kernel,
                     CompactWriter& out, const CancelToken& cancel);

/// Common elements of two blocks of one key.
uint32_t count_common(const CompactBlock& a, const CompactBlock& b, const CompactKernel& kernel);

/// Calls see(count) for each key that both sets have, with the number of common elements, until it returns false.
/// @throws Error{kCancelled}
template <typename See>
void count_common_blocks(const CompactView& a, const CompactView& b, const CompactKernel& kernel, const CancelToken& cancel,
                         See see) {
  BlockCursor x(a);
  BlockCursor y(b);
  uint32_t steps = 0;
  while (!x.at_end() && !y.at_end()) {
    if (++steps % kStepsPerPoll == 0) cancel.throw_if_requested();
    const uint64_t x_key = x.key();
    const uint64_t y_key = y.key();
    if (x_key < y_key) {
      x.seek(y_key);
    } else if (y_key < x_key) {
      y.seek(x_key);
    } else {
      if (!see(count_common(x.block(), y.block(), kernel))) return;
      x.next();
      y.next();
    }
  }
}

/// The number of elements that all sets have, key by key. @param sets  2 .. kMostTogether @throws Error{kCancelled}
inline constexpr size_t kMostTogether = 16;
uint64_t count_common_of_all(std::span<const CompactView> sets, const CompactKernel& kernel, const CancelToken& cancel);

/// Whether every element of a is in b. Ends at the first block that is not. @throws Error{kCancelled}
bool is_subset(const CompactView& a, const CompactView& b, const CompactKernel& kernel, const CancelToken& cancel);

/// Keeps the elements that the set holds, in their order. Fast where neighbours are in one block.
/// @return how many are left, at the front of `elements`
size_t keep_members(const CompactView& set, std::span<uint64_t> elements);

/// Compares the ascending sequences of elements. @return < 0, 0, > 0 @throws Error{kCancelled}
int compare_compact(const CompactView& a, const CompactView& b, const CancelToken& cancel);

}  // namespace batmap
