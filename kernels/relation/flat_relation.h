// A whole relation in one piece of bytes: the value of the SQL type batmap_relation, and the state of the
// aggregates that build it. Sealed chunks, then up to 4,096 pairs not yet packed, then room to grow.
//
//   offset  0  uint8   version       1
//           1  uint8   zero x 3
//           4  uint32  open_rows     pairs after the chunks, not yet packed: 0 .. 4095
//           8  uint64  sealed_bytes  bytes of the chunks
//          16  uint64  sealed_rows   pairs in the chunks, duplicates included
//          24  int64   carried       a number of the aggregate: the threshold of batmap_pairs_agg, the transactions so
//                                    far of batmap_pair_counts_agg over sets; 0 elsewhere
//          32  chunks, then the open pairs as (int64 tid, int64 item); bytes after that are room, not data
//
// A finished value has no open pairs and no room. Duplicates stay until the relation is encoded: merging is
// concatenation. Source: ours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "core/options.h"
#include "relation/chunk.h"

namespace batmap {

inline constexpr size_t kFlatHeaderBytes = 32;

struct FlatHeader {
  uint8_t version;
  uint8_t zero[3];
  uint32_t open_rows;
  uint64_t sealed_bytes;
  uint64_t sealed_rows;
  int64_t carried;

  /// Pairs in chunks and open together.
  uint64_t rows() const { return sealed_rows + open_rows; }
};
static_assert(sizeof(FlatHeader) == kFlatHeaderBytes);

inline FlatHeader flat_header(const std::byte* bytes) {
  FlatHeader header;
  std::memcpy(&header, bytes, sizeof header);
  return header;
}
inline void set_flat_header(std::byte* bytes, const FlatHeader& header) { std::memcpy(bytes, &header, sizeof header); }

/// Bytes of header and data, without room.
inline size_t flat_used(const FlatHeader& header) {
  return kFlatHeaderBytes + header.sealed_bytes + size_t{header.open_rows} * sizeof(Pair);
}

/// Writes an empty relation. @param bytes at least kFlatHeaderBytes
void flat_init(std::byte* bytes);

/// Packing can take this much more than the raw pairs did: a chunk header and the padding of two columns.
inline constexpr size_t kFlatSlack = kChunkHeaderBytes + 16;

/// Appends one pair where there is room for it; packs the open pairs when 4,096 are there.
/// @param capacity  bytes at `bytes`; the call needs flat_used + sizeof(Pair) + kFlatSlack
/// @return false, and nothing done, when the room is too small
inline bool flat_append(std::byte* bytes, size_t capacity, Pair pair);

/// Packs the open pairs, in place. Needs kFlatSlack of room.
void flat_seal(std::byte* bytes);

/// Capacity with which flat_merge(bytes of `header`, other) cannot fail.
size_t flat_merged_capacity(const FlatHeader& header, const std::byte* other);

/// Appends the data of `other` to `bytes`: chunks of 1,024 pairs and more as they are, the pairs of smaller ones
/// one by one, so that merging many small relations leaves no trail of tiny chunks. The larger number carried is kept.
/// @param capacity   bytes at `bytes`, at least flat_merged_capacity
/// @param tid_shift  added to the tids of `other`
/// @throws Error{kCancelled}, `bytes` then in an unspecified state
void flat_merge(std::byte* bytes, size_t capacity, const std::byte* other, const CancelToken& cancel, int64_t tid_shift = 0);

/// Capacity with which flat_finish cannot fail.
inline size_t flat_finished_capacity(const FlatHeader& state) { return flat_used(state) + kFlatSlack; }

/// Writes the finished form of `state` (sealed, without room). @param out flat_finished_capacity; may not overlap
/// @return bytes written
size_t flat_finish(const std::byte* state, std::byte* out);

/// The chunks of a finished relation.
std::vector<ChunkView> flat_chunks(const std::byte* bytes);

/// Whether the header agrees with itself and with the size, room behind the data included. Constant time: what the chunks
/// hold is not looked at.
bool is_flat_relation(std::span<const std::byte> bytes);

/// Checks bytes from outside in full. @throws Error{kInvalidData} unless they are a finished relation
void flat_validate(std::span<const std::byte> bytes);

inline bool flat_append(std::byte* bytes, size_t capacity, Pair pair) {
  // Called for every row of an aggregate: touches two fields of the header and no more.
  uint32_t open_rows;
  uint64_t sealed_bytes;
  std::memcpy(&open_rows, bytes + offsetof(FlatHeader, open_rows), sizeof open_rows);
  std::memcpy(&sealed_bytes, bytes + offsetof(FlatHeader, sealed_bytes), sizeof sealed_bytes);
  const size_t used = kFlatHeaderBytes + sealed_bytes + open_rows * sizeof(Pair);
  if (capacity < used + sizeof(Pair) + kFlatSlack) return false;
  std::memcpy(bytes + used, &pair, sizeof pair);
  ++open_rows;
  std::memcpy(bytes + offsetof(FlatHeader, open_rows), &open_rows, sizeof open_rows);
  if (open_rows == kChunkRows) flat_seal(bytes);
  return true;
}

}  // namespace batmap
