// A chunk: up to 4,096 (tid, item) pairs. Each column is stored as unsigned offsets from its minimum, in the
// narrowest of 0, 1, 2, 4 or 8 bytes (frame of reference). Relations are appended, kept, merged and shipped
// in chunks. Rows that arrive by tid cost 3 to 4 bytes a pair, random ones 6, the worst case 16.
//
// Bytes, all little-endian, no alignment needed:
//
//   offset  0  int64   tid_base      smallest tid
//           8  int64   item_base     smallest item
//          16  uint64  tid_range     largest tid - tid_base
//          24  uint64  item_range    largest item - item_base
//          32  uint32  rows          1 .. 4096
//          36  uint32  zero
//          40  tid offsets           rows x width(tid_range), padded with zeros to a multiple of 8
//              item offsets          rows x width(item_range), padded likewise
//
// Source: ours (frame-of-reference coding is standard).
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace batmap {

static_assert(std::endian::native == std::endian::little, "stored bytes are little-endian");

inline constexpr uint32_t kChunkRows = 4096;
inline constexpr size_t kChunkHeaderBytes = 40;
inline constexpr size_t kChunkMaxBytes = kChunkHeaderBytes + kChunkRows * 16;

/// One row of a relation.
struct TidItem {
  int64_t tid;
  int64_t item;
};

struct ChunkView {
  int64_t tid_base;
  int64_t item_base;
  uint64_t tid_range;
  uint64_t item_range;
  uint32_t rows;
  const std::byte* tids;
  const std::byte* items;
  size_t bytes;  // of the whole chunk
};

/// The smallest and the largest key of a column over several chunks. Without chunks: low > high.
struct KeyBounds {
  int64_t low = INT64_MAX;
  int64_t high = INT64_MIN;

  void add(int64_t base, uint64_t range) {
    low = std::min(low, base);
    high = std::max(high, static_cast<int64_t>(static_cast<uint64_t>(base) + range));
  }
  uint64_t range() const { return static_cast<uint64_t>(high) - static_cast<uint64_t>(low); }
};

/// Bytes of one offset in a column with this range: 0, 1, 2, 4 or 8.
constexpr size_t offset_width(uint64_t range) {
  if (range == 0) return 0;
  if (range <= 0xff) return 1;
  if (range <= 0xffff) return 2;
  return range <= 0xffffffff ? 4 : 8;
}

/// Writes `pairs` (1 .. 4,096) as one chunk.
/// @param out  kChunkMaxBytes bytes, or 40 + 16 a pair; must not overlap `pairs`
/// @return bytes written
size_t write_chunk(std::span<const TidItem> pairs, std::byte* out);

/// A view of the chunk at the front of `bytes`, which must hold a valid chunk (see read_chunk_checked).
ChunkView read_chunk(const std::byte* bytes);

/// The same for stored bytes, which could be damaged: the view and its columns do not lead out of `bytes`, and no offset is beyond
/// its range. @throws Error{kInvalidData}
ChunkView read_stored_chunk(std::span<const std::byte> bytes);

/// The same for untrusted bytes.
/// @throws Error{kInvalidData} unless the chunk lies within `bytes` and all its fields are consistent
ChunkView read_chunk_checked(std::span<const std::byte> bytes);

/// Decodes one column: out[k] = shift + offset k, computed in unsigned 64 bits and truncated to T.
/// @param out  [rows]
template <typename T>
void decode_offsets(const std::byte* column, uint64_t range, uint32_t rows, uint64_t shift, T* out) {
  auto widen = [&]<typename Narrow>(Narrow) {
    for (uint32_t k = 0; k < rows; ++k) {
      Narrow offset;
      std::memcpy(&offset, column + k * sizeof(Narrow), sizeof(Narrow));
      out[k] = static_cast<T>(shift + offset);
    }
  };
  switch (offset_width(range)) {
    case 0:
      for (uint32_t k = 0; k < rows; ++k) out[k] = static_cast<T>(shift);
      break;
    case 1: widen(uint8_t{}); break;
    case 2: widen(uint16_t{}); break;
    case 4: widen(uint32_t{}); break;
    default: widen(uint64_t{}); break;
  }
}

/// Decodes all pairs of a chunk. @param out  [rows]
void decode_chunk(const ChunkView& chunk, TidItem* out);

}  // namespace batmap
