// The items of all kept itemsets lie in one array. See best_itemsets.h.
#include "itemsets/answers/best_itemsets.h"

#include <algorithm>
#include <atomic>
#include <utility>

namespace batmap {

bool BestItemsets::better(uint32_t support, std::span<const Rank> items, const Kept& than) const {
  if (support != than.support) return support > than.support;
  if (items.size() != than.length) return items.size() < than.length;
  const std::span<const Rank> others = items_of(than);
  return std::lexicographical_compare(items.begin(), items.end(), others.begin(), others.end(),
                                      [this](Rank a, Rank b) { return values_[index_of(a)] < values_[index_of(b)]; });
}

void BestItemsets::take(std::span<const ItemsetStep> steps) {
  for (const ItemsetStep& step : steps) {
    prefix_.resize(step.length - 1);
    prefix_.push_back(step.item);
    if (step.support == 0 || (best_.is_full() && step.support < best_.worst().support)) continue;
    ordered_ = prefix_;
    std::sort(ordered_.begin(), ordered_.end(),
              [this](Rank a, Rank b) { return values_[index_of(a)] < values_[index_of(b)]; });
    keep(step.support);
  }
}

void BestItemsets::keep(uint32_t support) {
  const auto in_order = [this](const Kept& x, const Kept& y) { return better(x.support, items_of(x), y); };
  if (best_.is_full()) {
    if (!better(support, ordered_, best_.worst())) return;
    used_ -= best_.drop_worst(in_order).length;
    if (ranks_.size() > 2 * used_ + 4096) close_gaps();
  }
  const size_t begin = ranks_.size();
  std::copy(ordered_.begin(), ordered_.end(), ranks_.room(ordered_.size()));
  ranks_.add(ordered_.size());
  used_ += ordered_.size();
  best_.add({begin, static_cast<uint32_t>(ordered_.size()), support}, in_order);
  if (!best_.is_full()) return;
  const Kept& worst = best_.worst();
  bounds_.min_count.store(std::max(bounds_.threshold(), worst.support), std::memory_order_relaxed);
  bounds_.longest_tie.store(worst.support == bounds_.threshold() ? worst.length : UINT32_MAX, std::memory_order_relaxed);
}

void BestItemsets::close_gaps() {
  GrowingBuffer<Rank> packed(*options_.memory);
  for (Kept& kept : best_.entries()) {
    const std::span<const Rank> items = items_of(kept);
    std::copy(items.begin(), items.end(), packed.room(items.size()));
    kept.begin = packed.size();
    packed.add(items.size());
  }
  ranks_ = std::move(packed);
}

void BestItemsets::hand_over(ItemsetSink& sink) {
  best_.sort(options_.cancel, [this](const Kept& x, const Kept& y) { return better(x.support, items_of(x), y); });
  std::vector<ItemsetStep> steps;
  for (const Kept& kept : best_.entries()) {
    uint32_t length = 0;
    for (const Rank rank : items_of(kept)) steps.push_back({rank, ++length, length == kept.length ? kept.support : 0});
    if (steps.size() < 4096) continue;
    options_.cancel.throw_if_requested();
    sink.take(steps);
    steps.clear();
  }
  sink.take(steps);
}

}  // namespace batmap
