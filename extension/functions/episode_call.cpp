// The events and the record of a call. See episode_call.h.
#include "extension/functions/episode_call.h"

#include <cstdio>

#include "extension/server/pg.h"

namespace batmap::pg {

EpisodeRowStream::EpisodeRowStream(const char* operation, EpisodeCall* call, MemoryContext context)
    : RunStream(operation, call, context), row_(AllocSetContextCreate(context, "batmap row", ALLOCSET_SMALL_SIZES)) {}

void EpisodeRowStream::read(const char* query, const GapList& gaps, Oid event_type) {
  input_ = {&call().log, &call().options, &call().progress, gaps.kind, event_type, nullptr, nullptr, false, {}, InvalidOid};
  read_events(query, input_, context());
}

void EpisodeRowStream::record(LastRun& run) const {
  run.results_are = "Episodes";
  strlcpy(run.method, report().method.c_str(), sizeof run.method);
  strlcpy(run.device, report().device.c_str(), sizeof run.device);
  if (call().run) {
    const auto threshold = static_cast<unsigned long long>(call().query.min_count_within(streams().totals().duration));
    snprintf(run.reason, sizeof run.reason, "non_overlapped, threshold %llu%s", threshold, report().reason.c_str());
  } else {
    snprintf(run.reason, sizeof run.reason, "non_overlapped%s", report().reason.c_str());
  }
  for (const EpisodeReport::Level& level : report().levels) {
    if (run.level_count == LastRun::kMostLevels) break;
    run.levels[run.level_count++] = {static_cast<int64_t>(level.candidates), static_cast<int64_t>(level.frequent), level.ms};
  }
  run.transactions = static_cast<int64_t>(streams().totals().streams);
  run.items = static_cast<int64_t>(streams().totals().events);
  run.items_kept = static_cast<int64_t>(streams().symbols());
  run.occurrences = static_cast<int64_t>(streams().rows_kept());
  run.results = static_cast<int64_t>(results_);
  run.truncated = report().truncation.cause != Truncation::kNone;
  run.group_ms = report().group_ms;
  run.count_ms -= report().group_ms;
}

void EpisodeRowStream::tell() {
  if (told_ || report().notice.empty()) return;
  told_ = true;
  report_notice(report().notice);
}

}  // namespace batmap::pg
