// Sorts 64-bit elements: std::sort for few, a radix sort of 11 bits a digit for many. Source: standard.
#pragma once

#include <cstdint>
#include <span>

#include "core/options.h"

namespace batmap {

/// Sorts ascending, in place; from 1,024 elements up by radix sort with scratch of the same size.
/// @throws Error{kMemoryLimit}; Error{kCancelled}, which may leave elements missing or repeated
void sort_elements(std::span<uint64_t> elements, const ExecutionOptions& options);

/// How many elements at the front are ascending and distinct; all, if none is out of place. @throws Error{kCancelled}
size_t ascending_front(std::span<const uint64_t> elements, const CancelToken& cancel);

/// Sorts ascending and drops duplicates. Input that is so already costs one pass, and sorted input two.
void sort_distinct(GrowingBuffer<uint64_t>& elements, const ExecutionOptions& options);

}  // namespace batmap
