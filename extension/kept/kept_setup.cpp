// batmap_keep, batmap_unkeep, and what the view batmap_kept shows. See kept_table.h for the companions.
#include "extension/kept/kept_setup.h"

#include <initializer_list>

#include "extension/kept/kept_access.h"
#include "extension/kept/kept_companions.h"
#include "extension/kept/kept_merge.h"
#include "extension/kept/kept_worker.h"
#include "extension/server/boundary.h"
#include "extension/server/own_function.h"
#include "extension/server/own_statement.h"
#include "extension/server/subtransaction.h"
#include "extension/types/pair_counts_datum.h"

#include "extension/server/pg.h"

using namespace batmap;
using namespace batmap::pg;

namespace batmap::pg {

void raise_renamed(const char* table) {
  ereport(ERROR, (errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
                  errmsg("the companions of table \"%s\" were renamed during the statement", table), errhint("Try again.")));
  pg_unreachable();
}

void tie_companions(Oid table, const Companions& companions) {
  const ObjectAddress referenced = {RelationRelationId, table, 0};
  for (const Oid companion : {companions.rows, companions.counts, companions.log}) {
    const ObjectAddress depender = {RelationRelationId, companion, 0};
    if (tied_table(companion) != table) recordDependencyOn(&depender, &referenced, DEPENDENCY_AUTO);
  }
}

void empty_companions(const KeptTable& kept) {
  AsOwner owner(kept.owner);
  SPI_connect();
  // Not by TRUNCATE: a name may be looked up again while it waits for a lock, and find a relation that is not a companion.
  List* relations = NIL;
  List* oids = NIL;
  List* replicated = NIL;
  for (const Oid companion : {kept.companions.counts, kept.companions.log}) {
    const Relation relation = table_open(companion, AccessExclusiveLock);
    if (relation->rd_rel->relowner != kept.owner) raise_renamed(get_rel_name(kept.table));
    CheckTableNotInUse(relation, "TRUNCATE");
    relations = lappend(relations, relation);
    oids = lappend_oid(oids, companion);
    if (RelationIsLogicallyLogged(relation)) replicated = lappend_oid(replicated, companion);
  }
  truncate_relations(relations, oids, replicated);
  const ListCell* cell;
  foreach (cell, relations) table_close(static_cast<Relation>(lfirst(cell)), NoLock);
  SPI_finish();
  owner.end();
  count_kept_rows(kept);  // another trigger may have written some already
}

}  // namespace batmap::pg

namespace {

constexpr const char* kFunctionName = "_batmap_keep_changes";

/// A column of the table by its name.
AttrNumber find_column(Relation table, const char* role, const char* name) {
  const AttrNumber column = get_attnum(RelationGetRelid(table), name);
  if (column > 0) return column;
  ereport(ERROR, (errcode(ERRCODE_UNDEFINED_COLUMN),
                  errmsg("%s column \"%s\" of table \"%s\" does not exist", role, name, RelationGetRelationName(table)),
                  errhint("Name a column of the table; expressions are not possible.")));
  pg_unreachable();
}

/// Transactions are told apart with the operators that stand in pg_catalog.
void check_tid_type(Oid type) {
  const HeapTuple tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(getBaseType(type)));
  if (!HeapTupleIsValid(tuple)) elog(ERROR, "cache lookup failed for type %u", type);
  const bool is_built_in = reinterpret_cast<Form_pg_type>(GETSTRUCT(tuple))->typnamespace == PG_CATALOG_NAMESPACE;
  ReleaseSysCache(tuple);
  const TypeCacheEntry* const operators = lookup_type_cache(type, TYPECACHE_EQ_OPR | TYPECACHE_LT_OPR);
  if (is_built_in && OidIsValid(operators->eq_opr) && OidIsValid(operators->lt_opr)) return;
  ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH), errmsg("tids of type %s cannot be kept", format_type_be(type)),
                  errhint("A tid is of a type that the server brings and can sort: an integer, a text, a uuid, a date.")));
}

/// Questions read the rows of single tids.
void check_index(Relation table, AttrNumber tid, const char* name) {
  if (has_index(table, tid)) return;
  ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                  errmsg("table \"%s\" has no index that begins with column \"%s\"", RelationGetRelationName(table), name),
                  errhint("CREATE INDEX ON %s (%s): kept counts read the rows of the transactions that changed.",
                          qualified_name(RelationGetRelid(table)), quote_identifier(name))));
}

/// The owner of the table makes a trigger on each partition.
void check_partitions(Relation table) {
  if (table->rd_rel->relkind != RELKIND_PARTITIONED_TABLE) return;
  const char* const owner = GetUserNameFromId(table->rd_rel->relowner, false);
  const ListCell* cell;
  foreach (cell, find_all_inheritors(RelationGetRelid(table), ShareRowExclusiveLock, nullptr)) {
    const Oid partition = lfirst_oid(cell);
    if (pg_class_aclcheck(partition, table->rd_rel->relowner, ACL_TRIGGER) == ACLCHECK_OK) continue;
    ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                    errmsg("partition \"%s\" of table \"%s\" is not of role \"%s\", who owns the table",
                           get_rel_name(partition), RelationGetRelationName(table), owner),
                    errhint("GRANT TRIGGER ON %s TO %s, or change the owner of the partition.", qualified_name(partition),
                            quote_identifier(owner))));
  }
}

bool has_subquery(Node* node, void* context) {
  if (node == nullptr) return false;
  return IsA(node, SubLink) || raw_expression_tree_walker(node, walker(has_subquery), context);
}

constexpr char kSelect[] = "SELECT ";

/// Lets a syntax error point into the filter.
void point_into_filter(void* filter) {
  const int position = geterrposition() - static_cast<int>(sizeof kSelect - 1);
  if (position <= 0) return;
  errposition(0);
  internalerrposition(position);
  internalerrquery(static_cast<const char*>(filter));
}

/// The filter must be one expression, because it becomes part of a statement.
void check_expression(char* filter) {
  ErrorContextCallback pointing{error_context_stack, point_into_filter, filter};
  error_context_stack = &pointing;
  const List* const statements = raw_parser(psprintf("%s%s", kSelect, filter), RAW_PARSE_DEFAULT);
  error_context_stack = pointing.previous;
  // A length says that there is a semicolon.
  const RawStmt* const raw = list_length(statements) == 1 ? linitial_node(RawStmt, statements) : nullptr;
  const auto* const select =
      raw != nullptr && raw->stmt_len == 0 && IsA(raw->stmt, SelectStmt) ? castNode(SelectStmt, raw->stmt) : nullptr;
  SelectStmt* const bare = makeNode(SelectStmt);  // has a list of columns and nothing else
  if (select != nullptr) bare->targetList = select->targetList;
  if (list_length(bare->targetList) != 1 || linitial_node(ResTarget, bare->targetList)->name != nullptr ||
      !equal(select, bare))
    ereport(ERROR, (errcode(ERRCODE_SYNTAX_ERROR), errmsg("filter \"%s\" is no condition", filter),
                    errhint("Write what would stand behind WHERE, for example filter => 'quantity > 0'.")));
  if (has_subquery(reinterpret_cast<Node*>(bare->targetList), nullptr))
    ereport(ERROR,
            (errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("filter \"%s\" has a subquery", filter),
             errdetail("Counts are kept for rows of one table alone: a change of another one would not be noticed.")));
}

/// A new relation in the schema of the table.
struct NewRelation {
  NewRelation(Oid table, const char* what)
      : schema(get_rel_namespace(table)),
        name(ChooseRelationName(get_rel_name(table), nullptr, what, schema, false)),
        qualified(quote_qualified_identifier(get_namespace_name(schema), name)) {}

  Oid oid() const { return get_relname_relid(name, schema); }

  Oid schema;
  const char* name;
  const char* qualified;
};

struct KeepCall {
  const char* tid;
  const char* item;
  char* filter;  // nullptr: none
};

/// Default privileges of the owner are meant for other tables: they may give away what the kept table keeps.
void revoke_defaults(Oid companion) {
  run_statement(
      psprintf("SELECT DISTINCT a.grantee FROM pg_catalog.pg_class c, pg_catalog.aclexplode(c.relacl) a "
               "WHERE c.oid OPERATOR(pg_catalog.=) %u AND a.grantee OPERATOR(pg_catalog.<>) c.relowner",
               companion));
  const uint64 count = SPI_processed;
  SPITupleTable* const grantees = SPI_tuptable;
  for (uint64 k = 0; k < count; ++k) {
    bool is_null;
    const Oid grantee = DatumGetObjectId(SPI_getbinval(grantees->vals[k], grantees->tupdesc, 1, &is_null));
    run_statement(psprintf("REVOKE ALL ON %s FROM %s", qualified_name(companion),
                           OidIsValid(grantee) ? quote_identifier(GetUserNameFromId(grantee, false)) : "PUBLIC"));
  }
}

Companions make_companions(Oid table, const KeepCall& call, bool has_texts, Oid function) {
  const bool is_partitioned = get_rel_relkind(table) == RELKIND_PARTITIONED_TABLE;
  const char* const name = qualified_name(table);
  const char* const schema = schema_of_function(function);
  const NewRelation rows(table, "kept_rows");
  run_statement(psprintf("CREATE VIEW %s AS SELECT %s AS tid, %s AS item FROM %s%s%s%s", rows.qualified,
                         quote_identifier(call.tid), quote_identifier(call.item), name,
                         call.filter != nullptr ? " WHERE (" : "", call.filter != nullptr ? call.filter : "",
                         call.filter != nullptr ? "\n)" : ""));
  const NewRelation counts(table, "kept_counts");
  run_statement(psprintf(
      "CREATE TABLE %s (part pg_catalog.int2, low %s, counts %s.batmap_pair_counts NOT NULL, PRIMARY KEY (part, low))",
      counts.qualified, has_texts ? "pg_catalog.text COLLATE pg_catalog.\"C\"" : "pg_catalog.int8", schema));
  run_statement(psprintf("ALTER TABLE %s ALTER COLUMN counts SET STORAGE EXTERNAL", counts.qualified));
  const NewRelation log(table, "kept_log");
  run_statement(psprintf("CREATE TABLE %s AS SELECT tid, item, 0::pg_catalog.int2 AS change%s FROM %s WITH NO DATA",
                         log.qualified, is_partitioned ? ", 0::pg_catalog.oid AS partition" : "", rows.qualified));
  run_statement(psprintf("ALTER TABLE %s REPLICA IDENTITY FULL", log.qualified));
  run_statement(psprintf("COMMENT ON VIEW %s IS 'batmap: the rows whose counts are kept'", rows.qualified));
  run_statement(psprintf("COMMENT ON TABLE %s IS 'batmap: kept counts as of the last merge'", counts.qualified));
  run_statement(psprintf("COMMENT ON TABLE %s IS 'batmap: rows that came and went since the last merge'", log.qualified));
  const auto trigger = [&](const char* trigger_name, const char* event, const char* clauses) {
    run_statement(psprintf("CREATE TRIGGER %s AFTER %s ON %s %s EXECUTE FUNCTION %s.%s()", trigger_name, event, name,
                           clauses, schema, kFunctionName));
  };
  if (!is_partitioned) {
    trigger(kInsertTrigger, "INSERT", "REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT");
    trigger(kUpdateTrigger, "UPDATE", "REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT");
    trigger(kDeleteTrigger, "DELETE", "REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT");
    trigger(kTruncateTrigger, "TRUNCATE", "FOR EACH STATEMENT");
    trigger(kAloneTrigger, "INSERT", "REFERENCING NEW TABLE AS new_rows FOR EACH ROW WHEN (false)");
  }
  trigger(
      kRowTrigger, "INSERT OR UPDATE OR DELETE",
      psprintf("FOR EACH ROW WHEN (%s::pg_catalog.regclass IS NOT NULL AND %s::pg_catalog.regclass IS NOT NULL AND "
               "%s::pg_catalog.regclass IS NOT NULL)",
               quote_literal_cstr(rows.qualified), quote_literal_cstr(counts.qualified), quote_literal_cstr(log.qualified)));
  const auto enable = [&](const char* when, const char* trigger_name) {
    run_statement(psprintf("ALTER TABLE %s ENABLE %s TRIGGER %s", name, when, trigger_name));
  };
  enable(is_partitioned ? "ALWAYS" : "REPLICA", kRowTrigger);
  if (!is_partitioned) {
    enable("REPLICA", kAloneTrigger);
    enable("ALWAYS", kTruncateTrigger);
  }
  CommandCounterIncrement();
  const Companions companions = {rows.oid(), counts.oid(), log.oid()};
  if (!OidIsValid(companions.rows) || !OidIsValid(companions.counts) || !OidIsValid(companions.log))
    raise_renamed(get_rel_name(table));
  for (const Oid companion : {companions.rows, companions.counts, companions.log}) revoke_defaults(companion);
  return companions;
}

/// Adds the triggers that batmap_keep has made to what is to be dropped. Copies of them go with them. @return how many
int add_keep_triggers(Relation table, ObjectAddresses* objects) {
  int triggers = 0;
  for (int k = 0; table->trigdesc != nullptr && k < table->trigdesc->numtriggers; ++k) {
    const Trigger& trigger = table->trigdesc->triggers[k];
    const ObjectAddress address = {TriggerRelationId, trigger.tgoid, 0};
    if (trigger.tgisclone || !is_keep_trigger(trigger)) continue;
    add_exact_object_address(&address, objects);
    ++triggers;
  }
  return triggers;
}

/// Whether a relation is there that has the name of a companion.
bool has_leftovers(Relation table) {
  for (const char* const what : {"kept_rows", "kept_counts", "kept_log"}) {
    const char* const name = makeObjectName(RelationGetRelationName(table), nullptr, what);
    if (OidIsValid(get_relname_relid(name, RelationGetNamespace(table)))) return true;
  }
  return false;
}

int hint_at_leftovers(Relation table) {
  const char* const name = RelationGetRelationName(table);
  return errhint("Drop what is left of the view %s_kept_rows and of the tables %s_kept_counts and %s_kept_log.", name, name,
                 name);
}

bool lock_without_waiting(const Companions& companions) {
  for (const Oid companion : {companions.rows, companions.counts, companions.log})
    if (!ConditionalLockRelationOid(companion, AccessShareLock)) return false;
  return true;
}

constexpr int kKeptColumns = 6;

/// Fills the columns of batmap_kept_of. Does not wait for who holds one of the relations.
void describe_kept(Oid oid, Datum* values, bool* nulls) {
  const bool is_free = ConditionalLockRelationOid(oid, AccessShareLock);
  const Relation table = is_free ? try_relation_open(oid, NoLock) : nullptr;
  if (table == nullptr) return;
  const auto set = [&](int column, Datum value) {
    values[column] = value;
    nulls[column] = false;
  };
  Companions companions;
  if (find_companions(table, companions) && lock_without_waiting(companions)) {
    set(3, ObjectIdGetDatum(companions.rows));
    set(4, ObjectIdGetDatum(companions.counts));
    set(5, ObjectIdGetDatum(companions.log));
    const auto* const kept = find_kept_table_quietly(table);
    if (kept != nullptr && has_all_changes(*kept)) {
      set(0, DirectFunctionCall1(namein, CStringGetDatum(get_attname(oid, kept->tid, false))));
      set(1, DirectFunctionCall1(namein, CStringGetDatum(get_attname(oid, kept->item, false))));
      if (kept->filter != nullptr) {
        List* const context = deparse_context_for(RelationGetRelationName(table), oid);
        set(2, CStringGetTextDatum(deparse_expression(const_cast<Node*>(kept->filter), context, false, false)));
      }
    }
  }
  relation_close(table, NoLock);
}

}  // namespace

BATMAP_FUNCTION(batmap_keep) {
  PreventCommandDuringRecovery("batmap_keep()");
  for (int argument = 0; argument < 3; ++argument)
    if (PG_ARGISNULL(argument))
      ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("table, tid and item must not be NULL"),
                      errhint("batmap_keep('order_lines', tid => 'order_id', item => 'product_id')")));
  const Oid oid = PG_GETARG_OID(0);
  const KeepCall call = {NameStr(*PG_GETARG_NAME(1)), NameStr(*PG_GETARG_NAME(2)),
                         PG_ARGISNULL(3) ? nullptr : TextDatumGetCString(PG_GETARG_DATUM(3))};
  // No row may change between the count and the triggers.
  const Relation table = open_own_table(oid, ShareRowExclusiveLock);
  check_kind(table);
  Companions companions;
  if (find_companions(table, companions))
    ereport(ERROR, (errcode(ERRCODE_DUPLICATE_OBJECT),
                    errmsg("counts of table \"%s\" are kept already", RelationGetRelationName(table)),
                    errhint("Call batmap_unkeep first, to keep other columns.")));
  if (add_keep_triggers(table, new_object_addresses()) > 0)
    ereport(ERROR,
            (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
             errmsg("table \"%s\" has triggers of batmap_keep, but not its companions", RelationGetRelationName(table)),
             errhint("Call batmap_unkeep first: it drops the triggers.")));
  if (table->rd_rel->relrowsecurity)
    ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                    errmsg("table \"%s\" has row-level security", RelationGetRelationName(table)),
                    errdetail("Kept counts are of all rows, also of those that a policy hides."),
                    errhint("Give a query to the functions: they count the rows that a role may see.")));
  const AttrNumber tid = find_column(table, "tid", call.tid);
  const AttrNumber item = find_column(table, "item", call.item);
  const Oid item_type = TupleDescAttr(RelationGetDescr(table), item - 1)->atttypid;
  bool has_texts;
  if (!is_item_type(item_type, has_texts))
    ereport(
        ERROR,
        (errcode(ERRCODE_DATATYPE_MISMATCH), errmsg("items of type %s cannot be kept", format_type_be(item_type)),
         errhint("Items are int2, int4, int8, text, varchar or uuid. A stored generated column can cast others to text.")));
  check_tid_type(TupleDescAttr(RelationGetDescr(table), tid - 1)->atttypid);
  check_index(table, tid, call.tid);
  check_partitions(table);
  if (call.filter != nullptr) check_expression(call.filter);
  // The filter is read with the search_path of the caller, as the condition of an index is; all other names are qualified.
  AsOwner owner(table->rd_rel->relowner, false);
  relation_close(table, NoLock);  // ALTER TABLE refuses a table that is open
  SPI_connect();
  companions = make_companions(oid, call, has_texts, fcinfo->flinfo->fn_oid);
  tie_companions(oid, companions);
  CommandCounterIncrement();
  SPI_finish();
  owner.end();
  count_kept_rows(kept_table_to_change(oid));
  announce_kept_table();
  PG_RETURN_VOID();
}

BATMAP_FUNCTION(batmap_unkeep) {
  PreventCommandDuringRecovery("batmap_unkeep()");
  const Relation table = open_own_table(PG_GETARG_OID(0), AccessExclusiveLock);
  ObjectAddresses* const objects = new_object_addresses();
  Companions companions;
  bool is_copy = false;
  const bool is_kept = find_companions(table, companions, &is_copy);
  if (is_copy) check_kind(table);
  if (add_keep_triggers(table, objects) == 0)
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("counts of table \"%s\" are not kept", RelationGetRelationName(table)),
                    has_leftovers(table) ? hint_at_leftovers(table)
                                         : errhint("batmap_kept lists the tables whose counts are kept.")));
  if (!is_kept && !is_copy && has_leftovers(table))
    ereport(WARNING, (errmsg("the kept counts of table \"%s\" are not whole: only their triggers are dropped",
                             RelationGetRelationName(table)),
                      hint_at_leftovers(table)));
  const List* const relations =
      is_kept ? droppable_companions(table, companions, find_kept_table_quietly(table) != nullptr) : NIL;
  const ListCell* cell;
  foreach (cell, relations) {
    const ObjectAddress address = {RelationRelationId, lfirst_oid(cell), 0};
    if (owns_relation(address.objectId)) add_exact_object_address(&address, objects);
  }
  // The copies of the trigger go, too. Partitions are locked in the order of the server.
  if (table->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
    list_free(find_all_inheritors(RelationGetRelid(table), AccessExclusiveLock, nullptr));
  relation_close(table, NoLock);
  performMultipleDeletions(objects, DROP_RESTRICT, 0);
  PG_RETURN_VOID();
}

// What the catalog says about a kept table. The first columns are NULL if it is not in order, all if one of the relations is
// locked. Who looks at all kept tables must not keep others from changing one.
BATMAP_FUNCTION(batmap_kept_of) {
  TupleDesc columns;
  if (get_call_result_type(fcinfo, nullptr, &columns) != TYPEFUNC_COMPOSITE) elog(ERROR, "return type must be a row type");
  columns = BlessTupleDesc(columns);
  Datum values[kKeptColumns] = {};
  bool nulls[kKeptColumns] = {true, true, true, true, true, true};
  without_traces([&] { describe_kept(PG_GETARG_OID(0), values, nulls); });
  PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(columns, values, nulls)));
}
