// The reader of all rows: of the table functions, of episodes, and of the plan nodes. A source gives the
// columns of a row, encoders (key_encoder.h) make a key of each, and a sink takes the keys.
//
// A source is the executor, which returns rows (PlanSource) or hands them over (read_inner_query), or the pages
// of tables (table_rows.h). Rows that a plan node has packed into chunks go into the log as they are.
// A sink has
//   bool append(int64_t, int64_t, int64_t)   one key for each encoder, or 0; false: it takes no more rows
//   bool append_rows(std::span<const TidItem>)   the same for several rows of two keys, if pages are read
#pragma once

#include <cstdint>
#include <span>

#include "extension/input/inner_query.h"
#include "extension/input/key_encoder.h"
#include "extension/input/table_rows.h"
#include "extension/server/boundary.h"
#include "extension/server/progress.h"
#include "relation/row_log.h"

#include "extension/server/pg.h"

namespace batmap::pg {

/// Reads one row. A row that an encoder leaves out is done with. @return whether to go on: false if an encoder
/// gives up or the sink takes no more rows
template <typename Sink, size_t kColumns>
pg_attribute_always_inline bool read_row(std::span<const KeyEncoder, kColumns> encoders, const Datum* values,
                                         const bool* nulls, Sink& sink) {
  static_assert(kColumns == 2 || kColumns == 3);
  // Most rows are two numbers, and packing the rows of a table costs little more than this test.
  if constexpr (kColumns == 2)
    if (has_own_key(encoders[0], nulls) && has_own_key(encoders[1], nulls))
      return sink.append(own_key_of(encoders[0], values), own_key_of(encoders[1], values), 0);
  for (const KeyEncoder& encoder : encoders)
    if (leaves_out(encoder, nulls)) return true;
  int64_t keys[3] = {};
  for (size_t k = 0; k < kColumns; ++k)
    if (!encode_key(encoders[k], values, nulls, keys[k])) return false;
  return sink.append(keys[0], keys[1], keys[2]);
}

// ---- sources

/// The next row of a plan, with its first `columns` columns ready; nullptr: there is none. Checks for interrupts.
inline TupleTableSlot* next_slot(PlanState* plan, int columns) {
  CHECK_FOR_INTERRUPTS();
  TupleTableSlot* const row = ExecProcNode(plan);
  if (TupIsNull(row)) return nullptr;
  slot_getsomeattrs(row, columns);
  return row;
}

/// The rows of a plan node.
struct PlanSource {
  PlanState* plan;
  int columns;

  /// @return false after the last row; must not be called again then
  bool next(const Datum*& values, const bool*& nulls) {
    const TupleTableSlot* const row = next_slot(plan, columns);
    if (row == nullptr) return false;
    values = row->tts_values;
    nulls = row->tts_isnull;
    return true;
  }
};

/// @return whether all rows are read; see read_row
template <typename Source, typename Sink, size_t kColumns>
bool read_rows(Source source, std::span<const KeyEncoder, kColumns> encoders, Sink& sink) {
  KeyEncoder own[kColumns];  // so that their members can stay in registers
  for (size_t k = 0; k < kColumns; ++k) own[k] = encoders[k];
  const Datum* values;
  const bool* nulls;
  while (source.next(values, nulls))
    if (!read_row(std::span<const KeyEncoder, kColumns>(own), values, nulls, sink)) return false;
  return true;
}

/// Reads the rows of a plan node: from the pages of tables if the node scans these and can be read so, else from
/// the executor. @return whether all rows are read; see read_row
template <typename Sink, size_t kColumns>
bool read_plan(PlanState* plan, int columns, std::span<const KeyEncoder, kColumns> encoders, Sink& sink) {
  if constexpr (kColumns == 2) {
    TableRows pages;
    if (find_table_rows(plan, encoders.data(), pages)) {
      TidItem rows[MaxHeapTuplesPerPage];
      bool goes_on = true;
      while (goes_on) {
        const TidItem* const end = read_table_page(pages, rows);
        if (end == nullptr) break;
        goes_on = sink.append_rows({rows, end});
      }
      pfree(pages.scans);
      return goes_on;
    }
  }
  return read_rows(PlanSource{plan, columns}, encoders, sink);
}

/// Runs the plan of an inner query and reads its rows. @param types  of its columns
template <typename Sink, size_t kColumns>
void read_inner_query(PlannedStmt* plan, const char* query, std::span<const Oid> types,
                      std::span<const KeyEncoder, kColumns> encoders, Sink& sink) {
  struct Receiver {
    DestReceiver pub;  // first member: the server sees this
    std::span<const KeyEncoder, kColumns> encoders;
    Sink* sink;
    int columns;
  };
  Receiver receiver{make_receiver([](TupleTableSlot* slot, DestReceiver* self) {
                      auto& to = *reinterpret_cast<Receiver*>(self);
                      slot_getsomeattrs(slot, to.columns);
                      return read_row(to.encoders, slot->tts_values, slot->tts_isnull, *to.sink);
                    }),
                    encoders, &sink, static_cast<int>(types.size())};
  run_plan(plan, query, types, &receiver.pub);
}

// ---- the log of rows

/// Puts rows of a tid and an item, in this order, into a log, and reports the progress.
struct RowLogSink {
  RowLog* log;
  ProgressReport* progress;
  bool may_give_up;  // the members return false if memory is too small; otherwise they raise an error

  bool append(int64_t tid, int64_t item, int64_t) {
    if (!may_give_up)
      guarded([&] { log->append(tid, item); });
    else if (!guarded_fits(true, [&] { log->append(tid, item); }))
      return false;
    progress->row(log->rows());
    return true;
  }
  bool append_rows(std::span<const TidItem> rows);
  /// Rows that node_pack_rows.h has packed.
  bool append_chunk(std::span<const std::byte> chunk);
  /// After the last row.
  bool seal();
};

/// As read_rows() and read_inner_query(), for a plan that returns chunks.
bool read_chunks(PlanState* plan, RowLogSink& sink);
void read_inner_chunks(PlannedStmt* plan, const char* query, RowLogSink& sink);

}  // namespace batmap::pg
