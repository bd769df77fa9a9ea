// Reads chunks. See row_reader.h.
#include "extension/input/row_reader.h"

#include <array>

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

struct ChunkReceiver {
  DestReceiver pub;  // first member: the server sees this
  RowLogSink* sink;
};

bool receive_chunk(TupleTableSlot* slot, DestReceiver* self) {
  slot_getsomeattrs(slot, 1);
  return reinterpret_cast<ChunkReceiver*>(self)->sink->append_chunk(slot->tts_values[0]);
}

}  // namespace

bool RowLogSink::append_chunk(Datum chunk) {
  const auto* const value = reinterpret_cast<const struct varlena*>(DatumGetPointer(chunk));
  const auto* const bytes = reinterpret_cast<const std::byte*>(VARDATA_ANY(value));
  if (!guarded_fits(may_give_up, [&] { log->append_chunk(bytes, VARSIZE_ANY_EXHDR(value)); })) return false;
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
    if (!sink.append_chunk(row->tts_values[0])) return false;
  return true;
}

void read_inner_chunks(PlannedStmt* plan, const char* query, RowLogSink& sink) {
  ChunkReceiver receiver{make_receiver(receive_chunk), &sink};
  run_plan(plan, query, std::array{Oid{BYTEAOID}}, &receiver.pub);
}

}  // namespace batmap::pg
