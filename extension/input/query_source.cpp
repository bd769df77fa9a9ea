// Plans a query of (tid, item) rows and reads them. See query_source.h.
#include "extension/input/query_source.h"

#include <array>

#include "extension/input/inner_query.h"
#include "extension/input/key_column.h"
#include "extension/input/packed_plan.h"
#include "extension/server/boundary.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

// Receives the rows of a query that is not packed.
struct RowReceiver {
  DestReceiver pub;
  RowLog* log;
  ProgressReport* progress;
  KeyColumn tid;
  KeyColumn item;
  int tid_column;
};

bool receive_row(TupleTableSlot* slot, DestReceiver* self) {
  auto& receiver = *reinterpret_cast<RowReceiver*>(self);
  slot_getsomeattrs(slot, 2);
  if (slot->tts_isnull[0] || slot->tts_isnull[1]) return true;
  const int64_t tid = key_of(receiver.tid, slot->tts_values[receiver.tid_column]);
  const int64_t item = key_of(receiver.item, slot->tts_values[1 - receiver.tid_column]);
  guarded([&] { receiver.log->append(tid, item); });
  receiver.progress->row(receiver.log->rows());
  return true;
}

// Receives rows in chunks.
struct ChunkReceiver {
  DestReceiver pub;
  RowLog* log;
  ProgressReport* progress;
};

bool receive_chunk(TupleTableSlot* slot, DestReceiver* self) {
  auto& receiver = *reinterpret_cast<ChunkReceiver*>(self);
  slot_getsomeattrs(slot, 1);
  const auto* const chunk = reinterpret_cast<const struct varlena*>(DatumGetPointer(slot->tts_values[0]));
  const auto* const bytes = reinterpret_cast<const std::byte*>(VARDATA_ANY(chunk));
  guarded([&] { receiver.log->append_chunk(bytes, VARSIZE_ANY_EXHDR(chunk)); });
  receiver.progress->phase(Phase::kReading, receiver.log->rows());
  return true;
}

void check_item_type(Oid actual, Oid wanted, const char* column) {
  if (OidIsValid(wanted)) {
    if (!stands_for(actual, wanted))
      ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
                      errmsg("%s column of the input query must be %s, not %s", column, format_type_be(wanted),
                             format_type_be(actual)),
                      errhint("Cast the column, or give a NULL of its type as the argument for it.")));
  } else if (!is_integer(actual)) {
    ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
                    errmsg("%s column of the input query must be an integer, not %s", column, format_type_be(actual)),
                    errhint("The _of form of the function takes items of any hashable type.")));
  }
}

/// Checks that the tids of two queries can be compared: their keys must be of one kind, with one equality.
void check_shared_tids(SharedTids& shared, Oid type, Oid collation) {
  if (!OidIsValid(shared.type)) {
    shared.type = type;
    shared.collation = collation;
    return;
  }
  const Oid types[2] = {getBaseType(shared.type), getBaseType(type)};
  if (!stands_for(types[0], types[1]) && !stands_for(types[1], types[0]) && !(is_integer(type) && is_integer(shared.type)))
    ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
                    errmsg("the queries cannot be joined: %s in one, %s in the other", format_type_be(shared.type),
                           format_type_be(type)),
                    errhint("Cast one of the columns.")));
  if (collation != shared.collation)
    ereport(ERROR, (errcode(ERRCODE_COLLATION_MISMATCH), errmsg("the queries cannot be joined: their collations differ"),
                    errhint("Give one of the columns the COLLATE clause of the other.")));
}

struct CheckedQuery {
  Query* analyzed;
  TwoColumns columns;
};

CheckedQuery checked_query(const char* query, const QueryInput& input) {
  Query* const analyzed = analyze_select(parse_select(query, input.columns), query);
  const TwoColumns columns = two_columns(analyzed, input.columns);
  const int tid = input.item_first ? 1 : 0;
  check_item_type(columns.types[1 - tid], input.item_type, input.item_first ? "first" : "second");
  if (input.tids != nullptr) check_shared_tids(*input.tids, columns.types[tid], columns.collations[tid]);
  return {analyzed, columns};
}

}  // namespace

void check_query(const char* query, const QueryInput& input, MemoryContext context) {
  const MemoryContext caller = MemoryContextSwitchTo(context);
  ErrorContextCallback errors;
  enter_inner_query(errors, query);
  checked_query(query, input);
  leave_inner_query(errors);
  MemoryContextSwitchTo(caller);
}

void read_query(const char* query, QueryInput& input, MemoryMeter& meter, MemoryContext context) {
  const MemoryContext caller = MemoryContextSwitchTo(context);
  ErrorContextCallback errors;
  enter_inner_query(errors, query);
  const auto [analyzed, columns] = checked_query(query, input);
  const int tid = input.item_first ? 1 : 0;
  const int item = 1 - tid;
  const KeyKind tid_kind = key_kind(columns.types[tid]);
  const KeyKind item_kind = OidIsValid(input.item_type) ? KeyKind::kDictionary : key_kind(columns.types[item]);

  PackedPlan plan{};
  if (tid_kind == KeyKind::kDictionary || item_kind == KeyKind::kDictionary)
    plan.plan = pg_plan_query(analyzed, query, CURSOR_OPT_PARALLEL_OK, nullptr);
  else
    plan = plan_packed(analyzed, query, {tid_kind, item_kind, 0, tid});
  input.in_parallel = plan.in_parallel;

  if (plan.packed) {
    ChunkReceiver receiver{make_receiver(receive_chunk), input.log, input.progress};
    run_plan(plan.plan, query, std::array{Oid{BYTEAOID}}, &receiver.pub);
  } else {
    RowReceiver receiver{make_receiver(receive_row), input.log, input.progress, {tid_kind, nullptr},
                         {item_kind, nullptr},       tid};
    if (tid_kind == KeyKind::kDictionary) {
      if (input.tids != nullptr) receiver.tid.dictionary = input.tids->dictionary;
      if (receiver.tid.dictionary == nullptr)
        receiver.tid.dictionary = dictionary_create(context, columns.types[tid], columns.collations[tid], meter);
      if (input.tids != nullptr) input.tids->dictionary = receiver.tid.dictionary;
    }
    if (item_kind == KeyKind::kDictionary)
      receiver.item.dictionary = dictionary_create(context, input.item_type, columns.collations[item], meter);
    run_plan(plan.plan, query, columns.types, &receiver.pub);
    if (receiver.tid.dictionary != nullptr && input.tids == nullptr) MemoryContextDelete(receiver.tid.dictionary->context);
    input.items = receiver.item.dictionary;
    if (input.items != nullptr) input.item_rank = dictionary_sort(*input.items);
  }
  guarded([&] { input.log->seal(); });
  input.rows_read = input.log->rows();
  leave_inner_query(errors);
  MemoryContextSwitchTo(caller);
}

}  // namespace batmap::pg
