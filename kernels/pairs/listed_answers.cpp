// Counts, and answers in the order of the list. See listed_answers.h.
#include "pairs/listed_answers.h"

#include <span>
#include <utility>

#include "accel/device_session.h"
#include "core/stopwatch.h"

namespace batmap {

ListedAnswers::ListedAnswers(std::vector<ChunkView> shown, const std::vector<ChunkView>& list,
                             const std::vector<ChunkView>& relation, bool supports, const DeviceUse& device,
                             const ExecutionOptions& options)
    : shown_(std::move(shown)), has_supports_(supports), options_(options), answers_(*options.memory, supports) {
  run_.emplace(ListedInput{list, relation, relation},
               ListedQuery{.min_count = 0, .bag = false, .each_row = true, .supports = supports, .device = device}, options);
  record_ = run_->record();
  make_counts();
}

ListedAnswers::ListedAnswers(std::vector<ChunkView> shown, std::vector<ChunkView> list, const RowPartitions& relation,
                             bool supports, const DeviceUse& device, const ExecutionOptions& options)
    : shown_(std::move(shown)),
      list_(std::move(list)),
      has_supports_(supports),
      options_(options),
      answers_(*options.memory, supports) {
  const Stopwatch watch;
  DeviceSession(device).refuse_files();
  parts_.emplace(relation, std::span<const uint32_t>(), options_);
  record_.method = ListedRun::kMethod;
  record_.file_bytes = parts_->file_bytes();
  record_.reason = rows_in_files(record_.file_bytes, parts_->size()) + ", " + ListedRun::kReason;
  record_.items_kept = listed_items_with_rows();
  if (supports) record_.transactions = parts_->transactions();
  make_counts();
  record_.group_ms = watch.milliseconds();
}

void ListedAnswers::make_counts() {
  uint64_t rows = 0;
  for (const ChunkView& chunk : shown_) rows += chunk.rows;
  counts_ = Buffer<uint32_t>(*options_.memory, rows, Fill::kZero);
  for (Buffer<uint32_t>& of_items : supports_)
    of_items = Buffer<uint32_t>(*options_.memory, has_supports_ ? rows : 0, Fill::kZero);
}

/// The number of different items on either side of the list that have rows in any part.
uint64_t ListedAnswers::listed_items_with_rows() const {
  const ItemTotals& totals = parts_->totals();
  Buffer<uint8_t> sides(*options_.memory, totals.item_codes(), Fill::kZero);  // a bit for each side
  uint64_t items = 0;
  const auto see = [&](int64_t item, unsigned side) {
    const size_t code = index_of(totals.item_code(item));
    if (code >= sides.size() || (sides[code] & side) != 0 || totals.item_rows(ItemCode(code)) == 0) return;
    sides[code] = static_cast<uint8_t>(sides[code] | side);
    ++items;
  };
  TidItem rows[kChunkRows];
  for (const ChunkView& chunk : list_) {
    options_.cancel.throw_if_requested();
    decode_chunk(chunk, rows);
    for (uint32_t k = 0; k < chunk.rows; ++k) {
      see(rows[k].tid, 1);
      see(rows[k].item, 2);
    }
  }
  return items;
}

void ListedAnswers::count() {
  is_counted_ = true;
  if (run_) {
    add(*run_);
    record_ = run_->record();
    record_.results = 0;
    run_.reset();
    return;
  }
  const Stopwatch watch;
  for (size_t part = 0; part < parts_->size(); ++part) count_part(part);
  parts_.reset();
  record_.count_ms = watch.milliseconds();
}

void ListedAnswers::count_part(size_t part) {
  std::optional<ListedRun> run;
  {
    const LoadedRows loaded((*parts_)[part], options_);
    const std::vector<ChunkView> rows = loaded.chunks();
    // A pair without a common tid adds nothing; but its items have supports.
    const ListedQuery query{.min_count = has_supports_ ? 0u : 1u, .bag = false, .each_row = true, .supports = has_supports_};
    run.emplace(ListedInput{list_, rows, rows}, query, options_);
  }
  add(*run);
  const RunRecord& of_part = run->record();
  record_.items = of_part.items;
  record_.occurrences += of_part.occurrences;
  record_.pair_instances += of_part.pair_instances;
  record_.tasks += of_part.tasks;
  record_.tasks_done += of_part.tasks_done;
  if (!has_supports_) record_.transactions += of_part.transactions;
}

/// Counts the pairs of a run, and adds their counts to those of the list.
void ListedAnswers::add(ListedRun& run) {
  std::vector<ListedPair> found;
  while (run.next(found)) {
    for (const ListedPair& pair : found) {
      counts_[pair.row] += static_cast<uint32_t>(pair.count);
      if (!has_supports_) continue;
      supports_[0][pair.row] += static_cast<uint32_t>(pair.support_a);
      supports_[1][pair.row] += static_cast<uint32_t>(pair.support_b);
    }
  }
}

bool ListedAnswers::next(PairBatch& batch) {
  answers_.clear();
  batch = answers_.batch();
  if (!is_counted_) count();
  if (next_chunk_ == shown_.size()) return false;
  options_.cancel.throw_if_requested();
  const ChunkView& chunk = shown_[next_chunk_++];
  TidItem rows[kChunkRows];
  decode_chunk(chunk, rows);
  static_assert(kChunkRows <= kBatchRows);
  const PairList::Room room = answers_.fill(chunk.rows);
  for (uint32_t k = 0; k < chunk.rows; ++k, ++next_row_) {
    room.pairs[k] = {rows[k].tid, rows[k].item, counts_[next_row_]};
    if (has_supports_) room.supports[k] = {supports_[0][next_row_], supports_[1][next_row_]};
  }
  batch = answers_.batch();
  record_.results += chunk.rows;
  return true;
}

}  // namespace batmap
