// Input and record of a call. See episode_call.h.
#include "extension/episode_call.h"

#include <cstdio>

#include "extension/boundary.h"

#include "extension/pg.h"

namespace batmap::pg {

namespace {

/// "non_overlapped, threshold 200; 1: 39 of 39 in 0.0 ms; 2: 531 of 1521 in 5.4 ms": the levels, as many as there is room
/// for.
void describe_levels(const EpisodeReport& report, char* text, size_t room) {
  size_t used = 0;
  const auto add = [&](auto... values) {
    const int length = snprintf(text + used, room - used, values...);
    const bool fits = length >= 0 && used + static_cast<size_t>(length) < room;
    if (fits)
      used += static_cast<size_t>(length);
    else
      text[used] = '\0';
    return fits;
  };
  add("%s", "non_overlapped");
  if (report.threshold > 0) add(", threshold %llu", static_cast<unsigned long long>(report.threshold));
  for (size_t k = 0; k < report.levels.size(); ++k) {
    const EpisodeReport::Level& level = report.levels[k];
    if (!add("; %zu: %llu of %llu in %.1f ms", k + 1, static_cast<unsigned long long>(level.frequent),
             static_cast<unsigned long long>(level.candidates), level.ms))
      return;
  }
}

}  // namespace

EpisodeRowStream::EpisodeRowStream(const char* operation, EpisodeCall* call, MemoryContext row)
    : row_(row), operation_(operation), call_(call) {
  INSTR_TIME_SET_CURRENT(clock_);
}

void EpisodeRowStream::read(const char* query, const GapList& gaps, Oid event_type, MemoryContext context) {
  input_ = {&call_->log, &call_->options, &call_->progress, gaps.kind, event_type, nullptr, nullptr, false, {}, InvalidOid};
  read_events(query, input_, context);
  rows_read_ = call_->log->rows();
  read_ms_ = lap_ms(clock_);
  call_->progress.phase(Phase::kGrouping, rows_read_);
}

std::span<const uint32_t> EpisodeRowStream::ranks() const {
  if (input_.events == nullptr) return {};
  return {input_.event_rank, input_.events->count};
}

void EpisodeRowStream::set_event_ranks(std::optional<std::vector<int64_t>>& list, const Elements& events) const {
  QueryInput ranks{};
  ranks.items = input_.events;
  ranks.item_rank = input_.event_rank;
  set_ranks(list, events, ranks);
}

void EpisodeRowStream::counted(uint64_t levels_done) {
  count_ms_ += lap_ms(clock_);
  call_->progress.tasks(levels_done, levels_done + 1, results_);
}

void EpisodeRowStream::finish() {
  describe(last_run);
  call_->progress.finish();
}

void EpisodeRowStream::explain(ExplainState* state) {
  LastRun run;
  describe(run);
  explain_run(run, state);
}

void EpisodeRowStream::describe(LastRun& run) const {
  run = {};
  run.any = true;
  strlcpy(run.operation, operation_, sizeof run.operation);
  strlcpy(run.method, report().method.c_str(), sizeof run.method);
  describe_levels(report(), run.reason, sizeof run.reason);
  strlcpy(run.input, "stream", sizeof run.input);
  run.threads = call_->options.threads;
  run.rows_read = static_cast<int64_t>(rows_read_);
  run.transactions = static_cast<int64_t>(streams().totals().streams);
  run.items = static_cast<int64_t>(streams().totals().events);
  run.items_kept = static_cast<int64_t>(streams().symbols());
  run.occurrences = static_cast<int64_t>(streams().rows_kept());
  run.results = static_cast<int64_t>(results_);
  run.truncated = truncated_;
  run.read_ms = read_ms_;
  run.group_ms = report().group_ms;
  run.count_ms = count_ms_;
  run.peak_memory = static_cast<int64_t>(call_->meter.peak());
}

}  // namespace batmap::pg
