// Kept rules, whose items lie in slots of one array. See best_rules.h.
#include "itemsets/rules/best_rules.h"

#include <algorithm>
#include <cmath>

#include "core/poll.h"

namespace batmap {

void BestRules::offer(double score, const RuleCounts& counts, std::span<const int64_t> items, uint32_t lhs_length) {
  if (std::isnan(score)) return;
  const auto better = [this](const Rule& a, const Rule& b) { return is_better(a, b); };
  Rule rule{score, counts, lhs_length, static_cast<uint32_t>(items.size()), static_cast<uint32_t>(best_.size())};
  if (best_.is_full()) {
    if (!is_better(rule, items, best_.worst(), items_of(best_.worst()))) return;
    rule.slot = best_.drop_worst(better).slot;
  } else {
    items_.room(longest_);
    items_.add(longest_);
  }
  std::ranges::copy(items, items_.begin() + rule.slot * longest_);
  best_.add(rule, better);
}

void BestRules::merge(const BestRules& other, const CancelToken& cancel) {
  Poll poll(cancel);
  for (const Rule& rule : other.best_.entries()) {
    offer(rule.score, rule.counts, other.items_of(rule), rule.lhs_length);
    poll.after(64);
  }
}

void BestRules::sort(const CancelToken& cancel) {
  best_.sort(cancel, [this](const Rule& a, const Rule& b) { return is_better(a, b); });
}

bool BestRules::is_better(const Rule& a, std::span<const int64_t> a_items, const Rule& b,
                          std::span<const int64_t> b_items) const {
  if (a.score != b.score) return a.score > b.score;
  if (a.counts.support != b.counts.support) return a.counts.support > b.counts.support;
  if (a.length != b.length) return a.length < b.length;
  const auto a_lhs = a_items.first(a.lhs_length);
  const auto b_lhs = b_items.first(b.lhs_length);
  if (!std::ranges::equal(a_lhs, b_lhs)) return std::ranges::lexicographical_compare(a_lhs, b_lhs);
  return std::ranges::lexicographical_compare(a_items, b_items);
}

}  // namespace batmap
