// Reads, writes, adds and checks episode counts. See episode_counts.h for the bytes.
#include "episodes/episode_counts.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <string>
#include <utility>

#include "core/error.h"
#include "episodes/event_streams.h"

namespace batmap {

namespace {

constexpr uint8_t kVersion = 1;
constexpr uint8_t kMaxUnit = 2;
constexpr uint64_t kMaxTotal = INT64_MAX / 2;
constexpr size_t kGapBytes = 16;

constexpr CodesBelow kBelow = CodesBelow::kAny;
constexpr TreeWords kWords{"episode counts", "event", "events", "episode", "episodes"};

Gap gap_at(const std::byte* value, uint32_t index) {
  Gap gap;
  const std::byte* const at = value + kEpisodeCountsHeaderBytes + kGapBytes * index;
  std::memcpy(&gap.low, at, sizeof gap.low);
  std::memcpy(&gap.high, at + sizeof gap.low, sizeof gap.high);
  return gap;
}

const std::byte* events_of(const std::byte* value) {
  return value + kEpisodeCountsHeaderBytes + kGapBytes * episode_counts_header(value).gaps;
}

void check_same_shape(const std::byte* x, const std::byte* y) {
  if (episode_counts_shape(x) == episode_counts_shape(y)) return;
  throw Error(ErrorCode::kInvalidParameter, "episode counts of different gaps or rules of counting cannot be added up",
              "Make all of them with the same gaps, of one type, and the same counting and same_time.");
}

void write_value(const EpisodeShape& shape, const EpisodeTotals& totals, const AscendingWriter& events, TreeWriter& nodes,
                 GrowingBuffer<std::byte>& out) {
  check_number_of_gaps(shape.gaps.size());
  if (std::max(totals.rows, totals.streams) > kMaxTotal)
    throw Error(ErrorCode::kTooLarge, "episode counts of more than " + std::to_string(kMaxTotal) + " rows");
  const GrowingBuffer<std::byte>& of_nodes = nodes.finish();
  EpisodeCountsHeader header{};
  header.version = kVersion;
  header.counting = static_cast<uint8_t>(shape.counting);
  header.same_time = shape.same_time;
  header.unit = shape.unit;
  header.events = events.count();
  header.gaps = static_cast<uint32_t>(shape.gaps.size());
  header.event_bytes = events.bytes().size();
  header.bytes = kEpisodeCountsHeaderBytes + kGapBytes * shape.gaps.size() + events.bytes().size() + of_nodes.size();
  header.rows = totals.rows;
  header.streams = totals.streams;
  header.duration = totals.duration;
  header.episodes = nodes.counted();
  std::byte* at = out.room(header.bytes);
  std::memcpy(at, &header, sizeof header);
  at += sizeof header;
  for (const Gap& gap : shape.gaps) {
    std::memcpy(at, &gap.low, sizeof gap.low);
    std::memcpy(at + sizeof gap.low, &gap.high, sizeof gap.high);
    at += kGapBytes;
  }
  at = std::copy(events.bytes().begin(), events.bytes().end(), at);
  std::copy(of_nodes.begin(), of_nodes.end(), at);
  out.add(header.bytes);
}

void check_codes(uint64_t events, const EpisodeShape& shape) {
  if (events * shape.gap_kinds() < UINT32_MAX) return;
  throw Error(ErrorCode::kTooLarge, "more than 4294967294 pairs of an event and a gap in episode counts",
              "Raise the threshold of the parts, or give fewer gaps.");
}

/// @return whether no episode is counted in both
bool add_episodes(const std::byte* x, const std::byte* y, const EpisodeTotals& totals, GrowingBuffer<std::byte>& out,
                  const ExecutionOptions& options) {
  check_same_shape(x, y);
  const EpisodeShape shape = episode_counts_shape(x);
  const uint32_t kinds = shape.gap_kinds();
  const AscendingUnion events(
      episode_counts_events(x, options).span(), episode_counts_events(y, options).span(),
      [&](uint64_t size) { check_codes(size, shape); }, options);
  const auto in_sum = [&](uint32_t code, const Buffer<uint32_t>& of) {
    return uint64_t{of[code / kinds]} * kinds + code % kinds;
  };
  TreeWriter nodes(kBelow, options);
  const bool disjoint = add_trees(
      episode_counts_nodes(x), episode_counts_nodes(y), [&](uint32_t code) { return in_sum(code, events.of_x); },
      [&](uint32_t code) { return in_sum(code, events.of_y); }, nodes);
  write_value(shape, totals, events.numbers, nodes, out);
  return disjoint;
}

EpisodeTotals totals_of(const std::byte* value) {
  const EpisodeCountsHeader header = episode_counts_header(value);
  return {header.rows, header.streams, header.duration};
}

void add_two(const std::byte* x, const std::byte* y, GrowingBuffer<std::byte>& out, const ExecutionOptions& options) {
  const EpisodeTotals a = totals_of(x);
  const EpisodeTotals b = totals_of(y);
  add_episodes(x, y, {a.rows + b.rows, a.streams + b.streams, sum_of_durations(a.duration, b.duration)}, out, options);
}

/// The numbers of a header that do not depend on bytes behind it.
bool are_sound(const EpisodeCountsHeader& header) {
  return header.counting <= 1 && header.same_time <= 1 && header.unit <= kMaxUnit && header.zero == 0 && header.gaps > 0 &&
         header.gaps <= kMaxEpisodeGaps && std::max(header.rows, header.streams) <= kMaxTotal &&
         header.duration <= kMaxDuration && header.streams <= header.rows &&
         uint64_t{header.events} * (uint64_t{header.gaps} + header.same_time) < UINT32_MAX;
}

/// Whether gaps and events fit in.
bool have_room(const EpisodeCountsHeader& header) {
  const uint64_t rest = header.bytes - kEpisodeCountsHeaderBytes;
  return kGapBytes * header.gaps <= rest && header.event_bytes <= rest - kGapBytes * header.gaps &&
         header.events <= header.event_bytes;
}

}  // namespace

void check_number_of_gaps(size_t gaps) {
  if (gaps > kMaxEpisodeGaps)
    throw Error(ErrorCode::kTooLarge, "more than " + std::to_string(kMaxEpisodeGaps) + " gaps in episode counts");
}

EpisodeShape episode_counts_shape(const std::byte* value) {
  const EpisodeCountsHeader header = episode_counts_header(value);
  EpisodeShape shape;
  for (uint32_t index = 0; index < header.gaps; ++index) shape.gaps.push_back(gap_at(value, index));
  shape.counting = header.rule();
  shape.same_time = header.same_time != 0;
  shape.unit = header.unit;
  return shape;
}

Buffer<int64_t> episode_counts_events(const std::byte* value, const ExecutionOptions& options) {
  return read_ascending(events_of(value), episode_counts_header(value).events, options);
}

TreeNodes episode_counts_nodes(const std::byte* value) {
  const EpisodeCountsHeader header = episode_counts_header(value);
  return {events_of(value) + header.event_bytes, value + header.bytes, kBelow};
}

void EpisodePaths::add(std::span<const uint32_t> codes, uint64_t support) {
  if (codes.size() > kMaxPathLength)
    throw Error(ErrorCode::kTooLarge, "an episode of more than " + std::to_string(kMaxPathLength) + " events",
                "Give max_length.");
  std::copy(codes.begin(), codes.end(), codes_.room(codes.size()));
  paths_.push_back({codes_.size(), support, codes.size()});
  codes_.add(codes.size());
}

void EpisodePaths::sort() {
  Poll poll(cancel_);
  std::sort(paths_.begin(), paths_.end(), [&](const Path& x, const Path& y) {
    poll.after(8 + std::min(x.length, y.length));
    return std::ranges::lexicographical_compare(std::as_const(*this).codes(x), std::as_const(*this).codes(y));
  });
}

void write_episodes(const EpisodePaths& paths, std::span<const int64_t> events, const EpisodeShape& shape,
                    const EpisodeTotals& totals, GrowingBuffer<std::byte>& out, const ExecutionOptions& options) {
  check_codes(events.size(), shape);
  const uint32_t kinds = shape.gap_kinds();
  Poll poll(options.cancel);
  Buffer<uint32_t> position(*options.memory, events.size(), Fill::kZero);
  for (const EpisodePaths::Path& path : paths.paths()) {
    poll.after(path.length);
    for (const uint32_t code : paths.codes(path)) position[code / kinds] = 1;
  }
  AscendingWriter used(options);
  for (size_t index = 0; index < events.size(); ++index) {
    if (position[index] == 0) continue;
    position[index] = used.count();
    used.add(events[index]);
  }
  TreeWriter nodes(kBelow, options);
  std::span<const uint32_t> before;
  for (const EpisodePaths::Path& path : paths.paths()) {
    const std::span<const uint32_t> codes = paths.codes(path);
    poll.after(path.length);
    const auto common = static_cast<size_t>(std::ranges::mismatch(before, codes).in2 - codes.begin());
    for (size_t at = common; at < codes.size(); ++at)
      nodes.add(static_cast<uint32_t>(at + 1), position[codes[at] / kinds] * kinds + codes[at] % kinds,
                at + 1 == codes.size() ? path.support : 0);
    before = codes;
  }
  write_value(shape, totals, used, nodes, out);
}

void add_episode_counts(std::span<const std::byte* const> values, GrowingBuffer<std::byte>& out,
                        const ExecutionOptions& options) {
  add_summed<EpisodeCountsHeader>(single_values<EpisodeCountsHeader>(values), out, options, add_two);
}

bool complete_episode_counts(const std::byte* counts, const std::byte* more, GrowingBuffer<std::byte>& out,
                             const ExecutionOptions& options) {
  return totals_of(counts) == totals_of(more) && add_episodes(counts, more, totals_of(counts), out, options);
}

void missing_episode_counts(const std::byte* sum, const std::byte* value, GrowingBuffer<std::byte>& out,
                            const ExecutionOptions& options) {
  const EpisodeShape shape = episode_counts_shape(sum);
  const uint32_t kinds = shape.gap_kinds();
  const Buffer<int64_t> events = episode_counts_events(sum, options);
  const Buffer<uint32_t> position = positions_among(events.span(), episode_counts_events(value, options).span(), options);
  EpisodePaths missing(options);
  visit_missing(
      episode_counts_nodes(sum), episode_counts_nodes(value),
      [&](uint32_t code) { return uint64_t{position[code / kinds]} * kinds + code % kinds; }, options,
      [&](std::span<const uint32_t> path, uint64_t support) { missing.add(path, support); });
  write_episodes(missing, events.span(), shape, totals_of(sum), out, options);
}

void episode_counts_append(std::byte* state, const std::byte* other) { append_summed<EpisodeCountsHeader>(state, other); }

bool is_episode_counts(std::span<const std::byte> first, size_t size) {
  if (first.size() < kEpisodeCountsHeaderBytes || size < first.size()) return false;
  const EpisodeCountsHeader header = episode_counts_header(first.data());
  if (header.version != kVersion || !are_sound(header)) return false;
  if (header.bytes < kEpisodeCountsHeaderBytes || header.bytes > size || header.behind > size - header.bytes) return false;
  return have_room(header) && header.episodes <= header.bytes;
}

void validate_episode_counts(std::span<const std::byte> bytes, const ExecutionOptions& options) {
  if (bytes.size() < kEpisodeCountsHeaderBytes) kWords.refuse("header is cut off");
  const EpisodeCountsHeader header = episode_counts_header(bytes.data());
  if (header.version != kVersion) kWords.refuse("unknown version " + std::to_string(header.version));
  if (!are_sound(header)) kWords.refuse("header has a number out of range");
  if (header.behind != 0) kWords.refuse("values that are not added");
  if (header.bytes != bytes.size()) kWords.refuse("length and header disagree");
  if (!have_room(header)) kWords.refuse("gaps, events and length disagree");

  Poll poll(options.cancel);
  std::set<std::pair<int64_t, int64_t>> seen;
  for (uint32_t index = 0; index < header.gaps; ++index) {
    poll.after(64);
    const Gap gap = gap_at(bytes.data(), index);
    if (gap.low < 0 || gap.high < gap.low) kWords.refuse("a gap that ends before it begins");
    if (!seen.emplace(gap.low, gap.high).second) kWords.refuse("a gap twice");
  }
  const size_t events = kEpisodeCountsHeaderBytes + kGapBytes * header.gaps;
  check_ascending(bytes.subspan(events, header.event_bytes), header.events, kWords, options);

  const uint32_t kinds = header.gap_kinds();
  const uint64_t most = header.rule() == EpisodeCounting::kStreams ? header.streams : header.rows;
  check_tree(bytes.subspan(events + header.event_bytes), kBelow,
             {.numbers = header.events, .kinds = kinds, .counted = header.episodes}, kWords, options,
             [&](std::span<const uint32_t> path, uint64_t support) {
               const uint32_t gap = path.back() % kinds;
               if (path.size() == 1 && gap != 0) kWords.refuse("a gap before the first event");
               if (path.size() > 1 && gap == header.gaps && path.back() / kinds <= path[path.size() - 2] / kinds)
                 kWords.refuse("events of a step that do not ascend");
               if (support > most) kWords.refuse("an episode that occurs more often than its rows allow");
             });
}

}  // namespace batmap
