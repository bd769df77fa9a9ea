// Method `horizontal`: for each item, the later items of each of its transactions are counted into one row of
// counters (items x 4 bytes a thread). Random accesses are prefetched some tails ahead. A row that was touched in
// few places is collected by walking its tails again instead of scanning it. See pair_counter.h.
#include <algorithm>

#include "core/thread_team.h"
#include "support/pair_counter.h"

namespace batmap {

namespace {

// Tails between the prefetch and the use: far enough to hide a miss, near enough not to be evicted.
constexpr size_t kPrefetchAhead = 16;
// Increments between two looks at the cancel token: some tens of microseconds.
constexpr uint64_t kPollEvery = 1 << 16;
// A row is collected by its tails when that touches less than this share of it.
constexpr uint64_t kSparseShare = 8;
constexpr uint64_t kTaskIncrements = 1 << 20;
constexpr uint64_t kTaskPairs = 1 << 16;

template <typename Item>
class HorizontalCounter final : public PairCounter {
 public:
  HorizontalCounter(Transactions transactions, uint32_t leading, const ExecutionOptions& options)
      : data_(std::move(transactions)),
        items_(std::get<Buffer<Item>>(data_.items)),
        options_(options),
        item_count_(static_cast<uint32_t>(data_.support.size())) {
    Buffer<uint64_t> increments(*options.memory, leading);
    parallel_for(options, (size_t{leading} + 1023) / 1024, [&](size_t block, int) {
      const auto from = static_cast<uint32_t>(block * 1024);
      for (uint32_t item = from; item < std::min(leading, from + 1024); ++item) {
        increments[item] = 0;
        for (const Tail& tail : data_.tails_of(item)) increments[item] += tail.length;
      }
    });
    // Tasks of about equal work, and of bounded result.
    uint64_t work = 0;
    uint64_t pairs = 0;
    task_begin_.push_back(0);
    for (uint32_t item = 0; item < leading; ++item) {
      work += increments[item] + 64;
      pairs += std::min<uint64_t>(increments[item], item_count_ - item - 1);
      if (work >= kTaskIncrements || pairs >= kTaskPairs || item + 1 == leading) {
        task_begin_.push_back(item + 1);
        work = pairs = 0;
      }
    }
    for (int worker = 0; worker < options.threads; ++worker)
      counters_.push_back(Buffer<uint32_t>(*options.memory, item_count_, Fill::kZero));
  }

  size_t tasks() const override { return task_begin_.size() - 1; }
  std::span<const uint32_t> supports() const override { return data_.support.span(); }

  void count(size_t task, int worker, uint32_t threshold, GrowingBuffer<PairCount>& out) override {
    uint32_t* const counters = counters_[static_cast<size_t>(worker)].data();
    for (uint32_t item = task_begin_[task]; item < task_begin_[task + 1]; ++item) {
      if (data_.support[item] < threshold) continue;
      const uint64_t increments = increment(item, counters);
      if (increments == 0) continue;
      if (increments * kSparseShare < item_count_ - item)
        collect_by_tails(item, threshold, counters, out);
      else
        collect_by_scan(item, threshold, counters, out);
    }
  }

 private:
  uint64_t increment(uint32_t item, uint32_t* counters) {
    const std::span<const Tail> tails = data_.tails_of(item);
    const Item* const items = items_.data();
    uint64_t done = 0;
    uint64_t polled = 0;
    for (size_t k = 0; k < tails.size(); ++k) {
      if (k + kPrefetchAhead < tails.size()) __builtin_prefetch(items + tails[k + kPrefetchAhead].begin);
      const Item* const at = items + tails[k].begin;
      const uint32_t length = tails[k].length;
      for (uint32_t i = 0; i < length; ++i) ++counters[at[i]];
      done += length;
      if (done + k - polled >= kPollEvery) {
        polled = done + k;
        options_.cancel.throw_if_requested();
      }
    }
    return done;
  }

  void collect_by_scan(uint32_t item, uint32_t threshold, uint32_t* counters, GrowingBuffer<PairCount>& out) {
    constexpr uint32_t kGroup = 16;
    uint32_t other = item + 1;
    for (; other + kGroup <= item_count_; other += kGroup) {
      uint32_t largest = 0;
      for (uint32_t i = 0; i < kGroup; ++i) largest = std::max(largest, counters[other + i]);
      if (largest == 0) continue;
      if (largest >= threshold) {
        PairCount* at = out.room(kGroup);
        size_t found = 0;
        for (uint32_t i = 0; i < kGroup; ++i) {
          at[found] = {item, other + i, counters[other + i]};
          found += counters[other + i] >= threshold;
        }
        out.add(found);
      }
      std::fill_n(counters + other, kGroup, 0);
    }
    for (; other < item_count_; ++other) {
      if (counters[other] >= threshold) out.push_back({item, other, counters[other]});
      counters[other] = 0;
    }
  }

  void collect_by_tails(uint32_t item, uint32_t threshold, uint32_t* counters, GrowingBuffer<PairCount>& out) {
    const size_t first = out.size();
    for (const Tail& tail : data_.tails_of(item)) {
      const Item* const at = items_.data() + tail.begin;
      for (uint32_t i = 0; i < tail.length; ++i) {
        const uint32_t count = std::exchange(counters[at[i]], 0);
        if (count >= threshold) out.push_back({item, at[i], count});
      }
    }
    std::sort(out.begin() + first, out.end(), [](const PairCount& x, const PairCount& y) { return x.b < y.b; });
  }

  Transactions data_;
  const Buffer<Item>& items_;
  const ExecutionOptions& options_;
  uint32_t item_count_;
  std::vector<uint32_t> task_begin_;
  std::vector<Buffer<uint32_t>> counters_;  // [threads][items] all zero between items, unless a run was given up
};

}  // namespace

std::unique_ptr<PairCounter> count_horizontally(Transactions transactions, uint32_t leading,
                                                const ExecutionOptions& options) {
  if (std::holds_alternative<Buffer<uint16_t>>(transactions.items))
    return std::make_unique<HorizontalCounter<uint16_t>>(std::move(transactions), leading, options);
  return std::make_unique<HorizontalCounter<uint32_t>>(std::move(transactions), leading, options);
}

}  // namespace batmap
