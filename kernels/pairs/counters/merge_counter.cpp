// Method `merge`: sorted tidlists are merged pair by pair. Lists of similar length are merged without
// branches on the data. If one is much longer, the shorter one gallops through it (doubling steps, then
// binary search). The method is simple enough to check the others, and the best one for few pairs of very
// unequal lists. See pair_counter.h. Source: standard.
#include <algorithm>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "pairs/counters/pair_counter.h"

namespace batmap {

namespace {

constexpr size_t kGallopFrom = 16;           // ratio of lengths from which on galloping is cheaper
constexpr uint64_t kTaskElements = 1 << 22;  // about 16 ms of merging

/// @tparam kStops  stop at `enough`
template <bool kStops>
uint32_t merge_count(std::span<const uint32_t> a, std::span<const uint32_t> b, uint32_t enough) {
  uint32_t common = 0;
  const uint32_t *x = a.data(), *y = b.data();
  const uint32_t *const x_end = x + a.size(), *const y_end = y + b.size();
  while (x < x_end && y < y_end) {
    const uint32_t u = *x, v = *y;
    common += u == v;
    if (kStops && common == enough) break;
    x += u <= v;
    y += v <= u;
  }
  return common;
}

uint32_t gallop_count(std::span<const uint32_t> few, std::span<const uint32_t> many, uint32_t enough) {
  uint32_t common = 0;
  const uint32_t* at = many.data();
  const uint32_t* const end = at + many.size();
  for (const uint32_t tid : few) {
    size_t step = 1;
    const auto room = static_cast<size_t>(end - at);
    while (step < room && at[step] < tid) step *= 2;
    at = std::lower_bound(at + step / 2, at + std::min(step + 1, room), tid);
    if (at == end) break;
    common += *at == tid;
    if (common == enough) break;
  }
  return common;
}

class MergeCounter final : public PairCounter {
 public:
  MergeCounter(Tidlists lists, const WantedPairs& pairs, const ExecutionOptions& options)
      : lists_(std::move(lists)),
        pairs_(pairs),
        options_(options),
        item_count_(static_cast<uint32_t>(lists_.length.size())) {
    uint64_t work = 0;
    uint64_t results = 0;
    task_begin_.push_back(0);
    for (uint32_t item = 0; item < pairs.leading; ++item) {
      const uint32_t first = pairs.first_after(item);
      results += item_count_ - first;
      max_results_ = std::max(max_results_, results);
      work += lists_.begin[item_count_] - lists_.begin[first] + uint64_t{item_count_ - first} * lists_.length[item];
      if (work >= kTaskElements || item + 1 == pairs.leading) {
        task_begin_.push_back(item + 1);
        work = results = 0;
      }
    }
  }

  size_t tasks() const override { return task_begin_.size() - 1; }
  uint64_t max_results() const override { return max_results_; }
  std::span<const uint32_t> supports() const override { return lists_.length.span(); }

  void count(size_t task, int, uint32_t threshold, GrowingBuffer<PairCount>& out) override {
    const auto merge = pairs_.enough == UINT32_MAX ? merge_count<false> : merge_count<true>;
    uint64_t work = 0;
    for (uint32_t a = task_begin_[task]; a < task_begin_[task + 1]; ++a) {
      const std::span<const uint32_t> list_a = std::as_const(lists_).list(a);
      if (list_a.size() < threshold) continue;
      for (uint32_t b = pairs_.first_after(a); b < item_count_; ++b) {
        const std::span<const uint32_t> list_b = std::as_const(lists_).list(b);
        if (list_b.size() < threshold) continue;
        const auto& [few, many] = std::minmax(list_a, list_b, [](auto& x, auto& y) { return x.size() < y.size(); });
        const auto count_common = few.size() * kGallopFrom < many.size() ? gallop_count : merge;
        const uint32_t common = count_common(few, many, pairs_.enough);
        if (common >= threshold) out.push_back({a, b, common});
        if ((work += few.size() + many.size() + 16) >= kPollEvery) {
          work = 0;
          options_.cancel.throw_if_requested();
        }
      }
    }
  }

 private:
  Tidlists lists_;
  WantedPairs pairs_;
  const ExecutionOptions& options_;
  uint32_t item_count_;
  std::vector<uint32_t> task_begin_;
  uint64_t max_results_ = 0;
};

}  // namespace

std::unique_ptr<PairCounter> count_by_merging(Tidlists lists, const WantedPairs& pairs, const ExecutionOptions& options) {
  return std::make_unique<MergeCounter>(std::move(lists), pairs, options);
}

}  // namespace batmap
