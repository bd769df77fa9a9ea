// Reads partitions and their triggers. See kept_partitions.h.
#include "extension/functions/kept_partitions.h"

#include <cstring>

#include "extension/functions/kept_setup.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

/// Why changes of a partition are not all seen. @return nullptr: they are
const char* reason_against(Relation partition) {
  if (partition->rd_rel->relkind == RELKIND_FOREIGN_TABLE) return "a foreign table";
  if (partition->rd_rel->relkind != RELKIND_RELATION) return "no table";
  if (partition->rd_rel->relpersistence == RELPERSISTENCE_UNLOGGED) return "unlogged";
  if (partition->rd_rel->relpersistence == RELPERSISTENCE_TEMP) return "temporary";
  return nullptr;
}

void refuse_partition(Partitions& partitions, Oid partition, const char* reason) {
  if (partitions.reason != nullptr) return;
  partitions.misfit = partition;
  partitions.reason = reason;
}

/// @param oid  a partition that is not partitioned itself
void add_leaf(Oid oid, Partitions& partitions) {
  const Relation partition = relation_open(oid, NoLock);
  const char* reason = reason_against(partition);
  bool has_row_trigger = false;
  bool has_truncate_trigger = false;
  const int triggers = partition->trigdesc == nullptr ? 0 : partition->trigdesc->numtriggers;
  for (int k = 0; k < triggers; ++k) {
    const Trigger& trigger = partition->trigdesc->triggers[k];
    const bool is_row_trigger = trigger.tgisclone && strcmp(trigger.tgname, kRowTrigger) == 0;
    const bool is_truncate_trigger = strcmp(trigger.tgname, kTruncateTrigger) == 0;
    if (!is_row_trigger && !is_truncate_trigger) continue;
    const Oid trigger_oid = trigger.tgoid;
    const bool fires_here = fires(trigger, true);
    // A look into the catalog may read the triggers anew.
    if (!is_keep_trigger(trigger)) continue;
    if (!fires_here && reason == nullptr) reason = "without a trigger that fires";
    if (is_row_trigger) partitions.triggers = lappend_oid(partitions.triggers, trigger_oid);
    has_row_trigger |= is_row_trigger;
    has_truncate_trigger |= is_truncate_trigger;
  }
  if (!has_row_trigger && reason == nullptr) reason = "without the trigger of rows";
  if (!has_truncate_trigger) partitions.untouched = lappend_oid(partitions.untouched, oid);
  if (reason != nullptr) refuse_partition(partitions, oid, reason);
  relation_close(partition, NoLock);
}

void add_children(Oid parent, Partitions& partitions) {
  check_stack_depth();
  CHECK_FOR_INTERRUPTS();
  bool is_detaching = false;
  const ListCell* cell;
  foreach (cell, find_inheritance_children_extended(parent, false, AccessShareLock, &is_detaching, nullptr)) {
    const Oid child = lfirst_oid(cell);
    if (get_rel_relkind(child) == RELKIND_PARTITIONED_TABLE)
      add_children(child, partitions);
    else
      add_leaf(child, partitions);
  }
  if (is_detaching) refuse_partition(partitions, parent, "losing a partition, by DETACH PARTITION CONCURRENTLY");
}

}  // namespace

Partitions read_partitions(const KeptTable& kept) {
  Partitions partitions;
  add_children(kept.table, partitions);
  list_sort(partitions.triggers, list_oid_cmp);
  return partitions;
}

Partitions partitions_to_keep(const KeptTable& kept) {
  const Partitions partitions = read_partitions(kept);
  if (partitions.reason != nullptr)
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("counts of table \"%s\" cannot be kept: its partition \"%s\" is %s", get_rel_name(kept.table),
                           get_rel_name(partitions.misfit), partitions.reason),
                    errdetail("Its rows could change without a trigger."),
                    errhint("Mend the partition or detach it. Until then questions count the rows.")));
  return partitions;
}

bool are_same(const Partitions& x, const Partitions& y) {
  return x.reason == nullptr && y.reason == nullptr && equal(x.triggers, y.triggers);
}

void make_partition_triggers(const KeptTable& kept, const Partitions& partitions) {
  const ListCell* cell;
  foreach (cell, partitions.untouched) {
    const char* const name = qualified_name(lfirst_oid(cell));
    run_statement(psprintf("CREATE OR REPLACE TRIGGER %s AFTER TRUNCATE ON %s EXECUTE FUNCTION %s._batmap_keep_changes()",
                           kTruncateTrigger, name, extension_schema(kept)));
    run_statement(psprintf("ALTER TABLE %s ENABLE ALWAYS TRIGGER %s", name, kTruncateTrigger));
  }
  CommandCounterIncrement();
}

const char* extension_schema(const KeptTable& kept) {
  const HeapTuple tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(kept.counts_type));
  if (!HeapTupleIsValid(tuple)) elog(ERROR, "cache lookup failed for type %u", kept.counts_type);
  const Oid schema = reinterpret_cast<Form_pg_type>(GETSTRUCT(tuple))->typnamespace;
  ReleaseSysCache(tuple);
  return quote_identifier(get_namespace_name(schema));
}

}  // namespace batmap::pg
