// Method `horizontal`: for each item, its partners in each of its transactions are counted in one row of counters
// (partners x 4 bytes a thread). Tails are prefetched some steps ahead. If few counters of a row were touched,
// the row is collected by walking its tails again instead of scanning it. If an item has few partners, they are
// sorted instead, without counters. If counts end at `enough` < 256,
// counters are bytes that stop there, and an item ends when all its counters have stopped. See pair_counter.h.
#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "core/thread_team.h"
#include "pairs/counters/marked_indexes.h"
#include "pairs/counters/pair_counter.h"
#include "pairs/counters/row_tasks.h"

namespace batmap {

namespace {

// Tails between prefetch and use: far enough to hide a miss, and near enough not to be evicted.
constexpr size_t kPrefetchAhead = 16;
constexpr uint32_t kFewItems = 16;  // of a tail: the line of the last one is prefetched, too
// A row is collected by its tails if that touches less than this fraction of it.
constexpr uint64_t kSparseShare = 8;
// An item with at most so many partners in its transactions has them sorted: the instance papers of bench/run peers.
constexpr size_t kFewPartners = 32;
// Tails between prefetch and use if items have few of them, so that they are used sooner.
constexpr size_t kFewPrefetchAhead = 64;
// Increments a counter between two checks whether all counters have enough.
constexpr uint64_t kIncrementsPerLook = 8;

/// @tparam Counter  uint32_t: exact counts; uint8_t: counts end at `enough`
template <typename Item, typename Counter>
class HorizontalCounter final : public PairCounter {
 public:
  HorizontalCounter(Transactions transactions, const WantedPairs& pairs, const ExecutionOptions& options)
      : data_(std::move(transactions)),
        items_(std::get<Buffer<Item>>(data_.items)),
        options_(options),
        pairs_(pairs),
        column_count_(static_cast<uint32_t>(data_.support.size()) - pairs.first_column) {
    const uint32_t leading = pairs.leading;
    Buffer<uint64_t> increments(*options.memory, leading);
    parallel_for(options, (size_t{leading} + 1023) / 1024, [&](size_t block, int) {
      const auto from = static_cast<uint32_t>(block * 1024);
      for (uint32_t item = from; item < std::min(leading, from + 1024); ++item) {
        increments[item] = 0;
        for (const Tail& tail : data_.tails_of(item)) increments[item] += tail.length;
      }
    });
    tasks_.emplace(leading, kTaskIncrements, options.threads, [&](uint32_t item) -> RowCost {
      const uint64_t columns = column_count_ - first_column_of(item);
      return {.work = increments[item] + 64, .results = std::min(increments[item] / pairs.min_count, columns)};
    });
    for (int worker = 0; worker < options.threads; ++worker) rows_.emplace_back(*options.memory, column_count_);
  }

  size_t tasks() const override { return tasks_->size(); }
  uint64_t max_results() const override { return tasks_->max_results(); }
  std::span<const uint32_t> supports() const override { return data_.support.span(); }

  void count(size_t task, int worker, uint32_t threshold, GrowingBuffer<PairCount>& out) override {
    Row& row = rows_[static_cast<size_t>(worker)];
    Counter* const counters = row.counters.data();
    for (uint32_t item = tasks_->begin(task); item < tasks_->end(task); ++item) {
      if (data_.support[item] < threshold) continue;
      if (count_few(item, threshold, out)) continue;
      const uint64_t increments = increment(item, counters);
      if (increments == 0) continue;
      if (increments * kSparseShare < column_count_ - first_column_of(item))
        collect_by_tails(item, threshold, row, out);
      else
        collect_by_scan(item, threshold, counters, out);
    }
  }

 private:
  /// The counters of one item at a time. All are zero and unmarked between two items, unless the run was abandoned.
  struct Row {
    Row(MemoryMeter& meter, uint32_t columns) : counters(meter, columns, Fill::kZero), wanted(meter, columns) {}
    Buffer<Counter> counters;  // [columns]
    MarkedIndexes wanted;
  };

  /// Columns are ranks less pairs_.first_column. @return the first column that is a partner of the item
  uint32_t first_column_of(uint32_t item) const { return pairs_.first_after(item) - pairs_.first_column; }

  /// Counts an item that has few partners. @return false: it has more, and nothing is done
  bool count_few(uint32_t item, uint32_t threshold, GrowingBuffer<PairCount>& out) const {
    const std::span<const Tail> tails = data_.tails_of(item);
    if (tails.size() > kFewPartners) return false;
    uint64_t length = 0;
    for (const Tail& tail : tails) length += tail.length;
    if (length > kFewPartners) return false;
    const Item* const items = items_.data();
    const Tail* const all_tails_end = data_.tails.end();
    Item partners[kFewPartners];
    Item* end = partners;
    for (const Tail& tail : tails) {
      if (const Tail* const later = &tail + kFewPrefetchAhead; later < all_tails_end)
        __builtin_prefetch(items + later->begin);
      for (uint32_t i = 0; i < tail.length; ++i) *end++ = items[tail.begin + i];
    }
    std::sort(partners, end);
    for (const Item* at = partners; at != end;) {
      const Item* const next = std::find_if(at, const_cast<const Item*>(end), [at](Item other) { return other != *at; });
      const auto count = static_cast<uint32_t>(next - at);
      if (count >= threshold) out.push_back({item, pairs_.first_column + *at, count});
      at = next;
    }
    return true;
  }

  uint64_t increment(uint32_t item, Counter* counters) {
    const std::span<const Tail> tails = data_.tails_of(item);
    const Item* const items = items_.data();
    const Tail* const all_tails_end = data_.tails.end();
    uint64_t done = 0;
    uint64_t polled = 0;
    const uint32_t first = first_column_of(item);
    [[maybe_unused]] const uint32_t enough = pairs_.enough;
    uint64_t next_look = kIncrementsPerLook * (column_count_ - first);
    for (size_t k = 0; k < tails.size(); ++k) {
      // Perhaps a tail of the next items: those follow in memory.
      if (const Tail* const later = tails.data() + k + kPrefetchAhead; later < all_tails_end) {
        __builtin_prefetch(items + later->begin);
        __builtin_prefetch(items + later->begin + std::min(later->length, kFewItems));
      }
      const Item* const at = items + tails[k].begin;
      const uint32_t length = tails[k].length;
      if constexpr (kExact) {
        for (uint32_t i = 0; i < length; ++i) ++counters[at[i]];
      } else {
        for (uint32_t i = 0; i < length; ++i) {
          Counter& counter = counters[at[i]];
          counter = static_cast<Counter>(counter + (counter < enough));
        }
      }
      done += length;
      if (!kExact && done >= next_look) {
        next_look = done + kIncrementsPerLook * (column_count_ - first);
        if (std::all_of(counters + first, counters + column_count_, [&](Counter c) { return c == enough; })) break;
      }
      if (done + k - polled >= kPollEvery) {
        polled = done + k;
        options_.cancel.throw_if_requested();
      }
    }
    return done;
  }

  void collect_by_scan(uint32_t item, uint32_t threshold, Counter* counters, GrowingBuffer<PairCount>& out) {
    constexpr uint32_t kGroup = 16;
    uint32_t other = first_column_of(item);
    for (; other + kGroup <= column_count_; other += kGroup) {
      Counter max_count = 0;
      for (uint32_t i = 0; i < kGroup; ++i) max_count = std::max(max_count, counters[other + i]);
      if (max_count == 0) continue;
      if (max_count >= threshold) {
        PairCount* at = out.room(kGroup);
        size_t found = 0;
        for (uint32_t i = 0; i < kGroup; ++i) {
          at[found] = {item, pairs_.first_column + other + i, counters[other + i]};
          found += counters[other + i] >= threshold;
        }
        out.add(found);
      }
      std::fill_n(counters + other, kGroup, 0);
    }
    for (; other < column_count_; ++other) {
      if (counters[other] >= threshold) out.push_back({item, pairs_.first_column + other, counters[other]});
      counters[other] = 0;
    }
  }

  void collect_by_tails(uint32_t item, uint32_t threshold, Row& row, GrowingBuffer<PairCount>& out) {
    Counter* const counters = row.counters.data();
    uint64_t wanted = 0;
    for (const Tail& tail : data_.tails_of(item)) {
      const Item* const at = items_.data() + tail.begin;
      for (uint32_t i = 0; i < tail.length; ++i) {
        if (counters[at[i]] >= threshold) {
          row.wanted.mark(at[i]);
          ++wanted;
        } else {
          counters[at[i]] = 0;
        }
      }
    }
    if (wanted == 0) return;
    PairCount* to = out.room(std::min<uint64_t>(wanted, column_count_));
    const PairCount* const begin = to;
    row.wanted.visit([&](size_t index) {
      *to++ = {item, pairs_.first_column + static_cast<uint32_t>(index), std::exchange(counters[index], 0)};
    });
    out.add(static_cast<size_t>(to - begin));
  }

  static constexpr bool kExact = sizeof(Counter) == sizeof(uint32_t);

  Transactions data_;
  const Buffer<Item>& items_;
  const ExecutionOptions& options_;
  WantedPairs pairs_;
  uint32_t column_count_;
  std::optional<RowTasks> tasks_;
  std::vector<Row> rows_;  // [threads]
};

template <typename Item>
std::unique_ptr<PairCounter> make_counter(Transactions transactions, const WantedPairs& pairs,
                                          const ExecutionOptions& options) {
  if (pairs.enough <= UINT8_MAX)
    return std::make_unique<HorizontalCounter<Item, uint8_t>>(std::move(transactions), pairs, options);
  return std::make_unique<HorizontalCounter<Item, uint32_t>>(std::move(transactions), pairs, options);
}

}  // namespace

std::unique_ptr<PairCounter> count_horizontally(Transactions transactions, const WantedPairs& pairs,
                                                const ExecutionOptions& options) {
  if (std::holds_alternative<Buffer<uint16_t>>(transactions.items))
    return make_counter<uint16_t>(std::move(transactions), pairs, options);
  return make_counter<uint32_t>(std::move(transactions), pairs, options);
}

}  // namespace batmap
