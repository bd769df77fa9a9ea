// From rows to axes. See event_stream.h.
#include "episodes/event_stream.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/polled.h"
#include "relation/key_codes.h"
#include "relation/row_partitions.h"
#include "relation/swapped_columns.h"

namespace batmap {

namespace {

constexpr uint64_t kMaxSpan = uint64_t{1} << 61;
constexpr uint64_t kAxisEnd = uint64_t{1} << 62;
constexpr size_t kMaxEvents = UINT32_MAX - 1;

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
constexpr uint64_t kAxisBytesAnEvent = 36;  // while an axis is made

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
size_t add_axis(std::vector<EventStream>& axes, std::span<const Row> rows, size_t from,
                const GrowingBuffer<int64_t>& streams, std::optional<int64_t> origin, uint32_t symbols, int64_t reach,
                EpisodeCounting counting, const ExecutionOptions& options) {
  // Find the streams that fit, and their rows.
  GrowingBuffer<EventStream::Stretch> stretches(*options.memory);
  uint64_t length = 0;
  size_t end = from;
  while (end < rows.size()) {
    size_t next = end;
    while (next < rows.size() && rows[next].stream == rows[end].stream) ++next;
    const uint64_t span = static_cast<uint64_t>(rows[next - 1].time) - static_cast<uint64_t>(rows[end].time);
    if (length + span >= kAxisEnd || next - from > kMaxEvents) break;
    stretches.push_back({static_cast<int64_t>(length), origin.value_or(rows[end].time), streams[rows[end].stream]});
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
  const EventStream::Stretch* stretch = stretches.begin();
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

EventLog::EventLog(const ExecutionOptions& options, bool with_streams, uint64_t expected)
    : meter_(options.memory), columns_(with_streams ? 3 : 2) {
  uint64_t rows = std::clamp<uint64_t>(expected, 1, kMaxRowsABlock);
  if (options.files != nullptr) {
    files_ = options.files;
    cancel_ = options.cancel;
    max_bytes_ = options.work_bytes / kShareOfWorkMemory;
    constexpr size_t kBlocks = 8;
    rows = std::clamp<uint64_t>(max_bytes_ / (kBlocks * sizeof(Row)), 1, rows);
  }
  shift_ = std::countr_zero(std::bit_ceil(rows));
}

void EventLog::add_block() {
  const size_t block_bytes = (columns_ << shift_) * sizeof(int64_t);
  const bool is_full = files_ != nullptr && (partitions_ || (blocks_.size() + 1) * block_bytes > max_bytes_);
  if (blocks_.empty() || !is_full) {
    blocks_.emplace_back(*meter_, columns_ << shift_);
    return;
  }
  write_blocks();
  blocks_.erase(blocks_.begin() + 1, blocks_.end());  // one is enough from now on
}

void EventLog::write_blocks() {
  if (!partitions_) partitions_.emplace(*files_, *meter_);
  in_parts(rows_, cancel_, [&](size_t first, size_t last) {
    for (size_t k = first; k < last; ++k) partitions_->append((*this)[k]);
  });
  rows_ = 0;
}

EventPartitions* EventLog::seal() {
  if (!partitions_) return nullptr;
  write_blocks();
  blocks_.clear();
  partitions_->seal();
  return &*partitions_;
}

EventStream::EventStream(size_t events, Buffer<int64_t> times, Buffer<uint32_t> symbols, uint32_t symbol_count,
                         int64_t reach, GrowingBuffer<Stretch> stretches, EpisodeCounting counting,
                         const ExecutionOptions& options, const PieceBounds& piece)
    : events_(events),
      reach_(reach),
      piece_(piece),
      times_(std::move(times)),
      symbols_(std::move(symbols)),
      begin_(*options.memory, size_t{symbol_count} + 1, Fill::kZero),
      list_times_(*options.memory, events),
      stretches_(std::move(stretches)) {
  // at[symbol] is the next free index of each list.
  Buffer<uint32_t> at(*options.memory, size_t{symbol_count} + 1, Fill::kZero);
  in_parts(events, options.cancel, [&](size_t first, size_t last) {
    for (size_t k = first; k < last; ++k) ++at[symbols_[k] + 1];
  });
  for (uint32_t symbol = 0; symbol < symbol_count; ++symbol) at[symbol + 1] += at[symbol];
  std::copy(at.begin(), at.end(), begin_.begin());
  in_parts(events, options.cancel, [&](size_t first, size_t last) {
    for (size_t k = first; k < last; ++k) list_times_[at[symbols_[k]]++] = times_[k];
  });
  if (counting != EpisodeCounting::kStreams) return;
  stream_ends_ = Buffer<int64_t>(*options.memory, stretches_.size());
  for (size_t k = 0; k + 1 < stretches_.size(); ++k) stream_ends_[k] = stretches_[k + 1].at - 1;
  stream_ends_[stretches_.size() - 1] = INT64_MAX;
}

void EventStream::write(TempFile& file, const CancelToken& cancel) const {
  const auto put = [&](const auto* values, size_t count) {
    in_parts(count, cancel,
             [&](size_t first, size_t last) { file.write(std::as_bytes(std::span(values + first, last - first))); });
  };
  const uint64_t sizes[2] = {events_, stretches_.size()};
  put(sizes, 2);
  put(times_.data(), events_);
  put(symbols_.data(), events_);
  put(stretches_.begin(), stretches_.size());
}

EventStream::Sizes EventStream::read_sizes(TempFile& file) {
  Sizes sizes;
  file.read(std::as_writable_bytes(std::span(&sizes, 1)));
  return sizes;
}

void EventStream::read_events(TempFile& file, const Sizes& sizes, int64_t* times, uint32_t* symbols,
                              GrowingBuffer<Stretch>& stretches, const CancelToken& cancel) {
  const auto get = [&](auto* values, size_t count) {
    in_parts(count, cancel,
             [&](size_t first, size_t last) { file.read(std::as_writable_bytes(std::span(values + first, last - first))); });
  };
  get(times, sizes.events);
  get(symbols, sizes.events);
  get(stretches.room(sizes.stretches), sizes.stretches);
  stretches.add(sizes.stretches);
}

EventStreamView EventStream::view() const {
  return {.events = events_,
          .times = times_.data(),
          .symbols = symbols_.data(),
          .symbol_count = static_cast<uint32_t>(begin_.size() - 1),
          .begin = begin_.data(),
          .list_times = list_times_.data(),
          .reach = reach_,
          .stream_ends = {stream_ends_.data(), stream_ends_.size()},
          .piece = piece_};
}

const EventStream::Stretch& EventStream::stretch_of(int64_t time) const {
  const auto behind = std::upper_bound(stretches_.begin(), stretches_.end(), time,
                                       [](int64_t wanted, const Stretch& stretch) { return wanted < stretch.at; });
  return *(behind - 1);
}

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
      if (longest_ >= kMaxSpan)
        throw Error(ErrorCode::kTooLarge, "times of a stream span " + std::to_string(longest_) + " ticks",
                    "At most " + std::to_string(kMaxSpan - 1) + " ticks may lie between first and last.");
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
  void add_axes(std::vector<EventStream>& axes, Buffer<Row>& rows, size_t count, const GrowingBuffer<int64_t>& stream_values,
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
    std::vector<EventStream> axes;
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
    const EventStreamView last = axes.back().view();
    const StoredPart& part = parts_.emplace_back(StoredPart{.file = &options.files->create(),
                                                            .axes = axes.size(),
                                                            .is_piece = group.is_piece(),
                                                            .continues = has_begun,
                                                            .events = last.events,
                                                            .first_time = last.times[0],
                                                            .last_time = last.times[last.events - 1]});
    has_pieces_ |= part.is_piece;
    has_begun = part.is_piece;
    for (const EventStream& axis : axes) axis.write(*part.file, options.cancel);
    axis_bytes += part.file->unread();
  }
  file_bytes_ = std::max(file_bytes_, axis_bytes);
}

EventStreams::PartReader::PartReader(const EventStreams& streams, size_t length, int64_t step,
                                     const ExecutionOptions& options, bool by_twos)
    : streams_(streams), options_(options), by_twos_(by_twos) {
  const uint64_t gaps = length > 0 ? length - 1 : 0;
  if (gaps > 0 && static_cast<uint64_t>(step) > kMaxSpan / gaps)
    bounds_.context = static_cast<int64_t>(kMaxSpan);  // the whole stream
  else
    bounds_ = {.context = static_cast<int64_t>(gaps) * step, .step = step};
}

std::optional<EventPart> EventStreams::PartReader::next() {
  if (at_ == streams_.parts_.size()) return std::nullopt;
  const StoredPart& part = streams_.parts_[at_];
  if (!part.is_piece)
    load_axes(part);
  else if (by_twos_)
    load_two();
  else
    load_pieces();
  EventPart loaded{axes_, part.is_piece, part.continues};
  if (part.is_piece && by_twos_ && !bounds_.crosses && reach_from_ < reach_to_) loaded.in_reach = in_reach_.span();
  return loaded;
}

bool EventStreams::has_long_windows(const ExecutionOptions& options) const {
  uint64_t most = 0;
  for (size_t begin = 0; begin < parts_.size();) {
    uint64_t events = 0;
    size_t end = begin;
    const int64_t counted_to = parts_[begin].continues ? parts_[begin - 1].last_time : -1;
    // As load_pieces(), but with all events of a piece that is partly in the context.
    for (size_t k = begin; k-- > 0 && parts_[k + 1].continues && parts_[k].last_time > counted_to - reach_;)
      events += parts_[k].events;
    do {
      events += parts_[end++].events;
    } while (end < parts_.size() && parts_[end].continues && parts_[end - 1].last_time - counted_to < reach_);
    if (parts_[begin].is_piece) most = std::max(most, events);
    begin = end;
  }
  return most > options.work_bytes / kAxisBytesAnEvent;
}

void EventStreams::PartReader::load_axes(const StoredPart& part) {
  earlier_ = ++at_;
  axes_.clear();
  axes_.reserve(part.axes);
  part.file->rewind();
  while (axes_.size() < part.axes) {
    const EventStream::Sizes sizes = EventStream::read_sizes(*part.file);
    Buffer<int64_t> times(*options_.memory, sizes.events);
    Buffer<uint32_t> symbols(*options_.memory, sizes.events);
    GrowingBuffer<EventStream::Stretch> stretches(*options_.memory);
    EventStream::read_events(*part.file, sizes, times.data(), symbols.data(), stretches, options_.cancel);
    axes_.emplace_back(sizes.events, std::move(times), std::move(symbols), streams_.symbols(), streams_.reach_,
                       std::move(stretches), streams_.counting_, options_);
  }
}

/// Loads pieces of a stream behind the events before them that they may need.
void EventStreams::PartReader::load_pieces() {
  const std::vector<StoredPart>& parts = streams_.parts_;
  bounds_.counted_to = -1;
  size_t kept = 0;  // events of the axis before: copied, because it leaves memory before the next one comes
  Buffer<int64_t> kept_times(*options_.memory, 0);
  Buffer<uint32_t> kept_symbols(*options_.memory, 0);
  if (parts[at_].continues) {
    const EventStreamView before = axes_[0].view();
    bounds_.counted_to = before.times[before.events - 1];
    const auto first = static_cast<size_t>(
        std::upper_bound(before.times, before.times + before.events, bounds_.counted_to - bounds_.context) - before.times);
    kept = before.events - first;
    kept_times = Buffer<int64_t>(*options_.memory, kept);
    kept_symbols = Buffer<uint32_t>(*options_.memory, kept);
    std::copy_n(before.times + first, kept, kept_times.begin());
    std::copy_n(before.symbols + first, kept, kept_symbols.begin());
  }
  const size_t begin = at_;
  do {
    ++at_;
  } while (at_ < parts.size() && parts[at_].continues && parts[at_ - 1].last_time - bounds_.counted_to < bounds_.context);
  load_axis({{begin, at_}}, std::move(kept_times), std::move(kept_symbols));
}

/// Loads a piece alone, and then with each earlier one that is partly in reach.
void EventStreams::PartReader::load_two() {
  const std::vector<StoredPart>& parts = streams_.parts_;
  axes_.clear();  // before count_in_reach() reads pieces
  const bool is_alone = earlier_ == at_;
  if (is_alone) count_in_reach();
  bounds_.crosses = !is_alone;
  bounds_.counted_to = is_alone ? -1 : parts[earlier_].last_time;
  if (is_alone)
    load_axis({{at_, at_ + 1}});
  else
    load_axis({{earlier_, earlier_ + 1}, {at_, at_ + 1}});
  const size_t next = is_alone ? reach_from_ : earlier_;
  if (next > stream_ && parts[next - 1].last_time >= parts[at_].first_time - bounds_.context)
    earlier_ = next - 1;
  else
    earlier_ = ++at_;
}

/// Counts the events of the earlier pieces that are wholly in reach of the whole piece. From one piece to the next, some pieces
/// come into reach, and some leave it.
void EventStreams::PartReader::count_in_reach() {
  const std::vector<StoredPart>& parts = streams_.parts_;
  if (in_reach_.empty()) in_reach_ = Buffer<uint64_t>(*options_.memory, streams_.symbols(), Fill::kZero);
  if (!parts[at_].continues) stream_ = at_;
  size_t from = std::max(stream_, reach_from_);
  while (from < at_ && parts[from].first_time < parts[at_].last_time - bounds_.context) ++from;
  if (from >= reach_to_) {
    std::fill(in_reach_.begin(), in_reach_.end(), 0);
    reach_from_ = reach_to_ = from;
  }
  while (reach_from_ < from) add_counts(reach_from_++, false);
  while (reach_to_ < at_) add_counts(reach_to_++, true);
}

void EventStreams::PartReader::add_counts(size_t piece, bool add) {
  const uint64_t events = streams_.parts_[piece].events;
  Buffer<int64_t> times(*options_.memory, events);
  Buffer<uint32_t> symbols(*options_.memory, events);
  GrowingBuffer<EventStream::Stretch> stretches(*options_.memory);
  read_piece(piece, times.data(), symbols.data(), stretches);
  const uint64_t more = add ? 1 : ~uint64_t{0};
  for (const uint32_t symbol : symbols) in_reach_[symbol] += more;
}

/// @param times, symbols  [events of the piece] filled @param stretches  replaced
void EventStreams::PartReader::read_piece(size_t piece, int64_t* times, uint32_t* symbols,
                                          GrowingBuffer<EventStream::Stretch>& stretches) {
  TempFile& file = *streams_.parts_[piece].file;
  file.rewind();
  const EventStream::Sizes sizes = EventStream::read_sizes(file);
  stretches.shrink(0);
  EventStream::read_events(file, sizes, times, symbols, stretches, options_.cancel);
}

/// Makes the axis of these ranges of pieces. @param kept_times, kept_symbols  come before them
void EventStreams::PartReader::load_axis(std::initializer_list<PieceRange> ranges, Buffer<int64_t> kept_times,
                                         Buffer<uint32_t> kept_symbols) {
  const std::vector<StoredPart>& parts = streams_.parts_;
  axes_.clear();
  const size_t kept = kept_times.size();
  uint64_t events = kept;
  for (const PieceRange& range : ranges)
    for (size_t k = range.begin; k < range.end; ++k) events += parts[k].events;
  if (events > kMaxEvents)
    throw Error(ErrorCode::kTooLarge, "a gap or window reaches over more than " + std::to_string(kMaxEvents) + " events",
                "Give smaller gaps, or a smaller window.");
  Buffer<int64_t> times(*options_.memory, events);
  Buffer<uint32_t> symbols(*options_.memory, events);
  std::copy_n(kept_times.begin(), kept, times.begin());
  std::copy_n(kept_symbols.begin(), kept, symbols.begin());
  kept_times.reset();
  kept_symbols.reset();
  GrowingBuffer<EventStream::Stretch> stretches(*options_.memory);  // those of the last: a stream has one origin
  size_t to = kept;
  for (const PieceRange& range : ranges) {
    for (size_t k = range.begin; k < range.end; ++k) {
      read_piece(k, times.data() + to, symbols.data() + to, stretches);
      to += parts[k].events;
    }
  }
  axes_.emplace_back(events, std::move(times), std::move(symbols), streams_.symbols(), streams_.reach_, std::move(stretches),
                     streams_.counting_, options_, bounds_);
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
