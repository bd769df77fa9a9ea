// The steps of a run. See episode_run.h.
#include "episodes/episode_run.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "core/falling_threshold.h"
#include "core/parameters.h"
#include "core/polled.h"
#include "core/stopwatch.h"
#include "episodes/between_pieces.h"
#include "episodes/counting_rule.h"
#include "episodes/tracking.h"

namespace batmap {

namespace {

void sort_list(std::optional<std::vector<int64_t>>& list) {
  if (list) std::sort(list->begin(), list->end());
}

const std::vector<int64_t>* pointer_to(const std::optional<std::vector<int64_t>>& list) { return list ? &*list : nullptr; }

/// The smallest number of occurrences whose rate is at least `rate`.
uint64_t count_of_rate(double rate, uint64_t duration, double ticks_a_unit) {
  const double units = static_cast<double>(duration) / ticks_a_unit;
  const double min_count = std::ceil(rate * units);
  if (!(min_count < 0x1p63)) return uint64_t{1} << 63;
  auto count = std::max<uint64_t>(static_cast<uint64_t>(min_count), 1);
  // The product was rounded, so step to the exact bound.
  while (count > 1 && static_cast<double>(count - 1) / units >= rate) --count;
  while (static_cast<double>(count) / units < rate) ++count;
  return count;
}

/// The given episodes all of whose events occur, as symbols.
struct Batch {
  std::vector<uint32_t> symbols;
  std::vector<Gap> gaps;
  std::vector<size_t> position;  // index of each among those given

  /// @throws Error{kInvalidParameter} if a step has an event twice
  Batch(const EventStreams& streams, const GivenEpisodes& given) {
    for (size_t k = 0; k < given.size(); ++k) {
      const size_t before = symbols.size();
      for (size_t at = 0; at < given.length; ++at)
        if (const auto symbol = streams.symbol_of(given.events[k * given.length + at])) symbols.push_back(*symbol);
      if (symbols.size() - before < given.length) {
        symbols.resize(before);
        continue;
      }
      position.push_back(k);
      sort_steps(given, before);
      size_t step = 0;
      for (size_t at = 1; at < given.length; ++at)
        gaps.push_back(given.is_step(at) ? given.gaps[given.gaps.size() == 1 ? 0 : step++] : kSameTime);
    }
  }

 private:
  /// Puts the symbols of each step of an episode into order. @param begin  its first symbol
  void sort_steps(const GivenEpisodes& given, size_t begin) {
    for (size_t from = 0; from < given.length;) {
      size_t to = from + 1;
      while (to < given.length && !given.is_step(to)) ++to;
      const auto first = symbols.begin() + static_cast<ptrdiff_t>(begin + from);
      const auto last = symbols.begin() + static_cast<ptrdiff_t>(begin + to);
      std::sort(first, last);
      if (std::adjacent_find(first, last) != last)
        throw Error(ErrorCode::kInvalidParameter, "step " + std::to_string(given.steps[from]) + " has an event twice",
                    "A step is a set of events of one time.");
      from = to;
    }
  }
};

/// The devices that may count these streams. @throws Error{kNoDevice} if one is required, and none can
DeviceUse device_for(const DeviceUse& use, const EventStreams& streams) {
  if (!streams.in_files()) return use;
  DeviceSession(use, 1).refuse_files();
  return {};
}

/// Counts on a device, if one is chosen. @param counts  [batch.size] added to
/// @return whether a device has counted
bool count_on_device(const EventStreams& streams, const EpisodeBatch& batch, const GivenEpisodes& given,
                     std::vector<uint64_t>& counts, const ExecutionOptions& options, RunRecord& record) {
  EpisodeDevice device(device_for(given.device, streams), given.method, streams, options);
  if (!device.is_possible() || batch.size == 0) return false;
  EpisodeSizes sizes;
  sizes.length = batch.length;
  sizes.is_plain = given.steps.empty();
  sizes.episodes = batch.size;
  std::vector<bool> is_sent(streams.symbols());
  for (size_t k = 0; k < batch.size * batch.length; ++k) {
    const uint32_t symbol = batch.symbols[k];
    if (is_sent[symbol]) continue;
    is_sent[symbol] = true;
    for (const EventAxis& axis : streams.axes()) sizes.sent_events += axis.view().list(symbol).size();
  }
  double cpu_ms = 0;
  for (const EventAxis& axis : streams.axes()) {
    const EpisodeJob job = describe_job(axis.view(), batch, options.threads);
    cpu_ms += estimate_episodes(given.method ? *given.method : choose_episode_method(job), job);
    sizes.events += job.events;
    sizes.step_events += job.list_events;
  }
  const std::string what = kEpisodeMethodNames[static_cast<size_t>(given.method.value_or(EpisodeMethod::kTracking))];
  const bool done = device.attempt(sizes, cpu_ms, what + ":", [&](DeviceTracker& tracker, DeviceEpisodeMethod method) {
    tracker.count(method, batch, counts);
    record.method = kEpisodeMethodNames[static_cast<size_t>(method_of(method))];
  });
  record.device = device.session().device();
  record.notice = device.session().notice();
  record.reason += device.session().reason();
  return done;
}

}  // namespace

std::optional<EpisodeMethod> parse_episode_method(const std::string& name) {
  return parse_name_or_auto<EpisodeMethod>("algorithm", name, kEpisodeMethodNames);
}

EpisodeCounting parse_episode_counting(const std::string& name) {
  return parse_name<EpisodeCounting>("counting", name, kEpisodeCountingNames);
}

void check_gap(const Gap& gap, double ticks_a_unit) {
  const char* const hint = ticks_a_unit == 1 ? "" : "The ends are shown in microseconds, or millionths of their unit.";
  if (gap.low < 0)
    throw Error(ErrorCode::kInvalidParameter, "the low end of a gap must be at least 0, not " + std::to_string(gap.low),
                hint);
  if (gap.high < gap.low)
    throw Error(ErrorCode::kInvalidParameter,
                "the high end of a gap must be at least its low end " + std::to_string(gap.low) + ", not " +
                    std::to_string(gap.high),
                hint);
}

void EpisodeQuery::check() const {
  require_one_threshold(min_count, "min_rate", min_rate,
                        "Give the threshold either as a number of occurrences or as their number a unit of time.");
  if (!min_count && !min_rate && !top_k)
    throw Error(ErrorCode::kInvalidParameter, "a threshold is missing",
                "Give min_count or min_rate, or ask for the best episodes with top_k.");
  if (min_rate && counting == EpisodeCounting::kStreams)
    throw Error(ErrorCode::kInvalidParameter, "min_rate does not go with counting \"streams\"",
                "A rate is a number of occurrences a unit of time; min_count takes a number of streams.");
  require_at_least("min_count", min_count, 1);
  if (min_rate && !(*min_rate > 0 && std::isfinite(*min_rate)))
    throw Error(ErrorCode::kInvalidParameter, "min_rate must be above 0 and finite, not " + plain_text(*min_rate));
  require_at_least("min_length", min_length, 1);
  require_at_least("max_length", max_length, 1);
  require_at_least("top_k", top_k, 1);
  require_at_least("max_results", max_results, 1);
  require_timeout(timeout_ms);
  if (min_length && max_length && *min_length > *max_length)
    throw Error(ErrorCode::kInvalidParameter,
                "min_length " + std::to_string(*min_length) + " is above max_length " + std::to_string(*max_length));
  if (gaps.empty())
    throw Error(ErrorCode::kInvalidParameter, "gaps must not be empty",
                "Give ARRAY[low, high], or ARRAY[[low, high], [low, high]].");
  for (const Gap& gap : gaps) check_gap(gap, ticks_a_unit);
}

uint64_t EpisodeQuery::min_count_within(uint64_t duration) const {
  if (min_rate && duration == kMaxDuration)
    throw Error(ErrorCode::kTooLarge, "all streams together last " + std::to_string(kMaxDuration) + " ticks or more",
                "Give min_count instead of min_rate.");
  return min_rate ? count_of_rate(*min_rate, duration, ticks_a_unit) : static_cast<uint64_t>(min_count.value_or(1));
}

void GivenEpisodes::check() const {
  if (!steps.empty() && steps.size() != length)
    throw Error(ErrorCode::kInvalidParameter,
                "episodes of " + std::to_string(length) + " events have " + std::to_string(length) +
                    " elements of steps, not " + std::to_string(steps.size()),
                "steps has the number of the step of each event, as in {1,1,2}.");
  for (size_t at = 0; at < steps.size(); ++at) {
    const int64_t before = at == 0 ? 1 : steps[at - 1];
    if (steps[at] != before && (at == 0 || steps[at] != before + 1))
      throw Error(ErrorCode::kInvalidParameter,
                  "element " + std::to_string(at + 1) + " of steps must be " + std::to_string(before) +
                      (at == 0 ? "" : " or " + std::to_string(before + 1)) + ", not " + std::to_string(steps[at]),
                  "Steps are numbered from 1, one after the other.");
  }
  const auto last_step = steps.empty() ? length : static_cast<size_t>(steps.back());
  if (gaps.size() != 1 && gaps.size() != last_step - 1)
    throw Error(ErrorCode::kInvalidParameter,
                "episodes of " + std::to_string(last_step) + (steps.empty() ? " events" : " steps") + " have " +
                    std::to_string(last_step - 1) + " gaps, not " + std::to_string(gaps.size()),
                "Give one row (low, high] for every gap, or one for each.");
  for (const Gap& gap : gaps) check_gap(gap, ticks_a_unit);
}

// The k best so far, of every length.
struct EpisodeRun::Best {
  struct Kept {
    uint64_t begin;  // in steps
    uint64_t support;
    size_t length;
  };
  explicit Best(MemoryMeter& meter) : steps(meter), kept(meter) {}
  Row row(size_t k) const { return {{steps.begin() + kept[k].begin, kept[k].length}, kept[k].support}; }

  GrowingBuffer<uint32_t> steps;
  GrowingBuffer<Kept> kept;
  size_t next = 0;
};

EpisodeRun::EpisodeRun(EventLog log, std::span<const uint32_t> event_rank, const EpisodeQuery& query,
                       const ExecutionOptions& options)
    : query_(query), options_(options), cancel_(options.cancel), limit_(query.max_results, query.timeout_ms) {
  const Stopwatch watch;
  query_.check();
  sort_list(query_.include);
  sort_list(query_.exclude);
  record_.method = query_.method ? kEpisodeMethodNames[static_cast<size_t>(*query_.method)] : "prefixes";
  options_.cancel = {[](void* self) {
                       const auto* const run = static_cast<const EpisodeRun*>(self);
                       return run->cancel_.requested() || run->limit_.time_is_up();
                     },
                     this};
  int64_t reach = 0;
  for (const Gap& gap : query_.gaps) reach = std::max(reach, gap.high);
  if (query_.same_time) query_.gaps.push_back(kSameTime);
  const auto filter = [&](const EventTotals& totals) {
    min_count_ = query_.min_count_within(totals.duration);
    return EventFilter{.min_rows = min_count_, .only = nullptr, .exclude = pointer_to(query_.exclude)};
  };
  ExecutionOptions grouping = options_;
  grouping.cancel = cancel_;  // the timeout does not end a run before it begins to answer
  streams_.emplace(std::move(log), event_rank, filter, reach, grouping, query_.counting);
  record_.group_ms = watch.milliseconds();
  record_.answers = AnswerKind::kEpisodes;
  record_streams(*streams_, record_);
  device_.emplace(device_for(query_.device, *streams_), query_.method, *streams_, options_);
  report_device();
  if (!query_.top_k) search_.emplace(*streams_, query_.gaps, min_count_, query_.method, &*device_, options_);
}

EpisodeRun::~EpisodeRun() = default;

bool EpisodeRun::wanted(std::span<const uint32_t> steps) const {
  if (query_.min_length && steps.size() < static_cast<uint64_t>(*query_.min_length)) return false;
  if (!query_.include) return true;
  return std::any_of(steps.begin(), steps.end(), [&](uint32_t step) {
    return std::binary_search(query_.include->begin(), query_.include->end(), event(step));
  });
}

bool EpisodeRun::next_level(LevelWise& search) {
  const size_t length = search.level().length + 1;
  if (query_.max_length && length > static_cast<uint64_t>(*query_.max_length)) return false;
  if (search.level().length > 0 && search.level().size() == 0) return false;
  if (length == 1) record_.levels.clear();
  const bool any = search.next();
  report_device();
  const EpisodeLevel& level = search.level();
  if (level.candidates > 0) record_.levels.push_back({level.candidates, level.size(), level.ms});
  return any;
}

void EpisodeRun::report_device() {
  record_.device = device_->session().device();
  record_.notice = device_->session().notice();
  record_.reason = kEpisodeCountingNames[static_cast<size_t>(query_.counting)];
  record_.reason += ", threshold " + std::to_string(min_count_) + streams_->describe_files() + device_->session().reason();
}

void EpisodeRun::find_best() {
  const auto k = static_cast<uint64_t>(*query_.top_k);
  FallingThreshold threshold(k, min_count_ + streams_->events(), min_count_);
  best_ = std::make_unique<Best>(*options_.memory);
  do {
    best_->steps.shrink(0);
    best_->kept.shrink(0);
    LevelWise search(*streams_, query_.gaps, threshold.min_count(), query_.method, &*device_, options_);
    while (next_level(search)) {
      const EpisodeLevel& level = search.level();
      for (size_t row = 0; row < level.size(); ++row) {
        if (!wanted(level[row])) continue;
        best_->kept.push_back({best_->steps.size(), level.supports[row], level.length});
        std::copy_n(level[row].begin(), level.length, best_->steps.room(level.length));
        best_->steps.add(level.length);
      }
    }
  } while (threshold.falls_after(best_->kept.size()));
  // They are already in order of length and events.
  std::stable_sort(best_->kept.begin(), best_->kept.end(),
                   polled(options_.cancel, [](const auto& x, const auto& y) { return x.support > y.support; }));
  best_->kept.shrink(std::min<uint64_t>(best_->kept.size(), k));
}

std::optional<EpisodeRun::Row> EpisodeRun::next_of_all() {
  if (query_.top_k) {
    if (best_ == nullptr) find_best();
    if (best_->next == best_->kept.size()) return std::nullopt;
    return best_->row(best_->next++);
  }
  for (;;) {
    const EpisodeLevel& level = search_->level();
    for (; row_ < level.size(); ++row_)
      if (wanted(level[row_])) return Row{level[row_], level.supports[row_++]};
    if (!next_level(*search_)) return std::nullopt;
    row_ = 0;
  }
}

std::optional<EpisodeRun::Row> EpisodeRun::next() {
  if (limit_.is_cut_off()) return std::nullopt;
  std::optional<Row> row;
  try {
    row = next_of_all();
    if (row && limit_.take(1) == 0) row.reset();
  } catch (const Error& error) {
    if (!limit_.was_ended_by_time(error, cancel_)) throw;
  }
  record_.results = limit_.taken();
  record_.truncation = limit_.truncation();
  return row;
}

EventStreams streams_of(EventLog log, std::span<const uint32_t> event_rank, const GivenEpisodes& episodes,
                        const ExecutionOptions& options) {
  std::vector<int64_t> events = episodes.events;
  std::sort(events.begin(), events.end());
  int64_t reach = 0;
  for (const Gap& gap : episodes.gaps) reach = std::max(reach, gap.high);
  return {std::move(log), event_rank, [&](const EventTotals&) { return EventFilter{.only = &events}; },
          reach,          options,    episodes.counting};
}

std::vector<uint64_t> count_given(const EventStreams& streams, const GivenEpisodes& episodes,
                                  const ExecutionOptions& options, RunRecord& record) {
  const Batch found(streams, episodes);
  const EpisodeBatch batch{found.symbols.data(), found.gaps.data(), episodes.length, found.position.size()};
  std::vector<uint64_t> counts(batch.size);
  record.answers = AnswerKind::kEpisodes;
  record.method = kEpisodeMethodNames[static_cast<size_t>(episodes.method.value_or(EpisodeMethod::kTracking))];
  record.reason = kEpisodeCountingNames[static_cast<size_t>(streams.counting())] + streams.describe_files();
  record_streams(streams, record);
  if (!count_on_device(streams, batch, episodes, counts, options, record)) {
    counts.assign(batch.size, 0);
    const EpisodeMethod used = count_in_parts(streams, batch, episodes.method, counts, options);
    record.method = kEpisodeMethodNames[static_cast<size_t>(used)];
  }
  std::vector<uint64_t> all(episodes.size());
  for (size_t k = 0; k < counts.size(); ++k) all[found.position[k]] = counts[k];
  record.results = all.size();
  return all;
}

GrowingBuffer<FoundOccurrence> find_occurrences(const EventStreams& streams, const GivenEpisodes& episode,
                                                const ExecutionOptions& options, RunRecord& record) {
  record.answers = AnswerKind::kOccurrences;
  record.method = kEpisodeMethodNames[static_cast<size_t>(EpisodeMethod::kTracking)];
  record.reason = kEpisodeCountingNames[static_cast<size_t>(streams.counting())] + streams.describe_files();
  record_streams(streams, record);
  GrowingBuffer<FoundOccurrence> all(*options.memory);
  const Batch found(streams, episode);
  if (found.position.empty()) return all;
  BetweenPieces blocked(streams, 1, kNothingBlocked, *options.memory);
  BetweenPieces carried(streams, found.gaps.size(), kNoOccurrence, *options.memory);
  streams.for_parts(episode.length, streams.lag(found.gaps), options, [&](const EventPart& part) {
    const std::span<int64_t> of_pieces = blocked.of(part);
    for (const EventAxis& axis : part.axes) {
      const EventAxisView view = axis.view();
      int64_t nothing = kNothingBlocked;
      with_rule(view, of_pieces.empty() ? nothing : of_pieces[0], [&](auto rule) {
        const auto take = [&](int64_t end, int64_t start) {
          if (!rule.take(end, start)) return;
          const EventAxis::Stretch& stretch = axis.stretch_of(start);
          all.push_back({stretch.stream, stretch.first + (start - stretch.at), stretch.first + (end - stretch.at)});
        };
        if (episode.length == 1) {
          for (const int64_t time : view.new_list(found.symbols[0])) take(time, time);
        } else {
          Tracker(view, options).occurrences({found.symbols, found.gaps.data()}, carried.of(part), take);
        }
        return rule;
      });
    }
  });
  // Streams have no order of their own, in memory or in files.
  const auto by_stream = [](const FoundOccurrence& x, const FoundOccurrence& y) { return x.stream < y.stream; };
  if (!std::is_sorted(all.begin(), all.end(), polled(options.cancel, by_stream)))
    std::sort(all.begin(), all.end(), polled(options.cancel, [](const FoundOccurrence& x, const FoundOccurrence& y) {
                return x.stream != y.stream ? x.stream < y.stream : x.starts_at < y.starts_at;
              }));
  record.results = all.size();
  return all;
}

}  // namespace batmap
