// Reads partitions and their triggers. See kept_partitions.h.
#include "extension/kept/kept_partitions.h"

#include <algorithm>
#include <cstring>

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

void add_partition(const Partition& partition, Partitions& partitions) {
  constexpr int kFirst = 16;
  const int count = partitions.count++;
  if (count == 0) partitions.all = static_cast<Partition*>(palloc(kFirst * sizeof(Partition)));
  const bool is_full = count >= kFirst && (count & (count - 1)) == 0;
  if (is_full) partitions.all = static_cast<Partition*>(repalloc(partitions.all, size_t{2} * count * sizeof(Partition)));
  partitions.all[count] = partition;
}

/// @param oid  a partition that is not partitioned itself
void add_leaf(Oid oid, Partitions& partitions) {
  const Relation partition = relation_open(oid, NoLock);
  const char* reason = reason_against(partition);
  bool has_row_trigger = false;
  const int triggers = partition->trigdesc == nullptr ? 0 : partition->trigdesc->numtriggers;
  for (int k = 0; k < triggers; ++k) {
    const Trigger& trigger = partition->trigdesc->triggers[k];
    if (!trigger.tgisclone || strcmp(trigger.tgname, kRowTrigger) != 0) continue;
    const Oid trigger_oid = trigger.tgoid;
    const bool fires_here = fires(trigger, true);
    // A look into the catalog may read the triggers anew.
    if (!is_keep_trigger(trigger)) continue;
    if (!fires_here && reason == nullptr) reason = "without a trigger that fires";
    add_partition({trigger_oid, partition->rd_rel->relfilenode, has_new_file(partition)}, partitions);
    has_row_trigger = true;
  }
  if (!has_row_trigger && reason == nullptr) reason = "without the trigger of rows";
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

/// A table that is not partitioned. Where TRUNCATE empties a new file and keeps it, the table's trigger of TRUNCATE counts again.
Partition only_partition(const KeptTable& kept) {
  const Relation table = relation_open(kept.table, NoLock);
  const Oid file = table->rd_rel->relfilenode;
  Oid row_trigger = InvalidOid;
  for (int k = 0; table->trigdesc != nullptr && k < table->trigdesc->numtriggers; ++k) {
    const Trigger& trigger = table->trigdesc->triggers[k];
    if (strcmp(trigger.tgname, kRowTrigger) == 0) row_trigger = trigger.tgoid;
  }
  relation_close(table, NoLock);
  return {.trigger = row_trigger, .file = file, .is_new_file = false};
}

}  // namespace

Partitions read_partitions(const KeptTable& kept) {
  Partitions partitions;
  if (!kept.is_partitioned) {
    add_partition(only_partition(kept), partitions);
    return partitions;
  }
  add_children(kept.table, partitions);
  std::sort(partitions.all, partitions.all + partitions.count,
            [](const Partition& x, const Partition& y) { return x.trigger < y.trigger; });
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
  return x.reason == nullptr && y.reason == nullptr &&
         std::equal(x.all, x.all + x.count, y.all, y.all + y.count, [](const Partition& one, const Partition& other) {
           return one.trigger == other.trigger && one.file == other.file;
         });
}

bool has_partition(const Partitions& partitions, Oid trigger) {
  return std::any_of(partitions.all, partitions.all + partitions.count,
                     [&](const Partition& partition) { return partition.trigger == trigger; });
}

int64 partition_key(Oid trigger, Oid file) { return static_cast<int64>((uint64{trigger} << 32) | file); }

}  // namespace batmap::pg
