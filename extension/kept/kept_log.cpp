// The trigger function of kept tables: appends the rows that came and went to the log.
//
// Statement triggers read the transition tables of the statement. They write with the table access method, without a query,
// because a query would cost several times what the insert of a row costs. Rights on the log are not needed: it is
// the companion of the very table that the trigger fires for. Row triggers do the same where changes are replicated
// (session_replication_role = replica), because the apply process of logical replication fires no statement triggers; and, on the
// partitions of a partitioned table, everywhere.
// The filter is evaluated as the owner of the table, in a restricted context.
#include <cstring>
#include <initializer_list>
#include <optional>

#include "extension/kept/kept_access.h"
#include "extension/kept/kept_setup.h"
#include "extension/kept/kept_table.h"
#include "extension/kept/kept_unlogged.h"

#include "extension/server/pg.h"

using namespace batmap;
using namespace batmap::pg;

namespace {

constexpr int kBatch = 64;
constexpr Size kBatchBytes = 65536;  // as COPY

/// The filter of a table, ready to be asked. What happens before end() happens as the owner of the table.
class Filter {
 public:
  explicit Filter(const KeptTable& kept) {
    if (kept.filter == nullptr) return;
    owner_.emplace(kept);  // constants are computed now
    state_ = CreateExecutorState();
    const MemoryContext caller = MemoryContextSwitchTo(state_->es_query_cxt);
    filter_ = ExecPrepareQual(make_ands_implicit(castNode(Expr, copyObjectImpl(kept.filter))), state_);
    MemoryContextSwitchTo(caller);
  }
  void end() {
    if (state_ == nullptr) return;
    FreeExecutorState(state_);
    owner_->end();
  }

  bool passes(TupleTableSlot* row) {
    if (filter_ == nullptr) return true;
    ExprContext* const context = GetPerTupleExprContext(state_);
    ResetExprContext(context);
    context->ecxt_scantuple = row;
    return ExecQual(filter_, context);
  }

 private:
  std::optional<AsOwner> owner_;
  EState* state_ = nullptr;
  ExprState* filter_ = nullptr;
};

/// Appends rows to the log, several at a time.
class LogWriter {
 public:
  /// @param partition  what stands for it in the log of a partitioned table
  explicit LogWriter(const KeptTable& kept, Oid partition = InvalidOid)
      : kept_(kept), partition_(partition), log_(table_open(kept.companions.log, RowExclusiveLock)) {}

  /// @param row  of the table, with tid and item read
  void append(TupleTableSlot* row, int16 change) {
    if (count_ == made_) slots_[made_++] = table_slot_create(log_, nullptr);
    TupleTableSlot* const slot = slots_[count_++];
    ExecClearTuple(slot);
    slot->tts_values[0] = row->tts_values[kept_.tid - 1];
    slot->tts_values[1] = row->tts_values[kept_.item - 1];
    slot->tts_values[2] = Int16GetDatum(change);
    slot->tts_isnull[0] = slot->tts_isnull[1] = slot->tts_isnull[2] = false;
    if (kept_.is_partitioned) {
      slot->tts_values[3] = ObjectIdGetDatum(partition_);
      slot->tts_isnull[3] = false;
    }
    ExecStoreVirtualTuple(slot);
    bytes_ += bytes_of(slot, 0) + bytes_of(slot, 1);
    ExecMaterializeSlot(slot);  // the row is gone when the next one is read
    if (count_ == kBatch || bytes_ > kBatchBytes) flush();
  }

  void end() {
    flush();
    for (int k = 0; k < made_; ++k) ExecDropSingleTupleTableSlot(slots_[k]);
    if (bulk_ != nullptr) {
      table_finish_bulk_insert(log_, 0);
      FreeBulkInsertState(bulk_);
    }
    table_close(log_, NoLock);
  }

 private:
  Size bytes_of(const TupleTableSlot* slot, int column) const {
    return TupleDescAttr(RelationGetDescr(log_), column)->attlen == -1
               ? VARSIZE_ANY(DatumGetPointer(slot->tts_values[column]))
               : 0;
  }

  void flush() {
    if (count_ == 0) return;
    if (count_ == 1) {
      table_tuple_insert(log_, slots_[0], GetCurrentCommandId(true), 0, nullptr);
    } else {
      if (bulk_ == nullptr) bulk_ = GetBulkInsertState();
      table_multi_insert(log_, slots_, count_, GetCurrentCommandId(true), 0, bulk_);
    }
    note_logged_rows();
    for (int k = 0; k < count_; ++k) ExecClearTuple(slots_[k]);
    count_ = 0;
    bytes_ = 0;
  }

  const KeptTable& kept_;
  Oid partition_;
  Relation log_;
  BulkInsertState bulk_ = nullptr;
  TupleTableSlot* slots_[kBatch];
  int made_ = 0;
  int count_ = 0;
  Size bytes_ = 0;
};

/// The rows of a transition table.
class TransitionRows {
 public:
  TransitionRows(Tuplestorestate* rows, Relation table) : rows_(rows) {
    if (rows == nullptr) return;
    // Other triggers read the same rows.
    pointer_ = tuplestore_alloc_read_pointer(rows, EXEC_FLAG_REWIND);
    tuplestore_select_read_pointer(rows, pointer_);
    tuplestore_rescan(rows);
    slot_ = MakeSingleTupleTableSlot(RelationGetDescr(table), &TTSOpsMinimalTuple);
  }
  void end() {
    if (slot_ != nullptr) ExecDropSingleTupleTableSlot(slot_);
  }

  /// @return nullptr after the last row
  TupleTableSlot* next() {
    if (rows_ == nullptr) return nullptr;
    tuplestore_select_read_pointer(rows_, pointer_);
    return tuplestore_gettupleslot(rows_, true, false, slot_) ? slot_ : nullptr;
  }

 private:
  Tuplestorestate* rows_;
  int pointer_ = 0;
  TupleTableSlot* slot_ = nullptr;
};

/// Whether a row is counted: it has a tid and an item, and passes the filter.
bool is_counted(const KeptTable& kept, Filter& filter, TupleTableSlot* row) {
  slot_getsomeattrs(row, Max(kept.tid, kept.item));
  return !row->tts_isnull[kept.tid - 1] && !row->tts_isnull[kept.item - 1] && filter.passes(row);
}

bool is_same(const KeptTable& kept, TupleTableSlot* x, TupleTableSlot* y) {
  for (const AttrNumber column : {kept.tid, kept.item}) {
    const Form_pg_attribute type = TupleDescAttr(x->tts_tupleDescriptor, column - 1);
    if (!datumIsEqual(x->tts_values[column - 1], y->tts_values[column - 1], type->attbyval, type->attlen)) return false;
  }
  return true;
}

void log_change(const KeptTable& kept, Filter& filter, LogWriter& log, TupleTableSlot* before, TupleTableSlot* after) {
  const bool was = before != nullptr && is_counted(kept, filter, before);
  const bool is = after != nullptr && is_counted(kept, filter, after);
  // An update of other columns changes nothing.
  if (was && is && is_same(kept, before, after)) return;
  if (was) log.append(before, -1);
  if (is) log.append(after, 1);
}

void log_changes(const KeptTable& kept, const TriggerData* trigger) {
  // The rows of an update stand in the same order in both tables.
  TransitionRows before(trigger->tg_oldtable, trigger->tg_relation);
  TransitionRows after(trigger->tg_newtable, trigger->tg_relation);
  TupleTableSlot* old_row = before.next();
  TupleTableSlot* new_row = after.next();
  if (old_row != nullptr || new_row != nullptr) {
    Filter filter(kept);
    LogWriter log(kept);
    for (; old_row != nullptr || new_row != nullptr; old_row = before.next(), new_row = after.next()) {
      CHECK_FOR_INTERRUPTS();
      log_change(kept, filter, log, old_row, new_row);
    }
    log.end();
    filter.end();
  }
  before.end();
  after.end();
}

void log_row(const KeptTable& kept, const TriggerData* trigger) {
  const bool is_update = TRIGGER_FIRED_BY_UPDATE(trigger->tg_event);
  const bool is_insert = TRIGGER_FIRED_BY_INSERT(trigger->tg_event);
  Filter filter(kept);
  LogWriter log(kept, trigger->tg_trigger->tgoid);
  log_change(kept, filter, log, is_insert ? nullptr : trigger->tg_trigslot,
             is_update   ? trigger->tg_newslot
             : is_insert ? trigger->tg_trigslot
                         : nullptr);
  log.end();
  filter.end();
}

/// Whether a trigger is the one that batmap_keep has made for its event. A role with the right TRIGGER could make others.
bool has_own_name(const TriggerData* trigger) {
  const char* const name = trigger->tg_trigger->tgname;
  if (TRIGGER_FIRED_FOR_ROW(trigger->tg_event)) return strcmp(name, kRowTrigger) == 0;
  if (TRIGGER_FIRED_BY_INSERT(trigger->tg_event)) return strcmp(name, kInsertTrigger) == 0;
  if (TRIGGER_FIRED_BY_UPDATE(trigger->tg_event)) return strcmp(name, kUpdateTrigger) == 0;
  if (TRIGGER_FIRED_BY_DELETE(trigger->tg_event)) return strcmp(name, kDeleteTrigger) == 0;
  return strcmp(name, kTruncateTrigger) == 0;
}

[[noreturn]] void raise_not_made(const char* trigger) {
  ereport(ERROR,
          (errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED), errmsg("trigger \"%s\" was not made by batmap_keep", trigger),
           errhint("If it was renamed, give it its name again; else drop it, and call batmap_keep.")));
  pg_unreachable();
}

}  // namespace

BATMAP_FUNCTION(batmap_keep_changes) {
  if (!CALLED_AS_TRIGGER(fcinfo))
    ereport(ERROR, (errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED), errmsg("_batmap_keep_changes is a trigger function"),
                    errhint("batmap_keep makes the triggers.")));
  const auto* const trigger = reinterpret_cast<const TriggerData*>(fcinfo->context);
  if (!TRIGGER_FIRED_AFTER(trigger->tg_event) || !has_own_name(trigger)) raise_not_made(trigger->tg_trigger->tgname);
  const KeptTable* const found = find_kept_table(trigger->tg_relation);
  if (found == nullptr) {
    const char* const renamed = renamed_row_trigger(trigger->tg_relation);
    if (renamed != nullptr) raise_not_made(renamed);
    // What a trigger returns is a pointer, also if it is none.
    PG_RETURN_POINTER(NULL);  // its companions are gone
  }
  const KeptTable kept = *found;
  if (!TRIGGER_FIRED_BY_INSERT(trigger->tg_event) && !TRIGGER_FIRED_BY_TRUNCATE(trigger->tg_event))
    check_children(trigger->tg_relation);
  const bool is_replica = SessionReplicationRole == SESSION_REPLICATION_ROLE_REPLICA;
  if (IsLogicalWorker() && is_subscribed(kept.companions)) PG_RETURN_POINTER(NULL);  // the log comes from the publisher
  if (TRIGGER_FIRED_BY_TRUNCATE(trigger->tg_event) && !kept.is_partitioned)
    empty_companions(kept);
  else if (TRIGGER_FIRED_FOR_ROW(trigger->tg_event) && (kept.is_partitioned || is_replica))
    log_row(kept, trigger);
  else if (TRIGGER_FIRED_FOR_STATEMENT(trigger->tg_event) && !kept.is_partitioned && !is_replica)
    log_changes(kept, trigger);
  PG_RETURN_POINTER(NULL);
}
