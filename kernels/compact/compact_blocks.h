// What two blocks of one key have in common or apart, for the walks over two sets (compact_operations.h) and for the sum of
// many (compact_accumulator.h): as arrays, as runs, or as words. Cost: linear in the data of the two; a short array
// searches in a long one. Source: as Roaring does it; the sweep over runs is ours.
#pragma once

#include "compact/compact_operations.h"

namespace batmap {

/// Runs, and single elements beside runs, that are merged as such; more are merged as bitmaps.
inline constexpr uint32_t kFewRuns = 256;

inline bool is(const CompactBlock& block, BlockKind kind) { return block.shape.kind == kind; }

/// Units that filter_array() may write: if elements occur more than once, as many as both arrays have.
inline constexpr size_t kFilteredUnits = 2 * kMaxUnits + kMoreUnits;

/// The elements of `array` that are in `other`, or those that are not. @param out  room for kFilteredUnits
size_t filter_array(const CompactBlock& array, const CompactBlock& other, bool members, const CompactKernel& kernel,
                    uint16_t* out);

/// The runs that sweep() would have to read: no more than the elements.
uint32_t swept(const CompactBlock& block);

/// Combines arrays and runs as runs. @param out  room for kFewRuns + 1, if no more are swept @return how many
size_t sweep(const CompactBlock& a, const CompactBlock& b, SetCombination operation, BlockRun* out);

/// Writes a block into 1,024 words. @param words  any content
void expand_block(const CompactBlock& block, const CompactKernel& kernel, uint64_t* words);

/// The 1,024 words of a block: those of a bitmap where they lie, at any alignment, and of other kinds in `words`.
const std::byte* words_of_block(const CompactBlock& block, const CompactKernel& kernel, uint64_t* words);

/// Changes 1,024 words by the elements of a block. An intersection is only with a bitmap or runs.
void change_words(SetCombination operation, const CompactBlock& block, uint64_t* words);

}  // namespace batmap
