// Frame-of-reference chunks of (tid, item) pairs. See chunk.h for the bytes.
#include "relation/chunk.h"

#include <algorithm>
#include <string>

#include "core/error.h"

namespace batmap {

namespace {

constexpr size_t padded(size_t bytes) { return (bytes + 7) & ~size_t{7}; }

template <typename T>
void store(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

template <typename T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

/// value - base, for value >= base; exact over the whole int64 range.
uint64_t distance(int64_t base, int64_t value) { return static_cast<uint64_t>(value) - static_cast<uint64_t>(base); }

template <typename Narrow, int64_t TidItem::*kColumn>
void write_offsets(std::span<const TidItem> pairs, int64_t base, std::byte* out) {
  for (size_t k = 0; k < pairs.size(); ++k)
    store(out + k * sizeof(Narrow), static_cast<Narrow>(distance(base, pairs[k].*kColumn)));
}

/// @return bytes written, padding included
template <int64_t TidItem::*kColumn>
size_t write_column(std::span<const TidItem> pairs, int64_t base, uint64_t range, std::byte* out) {
  const size_t width = offset_width(range);
  switch (width) {
    case 0: break;
    case 1: write_offsets<uint8_t, kColumn>(pairs, base, out); break;
    case 2: write_offsets<uint16_t, kColumn>(pairs, base, out); break;
    case 4: write_offsets<uint32_t, kColumn>(pairs, base, out); break;
    default: write_offsets<uint64_t, kColumn>(pairs, base, out); break;
  }
  const size_t used = pairs.size() * width;
  std::memset(out + used, 0, padded(used) - used);
  return padded(used);
}

[[noreturn]] void invalid(const char* what) {
  throw Error(ErrorCode::kInvalidData, std::string("invalid relation: ") + what);
}

/// That both ends of the range occur, and the padding is zero. read_stored_chunk() has seen that no offset is beyond the range.
void check_column(const std::byte* column, uint64_t range, uint32_t rows, const char* what) {
  bool zero_seen = false;
  bool range_seen = false;
  uint64_t offsets[256];
  const size_t width = offset_width(range);
  for (uint32_t from = 0; from < rows; from += 256) {
    const uint32_t count = std::min<uint32_t>(256, rows - from);
    decode_offsets(column + from * width, range, count, 0, offsets);
    for (uint32_t k = 0; k < count; ++k) {
      zero_seen |= offsets[k] == 0;
      range_seen |= offsets[k] == range;
    }
  }
  if (!zero_seen || !range_seen) invalid(what);
  for (size_t at = rows * width; at < padded(rows * width); ++at)
    if (column[at] != std::byte{0}) invalid("padding is not zero");
}

/// Of a column with this range. Parts of a known length become vector instructions.
uint64_t largest_offset(const std::byte* column, uint64_t range, uint32_t rows) {
  const auto largest = [&]<typename Offset>(Offset) -> uint64_t {
    constexpr uint32_t kPart = 128;
    Offset found = 0;
    Offset part[kPart];
    uint32_t k = 0;
    for (; k + kPart <= rows; k += kPart) {
      std::memcpy(part, column + k * sizeof(Offset), sizeof part);
      for (uint32_t i = 0; i < kPart; ++i) found = std::max(found, part[i]);
    }
    for (; k < rows; ++k) found = std::max(found, load<Offset>(column + k * sizeof(Offset)));
    return found;
  };
  switch (offset_width(range)) {
    case 0: return 0;
    case 1: return largest(uint8_t{});
    case 2: return largest(uint16_t{});
    case 4: return largest(uint32_t{});
    default: return largest(uint64_t{});
  }
}

}  // namespace

size_t write_chunk(std::span<const TidItem> pairs, std::byte* out) {
  int64_t tid_min = pairs[0].tid, tid_max = tid_min;
  int64_t item_min = pairs[0].item, item_max = item_min;
  for (const TidItem& pair : pairs) {
    tid_min = std::min(tid_min, pair.tid);
    tid_max = std::max(tid_max, pair.tid);
    item_min = std::min(item_min, pair.item);
    item_max = std::max(item_max, pair.item);
  }
  const uint64_t tid_range = distance(tid_min, tid_max);
  const uint64_t item_range = distance(item_min, item_max);
  store(out, tid_min);
  store(out + 8, item_min);
  store(out + 16, tid_range);
  store(out + 24, item_range);
  store(out + 32, static_cast<uint32_t>(pairs.size()));
  store(out + 36, uint32_t{0});
  size_t at = kChunkHeaderBytes;
  at += write_column<&TidItem::tid>(pairs, tid_min, tid_range, out + at);
  at += write_column<&TidItem::item>(pairs, item_min, item_range, out + at);
  return at;
}

ChunkView read_chunk(const std::byte* bytes) {
  ChunkView chunk;
  chunk.tid_base = load<int64_t>(bytes);
  chunk.item_base = load<int64_t>(bytes + 8);
  chunk.tid_range = load<uint64_t>(bytes + 16);
  chunk.item_range = load<uint64_t>(bytes + 24);
  chunk.rows = load<uint32_t>(bytes + 32);
  chunk.tids = bytes + kChunkHeaderBytes;
  chunk.items = chunk.tids + padded(chunk.rows * offset_width(chunk.tid_range));
  chunk.bytes = static_cast<size_t>(chunk.items - bytes) + padded(chunk.rows * offset_width(chunk.item_range));
  return chunk;
}

ChunkView read_stored_chunk(std::span<const std::byte> bytes) {
  if (bytes.size() < kChunkHeaderBytes) invalid("chunk header is cut off");
  const ChunkView chunk = read_chunk(bytes.data());
  if (chunk.rows == 0 || chunk.rows > kChunkRows) invalid("rows of a chunk out of range");
  if (chunk.bytes > bytes.size()) invalid("chunk is cut off");
  if (chunk.tid_range > distance(chunk.tid_base, INT64_MAX) || chunk.item_range > distance(chunk.item_base, INT64_MAX))
    invalid("range of a chunk overflows");
  if (largest_offset(chunk.tids, chunk.tid_range, chunk.rows) > chunk.tid_range)
    invalid("tid outside the range of its chunk");
  if (largest_offset(chunk.items, chunk.item_range, chunk.rows) > chunk.item_range)
    invalid("item outside the range of its chunk");
  return chunk;
}

ChunkView read_chunk_checked(std::span<const std::byte> bytes) {
  const ChunkView chunk = read_stored_chunk(bytes);
  if (load<uint32_t>(bytes.data() + 36) != 0) invalid("reserved bytes are not zero");
  check_column(chunk.tids, chunk.tid_range, chunk.rows, "tid outside the range of its chunk");
  check_column(chunk.items, chunk.item_range, chunk.rows, "item outside the range of its chunk");
  return chunk;
}

void decode_chunk(const ChunkView& chunk, TidItem* out) {
  uint64_t values[kChunkRows];
  decode_offsets(chunk.tids, chunk.tid_range, chunk.rows, static_cast<uint64_t>(chunk.tid_base), values);
  for (uint32_t k = 0; k < chunk.rows; ++k) out[k].tid = static_cast<int64_t>(values[k]);
  decode_offsets(chunk.items, chunk.item_range, chunk.rows, static_cast<uint64_t>(chunk.item_base), values);
  for (uint32_t k = 0; k < chunk.rows; ++k) out[k].item = static_cast<int64_t>(values[k]);
}

}  // namespace batmap
