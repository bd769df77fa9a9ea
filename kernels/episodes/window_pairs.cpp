// Walks and merges. See window_pairs.h.
#include "episodes/window_pairs.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "core/parameters.h"
#include "core/poll.h"
#include "core/stopwatch.h"
#include "core/thread_team.h"
#include "episodes/counting_rule.h"
#include "measures/threshold.h"

namespace batmap {

namespace {

constexpr const char* kWindowCountingNames[] = {"streams", "occurrences"};  // [WindowCounting]

// A batch is as many items as may give this many answers, or reach this many events on one thread; one for each thread at
// least. So few answers wait, and a thread rarely waits for another one.
constexpr uint64_t kAnswersABatch = uint64_t{1} << 22;
constexpr uint64_t kEventsABatch = uint64_t{1} << 21;
constexpr uint32_t kItemsABatch = uint32_t{1} << 16;
// The share of the work memory that the pairs of a batch may take if the events are in files.
constexpr size_t kPairsShare = 8;

bool is_better(const WindowPair& x, const WindowPair& y) {
  return std::tuple(y.support, x.a, x.b) < std::tuple(x.support, y.a, y.b);
}

enum class Merge { kAdd, kUnite };

/// Adds the pairs of one item in other events to those that were found; both ascend. @param merge  of the supports of a pair
/// that both have: their sum or, if both are of one stream, 1
void add_pairs(GrowingBuffer<WindowPair>& sum, const GrowingBuffer<WindowPair>& more, Merge merge,
               const ExecutionOptions& options) {
  if (more.empty()) return;
  GrowingBuffer<WindowPair> both(*options.memory);
  WindowPair* out = both.room(sum.size() + more.size());
  const WindowPair* x = sum.begin();
  for (const WindowPair& y : more.span()) {
    while (x != sum.end() && x->b < y.b) *out++ = *x++;
    const bool has_it = x != sum.end() && x->b == y.b;
    *out++ = {y.a, y.b, y.support + (has_it && merge == Merge::kAdd ? x->support : 0)};
    x += has_it;
  }
  out = std::copy(x, static_cast<const WindowPair*>(sum.end()), out);
  both.add(static_cast<size_t>(out - both.begin()));
  sum = std::move(both);
}

/// An estimate of the events in the windows of an item.
double events_reached(const EventAxisView& view, uint32_t item, int64_t window) {
  const double a_tick = static_cast<double>(view.events) / static_cast<double>(view.ticks());
  const auto own = static_cast<double>(view.list(item).size());
  return std::min(static_cast<double>(view.events), own * (1 + 2 * a_tick * static_cast<double>(window)));
}

}  // namespace

/// Counts the pairs of one item after the other, in one thread.
class WindowPairRun::Counter {
 public:
  Counter(const EventPart& part, uint32_t items, const WindowPairQuery& query, const ExecutionOptions& options)
      : query_(query),
        options_(options),
        in_reach_(part.in_reach),
        counts_(*options.memory, items, Fill::kZero),
        blocked_to_(*options.memory, items),
        reached_(*options.memory) {
    for (const EventAxis& axis : part.axes) views_.push_back(axis.view());
  }

  /// Appends the frequent pairs of an item with larger ones, in order.
  /// @param partners  symbols, ascending: only these; nullptr: all
  void count(uint32_t item, const std::vector<uint32_t>* partners, uint64_t min_count, GrowingBuffer<WindowPair>& found) {
    for (const EventAxisView& view : views_) {
      if (!view.list(item).empty()) {
        if (partners != nullptr && merges_are_cheaper(view, item, *partners))
          merge(view, item, *partners);
        else
          walk(view, item);
      }
      if (!in_reach_.empty()) count_in_reach(view, item);
    }
    std::sort(reached_.begin(), reached_.end());
    const auto is_partner = [&](uint32_t other) {
      return partners == nullptr || std::binary_search(partners->begin(), partners->end(), other);
    };
    for (const uint32_t other : reached_)
      if (const uint64_t support = std::exchange(counts_[other], 0); support >= min_count && is_partner(other))
        found.push_back({item, other, support});
    reached_.shrink(0);
  }

 private:
  /// Where the list of an item is, as seen from other times that ascend.
  struct InReach {
    InReach(const EventAxisView& view, uint32_t item, int64_t within)
        : own(view.list(item)),
          window(std::min(within, view.reach)),
          piece(view.piece),
          fresh(own.size() - view.new_list(item).size()) {}

    std::span<const int64_t> own;
    int64_t window;
    PieceBounds piece;  // two events up to counted_to have been counted and, if it crosses, two above it
    size_t fresh;       // the first one above counted_to
    size_t first = 0;   // not below time - window
    size_t end = 0;     // the first one above time + window

    uint64_t count_at(int64_t time) {
      first = gallop(own.data(), first, own.size(), [&](int64_t at) { return at < time - window; });
      end = gallop(own.data(), std::max(end, first), own.size(), [&](int64_t at) { return at <= time + window; });
      const bool is_fresh = time > piece.counted_to;
      const size_t from = is_fresh ? first : std::max(first, fresh);
      const size_t to = is_fresh && piece.crosses ? std::min(end, fresh) : end;
      return to > from ? to - from : 0;
    }
  };

  /// Counts the pairs of an event on the axis and one that is not.
  void count_in_reach(const EventAxisView& view, uint32_t item) {
    const uint64_t here = view.list(item).size();
    const uint64_t there = in_reach_[item];
    if (here + there == 0) return;
    Poll poll(options_.cancel);
    for (uint32_t other = item + 1; other < in_reach_.size(); ++other) {
      poll.after(1);
      const uint64_t pairs = here * in_reach_[other] + there * view.list(other).size();
      if (query_.counting == WindowCounting::kOccurrences)
        add(other, pairs);
      else if (pairs > 0 && counts_[other] == 0)  // all are of one stream
        add(other, 1);
    }
  }

  bool merges_are_cheaper(const EventAxisView& view, uint32_t item, const std::vector<uint32_t>& partners) const {
    double merged = 0;
    for (auto other = std::upper_bound(partners.begin(), partners.end(), item); other != partners.end(); ++other)
      merged += static_cast<double>(view.list(*other).size());
    return merged < events_reached(view, item, std::min(query_.window, view.reach));
  }

  /// Counts each pair of an item by a pass over the events of the other one.
  void merge(const EventAxisView& view, uint32_t item, const std::vector<uint32_t>& partners) {
    Poll poll(options_.cancel);
    for (auto other = std::upper_bound(partners.begin(), partners.end(), item); other != partners.end(); ++other) {
      InReach reach(view, item, query_.window);
      uint64_t count = 0;
      int64_t blocked_to = -1;
      StreamCursor streams(view.stream_ends);
      for (const int64_t time : view.list(*other)) {
        poll.after(1);
        if (time <= blocked_to) continue;
        const uint64_t pairs = reach.count_at(time);
        if (query_.counting == WindowCounting::kOccurrences) {
          count += pairs;
        } else if (pairs > 0) {
          blocked_to = streams.end_of(time);
          ++count;
        }
      }
      add(*other, count);
    }
  }

  void walk(const EventAxisView& view, uint32_t item) {
    if (query_.counting == WindowCounting::kOccurrences) {
      InReach reach(view, item, query_.window);
      visit(view, item, [&](uint32_t other, int64_t time) { add(other, reach.count_at(time)); });
      return;
    }
    StreamCursor streams(view.stream_ends);
    const size_t before = reached_.size();  // by other axes, whose times mean nothing here
    for (size_t k = 0; k < before; ++k) blocked_to_[reached_[k]] = -1;
    visit(view, item, [&](uint32_t other, int64_t time) {
      if (counts_[other] > 0 && time <= blocked_to_[other]) return;
      blocked_to_[other] = streams.end_of(time);
      add(other, 1);
    });
  }

  /// Calls take(other, time) for each event of a larger item that is in the window of an event of the item, in order of time. If
  /// the axis crosses from earlier events to later ones (PieceBounds), a pair has one event of each kind: first come the earlier
  /// events in windows of later ones, then the later events in windows of earlier ones.
  template <typename Take>
  void visit(const EventAxisView& view, uint32_t item, Take take) {
    const std::span<const int64_t> own = view.list(item);
    if (!view.piece.crosses) return visit_windows(view, item, own, 0, view.events, take);
    const std::span<const int64_t> later = view.new_list(item);
    const size_t middle = view.first_new();
    visit_windows(view, item, later, 0, middle, take);
    visit_windows(view, item, own.first(own.size() - later.size()), middle, view.events, take);
  }

  /// @param begin, end  of the events that are visited
  template <typename Take>
  void visit_windows(const EventAxisView& view, uint32_t item, std::span<const int64_t> of, size_t begin, size_t end,
                     Take take) {
    const int64_t window = std::min(query_.window, view.reach);
    Poll poll(options_.cancel);
    size_t at = begin;
    for (const int64_t own : of) {
      at = gallop(view.times, at, end, [&](int64_t time) { return time < own - window; });
      const size_t first = at;
      for (; at < end && view.times[at] <= own + window; ++at) {
        if (view.symbols[at] > item) take(view.symbols[at], view.times[at]);
        if ((at - first) % (size_t{1} << 16) == (size_t{1} << 16) - 1) options_.cancel.throw_if_requested();
      }
      if (at == end) return;
      poll.after(at - first + 1);
    }
  }

  void add(uint32_t other, uint64_t count) {
    if (count == 0) return;
    if (counts_[other] == 0) reached_.push_back(other);
    counts_[other] += count;
  }

  const WindowPairQuery& query_;
  const ExecutionOptions& options_;
  std::span<const uint64_t> in_reach_;  // see EventPart
  std::vector<EventAxisView> views_;
  Buffer<uint64_t> counts_;          // [symbol]
  Buffer<int64_t> blocked_to_;       // [symbol] if counted: the end of the stream counted last
  GrowingBuffer<uint32_t> reached_;  // symbols whose count is not 0
};

WindowCounting parse_window_counting(const std::string& name) {
  return parse_name<WindowCounting>("counting", name, kWindowCountingNames);
}

void WindowPairQuery::check() const {
  if (window < 0)
    throw Error(ErrorCode::kInvalidParameter, "within must be at least 0, not " + std::to_string(window),
                ticks_a_unit == 1 ? "" : "The distance is shown in microseconds, or millionths of its unit.");
  require_one_threshold(min_count, "min_support", min_support,
                        "Give the threshold either as a number of streams or as a fraction of them.");
  if (!min_count && !min_support && !top_k)
    throw Error(ErrorCode::kInvalidParameter, "a threshold is missing",
                "Give min_count or min_support, or ask for the best pairs with top_k.");
  if (min_support && counting == WindowCounting::kOccurrences)
    throw Error(ErrorCode::kInvalidParameter, "min_support does not go with counting \"occurrences\"",
                "min_support is a fraction of the streams; min_count takes a number of occurrences.");
  require_at_least("min_count", min_count, 1);
  require_fraction("min_support", min_support,
                   "min_support is a fraction of the streams; min_count takes a number of them.");
  require_at_least("top_k", top_k, 1);
  require_at_least("max_results", max_results, 1);
  require_timeout(timeout_ms);
}

WindowPairRun::WindowPairRun(EventLog log, std::span<const uint32_t> item_rank, const WindowPairQuery& query,
                             const ExecutionOptions& options)
    : query_(query), options_(options), cancel_(options.cancel), limit_(query.max_results, query.timeout_ms) {
  const Stopwatch watch;
  query_.check();
  if (query_.exclude) std::sort(query_.exclude->begin(), query_.exclude->end());
  options_.cancel = {[](void* self) {
                       const auto* const run = static_cast<const WindowPairRun*>(self);
                       return run->cancel_.requested() || run->limit_.time_is_up();
                     },
                     this};
  const bool by_streams = query_.counting == WindowCounting::kStreams;
  const auto filter = [&](const EventTotals& totals) {
    min_count_ = min_count_among(totals.streams, query_.min_count, query_.min_support);
    return EventFilter{
        .min_rows = by_streams ? min_count_ : 1, .only = nullptr, .exclude = query_.exclude ? &*query_.exclude : nullptr};
  };
  ExecutionOptions grouping = options_;
  grouping.cancel = cancel_;  // the timeout does not end a run before it begins to answer
  streams_.emplace(std::move(log), item_rank, filter, query_.window, grouping,
                   by_streams ? EpisodeCounting::kStreams : EpisodeCounting::kNonOverlapped);
  if (query_.include) {
    included_.resize(streams_->symbols());
    for (const int64_t value : *query_.include)
      if (const std::optional<uint32_t> symbol = streams_->symbol_of(value)) included_[*symbol] = true;
    for (uint32_t symbol = 0; symbol < streams_->symbols(); ++symbol)
      if (included_[symbol]) include_.push_back(symbol);
  }
  record_.answers = AnswerKind::kPairs;
  record_.method = "window_walk";
  record_.reason = kWindowCountingNames[static_cast<size_t>(query_.counting)];
  record_.reason += ", threshold " + std::to_string(min_count_) + streams_->describe_files();
  record_streams(*streams_, record_);
  estimate_reach();
  record_.tasks = streams_->symbols();
  record_.group_ms = watch.milliseconds();
}

WindowPairRun::~WindowPairRun() = default;

void WindowPairRun::estimate_reach() {
  ExecutionOptions own = options_;
  own.cancel = cancel_;
  reach_ = Buffer<double>(*options_.memory, streams_->symbols());
  std::fill(reach_.begin(), reach_.end(), 1.0);
  streams_->for_parts(1, 0, own, [&](const EventPart& part) {
    for (const EventAxis& axis : part.axes) {
      const EventAxisView view = axis.view();
      for (uint32_t item = 0; item < reach_.size(); ++item)
        reach_[item] += events_reached(view, item, std::min(query_.window, view.reach));
    }
  });
  // A piece alone says little about a window that is longer.
  if (streams_->has_long_windows(own)) std::fill(reach_.begin(), reach_.end(), static_cast<double>(streams_->events()));
}

/// The items from next_item_ on that are counted together.
uint32_t WindowPairRun::end_of_batch() const {
  const uint32_t items = streams_->symbols();
  const bool in_files = streams_->in_files();
  const auto threads = static_cast<uint32_t>(std::max(options_.threads, 1));
  const auto max_answers = static_cast<double>(
      in_files ? std::min<uint64_t>(kAnswersABatch, options_.work_bytes / kPairsShare / sizeof(WindowPair))
               : kAnswersABatch);
  const auto max_reached = static_cast<double>(kEventsABatch * threads);
  double answers = 0;
  double reached = 0;
  uint32_t end = next_item_;
  for (; end < items && end - next_item_ < kItemsABatch; ++end) {
    // A batch of events in files is a pass over these, so it does not end because it is long.
    if (end - next_item_ >= (in_files ? 1 : threads) && (answers > max_answers || (!in_files && reached > max_reached)))
      break;
    answers += std::min(reach_[end], static_cast<double>(items - end));
    reached += reach_[end];
  }
  return end;
}

/// Counts the next items. @return false if there are none
bool WindowPairRun::next_batch() {
  const uint32_t begin = next_item_;
  next_item_ = end_of_batch();
  found_.clear();
  list_ = row_ = 0;
  if (begin == next_item_) return false;
  for (uint32_t item = begin; item < next_item_; ++item) found_.emplace_back(*options_.memory);
  if (streams_->in_files())
    add_counts_of_files(begin);
  else
    count_batch(begin, {streams_->axes(), false, false});
  record_.tasks_done = next_item_;
  if (next_item_ == streams_->symbols()) counters_.clear();
  return true;
}

/// Adds the pairs of the items [begin, next_item_) on these axes to found_, or to found_in_stream_: of axes in memory only the
/// frequent ones.
void WindowPairRun::count_batch(uint32_t begin, const EventPart& part) {
  counters_.resize(static_cast<size_t>(std::max(options_.threads, 1)));
  const bool in_files = streams_->in_files();
  // A stream in pieces counts once for each pair.
  const bool unites = part.is_piece && query_.counting == WindowCounting::kStreams;
  parallel_for(options_, next_item_ - begin, [&](size_t task, int worker) {
    std::unique_ptr<Counter>& counter = counters_[static_cast<size_t>(worker)];
    if (!counter) counter = std::make_unique<Counter>(part, streams_->symbols(), query_, options_);
    const uint32_t item = begin + static_cast<uint32_t>(task);
    const bool all = included_.empty() || included_[item];
    if (!all && (include_.empty() || include_.back() < item)) return;
    const std::vector<uint32_t>* const partners = all ? nullptr : &include_;
    if (!in_files) return counter->count(item, partners, min_count_, found_[task]);
    GrowingBuffer<WindowPair> more(*options_.memory);
    counter->count(item, partners, 1, more);
    if (unites)
      add_pairs(found_in_stream_[task], more, Merge::kUnite, options_);
    else
      add_pairs(found_[task], more, Merge::kAdd, options_);
  });
}

/// Adds the pairs of a stream that came in pieces to found_.
void WindowPairRun::end_stream() {
  for (size_t task = 0; task < found_in_stream_.size(); ++task) {
    add_pairs(found_[task], found_in_stream_[task], Merge::kAdd, options_);
    found_in_stream_[task].reset();
  }
}

void WindowPairRun::add_counts_of_files(uint32_t begin) {
  found_in_stream_.clear();
  if (streams_->has_pieces())
    for (uint32_t item = begin; item < next_item_; ++item) found_in_stream_.emplace_back(*options_.memory);
  streams_->for_windows(options_, [&](const EventPart& part) {
    if (!part.continues) end_stream();
    count_batch(begin, part);
    counters_.clear();  // they see these axes
  });
  end_stream();
  for (GrowingBuffer<WindowPair>& list : found_)
    list.shrink(static_cast<size_t>(
        std::remove_if(list.begin(), list.end(), [&](const WindowPair& pair) { return pair.support < min_count_; }) -
        list.begin()));
}

void WindowPairRun::find_best() {
  const auto k = static_cast<uint64_t>(*query_.top_k);
  best_.emplace(*options_.memory, k);
  while (next_batch()) {
    for (const GrowingBuffer<WindowPair>& list : found_)
      for (const WindowPair& pair : list.span()) best_->offer(pair, is_better);
    // Later pairs have larger items, so they need more support than the worst pair.
    if (best_->is_full()) min_count_ = best_->worst().support + 1;
  }
  best_->sort(options_.cancel, is_better);
}

std::optional<WindowPair> WindowPairRun::next_of_all() {
  if (query_.top_k) {
    if (!best_) find_best();
    if (row_ == best_->size()) return std::nullopt;
    return best_->entries()[row_++];
  }
  for (;;) {
    for (; list_ < found_.size(); ++list_, row_ = 0) {
      if (row_ < found_[list_].size()) return found_[list_][row_++];
      found_[list_].reset();
    }
    if (!next_batch()) return std::nullopt;
  }
}

std::optional<WindowPair> WindowPairRun::next() {
  if (limit_.is_cut_off()) return std::nullopt;
  std::optional<WindowPair> pair;
  try {
    pair = next_of_all();
    if (pair && limit_.take(1) == 0) pair.reset();
  } catch (const Error& error) {
    if (!limit_.was_ended_by_time(error, cancel_)) throw;
  }
  record_.results = limit_.taken();
  record_.truncation = limit_.truncation();
  return pair;
}

}  // namespace batmap
