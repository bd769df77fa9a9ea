// Counts of parts. See episode_parts.h.
#include "episodes/episode_parts.h"

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/poll.h"
#include "core/polled.h"
#include "core/stopwatch.h"
#include "episodes/between_pieces.h"
#include "episodes/counting_rule.h"

namespace batmap {

namespace {

constexpr size_t kAtOnce = 65536;  // candidates that are counted in one pass over the events

EpisodeTotals totals_of(const EventStreams& streams) {
  return {streams.totals().rows, streams.totals().streams, streams.totals().duration};
}

/// The candidates of one length all of whose events occur.
struct LengthBatch {
  explicit LengthBatch(MemoryMeter& meter) : symbols(meter), gaps(meter), node(meter) {}

  GrowingBuffer<uint32_t> symbols;  // [size x length]
  GrowingBuffer<Gap> gaps;          // [size x (length - 1)]
  GrowingBuffer<uint64_t> node;     // [size] the number of the candidate
};

bool has_any(std::span<const uint32_t> codes, const Buffer<uint8_t>& is_listed, uint32_t kinds) {
  return std::ranges::any_of(codes, [&](uint32_t code) { return is_listed[code / kinds] != 0; });
}

/// Which of the events are in a list. @param events  ascending @return empty if there is no list
Buffer<uint8_t> listed(const std::optional<std::vector<int64_t>>& list, std::span<const int64_t> events,
                       const ExecutionOptions& options) {
  Buffer<uint8_t> is_listed(*options.memory, list ? events.size() : 0, Fill::kZero);
  if (!list) return is_listed;
  Poll poll(options.cancel);
  for (const int64_t event : *list) {
    poll.after(64);
    const auto found = std::lower_bound(events.begin(), events.end(), event);
    if (found != events.end() && *found == event) is_listed[static_cast<size_t>(found - events.begin())] = 1;
  }
  return is_listed;
}

}  // namespace

EpisodeShape shape_of(const EpisodeQuery& query, uint8_t unit) {
  return {query.gaps, query.counting, query.same_time, unit};
}

void write_episode_counts(EpisodeRun& run, const EpisodeShape& shape, GrowingBuffer<std::byte>& out,
                          const ExecutionOptions& options) {
  const EventStreams& streams = run.streams();
  Buffer<int64_t> events(*options.memory, streams.symbols());
  for (uint32_t symbol = 0; symbol < events.size(); ++symbol) events[symbol] = streams.value(symbol);
  EpisodePaths paths(options);
  // The steps of a run are codes of its symbols; the first has no gap before it.
  Poll poll(options.cancel);
  while (const std::optional<EpisodeRun::Row> row = run.next()) {
    poll.after(8 + row->steps.size());
    paths.add(row->steps, row->support);
  }
  for (const EpisodePaths::Path& path : paths.paths()) {
    poll.after(8);
    uint32_t& first = paths.codes(path)[0];
    first -= first % shape.gap_kinds();
  }
  paths.sort();
  write_episodes(paths, events.span(), shape, totals_of(streams), out, options);
}

RunRecord count_episodes_of_part(EventLog log, const std::byte* candidates, GrowingBuffer<std::byte>& out,
                                 const ExecutionOptions& options) {
  const Stopwatch watch;
  RunRecord record;
  const EpisodeShape shape = episode_counts_shape(candidates);
  const uint32_t kinds = shape.gap_kinds();
  const Buffer<int64_t> events = episode_counts_events(candidates, options);
  const std::vector<int64_t> only(events.begin(), events.end());
  int64_t reach = 0;
  for (const Gap& gap : shape.gaps) reach = std::max(reach, gap.high);
  const EventStreams streams(
      std::move(log), {}, [&](const EventTotals&) { return EventFilter{.only = &only}; }, reach, options, shape.counting);
  record.answers = AnswerKind::kEpisodes;
  record.method = "candidates";
  record.reason = kEpisodeCountingNames[static_cast<size_t>(shape.counting)] + streams.describe_files();
  record_streams(streams, record);
  record.group_ms = watch.milliseconds();

  std::map<uint32_t, LengthBatch> batches;
  Poll poll(options.cancel);
  uint64_t node = 0;
  for (TreeNodes nodes = episode_counts_nodes(candidates); nodes.next();) {
    poll.after(8);
    if (nodes.count() == 0) continue;
    poll.after(8 * uint64_t{nodes.length()});
    LengthBatch& batch = batches.try_emplace(nodes.length(), *options.memory).first->second;
    const size_t before = batch.symbols.size();
    for (const uint32_t code : nodes.path())
      if (const auto symbol = streams.symbol_of(events[code / kinds])) batch.symbols.push_back(*symbol);
    if (batch.symbols.size() - before < nodes.length()) {
      batch.symbols.shrink(before);
    } else {
      for (const uint32_t code : nodes.path().subspan(1))
        batch.gaps.push_back(code % kinds < shape.gaps.size() ? shape.gaps[code % kinds] : kSameTime);
      batch.node.push_back(node);
    }
    ++node;
  }
  Buffer<uint64_t> supports(*options.memory, node, Fill::kZero);
  BetweenPieces blocked(streams, node, kNothingBlocked, *options.memory);
  size_t prefixes = 0;
  for (const auto& [length, found] : batches) prefixes += found.node.size() * (length - 1);
  BetweenPieces carried(streams, prefixes, kNoOccurrence, *options.memory);
  const size_t longest = batches.empty() ? 0 : batches.rbegin()->first;
  streams.for_parts(longest, streams.lag(shape.gaps), options, [&](const EventPart& part) {
    const std::span<int64_t> blocked_to = blocked.of(part);
    std::span<Occurrence> entries = carried.of(part);
    for (const auto& [length, found] : batches) {
      for (size_t from = 0; from < found.node.size(); from += kAtOnce) {
        const EpisodeBatch batch{found.symbols.begin() + from * length, found.gaps.begin() + from * (length - 1), length,
                                 std::min(found.node.size() - from, kAtOnce)};
        Buffer<uint64_t> counts(*options.memory, batch.size, Fill::kZero);
        Buffer<int64_t> own_blocked(*options.memory, blocked_to.empty() ? 0 : batch.size);
        for (size_t k = 0; k < own_blocked.size(); ++k) own_blocked[k] = blocked_to[found.node[from + k]];
        const std::span<Occurrence> own_entries = entries.first(entries.empty() ? 0 : batch.size * (length - 1));
        entries = entries.subspan(own_entries.size());
        for (const EventAxis& axis : part.axes) {
          options.cancel.throw_if_requested();
          const EventAxisView view = axis.view();
          count_episodes(choose_for_part(part, view, batch, options.threads), view, batch, counts.span(), options,
                         own_blocked.span(), own_entries);
        }
        for (size_t k = 0; k < batch.size; ++k) supports[found.node[from + k]] += counts[k];
        for (size_t k = 0; k < own_blocked.size(); ++k) blocked_to[found.node[from + k]] = own_blocked[k];
      }
    }
  });

  EpisodePaths occurring(options);  // sorted already
  node = 0;
  for (TreeNodes nodes = episode_counts_nodes(candidates); nodes.next();) {
    poll.after(8);
    if (nodes.count() == 0) continue;
    if (supports[node] > 0) occurring.add(nodes.path(), supports[node]);
    ++node;
  }
  record.results = occurring.size();
  write_episodes(occurring, events.span(), shape, totals_of(streams), out, options);
  return record;
}

StoredEpisodes::StoredEpisodes(const std::byte* value, const EpisodeQuery& query, const ExecutionOptions& options)
    : events_(episode_counts_events(value, options)),
      gap_kinds_(episode_counts_header(value).gap_kinds()),
      answers_(options),
      limit_(query.max_results) {
  const Stopwatch watch;
  query.check();
  const EpisodeCountsHeader header = episode_counts_header(value);
  const uint64_t min_count = query.min_count_within(header.duration);
  const Buffer<uint8_t> included = listed(query.include, events_.span(), options);
  const Buffer<uint8_t> excluded = listed(query.exclude, events_.span(), options);
  Poll poll(options.cancel);
  for (TreeNodes nodes = episode_counts_nodes(value); nodes.next();) {
    poll.after(8 + uint64_t{nodes.length()});
    if (nodes.count() < std::max<uint64_t>(min_count, 1)) continue;
    if (query.min_length && nodes.length() < *query.min_length) continue;
    if (query.max_length && nodes.length() > *query.max_length) continue;
    if (query.include && !has_any(nodes.path(), included, gap_kinds_)) continue;
    if (query.exclude && has_any(nodes.path(), excluded, gap_kinds_)) continue;
    answers_.add(nodes.path(), nodes.count());
  }
  // The order of a tree is that of the events and gaps, among those of one length.
  const std::span<EpisodePaths::Path> paths = answers_.paths();
  std::sort(paths.begin(), paths.end(), polled(options.cancel, [&](const auto& x, const auto& y) {
              if (query.top_k && x.support != y.support) return x.support > y.support;
              return x.length != y.length ? x.length < y.length : x.begin < y.begin;
            }));
  if (query.top_k) answers_.shrink(std::min<uint64_t>(paths.size(), static_cast<uint64_t>(*query.top_k)));
  record_.answers = AnswerKind::kEpisodes;
  record_.method = "stored";
  record_.reason = "counts are read, not counted, threshold " + std::to_string(min_count);
  record_.transactions = header.streams;
  record_.items = record_.items_kept = header.events;
  record_.group_ms = watch.milliseconds();
}

std::optional<EpisodeRun::Row> StoredEpisodes::next() {
  if (row_ == answers_.size() || limit_.is_cut_off()) return std::nullopt;
  std::optional<EpisodeRun::Row> row;
  if (limit_.take(1) > 0) {
    const EpisodePaths::Path& path = answers_.paths()[row_++];
    row = EpisodeRun::Row{answers_.codes(path), path.support};
  }
  record_.results = limit_.taken();
  record_.truncation = limit_.truncation();
  return row;
}

}  // namespace batmap
