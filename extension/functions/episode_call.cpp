// The events and the record of a call. See episode_call.h.
#include "extension/functions/episode_call.h"

#include "extension/server/pg.h"

namespace batmap::pg {

EpisodeRowStream::EpisodeRowStream(const char* operation, EpisodeCall* call, MemoryContext context)
    : RunStream(operation, call, context), row_(AllocSetContextCreate(context, "batmap row", ALLOCSET_SMALL_SIZES)) {}

void EpisodeRowStream::read(const TableInput& input, TimeKind time) {
  input_ = {&call().log, &call().options, &call().progress, time, input.item_type, nullptr, nullptr, false, {}, InvalidOid};
  read_events(input.query(), input_, context());
}

void EpisodeRowStream::fill(RunRecord& record) const {
  if (call().run) record = call().run->record();
  record.results = results_;
}

}  // namespace batmap::pg
