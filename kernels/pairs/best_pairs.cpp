// The k best of all pairs, and of the pairs of each item. See best_pairs.h.
#include "pairs/best_pairs.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "core/polled.h"

namespace batmap {

double pair_jaccard(const PairRow& row) {
  return static_cast<double>(row.support) / static_cast<double>(row.support_a + row.support_b - row.support);
}

double PairRanking::score(const PairRow& row) const {
  if (measure == PairMeasure::kSupport) return static_cast<double>(row.support);  // exact below 2^53
  const double value = pair_measure(measure, {.both = static_cast<double>(row.support),
                                              .a = static_cast<double>(row.support_a),
                                              .b = static_cast<double>(row.support_b),
                                              .total = total});
  return std::isnan(value) ? -std::numeric_limits<double>::infinity() : value;
}

bool BestPairs::better(const Scored& x, const Scored& y) {
  return std::tuple(y.score, x.row.item_a, x.row.item_b) < std::tuple(x.score, y.row.item_a, y.row.item_b);
}

void BestPairs::offer(const PairRow& row) { best_.offer({row, ranking_.score(row)}, better); }

GrowingBuffer<PairRow> BestPairs::take(const CancelToken& cancel) {
  best_.sort(cancel, better);
  GrowingBuffer<PairRow> rows(*meter_);
  rows.room(best_.size());
  for (const Scored& kept : best_.entries()) {
    if (rows.size() % 65536 == 0) cancel.throw_if_requested();
    rows.push_back(kept.row);
  }
  best_.reset();
  return rows;
}

BestPairsPerItem::BestPairsPerItem(MemoryMeter& meter, uint32_t k, const int64_t* values, uint32_t items)
    : meter_(&meter), values_(values) {
  best_.reserve(items);
  for (uint32_t item = 0; item < items; ++item) best_.emplace_back(meter, k);
}

bool BestPairsPerItem::better(const Partner& x, const Partner& y) const {
  return std::tuple(y.score, values_[x.rank]) < std::tuple(x.score, values_[y.rank]);
}

void BestPairsPerItem::offer_to(uint32_t item, uint32_t partner, uint64_t support, double score) {
  best_[item].offer({partner, support, score}, [this](const Partner& x, const Partner& y) { return better(x, y); });
}

void BestPairsPerItem::offer(uint32_t a, uint32_t b, uint64_t support, double score) {
  offer_to(a, b, support, score);
  offer_to(b, a, support, score);
}

GrowingBuffer<BestPairsPerItem::Kept> BestPairsPerItem::take(const CancelToken& cancel) {
  GrowingBuffer<Kept> kept(*meter_);
  for (uint32_t item = 0; item < best_.size(); ++item) {
    if (item % 4096 == 0) cancel.throw_if_requested();
    for (const Partner& partner : best_[item].entries())
      kept.push_back({std::min(item, partner.rank), std::max(item, partner.rank), partner.support});
    best_[item].reset();
  }
  auto key = [](const Kept& pair) { return std::tuple(pair.a, pair.b); };
  std::sort(kept.begin(), kept.end(), polled(cancel, [&](const Kept& x, const Kept& y) { return key(x) < key(y); }));
  auto* const last = std::unique(kept.begin(), kept.end(), [&](const Kept& x, const Kept& y) { return key(x) == key(y); });
  kept.shrink(static_cast<size_t>(last - kept.begin()));
  return kept;
}

GrowingBuffer<BestPairsPerItem::Kept> BestPairsPerItem::take_partners(const CancelToken& cancel) {
  Buffer<uint32_t> order(*meter_, best_.size());
  for (uint32_t item = 0; item < best_.size(); ++item) order[item] = item;
  std::sort(order.begin(), order.end(), polled(cancel, [this](uint32_t x, uint32_t y) { return values_[x] < values_[y]; }));
  GrowingBuffer<Kept> kept(*meter_);
  for (const uint32_t item : order.span()) {
    best_[item].sort(cancel, [this](const Partner& x, const Partner& y) { return better(x, y); });
    for (const Partner& partner : best_[item].entries()) kept.push_back({item, partner.rank, partner.support});
    best_[item].reset();
  }
  return kept;
}

}  // namespace batmap
