// The k best of the rules that are offered. "Better" means: larger measure, then larger support, then fewer
// items, then smaller items of the lhs, then of the rhs. A rule whose measure is undefined (0 / 0) is not kept.
// Cost: 40 bytes a rule, and 8 bytes for each item of the longest rule. Source: ours.
#pragma once

#include <cstdint>
#include <span>

#include "core/best_k.h"
#include "core/options.h"

namespace batmap {

constexpr uint64_t kScoreWork = 1 << 9;  // steps charged for a score: some measures take a tenth of a millisecond

struct RuleCounts {
  uint32_t support;
  uint32_t lhs_support;
  uint32_t rhs_support;
};

class BestRules {
 public:
  /// @param longest  items of the longest rule, both sides together
  BestRules(uint64_t k, size_t longest, MemoryMeter& meter) : longest_(longest), best_(meter, k), items_(meter) {}

  /// @param items  the lhs, then the rhs; each side ascending
  /// @throws Error{kMemoryLimit}, std::bad_alloc
  void offer(double score, const RuleCounts& counts, std::span<const int64_t> items, uint32_t lhs_length);

  /// Offers the rules of another object. @throws also Error{kCancelled}
  void merge(const BestRules& other, const CancelToken& cancel);

  /// Orders the rules, best first. Nothing may be offered afterwards.
  void sort(const CancelToken& cancel);

  size_t size() const { return best_.size(); }
  const RuleCounts& counts(size_t index) const { return best_.entries()[index].counts; }
  uint32_t lhs_length(size_t index) const { return best_.entries()[index].lhs_length; }
  std::span<const int64_t> items(size_t index) const { return items_of(best_.entries()[index]); }

 private:
  struct Rule {
    double score;
    RuleCounts counts;
    uint32_t lhs_length;
    uint32_t length;
    uint32_t slot;  // its items begin at slot * longest_
  };

  std::span<const int64_t> items_of(const Rule& rule) const { return {items_.begin() + rule.slot * longest_, rule.length}; }
  bool is_better(const Rule& a, std::span<const int64_t> a_items, const Rule& b, std::span<const int64_t> b_items) const;
  bool is_better(const Rule& a, const Rule& b) const { return is_better(a, items_of(a), b, items_of(b)); }

  size_t longest_;
  BestK<Rule> best_;
  GrowingBuffer<int64_t> items_;
};

}  // namespace batmap
