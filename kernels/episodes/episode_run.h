// A query about episodes, from rows to answers: which are frequent, how often given ones occur, and where.
//
// The order of the answers depends only on the rows and the query: by length, then by events and gaps; for the
// k best by support, then by length, events and gaps.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/options.h"
#include "core/run_record.h"
#include "episodes/episode_counter.h"
#include "episodes/event_streams.h"
#include "episodes/level_wise.h"

namespace batmap {

/// Empty for "auto". @throws Error{kInvalidParameter} for a name that is no method
std::optional<EpisodeMethod> parse_episode_method(const std::string& name);
/// The rule of counting of this name. @throws Error{kInvalidParameter} for a name that is none
EpisodeCounting parse_episode_counting(const std::string& name);

struct EpisodeQuery {
  std::vector<Gap> gaps;             // one or more; every gap of an episode is one of these
  std::optional<int64_t> min_count;  // one of the two, or neither together with top_k
  std::optional<double> min_rate;    // occurrences a unit of time, between first and last event, over all streams
  double ticks_a_unit = 1;
  std::optional<int64_t> min_length;
  std::optional<int64_t> max_length;
  std::optional<std::vector<int64_t>> include;  // event values, or ranks; an episode needs one of these
  std::optional<std::vector<int64_t>> exclude;  // their rows are ignored
  std::optional<int64_t> top_k;                 // ties: the shorter, then the smaller events
  std::optional<int64_t> max_results;
  std::optional<int64_t> timeout_ms;
  EpisodeCounting counting = EpisodeCounting::kNonOverlapped;
  bool same_time = false;               // events of one time form steps: kSameTime is one more gap, the last one
  std::optional<EpisodeMethod> method;  // empty: by prefixes
  DeviceUse device;

  /// @throws Error{kInvalidParameter} with the value, the bound and a hint
  void check() const;

  /// The threshold as a number of occurrences. @param duration  in ticks, of all streams together
  uint64_t min_count_within(uint64_t duration) const;
};

/// Given episodes: all of one length, with the same gaps.
struct GivenEpisodes {
  std::vector<int64_t> events;  // [size x length] values, or ranks; they need not occur
  size_t length = 1;
  std::vector<Gap> gaps;            // one less than there are steps, or one for all
  std::vector<int64_t> steps = {};  // [length] the step of each event: from 1, the same or one more than the one before;
                                    // empty: each event is a step
  EpisodeCounting counting = EpisodeCounting::kNonOverlapped;
  std::optional<EpisodeMethod> method;
  DeviceUse device = {};
  double ticks_a_unit = 1;  // of the user

  size_t size() const { return events.size() / length; }
  bool is_step(size_t at) const { return steps.empty() || at == 0 || steps[at] != steps[at - 1]; }  // does one begin here?
  /// @throws Error{kInvalidParameter} unless the steps are numbered, and there are gaps for every step but the first
  void check() const;
};

/// @param ticks_a_unit  1 if the user gave ticks
/// @throws Error{kInvalidParameter} unless 0 <= low <= high
void check_gap(const Gap& gap, double ticks_a_unit);

/// The frequent episodes.
class EpisodeRun {
 public:
  /// @param log, event_rank  see EventStreams; with ranks, the query's events and value() are ranks
  /// @param options          copied; its meter must outlive the run
  /// @throws Error, std::bad_alloc
  EpisodeRun(EventLog log, std::span<const uint32_t> event_rank, const EpisodeQuery& query, const ExecutionOptions& options);
  EpisodeRun(const EpisodeRun&) = delete;
  EpisodeRun& operator=(const EpisodeRun&) = delete;
  ~EpisodeRun();

  struct Row {
    std::span<const uint32_t> steps;
    uint64_t support;
  };
  /// The next answer, valid until the next call; empty at the end.
  /// @throws Error, std::bad_alloc; then the run cannot go on
  std::optional<Row> next();

  int64_t event(uint32_t step) const { return streams_->value(static_cast<uint32_t>(step / query_.gaps.size())); }
  size_t gap(uint32_t step) const { return step % query_.gaps.size(); }  // index in the query's gaps; behind them: same time
  const EventStreams& streams() const { return *streams_; }
  const RunRecord& record() const { return record_; }

 private:
  struct Best;

  bool next_level(LevelWise& search);
  bool wanted(std::span<const uint32_t> steps) const;
  std::optional<Row> next_of_all();
  void find_best();
  void report_device();

  EpisodeQuery query_;
  ExecutionOptions options_;  // the token also looks at the clock
  CancelToken cancel_;        // the caller's
  AnswerLimit limit_;
  RunRecord record_;
  uint64_t min_count_ = 1;  // the threshold of the query
  std::optional<EventStreams> streams_;
  std::optional<EpisodeDevice> device_;
  std::optional<LevelWise> search_;
  size_t row_ = 0;  // in the current level
  std::unique_ptr<Best> best_;
};

/// The axes of an input, with the events of the given episodes only.
EventStreams streams_of(EventLog log, std::span<const uint32_t> event_rank, const GivenEpisodes& episodes,
                        const ExecutionOptions& options);

/// Supports, in the order of the given episodes. @param record  filled, but for the time of streams_of()
std::vector<uint64_t> count_given(const EventStreams& streams, const GivenEpisodes& episodes,
                                  const ExecutionOptions& options, RunRecord& record);

struct FoundOccurrence {
  int64_t stream;
  int64_t starts_at;
  int64_t ends_at;
};

/// The occurrences that make up the support of the one given episode: in order of the streams, then of time.
/// @param record  as for count_given()
GrowingBuffer<FoundOccurrence> find_occurrences(const EventStreams& streams, const GivenEpisodes& episode,
                                                const ExecutionOptions& options, RunRecord& record);

}  // namespace batmap
