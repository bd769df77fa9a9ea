// Changes that are not in the log yet. See kept_unlogged.h.
#include "extension/kept/kept_unlogged.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

FullTransactionId logging_transaction;  // the last one of this session that wrote to a log
CommandId last_logged;                  // its command that did

}  // namespace

bool is_being_changed(Relation relation, int own) {
  const Oid oid = RelationGetRelid(relation);
  if (!CheckRelationLockedByMe(relation, RowExclusiveLock, true)) return false;
  // Its executor has the table open, or it has events of triggers left.
  return relation->rd_refcnt > own || AfterTriggerPendingOnRel(oid);
}

bool is_being_changed(const KeptTable& kept) {
  List* const relations =
      kept.is_partitioned ? find_all_inheritors(kept.table, NoLock, nullptr) : list_make1_oid(kept.table);
  const ListCell* cell;
  foreach (cell, relations) {
    const Relation relation = try_relation_open(lfirst_oid(cell), AccessShareLock);
    if (relation == nullptr) continue;  // a partition that was dropped meanwhile
    const bool is_changed = is_being_changed(relation, 1);
    relation_close(relation, AccessShareLock);
    if (is_changed) return true;
  }
  return false;
}

void note_logged_rows() {
  logging_transaction = GetTopFullTransactionId();
  last_logged = GetCurrentCommandId(false);
}

bool may_miss_log(Snapshot snapshot) {
  return FullTransactionIdIsValid(logging_transaction) &&
         FullTransactionIdEquals(logging_transaction, GetTopFullTransactionIdIfAny()) && snapshot->curcid <= last_logged;
}

}  // namespace batmap::pg
