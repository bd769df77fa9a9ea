// Text forms of a set. Read and written: {1,5,9}. Read as well: `b1:` and base64 of the binary form.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "core/options.h"
#include "set/set_format.h"

namespace batmap {

/// Reads either form: appends nothing but replaces the content of `elements`, ascending and distinct.
/// White space may stand where an array may have it; order does not matter, duplicates collapse; NULL and negative
/// numbers are errors. The compact form is validated in full.
/// @return the width of a value in compact form, nothing for {...}
/// @throws Error{kInvalidData} not such a text; Error{kInvalidParameter} an element outside 0 .. 2^62 - 1;
///         Error{kMemoryLimit}, Error{kCancelled}
std::optional<int> parse_set_text(std::string_view text, GrowingBuffer<uint64_t>& elements, const ExecutionOptions& options);

/// Appends {1,5,9}, without a final zero. @param elements in the order in which they are to stand
void print_set_text(std::span<const uint64_t> elements, GrowingBuffer<char>& out, const CancelToken& cancel = {});

/// Appends b1:... of a whole stored value.
void print_compact_set_text(std::span<const std::byte> bytes, GrowingBuffer<char>& out, const CancelToken& cancel = {});

}  // namespace batmap
