// Levels in the memory of this machine. See row_levels.h.
#include "itemsets/search/row_levels.h"

#include <stdexcept>

namespace batmap {

uint64_t RowLevels::extend_rows(const Step&, GrowingBuffer<JoinedItemset>&) {
  throw std::logic_error("these levels are not joined as a whole");
}

/// Room for the level above the top.
uint64_t* HostLevels::room(size_t rows) {
  if (levels_.size() == top_ + 1) levels_.emplace_back();
  Buffer<uint64_t>& buffer = levels_[top_ + 1].rows;
  if (buffer.size() < rows * bits_.words()) {
    buffer.reset();
    buffer = Buffer<uint64_t>(*options_.memory, rows * bits_.words());
  }
  return buffer.data();
}

void HostLevels::count(std::span<JoinedItemset> candidates) {
  const size_t words = bits_.words();
  for (size_t first = 0, last = 0; first < candidates.size(); first = last) {
    // Neighbouring partners are counted in one call.
    const JoinedItemset& begin = candidates[first];
    while (last < candidates.size() && candidates[last].parent == begin.parent &&
           candidates[last].other - begin.other == last - first)
      ++last;
    const size_t run = last - first;
    if (supports_.size() < run) supports_.resize(run);
    bits_.count(rows() + begin.parent * words, rows() + begin.other * words, run, supports_.data());
    for (size_t k = 0; k < run; ++k) candidates[first + k].support = supports_[k];
    poll_.after(run * (words + 32));
  }
}

void HostLevels::push(std::span<const JoinedItemset> kept) {
  const size_t words = bits_.words();
  uint64_t* to = room(kept.size());
  for (const JoinedItemset& itemset : kept) {
    bits_.intersect(rows() + itemset.parent * words, rows() + itemset.other * words, to);
    to += words;
    poll_.after(words);
  }
  levels_[++top_].size = kept.size();
}

void HostLevels::drop_lower() {
  for (size_t level = 0; level < top_; ++level) levels_[level].rows.reset();
}

void HostLevels::extend_row(uint32_t row, uint32_t min_count, uint32_t fold_support, std::vector<JoinedItemset>& found) {
  const size_t words = bits_.words();
  const size_t later = levels_[top_].size - row - 1;
  const uint64_t* const own = rows() + row * words;
  found.clear();
  if (supports_.size() < later) supports_.resize(later);
  bits_.count(own, own + words, later, supports_.data());
  poll_.after(later * (words + 8));
  uint64_t* const to = room(later);
  size_t packed = 0;
  for (size_t j = 0; j < later; ++j) {
    if (supports_[j] < min_count) continue;
    found.push_back({row, row + 1 + static_cast<uint32_t>(j), supports_[j]});
    if (supports_[j] != fold_support) bits_.intersect(own, own + (j + 1) * words, to + packed++ * words);
  }
  levels_[++top_].size = packed;
}

}  // namespace batmap
