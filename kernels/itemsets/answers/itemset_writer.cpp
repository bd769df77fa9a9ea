// Subsets of perfect extensions. See itemset_writer.h.
#include "itemsets/answers/itemset_writer.h"

#include <algorithm>

namespace batmap {

ItemsetWriter::ItemsetWriter(ItemsetSink& sink, const ItemsetLengths& lengths, uint32_t max_support,
                             const SearchBounds& bounds, const ExecutionOptions& options)
    : sink_(sink),
      lengths_(lengths),
      max_support_(max_support),
      all_wanted_(lengths.min <= 1 && lengths.max == UINT32_MAX && max_support == UINT32_MAX),
      bounds_(bounds),
      cancel_(options.cancel),
      steps_(*options.memory, kSteps) {}

void ItemsetWriter::push(Rank item) {
  perfect_.push_back(item);
  const size_t height = perfect_.size();
  if (height > kListed) return;
  const std::vector<Listed>& before = lists_[height - 1];
  std::vector<Listed>& list = lists_[height];
  list.clear();
  list.push_back({item, 1});
  for (const Listed& listed : before) list.push_back({listed.item, listed.length + 1});
  list.insert(list.end(), before.begin(), before.end());
}

void ItemsetWriter::write_subsets(size_t extensions, uint32_t length, uint32_t support) {
  waiting_.push_back({extensions, length});
  while (!waiting_.empty()) {
    const Subsets next = waiting_.back();
    waiting_.pop_back();
    const uint32_t max_length = std::min(lengths_.max, bounds_.longest(support));
    if (next.length >= max_length || next.length + next.extensions < lengths_.min) continue;
    if (next.extensions > kListed) {
      put(perfect_[next.extensions - 1], next.length + 1, support);
      waiting_.push_back({next.extensions - 1, next.length});
      waiting_.push_back({next.extensions - 1, next.length + 1});
      continue;
    }
    for (const Listed& listed : lists_[next.extensions])
      if (next.length + listed.length <= max_length) put(listed.item, next.length + listed.length, support);
  }
}

void ItemsetWriter::flush() {
  cancel_.throw_if_requested();
  if (used_ != 0) sink_.take({steps_.data(), used_});
  used_ = 0;
}

}  // namespace batmap
