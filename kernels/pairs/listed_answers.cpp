// Counts, and answers in the order of the list. See listed_answers.h.
#include "pairs/listed_answers.h"

#include <utility>

namespace batmap {

ListedAnswers::ListedAnswers(std::vector<ChunkView> shown, const std::vector<ChunkView>& list,
                             const std::vector<ChunkView>& relation, bool supports, const DeviceUse& device,
                             const ExecutionOptions& options)
    : shown_(std::move(shown)), has_supports_(supports), options_(options), answers_(*options.memory, supports) {
  uint64_t rows = 0;
  for (const ChunkView& chunk : shown_) rows += chunk.rows;
  run_.emplace(ListedInput{list, relation, relation},
               ListedQuery{.min_count = 0, .bag = false, .each_row = true, .supports = supports, .device = device}, options);
  record_ = run_->record();
  counts_ = Buffer<uint32_t>(*options.memory, rows);
  for (Buffer<uint32_t>& of_items : supports_) of_items = Buffer<uint32_t>(*options.memory, supports ? rows : 0);
}

void ListedAnswers::count() {
  std::vector<ListedPair> found;
  while (run_->next(found)) {
    for (const ListedPair& pair : found) {
      counts_[pair.row] = static_cast<uint32_t>(pair.count);
      if (!has_supports_) continue;
      supports_[0][pair.row] = static_cast<uint32_t>(pair.support_a);
      supports_[1][pair.row] = static_cast<uint32_t>(pair.support_b);
    }
  }
  record_ = run_->record();
  record_.results = 0;
  run_.reset();
}

bool ListedAnswers::next(PairBatch& batch) {
  answers_.clear();
  batch = answers_.batch();
  if (run_) count();
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
