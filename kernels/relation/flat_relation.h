// A whole relation in one block of bytes: the value of the SQL type batmap_relation, and the state of the aggregates
// that build it. It has sealed chunks, then up to 4,095 open pairs that are not yet packed, then room to grow.
//
//   offset  0  uint8   version       1
//           1  uint8   zero x 3
//           4  uint32  open_rows     pairs behind the chunks, not yet packed: 0 .. 4095
//           8  uint64  sealed_bytes  bytes of the chunks
//          16  uint64  sealed_rows   pairs in the chunks, duplicates included
//          24  int64   carried       a number of the aggregate: the threshold of batmap_pairs_agg; threshold and longest
//                                    length of batmap_itemsets_agg; for sets in batmap_pair_counts_agg, the number of
//                                    transactions so far; else 0
//          32  chunks, then the open pairs as (int64 tid, int64 item); bytes behind these are room, not data
//
// A finished value has no open pairs and no room. Duplicates stay in, so merging is concatenation. Cost:
// appending is a store, and one packing pass every 4,096 pairs. Source: ours.
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

  /// Pairs in chunks and open pairs together.
  uint64_t rows() const { return sealed_rows + open_rows; }
};
static_assert(sizeof(FlatHeader) == kFlatHeaderBytes);

inline FlatHeader flat_header(const std::byte* bytes) {
  FlatHeader header;
  std::memcpy(&header, bytes, sizeof header);
  return header;
}
inline void set_flat_header(std::byte* bytes, const FlatHeader& header) { std::memcpy(bytes, &header, sizeof header); }

/// Bytes of header and data, without the room.
inline size_t flat_used(const FlatHeader& header) {
  return kFlatHeaderBytes + header.sealed_bytes + size_t{header.open_rows} * sizeof(TidItem);
}

/// Writes an empty relation. @param bytes at least kFlatHeaderBytes
void flat_init(std::byte* bytes);

/// Packing pairs can add at most this to their raw bytes: a chunk header and the padding of two columns.
inline constexpr size_t kFlatSlack = kChunkHeaderBytes + 16;

/// Appends one pair if there is room for it. Packs the open pairs when there are 4,096.
/// @param capacity  bytes at `bytes`; the call needs flat_used + sizeof(TidItem) + kFlatSlack of them
/// @return false if the room is too small; then nothing is changed
inline bool flat_append(std::byte* bytes, size_t capacity, TidItem pair);

/// Packs the open pairs in place. Needs kFlatSlack bytes of room.
void flat_seal(std::byte* bytes);

/// A capacity with which flat_merge() into the relation of `header` cannot fail.
size_t flat_merged_capacity(const FlatHeader& header, const std::byte* other);

/// Appends the data of `other` to `bytes`. Chunks of 1,024 pairs and more are copied; the pairs of smaller
/// ones are appended one by one, so that merging many small relations does not leave many tiny chunks. The
/// larger `carried` is kept.
/// @param capacity   bytes at `bytes`, at least flat_merged_capacity
/// @param tid_shift  added to the tids of `other`
/// @throws Error{kCancelled}; `bytes` is then in an unspecified state
void flat_merge(std::byte* bytes, size_t capacity, const std::byte* other, const CancelToken& cancel, int64_t tid_shift = 0);

/// A capacity with which flat_finish() cannot fail.
inline size_t flat_finished_capacity(const FlatHeader& state) { return flat_used(state) + kFlatSlack; }

/// Writes the finished form of `state`: sealed, without room.
/// @param out  flat_finished_capacity bytes; must not overlap `state`
/// @return bytes written
size_t flat_finish(const std::byte* state, std::byte* out);

/// The chunks of a finished relation.
std::vector<ChunkView> flat_chunks(const std::byte* bytes);

/// Whether the header is consistent with itself and with the size, room included. Constant time: the contents
/// of the chunks are not checked.
bool is_flat_relation(std::span<const std::byte> bytes);
/// The same where the first byte is not the version of a relation: a state of an aggregate, which has its own.
bool is_flat_relation_within(std::span<const std::byte> bytes, uint8_t version);

/// Checks untrusted bytes in full. @throws Error{kInvalidData} unless they are a finished relation
void flat_validate(std::span<const std::byte> bytes);

inline bool flat_append(std::byte* bytes, size_t capacity, TidItem pair) {
  // Called for every row of an aggregate, so it reads and writes only two fields of the header.
  uint32_t open_rows;
  uint64_t sealed_bytes;
  std::memcpy(&open_rows, bytes + offsetof(FlatHeader, open_rows), sizeof open_rows);
  std::memcpy(&sealed_bytes, bytes + offsetof(FlatHeader, sealed_bytes), sizeof sealed_bytes);
  const size_t used = kFlatHeaderBytes + sealed_bytes + open_rows * sizeof(TidItem);
  if (capacity < used + sizeof(TidItem) + kFlatSlack) return false;
  std::memcpy(bytes + used, &pair, sizeof pair);
  ++open_rows;
  std::memcpy(bytes + offsetof(FlatHeader, open_rows), &open_rows, sizeof open_rows);
  if (open_rows == kChunkRows) flat_seal(bytes);
  return true;
}

}  // namespace batmap
