// Events and record of a call. See episode_call.h.
#include "extension/episode_call.h"

#include <cstdio>

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

EpisodeRowStream::EpisodeRowStream(const char* operation, EpisodeCall* call, MemoryContext context)
    : RunStream(operation, call, context), row_(AllocSetContextCreate(context, "batmap row", ALLOCSET_SMALL_SIZES)) {}

void EpisodeRowStream::read(const char* query, const GapList& gaps, Oid event_type) {
  input_ = {&call().log, &call().options, &call().progress, gaps.kind, event_type, nullptr, nullptr, false, {}, InvalidOid};
  read_events(query, input_, context());
}

void EpisodeRowStream::record(LastRun& run) const {
  run.results_are = "Episodes";
  strlcpy(run.method, report().method.c_str(), sizeof run.method);
  describe_levels(report(), run.reason, sizeof run.reason);
  run.transactions = static_cast<int64_t>(streams().totals().streams);
  run.items = static_cast<int64_t>(streams().totals().events);
  run.items_kept = static_cast<int64_t>(streams().symbols());
  run.occurrences = static_cast<int64_t>(streams().rows_kept());
  run.results = static_cast<int64_t>(results_);
  run.truncated = truncated_;
  run.group_ms = report().group_ms;
  run.count_ms -= report().group_ms;
}

}  // namespace batmap::pg
