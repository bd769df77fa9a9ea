// Blocks of rows, in memory or on their way to files. See event_log.h.
#include "episodes/event_log.h"

#include <algorithm>
#include <bit>

#include "core/polled.h"

namespace batmap {

EventLog::EventLog(const ExecutionOptions& options, bool with_streams, uint64_t expected)
    : meter_(options.memory), columns_(with_streams ? 3 : 2) {
  uint64_t rows = std::clamp<uint64_t>(expected, 1, kMaxRowsABlock);
  if (options.files != nullptr) {
    files_ = options.files;
    cancel_ = options.cancel;
    max_bytes_ = options.work_bytes / kShareOfWorkMemory;
    constexpr size_t kBlocks = 8;
    rows = std::clamp<uint64_t>(max_bytes_ / (kBlocks * sizeof(Row)), 1, rows);
  }
  shift_ = std::countr_zero(std::bit_ceil(rows));
}

void EventLog::add_block() {
  const size_t block_bytes = (columns_ << shift_) * sizeof(int64_t);
  const bool is_full = files_ != nullptr && (partitions_ || (blocks_.size() + 1) * block_bytes > max_bytes_);
  if (blocks_.empty() || !is_full) {
    blocks_.emplace_back(*meter_, columns_ << shift_);
    return;
  }
  write_blocks();
  blocks_.erase(blocks_.begin() + 1, blocks_.end());  // one is enough from now on
}

void EventLog::write_blocks() {
  if (!partitions_) partitions_.emplace(*files_, *meter_);
  in_parts(rows_, cancel_, [&](size_t first, size_t last) {
    for (size_t k = first; k < last; ++k) partitions_->append((*this)[k]);
  });
  rows_ = 0;
}

EventPartitions* EventLog::seal() {
  if (!partitions_) return nullptr;
  write_blocks();
  blocks_.clear();
  partitions_->seal();
  return &*partitions_;
}

}  // namespace batmap
