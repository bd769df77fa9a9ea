// Sorts 64-bit elements: std::sort for few, a radix sort of 11 bits a digit for many. Source: standard.
#pragma once

#include <cstdint>
#include <span>

#include "core/options.h"

namespace batmap {

/// Sorts ascending, in place; from 1,024 elements up by radix sort with scratch of the same size.
/// @throws Error{kMemoryLimit}; Error{kCancelled}, which may leave elements missing or repeated
void sort_elements(std::span<uint64_t> elements, const ExecutionOptions& options);

/// Sorts ascending and drops duplicates. Sorted input costs two passes.
void sort_distinct(GrowingBuffer<uint64_t>& elements, const ExecutionOptions& options);

}  // namespace batmap
