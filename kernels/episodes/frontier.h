// The frontier of a prefix is those of its occurrences that can matter. Here is how a frontier grows by one symbol.
//
// Of the occurrences of A -> ... -> B that end with the same B, only the one that starts latest can matter: it can be
// extended by whatever extends another, and it overlaps fewer others. So a frontier has at most one entry for each
// event of B, in order of time. Its starts ascend, too, because a later B does not reach back to an earlier A. So to
// extend a frontier by a symbol is a merge of two ascending lists. The next event, at time u, takes the last entry
// that ends before u - low, if this entry does not end before u - high: all entries that end earlier start no later.
// All this holds for kSameTime, too: the entry of B's own time is the only one that it reaches.
//
// Cost: one step for each entry and event. If one side is much shorter, one search for each element of the
// shorter side. 16 bytes an entry. Source: tracking is EP IV-C; one entry an end, and so the merge, are ours.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "core/options.h"
#include "episodes/episode.h"

namespace batmap {

/// Entries in order of time. For a single symbol, its list is both ends and starts.
struct FrontierView {
  const int64_t* ends;
  const int64_t* starts;
  size_t size;
};

/// The first index from `at` on whose value does not satisfy `before`, found by doubling steps.
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

/// If one side is so many times shorter, its elements are searched for in the other. Source: bench/run
/// episodes, the table of one step.
inline constexpr size_t kGallopRatio = 16;

/// Extends the frontier by the events of a list: calls take(end, start) for each new entry, in order of time.
/// @param gap  cut to the reach of the stream
template <typename Take>
void extend_merging(FrontierView from, std::span<const int64_t> list, Gap gap, Take take) {
  size_t passed = 0;  // number of entries that end before u - low
  for (const int64_t u : list) {
    while (passed < from.size && from.ends[passed] < u - gap.low) ++passed;
    if (passed > 0 && from.ends[passed - 1] >= u - gap.high) take(u, from.starts[passed - 1]);
  }
}

/// The same, by a search in the frontier for each event.
template <typename Take>
void extend_searching_frontier(FrontierView from, std::span<const int64_t> list, Gap gap, Take take) {
  size_t passed = 0;
  for (const int64_t u : list) {
    passed = gallop(from.ends, passed, from.size, [&](int64_t end) { return end < u - gap.low; });
    if (passed > 0 && from.ends[passed - 1] >= u - gap.high) take(u, from.starts[passed - 1]);
  }
}

/// The same, by a search in the list for each entry. Its events are those that it reaches and the next entry does not.
template <typename Take>
void extend_searching_list(FrontierView from, std::span<const int64_t> list, Gap gap, Take take) {
  size_t at = 0;
  for (size_t k = 0; k < from.size; ++k) {
    const int64_t end = from.ends[k];
    at = gallop(list.data(), at, list.size(), [&](int64_t u) { return u <= end + gap.low; });
    const int64_t max_time = k + 1 < from.size ? std::min(end + gap.high, from.ends[k + 1] + gap.low) : end + gap.high;
    for (; at < list.size() && list[at] <= max_time; ++at) take(list[at], from.starts[k]);
  }
}

/// The same, by the cheapest of the three ways.
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

/// The entries that can reach some consecutive events of a list.
inline FrontierView entries_for(FrontierView from, std::span<const int64_t> events, Gap gap) {
  if (events.empty()) return {from.ends, from.starts, 0};
  const int64_t* const first = std::lower_bound(from.ends, from.ends + from.size, events.front() - gap.high);
  const int64_t* const last = std::lower_bound(first, from.ends + from.size, events.back() - gap.low);
  return {first, from.starts + (first - from.ends), static_cast<size_t>(last - first)};
}

/// extend_frontier() that looks at the cancel token every 65,536 events.
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

}  // namespace batmap
