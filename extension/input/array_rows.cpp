// Decodes the arrays below a ProjectSet. See array_rows.h.
#include "extension/input/array_rows.h"

#include <algorithm>

#include "extension/input/row_reader.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

/// The column of the node below that an expression is. @return -1: it is something else
int column_of(const Expr* value) {
  if (!IsA(value, Var)) return -1;
  const auto* const column = reinterpret_cast<const Var*>(value);
  return column->varno == OUTER_VAR && column->varattno > 0 ? column->varattno - 1 : -1;
}

int unnested_column(const Expr* value) {
  if (!IsA(value, FuncExpr)) return -1;
  const auto* const call = reinterpret_cast<const FuncExpr*>(value);
  return call->funcid == F_UNNEST_ANYARRAY ? column_of(static_cast<const Expr*>(linitial(call->args))) : -1;
}

int64_t null_key(const KeyEncoder& encoder) {
  const Datum value = 0;
  const bool is_null = true;
  KeyEncoder own = encoder;
  own.first = 0;
  int64_t key = 0;
  encode_key(own, &value, &is_null, key);
  return key;
}

/// Goes to the next array. @return false if there is none
bool open_array(ArrayRows& rows) {
  if (rows.finished) return false;
  const TupleTableSlot* const below = next_slot(outerPlanState(rows.sets), Max(rows.tid_column, rows.array_column) + 1);
  rows.finished = below == nullptr;
  if (rows.finished) return false;
  rows.at = rows.count = 0;
  const bool no_tid = below->tts_isnull[rows.tid_column];
  if (below->tts_isnull[rows.array_column] || (no_tid && !rows.encoders[0].null_is_key)) return true;
  rows.tid = no_tid ? null_key(rows.encoders[0]) : own_key(rows.encoders[0].kind, below->tts_values[rows.tid_column]);
  MemoryContextReset(rows.row);
  const MemoryContext caller = MemoryContextSwitchTo(rows.row);
  ArrayType* const array = DatumGetArrayTypeP(below->tts_values[rows.array_column]);
  MemoryContextSwitchTo(caller);
  rows.count = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
  rows.next = ARR_DATA_PTR(array);
  rows.nulls = ARR_NULLBITMAP(array);
  return true;
}

/// Reads elements while there are some and room for them.
template <typename Value>
TidItem* read_elements(ArrayRows& rows, TidItem* out, const TidItem* limit) {
  const int64_t tid = rows.tid;
  if (rows.nulls == nullptr) {
    const int64_t count = std::min<int64_t>(rows.count - rows.at, limit - out);
    const char* const values = rows.next;
    for (int64_t k = 0; k < count; ++k) {
      Value value;
      memcpy(&value, values + static_cast<size_t>(k) * sizeof value, sizeof value);
      out[k] = {tid, value};
    }
    rows.next += static_cast<size_t>(count) * sizeof(Value);
    rows.at += count;
    return out + count;
  }
  for (; rows.at < rows.count && out != limit; ++rows.at) {
    if ((rows.nulls[rows.at / BITS_PER_BYTE] >> (rows.at % BITS_PER_BYTE) & 1) != 0) {
      Value value;
      memcpy(&value, rows.next, sizeof value);
      rows.next += sizeof value;
      *out++ = {tid, value};
    } else if (rows.encoders[1].null_is_key) {
      *out++ = {tid, null_key(rows.encoders[1])};
    }
  }
  return out;
}

TidItem* read_elements(ArrayRows& rows, TidItem* out, const TidItem* limit) {
  switch (rows.encoders[1].kind) {
    case KeyKind::kInt2: return read_elements<int16>(rows, out, limit);
    case KeyKind::kInt4: return read_elements<int32>(rows, out, limit);
    default: return read_elements<int64>(rows, out, limit);
  }
}

}  // namespace

bool find_array_rows(PlanState* node, const KeyEncoder* encoders, ArrayRows& rows) {
  if (!IsA(node, ProjectSetState) || node->instrument != nullptr || list_length(node->plan->targetlist) != 2) return false;
  const Expr* values[2];
  for (int k = 0; k < 2; ++k) {
    if (!is_own_key(encoders[k].kind)) return false;
    values[k] = list_nth_node(TargetEntry, node->plan->targetlist, encoders[k].first)->expr;
  }
  const int tid = column_of(values[0]);
  const int array = unnested_column(values[1]);
  if (tid < 0 || array < 0) return false;
  rows = {};
  rows.sets = node;
  rows.encoders = encoders;
  rows.tid_column = tid;
  rows.array_column = array;
  rows.row = AllocSetContextCreate(node->state->es_query_cxt, "batmap array", ALLOCSET_DEFAULT_SIZES);
  return true;
}

TidItem* read_array_rows(ArrayRows& rows, TidItem* out) {
  // As in ExecProcNode: a rescan may have been put off until the next row.
  if (rows.sets->chgParam != nullptr) ExecReScan(rows.sets);
  TidItem* end = out;
  const TidItem* const limit = out + kChunkRows;
  while (end != limit) {
    if (rows.at == rows.count && !open_array(rows)) break;
    end = read_elements(rows, end, limit);
  }
  return end;
}

void rescan_array_rows(ArrayRows& rows) {
  rows.at = rows.count = 0;
  rows.finished = false;
}

}  // namespace batmap::pg
