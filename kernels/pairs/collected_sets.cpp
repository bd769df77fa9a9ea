// Moves sets from memory to a log. See collected_sets.h.
#include "pairs/collected_sets.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "core/polled.h"
#include "set/set_decode.h"

namespace batmap {

CollectedSets::CollectedSets(const ExecutionOptions& options, bool may_spill, const SetKernel& kernel)
    : options_(options),
      kernel_(&kernel),
      may_spill_(may_spill && options.files != nullptr),
      sets_(*options.memory),
      ids_(*options.memory) {}

void CollectedSets::add(int64_t id, std::span<const std::byte> value) {
  const auto number = static_cast<uint32_t>(ids_.size());
  ids_.push_back(id);
  // The log and its files take up to the work memory while the sets are still there.
  const auto is_half = [&] {
    return options_.memory->available() < options_.memory->current() + options_.work_bytes + 2 * value.size();
  };
  if (!rows_ && may_spill_ && is_half()) {
    rows_ = std::make_unique<RowLog>(options_);
    for (uint32_t k = 0; k < sets_.size(); ++k) log(k, sets_[k]);
    sets_ = SetCollection(*options_.memory);
  }
  if (rows_)
    log(number, SetView::open(value));
  else
    sets_.add(id, value);
}

void CollectedSets::log(uint32_t number, const SetView& set) {
  SetReader reader(set, *kernel_, options_.cancel);
  uint64_t elements[kChunkElements];
  while (const size_t count = reader.next(elements)) {
    options_.cancel.throw_if_requested();
    for (size_t k = 0; k < count; ++k) rows_->append(static_cast<int64_t>(elements[k]), number);
  }
}

void CollectedSets::seal() {
  if (rows_) rows_->seal();
}

void CollectedSets::append_numbers(const std::vector<ChunkView>& list, RowLog& out) const {
  Buffer<uint32_t> by_id(*options_.memory, ids_.size());
  std::iota(by_id.begin(), by_id.end(), 0);
  std::sort(by_id.begin(), by_id.end(), polled(options_.cancel, [&](uint32_t x, uint32_t y) { return ids_[x] < ids_[y]; }));
  const auto number_of = [&](int64_t id) -> int64_t {
    const auto found = std::lower_bound(by_id.begin(), by_id.end(), id,
                                        [&](uint32_t number, int64_t wanted) { return ids_[number] < wanted; });
    return found != by_id.end() && ids_[*found] == id ? int64_t{*found} : -1;
  };
  TidItem rows[kChunkRows];
  for (const ChunkView& chunk : list) {
    options_.cancel.throw_if_requested();
    decode_chunk(chunk, rows);
    for (uint32_t k = 0; k < chunk.rows; ++k) out.append(number_of(rows[k].tid), number_of(rows[k].item));
  }
  out.seal();
}

void CollectedSets::rename(std::span<const uint32_t> new_id) {
  for (int64_t& id : ids_) id = new_id[static_cast<size_t>(id)];
  sets_.rename(new_id);
}

std::optional<int64_t> CollectedSets::repeated_id() const {
  Buffer<int64_t> ids(*options_.memory, ids_.size());
  std::copy(ids_.begin(), ids_.end(), ids.begin());
  if (!std::is_sorted(ids.begin(), ids.end())) std::sort(ids.begin(), ids.end(), polled(options_.cancel, std::less<>()));
  const auto found = std::adjacent_find(ids.begin(), ids.end());
  if (found == ids.end()) return std::nullopt;
  return *found;
}

}  // namespace batmap
