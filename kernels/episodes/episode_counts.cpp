// Reads, writes, adds and checks episode counts. See episode_counts.h for the bytes.
#include "episodes/episode_counts.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <string>
#include <utility>

#include "core/error.h"
#include "core/polled.h"
#include "core/varint.h"
#include "episodes/event_stream.h"

namespace batmap {

namespace {

constexpr uint8_t kVersion = 1;
constexpr uint8_t kMaxUnit = 2;
constexpr uint64_t kMaxTotal = INT64_MAX / 2;
constexpr size_t kGapBytes = 16;

[[noreturn]] void invalid(const char* what) {
  throw Error(ErrorCode::kInvalidData, std::string("invalid episode counts: ") + what);
}

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

/// The nodes of a value as they are written, each before those below it.
class NodeWriter {
 public:
  explicit NodeWriter(const ExecutionOptions& options) : poll_(options.cancel), bytes_(*options.memory) {}

  /// @param length  of the episode: that of the node before and 1, or less @param support  0: only a path
  void add(uint32_t length, uint32_t code, uint64_t support) {
    poll_.after(8);
    end_node(length);
    const bool is_first = length > path_.size();
    const uint32_t before = is_first ? UINT32_MAX : path_[length - 1];
    path_.resize(length);
    path_.back() = code;
    write_varint(bytes_, code - before);
    support_ = support;
    episodes_ += support > 0;
  }
  const GrowingBuffer<std::byte>& finish() {
    end_node(0);
    return bytes_;
  }
  uint64_t episodes() const { return episodes_; }

 private:
  void end_node(uint32_t next_length) {
    if (path_.empty()) return;
    write_varint(bytes_, support_ << 1 | (next_length > path_.size() ? 1 : 0));
    for (size_t length = path_.size(); length > std::max<size_t>(next_length, 1); --length) bytes_.push_back(std::byte{0});
  }

  Poll poll_;
  GrowingBuffer<std::byte> bytes_;
  std::vector<uint32_t> path_;  // codes, of the last node
  uint64_t support_ = 0;        // of the last node, which is not written in full yet
  uint64_t episodes_ = 0;
};

/// Writes ascending events.
class EventWriter {
 public:
  explicit EventWriter(const ExecutionOptions& options) : poll_(options.cancel), bytes_(*options.memory) {}

  void add(int64_t event) {
    poll_.after(8);
    write_varint(bytes_, count_ == 0 ? zigzag(event) : static_cast<uint64_t>(event) - static_cast<uint64_t>(event_) - 1);
    event_ = event;
    ++count_;
  }
  uint32_t count() const { return count_; }
  const GrowingBuffer<std::byte>& bytes() const { return bytes_; }

 private:
  Poll poll_;
  GrowingBuffer<std::byte> bytes_;
  uint32_t count_ = 0;
  int64_t event_ = 0;
};

void write_value(const EpisodeShape& shape, const EpisodeTotals& totals, const EventWriter& events, NodeWriter& nodes,
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
  header.episodes = nodes.episodes();
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
  // The position in the sum of each event, and the events of the sum.
  const Buffer<int64_t> a = episode_counts_events(x, options);
  const Buffer<int64_t> b = episode_counts_events(y, options);
  Buffer<uint32_t> of_x(*options.memory, a.size());
  Buffer<uint32_t> of_y(*options.memory, b.size());
  EventWriter events(options);
  for (size_t at_a = 0, at_b = 0; at_a < a.size() || at_b < b.size();) {
    check_codes(uint64_t{events.count()} + 1, shape);
    const bool take_a = at_a < a.size() && (at_b == b.size() || a[at_a] <= b[at_b]);
    const bool take_b = at_b < b.size() && (at_a == a.size() || b[at_b] <= a[at_a]);
    const uint32_t position = events.count();
    events.add(take_a ? a[at_a] : b[at_b]);
    if (take_a) of_x[at_a++] = position;
    if (take_b) of_y[at_b++] = position;
  }
  const auto in_sum = [&](const EpisodeCountsNodes& nodes, const Buffer<uint32_t>& of) {
    return uint64_t{of[nodes.code() / kinds]} * kinds + nodes.code() % kinds;
  };
  NodeWriter writer(options);
  EpisodeCountsNodes from_x(x);
  EpisodeCountsNodes from_y(y);
  bool more_x = from_x.next();
  bool more_y = from_y.next();
  bool disjoint = true;
  while (more_x || more_y) {
    // Both walks have the path above the shorter of the two nodes in common. So a longer one lies below a node that the
    // other walk has passed, and comes first.
    const uint32_t length_x = more_x ? from_x.length() : 0;
    const uint32_t length_y = more_y ? from_y.length() : 0;
    const uint64_t code_x = more_x ? in_sum(from_x, of_x) : UINT64_MAX;
    const uint64_t code_y = more_y ? in_sum(from_y, of_y) : UINT64_MAX;
    const bool take_x = length_x > length_y || (length_x == length_y && code_x <= code_y);
    const bool take_y = length_y > length_x || (length_x == length_y && code_y <= code_x);
    writer.add(std::max(length_x, length_y), static_cast<uint32_t>(take_x ? code_x : code_y),
               (take_x ? from_x.support() : 0) + (take_y ? from_y.support() : 0));
    disjoint = disjoint && !(take_x && take_y && from_x.support() > 0 && from_y.support() > 0);
    if (take_x) more_x = from_x.next();
    if (take_y) more_y = from_y.next();
  }
  write_value(shape, totals, events, writer, out);
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
  Buffer<int64_t> events(*options.memory, episode_counts_header(value).events);
  const std::byte* at = events_of(value);
  in_parts(events.size(), options.cancel, [&](size_t begin, size_t end) {
    for (size_t index = begin; index < end; ++index) {
      const uint64_t number = read_varint(at);
      events[index] =
          index == 0 ? unzigzag(number) : static_cast<int64_t>(static_cast<uint64_t>(events[index - 1]) + number + 1);
    }
  });
  return events;
}

EpisodeCountsNodes::EpisodeCountsNodes(const std::byte* value)
    : at_(events_of(value) + episode_counts_header(value).event_bytes), end_(value + episode_counts_header(value).bytes) {}

bool EpisodeCountsNodes::next() {
  uint32_t before = UINT32_MAX;
  if (has_below_) {
    if (at_ == end_) return false;
    path_.push_back(0);
  } else {
    while (path_.size() > 1 && *at_ == std::byte{0}) {
      ++at_;
      path_.pop_back();
    }
    if (at_ == end_) return false;
    before = path_.back();
  }
  path_.back() = before + static_cast<uint32_t>(read_varint(at_));
  const uint64_t number = read_varint(at_);
  support_ = number >> 1;
  has_below_ = (number & 1) != 0;
  return true;
}

void EpisodePaths::add(std::span<const uint32_t> codes, uint64_t support) {
  if (codes.size() > kMaxEpisodeLength)
    throw Error(ErrorCode::kTooLarge, "an episode of more than " + std::to_string(kMaxEpisodeLength) + " events",
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
  EventWriter used(options);
  for (size_t index = 0; index < events.size(); ++index) {
    if (position[index] == 0) continue;
    position[index] = used.count();
    used.add(events[index]);
  }
  NodeWriter nodes(options);
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
  const Buffer<int64_t> own_events = episode_counts_events(value, options);
  Buffer<uint64_t> position(*options.memory, own_events.size());  // of an event of the value among those of the sum
  in_parts(own_events.size(), options.cancel, [&](size_t begin, size_t end) {
    for (size_t index = begin; index < end; ++index)
      position[index] =
          static_cast<uint64_t>(std::lower_bound(events.begin(), events.end(), own_events[index]) - events.begin());
  });
  // As in missing_itemset_counts().
  EpisodeCountsNodes own(value);
  bool more_own = own.next();
  EpisodePaths missing(options);
  Poll poll(options.cancel);
  for (EpisodeCountsNodes nodes(sum); nodes.next();) {
    poll.after(8);
    const bool is_own = more_own && own.length() == nodes.length() &&
                        position[own.code() / kinds] * kinds + own.code() % kinds == nodes.code();
    if (nodes.support() > 0 && (!is_own || own.support() == 0)) missing.add(nodes.path(), nodes.support());
    if (is_own) more_own = own.next();
  }
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
  if (bytes.size() < kEpisodeCountsHeaderBytes) invalid("header is cut off");
  const EpisodeCountsHeader header = episode_counts_header(bytes.data());
  if (header.version != kVersion)
    throw Error(ErrorCode::kInvalidData, "invalid episode counts: unknown version " + std::to_string(header.version));
  if (!are_sound(header)) invalid("header has a number out of range");
  if (header.behind != 0) invalid("values that are not added");
  if (header.bytes != bytes.size()) invalid("length and header disagree");
  if (!have_room(header)) invalid("gaps, events and length disagree");

  Poll poll(options.cancel);
  const auto varint = [](std::span<const std::byte>& from) {
    return checked_varint(from, [](const char* what) { invalid(what); });
  };
  std::set<std::pair<int64_t, int64_t>> seen;
  for (uint32_t index = 0; index < header.gaps; ++index) {
    poll.after(64);
    const Gap gap = gap_at(bytes.data(), index);
    if (gap.low < 0 || gap.high < gap.low) invalid("a gap that ends before it begins");
    if (!seen.emplace(gap.low, gap.high).second) invalid("a gap twice");
  }
  std::span<const std::byte> events = bytes.subspan(kEpisodeCountsHeaderBytes + kGapBytes * header.gaps, header.event_bytes);
  int64_t event = 0;
  for (uint32_t index = 0; index < header.events; ++index) {
    poll.after(8);
    const uint64_t number = varint(events);
    if (index == 0) {
      event = unzigzag(number);
    } else {
      if (number >= static_cast<uint64_t>(INT64_MAX) - static_cast<uint64_t>(event)) invalid("an event is too large");
      event = static_cast<int64_t>(static_cast<uint64_t>(event) + number + 1);
    }
  }
  if (!events.empty()) invalid("number of events and their bytes disagree");

  const uint32_t kinds = header.gap_kinds();
  const uint64_t codes = uint64_t{header.events} * kinds;
  const uint64_t most = header.rule() == EpisodeCounting::kStreams ? header.streams : header.rows;
  std::span<const std::byte> nodes = bytes.subspan(kEpisodeCountsHeaderBytes + kGapBytes * header.gaps + header.event_bytes);
  Buffer<bool> is_used(*options.memory, header.events, Fill::kZero);
  uint32_t used = 0;
  uint64_t episodes = 0;
  GrowingBuffer<uint32_t> path(*options.memory);
  bool has_below = true;  // whether nodes below the last node must follow
  while (!nodes.empty()) {
    poll.after(8);
    const uint64_t distance = varint(nodes);
    if (distance == 0) {
      if (has_below || path.size() < 2) invalid("an end without nodes");
      path.shrink(path.size() - 1);
      continue;
    }
    const uint64_t before = has_below ? UINT64_MAX : path.end()[-1];
    if (distance > codes - 1 - before) invalid("an episode with an event or a gap that is not there");
    if (has_below) path.push_back(0);
    if (path.size() > kMaxEpisodeLength) invalid("an episode of more than 65535 events");
    const auto code = static_cast<uint32_t>(before + distance);
    path.end()[-1] = code;
    const uint32_t index = code / kinds;
    if (path.size() == 1 && code % kinds != 0) invalid("a gap before the first event");
    if (path.size() > 1 && code % kinds == header.gaps && index <= path.end()[-2] / kinds)
      invalid("events of a step that do not ascend");
    if (!is_used[index]) ++used;
    is_used[index] = true;
    const uint64_t number = varint(nodes);
    if (number >> 1 > most) invalid("an episode that occurs more often than its rows allow");
    has_below = (number & 1) != 0;
    episodes += number >> 1 != 0;
    if (number == 0) invalid("a path to nowhere");
  }
  if ((!path.empty() && has_below) || path.size() > 1) invalid("the nodes are cut off");
  if (episodes != header.episodes) invalid("number of episodes and nodes disagree");
  if (used != header.events) invalid("an event that is in no episode");
}

}  // namespace batmap
