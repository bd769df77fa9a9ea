// One pass that codes both columns. See encoded_relation.h.
#include "relation/encoded_relation.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "core/thread_team.h"

namespace batmap {

namespace {

/// If fewer of the tid codes than this share are used, they are replaced by their ranks. This costs a look-up
/// a row, but unused codes would make bit rows longer and arrays larger.
constexpr double kDenseEnough = 0.8;

uint64_t shift_to(int64_t chunk_base, int64_t base) {
  return static_cast<uint64_t>(chunk_base) - static_cast<uint64_t>(base);
}

}  // namespace

EncodedRelation::EncodedRelation(std::vector<ChunkView> chunks, std::span<const uint32_t> item_rank,
                                 const ExecutionOptions& options)
    : chunks_(std::move(chunks)), item_rank_(item_rank) {
  KeyBounds tids;
  KeyBounds items;
  first_row_.reserve(chunks_.size());
  tid_spans_.reserve(chunks_.size());
  for (const ChunkView& chunk : chunks_) {
    first_row_.push_back(rows_);
    rows_ += chunk.rows;
    tids.add(chunk.tid_base, chunk.tid_range);
    items.add(chunk.item_base, chunk.item_range);
  }
  if (rows_ == 0) return;
  if (rows_ >= UINT32_MAX)
    throw Error(ErrorCode::kTooLarge, "more than 4294967294 rows in one relation",
                "Split the rows by transaction; the supports of the parts add up.");
  tids_coded_.emplace(options, tids.low, tids.range(), rows_);
  items_coded_.emplace(options, items.low, items.range(), rows_);
  scan(options);
  for (const uint64_t rows : item_rows_) {
    items_ += rows > 0;
    most_item_rows_ = std::max(most_item_rows_, rows);
  }
  if (tids_coded_->direct()) {
    for (const uint64_t word : tid_present_) transactions_ += static_cast<uint64_t>(std::popcount(word));
    tid_slots_ = static_cast<uint32_t>(tids_coded_->size());
    if (static_cast<double>(transactions_) < kDenseEnough * tid_slots_) rank_tids(*options.memory);
    find_tid_spans();
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

  // A hashed column is one task; a column with direct codes has one task for each share of the blocks.
  const size_t shares = count_shares(options);
  std::vector<Buffer<uint64_t>> present;  // [shares - 1] for all shares but the first, as `rows`
  std::vector<Buffer<uint64_t>> rows;
  for (size_t share = 1; share < shares; ++share) {
    present.emplace_back(meter, tid_present_.size(), Fill::kZero);
    rows.emplace_back(meter, item_rows_.size(), Fill::kZero);
  }
  const size_t tid_tasks = direct_tids ? shares : 1;
  const size_t item_tasks = direct_items ? shares : 1;
  const auto block = [&](size_t share) { return share * chunks_.size() / shares; };
  // Hashing takes longer than all else.
  const bool hashes = !direct_tids || !direct_items;
  parallel_for(hashes ? options : sized_for_rows(rows_, options), tid_tasks + item_tasks, [&](size_t task, int) {
    if (task < tid_tasks) {
      if (direct_tids)
        mark_tids(block(task), block(task + 1), task == 0 ? tid_present_ : present[task - 1], options);
      else
        hash_tids(options);
      return;
    }
    task -= tid_tasks;
    if (direct_items)
      count_items(block(task), block(task + 1), task == 0 ? item_rows_ : rows[task - 1], options);
    else
      hash_items(options);
  });
  for (const Buffer<uint64_t>& more : present)
    for (size_t word = 0; word < more.size(); ++word) tid_present_[word] |= more[word];
  for (const Buffer<uint64_t>& more : rows)
    for (size_t item = 0; item < more.size(); ++item) item_rows_[item] += more[item];
}

/// Into how many shares the blocks are divided. Each share has counters of its own, which must stay
/// small beside its rows.
size_t EncodedRelation::count_shares(const ExecutionOptions& options) const {
  const uint64_t own_words = tid_present_.size() + item_rows_.size();
  return threads_for_rows(rows_, options, std::max(kRowsWorthAThread, own_words));
}

void EncodedRelation::mark_tids(size_t first, size_t last, Buffer<uint64_t>& present,
                                const ExecutionOptions& options) const {
  uint32_t codes[kChunkRows];
  uint64_t* const bits = present.data();
  for (size_t block = first; block < last; ++block) {
    options.cancel.throw_if_requested();
    const ChunkView& chunk = chunks_[block];
    decode_offsets(chunk.tids, chunk.tid_range, chunk.rows, shift_to(chunk.tid_base, tids_coded_->base()), codes);
    for (uint32_t k = 0; k < chunk.rows; ++k)
      if (k == 0 || codes[k] != codes[k - 1]) bits[codes[k] >> 6] |= uint64_t{1} << (codes[k] & 63);
  }
}

void EncodedRelation::count_items(size_t first, size_t last, Buffer<uint64_t>& rows, const ExecutionOptions& options) const {
  uint32_t codes[kChunkRows];
  uint64_t* const counts = rows.data();
  for (size_t block = first; block < last; ++block) {
    options.cancel.throw_if_requested();
    const ChunkView& chunk = chunks_[block];
    decode_offsets(chunk.items, chunk.item_range, chunk.rows, shift_to(chunk.item_base, items_coded_->base()), codes);
    for (uint32_t k = 0; k < chunk.rows; ++k) ++counts[codes[k]];
  }
}

void EncodedRelation::hash_tids(const ExecutionOptions& options) {
  uint64_t keys[kChunkRows];
  uint32_t* to = kept_tids_.data();
  for (const ChunkView& chunk : chunks_) {
    options.cancel.throw_if_requested();
    decode_offsets(chunk.tids, chunk.tid_range, chunk.rows, static_cast<uint64_t>(chunk.tid_base), keys);
    TidSpan span{UINT32_MAX, 0};
    for (uint32_t k = 0; k < chunk.rows; ++k) {
      const uint32_t code = tids_coded_->insert(static_cast<int64_t>(keys[k]));
      *to++ = code;
      span = {std::min(span.first, code), std::max(span.last, code)};
    }
    tid_spans_.push_back(span);
  }
}

void EncodedRelation::hash_items(const ExecutionOptions& options) {
  uint64_t keys[kChunkRows];
  uint32_t* to = kept_items_.data();
  for (const ChunkView& chunk : chunks_) {
    options.cancel.throw_if_requested();
    decode_offsets(chunk.items, chunk.item_range, chunk.rows, static_cast<uint64_t>(chunk.item_base), keys);
    for (uint32_t k = 0; k < chunk.rows; ++k) *to++ = items_coded_->insert(static_cast<int64_t>(keys[k]));
  }
  item_rows_ = Buffer<uint64_t>(*options.memory, items_coded_->size(), Fill::kZero);
  for (const uint32_t code : kept_items_) ++item_rows_[code];
}

/// For direct codes only: they have the order of the tids, and both ends of a chunk's range are tids of that chunk.
void EncodedRelation::find_tid_spans() {
  for (const ChunkView& chunk : chunks_) {
    const auto first = static_cast<uint32_t>(shift_to(chunk.tid_base, tids_coded_->base()));
    const auto last = static_cast<uint32_t>(first + chunk.tid_range);
    tid_spans_.push_back(tid_ranks_.empty() ? TidSpan{first, last} : TidSpan{tid_rank(first), tid_rank(last)});
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

uint32_t EncodedRelation::decode_tids(size_t block, uint32_t* tids) const {
  const ChunkView& chunk = chunks_[block];
  if (!tids_coded_->direct()) {
    std::copy_n(kept_tids_.data() + first_row_[block], chunk.rows, tids);
    return chunk.rows;
  }
  decode_offsets(chunk.tids, chunk.tid_range, chunk.rows, shift_to(chunk.tid_base, tids_coded_->base()), tids);
  if (!tid_ranks_.empty())
    for (uint32_t k = 0; k < chunk.rows; ++k) tids[k] = tid_rank(tids[k]);
  return chunk.rows;
}

uint32_t EncodedRelation::decode(size_t block, uint32_t* tids, uint32_t* items) const {
  const ChunkView& chunk = chunks_[block];
  if (items_coded_->direct())
    decode_offsets(chunk.items, chunk.item_range, chunk.rows, shift_to(chunk.item_base, items_coded_->base()), items);
  else
    std::copy_n(kept_items_.data() + first_row_[block], chunk.rows, items);
  return decode_tids(block, tids);
}

}  // namespace batmap
