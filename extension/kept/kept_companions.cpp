// Checks companions by the catalog. See kept_companions.h.
#include "extension/kept/kept_companions.h"

#include <cstring>

#include "extension/server/own_function.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

Oid owner_of(Oid relation) {
  const HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relation));
  if (!HeapTupleIsValid(tuple)) return InvalidOid;
  const Oid owner = reinterpret_cast<Form_pg_class>(GETSTRUCT(tuple))->relowner;
  ReleaseSysCache(tuple);
  return owner;
}

/// The columns of pg_depend by which an index finds a relation.
struct DependencySide {
  Oid index;
  AttrNumber class_column;
  AttrNumber object_column;
};
constexpr DependencySide kDepends = {DependDependerIndexId, Anum_pg_depend_classid, Anum_pg_depend_objid};
constexpr DependencySide kIsDependedOn = {DependReferenceIndexId, Anum_pg_depend_refclassid, Anum_pg_depend_refobjid};

/// Calls visit(row) for the rows of pg_depend that have a relation on this side.
template <typename Visit>
void visit_dependencies(const DependencySide& side, Oid relation, Visit visit) {
  const Relation depend = table_open(DependRelationId, AccessShareLock);
  ScanKeyData keys[2];
  ScanKeyInit(&keys[0], side.class_column, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(RelationRelationId));
  ScanKeyInit(&keys[1], side.object_column, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(relation));
  const SysScanDesc scan = systable_beginscan(depend, side.index, true, nullptr, 2, keys);
  while (const HeapTuple tuple = systable_getnext(scan)) visit(*reinterpret_cast<Form_pg_depend>(GETSTRUCT(tuple)));
  systable_endscan(scan);
  table_close(depend, AccessShareLock);
}

/// The row trigger of a kept table of an owner, the copy that a partition has of one, or another one: anybody may name a companion
/// in the condition of a trigger of his own.
enum class TriggerKind { kRow, kCopy, kOther };

TriggerKind kind_of(Oid trigger, Oid owner) {
  ScanKeyData key;
  ScanKeyInit(&key, Anum_pg_trigger_oid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(trigger));
  const Relation triggers = table_open(TriggerRelationId, AccessShareLock);
  const SysScanDesc scan = systable_beginscan(triggers, TriggerOidIndexId, true, nullptr, 1, &key);
  const HeapTuple tuple = systable_getnext(scan);
  TriggerKind kind = TriggerKind::kOther;
  if (HeapTupleIsValid(tuple)) {
    const auto* const form = reinterpret_cast<Form_pg_trigger>(GETSTRUCT(tuple));
    const bool is_own = strcmp(NameStr(form->tgname), kRowTrigger) == 0 &&
                        is_function(form->tgfoid, "batmap_keep_changes") && owner_of(form->tgrelid) == owner;
    kind = OidIsValid(form->tgparentid) ? TriggerKind::kCopy : is_own ? TriggerKind::kRow : TriggerKind::kOther;
  }
  systable_endscan(scan);
  table_close(triggers, AccessShareLock);
  return kind;
}

/// The triggers that name a relation in their conditions, but for the copies of partitions.
struct NamingTriggers {
  int row_triggers;  // those of kept tables of its owner
  int others;
};

NamingTriggers naming_triggers(Oid relation) {
  const Oid owner = owner_of(relation);
  NamingTriggers triggers{};
  visit_dependencies(kIsDependedOn, relation, [&](const FormData_pg_depend& row) {
    if (row.classid != TriggerRelationId) return;
    const TriggerKind kind = kind_of(row.objid, owner);
    triggers.row_triggers += kind == TriggerKind::kRow;
    triggers.others += kind == TriggerKind::kOther;
  });
  return triggers;
}

/// Whether a relation looks like a companion, whatever its table is.
bool has_columns(Oid oid, char kind, std::initializer_list<const char*> names) {
  if (get_rel_relkind(oid) != kind) return false;
  AttrNumber number = 0;
  for (const char* const name : names) {
    const char* const column = get_attname(oid, ++number, true);
    if (column == nullptr || strcmp(column, name) != 0) return false;
  }
  if (get_attname(oid, ++number, true) != nullptr) return false;
  return true;
}

/// Whether something of its owner happens when rows are written, or decides that they are not.
bool has_rules_or_triggers(Relation relation) {
  if (relation->rd_rules != nullptr) return true;
  const TriggerDesc* const triggers = relation->trigdesc;
  for (int k = 0; triggers != nullptr && k < triggers->numtriggers; ++k)
    if (!triggers->triggers[k].tgisinternal) return true;
  return false;
}

}  // namespace

Oid tied_table(Oid relation) {
  Oid table = InvalidOid;
  visit_dependencies(kDepends, relation, [&](const FormData_pg_depend& row) {
    if (row.refclassid == RelationRelationId && row.refobjsubid == 0 && row.deptype == DEPENDENCY_AUTO) table = row.refobjid;
  });
  return table;
}

void refuse_companion(Oid companion, Oid table, const char* reason, const char* hint) {
  const char* const name = get_rel_name(companion);
  ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                  errmsg("\"%s\" is no companion of table \"%s\": %s", name != nullptr ? name : "(dropped)",
                         get_rel_name(table), reason),
                  errhint("%s", hint)));
  pg_unreachable();
}

/// Opens a companion and checks that it is what batmap_keep makes. Until the end of the transaction nobody else changes it.
Relation open_companion(Oid companion, Relation table, char kind, std::initializer_list<ColumnType> columns) {
  const Relation relation = try_relation_open(companion, AccessShareLock);
  const Oid table_oid = RelationGetRelid(table);
  if (relation == nullptr) refuse_companion(companion, table_oid, "it is not there");
  if (relation->rd_rel->relkind != kind) refuse_companion(companion, table_oid, "it is of another kind");
  if (relation->rd_rel->relowner != table->rd_rel->relowner)
    refuse_companion(companion, table_oid, "it has another owner than the table",
                     psprintf("Give all three companions that of the table: ALTER %s %s OWNER TO %s, and so on.",
                              kind == RELKIND_VIEW ? "VIEW" : "TABLE",
                              quote_qualified_identifier(get_namespace_name(RelationGetNamespace(relation)),
                                                         RelationGetRelationName(relation)),
                              quote_identifier(GetUserNameFromId(table->rd_rel->relowner, false))));
  // What comes from a dump is not tied to the table before the first merge.
  const Oid tied = tied_table(companion);
  if (OidIsValid(tied) ? tied != table_oid : naming_triggers(companion).row_triggers != 1)
    refuse_companion(companion, table_oid, "it may belong to another table");
  if (relation->rd_rel->relpersistence != RELPERSISTENCE_PERMANENT)
    refuse_companion(companion, table_oid,
                     relation->rd_rel->relpersistence == RELPERSISTENCE_TEMP ? "it is temporary"
                                                                             : "it is unlogged, so a crash would empty it");
  if (relation->rd_rel->relrowsecurity && relation->rd_rel->relforcerowsecurity)
    refuse_companion(companion, table_oid, "row-level security applies to its owner",
                     "ALTER TABLE ... NO FORCE ROW LEVEL SECURITY.");
  if (relation->rd_rel->relhassubclass && find_inheritance_children(companion, NoLock) != NIL)
    refuse_companion(companion, table_oid, "it has children", "ALTER TABLE ... NO INHERIT, or DROP TABLE of the children.");
  if (kind == RELKIND_RELATION && has_rules_or_triggers(relation))
    refuse_companion(companion, table_oid, "it has triggers or rules", "Drop them.");
  const TupleDesc has = RelationGetDescr(relation);
  bool same = has->natts == static_cast<int>(columns.size());
  int index = 0;
  for (const ColumnType& column : columns) {
    if (!same) break;
    const Form_pg_attribute is = TupleDescAttr(has, index++);
    same = !is->attisdropped && strcmp(NameStr(is->attname), column.name) == 0 &&
           (!OidIsValid(column.type) || is->atttypid == column.type);
  }
  if (!same) refuse_companion(companion, table_oid, "it has other columns than it must");
  return relation;
}

List* droppable_companions(Relation table, const Companions& companions, bool in_order) {
  List* found = NIL;
  const auto add = [&](Oid companion, char kind, std::initializer_list<const char*> columns) {
    const NamingTriggers triggers = naming_triggers(companion);
    if (has_columns(companion, kind, columns) && triggers.row_triggers == 1 && triggers.others == 0 &&
        (in_order || tied_table(companion) == RelationGetRelid(table)))
      found = lappend_oid(found, companion);
  };
  add(companions.rows, RELKIND_VIEW, {"tid", "item"});
  add(companions.counts, RELKIND_RELATION, {"part", "low", "counts"});
  if (table->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
    add(companions.log, RELKIND_RELATION, {"tid", "item", "change", "partition"});
  else
    add(companions.log, RELKIND_RELATION, {"tid", "item", "change"});
  return found;
}

}  // namespace batmap::pg
