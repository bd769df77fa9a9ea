// Numbers tuples with the hash table of the server. See tuple_codes.h.
#include "extension/input/tuple_codes.h"

#include "extension/server/boundary.h"
#include "extension/server/equality.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {
constexpr uint32_t kMaxTuples = UINT32_MAX - 1;
constexpr size_t kBytesATuple = 2 * sizeof(TupleHashEntryData) + sizeof(MinimalTuple);

/// Does the tuple in the slot look like one that is equal to it?
bool looks_like(const TupleCodes& codes, int64_t known) {
  const TupleTableSlot* const slot = codes.slot;
  tuple_of_code(codes, known, codes.known_values, codes.known_nulls);
  const ListCell* column;
  foreach (column, codes.must_look_same) {
    const int k = lfirst_int(column);
    const Form_pg_attribute type = TupleDescAttr(slot->tts_tupleDescriptor, k);
    if (!slot->tts_isnull[k] && !datum_image_eq(codes.known_values[k], slot->tts_values[k], type->attbyval, type->attlen))
      return false;
  }
  return true;
}

}  // namespace

bool must_look_same(const List* shown, int number, const FormData_pg_attribute& column) {
  return shown != NIL && list_nth_int(shown, number) != 0 && !equal_values_look_same(column.atttypid, column.atttypmod);
}

TupleCodes* tuple_codes_create(MemoryContext context, PlanState* parent, TupleDesc row, int first_column, List* operators,
                               const List* shown, MemoryMeter& meter) {
  const MemoryContext caller = MemoryContextSwitchTo(context);
  auto* const codes = static_cast<TupleCodes*>(palloc0(sizeof(TupleCodes)));
  codes->context = context;
  codes->scratch = AllocSetContextCreate(context, "batmap tuple codes scratch", ALLOCSET_SMALL_SIZES);
  codes->columns = list_length(operators);
  codes->meter = &meter;
  const TupleDesc columns = CreateTemplateTupleDesc(codes->columns);
  auto* const positions = static_cast<AttrNumber*>(palloc(sizeof(AttrNumber) * static_cast<size_t>(codes->columns)));
  auto* const equals = static_cast<Oid*>(palloc(sizeof(Oid) * static_cast<size_t>(codes->columns)));
  auto* const collations = static_cast<Oid*>(palloc(sizeof(Oid) * static_cast<size_t>(codes->columns)));
  for (int k = 0; k < codes->columns; ++k) {
    positions[k] = static_cast<AttrNumber>(k + 1);
    TupleDescCopyEntry(columns, positions[k], row, static_cast<AttrNumber>(first_column + k + 1));
    equals[k] = list_nth_oid(operators, k);
    const Form_pg_attribute column = TupleDescAttr(row, first_column + k);
    collations[k] = column->attcollation;
    if (must_look_same(shown, k, *column)) codes->must_look_same = lappend_int(codes->must_look_same, k);
  }
  if (codes->must_look_same != NIL) {
    codes->known_values = static_cast<Datum*>(palloc(sizeof(Datum) * static_cast<size_t>(codes->columns)));
    codes->known_nulls = static_cast<bool*>(palloc(sizeof(bool) * static_cast<size_t>(codes->columns)));
  }
  codes->slot = MakeSingleTupleTableSlot(columns, &TTSOpsVirtual);
  Oid* functions;
  FmgrInfo* hashes;
  execTuplesHashPrepare(codes->columns, equals, &functions, &hashes);
  codes->table = numbered_tuples(parent, columns, positions, functions, hashes, collations, context, codes->scratch);
  codes->capacity = 1024;
  codes->tuples = static_cast<MinimalTuple*>(palloc(sizeof(MinimalTuple) * codes->capacity));
  MemoryContextSwitchTo(caller);
  return codes;
}

int64_t tuple_code(TupleCodes& codes, const Datum* values, const bool* nulls) {
  ExecClearTuple(codes.slot);
  for (int k = 0; k < codes.columns; ++k) {
    codes.slot->tts_values[k] = values[k];
    codes.slot->tts_isnull[k] = nulls[k];
  }
  ExecStoreVirtualTuple(codes.slot);
  bool is_new;
  TupleHashEntry const entry = LookupTupleHashEntry(codes.table, codes.slot, &is_new, nullptr);
  MemoryContextReset(codes.scratch);
  if (!is_new) {
    const auto known = static_cast<int64_t>(tuple_number(codes.table, entry));
    if (codes.must_look_same == NIL || looks_like(codes, known)) return known;
    codes.looks_differ = true;
    return -1;
  }
  const size_t bytes = kBytesATuple + entry->firstTuple->t_len;
  if (codes.count == kMaxTuples || !guarded_fits(true, [&] { codes.meter->charge(bytes); })) return -1;
  if (codes.count == codes.capacity) {
    codes.capacity *= 2;
    codes.tuples = static_cast<MinimalTuple*>(repalloc_huge(codes.tuples, sizeof(MinimalTuple) * codes.capacity));
  }
  set_tuple_number(codes.table, entry, static_cast<uintptr_t>(codes.count));
  codes.tuples[codes.count] = entry->firstTuple;
  return codes.count++;
}

void tuple_of_code(const TupleCodes& codes, int64_t code, Datum* values, bool* nulls) {
  HeapTupleData tuple;
  const MinimalTuple found = codes.tuples[code];
  tuple.t_len = found->t_len + MINIMAL_TUPLE_OFFSET;
  tuple.t_data = reinterpret_cast<HeapTupleHeader>(reinterpret_cast<char*>(found) - MINIMAL_TUPLE_OFFSET);
  heap_deform_tuple(&tuple, codes.slot->tts_tupleDescriptor, values, nulls);
}

}  // namespace batmap::pg
