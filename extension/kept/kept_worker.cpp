// The launcher of merges and its workers. See kept_worker.h.
#include "extension/kept/kept_worker.h"

#include <algorithm>
#include <iterator>

#include "extension/kept/kept_merge.h"
#include "extension/kept/kept_setup.h"
#include "extension/server/background_worker.h"
#include "extension/server/own_statement.h"
#include "extension/server/settings.h"
#include "extension/server/shared_memory.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

constexpr int kRestartSeconds = 5;  // after the launcher has ended
constexpr int kMaxBackOff = 64;     // intervals between two tries in a database in which all merges fail
constexpr int kRareVisits = 10;     // intervals between two looks at a database in which no counts are kept
constexpr int kPatience = 5;        // intervals until the launcher goes on while a worker merges
constexpr int kMaxWorkers = 3;      // at a time
constexpr int kMaxMerge = 10;       // intervals that the merges of one owner may take in a visit, and that of one table
constexpr int kMaxSlowOwners = 24;  // that are remembered of a database
constexpr const char* kLockTimeout = "1s";
constexpr int kInvalidDatabase = -2;  // pg_database.datconnlimit, after a DROP DATABASE that was interrupted

/// Owners whose merges took too long.
struct SlowOwners {
  Oid owners[kMaxSlowOwners];
  int count;

  bool has(Oid owner) const { return std::find(owners, owners + count, owner) != owners + count; }
  void add(Oid owner) {
    if (!OidIsValid(owner) || has(owner)) return;
    if (count == kMaxSlowOwners) std::copy(owners + 1, owners + count--, owners);  // forgets the oldest
    owners[count++] = owner;
  }
};

/// What a worker says while it merges.
struct Report {
  uint32 visit;      // its number: a worker that a launcher has left behind does not write into the report of another one
  bool is_complete;  // the worker has come to all tables
  bool has_kept_tables;
  bool has_merged;
  bool has_failed;
  Oid owner;          // of the table that is merged
  TimestampTz since;  // when this began; 0: none is
  SlowOwners slow;    // of this visit
};

/// What a worker is told.
struct Order {
  int number;  // of its report
  uint32 visit;
  SlowOwners slow;  // their tables come last
};
static_assert(sizeof(Order) <= BGW_EXTRALEN);

/// What launcher, workers and sessions tell each other.
struct Shared {
  slock_t lock;
  uint32 announcements;  // kept tables that were made
  uint32 visits;
  Report reports[kMaxWorkers];
};

Shared* shared;

Size shared_bytes() { return sizeof(Shared); }

void attach_shared(void* memory, bool is_new) {
  shared = static_cast<Shared*>(memory);
  if (!is_new) return;
  *shared = {};
  SpinLockInit(&shared->lock);
}

constexpr SharedPart kSharedPart = {"batmap merges", shared_bytes, attach_shared};

// ---- sessions

bool has_news = false;  // the transaction has made a kept table
bool watches_commits = false;

void tell_news(XactEvent event, void*) {
  if (!has_news || event == XACT_EVENT_PRE_COMMIT || event == XACT_EVENT_PRE_PREPARE) return;
  has_news = false;
  if (event != XACT_EVENT_COMMIT && event != XACT_EVENT_PREPARE) return;
  SpinLockAcquire(&shared->lock);
  ++shared->announcements;
  SpinLockRelease(&shared->lock);
}

// ---- the launcher

/// A database as the launcher remembers it.
struct Database {
  Oid oid;  // the key
  NameData name;
  bool is_there;
  int wait;         // intervals until the next visit
  int failures;     // visits in a row in which all merges failed
  SlowOwners slow;  // of the last visits
};

/// A worker that the launcher has started.
struct Worker {
  BackgroundWorkerHandle* handle;  // nullptr: none
  Oid database;
};

Worker workers[kMaxWorkers];  // by the number of their reports

/// Marks the databases that there are and adds new ones.
void find_databases(HTAB* databases) {
  HASH_SEQ_STATUS status;
  hash_seq_init(&status, databases);
  while (auto* const database = static_cast<Database*>(hash_seq_search(&status))) database->is_there = false;
  StartTransactionCommand();
  PushActiveSnapshot(GetTransactionSnapshot());
  const Relation catalog = table_open(DatabaseRelationId, AccessShareLock);
  const TableScanDesc scan = table_beginscan_catalog(catalog, 0, nullptr);
  while (const HeapTuple tuple = heap_getnext(scan, ForwardScanDirection)) {
    const auto* const form = reinterpret_cast<Form_pg_database>(GETSTRUCT(tuple));
    if (!form->datallowconn || form->datistemplate || form->datconnlimit == kInvalidDatabase) continue;
    bool found;
    auto* const database = static_cast<Database*>(hash_search(databases, &form->oid, HASH_ENTER, &found));
    if (!found) {
      database->wait = database->failures = 0;
      database->slow = {};
    }
    database->name = form->datname;
    database->is_there = true;
  }
  table_endscan(scan);
  table_close(catalog, AccessShareLock);
  PopActiveSnapshot();
  CommitTransactionCommand();
  hash_seq_init(&status, databases);
  while (auto* const database = static_cast<Database*>(hash_seq_search(&status)))
    if (!database->is_there) hash_search(databases, &database->oid, HASH_REMOVE, nullptr);
}

/// Sleeps at most so long. @return false if the launcher is to end
bool sleep_on_latch(long ms) {
  WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, ms, PG_WAIT_EXTENSION);
  ResetLatch(MyLatch);
  CHECK_FOR_INTERRUPTS();
  if (ConfigReloadPending) {
    ConfigReloadPending = false;
    ProcessConfigFile(PGC_SIGHUP);
  }
  return !ShutdownRequestPending;
}

bool has_ended(const Worker& worker) {
  pid_t pid;
  const BgwHandleStatus status = GetBackgroundWorkerPid(worker.handle, &pid);
  return status == BGWH_STOPPED || status == BGWH_POSTMASTER_DIED;
}

/// Decides when a database is visited again.
void note_report(Database& database, const Report& report) {
  const bool has_failed = !report.has_merged && (report.has_failed || !report.is_complete);
  if (report.is_complete) {
    database.slow = report.slow;
  } else {  // it has not come to all owners
    for (int k = 0; k < report.slow.count; ++k) database.slow.add(report.slow.owners[k]);
    if (report.since != 0) database.slow.add(report.owner);
  }
  database.failures = has_failed ? database.failures + 1 : 0;
  if (has_failed)
    database.wait = std::min(kMaxBackOff, 1 << std::min(database.failures, 6));
  else
    database.wait = report.has_kept_tables ? 1 : kRareVisits;
}

int64 most_of_merge_ms() { return int64{kMaxMerge} * 1000 * settings.merge_interval_s; }

/// Ends a worker whose merge does not end when its time is up, because the code of its owner goes on whatever happens.
void end_if_stuck(const Worker& worker, int number) {
  SpinLockAcquire(&shared->lock);
  const TimestampTz since = shared->reports[number].since;
  SpinLockRelease(&shared->lock);
  const int64 most = 2 * most_of_merge_ms();
  if (since != 0 && most > 0 && (GetCurrentTimestamp() - since) / 1000 > most) TerminateBackgroundWorker(worker.handle);
}

/// Forgets a worker that has ended. @param databases  may have lost its database meanwhile
void take_leave(HTAB* databases, int number) {
  Worker& worker = workers[number];
  pfree(worker.handle);
  worker.handle = nullptr;
  SpinLockAcquire(&shared->lock);
  const Report report = shared->reports[number];
  SpinLockRelease(&shared->lock);
  if (auto* const database = static_cast<Database*>(hash_search(databases, &worker.database, HASH_FIND, nullptr)))
    note_report(*database, report);
}

/// Lets a worker merge in a database, and waits for its end; but not for long, because it runs what the owners of filters have
/// written, and other databases must not wait for that. @return false if the launcher is to end
bool visit(HTAB* databases, Database& database) {
  int number = kMaxWorkers;
  for (int k = 0; k < kMaxWorkers; ++k) {
    if (workers[k].handle == nullptr)
      number = k;
    else if (workers[k].database == database.oid)
      return true;
  }
  if (number == kMaxWorkers) return true;
  Report report{};
  SpinLockAcquire(&shared->lock);
  report.visit = ++shared->visits;
  shared->reports[number] = report;
  SpinLockRelease(&shared->lock);
  BackgroundWorker start =
      worker_of_library("batmap merge worker", "batmap_merge_worker",
                        BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION | kWorkerThatDropDatabaseEnds,
                        BgWorkerStart_RecoveryFinished);
  start.bgw_main_arg = ObjectIdGetDatum(database.oid);
  const Order order{number, report.visit, database.slow};
  memcpy(start.bgw_extra, &order, sizeof order);
  start.bgw_notify_pid = MyProcPid;
  Worker& worker = workers[number];
  if (!RegisterDynamicBackgroundWorker(&start, &worker.handle)) {
    worker.handle = nullptr;
    ereport(LOG, (errmsg("batmap: no background worker is free to merge kept counts"),
                  errhint("Increase max_worker_processes.")));
    database.wait = 1;
    return true;
  }
  worker.database = database.oid;
  const TimestampTz started = GetCurrentTimestamp();
  const int patience_ms = kPatience * 1000 * settings.merge_interval_s;
  while (!has_ended(worker)) {
    if (TimestampDifferenceExceeds(started, GetCurrentTimestamp(), patience_ms)) {
      ereport(LOG, (errmsg("batmap: merging kept counts in database \"%s\" takes long: other databases go on",
                           NameStr(database.name))));
      return true;
    }
    if (!sleep_on_latch(1000)) {
      TerminateBackgroundWorker(worker.handle);
      return false;
    }
  }
  take_leave(databases, number);
  return true;
}

/// Visits the databases whose time has come. @return false if the launcher is to end
bool visit_databases(HTAB* databases, bool all) {
  find_databases(databases);
  for (int k = 0; k < kMaxWorkers; ++k) {
    if (workers[k].handle == nullptr) continue;
    if (has_ended(workers[k]))
      take_leave(databases, k);
    else
      end_if_stuck(workers[k], k);
  }
  HASH_SEQ_STATUS status;
  List* due = NIL;
  hash_seq_init(&status, databases);
  while (auto* const database = static_cast<Database*>(hash_seq_search(&status))) {
    if (--database->wait <= 0 || (all && database->failures == 0)) due = lappend_oid(due, database->oid);
  }
  bool goes_on = true;
  const ListCell* cell;
  foreach (cell, due) {
    const Oid oid = lfirst_oid(cell);
    if (!goes_on || settings.merge_interval_s == 0) break;
    goes_on = visit(databases, *static_cast<Database*>(hash_search(databases, &oid, HASH_FIND, nullptr)));
  }
  list_free(due);
  return goes_on;
}

// ---- the worker

struct Kept {
  Oid table;
  Oid owner;
};

/// The tables whose counts are kept, as the triggers say, in any order: a visit may end before it comes to all. In a memory context.
/// @param slow  whose tables come last @return a list of Kept
List* find_kept_tables(MemoryContext context, const SlowOwners& slow) {
  StartTransactionCommand();
  PushActiveSnapshot(GetTransactionSnapshot());
  SPI_connect();
  run_statement(
      "SELECT t.tgrelid, c.relowner FROM pg_catalog.pg_trigger t JOIN pg_catalog.pg_proc p ON p.oid OPERATOR(pg_catalog.=) "
      "t.tgfoid "
      "JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) t.tgrelid JOIN pg_catalog.pg_language l ON l.oid "
      "OPERATOR(pg_catalog.=) p.prolang "
      "WHERE t.tgname OPERATOR(pg_catalog.=) 'batmap_keep_rows' AND t.tgparentid OPERATOR(pg_catalog.=) 0 AND l.lanname "
      "OPERATOR(pg_catalog.=) 'c' "
      "AND p.prosrc OPERATOR(pg_catalog.=) 'batmap_keep_changes' ORDER BY pg_catalog.random()",
      true);
  List* tables = NIL;
  int others = 0;  // of owners that are not slow
  for (uint64 k = 0; k < SPI_processed; ++k) {
    bool is_null;
    const HeapTuple row = SPI_tuptable->vals[k];
    const MemoryContext caller = MemoryContextSwitchTo(context);
    auto* const kept = static_cast<Kept*>(palloc(sizeof(Kept)));
    kept->table = DatumGetObjectId(SPI_getbinval(row, SPI_tuptable->tupdesc, 1, &is_null));
    kept->owner = DatumGetObjectId(SPI_getbinval(row, SPI_tuptable->tupdesc, 2, &is_null));
    tables = slow.has(kept->owner) ? lappend(tables, kept) : list_insert_nth(tables, others++, kept);
    MemoryContextSwitchTo(caller);
  }
  SPI_finish();
  PopActiveSnapshot();
  CommitTransactionCommand();
  return tables;
}

struct TableName {
  char text[2 * NAMEDATALEN + 1];
};

void name_table(void* name) { errcontext("merging kept counts of %s", static_cast<const TableName*>(name)->text); }

enum class Merge { kDone, kFailed, kTooLong };

/// Merges one table in a transaction of its own. An error is logged.
Merge merge_in_transaction(Oid table, MemoryContext context) {
  volatile Merge result = Merge::kDone;
  TableName name{"a table"};
  ErrorContextCallback callback;
  callback.callback = name_table;
  callback.arg = &name;
  callback.previous = error_context_stack;
  PG_TRY();
  {
    error_context_stack = &callback;
    StartTransactionCommand();
    const char* const relation = get_rel_name(table);
    if (relation != nullptr)
      snprintf(name.text, sizeof name.text, "%s.%s", get_namespace_name(get_rel_namespace(table)), relation);
    pgstat_report_activity(STATE_RUNNING, psprintf("batmap: merging kept counts of %s", name.text));
    // The filter and the triggers are code of the owner, who may be anybody.
    enable_timeout_after(STATEMENT_TIMEOUT, static_cast<int>(Min(Max(most_of_merge_ms(), 1), INT_MAX)));
    merge_if_long(table, settings.merge_rows);
    disable_timeout(STATEMENT_TIMEOUT, false);
    CommitTransactionCommand();
  }
  PG_CATCH();
  {
    // As the workers of autovacuum do it.
    HOLD_INTERRUPTS();
    result = geterrcode() == ERRCODE_QUERY_CANCELED ? Merge::kTooLong : Merge::kFailed;
    disable_all_timeouts(false);
    QueryCancelPending = false;
    EmitErrorReport();
    AbortOutOfAnyTransaction();
    FlushErrorState();
    RESUME_INTERRUPTS();
  }
  PG_END_TRY();
  error_context_stack = callback.previous;
  MemoryContextSwitchTo(context);
  return result;
}

/// Tells the launcher how the visit goes.
void tell(int number, const Report& report) {
  SpinLockAcquire(&shared->lock);
  if (shared->reports[number].visit == report.visit) shared->reports[number] = report;
  SpinLockRelease(&shared->lock);
}

/// What the merges of an owner have taken in this visit.
struct OwnerTime {
  Oid owner;
  int64 ms;
};

OwnerTime& time_of(List*& times, Oid owner) {
  const ListCell* cell;
  foreach (cell, times)
    if (auto* const time = static_cast<OwnerTime*>(lfirst(cell)); time->owner == owner) return *time;
  auto* const time = static_cast<OwnerTime*>(palloc(sizeof(OwnerTime)));
  *time = {owner, 0};
  times = lappend(times, time);
  return *time;
}

void set_option(const char* name, const char* value) { SetConfigOption(name, value, PGC_SUSET, PGC_S_OVERRIDE); }

}  // namespace

void register_merge_launcher() {
  if (!process_shared_preload_libraries_in_progress || IsBinaryUpgrade) return;
  request_shared_part(kSharedPart);
  BackgroundWorker worker =
      worker_of_library("batmap merge launcher", "batmap_merge_launcher",
                        BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION, BgWorkerStart_RecoveryFinished);
  worker.bgw_restart_time = kRestartSeconds;
  RegisterBackgroundWorker(&worker);
}

void announce_kept_table() {
  if (shared == nullptr) return;
  has_news = true;
  if (watches_commits) return;
  RegisterXactCallback(tell_news, nullptr);
  watches_commits = true;
}

}  // namespace batmap::pg

extern "C" PGDLLEXPORT void batmap_merge_launcher(Datum);
extern "C" PGDLLEXPORT void batmap_merge_worker(Datum database);

/// The main function of the launcher.
void batmap_merge_launcher(Datum) {
  using namespace batmap::pg;
  pqsignal(SIGHUP, SignalHandlerForConfigReload);
  pqsignal(SIGTERM, SignalHandlerForShutdownRequest);
  BackgroundWorkerUnblockSignals();
  BackgroundWorkerInitializeConnection(nullptr, nullptr, 0);  // only catalogs that all databases share
  HASHCTL control{};
  control.keysize = sizeof(Oid);
  control.entrysize = sizeof(Database);
  HTAB* const databases = hash_create("batmap databases", 16, &control, HASH_ELEM | HASH_BLOBS);
  uint32 seen = 0;
  TimestampTz last = GetCurrentTimestamp();
  for (bool goes_on = !ShutdownRequestPending; goes_on;) {
    const int64 interval_ms = int64{1000} * settings.merge_interval_s;
    const int64 left = interval_ms - (GetCurrentTimestamp() - last) / 1000;
    if (interval_ms == 0 || left > 0) {
      pgstat_report_activity(STATE_IDLE, nullptr);
      goes_on = sleep_on_latch(interval_ms == 0 ? 3600 * 1000L : static_cast<long>(std::min<int64>(left, interval_ms)));
      continue;
    }
    last = GetCurrentTimestamp();
    SpinLockAcquire(&shared->lock);
    const uint32 announcements = shared->announcements;
    SpinLockRelease(&shared->lock);
    pgstat_report_activity(STATE_RUNNING, "batmap: merging kept counts of all databases");
    goes_on = visit_databases(databases, announcements != seen);
    seen = announcements;
  }
  proc_exit(1);  // the server starts it again, unless it stops
}

/// The main function of a worker.
void batmap_merge_worker(Datum database) {
  using namespace batmap::pg;
  ignore_signal(SIGHUP);  // it does not live long enough
  pqsignal(SIGTERM, die);
  BackgroundWorkerUnblockSignals();
  // The resources and the log are those of the server, whatever the owner of the database has set for all sessions.
  constexpr const char* kOfServer[] = {"batmap.memory_limit",   "batmap.work_mem", "batmap.threads",
                                       "batmap.device",         "work_mem",        "debug_print_parse",
                                       "debug_print_rewritten", "debug_print_plan"};
  const char* of_server[std::size(kOfServer)];
  for (size_t k = 0; k < std::size(kOfServer); ++k)
    of_server[k] = MemoryContextStrdup(TopMemoryContext, GetConfigOption(kOfServer[k], false, false));
  BackgroundWorkerInitializeConnectionByOid(DatumGetObjectId(database), InvalidOid, 0);
  for (size_t k = 0; k < std::size(kOfServer); ++k) set_option(kOfServer[k], of_server[k]);
  // Whatever the configuration and the owner of the database have set for all sessions.
  set_option("role", "none");
  set_option("default_transaction_isolation", "read committed");
  set_option("default_transaction_read_only", "off");
  set_option("default_transaction_deferrable", "off");
  set_option("search_path", "pg_catalog, pg_temp");
  set_option("statement_timeout", "0");
  if (kHasTransactionTimeout) set_option("transaction_timeout", "0");
  set_option("lock_timeout", kLockTimeout);
  const MemoryContext context = AllocSetContextCreate(TopMemoryContext, "batmap merges", ALLOCSET_DEFAULT_SIZES);
  MemoryContextSwitchTo(context);
  Order order;
  memcpy(&order, MyBgworkerEntry->bgw_extra, sizeof order);
  const List* const tables = find_kept_tables(context, order.slow);
  Report report{};
  report.visit = order.visit;
  report.has_kept_tables = tables != NIL;
  List* times = NIL;
  const ListCell* cell;
  foreach (cell, tables) {
    CHECK_FOR_INTERRUPTS();
    const auto* const kept = static_cast<const Kept*>(lfirst(cell));
    OwnerTime& time = time_of(times, kept->owner);
    // The next visit may begin with the tables that are left.
    if (time.ms > most_of_merge_ms()) continue;
    report.owner = kept->owner;
    report.since = GetCurrentTimestamp();
    tell(order.number, report);
    const Merge result = merge_in_transaction(kept->table, context);
    time.ms += (GetCurrentTimestamp() - report.since) / 1000;
    report.since = 0;
    report.has_merged |= result == Merge::kDone;
    report.has_failed |= result != Merge::kDone;
    if (result == Merge::kTooLong || time.ms > most_of_merge_ms()) report.slow.add(kept->owner);
    tell(order.number, report);
  }
  report.is_complete = true;
  pgstat_report_activity(STATE_IDLE, nullptr);
  pgstat_report_stat(true);
  tell(order.number, report);
  proc_exit(0);
}
