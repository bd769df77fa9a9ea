// State of the aggregates over sets, in one flat block of bytes that the caller grows: the value of the SQL type
// batmap_state. It has the set so far in compact form, and elements that are yet to be merged into it, as they came. An
// intersection has no such elements.
//
//   offset  0  uint8   version  2
//           1  uint8   kind     StateKind
//           2  uint8   width    of a declared universe, 0 .. 62; 255: none
//           3  uint8   zero
//           4  uint32  compact  bytes of the set so far; 0: no set yet, which is empty but for an intersection
//           8  uint32  pending  number of elements to merge
//          12          the compact set, padded with zeros to a multiple of 8 bytes
//                      the elements, uint64 each, in any order; bytes behind the last are room, not data
//
// `bytes` must lie at 4 modulo 8, as the data of a 4-byte varlena does, so that the elements are aligned.
// Cost: 8 bytes and one store an element; merging sorts them, and copies the set so far. Source: ours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "compact/compact_operations.h"
#include "core/memory.h"
#include "core/options.h"

namespace batmap {

enum class StateKind : uint8_t { kUnion = 1, kIntersection = 2, kSymmetricDifference = 3 };

/// What a state of this kind does with one more set.
SetCombination operation_of(StateKind kind);

inline constexpr uint8_t kUndeclaredWidth = 255;
inline constexpr size_t kStateHeaderBytes = 12;

struct StateHeader {
  uint8_t version;
  StateKind kind;
  uint8_t width;
  uint8_t zero;
  uint32_t compact;
  uint32_t pending;
};
static_assert(sizeof(StateHeader) == kStateHeaderBytes);

/// Read in the two parts that state_append() leaves: a load across them would wait for its store.
inline StateHeader state_header(const std::byte* bytes) {
  const auto kinds = load_le<uint32_t>(bytes);
  const auto sizes = load_le<uint64_t>(bytes + offsetof(StateHeader, compact));
  return {static_cast<uint8_t>(kinds),       static_cast<StateKind>(kinds >> 8 & 0xff),
          static_cast<uint8_t>(kinds >> 16), static_cast<uint8_t>(kinds >> 24),
          static_cast<uint32_t>(sizes),      static_cast<uint32_t>(sizes >> 32)};
}
inline void set_state_header(std::byte* bytes, const StateHeader& header) { std::memcpy(bytes, &header, sizeof header); }

/// Bytes of a state with a compact set of `compact` bytes and this many pending elements.
inline size_t state_bytes(size_t compact, size_t pending) {
  return kStateHeaderBytes + (compact + 7) / 8 * 8 + pending * sizeof(uint64_t);
}
/// Bytes of header, set and elements, without the room.
inline size_t state_used(const StateHeader& header) { return state_bytes(header.compact, header.pending); }

inline std::span<const std::byte> state_compact(const std::byte* bytes) {
  return {bytes + kStateHeaderBytes, state_header(bytes).compact};
}
inline std::span<const uint64_t> state_pending(const std::byte* bytes) {
  const StateHeader header = state_header(bytes);
  return {reinterpret_cast<const uint64_t*>(bytes + state_bytes(header.compact, 0)), header.pending};
}

/// Writes a state without a set. @param bytes  at least kStateHeaderBytes
void state_init(std::byte* bytes, StateKind kind, uint8_t width);

/// Adds one element if there is room for it. Not for intersections.
/// @return false if the room is too small; then nothing is changed
inline bool state_append(std::byte* bytes, size_t capacity, uint64_t element);

/// Adds elements if there is room for all. Not for intersections.
/// @return false if the room is too small; then nothing is changed
bool state_append(std::byte* bytes, size_t capacity, std::span<const uint64_t> elements);

/// Computes the set of a state. Replaces what `out` has. Does not change the state.
/// @throws Error{kInvalidData} if the compact set has no consistent header; Error{kMemoryLimit, kCancelled, kTooLarge}
void state_result(const std::byte* bytes, const CompactKernel& kernel, CompactWriter& out, const ExecutionOptions& options);

/// The set of a state: where it lies if nothing is pending, otherwise in `room`. Replaces what `out` and `room` have.
/// @throws  as state_result()
CompactView state_set(const std::byte* bytes, const CompactKernel& kernel, CompactWriter& out,
                      GrowingBuffer<std::byte>& room, const ExecutionOptions& options);

/// Computes the set of a state that one more set has joined. Replaces what `out` has. Does not change the state.
/// @throws  as state_result()
void state_combine(const std::byte* bytes, const CompactView& set, const CompactKernel& kernel, CompactWriter& out,
                   const ExecutionOptions& options);

/// Makes `set` the set of the state, without pending elements. @param bytes  room for state_bytes(set.bytes(), 0)
void state_assign(std::byte* bytes, const CompactWriter& set);
/// The same for the bytes of a compact set.
void state_assign(std::byte* bytes, std::span<const std::byte> set);

/// Whether the header is consistent with itself and with the size, room included. Constant time.
bool is_set_state(std::span<const std::byte> bytes);

/// Checks untrusted bytes in full. @throws Error{kInvalidData} unless they are a state without room; Error{kCancelled}
void state_validate(std::span<const std::byte> bytes, const CancelToken& cancel = {});

inline bool state_append(std::byte* bytes, size_t capacity, uint64_t element) {
  // Both sizes as one number, read and written whole: the next element waits for it.
  constexpr size_t kSizes = offsetof(StateHeader, compact);
  static_assert(kSizes == 4 && offsetof(StateHeader, pending) == 8);
  const auto sizes = load_le<uint64_t>(bytes + kSizes);
  const size_t used = state_bytes(static_cast<uint32_t>(sizes), sizes >> 32);
  if (capacity < used + sizeof element) return false;
  std::memcpy(bytes + used, &element, sizeof element);
  store_le<uint64_t>(bytes + kSizes, sizes + (uint64_t{1} << 32));
  return true;
}

}  // namespace batmap
