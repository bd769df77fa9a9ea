// Bounded heaps of pairs. See best_pairs.h.
#include "support/best_pairs.h"

#include <algorithm>
#include <tuple>

#include "core/polled.h"

namespace batmap {

bool better_pair(const PairRow& x, const PairRow& y) {
  return std::tuple(y.support, x.item_a, x.item_b) < std::tuple(x.support, y.item_a, y.item_b);
}

void BestPairs::offer(const PairRow& row) {
  if (heap_.size() < k_) {
    heap_.push_back(row);
    std::push_heap(heap_.begin(), heap_.end(), better_pair);
  } else if (k_ > 0 && better_pair(row, heap_[0])) {
    std::pop_heap(heap_.begin(), heap_.end(), better_pair);
    *(heap_.end() - 1) = row;
    std::push_heap(heap_.begin(), heap_.end(), better_pair);
  }
}

GrowingBuffer<PairRow> BestPairs::take(const CancelToken& cancel) {
  std::sort(heap_.begin(), heap_.end(), polled(cancel, better_pair));
  return std::move(heap_);
}

BestPairsPerItem::BestPairsPerItem(MemoryMeter& meter, uint32_t k, const int64_t* values, uint32_t items)
    : meter_(&meter), k_(k), values_(values) {
  heaps_.reserve(items);
  for (uint32_t item = 0; item < items; ++item) heaps_.emplace_back(meter);
}

bool BestPairsPerItem::better(const Partner& x, const Partner& y) const {
  return std::tuple(y.support, values_[x.rank]) < std::tuple(x.support, values_[y.rank]);
}

void BestPairsPerItem::offer_to(uint32_t item, Partner partner) {
  GrowingBuffer<Partner>& heap = heaps_[item];
  auto order = [this](const Partner& x, const Partner& y) { return better(x, y); };
  if (heap.size() < k_) {
    heap.push_back(partner);
    std::push_heap(heap.begin(), heap.end(), order);
  } else if (k_ > 0 && better(partner, heap[0])) {
    std::pop_heap(heap.begin(), heap.end(), order);
    *(heap.end() - 1) = partner;
    std::push_heap(heap.begin(), heap.end(), order);
  }
}

void BestPairsPerItem::offer(uint32_t a, uint32_t b, uint32_t support) {
  offer_to(a, {b, support});
  offer_to(b, {a, support});
}

GrowingBuffer<BestPairsPerItem::Kept> BestPairsPerItem::take(const CancelToken& cancel) {
  GrowingBuffer<Kept> kept(*meter_);
  for (uint32_t item = 0; item < heaps_.size(); ++item) {
    if (item % 4096 == 0) cancel.throw_if_requested();
    for (const Partner& partner : heaps_[item].span())
      kept.push_back({std::min(item, partner.rank), std::max(item, partner.rank), partner.support});
    heaps_[item].reset();
  }
  auto key = [](const Kept& pair) { return std::tuple(pair.a, pair.b); };
  std::sort(kept.begin(), kept.end(), polled(cancel, [&](const Kept& x, const Kept& y) { return key(x) < key(y); }));
  auto* const last = std::unique(kept.begin(), kept.end(), [&](const Kept& x, const Kept& y) { return key(x) == key(y); });
  kept.shrink(static_cast<size_t>(last - kept.begin()));
  return kept;
}

}  // namespace batmap
