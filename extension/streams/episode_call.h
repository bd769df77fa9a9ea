// Shared by the table functions of episodes: the events of a call, and the record of its run.
#pragma once

#include <optional>
#include <vector>

#include "episodes/episode_parts.h"
#include "episodes/episode_run.h"
#include "extension/input/event_source.h"
#include "extension/input/gap_list.h"
#include "extension/server/server_files.h"
#include "extension/streams/run_stream.h"
#include "extension/streams/table_input.h"

#include "extension/server/pg.h"

namespace batmap::pg {

/// The engine's side of one call; lives in the memory context of the call. Events beyond the work memory go to files.
struct EpisodeCall : RunCall {
  explicit EpisodeCall(MemoryContext context) : RunCall(thread_count()), files(context) {
    options.files = &files;
    options.work_bytes = run_work_bytes();
  }

  ServerFiles files;
  std::optional<EventLog> log;
  // For frequent episodes:
  EpisodeQuery query;
  std::optional<EpisodeRun> run;
  std::optional<StoredEpisodes> stored;  // instead of a run
  std::vector<int64_t> events;           // of the current row
  std::vector<int32_t> steps;
  std::vector<int32_t> gap_rows;
  // For given episodes:
  GivenEpisodes given;
  std::optional<std::vector<int64_t>> given_events;  // until they move to `given`
  std::optional<EventStreams> streams;
  std::vector<uint64_t> counts;
  std::optional<GrowingBuffer<FoundOccurrence>> occurrences;
};

class EpisodeRowStream : public RunStream<EpisodeCall> {
 public:
  EpisodeRowStream(const char* operation, EpisodeCall* call, MemoryContext context);

  void finish() final {
    RunStream::finish();
    call().files.close_all();
  }

 protected:
  /// Reads the events of a query.
  /// @param time  their kind, which the type of the gaps gives
  /// @param time_type  see EventInput
  void read(const TableInput& input, TimeKind time, EpisodeCounting counting, Oid time_type = InvalidOid);

  /// Makes the run of the events that were read. @param make  see begin(); moves the events out of the log
  template <typename Make>
  void start(Make make) {
    begin("stream", call().log->rows(), [&] {
      make();
      call().log.reset();
    });
  }

  void fill(RunRecord& record) const override;

  MemoryContext row_;  // of the values of one row
  EventInput input_{};
  uint64_t results_ = 0;
};

}  // namespace batmap::pg
