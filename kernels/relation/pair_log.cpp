// Append-only log of packed chunks in blocks. See pair_log.h.
#include "relation/pair_log.h"

#include <algorithm>

namespace batmap {

namespace {
// Blocks double from 128 KiB to 4 MiB: a small run stays small, a large one makes few mappings.
constexpr size_t kFirstBlockBytes = size_t{128} << 10;
constexpr size_t kLargestBlockBytes = size_t{4} << 20;
static_assert(kFirstBlockBytes >= kChunkMaxBytes);
}  // namespace

std::byte* PairLog::room(size_t bytes) {
  if (blocks_.empty() || blocks_.back().bytes.size() - blocks_.back().used < bytes) {
    const size_t doubled = blocks_.empty() ? kFirstBlockBytes : blocks_.back().bytes.size() * 2;
    blocks_.push_back({Buffer<std::byte>(*meter_, std::min(doubled, kLargestBlockBytes)), 0});
  }
  return blocks_.back().bytes.data() + blocks_.back().used;
}

void PairLog::seal() {
  if (open_rows_ == 0) return;
  const size_t bytes = write_chunk(open_.span().first(open_rows_), room(kChunkMaxBytes));
  blocks_.back().used += bytes;
  rows_ += open_rows_;
  open_rows_ = 0;
}

void PairLog::append_chunk(const std::byte* chunk, size_t bytes) {
  std::memcpy(room(bytes), chunk, bytes);
  blocks_.back().used += bytes;
  rows_ += read_chunk(chunk).rows;
}

std::vector<ChunkView> PairLog::chunks() const {
  std::vector<ChunkView> chunks;
  chunks.reserve(static_cast<size_t>(rows_ / kChunkRows) + 1);
  for (const Block& block : blocks_)
    for (size_t at = 0; at < block.used; at += chunks.back().bytes) chunks.push_back(read_chunk(block.bytes.data() + at));
  return chunks;
}

}  // namespace batmap
