// Text forms of a set. {1,5,9} is read and written. The compact form, `b1:` and base64 of the binary form, and a JSON array,
// [1,5,9], are read. Cost: linear, and sorting where the text is not sorted. Source: ours.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "core/options.h"
#include "set/set_format.h"

namespace batmap {

/// Reads any of the forms into `elements`, whose old content is dropped; they are ascending and distinct
/// afterwards. White space may stand where an array may have it. Elements may be in any order, and duplicates
/// collapse. NULL and negative numbers are errors. The compact form is validated in full.
/// @return the width of a value in compact form, nothing for a list
/// @throws Error{kInvalidData} for another text; Error{kInvalidParameter} for an element outside 0 .. 2^62 - 1;
///         Error{kMemoryLimit, kCancelled}
std::optional<int> parse_set_text(std::string_view text, GrowingBuffer<uint64_t>& elements, const ExecutionOptions& options);

/// Appends {1,5,9}, without a terminating zero. @param elements  in the order in which they are printed
void print_set_text(std::span<const uint64_t> elements, GrowingBuffer<char>& out, const CancelToken& cancel = {});

}  // namespace batmap
