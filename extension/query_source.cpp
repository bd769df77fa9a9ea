// Plan a query of (tid, item) rows and take them. See query_source.h.
#include "extension/query_source.h"

#include "extension/backend.h"
#include "extension/boundary.h"
#include "extension/inner_query.h"
#include "extension/key_column.h"
#include "relation/flat_relation.h"

#include "extension/pg.h"

namespace batmap::pg {

namespace {

// Receives the rows of the query itself.
struct RowReceiver {
  DestReceiver pub;
  PairLog* log;
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

/// SELECT schema.batmap_relation_agg(tid, item) FROM (query) rows(tid, item), as a parse tree; or rows(item, tid).
RawStmt* wrap_in_aggregate(RawStmt* statement, const char* schema, const Oid types[2], int tid_column) {
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
  const char* const names[] = {"tid", "item", "tid"};
  rows->alias =
      makeAlias("rows", list_make2(makeString(pstrdup(names[tid_column])), makeString(pstrdup(names[tid_column + 1]))));
  auto* const target = makeNode(ResTarget);
  target->val = reinterpret_cast<Node*>(makeFuncCall(
      list_make2(makeString(pstrdup(schema)), makeString(pstrdup("batmap_relation_agg"))),
      list_make2(column("tid", types[tid_column]), column("item", types[1 - tid_column])), COERCE_EXPLICIT_CALL, -1));
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

void check_item_type(Oid actual, Oid wanted, const char* column) {
  if (OidIsValid(wanted)) {
    if (getBaseType(actual) != getBaseType(wanted))
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

/// Tids of two queries are compared: by one kind of key, and one equality.
void check_shared_tids(SharedTids& shared, Oid type, Oid collation) {
  if (!OidIsValid(shared.type)) {
    shared.type = type;
    shared.collation = collation;
    return;
  }
  if (getBaseType(type) != getBaseType(shared.type) && !(is_integer(type) && is_integer(shared.type)))
    ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
                    errmsg("the queries cannot be joined: %s in one, %s in the other", format_type_be(shared.type),
                           format_type_be(type)),
                    errhint("Cast one of the columns.")));
  if (collation != shared.collation)
    ereport(ERROR, (errcode(ERRCODE_COLLATION_MISMATCH), errmsg("the queries cannot be joined: their collations differ"),
                    errhint("Give one of the columns the COLLATE clause of the other.")));
}

struct CheckedQuery {
  RawStmt* statement;
  Query* analyzed;
  TwoColumns columns;
};

CheckedQuery checked_query(const char* query, const QueryInput& input) {
  RawStmt* const statement = parse_select(query, input.columns);
  Query* const analyzed = analyze_select(static_cast<RawStmt*>(copyObjectImpl(statement)), query);
  const TwoColumns columns = two_columns(analyzed, input.columns);
  const int tid = input.item_first ? 1 : 0;
  check_item_type(columns.types[1 - tid], input.item_type, input.item_first ? "first" : "second");
  if (input.tids != nullptr) check_shared_tids(*input.tids, columns.types[tid], columns.collations[tid]);
  return {statement, analyzed, columns};
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
  const auto [statement, analyzed, columns] = checked_query(query, input);
  const int tid = input.item_first ? 1 : 0;
  const int item = 1 - tid;

  // Planned before the plain query, because planning scribbles on its input.
  PlannedStmt* plan = nullptr;
  if (max_parallel_workers_per_gather > 0 && !IsParallelWorker() && !OidIsValid(input.item_type) &&
      is_integer(columns.types[tid]) && is_integer(columns.types[item])) {
    const char* const schema = get_namespace_name(get_func_namespace(input.extension_function));
    RawStmt* const wrapped = wrap_in_aggregate(statement, schema, columns.types, tid);
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
    RowReceiver receiver{make_receiver(receive_row), input.log, input.progress, {}, {}, tid};
    receiver.tid.kind = key_kind(columns.types[tid]);
    if (receiver.tid.kind == KeyKind::kDictionary) {
      if (input.tids != nullptr) receiver.tid.dictionary = input.tids->dictionary;
      if (receiver.tid.dictionary == nullptr)
        receiver.tid.dictionary = dictionary_create(context, columns.types[tid], columns.collations[tid], meter);
      if (input.tids != nullptr) input.tids->dictionary = receiver.tid.dictionary;
    }
    receiver.item.kind = OidIsValid(input.item_type) ? KeyKind::kDictionary : key_kind(columns.types[item]);
    if (receiver.item.kind == KeyKind::kDictionary)
      receiver.item.dictionary = dictionary_create(context, columns.types[item], columns.collations[item], meter);
    plan = pg_plan_query(analyzed, query, CURSOR_OPT_PARALLEL_OK, nullptr);
    run_plan(plan, query, &receiver.pub);
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
