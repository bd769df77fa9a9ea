// Writes, splits and reads partitions of events. See event_partitions.h.
#include "episodes/event_partitions.h"

#include <algorithm>
#include <span>
#include <utility>

namespace batmap {

namespace {

constexpr size_t kMaxChunkBytes = kChunkHeaderBytes + EventPartitions::kOpenRows * sizeof(TidItem) + 16;

size_t partition_of(int64_t stream, int level) {
  uint64_t x = static_cast<uint64_t>(stream);
  // Every level uses bits that the levels above it did not use.
  x = (x ^ x >> 32) * 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9u;
  return x >> (58 - 6 * level) & (EventPartitions::kPartitions - 1);
}

/// Reads the next chunk of a file. @param bytes  [kMaxChunkBytes]
ChunkView next_chunk(TempFile& file, Buffer<std::byte>& bytes) {
  file.read(bytes.span().first(kChunkHeaderBytes));
  const size_t rest = read_chunk(bytes.data()).bytes - kChunkHeaderBytes;
  file.read(bytes.span().subspan(kChunkHeaderBytes, rest));
  return read_chunk(bytes.data());
}

/// Times at which a stream is split into pieces of about `wanted` rows: quantiles of a sample. Ascending, above the first
/// time and at most the last one.
std::vector<int64_t> times_to_cut(const EventPartition& part, uint64_t wanted, MemoryMeter& meter,
                                  const CancelToken& cancel) {
  constexpr uint64_t kSampledAPiece = 64;
  const uint64_t pieces = std::clamp<uint64_t>(part.rows / wanted + 1, 2, EventPartitions::kPartitions);
  const uint64_t stride = std::max<uint64_t>(part.rows / (pieces * kSampledAPiece), 1);
  std::vector<int64_t> sample;
  sample.reserve(part.rows / stride + 1);
  uint64_t row = 0;
  uint64_t next = 0;
  visit_events(part, meter, cancel, [&](const EventRow& event) {
    if (row++ != next) return;
    sample.push_back(event.time);
    // Steps of changing size, so that rows which repeat in a rhythm do not deceive.
    next += 1 + (row * 0x9e3779b97f4a7c15u >> 32) % (2 * stride - 1);
  });
  std::sort(sample.begin(), sample.end());
  std::vector<int64_t> cuts;
  for (uint64_t k = 1; k < pieces; ++k) {
    const int64_t time = sample[sample.size() * k / pieces];
    if (time > part.times.low && (cuts.empty() || time > cuts.back())) cuts.push_back(time);
  }
  if (cuts.empty()) cuts.push_back(part.times.low + 1);  // most events have the first time
  return cuts;
}

}  // namespace

EventPartitions::EventPartitions(TempFiles& files, MemoryMeter& meter, int level)
    : files_(&files),
      meter_(&meter),
      level_(level),
      parts_(kPartitions),
      open_(meter, kPartitions * kOpenRows),
      open_rows_(kPartitions),
      packed_(meter, kMaxChunkBytes) {}

size_t EventPartitions::part_of(const EventRow& row) const {
  if (cuts_.empty()) return partition_of(row.stream, level_);
  return static_cast<size_t>(std::upper_bound(cuts_.begin(), cuts_.end(), row.time) - cuts_.begin());
}

void EventPartitions::append(const EventRow& row) {
  const size_t part = part_of(row);
  open_[part * kOpenRows + open_rows_[part]] = row;
  ++rows_;
  if (++open_rows_[part] == kOpenRows) write_open(part);
}

void EventPartitions::write_open(size_t part) {
  EventPartition& partition = parts_[part];
  if (partition.file == nullptr) partition.file = &files_->create();
  const std::span<const EventRow> rows = open_.span().subspan(part * kOpenRows, open_rows_[part]);
  TidItem pairs[kOpenRows];
  const auto write = [&](auto pair_of) {
    for (size_t k = 0; k < rows.size(); ++k) pairs[k] = pair_of(rows[k]);
    const size_t bytes = write_chunk({pairs, rows.size()}, packed_.data());
    partition.file->write(packed_.span().first(bytes));
    partition.bytes += bytes;
    return read_chunk(packed_.data());
  };
  const ChunkView events = write([](const EventRow& row) { return TidItem{row.time, row.event}; });
  event_bounds_.add(events.item_base, events.item_range);
  partition.times.add(events.tid_base, events.tid_range);
  const ChunkView streams = write([](const EventRow& row) { return TidItem{row.stream, 0}; });
  partition.streams.add(streams.tid_base, streams.tid_range);
  partition.rows += rows.size();
  open_rows_[part] = 0;
}

void EventPartitions::seal() {
  for (size_t part = 0; part < kPartitions; ++part)
    if (open_rows_[part] > 0) write_open(part);
  open_.reset();
  packed_.reset();
}

void visit_events(const EventPartition& part, MemoryMeter& meter, const CancelToken& cancel,
                  const std::function<void(const EventRow&)>& visit) {
  if (part.rows == 0) return;
  Buffer<std::byte> bytes(meter, kMaxChunkBytes);
  TidItem events[EventPartitions::kOpenRows];
  TidItem streams[EventPartitions::kOpenRows];
  part.file->rewind();
  for (uint64_t rows = 0; rows < part.rows;) {
    cancel.throw_if_requested();
    const uint32_t count = next_chunk(*part.file, bytes).rows;
    decode_chunk(read_chunk(bytes.data()), events);
    decode_chunk(next_chunk(*part.file, bytes), streams);
    for (uint32_t k = 0; k < count; ++k) visit({events[k].tid, events[k].item, streams[k].tid});
    rows += count;
  }
}

/// Where the rows of a partition go that is too large. @return empty if it cannot be split
std::optional<EventPartitions> EventPartitions::smaller_for(const EventPartition& part, uint64_t max_rows,
                                                            const CancelToken& cancel) const {
  if (part.streams.range() > 0) {
    if (level_ + 1 == kMaxLevels) return std::nullopt;
    return EventPartitions(*files_, *meter_, level_ + 1);
  }
  const int time_level = cuts_.empty() ? 0 : level_ + 1;
  if (part.times.range() == 0 || time_level == kMaxTimeLevels) return std::nullopt;
  // Samples err, so pieces are made smaller than they may be.
  std::vector<int64_t> cuts = times_to_cut(part, std::max<uint64_t>(max_rows / 4 * 3, 1), *meter_, cancel);
  EventPartitions smaller(*files_, *meter_, time_level);
  smaller.cuts_ = std::move(cuts);
  return smaller;
}

std::vector<EventPartition> EventPartitions::partitions(uint64_t max_rows, const CancelToken& cancel) const {
  std::vector<EventPartition> all;
  for (const EventPartition& part : parts_) {
    if (part.rows == 0) continue;
    std::optional<EventPartitions> smaller;
    if (part.rows > max_rows) smaller = smaller_for(part, max_rows, cancel);
    if (!smaller) {
      all.push_back(part);
      continue;
    }
    visit_events(part, *meter_, cancel, [&](const EventRow& row) { smaller->append(row); });
    part.file->close();
    smaller->seal();
    const size_t first = all.size();
    const std::vector<EventPartition> parts = smaller->partitions(max_rows, cancel);
    all.insert(all.end(), parts.begin(), parts.end());
    if (smaller->cuts_.empty()) continue;
    for (size_t k = first; k < all.size(); ++k) {
      all[k].is_piece = true;
      all[k].continues = k > first;
    }
  }
  return all;
}

}  // namespace batmap
