// Frontiers, step by step. See tracking.h.
#include "episodes/tracking.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <span>
#include <utility>

#include "core/polled.h"
#include "core/thread_team.h"
#include "episodes/counting_rule.h"

namespace batmap {

namespace {

bool same(const Gap& x, const Gap& y) { return x.low == y.low && x.high == y.high; }

FrontierView of_symbol(std::span<const int64_t> list) { return {list.data(), list.data(), list.size()}; }

// Events of a list that one task extends.
constexpr size_t kBlock = size_t{1} << 14;

struct Entries {
  Entries(MemoryMeter& meter, size_t max_entries) : ends(meter, max_entries), starts(meter, max_entries) {}
  FrontierView view() const { return {ends.data(), starts.data(), size}; }

  Buffer<int64_t> ends;
  Buffer<int64_t> starts;
  size_t size = 0;
};

/// One step, over blocks of the next symbol's list.
class Step {
 public:
  Step(FrontierView from, std::span<const int64_t> list, Gap gap, Entries& to, const ExecutionOptions& options)
      : from_(from), list_(list), gap_(gap), to_(to), options_(options), blocks_((list.size() + kBlock - 1) / kBlock) {}

  /// Each block counts its entries, the counts are summed up, and each block finds its entries again and writes them.
  void count_scan_write() {
    Buffer<size_t> at(*options_.memory, blocks_ + 1);
    parallel_for(options_, blocks_, [&](size_t block, int) {
      size_t count = 0;
      extend(block, [&](int64_t, int64_t) { ++count; });
      at[block + 1] = count;
    });
    at[0] = 0;
    for (size_t block = 0; block < blocks_; ++block) at[block + 1] += at[block];
    parallel_for(options_, blocks_, [&](size_t block, int) {
      extend(block, [this, to = at[block]](int64_t end, int64_t start) mutable {
        to_.ends[to] = end;
        to_.starts[to++] = start;
      });
    });
    to_.size = at[blocks_];
  }

  /// Each block collects its entries, takes room for them from a shared counter, and copies them there. Then all are sorted.
  void atomic() {
    std::atomic<size_t> used{0};
    std::vector<Entries> own;
    for (int worker = 0; worker < options_.threads; ++worker) own.emplace_back(*options_.memory, kBlock);
    parallel_for(options_, blocks_, [&](size_t block, int worker) {
      Entries& found = own[static_cast<size_t>(worker)];
      found.size = 0;
      extend(block, [&](int64_t end, int64_t start) {
        found.ends[found.size] = end;
        found.starts[found.size++] = start;
      });
      const size_t at = used.fetch_add(found.size, std::memory_order_relaxed);
      std::copy_n(found.ends.begin(), found.size, to_.ends.begin() + at);
      std::copy_n(found.starts.begin(), found.size, to_.starts.begin() + at);
    });
    to_.size = used;
    // Starts ascend with the ends, so each column can be sorted by itself.
    for (Buffer<int64_t>* const column : {&to_.ends, &to_.starts})
      if (!std::is_sorted(column->begin(), column->begin() + to_.size))
        std::sort(column->begin(), column->begin() + to_.size, polled(options_.cancel, std::less<>()));
  }

 private:
  template <typename Take>
  void extend(size_t block, Take take) const {
    const std::span<const int64_t> events = list_.subspan(block * kBlock, std::min(kBlock, list_.size() - block * kBlock));
    extend_frontier(entries_for(from_, events, gap_), events, gap_, take);
  }

  FrontierView from_;
  std::span<const int64_t> list_;
  Gap gap_;
  Entries& to_;
  const ExecutionOptions& options_;
  size_t blocks_;
};

}  // namespace

uint64_t count_entries(const EventAxisView& view, FrontierView frontier, int64_t& blocked_to, const CancelToken& cancel) {
  return with_rule(view, blocked_to, [&](auto rule) {
    for (size_t k = 0; k < frontier.size; ++k) {
      if (k % (size_t{1} << 16) == 0) cancel.throw_if_requested();
      rule.take(frontier.ends[k], frontier.starts[k]);
    }
    return rule;
  });
}

uint64_t count_symbol(const EventAxisView& view, uint32_t symbol, int64_t& blocked_to, const CancelToken& cancel) {
  const std::span<const int64_t> list = view.list(symbol);
  if (view.counts_streams()) return count_entries(view, of_symbol(list), blocked_to, cancel);
  // Its events do not overlap.
  const auto first = std::upper_bound(list.begin(), list.end(), blocked_to);
  if (!list.empty()) blocked_to = std::max(blocked_to, list.back());
  return static_cast<uint64_t>(list.end() - first);
}

FrontierView Tracker::level(size_t length) const {
  if (length > 1) return levels_[length - 2].view();
  return of_symbol(is_carried_ ? first_level_.span() : view_.list(first_));
}

void Tracker::start(uint32_t symbol, std::span<Occurrence> carried) {
  first_ = symbol;
  is_carried_ = !carried.empty();
  if (!is_carried_) return;
  const std::span<const int64_t> list = view_.list(symbol);
  first_level_.shrink(0);
  first_level_.room(list.size() + 1);
  if (carried[0] != kNoOccurrence) first_level_.push_back(carried[0].end);
  std::copy(list.begin(), list.end(), first_level_.end());
  first_level_.add(list.size());
}

/// Sets the entry of the first `length` symbols that the next piece needs.
void Tracker::carry(FrontierView frontier, size_t length, std::span<Occurrence> carried) const {
  if (carried.empty() || view_.events == 0) return;
  const int64_t settled_to = view_.piece.settled_to(length, view_.times[view_.events - 1]);
  const auto behind =
      static_cast<size_t>(std::upper_bound(frontier.ends, frontier.ends + frontier.size, settled_to) - frontier.ends);
  if (behind > 0) carried[length - 1] = {frontier.starts[behind - 1], frontier.ends[behind - 1]};
}

// From the frontier of the first `length` symbols to that of one symbol more.
void Tracker::extend(FrontierView from, EpisodeView episode, size_t length, std::span<Occurrence> carried, Level& to) {
  to.symbol = episode.symbols[length];
  to.gap = episode.gaps[length - 1];
  std::span<const int64_t> list = view_.list(to.symbol);
  if (!carried.empty()) list = EventAxisView::later(list, view_.piece.settled_to(length + 1, view_.piece.counted_to));
  to.ends.shrink(0);
  to.starts.shrink(0);
  if (!carried.empty() && carried[length] != kNoOccurrence) {
    to.ends.push_back(carried[length].end);
    to.starts.push_back(carried[length].start);
  }
  int64_t* end = to.ends.room(list.size());
  int64_t* start = to.starts.room(list.size());
  extend_polled(from, list, view_.cut(to.gap), options_.cancel, [&](int64_t e, int64_t s) {
    *end++ = e;
    *start++ = s;
  });
  to.ends.add(static_cast<size_t>(end - to.ends.end()));
  to.starts.add(static_cast<size_t>(start - to.starts.end()));
}

FrontierView Tracker::frontier(EpisodeView episode, size_t length, std::span<Occurrence> carried) {
  size_t shared = 0;
  if (valid_ > 0 && first_ == episode.symbols[0])
    for (shared = 1; shared < std::min(valid_, length); ++shared)
      if (const Level& at = levels_[shared - 1];
          at.symbol != episode.symbols[shared] || !same(at.gap, episode.gaps[shared - 1]))
        break;
  if (shared == 0) start(episode.symbols[0], carried);
  valid_ = std::max<size_t>(shared, 1);
  // An empty frontier stays empty.
  FrontierView found = level(valid_);
  for (; valid_ < std::min(length, kKeptLength) && found.size > 0; ++valid_) {
    if (levels_.size() < valid_) levels_.emplace_back(*options_.memory);
    extend(found, episode, valid_, carried, levels_[valid_ - 1]);
    found = levels_[valid_ - 1].view();
  }
  for (size_t known = 1; known <= valid_; ++known) carry(level(known), known, carried);
  for (size_t grown = valid_; grown < length && found.size > 0; ++grown) {
    Level& to = longer_[grown % 2];
    extend(found, episode, grown, carried, to);
    found = to.view();
    carry(found, grown + 1, carried);
  }
  return found;
}

uint64_t Tracker::count(EpisodeView episode, int64_t& blocked_to, std::span<Occurrence> carried) {
  if (episode.length() == 1) return count_symbol(view_, episode.last(), blocked_to, options_.cancel);
  return with_rule(view_, blocked_to, [&](auto rule) {
    occurrences(episode, carried, [&](int64_t end, int64_t start) { rule.take(end, start); });
    return rule;
  });
}

uint64_t track_in_blocks(const EventAxisView& view, EpisodeView episode, Compaction compaction, int64_t& blocked_to,
                         const ExecutionOptions& options) {
  size_t max_entries = 0;
  for (size_t k = 1; k < episode.length(); ++k) max_entries = std::max(max_entries, view.list(episode.symbols[k]).size());
  Entries entries[2] = {{*options.memory, max_entries}, {*options.memory, max_entries}};
  FrontierView frontier = of_symbol(view.list(episode.symbols[0]));
  for (size_t k = 1; k < episode.length(); ++k) {
    Entries& to = entries[k % 2];
    Step step(frontier, view.list(episode.symbols[k]), view.cut(episode.gaps[k - 1]), to, options);
    if (compaction == Compaction::kCountScanWrite)
      step.count_scan_write();
    else
      step.atomic();
    frontier = to.view();
  }
  return count_entries(view, frontier, blocked_to, options.cancel);
}

uint64_t track_all(const EventAxisView& view, EpisodeView episode, const ExecutionOptions& options) {
  const std::span<const int64_t> last = view.list(episode.last());
  GrowingBuffer<Occurrence> found(*options.memory);
  for (const int64_t end : last) found.push_back({end, end});
  for (size_t k = episode.length() - 1; k-- > 0;) {
    const std::span<const int64_t> list = view.list(episode.symbols[k]);
    const Gap gap = view.cut(episode.gaps[k]);
    // Count, scan and write in one: a single thread appends in order.
    GrowingBuffer<Occurrence> longer(*options.memory);
    for (size_t at = 0; at < found.size(); ++at) {
      if (at % 1024 == 0) options.cancel.throw_if_requested();
      const Occurrence& entry = found[at];
      const auto from = std::lower_bound(list.begin(), list.end(), entry.start - gap.high);
      for (auto event = from; event != list.end() && *event < entry.start - gap.low; ++event)
        longer.push_back({*event, entry.end});
    }
    found = std::move(longer);
  }
  int64_t blocked_to = kNothingBlocked;
  return with_rule(view, blocked_to, [&](auto rule) {
    for (const Occurrence& entry : found) rule.take(entry.end, entry.start);
    return rule;
  });
}

}  // namespace batmap
