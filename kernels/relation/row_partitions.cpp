// Writes, splits and loads partitions. See row_partitions.h.
#include "relation/row_partitions.h"

#include <algorithm>

namespace batmap {

namespace {

// at the first level, tids that differ in these lowest bits only lie in one partition
constexpr int kNeighbourBits = 8;
constexpr size_t kMaxChunkBytes = kChunkHeaderBytes + RowPartitions::kOpenRows * sizeof(TidItem) + 16;
// bytes read between two polls of the cancel token
constexpr size_t kReadBytes = size_t{1} << 20;

size_t partition_of(int64_t tid, int level) {
  uint64_t x = static_cast<uint64_t>(tid);
  if (level == 0) x >>= kNeighbourBits;
  // Every level uses bits that the levels above it did not use.
  x = (x ^ x >> 32) * 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9u;
  return x >> (58 - 6 * level) & (RowPartitions::kPartitions - 1);
}

}  // namespace

RowPartitions::RowPartitions(TempFiles& files, MemoryMeter& meter, int level)
    : files_(&files),
      meter_(&meter),
      level_(level),
      parts_(kPartitions),
      open_(meter, kPartitions * kOpenRows),
      open_rows_(kPartitions),
      packed_(meter, kMaxChunkBytes) {}

void RowPartitions::append(TidItem pair) {
  const size_t part = partition_of(pair.tid, level_);
  open_[part * kOpenRows + open_rows_[part]] = pair;
  ++rows_;
  if (++open_rows_[part] == kOpenRows) write_open(part);
}

void RowPartitions::append(const ChunkView& chunk) {
  TidItem pairs[kChunkRows];
  decode_chunk(chunk, pairs);
  for (uint32_t k = 0; k < chunk.rows; ++k) append(pairs[k]);
}

void RowPartitions::write_open(size_t part) {
  RowPartition& partition = parts_[part];
  if (partition.file == nullptr) partition.file = &files_->create();
  const size_t bytes = write_chunk(open_.span().subspan(part * kOpenRows, open_rows_[part]), packed_.data());
  partition.file->write(packed_.span().first(bytes));
  const ChunkView chunk = read_chunk(packed_.data());
  tid_bounds_.add(chunk.tid_base, chunk.tid_range);
  item_bounds_.add(chunk.item_base, chunk.item_range);
  partition.rows += open_rows_[part];
  partition.bytes += bytes;
  open_rows_[part] = 0;
}

void RowPartitions::seal() {
  for (size_t part = 0; part < kPartitions; ++part)
    if (open_rows_[part] > 0) write_open(part);
  open_.reset();
  packed_.reset();
}

void visit_chunks(const RowPartition& part, MemoryMeter& meter, const CancelToken& cancel,
                  const std::function<void(const ChunkView&)>& visit) {
  Buffer<std::byte> bytes(meter, kMaxChunkBytes);
  if (part.file != nullptr) part.file->rewind();
  for (uint64_t rows = 0; rows < part.rows;) {
    cancel.throw_if_requested();
    part.file->read(bytes.span().first(kChunkHeaderBytes));
    const size_t rest = read_chunk(bytes.data()).bytes - kChunkHeaderBytes;
    part.file->read(bytes.span().subspan(kChunkHeaderBytes, rest));
    const ChunkView chunk = read_chunk(bytes.data());
    visit(chunk);
    rows += chunk.rows;
  }
}

RowPartitions RowPartitions::split(const RowPartition& part, const CancelToken& cancel) const {
  RowPartitions smaller(*files_, *meter_, level_ + 1);
  visit_chunks(part, *meter_, cancel, [&](const ChunkView& chunk) { smaller.append(chunk); });
  part.file->close();
  smaller.seal();
  return smaller;
}

std::vector<RowPartition> RowPartitions::partitions(uint64_t max_bytes, const CancelToken& cancel) const {
  std::vector<RowPartition> all;
  for (const RowPartition& part : parts_) {
    if (part.rows == 0) continue;
    if (part.bytes <= max_bytes || !can_split()) {
      all.push_back(part);
      continue;
    }
    const std::vector<RowPartition> parts = split(part, cancel).partitions(max_bytes, cancel);
    all.insert(all.end(), parts.begin(), parts.end());
  }
  return all;
}

LoadedRows::LoadedRows(std::span<const RowPartition> partitions, const ExecutionOptions& options) {
  uint64_t bytes = 0;
  for (const RowPartition& partition : partitions) bytes += partition.bytes;
  bytes_ = Buffer<std::byte>(*options.memory, bytes);
  size_t at = 0;
  for (const RowPartition& partition : partitions) {
    partition.file->rewind();
    for (const size_t end = at + partition.bytes; at < end;) {
      options.cancel.throw_if_requested();
      const size_t count = std::min(kReadBytes, end - at);
      partition.file->read(bytes_.span().subspan(at, count));
      at += count;
    }
  }
}

std::vector<ChunkView> LoadedRows::chunks() const {
  std::vector<ChunkView> chunks;
  for (size_t at = 0; at < bytes_.size(); at += chunks.back().bytes) chunks.push_back(read_chunk(bytes_.data() + at));
  return chunks;
}

}  // namespace batmap
