// Append-only log of packed chunks in blocks. See row_log.h.
#include "relation/row_log.h"

#include <algorithm>
#include <cstring>

namespace batmap {

namespace {
// Blocks double from 128 KiB to 4 MiB: a small run takes little memory, a large one makes few mappings.
constexpr size_t kFirstBlockBytes = size_t{128} << 10;
constexpr size_t kMaxBlockBytes = size_t{4} << 20;
static_assert(kFirstBlockBytes >= kChunkMaxBytes);
}  // namespace

std::byte* RowLog::room(size_t bytes) {
  if (blocks_.empty() || blocks_.back().bytes.size() - blocks_.back().used < bytes) {
    const size_t doubled = blocks_.empty() ? kFirstBlockBytes : blocks_.back().bytes.size() * 2;
    blocks_.push_back({Buffer<std::byte>(*meter_, std::min(doubled, kMaxBlockBytes)), 0});
    block_bytes_ += blocks_.back().bytes.size();
  }
  return blocks_.back().bytes.data() + blocks_.back().used;
}

/// Where others have taken the memory, the rows go to files, and so do those that are there. @return nullptr: they have
std::byte* RowLog::room_unless_moved(size_t bytes) {
  if (files_ == nullptr) return room(bytes);
  std::byte* at = nullptr;
  if (!within_memory_limit([&] { at = room(bytes); })) move_to_files();
  return at;
}

void RowLog::seal() {
  pack_open();
  if (files_ != nullptr && !partitions_ && is_cramped()) move_to_files();
  if (partitions_) partitions_->seal();
}

void RowLog::pack_open() {
  if (open_rows_ == 0) return;
  if (partitions_) {
    for (const TidItem& pair : open_.span().first(open_rows_)) partitions_->append(pair);
  } else {
    std::byte* const at = room_unless_moved(kChunkMaxBytes);
    if (at == nullptr) return pack_open();
    blocks_.back().used += write_chunk(open_.span().first(open_rows_), at);
  }
  rows_ += open_rows_;
  open_rows_ = 0;
  spill_if_large();
}

/// Have others taken so much memory since the log was begun that forms of its rows may not fit?
bool RowLog::is_cramped() const {
  size_t bytes = 0;
  for (const Block& block : blocks_) bytes += block.used;
  const size_t left = meter_->available();
  return bytes > std::max(left / (kShareOfWorkMemory - 1), RowPartitions::kOpenBytes) && left > RowPartitions::kOpenBytes;
}

void RowLog::spill_if_large() {
  if (files_ == nullptr || partitions_ || blocks_.size() == checked_blocks_) return;
  checked_blocks_ = blocks_.size();
  if (block_bytes_ > max_bytes_ || is_cramped()) move_to_files();
}

void RowLog::move_to_files() {
  partitions_.emplace(*files_, *meter_);
  for (Block& block : blocks_) {
    for (size_t at = 0; at < block.used;) {
      cancel_.throw_if_requested();
      const ChunkView chunk = read_chunk(block.bytes.data() + at);
      partitions_->append(chunk);
      at += chunk.bytes;
    }
    block.bytes.reset();
  }
  blocks_.clear();
}

void RowLog::append_rows(std::span<const TidItem> rows) {
  while (!rows.empty()) {
    const std::span<const TidItem> fitting = rows.first(std::min<size_t>(rows.size(), kChunkRows - open_rows_));
    std::copy(fitting.begin(), fitting.end(), open_.data() + open_rows_);
    open_rows_ += static_cast<uint32_t>(fitting.size());
    if (open_rows_ == kChunkRows) pack_open();
    rows = rows.subspan(fitting.size());
  }
}

void RowLog::append_chunk(const std::byte* chunk, size_t bytes) {
  const ChunkView view = read_chunk(chunk);
  if (partitions_) {
    partitions_->append(view);
  } else {
    std::byte* const at = room_unless_moved(bytes);
    if (at == nullptr) return append_chunk(chunk, bytes);
    std::memcpy(at, chunk, bytes);
    blocks_.back().used += bytes;
  }
  rows_ += view.rows;
  spill_if_large();
}

std::vector<ChunkView> RowLog::chunks() const {
  std::vector<ChunkView> chunks;
  chunks.reserve(static_cast<size_t>(rows_ / kChunkRows) + 1);
  for (const Block& block : blocks_)
    for (size_t at = 0; at < block.used; at += chunks.back().bytes) chunks.push_back(read_chunk(block.bytes.data() + at));
  return chunks;
}

}  // namespace batmap
