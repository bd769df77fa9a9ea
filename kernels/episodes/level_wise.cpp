// Candidates, and the two ways to count them by prefixes. See level_wise.h.
#include "episodes/level_wise.h"

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "core/stopwatch.h"
#include "core/thread_team.h"
#include "episodes/between_pieces.h"
#include "episodes/counting_rule.h"
#include "episodes/tracking.h"

namespace batmap {

namespace {

// Nanoseconds, by bench/run episodes on one core of an EPYC with AVX2.
constexpr double kReachNs = 20;   // an entry of a frontier that searches the events that it reaches
constexpr double kWalkNs = 2.5;   // an event that is reached
constexpr double kMergeNs = 3;    // an entry or event of a merge
constexpr double kSearchNs = 40;  // for the shorter side, if the other is much longer

constexpr uint64_t kWorkAPoll = uint64_t{1} << 16;
constexpr size_t kTasksAThread = 16;
constexpr size_t kBatch = size_t{1} << 16;        // candidates of one batch of a forced method
constexpr size_t kCountersShare = 8;              // of the work memory, for counters of events in files
constexpr size_t kDeviceBatch = size_t{1} << 18;  // candidates of one batch of a device

/// Turns steps into symbols and gaps.
class Decoder {
 public:
  explicit Decoder(const std::vector<Gap>& gaps) : of_(gaps) {}

  EpisodeView operator()(std::span<const uint32_t> steps) {
    symbols_.clear();
    gaps_.clear();
    append(steps);
    return {symbols_, gaps_.data()};
  }
  void append(std::span<const uint32_t> steps) {
    for (size_t k = 0; k < steps.size(); ++k) {
      symbols_.push_back(symbol(steps[k]));
      if (k > 0) gaps_.push_back(of_[steps[k] % of_.size()]);
    }
  }
  void append(uint32_t step) {
    symbols_.push_back(symbol(step));
    gaps_.push_back(of_[step % of_.size()]);
  }
  void clear() {
    symbols_.clear();
    gaps_.clear();
  }
  EpisodeBatch batch(size_t length) const { return {symbols_.data(), gaps_.data(), length, symbols_.size() / length}; }

 private:
  uint32_t symbol(uint32_t step) const { return static_cast<uint32_t>(step / of_.size()); }

  const std::vector<Gap>& of_;
  std::vector<uint32_t> symbols_;
  std::vector<Gap> gaps_;
};

/// May this step follow that one? In a step of events of one time, symbols ascend.
bool may_follow(const std::vector<Gap>& gaps, uint32_t before, uint32_t step) {
  if (gaps.back() != kSameTime) return true;
  return step % gaps.size() + 1 < gaps.size() || step / gaps.size() > before / gaps.size();
}

}  // namespace

/// The steps that may extend a prefix, ascending. They are the last steps of some consecutive episodes of the level. If the
/// episodes are single symbols, they are these symbols with every gap, and may_follow() says which of them are candidates.
struct LevelWise::Candidates {
  const EpisodeLevel& level;
  size_t begin;
  size_t end;
  uint32_t gaps;  // 1, or the number of gaps to choose from

  size_t size() const { return (end - begin) * gaps; }
  uint32_t operator[](size_t k) const {
    return level.steps[(begin + k / gaps + 1) * level.length - 1] + static_cast<uint32_t>(k % gaps);
  }
};

namespace {

void append_extension(EpisodeLevel& found, std::span<const uint32_t> prefix, uint32_t step, uint64_t support) {
  uint32_t* const steps = found.steps.room(prefix.size() + 1);
  *std::copy(prefix.begin(), prefix.end(), steps) = step;
  found.steps.add(prefix.size() + 1);
  found.supports.push_back(support);
}

/// Counts the extensions of one prefix after the other, in one thread.
class Extensions {
 public:
  Extensions(std::span<const EventAxis> axes, uint32_t symbols, const std::vector<Gap>& gaps,
             const ExecutionOptions& options)
      : gaps_(gaps),
        options_(options),
        decode_(gaps),
        totals_(*options.memory, size_t{symbols} * gaps.size(), Fill::kZero),
        counts_(*options.memory, symbols, Fill::kZero),
        blocked_to_(*options.memory, symbols),
        reached_symbols_(*options.memory, symbols),
        counted_(*options.memory) {
    std::fill(blocked_to_.begin(), blocked_to_.end(), kNothingBlocked);
    views_.reserve(axes.size());  // trackers_ point into views_
    for (const EventAxis& axis : axes) {
      views_.push_back(axis.view());
      trackers_.emplace_back(views_.back(), options);
    }
  }

  /// Calls take(step, support) for the extensions that occur on these axes, in order: all candidates, perhaps others, too.
  /// @param blocked_to  [candidate] see with_rule() of counting_rule.h; empty: nothing is blocked
  /// @param carried     [length of the prefix] see Tracker::frontier(); empty: nothing is carried
  template <typename Candidates, typename Take>
  void count(std::span<const uint32_t> prefix, const Candidates& candidates, std::span<int64_t> blocked_to,
             std::span<Occurrence> carried, Take take) {
    const EpisodeView episode = decode_(prefix);
    for (size_t k = 0; k < views_.size(); ++k) {
      const FrontierView frontier = trackers_[k].frontier(episode, episode.length(), carried);
      if (frontier.size > 0 && reaches_new_events(views_[k], frontier))
        count_axis(views_[k], frontier, prefix.back(), candidates, blocked_to);
    }
    std::sort(counted_.begin(), counted_.end());
    for (const uint32_t step : counted_)
      if (const uint64_t support = std::exchange(totals_[step], 0); may_follow(gaps_, prefix.back(), step))
        take(step, support);
    counted_.shrink(0);
  }

 private:
  /// An entry that is carried may be too old for all events of the axis.
  bool reaches_new_events(const EventAxisView& view, FrontierView frontier) const {
    int64_t high = 0;
    for (const Gap& gap : gaps_) high = std::max(high, view.cut(gap).high);
    return frontier.ends[frontier.size - 1] + high > view.piece.counted_to;
  }

  template <typename Candidates>
  void count_axis(const EventAxisView& view, FrontierView frontier, uint32_t last, const Candidates& candidates,
                  std::span<int64_t> blocked_to) {
    const auto entries = static_cast<double>(frontier.size);
    const auto events = static_cast<double>(view.events);
    const double a_tick = events / static_cast<double>(view.ticks());
    double walking = 0;
    for (const Gap& gap : gaps_) {
      const Gap cut = view.cut(gap);
      walking += entries * kReachNs + std::min(events, entries * a_tick * static_cast<double>(cut.high - cut.low)) * kWalkNs;
    }
    double merging = 0;
    for (size_t k = 0; k < candidates.size() && merging <= walking; ++k) {
      const auto list = static_cast<double>(view.list(candidates[k] / static_cast<uint32_t>(gaps_.size())).size());
      const auto [fewer, more] = std::minmax(entries, list);
      merging += fewer * kGallopRatio < more ? fewer * kSearchNs : (fewer + more) * kMergeNs;
    }
    if (walking < merging) {
      for (uint32_t gap = 0; gap < gaps_.size(); ++gap) {
        exchange_blocked(gap, candidates, blocked_to);
        if (view.counts_streams())
          walk(view, frontier, gap,
               [streams = StreamCursor(view.stream_ends)](int64_t time) mutable { return streams.end_of(time); });
        else
          walk(view, frontier, gap, [](int64_t time) { return time; });
        exchange_blocked(gap, candidates, blocked_to);
        for (size_t k = 0; k < reached_; ++k) blocked_to_[reached_symbols_[k]] = kNothingBlocked;
      }
    } else {
      for (size_t k = 0; k < candidates.size(); ++k) {
        int64_t nothing = kNothingBlocked;
        if (may_follow(gaps_, last, candidates[k]))
          merge(view, frontier, candidates[k], blocked_to.empty() ? nothing : blocked_to[k]);
      }
    }
  }

  /// Hands the times of the candidates with a gap to the walk, or takes them back.
  template <typename Candidates>
  void exchange_blocked(uint32_t gap, const Candidates& candidates, std::span<int64_t> blocked_to) {
    const auto gaps = static_cast<uint32_t>(gaps_.size());
    for (size_t k = 0; k < blocked_to.size(); ++k)
      if (const uint32_t step = candidates[k]; step % gaps == gap) std::swap(blocked_to_[step / gaps], blocked_to[k]);
  }

  void merge(const EventAxisView& view, FrontierView frontier, uint32_t step, int64_t& blocked_to) {
    const auto gaps = static_cast<uint32_t>(gaps_.size());
    add(step, with_rule(view, blocked_to, [&](auto rule) {
          extend_polled(frontier, view.new_list(step / gaps), view.cut(gaps_[step % gaps]), options_.cancel,
                        [&](int64_t end, int64_t start) { rule.take(end, start); });
          return rule;
        }));
  }

  /// Counts the extensions by all symbols at once. Each entry walks over the events that it reaches and the next entry does not
  /// (see extend_searching_list), as far as they are new on the axis. So events are visited in order of time. Each of them ends
  /// an occurrence of the prefix followed by its symbol.
  /// @param blocked_to  blocked_to(end of an occurrence): the next one that counts starts later than this
  // Not inlined: two copies in one function take its registers, and 14 % more instructions (callgrind).
  template <typename BlockedTo>
  [[gnu::noinline]] void walk(const EventAxisView& view, FrontierView frontier, uint32_t gap, BlockedTo blocked_to) {
    reached_ = 0;
    const auto [low, high] = view.cut(gaps_[gap]);
    if (high <= low) return;
    size_t at = view.first_new();
    size_t reached = 0;
    uint64_t work = 0;
    for (size_t k = 0; k < frontier.size; ++k) {
      const int64_t end = frontier.ends[k];
      const int64_t start = frontier.starts[k];
      at = gallop(view.times, at, view.events, [&](int64_t u) { return u <= end + low; });
      const size_t first = at;
      const int64_t max_time = k + 1 < frontier.size ? std::min(end + high, frontier.ends[k + 1] + low) : end + high;
      for (size_t slice = at; at == slice && slice < view.events;) {
        slice = std::min(view.events, at + kWorkAPoll);
        for (; at < slice && view.times[at] <= max_time; ++at) {
          const uint32_t symbol = view.symbols[at];
          if (blocked_to_[symbol] >= start) continue;
          if (counts_[symbol] == 0) reached_symbols_[reached++] = symbol;
          blocked_to_[symbol] = blocked_to(view.times[at]);
          ++counts_[symbol];
        }
        if (at == slice) options_.cancel.throw_if_requested();
      }
      if ((work += at - first + 1) < kWorkAPoll) continue;
      work = 0;
      options_.cancel.throw_if_requested();
    }
    for (size_t k = 0; k < reached; ++k) {
      const uint32_t symbol = reached_symbols_[k];
      add(symbol * static_cast<uint32_t>(gaps_.size()) + gap, std::exchange(counts_[symbol], 0));
    }
    reached_ = reached;
  }

  void add(uint32_t step, uint64_t count) {
    if (count == 0) return;
    if (totals_[step] == 0) counted_.push_back(step);
    totals_[step] += count;
  }

  const std::vector<Gap>& gaps_;
  const ExecutionOptions& options_;
  Decoder decode_;
  std::vector<EventAxisView> views_;
  std::vector<Tracker> trackers_;
  Buffer<uint64_t> totals_;     // [step] summed over all axes
  Buffer<uint64_t> counts_;     // [symbol] in one walk, like the next two
  Buffer<int64_t> blocked_to_;  // [symbol] see counting_rule.h
  Buffer<uint32_t> reached_symbols_;
  size_t reached_ = 0;               // number of them
  GrowingBuffer<uint32_t> counted_;  // steps whose total is not 0
};

}  // namespace

LevelWise::LevelWise(const EventStreams& streams, const std::vector<Gap>& gaps, uint64_t min_count,
                     std::optional<EpisodeMethod> method, EpisodeDevice* device, const ExecutionOptions& options)
    : streams_(streams),
      gaps_(gaps),
      min_count_(min_count),
      method_(method),
      device_(device),
      options_(options),
      level_(*options.memory) {
  if (uint64_t{streams.symbols()} * gaps.size() >= UINT32_MAX)
    throw Error(ErrorCode::kTooLarge,
                std::to_string(streams.symbols()) + " events and " + std::to_string(gaps.size()) + " gaps are too many",
                "Raise min_count, or give fewer gaps.");
}

bool LevelWise::next() {
  const Stopwatch watch;
  EpisodeLevel found(*options_.memory);
  if (level_.length == 0) {
    found = first_level();
  } else if (!by_device(found)) {
    if (method_)
      found = by_batches(batch_of_forced_method(), [this](const EpisodeBatch& batch, std::vector<uint64_t>& counts) {
        count_in_parts(streams_, batch, method_, counts, options_);
      });
    else
      found = streams_.in_files() ? by_prefixes_in_files() : by_prefixes();
  }
  found.ms = watch.milliseconds();
  level_ = std::move(found);
  return level_.size() > 0;
}

EpisodeLevel LevelWise::first_level() const {
  EpisodeLevel found(*options_.memory);
  found.length = 1;
  found.candidates = streams_.symbols();
  Buffer<uint64_t> supports(*options_.memory, streams_.symbols(), Fill::kZero);
  BetweenPieces blocked(streams_, streams_.symbols(), kNothingBlocked, *options_.memory);
  streams_.for_parts(found.length, 0, options_, [&](const EventPart& part) {
    const std::span<int64_t> blocked_to = blocked.of(part);
    for (const EventAxis& axis : part.axes) {
      const EventAxisView view = axis.view();
      for (uint32_t symbol = 0; symbol < streams_.symbols(); ++symbol) {
        int64_t nothing = kNothingBlocked;
        supports[symbol] += count_symbol(view, symbol, blocked_to.empty() ? nothing : blocked_to[symbol], options_.cancel);
      }
    }
  });
  for (uint32_t symbol = 0; symbol < streams_.symbols(); ++symbol) {
    if (supports[symbol] < min_count_) continue;
    found.steps.push_back(symbol * static_cast<uint32_t>(gaps_.size()));
    found.supports.push_back(supports[symbol]);
  }
  return found;
}

LevelWise::Candidates LevelWise::candidates_of(size_t prefix) const {
  const auto gaps = static_cast<uint32_t>(gaps_.size());
  if (level_.length == 1) return {level_, 0, level_.size(), gaps};
  // The episodes that begin with the suffix. Its first step has no gap there.
  const std::span<const uint32_t> suffix = level_[prefix].subspan(1);
  const auto compare = [&](size_t k) {  // -1: before the suffix
    const std::span<const uint32_t> other = level_[k];
    for (size_t at = 0; at < suffix.size(); ++at) {
      const uint32_t step = at == 0 ? suffix[0] / gaps * gaps : suffix[at];
      if (other[at] != step) return other[at] < step ? -1 : 1;
    }
    return 0;
  };
  const auto first_not_below = [&](int bound) {
    size_t low = 0;
    size_t high = level_.size();
    while (low < high) {
      const size_t middle = low + (high - low) / 2;
      if (compare(middle) < bound)
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  };
  return {level_, first_not_below(0), first_not_below(1), 1};
}

size_t LevelWise::count_candidates(size_t prefix, const Candidates& candidates) const {
  // Among single symbols, the prefix itself and the smaller ones cannot come at its time.
  const bool has_steps = gaps_.back() == kSameTime;
  return candidates.size() - (level_.length == 1 && has_steps ? prefix + 1 : 0);
}

EpisodeLevel LevelWise::by_prefixes() const {
  const size_t prefixes = level_.size();
  const size_t tasks = std::min(prefixes, kTasksAThread * static_cast<size_t>(std::max(options_.threads, 1)));
  std::vector<EpisodeLevel> found;
  for (size_t task = 0; task < tasks; ++task) found.emplace_back(*options_.memory);
  std::vector<std::optional<Extensions>> extensions(static_cast<size_t>(std::max(options_.threads, 1)));
  parallel_for(options_, tasks, [&](size_t task, int worker) {
    std::optional<Extensions>& own = extensions[static_cast<size_t>(worker)];
    if (!own) own.emplace(streams_.axes(), streams_.symbols(), gaps_, options_);
    for (size_t k = prefixes * task / tasks; k < prefixes * (task + 1) / tasks; ++k) {
      const Candidates candidates = candidates_of(k);
      found[task].candidates += count_candidates(k, candidates);
      if (candidates.size() == 0) continue;
      own->count(level_[k], candidates, {}, {}, [&](uint32_t step, uint64_t support) {
        if (support >= min_count_) append_extension(found[task], level_[k], step, support);
      });
    }
  });
  extensions.clear();

  EpisodeLevel all(*options_.memory);
  all.length = level_.length + 1;
  size_t size = 0;
  for (const EpisodeLevel& part : found) size += part.size();
  all.steps.room(size * all.length);
  all.supports.room(size);
  for (EpisodeLevel& part : found) {
    std::copy(part.steps.begin(), part.steps.end(), all.steps.end());
    all.steps.add(part.steps.size());
    std::copy(part.supports.begin(), part.supports.end(), all.supports.end());
    all.supports.add(part.supports.size());
    all.candidates += part.candidates;
    part.steps.reset();
    part.supports.reset();
  }
  return all;
}

/// The prefixes from `from` on whose candidates have counters at once. @param before  [prefix - from] filled
/// @return the first one that has none
size_t LevelWise::prefixes_at_once(size_t from, GrowingBuffer<Counted>& before) const {
  const bool has_pieces = streams_.has_pieces();
  const uint64_t a_counter = sizeof(uint64_t) + (has_pieces ? sizeof(int64_t) : 0);
  const uint64_t a_prefix = has_pieces ? level_.length * sizeof(Occurrence) : 0;
  before.shrink(0);
  before.push_back({});
  size_t to = from;
  for (; to < level_.size(); ++to) {
    if (to % kWorkAPoll == 0) options_.cancel.throw_if_requested();
    Counted all = before[to - from];
    all.candidates += candidates_of(to).size();
    all.prefixes += all.candidates > before[to - from].candidates;
    if (to > from && all.candidates * a_counter + all.prefixes * a_prefix > options_.work_bytes / kCountersShare) break;
    before.push_back(all);
  }
  return to;
}

EpisodeLevel LevelWise::by_prefixes_in_files() const {
  EpisodeLevel found(*options_.memory);
  found.length = level_.length + 1;
  GrowingBuffer<Counted> before(*options_.memory);
  for (size_t from = 0; from < level_.size();) {
    const size_t to = prefixes_at_once(from, before);
    const Counted all = before[to - from];
    Buffer<uint64_t> counters(*options_.memory, all.candidates, Fill::kZero);
    BetweenPieces blocked(streams_, all.candidates, kNothingBlocked, *options_.memory);
    BetweenPieces carried(streams_, all.prefixes * level_.length, kNoOccurrence, *options_.memory);
    const size_t tasks = std::min(to - from, kTasksAThread * static_cast<size_t>(std::max(options_.threads, 1)));
    if (counters.size() > 0) {
      streams_.for_parts(found.length, streams_.lag(gaps_), options_, [&](const EventPart& part) {
        const std::span<int64_t> blocked_to = blocked.of(part);
        const std::span<Occurrence> entries = carried.of(part);
        std::vector<std::optional<Extensions>> extensions(static_cast<size_t>(std::max(options_.threads, 1)));
        parallel_for(options_, tasks, [&](size_t task, int worker) {
          std::optional<Extensions>& own = extensions[static_cast<size_t>(worker)];
          if (!own) own.emplace(part.axes, streams_.symbols(), gaps_, options_);
          for (size_t k = from + (to - from) * task / tasks; k < from + (to - from) * (task + 1) / tasks; ++k) {
            const Candidates candidates = candidates_of(k);
            if (candidates.size() == 0) continue;
            const auto [first, prefix] = before[k - from];
            uint64_t* const own_counters = counters.data() + first;
            size_t at = 0;
            const auto own_blocked = blocked_to.empty() ? blocked_to : blocked_to.subspan(first, candidates.size());
            const auto own_entries = entries.empty() ? entries : entries.subspan(prefix * level_.length, level_.length);
            own->count(level_[k], candidates, own_blocked, own_entries, [&](uint32_t step, uint64_t support) {
              while (at < candidates.size() && candidates[at] < step) ++at;
              if (at < candidates.size() && candidates[at] == step) own_counters[at] += support;
            });
          }
        });
      });
    }
    for (size_t k = from; k < to; ++k) {
      const Candidates candidates = candidates_of(k);
      found.candidates += count_candidates(k, candidates);
      for (size_t at = 0; at < candidates.size(); ++at)
        if (const uint64_t support = counters[before[k - from].candidates + at]; support >= min_count_)
          append_extension(found, level_[k], candidates[at], support);
    }
    from = to;
  }
  return found;
}

/// Candidates that a forced method counts at once.
size_t LevelWise::batch_of_forced_method() const {
  if (!streams_.in_files()) return kBatch;
  const size_t length = level_.length + 1;
  const size_t a_candidate = length * (sizeof(uint32_t) + sizeof(Gap) + sizeof(Occurrence)) + 2 * sizeof(uint64_t);
  return std::clamp<size_t>(options_.work_bytes / kCountersShare / a_candidate, 1, kBatch);
}

/// @param count  gets batches of candidates, and counts to add to
template <typename Count>
EpisodeLevel LevelWise::by_batches(size_t batch_size, Count count) const {
  EpisodeLevel found(*options_.memory);
  found.length = level_.length + 1;
  Decoder batch(gaps_);
  GrowingBuffer<uint32_t> steps(*options_.memory);
  std::vector<uint64_t> counts;
  const auto count_batch = [&] {
    counts.assign(steps.size() / found.length, 0);
    count(batch.batch(found.length), counts);
    for (size_t k = 0; k < counts.size(); ++k) {
      if (counts[k] < min_count_) continue;
      std::copy_n(steps.begin() + k * found.length, found.length, found.steps.room(found.length));
      found.steps.add(found.length);
      found.supports.push_back(counts[k]);
    }
    batch.clear();
    steps.shrink(0);
  };
  for (size_t prefix = 0; prefix < level_.size(); ++prefix) {
    const Candidates candidates = candidates_of(prefix);
    found.candidates += count_candidates(prefix, candidates);
    for (size_t k = 0; k < candidates.size(); ++k) {
      const std::span<const uint32_t> before = level_[prefix];
      if (!may_follow(gaps_, before.back(), candidates[k])) continue;
      batch.append(before);
      batch.append(candidates[k]);
      *std::copy(before.begin(), before.end(), steps.room(found.length)) = candidates[k];
      steps.add(found.length);
      if (steps.size() == batch_size * found.length) count_batch();
    }
  }
  if (!steps.empty()) count_batch();
  return found;
}

bool LevelWise::by_device(EpisodeLevel& found) const {
  if (device_ == nullptr || !device_->is_possible()) return false;
  EpisodeSizes sizes;
  const double cpu_ms = estimate_level(sizes);
  if (sizes.episodes == 0) return false;
  return device_->attempt(sizes, cpu_ms, "length " + std::to_string(sizes.length) + ":",
                          [&](DeviceTracker& tracker, DeviceEpisodeMethod method) {
                            found = by_batches(kDeviceBatch, [&](const EpisodeBatch& batch, std::vector<uint64_t>& counts) {
                              tracker.count(method, batch, counts);
                            });
                          });
}

/// Estimates the next level on the CPU, and describes it for a device. A frontier has more entries than its
/// prefix has non-overlapped occurrences: about twice as many in the streams of bench/episode_devices.cpp.
/// @return milliseconds on the CPU
double LevelWise::estimate_level(EpisodeSizes& sizes) const {
  sizes.length = level_.length + 1;
  sizes.is_plain = gaps_.back() != kSameTime;
  double ticks = 1;
  for (const EventAxis& axis : streams_.axes()) {
    const EventAxisView view = axis.view();
    sizes.events += view.events;
    if (view.events > 0) ticks += static_cast<double>(view.times[view.events - 1]);
  }
  sizes.sent_events = sizes.events;
  const auto events = static_cast<double>(sizes.events);
  const double list = events / std::max(1.0, static_cast<double>(streams_.symbols()));
  double ns = 0;
  double entries = 0;
  double reached = 0;
  double steps = 0;
  for (size_t prefix = 0; prefix < level_.size(); ++prefix) {
    if (prefix % kWorkAPoll == 0) options_.cancel.throw_if_requested();
    const auto candidates = static_cast<double>(candidates_of(prefix).size());
    if (candidates == 0) continue;
    sizes.episodes += static_cast<uint64_t>(candidates);
    const double own = std::min(list, static_cast<double>(level_.supports[prefix]) * (level_.length > 1 ? 2 : 1));
    double own_reached = 0;
    for (const Gap& gap : gaps_) {
      const Gap cut = streams_.axes()[0].view().cut(gap);
      own_reached += std::min(events, own * events / ticks * static_cast<double>(cut.high - cut.low));
    }
    const double walking = static_cast<double>(gaps_.size()) * own * kReachNs + own_reached * kWalkNs;
    const double merging = candidates * (own * kGallopRatio < list ? own * kSearchNs : (own + list) * kMergeNs);
    ns += std::min(walking, merging) + (level_.length > 1 ? (own + list) * kMergeNs : 0);
    entries += static_cast<double>(gaps_.size()) * own;
    reached += own_reached;
    if (level_.length > 1) steps += list;
  }
  if (method_ == EpisodeMethod::kAutomaton || method_ == EpisodeMethod::kMapConcat) {
    sizes.step_events = static_cast<uint64_t>(static_cast<double>(sizes.episodes * sizes.length) * list);
    return estimate_episodes(*method_, {sizes.episodes, sizes.length, sizes.events, sizes.step_events, 0, options_.threads});
  }
  sizes.walked_entries = static_cast<uint64_t>(entries);
  sizes.walked_events = static_cast<uint64_t>(reached);
  sizes.step_events = static_cast<uint64_t>(steps);
  return ns / 1e6 / threads_apart(options_.threads);
}

}  // namespace batmap
