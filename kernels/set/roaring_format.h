// Reads and writes portable Roaring bytes: the 32-bit form of the public RoaringFormatSpec (array, bitset and
// run containers, with and without offset header), and the 64-bit form (a u64 count, then for each bitmap its
// u32 high half and a 32-bit bitmap). Bytes from outside are checked in full: truncated, unsorted,
// overlapping or inconsistent content is an error, never a crash.
#pragma once

#include <span>

#include "core/options.h"

namespace batmap {

enum class RoaringForm { k32, k64 };

/// Appends the elements, ascending.
/// @throws Error{kInvalidData}; Error{kInvalidParameter} for an element of 2^62 or more;
/// Error{kMemoryLimit, kCancelled}
void read_roaring(std::span<const std::byte> bytes, RoaringForm form, GrowingBuffer<uint64_t>& out,
                  const ExecutionOptions& options);

/// Appends the bytes: arrays up to 4,096 elements, bitsets above, runs where they take fewer bytes than either.
/// @param elements  ascending and distinct
/// @throws Error{kInvalidParameter} for an element of 2^32 or more in the 32-bit form; Error{kMemoryLimit, kCancelled}
void write_roaring(std::span<const uint64_t> elements, RoaringForm form, GrowingBuffer<std::byte>& out,
                   const ExecutionOptions& options);

}  // namespace batmap
