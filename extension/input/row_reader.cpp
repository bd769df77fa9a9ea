// Reads chunks. See row_reader.h.
#include "extension/input/row_reader.h"

#include <array>

#include "extension/input/node_pack_rows.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

struct ChunkReceiver {
  DestReceiver pub;  // first member: the server sees this
  RowLogSink* sink;
  const PlanState* plan;  // while it runs
};

bool append_chunks(const PlanState* plan, const TupleTableSlot* row, RowLogSink& sink) {
  return visit_chunks(plan, row->tts_values[0], [&](std::span<const std::byte> chunk) { return sink.append_chunk(chunk); });
}

bool receive_chunk(TupleTableSlot* slot, DestReceiver* self) {
  slot_getsomeattrs(slot, 1);
  const auto& receiver = *reinterpret_cast<ChunkReceiver*>(self);
  return append_chunks(receiver.plan, slot, *receiver.sink);
}

}  // namespace

bool RowLogSink::append_chunk(std::span<const std::byte> chunk) {
  if (!guarded_fits(may_give_up, [&] { log->append_chunk(chunk.data(), chunk.size()); })) return false;
  progress->phase(Phase::kReading, log->rows());
  return true;
}

bool RowLogSink::append_rows(std::span<const TidItem> rows) {
  const uint64_t before = log->rows();
  if (!guarded_fits(may_give_up, [&] { log->append_rows(rows); })) return false;
  if (log->rows() / kChunkRows > before / kChunkRows) progress->phase(Phase::kReading, log->rows());
  return true;
}

bool RowLogSink::seal() {
  return guarded_fits(may_give_up, [&] { log->seal(); });
}

bool read_chunks(PlanState* plan, RowLogSink& sink) {
  while (const TupleTableSlot* const row = next_slot(plan, 1))
    if (!append_chunks(plan, row, sink)) return false;
  return true;
}

void read_inner_chunks(PlannedStmt* plan, const char* query, RowLogSink& sink) {
  ChunkReceiver receiver{make_receiver(receive_chunk), &sink, nullptr};
  run_plan(plan, query, std::array{Oid{BYTEAOID}}, &receiver.pub, &receiver.plan);
}

}  // namespace batmap::pg
