// From rows to axes. See event_streams.h.
#include "episodes/event_streams.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/polled.h"
#include "relation/key_codes.h"
#include "relation/row_partitions.h"
#include "relation/swapped_columns.h"

namespace batmap {

namespace {

constexpr uint64_t kAxisEnd = uint64_t{1} << 62;

struct Row {
  int64_t time;
  uint32_t event;  // a code; later the symbol
  uint32_t stream;
};

struct Span {
  int64_t first = INT64_MAX;
  int64_t last = INT64_MIN;

  void add(int64_t time) {
    first = std::min(first, time);
    last = std::max(last, time);
  }
  uint64_t ticks() const { return static_cast<uint64_t>(last) - static_cast<uint64_t>(first); }
};

/// The rows of some partitions that a run loads at once: grouping takes up to 36 bytes a row.
constexpr uint64_t kWorkBytesARow = 128;

KeyCodes codes_of(const EventLog& log, int64_t EventLog::Row::*key, const ExecutionOptions& options) {
  Span keys;
  in_parts(log.rows(), options.cancel, [&](size_t begin, size_t end) {
    for (size_t k = begin; k < end; ++k) keys.add(log[k].*key);
  });
  return {options, keys.first, log.rows() == 0 ? 0 : keys.ticks(), log.rows()};
}

uint32_t code_of(KeyCodes& codes, int64_t key) { return codes.direct() ? codes.find(key) : codes.insert(key); }

/// Puts the rows of each time in order of their symbols.
void sort_same_times(Buffer<Row>& rows, size_t count, const CancelToken& cancel) {
  const auto by_event = polled(cancel, [](const Row& x, const Row& y) { return x.event < y.event; });
  const auto same_time = [&](size_t x, size_t y) {
    return rows[x].time == rows[y].time && rows[x].stream == rows[y].stream;
  };
  size_t first = 0;  // of the rows of one time
  bool in_order = true;
  in_parts(count, cancel, [&](size_t begin, size_t end) {
    for (size_t k = std::max<size_t>(begin, 1); k < end; ++k) {
      if (same_time(k - 1, k)) {
        in_order &= rows[k - 1].event <= rows[k].event;
        continue;
      }
      if (!in_order) std::sort(rows.data() + first, rows.data() + k, by_event);
      first = k;
      in_order = true;
    }
  });
  if (!in_order) std::sort(rows.data() + first, rows.data() + count, by_event);
}

/// Sorts the first `count` rows: rows of one stream are neighbours, in order of time.
void sort_rows(Buffer<Row>& rows, size_t count, size_t streams, const ExecutionOptions& options) {
  const auto in_order = [](const Row& x, const Row& y) {
    return x.stream != y.stream ? x.stream < y.stream : x.time < y.time;
  };
  if (std::is_sorted(rows.begin(), rows.begin() + count, polled(options.cancel, in_order))) return;
  Buffer<size_t> begin(*options.memory, streams + 1, Fill::kZero);
  if (streams > 1) {
    in_parts(count, options.cancel, [&](size_t first, size_t last) {
      for (size_t k = first; k < last; ++k) ++begin[rows[k].stream + 1];
    });
    for (size_t k = 0; k < streams; ++k) begin[k + 1] += begin[k];
    Buffer<Row> grouped(*options.memory, count);
    Buffer<size_t> at(*options.memory, streams);
    std::copy_n(begin.begin(), streams, at.begin());
    in_parts(count, options.cancel, [&](size_t first, size_t last) {
      for (size_t k = first; k < last; ++k) grouped[at[rows[k].stream]++] = rows[k];
    });
    rows = std::move(grouped);
  } else {
    begin[1] = count;
  }
  for (size_t k = 0; k < streams; ++k) {
    const auto by_time = polled(options.cancel, [](const Row& x, const Row& y) { return x.time < y.time; });
    Row* const first = rows.data() + begin[k];
    Row* const last = rows.data() + begin[k + 1];
    if (!std::is_sorted(first, last, by_time)) std::sort(first, last, by_time);
  }
}

/// Adds an axis with as many streams as fit, from row `from` on. @return the row behind the last
/// @param origin  of a piece: the first time of its stream
size_t add_axis(std::vector<EventAxis>& axes, std::span<const Row> rows, size_t from, const GrowingBuffer<int64_t>& streams,
                std::optional<int64_t> origin, uint32_t symbols, int64_t reach, EpisodeCounting counting,
                const ExecutionOptions& options) {
  // Find the streams that fit, and their rows.
  GrowingBuffer<EventAxis::Stretch> stretches(*options.memory);
  uint64_t length = 0;
  size_t end = from;
  while (end < rows.size()) {
    size_t next = end;
    while (next < rows.size() && rows[next].stream == rows[end].stream) ++next;
    const uint64_t span = static_cast<uint64_t>(rows[next - 1].time) - static_cast<uint64_t>(rows[end].time);
    if (length + span >= kAxisEnd || next - from > EventAxis::kMaxEvents) break;
    stretches.push_back({static_cast<int64_t>(length), origin.value_or(rows[end].time), streams[rows[end].stream]});
    length += span + static_cast<uint64_t>(reach) + 1;
    end = next;
  }
  if (end == from)
    throw Error(ErrorCode::kTooLarge, "a stream has more than " + std::to_string(EventAxis::kMaxEvents) + " events",
                "Split the events into several streams: the query may have a third column.");

  Buffer<int64_t> times(*options.memory, end - from);
  Buffer<uint32_t> symbol_of(*options.memory, end - from);
  Buffer<int64_t> last_time(*options.memory, symbols);
  std::fill(last_time.begin(), last_time.end(), -1);
  size_t events = 0;
  const EventAxis::Stretch* stretch = stretches.begin();
  in_parts(end - from, options.cancel, [&](size_t first, size_t last) {
    for (size_t k = from + first; k < from + last; ++k) {
      if (k > from && rows[k].stream != rows[k - 1].stream) ++stretch;
      const int64_t time = stretch->at + (rows[k].time - stretch->first);
      if (std::exchange(last_time[rows[k].event], time) == time) continue;
      times[events] = time;
      symbol_of[events++] = rows[k].event;
    }
  });
  axes.emplace_back(events, std::move(times), std::move(symbol_of), symbols, reach, std::move(stretches), counting, options);
  return end;
}

}  // namespace

/// What grouping in memory and in files have in common.
class EventStreams::Grouping {
 public:
  Grouping(EventStreams& streams, std::span<const uint32_t> event_rank,
           const std::function<EventFilter(const EventTotals&)>& filter, int64_t reach, const ExecutionOptions& execution)
      : options(execution),
        counts(*execution.memory),
        streams_(streams),
        rank_(event_rank),
        filter_(filter),
        reach_(reach) {}

  /// Adds the streams of these spans to the totals.
  void add_totals(const GrowingBuffer<Span>& spans) {
    EventTotals& totals = streams_.totals_;
    for (const Span& span : spans) {
      if (span.last < span.first) continue;
      longest_ = std::max(longest_, span.ticks());
      if (longest_ >= EventAxis::kMaxSpan)
        throw Error(ErrorCode::kTooLarge, "times of a stream span " + std::to_string(longest_) + " ticks",
                    "At most " + std::to_string(EventAxis::kMaxSpan - 1) + " ticks may lie between first and last.");
      ++totals.streams;
      totals.duration = sum_of_durations(totals.duration, std::min(span.ticks(), kMaxDuration));
    }
  }

  void count_event(uint32_t code) {
    while (code >= counts.size()) counts.push_back(0);
    ++counts[code];
  }

  /// Decides which events stay, and numbers them. @param events  the codes that were counted
  void keep_events(const KeyCodes& events) {
    const auto value_of = [&](size_t code) {
      const int64_t key = events.key(static_cast<uint32_t>(code));
      return rank_.empty() ? key : int64_t{rank_[static_cast<size_t>(key)]};
    };
    for (const uint64_t count : counts) {
      streams_.totals_.events += count > 0;
      streams_.totals_.most_event_rows = std::max(streams_.totals_.most_event_rows, count);
    }
    const EventFilter wanted = filter_(streams_.totals_);
    struct Kept {
      int64_t value;
      uint32_t code;
    };
    GrowingBuffer<Kept> kept(*options.memory);
    for (uint32_t code = 0; code < counts.size(); ++code) {
      if (counts[code] == 0 || counts[code] < wanted.min_rows) continue;
      const int64_t value = value_of(code);
      if (wanted.only != nullptr && !std::binary_search(wanted.only->begin(), wanted.only->end(), value)) continue;
      if (wanted.exclude != nullptr && std::binary_search(wanted.exclude->begin(), wanted.exclude->end(), value)) continue;
      kept.push_back({value, code});
      streams_.rows_kept_ += counts[code];
    }
    std::sort(kept.begin(), kept.end(),
              polled(options.cancel, [](const Kept& x, const Kept& y) { return x.value < y.value; }));
    streams_.values_ = Buffer<int64_t>(*options.memory, kept.size());
    symbols_ = Buffer<uint32_t>(*options.memory, counts.size());
    std::fill(symbols_.begin(), symbols_.end(), kGone);
    for (uint32_t symbol = 0; symbol < kept.size(); ++symbol) {
      streams_.values_[symbol] = kept[symbol].value;
      symbols_[kept[symbol].code] = symbol;
    }
    streams_.reach_ = std::min(reach_, static_cast<int64_t>(longest_));
  }

  /// Counts the distinct times for swapped_columns.h, after keep_events().
  /// @param visit  calls its argument, add(time), for each row; it may stop when this returns false
  template <typename Visit>
  void count_times(Visit visit) {
    EventTotals& totals = streams_.totals_;
    if (!times_may_be_swapped(totals.rows, totals.events)) return;
    KeyCodes times(options, 0, UINT64_MAX, totals.rows);
    const uint64_t max_times = max_swapped_times(totals.rows);
    visit([&](int64_t time) {
      if (times.size() <= max_times) times.insert(time);
      return times.size() <= max_times;
    });
    if (times.size() <= max_times) totals.times = times.size();
  }

  static constexpr uint32_t kGone = UINT32_MAX;
  /// The symbol of an event, or kGone.
  uint32_t symbol(uint32_t code) const { return symbols_[code]; }

  /// Adds axes of rows of whole streams, or of a piece. @param rows  the first `count`, with symbols
  /// @param stream_values  [code] @param origin  of a piece: the first time of its stream
  void add_axes(std::vector<EventAxis>& axes, Buffer<Row>& rows, size_t count, const GrowingBuffer<int64_t>& stream_values,
                std::optional<int64_t> origin = {}) const {
    sort_rows(rows, count, stream_values.size(), options);
    sort_same_times(rows, count, options.cancel);
    const size_t before = axes.size();
    for (size_t from = 0; from < count;)
      from = add_axis(axes, {rows.data(), count}, from, stream_values, origin, streams_.symbols(), streams_.reach_,
                      streams_.counting_, options);
    for (size_t k = before; k < axes.size(); ++k) streams_.events_ += axes[k].view().events;
  }

  const ExecutionOptions& options;
  GrowingBuffer<uint64_t> counts;  // [code of an event] rows

 private:
  EventStreams& streams_;
  std::span<const uint32_t> rank_;
  const std::function<EventFilter(const EventTotals&)>& filter_;
  int64_t reach_;
  uint64_t longest_ = 0;
  Buffer<uint32_t> symbols_;  // [code of an event]
};

EventStreams::EventStreams(EventLog log, std::span<const uint32_t> event_rank,
                           const std::function<EventFilter(const EventTotals&)>& filter, int64_t reach,
                           const ExecutionOptions& options, EpisodeCounting counting)
    : counting_(counting) {
  totals_.rows = log.rows();
  if (totals_.rows == 0) return;
  Grouping grouping(*this, event_rank, filter, reach, options);
  if (EventPartitions* const rows = log.seal(); rows != nullptr)
    group_files(*rows, grouping);
  else
    group_rows(std::move(log), grouping);
}

void EventStreams::group_rows(EventLog log, Grouping& grouping) {
  const ExecutionOptions& options = grouping.options;
  // Codes for events and streams; first and last time of each stream.
  Buffer<Row> rows(*options.memory, log.rows());
  GrowingBuffer<int64_t> streams(*options.memory);  // [code] value
  GrowingBuffer<Span> spans(*options.memory);
  KeyCodes events = codes_of(log, &EventLog::Row::event, options);
  {
    KeyCodes stream_codes = codes_of(log, &EventLog::Row::stream, options);
    in_parts(log.rows(), options.cancel, [&](size_t first, size_t last) {
      for (size_t k = first; k < last; ++k) {
        const EventLog::Row row = log[k];
        const uint32_t stream = code_of(stream_codes, row.stream);
        while (stream >= spans.size()) spans.push_back({});
        spans[stream].add(row.time);
        rows[k] = {row.time, code_of(events, row.event), stream};
      }
    });
    for (uint32_t code = 0; code < spans.size(); ++code) streams.push_back(stream_codes.key(code));
  }
  log.clear();
  grouping.add_totals(spans);
  spans.reset();
  in_parts(rows.size(), options.cancel, [&](size_t first, size_t last) {
    for (size_t k = first; k < last; ++k) grouping.count_event(rows[k].event);
  });
  grouping.keep_events(events);
  grouping.count_times([&](const auto& add) {
    in_parts(rows.size(), options.cancel, [&](size_t first, size_t last) {
      while (first < last && add(rows[first].time)) ++first;
    });
  });

  size_t kept_rows = 0;
  in_parts(rows.size(), options.cancel, [&](size_t first, size_t last) {
    for (size_t k = first; k < last; ++k)
      if (const uint32_t symbol = grouping.symbol(rows[k].event); symbol != Grouping::kGone)
        rows[kept_rows++] = {rows[k].time, symbol, rows[k].stream};
  });
  grouping.add_axes(axes_, rows, kept_rows, streams);
}

void EventStreams::group_files(EventPartitions& rows, Grouping& grouping) {
  const ExecutionOptions& options = grouping.options;
  in_files_ = true;
  const uint64_t max_rows = std::max<uint64_t>(options.work_bytes / kWorkBytesARow, 1);
  // Neighbours that are small are loaded together.
  struct Group {
    std::vector<EventPartition> parts;
    uint64_t rows = 0;
    KeyBounds streams;
    std::optional<int64_t> origin;  // of a piece: the first time of its stream
    bool is_piece() const { return parts[0].is_piece; }
    bool continues() const { return parts[0].continues; }
  };
  std::vector<Group> groups;
  for (const EventPartition& part : rows.partitions(max_rows, options.cancel)) {
    if (groups.empty() || part.is_piece || groups.back().is_piece() || groups.back().rows + part.rows > max_rows)
      groups.emplace_back();
    Group& group = groups.back();
    group.parts.push_back(part);
    group.rows += part.rows;
    group.streams.add(part.streams.low, part.streams.range());
    file_bytes_ += part.bytes;
  }
  const auto visit = [&](const Group& group, const std::function<void(const EventRow&)>& take) {
    for (const EventPartition& part : group.parts) visit_events(part, *options.memory, options.cancel, take);
  };
  const auto stream_codes_of = [&](const Group& group) {
    return KeyCodes(options, group.streams.low, group.streams.range(), group.rows);
  };

  const KeyBounds bounds = rows.event_bounds();
  KeyCodes events(options, bounds.low, bounds.range(), std::min(rows.rows(), max_coded_rows(options)));
  GrowingBuffer<Span> spans(*options.memory);  // of the streams of a group or, after pieces, of their stream
  for (size_t k = 0; k < groups.size(); ++k) {
    Group& group = groups[k];
    KeyCodes stream_codes = stream_codes_of(group);
    if (!group.continues()) spans.shrink(0);
    visit(group, [&](const EventRow& row) {
      const uint32_t stream = code_of(stream_codes, row.stream);
      while (stream >= spans.size()) spans.push_back({});
      spans[stream].add(row.time);
      grouping.count_event(code_of(events, row.event));
    });
    if (group.is_piece()) group.origin = spans[0].first;
    if (k + 1 == groups.size() || !groups[k + 1].continues()) grouping.add_totals(spans);
  }
  spans.reset();
  grouping.keep_events(events);
  grouping.count_times([&](const auto& add) {
    bool are_few = true;
    for (size_t k = 0; k < groups.size() && are_few; ++k)
      visit(groups[k], [&](const EventRow& row) { are_few = add(row.time); });
  });

  uint64_t axis_bytes = 0;
  bool has_begun = false;  // whether an earlier piece of the stream is stored
  for (const Group& group : groups) {
    if (!group.continues()) has_begun = false;
    std::vector<EventAxis> axes;
    {
      KeyCodes stream_codes = stream_codes_of(group);
      GrowingBuffer<int64_t> streams(*options.memory);
      Buffer<Row> kept(*options.memory, group.rows);
      size_t count = 0;
      visit(group, [&](const EventRow& row) {
        const uint32_t symbol = grouping.symbol(events.find(row.event));
        if (symbol != Grouping::kGone) kept[count++] = {row.time, symbol, code_of(stream_codes, row.stream)};
      });
      for (uint32_t code = 0; code < stream_codes.size(); ++code) streams.push_back(stream_codes.key(code));
      grouping.add_axes(axes, kept, count, streams, group.origin);
    }
    for (const EventPartition& part : group.parts) part.file->close();
    if (axes.empty()) continue;
    const EventAxisView last = axes.back().view();
    const StoredPart& part = parts_.emplace_back(StoredPart{.file = &options.files->create(),
                                                            .axes = axes.size(),
                                                            .is_piece = group.is_piece(),
                                                            .continues = has_begun,
                                                            .events = last.events,
                                                            .first_time = last.times[0],
                                                            .last_time = last.times[last.events - 1]});
    has_pieces_ |= part.is_piece;
    has_begun = part.is_piece;
    for (const EventAxis& axis : axes) axis.write(*part.file, options.cancel);
    axis_bytes += part.file->unread();
  }
  file_bytes_ = std::max(file_bytes_, axis_bytes);
}

std::string EventStreams::describe_files() const {
  return in_files_ ? "; " + rows_in_files(file_bytes_, parts_.size()) : "";
}

std::optional<uint32_t> EventStreams::symbol_of(int64_t value) const {
  const auto at = std::lower_bound(values_.begin(), values_.end(), value);
  if (at == values_.end() || *at != value) return std::nullopt;
  return static_cast<uint32_t>(at - values_.begin());
}

}  // namespace batmap
