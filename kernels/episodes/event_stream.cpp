// From rows to axes. See event_stream.h.
#include "episodes/event_stream.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/polled.h"
#include "relation/key_codes.h"

namespace batmap {

namespace {

constexpr uint64_t kMaxSpan = uint64_t{1} << 61;
constexpr uint64_t kAxisEnd = uint64_t{1} << 62;
constexpr size_t kMaxEvents = UINT32_MAX - 1;
constexpr size_t kRowsAPoll = size_t{1} << 16;

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

/// Runs body(begin, end) over ranges of [0, count) and looks at the cancel token between them.
template <typename Body>
void in_slices(size_t count, const CancelToken& cancel, Body body) {
  for (size_t begin = 0; begin < count; begin += kRowsAPoll) {
    cancel.throw_if_requested();
    body(begin, std::min(count, begin + kRowsAPoll));
  }
}

KeyCodes codes_of(const EventLog& log, int64_t EventLog::Row::*key, const ExecutionOptions& options) {
  Span keys;
  in_slices(log.rows(), options.cancel, [&](size_t begin, size_t end) {
    for (size_t k = begin; k < end; ++k) keys.add(log[k].*key);
  });
  return {*options.memory, keys.first, log.rows() == 0 ? 0 : keys.ticks(), log.rows()};
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
  in_slices(count, cancel, [&](size_t begin, size_t end) {
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
    for (size_t k = 0; k < count; ++k) ++begin[rows[k].stream + 1];
    for (size_t k = 0; k < streams; ++k) begin[k + 1] += begin[k];
    Buffer<Row> grouped(*options.memory, count);
    Buffer<size_t> at(*options.memory, streams);
    std::copy_n(begin.begin(), streams, at.begin());
    in_slices(count, options.cancel, [&](size_t first, size_t last) {
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
size_t add_axis(std::vector<EventStream>& axes, std::span<const Row> rows, size_t from,
                const GrowingBuffer<int64_t>& streams, uint32_t symbols, int64_t reach, EpisodeCounting counting,
                const ExecutionOptions& options) {
  // Find the streams that fit, and their rows.
  GrowingBuffer<EventStream::Piece> pieces(*options.memory);
  uint64_t length = 0;
  size_t end = from;
  while (end < rows.size()) {
    size_t next = end;
    while (next < rows.size() && rows[next].stream == rows[end].stream) ++next;
    const uint64_t span = static_cast<uint64_t>(rows[next - 1].time) - static_cast<uint64_t>(rows[end].time);
    if (length + span >= kAxisEnd || next - from > kMaxEvents) break;
    pieces.push_back({static_cast<int64_t>(length), rows[end].time, streams[rows[end].stream]});
    length += span + static_cast<uint64_t>(reach) + 1;
    end = next;
  }
  if (end == from)
    throw Error(ErrorCode::kTooLarge, "a stream has more than " + std::to_string(kMaxEvents) + " events",
                "Split the events into several streams: the query may have a third column.");

  Buffer<int64_t> times(*options.memory, end - from);
  Buffer<uint32_t> symbol_of(*options.memory, end - from);
  Buffer<int64_t> last_time(*options.memory, symbols);
  std::fill(last_time.begin(), last_time.end(), -1);
  size_t events = 0;
  const EventStream::Piece* piece = pieces.begin();
  in_slices(end - from, options.cancel, [&](size_t first, size_t last) {
    for (size_t k = from + first; k < from + last; ++k) {
      if (k > from && rows[k].stream != rows[k - 1].stream) ++piece;
      const int64_t time = piece->at + (rows[k].time - piece->first);
      if (std::exchange(last_time[rows[k].event], time) == time) continue;
      times[events] = time;
      symbol_of[events++] = rows[k].event;
    }
  });
  axes.emplace_back(events, std::move(times), std::move(symbol_of), symbols, reach, std::move(pieces), counting, options);
  return end;
}

}  // namespace

EventStream::EventStream(size_t events, Buffer<int64_t> times, Buffer<uint32_t> symbols, uint32_t symbol_count,
                         int64_t reach, GrowingBuffer<Piece> pieces, EpisodeCounting counting,
                         const ExecutionOptions& options)
    : events_(events),
      reach_(reach),
      times_(std::move(times)),
      symbols_(std::move(symbols)),
      begin_(*options.memory, size_t{symbol_count} + 1, Fill::kZero),
      list_times_(*options.memory, events),
      pieces_(std::move(pieces)) {
  // at[symbol] is the next free index of each list.
  Buffer<uint32_t> at(*options.memory, size_t{symbol_count} + 1, Fill::kZero);
  for (size_t k = 0; k < events; ++k) ++at[symbols_[k] + 1];
  for (uint32_t symbol = 0; symbol < symbol_count; ++symbol) at[symbol + 1] += at[symbol];
  std::copy(at.begin(), at.end(), begin_.begin());
  in_slices(events, options.cancel, [&](size_t first, size_t last) {
    for (size_t k = first; k < last; ++k) list_times_[at[symbols_[k]]++] = times_[k];
  });
  if (counting != EpisodeCounting::kStreams) return;
  stream_ends_ = Buffer<int64_t>(*options.memory, pieces_.size());
  for (size_t k = 0; k + 1 < pieces_.size(); ++k) stream_ends_[k] = pieces_[k + 1].at - 1;
  stream_ends_[pieces_.size() - 1] = INT64_MAX;
}

EventStreamView EventStream::view() const {
  return {events_,       times_.data(),      symbols_.data(), static_cast<uint32_t>(begin_.size() - 1),
          begin_.data(), list_times_.data(), reach_,          {stream_ends_.data(), stream_ends_.size()}};
}

const EventStream::Piece& EventStream::piece_of(int64_t time) const {
  const auto behind = std::upper_bound(pieces_.begin(), pieces_.end(), time,
                                       [](int64_t wanted, const Piece& piece) { return wanted < piece.at; });
  return *(behind - 1);
}

EventStreams::EventStreams(EventLog log, std::span<const uint32_t> event_rank,
                           const std::function<EventFilter(const EventTotals&)>& filter, int64_t reach,
                           const ExecutionOptions& options, EpisodeCounting counting)
    : counting_(counting) {
  totals_.rows = log.rows();
  if (totals_.rows == 0) return;

  // Codes for events and streams; first and last time of each stream.
  Buffer<Row> rows(*options.memory, log.rows());
  GrowingBuffer<int64_t> streams(*options.memory);  // [code] value
  GrowingBuffer<Span> spans(*options.memory);
  KeyCodes events = codes_of(log, &EventLog::Row::event, options);
  {
    KeyCodes stream_codes = codes_of(log, &EventLog::Row::stream, options);
    in_slices(log.rows(), options.cancel, [&](size_t first, size_t last) {
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
  uint64_t longest = 0;
  for (const Span& span : spans) {
    if (span.last < span.first) continue;
    longest = std::max(longest, span.ticks());
    if (longest >= kMaxSpan)
      throw Error(ErrorCode::kTooLarge, "times of a stream span " + std::to_string(longest) + " ticks",
                  "At most " + std::to_string(kMaxSpan - 1) + " ticks may lie between first and last.");
    ++totals_.streams;
    totals_.duration = sum_of_durations(totals_.duration, std::min(span.ticks(), kMaxDuration));
  }

  // Which events stay, and their symbols.
  Buffer<uint64_t> counts(*options.memory, events.size(), Fill::kZero);
  for (const Row& row : rows) ++counts[row.event];
  const auto value_of = [&](size_t code) {
    const int64_t key = events.key(static_cast<uint32_t>(code));
    return event_rank.empty() ? key : int64_t{event_rank[static_cast<size_t>(key)]};
  };
  for (const uint64_t count : counts) totals_.events += count > 0;
  const EventFilter wanted = filter(totals_);
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
    rows_kept_ += counts[code];
  }
  std::sort(kept.begin(), kept.end(),
            polled(options.cancel, [](const Kept& x, const Kept& y) { return x.value < y.value; }));
  values_ = Buffer<int64_t>(*options.memory, kept.size());
  constexpr uint32_t kGone = UINT32_MAX;
  Buffer<uint32_t> symbol_of_code(*options.memory, counts.size());
  std::fill(symbol_of_code.begin(), symbol_of_code.end(), kGone);
  for (uint32_t symbol = 0; symbol < kept.size(); ++symbol) {
    values_[symbol] = kept[symbol].value;
    symbol_of_code[kept[symbol].code] = symbol;
  }

  size_t kept_rows = 0;
  in_slices(rows.size(), options.cancel, [&](size_t first, size_t last) {
    for (size_t k = first; k < last; ++k)
      if (const uint32_t symbol = symbol_of_code[rows[k].event]; symbol != kGone)
        rows[kept_rows++] = {rows[k].time, symbol, rows[k].stream};
  });
  sort_rows(rows, kept_rows, spans.size(), options);
  sort_same_times(rows, kept_rows, options.cancel);
  reach = std::min(reach, static_cast<int64_t>(longest));
  for (size_t from = 0; from < kept_rows;)
    from = add_axis(axes_, {rows.data(), kept_rows}, from, streams, symbols(), reach, counting, options);
}

std::optional<uint32_t> EventStreams::symbol_of(int64_t value) const {
  const auto at = std::lower_bound(values_.begin(), values_.end(), value);
  if (at == values_.end() || *at != value) return std::nullopt;
  return static_cast<uint32_t>(at - values_.begin());
}

}  // namespace batmap
