// Reads and writes portable Roaring bytes: the 32-bit form of the public RoaringFormatSpec (array, bitset and
// run containers, with and without offset header), and the 64-bit form (a u64 count, then for each bitmap its
// u32 high half and a 32-bit bitmap). Bytes from outside are checked in full: truncated, unsorted,
// overlapping or inconsistent content is an error, never a crash. Blocks of a compact set are containers in all but the
// ends of runs, so both ways copy block by block.
#pragma once

#include <span>

#include "compact/compact_writer.h"
#include "core/options.h"

namespace batmap {

enum class RoaringForm { k32, k64 };

/// Appends the containers to a set.
/// @throws Error{kInvalidData}; Error{kInvalidParameter} for an element of 2^62 or more;
/// Error{kMemoryLimit, kCancelled}
void read_roaring(std::span<const std::byte> bytes, RoaringForm form, const CompactKernel& kernel, CompactWriter& out,
                  const ExecutionOptions& options);

/// Appends the bytes: arrays up to 4,096 elements, bitsets above, runs where they take fewer bytes than either.
/// @throws Error{kInvalidParameter} for an element of 2^32 or more in the 32-bit form; Error{kMemoryLimit, kCancelled}
void write_roaring(const CompactView& set, RoaringForm form, GrowingBuffer<std::byte>& out, const ExecutionOptions& options);

}  // namespace batmap
