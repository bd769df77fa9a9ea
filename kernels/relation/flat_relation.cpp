// Appends to, merges, finishes and checks flat relations. See flat_relation.h for the bytes.
#include "relation/flat_relation.h"

#include <stdexcept>
#include <string>

#include "core/error.h"

namespace batmap {

namespace {

constexpr uint8_t kVersion = 1;
constexpr uint32_t kWorthKeeping = 1024;  // merging copies a chunk with this many pairs or more as it is

/// Packs `rows` (1 .. 4,096) raw pairs at `from` into a chunk at `to`. The two may overlap.
/// @return bytes of the chunk
size_t pack(const std::byte* from, uint32_t rows, std::byte* to) {
  TidItem pairs[kChunkRows];
  std::memcpy(pairs, from, rows * sizeof(TidItem));
  std::byte chunk[kChunkMaxBytes];
  const size_t bytes = write_chunk({pairs, rows}, chunk);
  std::memcpy(to, chunk, bytes);
  return bytes;
}

}  // namespace

void flat_init(std::byte* bytes) {
  FlatHeader header{};
  header.version = kVersion;
  set_flat_header(bytes, header);
}

void flat_seal(std::byte* bytes) {
  FlatHeader header = flat_header(bytes);
  if (header.open_rows == 0) return;
  std::byte* end = bytes + kFlatHeaderBytes + header.sealed_bytes;
  header.sealed_bytes += pack(end, header.open_rows, end);
  header.sealed_rows += header.open_rows;
  header.open_rows = 0;
  set_flat_header(bytes, header);
}

size_t flat_merged_capacity(const FlatHeader& header, const std::byte* other) {
  const FlatHeader more = flat_header(other);
  size_t bytes = flat_used(header) + flat_used(more) + (more.rows() / kChunkRows + 2) * kFlatSlack;
  for (const std::byte *at = other + kFlatHeaderBytes, *end = at + more.sealed_bytes; at < end;) {
    const ChunkView chunk = read_stored_chunk({at, end});
    if (chunk.rows < kWorthKeeping) bytes += chunk.rows * sizeof(TidItem) + kFlatSlack;
    at += chunk.bytes;
  }
  return bytes;
}

void flat_merge(std::byte* bytes, size_t capacity, const std::byte* other, const CancelToken& cancel, int64_t tid_shift) {
  const FlatHeader more = flat_header(other);
  FlatHeader header = flat_header(bytes);
  if (more.carried > header.carried) header.carried = more.carried;
  set_flat_header(bytes, header);

  auto shifted = [&](int64_t tid) {
    return static_cast<int64_t>(static_cast<uint64_t>(tid) + static_cast<uint64_t>(tid_shift));
  };
  auto append = [&](const TidItem* pairs, uint32_t count) {
    for (uint32_t k = 0; k < count; ++k)
      if (!flat_append(bytes, capacity, {shifted(pairs[k].tid), pairs[k].item}))
        throw std::logic_error("flat_merge: capacity too small");
  };
  TidItem pairs[kChunkRows];
  const std::byte* at = other + kFlatHeaderBytes;
  for (const std::byte* end = at + more.sealed_bytes; at < end;) {
    cancel.throw_if_requested();
    const ChunkView chunk = read_stored_chunk({at, end});
    if (chunk.rows < kWorthKeeping) {
      decode_chunk(chunk, pairs);
      append(pairs, chunk.rows);
    } else {
      header = flat_header(bytes);
      std::byte* open = bytes + kFlatHeaderBytes + header.sealed_bytes;
      std::memmove(open + chunk.bytes, open, header.open_rows * sizeof(TidItem));
      std::memcpy(open, at, chunk.bytes);
      const int64_t tid_base = shifted(chunk.tid_base);
      std::memcpy(open, &tid_base, sizeof tid_base);  // tid_base is the first field of a chunk
      header.sealed_bytes += chunk.bytes;
      header.sealed_rows += chunk.rows;
      set_flat_header(bytes, header);
    }
    at += chunk.bytes;
  }
  std::memcpy(pairs, at, more.open_rows * sizeof(TidItem));
  append(pairs, more.open_rows);
}

size_t flat_finish(const std::byte* state, std::byte* out) {
  const FlatHeader header = flat_header(state);
  std::memcpy(out, state, kFlatHeaderBytes + header.sealed_bytes);
  FlatHeader finished = header;
  finished.open_rows = 0;
  finished.sealed_rows = header.rows();
  if (header.open_rows > 0) {
    const size_t end = kFlatHeaderBytes + header.sealed_bytes;
    finished.sealed_bytes += pack(state + end, header.open_rows, out + end);
  }
  set_flat_header(out, finished);
  return flat_used(finished);
}

std::vector<ChunkView> flat_chunks(const std::byte* bytes) {
  const FlatHeader header = flat_header(bytes);
  std::vector<ChunkView> chunks;
  chunks.reserve(static_cast<size_t>(header.rows() / kChunkRows + 1));
  uint64_t rows = 0;
  const std::byte* at = bytes + kFlatHeaderBytes;
  const std::byte* end = at + header.sealed_bytes;
  while (at < end) {
    chunks.push_back(read_stored_chunk({at, end}));
    at += chunks.back().bytes;
    rows += chunks.back().rows;
  }
  // The header says how much room the rows need.
  if (rows != header.sealed_rows)
    throw Error(ErrorCode::kInvalidData, "invalid relation: number of rows and chunks disagree");
  return chunks;
}

bool is_flat_relation(std::span<const std::byte> bytes) { return is_flat_relation_within(bytes, kVersion); }

bool is_flat_relation_within(std::span<const std::byte> bytes, uint8_t version) {
  if (bytes.size() < kFlatHeaderBytes) return false;
  const FlatHeader header = flat_header(bytes.data());
  if (header.version != version || header.zero[0] != 0 || header.zero[1] != 0 || header.zero[2] != 0) return false;
  if (header.open_rows >= kChunkRows || header.carried < 0) return false;
  const uint64_t behind = bytes.size() - kFlatHeaderBytes;
  if (header.sealed_bytes > behind || header.open_rows > (behind - header.sealed_bytes) / sizeof(TidItem)) return false;
  // A chunk has a header and at least one row.
  const uint64_t chunks = header.sealed_bytes / kChunkHeaderBytes;
  return header.sealed_rows <= chunks * kChunkRows && (header.sealed_rows == 0) == (header.sealed_bytes == 0);
}

void flat_validate(std::span<const std::byte> bytes) {
  auto invalid = [](const std::string& what) { throw Error(ErrorCode::kInvalidData, "invalid relation: " + what); };
  if (bytes.size() < kFlatHeaderBytes) invalid("header is cut off");
  const FlatHeader header = flat_header(bytes.data());
  if (header.version != kVersion) invalid("unknown version " + std::to_string(header.version));
  if (header.zero[0] != 0 || header.zero[1] != 0 || header.zero[2] != 0) invalid("reserved bytes are not zero");
  if (header.open_rows != 0) invalid("pairs that are not packed");
  if (header.sealed_bytes != bytes.size() - kFlatHeaderBytes) invalid("length and header disagree");
  if (header.carried < 0) invalid("negative number carried");
  uint64_t rows = 0;
  for (std::span<const std::byte> rest = bytes.subspan(kFlatHeaderBytes); !rest.empty();) {
    const ChunkView chunk = read_chunk_checked(rest);
    rows += chunk.rows;
    rest = rest.subspan(chunk.bytes);
  }
  if (rows != header.rows()) invalid("number of rows and chunks disagree");
}

}  // namespace batmap
