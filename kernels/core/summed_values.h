// Values that add up, as bytes: a state is a value with further values behind it, which are added when somebody asks. The header of
// such a value says how many bytes it has and how many lie behind it. Cost of adding n values: each takes part in log2(n) additions.
// Source: ours.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

#include "core/memory.h"
#include "core/options.h"

namespace batmap {

template <typename Header>
Header header_of(const std::byte* bytes) {
  Header header;
  std::memcpy(&header, bytes, sizeof header);
  return header;
}

/// Puts `other` and what lies behind it behind the last value of a state, which has room for it.
template <typename Header>
void append_summed(std::byte* state, const std::byte* other) {
  Header header = header_of<Header>(state);
  Header first = header_of<Header>(other);
  std::byte* const end = state + header.used();
  std::memcpy(end, other, first.used());
  header.behind += first.used();
  std::memcpy(state, &header, sizeof header);
  first.behind = 0;
  std::memcpy(end, &first, sizeof first);
}

/// The single values of states, in their order.
template <typename Header>
std::vector<const std::byte*> single_values(std::span<const std::byte* const> states) {
  std::vector<const std::byte*> values;
  for (const std::byte* value : states) {
    const std::byte* const end = value + header_of<Header>(value).used();
    for (; value < end; value += header_of<Header>(value).bytes) values.push_back(value);
  }
  return values;
}

/// @param add_two  (x, y, out, options): appends the sum of two values
/// @return one of `values`, or bytes in `storage`
template <typename AddTwo>
const std::byte* add_by_halves(std::span<const std::byte* const> values, GrowingBuffer<std::byte>& storage,
                               const ExecutionOptions& options, const AddTwo& add_two) {
  if (values.size() == 1) return values[0];
  const size_t half = values.size() / 2;
  GrowingBuffer<std::byte> left(*options.memory);
  GrowingBuffer<std::byte> right(*options.memory);
  const std::byte* const x = add_by_halves(values.first(half), left, options, add_two);
  const std::byte* const y = add_by_halves(values.subspan(half), right, options, add_two);
  add_two(x, y, storage, options);
  return storage.begin();
}

/// Appends the sum of single values, of which there is one at least. @param add_two  as above
template <typename Header, typename AddTwo>
void add_summed(std::span<const std::byte* const> values, GrowingBuffer<std::byte>& out, const ExecutionOptions& options,
                const AddTwo& add_two) {
  if (values.size() > 1) {
    // The first value may be much longer than all others, so these are added to each other first.
    GrowingBuffer<std::byte> storage(*options.memory);
    add_two(values[0], add_by_halves(values.subspan(1), storage, options, add_two), out, options);
    return;
  }
  Header header = header_of<Header>(values[0]);
  header.behind = 0;
  std::byte* const copy = out.room(header.bytes);
  std::memcpy(copy, values[0], header.bytes);
  std::memcpy(copy, &header, sizeof header);
  out.add(header.bytes);
}

}  // namespace batmap
