// The occurrences of a prefix, as few of them as can matter, and how they grow by one symbol.
//
// Of the occurrences of A -> ... -> B that end with the same B only the one that starts latest can matter: whatever another
// one can be extended to, it can be, too, and it overlaps fewer others. So a frontier has one entry an event of B at most,
// in order of time, and its starts ascend as well: a later B reaches back to an A that is no earlier. To extend a frontier
// by a symbol is then a merge of two ascending lists. The next event at u takes the last entry that ends before u - low, if
// that does not end before u - high: all that end earlier start no later.
//
// Cost: one step for each entry and event, or, where the one are many fewer than the other, a search from each of the fewer.
// 16 bytes an entry. Source: tracking is EP IV-C; one entry an end, and with it the merge, are ours.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "core/options.h"
#include "episodes/episode.h"

namespace batmap {

/// Entries in order of time. Of a single symbol: its list is both.
struct FrontierView {
  const int64_t* ends;
  const int64_t* starts;
  size_t size;
};

/// The first place at or behind `at` that does not hold `before(value)`, by doubling steps.
template <typename Before>
size_t gallop(const int64_t* values, size_t at, size_t size, Before before) {
  size_t step = 1;
  size_t low = at;
  while (at < size && before(values[at])) {
    low = at + 1;
    at += step;
    step *= 2;
  }
  size_t high = std::min(at, size);
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (before(values[middle]))
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/// Entries or events that are so many times fewer are searched for among the others; by the table of one step of bench/run
/// episodes.
inline constexpr size_t kGallopRatio = 16;

/// Hands take(end, start) every entry of the frontier extended by the events of a list, in order of time.
/// @param gap  cut to the reach of the stream
template <typename Take>
void extend_merging(FrontierView from, std::span<const int64_t> list, Gap gap, Take take) {
  size_t passed = 0;  // entries that end before u - low
  for (const int64_t u : list) {
    while (passed < from.size && from.ends[passed] < u - gap.low) ++passed;
    if (passed > 0 && from.ends[passed - 1] >= u - gap.high) take(u, from.starts[passed - 1]);
  }
}

/// The same by a search in the frontier for each event.
template <typename Take>
void extend_searching_frontier(FrontierView from, std::span<const int64_t> list, Gap gap, Take take) {
  size_t passed = 0;
  for (const int64_t u : list) {
    passed = gallop(from.ends, passed, from.size, [&](int64_t end) { return end < u - gap.low; });
    if (passed > 0 && from.ends[passed - 1] >= u - gap.high) take(u, from.starts[passed - 1]);
  }
}

/// The same by a search in the list for each entry, whose events are those that it reaches and the next entry does not.
template <typename Take>
void extend_searching_list(FrontierView from, std::span<const int64_t> list, Gap gap, Take take) {
  size_t at = 0;
  for (size_t k = 0; k < from.size; ++k) {
    const int64_t end = from.ends[k];
    at = gallop(list.data(), at, list.size(), [&](int64_t u) { return u <= end + gap.low; });
    const int64_t most = k + 1 < from.size ? std::min(end + gap.high, from.ends[k + 1] + gap.low) : end + gap.high;
    for (; at < list.size() && list[at] <= most; ++at) take(list[at], from.starts[k]);
  }
}

/// The way of the three that costs least.
template <typename Take>
void extend_frontier(FrontierView from, std::span<const int64_t> list, Gap gap, Take take) {
  if (gap.high <= gap.low) return;
  if (from.size * kGallopRatio < list.size())
    extend_searching_list(from, list, gap, take);
  else if (list.size() * kGallopRatio < from.size)
    extend_searching_frontier(from, list, gap, take);
  else
    extend_merging(from, list, gap, take);
}

/// The entries that matter to some consecutive events of a list.
inline FrontierView entries_for(FrontierView from, std::span<const int64_t> events, Gap gap) {
  if (events.empty()) return {from.ends, from.starts, 0};
  const int64_t* const first = std::lower_bound(from.ends, from.ends + from.size, events.front() - gap.high);
  const int64_t* const last = std::lower_bound(first, from.ends + from.size, events.back() - gap.low);
  return {first, from.starts + (first - from.ends), static_cast<size_t>(last - first)};
}

/// extend_frontier that asks the token in between.
template <typename Take>
void extend_polled(FrontierView from, std::span<const int64_t> list, Gap gap, const CancelToken& cancel, Take take) {
  constexpr size_t kEventsAPoll = size_t{1} << 16;
  for (; list.size() > kEventsAPoll; list = list.subspan(kEventsAPoll)) {
    cancel.throw_if_requested();
    const std::span<const int64_t> part = list.first(kEventsAPoll);
    extend_frontier(entries_for(from, part, gap), part, gap, take);
  }
  cancel.throw_if_requested();
  extend_frontier(entries_for(from, list, gap), list, gap, take);
}

/// The greedy choice among occurrences in order of their ends: each that starts later than the one chosen before has
/// ended. It is a largest set (EP, Algorithm 1).
struct NonOverlapped {
  int64_t last_end = -1;
  uint64_t count = 0;

  bool take(int64_t end, int64_t start) {
    const bool chosen = start > last_end;
    count += chosen;
    last_end = chosen ? end : last_end;
    return chosen;
  }
};

}  // namespace batmap
