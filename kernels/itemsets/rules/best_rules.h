// The k best of the rules that are offered: the larger measure, then the larger support, fewer items, then the smaller items
// of lhs and rhs. A rule without a measure (0 / 0) is none. Cost: 40 bytes a rule and 8 for each item of the longest one.
// Source: ours.
#pragma once

#include <cstdint>
#include <span>

#include "core/options.h"

namespace batmap {

struct RuleCounts {
  uint32_t support;
  uint32_t lhs_support;
  uint32_t rhs_support;
};

class BestRules {
 public:
  /// @param longest  items of a rule, both sides
  BestRules(uint64_t k, size_t longest, MemoryMeter& meter) : k_(k), longest_(longest), best_(meter), items_(meter) {}

  /// @param items  of both sides, the lhs first, each ascending
  /// @throws Error{kMemoryLimit}, std::bad_alloc
  void offer(double score, const RuleCounts& counts, std::span<const int64_t> items, uint32_t lhs_length);

  /// Offers the rules of another. @throws also Error{kCancelled}
  void merge(const BestRules& other, const CancelToken& cancel);

  /// Best first, from then on; nothing is offered after that.
  void sort(const CancelToken& cancel);

  size_t size() const { return best_.size(); }
  const RuleCounts& counts(size_t place) const { return best_[place].counts; }
  uint32_t lhs_length(size_t place) const { return best_[place].lhs_length; }
  std::span<const int64_t> items(size_t place) const { return items_of(best_[place]); }

 private:
  struct Rule {
    double score;
    RuleCounts counts;
    uint32_t lhs_length;
    uint32_t length;
    uint32_t slot;  // of its items
  };

  std::span<const int64_t> items_of(const Rule& rule) const { return {items_.begin() + rule.slot * longest_, rule.length}; }
  bool is_better(const Rule& a, std::span<const int64_t> a_items, const Rule& b, std::span<const int64_t> b_items) const;
  bool is_better(const Rule& a, const Rule& b) const { return is_better(a, items_of(a), b, items_of(b)); }

  uint64_t k_;
  size_t longest_;
  GrowingBuffer<Rule> best_;  // a heap, the worst on top
  GrowingBuffer<int64_t> items_;
};

}  // namespace batmap
