// State of the aggregates over sets, in one flat block of bytes that the caller grows: the value of the SQL
// type batmap_state. Elements are appended as they come. Compacting sorts them in place and keeps each once;
// for a symmetric difference it keeps those that occur an odd number of times. An intersection is always
// sorted and only shrinks.
//
//   offset  0  uint8   version  1
//           1  uint8   kind     StateKind
//           2  uint8   width    of the result, 0 .. 62; 255: as narrow as the elements allow
//           3  uint8   zero
//           4  uint32  count    elements, duplicates included
//           8  uint32  sorted   1: strictly ascending, 0: any order
//          12  uint64  elements; bytes behind the last are room, not data
//
// `bytes` must lie at 4 modulo 8, as the data of a 4-byte varlena does, so that the elements are aligned.
// Cost: 8 bytes and one store an element; when the room is used up, a radix sort from the highest byte (about
// 20 ns an element). Source: ours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "core/memory.h"
#include "core/options.h"

namespace batmap {

enum class StateKind : uint8_t { kUnion = 1, kIntersection = 2, kSymmetricDifference = 3 };

inline constexpr uint8_t kUndeclaredWidth = 255;
inline constexpr size_t kStateHeaderBytes = 12;

struct StateHeader {
  uint8_t version;
  StateKind kind;
  uint8_t width;
  uint8_t zero;
  uint32_t count;
  uint32_t sorted;
};
static_assert(sizeof(StateHeader) == kStateHeaderBytes);

inline StateHeader state_header(const std::byte* bytes) {
  StateHeader header;
  std::memcpy(&header, bytes, sizeof header);
  return header;
}
inline void set_state_header(std::byte* bytes, const StateHeader& header) { std::memcpy(bytes, &header, sizeof header); }

/// Bytes of header and elements, without the room.
inline size_t state_used(const StateHeader& header) { return kStateHeaderBytes + size_t{header.count} * sizeof(uint64_t); }
/// Bytes of a state with this many elements.
inline size_t state_bytes(size_t elements) { return kStateHeaderBytes + elements * sizeof(uint64_t); }

inline std::span<const uint64_t> state_elements(const std::byte* bytes) {
  return {reinterpret_cast<const uint64_t*>(bytes + kStateHeaderBytes), state_header(bytes).count};
}
inline std::span<uint64_t> state_elements(std::byte* bytes) {
  return {reinterpret_cast<uint64_t*>(bytes + kStateHeaderBytes), state_header(bytes).count};
}

/// Writes a state without elements. @param bytes  at least kStateHeaderBytes
void state_init(std::byte* bytes, StateKind kind, uint8_t width);

/// Appends one element if there is room for it. Not for intersections.
/// @return false if the room is too small; then nothing is changed
inline bool state_append(std::byte* bytes, size_t capacity, uint64_t element);

/// Appends the elements of a set, ascending and distinct, if there is room for all. Not for intersections.
/// @return false if the room is too small; then nothing is changed
bool state_append(std::byte* bytes, size_t capacity, std::span<const uint64_t> elements);

/// Copies a set, ascending and distinct, into a state without elements. This is how an intersection begins.
void state_assign(std::byte* bytes, size_t capacity, std::span<const uint64_t> elements);

/// Sorts the elements in place and keeps each once; for a symmetric difference, those that occur
/// an odd number of times.
/// @throws Error{kCancelled}; the elements are then in an unspecified order
void state_compact(std::byte* bytes, const CancelToken& cancel);

/// Keeps the elements that are also in `elements`, which are ascending and distinct. For intersections.
void state_intersect(std::byte* bytes, std::span<const uint64_t> elements);

/// Keeps the first `count` elements, for a caller that has moved the kept ones there in their order. For intersections.
void state_truncate(std::byte* bytes, size_t count);

/// Merges a state of the same kind into `bytes`. The larger width is kept.
/// @return false if the room is too small; then nothing is changed (never for intersections)
bool state_merge(std::byte* bytes, size_t capacity, const std::byte* other);

/// Appends the elements of the set to `out`, ascending and distinct. Does not change the state.
/// @throws Error{kMemoryLimit, kCancelled}
void state_finish(const std::byte* bytes, GrowingBuffer<uint64_t>& out, const CancelToken& cancel);

/// Whether the header is consistent with itself and with the size, room included. Constant time.
bool is_set_state(std::span<const std::byte> bytes);

/// Checks untrusted bytes in full. @throws Error{kInvalidData} unless they are a state without room
void state_validate(std::span<const std::byte> bytes);

/// Sorts in place, byte by byte from the highest that differs. @throws Error{kCancelled}
void sort_in_place(std::span<uint64_t> elements, const CancelToken& cancel);

inline bool state_append(std::byte* bytes, size_t capacity, uint64_t element) {
  StateHeader header = state_header(bytes);
  if (capacity < state_used(header) + sizeof element) return false;
  auto* const elements = reinterpret_cast<uint64_t*>(bytes + kStateHeaderBytes);
  if (header.count != 0 && element <= elements[header.count - 1]) {
    if (element == elements[header.count - 1] && header.kind == StateKind::kUnion) return true;
    header.sorted = 0;
  }
  elements[header.count++] = element;
  set_state_header(bytes, header);
  return true;
}

}  // namespace batmap
