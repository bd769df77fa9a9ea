// One pass that codes both columns. See encoded_relation.h.
#include "relation/encoded_relation.h"

#include <algorithm>
#include <bit>

namespace batmap {

namespace {

struct Span64 {
  int64_t low = INT64_MAX;
  int64_t high = INT64_MIN;
  void add(int64_t base, uint64_t range) {
    low = std::min(low, base);
    high = std::max(high, static_cast<int64_t>(static_cast<uint64_t>(base) + range));
  }
  uint64_t range() const { return static_cast<uint64_t>(high) - static_cast<uint64_t>(low); }
};

/// Unused slots make bit rows longer and arrays larger: ranks are worth a look-up below this share of used ones.
constexpr double kDenseEnough = 0.8;

uint64_t shift_to(int64_t chunk_base, int64_t base) {
  return static_cast<uint64_t>(chunk_base) - static_cast<uint64_t>(base);
}

}  // namespace

EncodedRelation::EncodedRelation(std::vector<ChunkView> chunks, std::span<const uint32_t> item_rank,
                                 const ExecutionOptions& options)
    : chunks_(std::move(chunks)), item_rank_(item_rank) {
  Span64 tids;
  Span64 items;
  first_row_.reserve(chunks_.size());
  for (const ChunkView& chunk : chunks_) {
    first_row_.push_back(rows_);
    rows_ += chunk.rows;
    tids.add(chunk.tid_base, chunk.tid_range);
    items.add(chunk.item_base, chunk.item_range);
  }
  if (rows_ == 0) return;
  if (rows_ >= UINT32_MAX) throw Error(ErrorCode::kTooLarge, "more than 4294967294 rows in one relation");
  tids_coded_.emplace(*options.memory, tids.low, tids.range(), rows_);
  items_coded_.emplace(*options.memory, items.low, items.range(), rows_);
  scan(options);
  for (const uint64_t rows : item_rows_) items_ += rows > 0;
  if (tids_coded_->direct()) {
    for (const uint64_t word : tid_present_) transactions_ += static_cast<uint64_t>(std::popcount(word));
    tid_slots_ = static_cast<uint32_t>(tids_coded_->size());
    if (static_cast<double>(transactions_) < kDenseEnough * tid_slots_) rank_tids(*options.memory);
  } else {
    transactions_ = tids_coded_->size();
    tid_slots_ = static_cast<uint32_t>(transactions_);
  }
}

void EncodedRelation::scan(const ExecutionOptions& options) {
  MemoryMeter& meter = *options.memory;
  const bool direct_tids = tids_coded_->direct();
  const bool direct_items = items_coded_->direct();
  if (direct_tids)
    tid_present_ = Buffer<uint64_t>(meter, (tids_coded_->size() + 63) / 64, Fill::kZero);
  else
    kept_tids_ = Buffer<uint32_t>(meter, rows_);
  if (direct_items)
    item_rows_ = Buffer<uint64_t>(meter, items_coded_->size(), Fill::kZero);
  else
    kept_items_ = Buffer<uint32_t>(meter, rows_);

  uint32_t codes[kChunkRows];
  uint64_t keys[kChunkRows];
  uint64_t* const present = tid_present_.data();
  uint64_t* const counts = item_rows_.data();
  size_t at = 0;
  for (const ChunkView& chunk : chunks_) {
    options.cancel.throw_if_requested();
    if (direct_tids) {
      decode_offsets(chunk.tids, chunk.tid_range, chunk.rows, shift_to(chunk.tid_base, tids_coded_->base()), codes);
      for (uint32_t k = 0; k < chunk.rows; ++k) present[codes[k] >> 6] |= uint64_t{1} << (codes[k] & 63);
    } else {
      decode_offsets(chunk.tids, chunk.tid_range, chunk.rows, static_cast<uint64_t>(chunk.tid_base), keys);
      for (uint32_t k = 0; k < chunk.rows; ++k) kept_tids_[at + k] = tids_coded_->insert(static_cast<int64_t>(keys[k]));
    }
    if (direct_items) {
      decode_offsets(chunk.items, chunk.item_range, chunk.rows, shift_to(chunk.item_base, items_coded_->base()), codes);
      for (uint32_t k = 0; k < chunk.rows; ++k) ++counts[codes[k]];
    } else {
      decode_offsets(chunk.items, chunk.item_range, chunk.rows, static_cast<uint64_t>(chunk.item_base), keys);
      for (uint32_t k = 0; k < chunk.rows; ++k) kept_items_[at + k] = items_coded_->insert(static_cast<int64_t>(keys[k]));
    }
    at += chunk.rows;
  }
  if (!direct_items) {
    item_rows_ = Buffer<uint64_t>(meter, items_coded_->size(), Fill::kZero);
    for (const uint32_t code : kept_items_) ++item_rows_[code];
  }
}

void EncodedRelation::rank_tids(MemoryMeter& meter) {
  tid_ranks_ = Buffer<uint32_t>(meter, tid_present_.size());
  uint32_t rank = 0;
  for (size_t word = 0; word < tid_present_.size(); ++word) {
    tid_ranks_[word] = rank;
    rank += static_cast<uint32_t>(std::popcount(tid_present_[word]));
  }
  tid_slots_ = rank;
}

uint32_t EncodedRelation::tid_rank(uint32_t code) const {
  const uint64_t below = tid_present_[code >> 6] & ((uint64_t{1} << (code & 63)) - 1);
  return tid_ranks_[code >> 6] + static_cast<uint32_t>(std::popcount(below));
}

uint32_t EncodedRelation::decode(size_t block, uint32_t* tids, uint32_t* items) const {
  const ChunkView& chunk = chunks_[block];
  if (tids_coded_->direct()) {
    decode_offsets(chunk.tids, chunk.tid_range, chunk.rows, shift_to(chunk.tid_base, tids_coded_->base()), tids);
    if (!tid_ranks_.empty())
      for (uint32_t k = 0; k < chunk.rows; ++k) tids[k] = tid_rank(tids[k]);
  } else {
    std::copy_n(kept_tids_.data() + first_row_[block], chunk.rows, tids);
  }
  if (items_coded_->direct())
    decode_offsets(chunk.items, chunk.item_range, chunk.rows, shift_to(chunk.item_base, items_coded_->base()), items);
  else
    std::copy_n(kept_items_.data() + first_row_[block], chunk.rows, items);
  return chunk.rows;
}

}  // namespace batmap
