// Plan a query of (tid, item) rows and take them. See query_source.h.
#include "extension/query_source.h"

#include "extension/backend.h"
#include "extension/boundary.h"
#include "extension/inner_query.h"
#include "relation/flat_relation.h"

#include "extension/pg.h"

namespace batmap::pg {

namespace {

constexpr char kColumns[] = "the transaction and the item";

// How a column becomes a 64-bit key.
enum class KeyKind { kInt2, kInt4, kInt8, kDictionary };

struct KeyColumn {
  KeyKind kind;
  Dictionary* dictionary;
};

/// Integers stand for themselves; so do types that are equal exactly when their bits are.
KeyKind key_kind(Oid type) {
  switch (getBaseType(type)) {
    case INT2OID: return KeyKind::kInt2;
    case INT4OID:
    case DATEOID: return KeyKind::kInt4;
    case INT8OID:
    case TIMESTAMPOID:
    case TIMESTAMPTZOID: return KeyKind::kInt8;
    default: return KeyKind::kDictionary;
  }
}

bool is_integer(Oid type) {
  const Oid base = getBaseType(type);
  return base == INT2OID || base == INT4OID || base == INT8OID;
}

int64_t key_of(const KeyColumn& column, Datum value) {
  switch (column.kind) {
    case KeyKind::kInt2: return DatumGetInt16(value);
    case KeyKind::kInt4: return DatumGetInt32(value);
    case KeyKind::kInt8: return DatumGetInt64(value);
    case KeyKind::kDictionary: break;
  }
  return dictionary_id(*column.dictionary, value);
}

// Receives the rows of the query itself.
struct RowReceiver {
  DestReceiver pub;
  PairLog* log;
  ProgressReport* progress;
  KeyColumn tid;
  KeyColumn item;
};

bool receive_row(TupleTableSlot* slot, DestReceiver* self) {
  auto& receiver = *reinterpret_cast<RowReceiver*>(self);
  slot_getsomeattrs(slot, 2);
  if (slot->tts_isnull[0] || slot->tts_isnull[1]) return true;
  const int64_t tid = key_of(receiver.tid, slot->tts_values[0]);
  const int64_t item = key_of(receiver.item, slot->tts_values[1]);
  guarded([&] { receiver.log->append(tid, item); });
  receiver.progress->row(receiver.log->rows());
  return true;
}

// Receives the relations into which the workers aggregated their rows.
struct RelationReceiver {
  DestReceiver pub;
  PairLog* log;
};

bool receive_relation(TupleTableSlot* slot, DestReceiver* self) {
  auto& receiver = *reinterpret_cast<RelationReceiver*>(self);
  slot_getsomeattrs(slot, 1);
  if (slot->tts_isnull[0]) return true;
  struct varlena* const value = PG_DETOAST_DATUM(slot->tts_values[0]);
  guarded([&] {
    const auto* const bytes = reinterpret_cast<const std::byte*>(VARDATA(value));
    const FlatHeader header = flat_header(bytes);
    const std::byte* at = bytes + kFlatHeaderBytes;
    for (const std::byte* const end = at + header.sealed_bytes; at < end;) {
      const ChunkView chunk = read_chunk(at);
      receiver.log->append_chunk(at, chunk.bytes);
      at += chunk.bytes;
    }
    for (uint32_t k = 0; k < header.open_rows; ++k) {
      Pair pair;
      memcpy(&pair, at + k * sizeof pair, sizeof pair);
      receiver.log->append(pair.tid, pair.item);
    }
  });
  return true;
}

/// SELECT schema.batmap_relation_agg(tid, item) FROM (query) rows(tid, item), as a parse tree.
RawStmt* wrap_in_aggregate(RawStmt* statement, const char* schema, const Oid types[2]) {
  auto column = [&](const char* name, Oid type) {
    auto* const reference = makeNode(ColumnRef);
    reference->fields = list_make1(makeString(pstrdup(name)));
    reference->location = -1;
    if (getBaseType(type) != INT2OID) return reinterpret_cast<Node*>(reference);
    auto* const cast = makeNode(TypeCast);  // there is no overload for int2
    cast->arg = reinterpret_cast<Node*>(reference);
    cast->typeName = makeTypeNameFromOid(INT4OID, -1);
    cast->location = -1;
    return reinterpret_cast<Node*>(cast);
  };
  auto* const rows = makeNode(RangeSubselect);
  rows->subquery = static_cast<Node*>(copyObjectImpl(statement->stmt));
  rows->alias = makeAlias("rows", list_make2(makeString(pstrdup("tid")), makeString(pstrdup("item"))));
  auto* const target = makeNode(ResTarget);
  target->val = reinterpret_cast<Node*>(
      makeFuncCall(list_make2(makeString(pstrdup(schema)), makeString(pstrdup("batmap_relation_agg"))),
                   list_make2(column("tid", types[0]), column("item", types[1])), COERCE_EXPLICIT_CALL, -1));
  target->location = -1;
  auto* const select = makeNode(SelectStmt);
  select->targetList = list_make1(target);
  select->fromClause = list_make1(rows);
  auto* const wrapped = makeNode(RawStmt);
  wrapped->stmt = reinterpret_cast<Node*>(select);
  wrapped->stmt_location = statement->stmt_location;
  wrapped->stmt_len = statement->stmt_len;
  return wrapped;
}

/// A state is one value of at most 1 GB, and in memory: where the planner expects more rows in a worker, rows stream.
double most_rows_in_one_state() {
  constexpr double kBytesARow = 16;  // the worst case
  return static_cast<double>(std::min(work_memory_bytes(), MaxAllocSize)) / kBytesARow;
}

/// The part of a parallel aggregation that yields the states of the workers, or nullptr where the plan is no such.
/// The states are all that is wanted: merging them into one value, as the node above would, only copies them.
Plan* partial_states(const PlannedStmt* plan) {
  if (!IsA(plan->planTree, Agg)) return nullptr;
  const auto* const aggregate = reinterpret_cast<const Agg*>(plan->planTree);
  if (!DO_AGGSPLIT_COMBINE(aggregate->aggsplit)) return nullptr;
  Plan* const gather = aggregate->plan.lefttree;
  if (gather == nullptr || !IsA(gather, Gather) || list_length(gather->targetlist) != 1) return nullptr;
  const Plan* const partial = gather->lefttree;
  if (!IsA(partial, Agg) || partial->lefttree == nullptr || partial->lefttree->plan_rows > most_rows_in_one_state())
    return nullptr;
  return gather;
}

void check_item_type(Oid actual, Oid wanted) {
  if (OidIsValid(wanted)) {
    if (getBaseType(actual) != getBaseType(wanted))
      ereport(ERROR,
              (errcode(ERRCODE_DATATYPE_MISMATCH),
               errmsg("second column of the input query must be %s, not %s", format_type_be(wanted), format_type_be(actual)),
               errhint("Cast the column, or give a NULL of its type as the first argument.")));
  } else if (!is_integer(actual)) {
    ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
                    errmsg("second column of the input query must be an integer, not %s", format_type_be(actual)),
                    errhint("The _of form of the function takes items of any hashable type.")));
  }
}

}  // namespace

void read_query(const char* query, QueryInput& input, MemoryMeter& meter, MemoryContext context) {
  const MemoryContext caller = MemoryContextSwitchTo(context);
  ErrorContextCallback errors;
  enter_inner_query(errors, query);
  RawStmt* const statement = parse_select(query, kColumns);
  Query* const analyzed = analyze_select(static_cast<RawStmt*>(copyObjectImpl(statement)), query);
  const TwoColumns columns = two_columns(analyzed, kColumns);
  check_item_type(columns.types[1], input.item_type);

  // Planned before the plain query, because planning scribbles on its input.
  PlannedStmt* plan = nullptr;
  if (max_parallel_workers_per_gather > 0 && !IsParallelWorker() && !OidIsValid(input.item_type) &&
      is_integer(columns.types[0]) && is_integer(columns.types[1])) {
    const char* const schema = get_namespace_name(get_func_namespace(input.extension_function));
    RawStmt* const wrapped = wrap_in_aggregate(statement, schema, columns.types);
    plan = pg_plan_query(analyze_select(wrapped, query), query, CURSOR_OPT_PARALLEL_OK, nullptr);
    Plan* const states = partial_states(plan);
    if (states != nullptr) {
      plan->planTree = states;
      input.in_parallel = true;
    }
  }

  if (input.in_parallel) {
    RelationReceiver receiver{make_receiver(receive_relation), input.log};
    run_plan(plan, query, &receiver.pub);
  } else {
    RowReceiver receiver{make_receiver(receive_row), input.log, input.progress, {}, {}};
    receiver.tid.kind = key_kind(columns.types[0]);
    if (receiver.tid.kind == KeyKind::kDictionary)
      receiver.tid.dictionary = dictionary_create(context, columns.types[0], columns.collations[0], meter);
    receiver.item.kind = OidIsValid(input.item_type) ? KeyKind::kDictionary : key_kind(columns.types[1]);
    if (receiver.item.kind == KeyKind::kDictionary)
      receiver.item.dictionary = dictionary_create(context, columns.types[1], columns.collations[1], meter);
    plan = pg_plan_query(analyzed, query, CURSOR_OPT_PARALLEL_OK, nullptr);
    run_plan(plan, query, &receiver.pub);
    if (receiver.tid.dictionary != nullptr) MemoryContextDelete(receiver.tid.dictionary->context);
    input.items = receiver.item.dictionary;
    if (input.items != nullptr) input.item_rank = dictionary_sort(*input.items);
  }
  guarded([&] { input.log->seal(); });
  input.rows_read = input.log->rows();
  leave_inner_query(errors);
  MemoryContextSwitchTo(caller);
}

}  // namespace batmap::pg
