// Prepares, checks and runs statements. See kept_statements.h.
#include "extension/kept/kept_statements.h"

#include "extension/input/key_column.h"
#include "extension/kept/kept_setup.h"
#include "extension/server/own_statement.h"
#include "extension/types/text_items.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

constexpr const char* kCountFunction = "batmap_pair_counts_agg";

Oid extension_schema(const KeptTable& kept) {
  const HeapTuple tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(kept.counts_type));
  if (!HeapTupleIsValid(tuple)) elog(ERROR, "cache lookup failed for type %u", kept.counts_type);
  const Oid schema = reinterpret_cast<Form_pg_type>(GETSTRUCT(tuple))->typnamespace;
  ReleaseSysCache(tuple);
  return schema;
}

/// The aggregate that counts rows: the one of the extension whose type the counts are.
Oid count_function(const KeptTable& kept) {
  const Oid types[2] = {INT8OID, kept.has_texts ? Oid{TEXTOID} : Oid{INT8OID}};
  return GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid, CStringGetDatum(kCountFunction),
                         PointerGetDatum(buildoidvector(types, 2)), ObjectIdGetDatum(extension_schema(kept)));
}

bool has_foreign_aggregate(Node* node, void* own) {
  if (node == nullptr) return false;
  if (IsA(node, Query)) return query_tree_walker(castNode(Query, node), walker(has_foreign_aggregate), own, 0);
  if (IsA(node, Aggref)) {
    const Oid function = castNode(Aggref, node)->aggfnoid;
    if (function >= FirstGenbkiObjectId && function != *static_cast<const Oid*>(own)) return true;
  }
  return expression_tree_walker(node, walker(has_foreign_aggregate), own);
}

/// Whether a plan reads and changes the companions and the table, counts with our aggregate, and nothing else.
bool has_own_objects(const KeptTable& kept, SPIPlanPtr plan) {
  Oid own = count_function(kept);
  const ListCell* source;
  foreach (source, SPI_plan_get_plan_sources(plan)) {
    if (has_foreign_aggregate(reinterpret_cast<Node*>(static_cast<CachedPlanSource*>(lfirst(source))->query_list), &own))
      return false;
    const ListCell* relation;
    foreach (relation, static_cast<CachedPlanSource*>(lfirst(source))->relationOids) {
      const Oid oid = lfirst_oid(relation);
      if (oid != kept.table && oid != kept.companions.rows && oid != kept.companions.counts && oid != kept.companions.log)
        return false;
    }
  }
  return true;
}

}  // namespace

void check_objects(const KeptTable& kept, SPIPlanPtr plan) {
  if (!has_own_objects(kept, plan)) raise_renamed(get_rel_name(kept.table));
}

SPIPlanPtr prepared(const KeptTable& kept, const char* text, int count, Oid* types) {
  const SPIPlanPtr plan = SPI_prepare(text, count, types);
  if (plan == nullptr) elog(ERROR, "statement failed: %s: %s", SPI_result_code_string(SPI_result), text);
  check_objects(kept, plan);
  return plan;
}

void run_on_companions(const KeptTable& kept, const char* text, bool reads, int count, Oid* types, Datum* values) {
  const SPIPlanPtr plan = prepared(kept, text, count, types);
  const int status = SPI_execute_plan(plan, values, nullptr, reads, 0);
  if (status < 0) elog(ERROR, "statement failed: %s: %s", SPI_result_code_string(status), text);
  check_objects(kept, plan);
  SPI_freeplan(plan);
}

void check_result(const KeptTable& kept, std::initializer_list<Oid> types) {
  const TupleDesc columns = SPI_tuptable->tupdesc;
  bool same = columns->natts == static_cast<int>(types.size());
  int index = 0;
  for (const Oid type : types) same = same && TupleDescAttr(columns, index++)->atttypid == type;
  if (!same)
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("the counts of table \"%s\" have other columns than they must", get_rel_name(kept.table)),
                    errhint("%s", kMismatchHint)));
}

const char* recount_query(const KeptTable& kept) {
  const char* const schema = quote_identifier(get_namespace_name(extension_schema(kept)));
  const char* const rows = qualified_name(kept.companions.rows);
  const char* const item = as_item("item", kept.has_texts);
  if (is_integer(kept.tid_type)) return psprintf("SELECT %s.%s(tid::int8, %s) FROM %s", schema, kCountFunction, item, rows);
  return psprintf(
      "SELECT %s.%s(tid, %s) FROM (SELECT dense_rank() OVER (ORDER BY tid) AS tid, item FROM %s "
      "WHERE tid IS NOT NULL) q",
      schema, kCountFunction, item, rows);
}

}  // namespace batmap::pg
