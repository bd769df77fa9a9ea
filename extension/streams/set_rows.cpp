// Runs the query and passes its rows on. See set_rows.h.
#include "extension/streams/set_rows.h"

#include "extension/input/inner_query.h"
#include "extension/input/key_column.h"
#include "extension/input/key_encoder.h"
#include "extension/types/set_datum.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

constexpr char kColumns[] = "the id and the set, a batmap";

/// Receives the rows of the query.
struct SetReceiver {
  DestReceiver pub;
  SetRows* rows;
  MemoryContext scratch;  // of one row
  KeyEncoder id;
};

bool receive_set(TupleTableSlot* slot, DestReceiver* self) {
  auto& receiver = *reinterpret_cast<SetReceiver*>(self);
  slot_getsomeattrs(slot, 2);
  if (slot->tts_isnull[0] || slot->tts_isnull[1]) return true;
  int64_t id = 0;
  encode_key(receiver.id, slot->tts_values, slot->tts_isnull, id);
  ++receiver.rows->count;
  const MemoryContext caller = MemoryContextSwitchTo(receiver.scratch);
  receiver.rows->take(receiver.rows->arg, id, slot->tts_values[1]);
  MemoryContextSwitchTo(caller);
  MemoryContextReset(receiver.scratch);
  return true;
}

/// The type batmap in the schema of the extension.
Oid set_type(Oid function) {
  return GetSysCacheOid2(TYPENAMENSP, Anum_pg_type_oid, CStringGetDatum("batmap"),
                         ObjectIdGetDatum(get_func_namespace(function)));
}

/// How what is in a second column becomes sets.
const char* hint_at_sets(Oid type) {
  if (is_integer(type)) return "Make a set for each id: SELECT id, batmap_agg(item) ... GROUP BY id.";
  const Oid element = get_base_element_type(type);
  if (is_integer(OidIsValid(element) ? element : type)) return "Arrays of integers can be cast: items::batmap.";
  return "A batmap holds integers. Ids that have texts in common: batmap_pairs('SELECT text, id ...', measure => "
         "'jaccard').";
}

/// @raises 42804 unless the columns are an id and a batmap
void check_types(const TwoColumns& columns, Oid id_type, Oid function) {
  check_key_type(columns.types[0], id_type, "first", "ids");
  const Oid set = set_type(function);
  if (getBaseType(columns.types[1]) != set)
    ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
                    errmsg("second column of the input query must be %s, not %s", format_type_be(set),
                           format_type_be(columns.types[1])),
                    errhint("%s", hint_at_sets(columns.types[1]))));
}

}  // namespace

bool has_set_rows(const TableInput& input) {
  const MemoryContext caller = MemoryContextSwitchTo(input.context);
  const InnerQuery query = input.query();
  bool has_sets = false;
  if (query.tid_column == nullptr && query.item_column == nullptr) {
    ErrorContextCallback errors;
    enter_inner_query(errors, query.text);
    int column = 0;
    ListCell* cell;
    foreach (cell, analyze_select(query, QueryInput{}.columns)->targetList) {
      const auto* const target = static_cast<const TargetEntry*>(lfirst(cell));
      if (target->resjunk || ++column != 2) continue;
      has_sets = getBaseType(exprType(reinterpret_cast<Node*>(target->expr))) == set_type(input.fcinfo->flinfo->fn_oid);
    }
    leave_inner_query(errors);
  }
  MemoryContextSwitchTo(caller);
  return has_sets;
}

void read_set_rows(const TableInput& input, MemoryMeter& meter, SetRows& rows) {
  const InnerQuery query = input.query();
  const MemoryContext caller = MemoryContextSwitchTo(input.context);
  ErrorContextCallback errors;
  enter_inner_query(errors, query.text);
  Query* const analyzed = analyze_select(query, kColumns);
  const TwoColumns columns = two_columns(analyzed, kColumns, false);
  check_types(columns, input.item_type, input.fcinfo->flinfo->fn_oid);
  SetReceiver receiver{make_receiver(receive_set), &rows,
                       AllocSetContextCreate(input.context, "batmap set", ALLOCSET_DEFAULT_SIZES),
                       column_encoder(key_kind(columns.types[0], input.item_type), 0)};
  add_dictionary(receiver.id, input.item_type, columns.collations[0], input.context, meter);
  run_plan(plan_select(analyzed, query.text), query.text, columns.types, &receiver.pub);
  MemoryContextDelete(receiver.scratch);
  if (Dictionary* const ids = receiver.id.dictionary; ids != nullptr) {
    const uint32_t* const ranks = dictionary_sort(*ids);
    rows.ids = ids;
    rows.ranks = {ranks, ids->count};
  }
  leave_inner_query(errors);
  MemoryContextSwitchTo(caller);
}

SetRows collect_sets(const TableInput& input, MemoryMeter& meter, CollectedSets& sets) {
  SetRows rows;
  rows.take = [](void* collected, int64_t id, Datum set) {
    const std::span<const std::byte> bytes = set_bytes(PG_DETOAST_DATUM_PACKED(set));
    guarded([&] { static_cast<CollectedSets*>(collected)->add(id, bytes); });
  };
  rows.arg = &sets;
  read_set_rows(input, meter, rows);
  guarded([&] {
    sets.seal();
    if (rows.ids != nullptr) sets.rename(rows.ranks);
  });
  return rows;
}

}  // namespace batmap::pg
