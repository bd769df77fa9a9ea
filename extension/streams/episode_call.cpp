// The events and the record of a call. See episode_call.h.
#include "extension/streams/episode_call.h"

#include "extension/server/pg.h"

namespace batmap::pg {

EpisodeRowStream::EpisodeRowStream(const char* operation, EpisodeCall* call, MemoryContext context)
    : RunStream(operation, call, context), row_(AllocSetContextCreate(context, "batmap row", ALLOCSET_SMALL_SIZES)) {}

void EpisodeRowStream::read(const TableInput& input, TimeKind time, EpisodeCounting counting, Oid time_type) {
  input_ = {};
  input_.log = &call().log;
  input_.options = &call().options;
  input_.progress = &call().progress;
  input_.time = time;
  input_.distances = "gaps";
  input_.event_type = input.item_type;
  input_.time_type = time_type;
  input_.needs_streams = counting == EpisodeCounting::kStreams;
  input_.other_counting = kEpisodeCountingNames[0];
  read_events(input.query(), input_, context());
}

void EpisodeRowStream::fill(RunRecord& record) const {
  if (call().run) record = call().run->record();
  if (call().stored) record = call().stored->record();
  record.results = results_;
}

}  // namespace batmap::pg
