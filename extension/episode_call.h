// What the table functions of episodes share: the input of a call, and the record of its run.
#pragma once

#include <optional>

#include "episodes/episode_run.h"
#include "extension/backend.h"
#include "extension/event_source.h"
#include "extension/gap_list.h"
#include "extension/item_lists.h"
#include "extension/last_run.h"
#include "extension/pair_stream.h"
#include "extension/progress.h"
#include "extension/row_stream.h"

#include "extension/pg.h"

namespace batmap::pg {

/// The engine's side of one call; lives in the memory context of the call.
struct EpisodeCall {
  explicit EpisodeCall(MemoryContext)
      : meter(memory_limit_bytes()),
        options{.threads = thread_count(), .memory = &meter, .cancel = backend_cancel_token()} {}

  MemoryMeter meter;
  ProgressReport progress;
  ExecutionOptions options;
  std::optional<EventLog> log;
  EpisodeReport report;
  // Of frequent episodes:
  EpisodeQuery query;
  std::optional<EpisodeRun> run;
  std::vector<int64_t> events;  // of the row at hand
  std::vector<int32_t> gap_rows;
  // Of given ones:
  GivenEpisodes given;
  std::optional<EventStreams> streams;
  std::vector<uint64_t> counts;
  std::optional<GrowingBuffer<FoundOccurrence>> occurrences;
};

class EpisodeRowStream : public RowStream {
 public:
  EpisodeRowStream(const char* operation, EpisodeCall* call, MemoryContext row);

  EpisodeCall& call() const { return *call_; }
  void finish() final;
  void explain(ExplainState* state) final;

 protected:
  /// Reads the events of a query whose times are of the kind of the gaps.
  void read(const char* query, const GapList& gaps, Oid event_type, MemoryContext context);
  std::span<const uint32_t> ranks() const;
  /// Ranks of events in text form, once they have been read.
  void set_event_ranks(std::optional<std::vector<int64_t>>& list, const Elements& events) const;
  /// Counting begins, or goes on: what passes until counted() is its time.
  void counting() { INSTR_TIME_SET_CURRENT(clock_); }
  void counted(uint64_t levels_done);
  void given() { ++results_; }
  void truncate() { truncated_ = true; }

  MemoryContext row_;  // of the values of one row
  EventInput input_{};

 private:
  virtual const EpisodeReport& report() const = 0;
  virtual const EventStreams& streams() const = 0;
  void describe(LastRun& run) const;

  const char* operation_;
  EpisodeCall* call_;
  uint64_t rows_read_ = 0;
  uint64_t results_ = 0;
  bool truncated_ = false;
  double read_ms_ = 0;
  double count_ms_ = 0;
  instr_time clock_;
};

}  // namespace batmap::pg
