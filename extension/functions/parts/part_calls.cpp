// Statements on several servers at once. See part_calls.h, and docs/decisions for why it is dblink.
#include "extension/functions/parts/part_calls.h"

#include <algorithm>
#include <cstring>

#include "extension/server/own_statement.h"
#include "extension/server/subtransaction.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

// dblink does not say when an answer comes, so it is asked again and again: after 1/16 of the time that the round has taken.
constexpr long kShortestWaitMs = 1;
constexpr long kLongestWaitMs = 20;
constexpr long kWaitShare = 16;

// Citus sleeps for 10 ms before it looks again whether a node has answered, in each round.
constexpr char kNodeWaitSetting[] = "citus.remote_task_check_interval";
constexpr char kNodeWaitMs[] = "1";

uint32 connection_number = 0;

/// The place of a part, for errors.
struct Where {
  const char* operation;
  const char* round;
  const char* part;
};

void tell_part(void* argument) {
  const auto* const where = static_cast<const Where*>(argument);
  errcontext("%s, %s, part \"%s\"", where->operation, where->round, where->part);
}

/// Between its making and leave(), errors name the part. No destructor, because errors jump.
struct InPart {
  explicit InPart(Where of) : where(of) {
    callback.callback = tell_part;
    callback.arg = &where;
    callback.previous = error_context_stack;
    error_context_stack = &callback;
  }
  InPart(const InPart&) = delete;
  InPart& operator=(const InPart&) = delete;
  void leave() const { error_context_stack = callback.previous; }

  Where where;
  ErrorContextCallback callback;
};

const char* dblink_schema() {
  run_statement(
      "SELECT pg_catalog.quote_ident(n.nspname) FROM pg_catalog.pg_extension e "
      "JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'dblink'",
      true);
  if (SPI_processed != 1)
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("extension \"dblink\" is needed to ask foreign servers"),
                    errhint("CREATE EXTENSION dblink; it uses the foreign servers and user mappings of postgres_fdw.")));
  return SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1);
}

const char* version_here() {
  run_statement("SELECT extversion FROM pg_catalog.pg_extension WHERE extname = 'batmap'", true);
  return SPI_processed == 1 ? SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1) : "";
}

/// Runs a statement of ours with texts as its parameters. @return the first value of the first row; nullptr: there is none
char* value_of(const char* statement, const char* first, const char* second = nullptr) {
  Oid types[2] = {TEXTOID, TEXTOID};
  Datum values[2] = {CStringGetTextDatum(first), second != nullptr ? CStringGetTextDatum(second) : Datum{0}};
  run_statement(statement, second != nullptr ? 2 : 1, types, values, true);
  return SPI_processed > 0 ? SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1) : nullptr;
}

/// Runs a statement whose errors do not matter, in a subtransaction of its own.
void try_statement(const char* text) {
  ErrorData* const error = error_of([&] {
    SPI_connect();
    run_statement(text, true);
    SPI_finish();
  });
  if (error != nullptr) FreeErrorData(error);
}

}  // namespace

PartCalls::PartCalls(const PartList& list, const char* operation, const char* schema, ProgressReport* progress)
    : list_(list), operation_(operation), schema_(schema), progress_(progress), context_(CurrentMemoryContext) {
  const Size count = static_cast<Size>(Max(list.count, 1));
  connections_ = static_cast<const char**>(palloc0(count * sizeof(char*)));
  schemas_ = static_cast<const char**>(palloc0(count * sizeof(char*)));
  statements_ = static_cast<const char**>(palloc0(count * sizeof(char*)));
  answers_ = static_cast<char**>(palloc0(count * sizeof(char*)));
  busy_ = static_cast<bool*>(palloc0(count * sizeof(bool)));
}

void PartCalls::open() {
  round_ = "connecting";
  const bool has_servers = list_.is_any(PartPlace::kServer);
  if (has_servers) dblink_ = dblink_schema();
  if (list_.is_any(PartPlace::kNode) && GetConfigOption(kNodeWaitSetting, true, false) != nullptr)
    set_config_option(kNodeWaitSetting, kNodeWaitMs, PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
  for (int k = 0; k < list_.count; ++k) {
    schemas_[k] = schema_;
    if (list_.parts[k].place == PartPlace::kServer) connect(k);
  }
  if (!has_servers) return;
  Oid type = TEXTOID;
  is_busy_ = SPI_prepare(psprintf("SELECT %s.dblink_is_busy($1)", dblink_), 1, &type);
  if (is_busy_ == nullptr) elog(ERROR, "statement failed: %s", SPI_result_code_string(SPI_result));
}

void PartCalls::connect(int part) {
  CHECK_FOR_INTERRUPTS();
  const InPart here({operation_, round_, list_.parts[part].name});
  const MemoryContext caller = MemoryContextSwitchTo(context_);
  const char* const name = psprintf("batmap %d %u", MyProcPid, connection_number++);
  MemoryContextSwitchTo(caller);
  connections_[part] = name;  // a cancel can come when the connection is there and the call has not returned
  value_of(psprintf("SELECT %s.dblink_connect($1, $2)", dblink_), name, list_.parts[part].name);
  value_of(psprintf("SELECT %s.dblink_exec($1, $2)", dblink_), name,
           "START TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY");
  const char* const there = value_of(psprintf("SELECT t.schema || ' ' || t.version FROM %s.dblink($1, $2) AS t (schema "
                                              "pg_catalog.text, version pg_catalog.text)",
                                              dblink_),
                                     name,
                                     "SELECT pg_catalog.quote_ident(n.nspname), e.extversion FROM pg_catalog.pg_extension e "
                                     "JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'batmap'");
  if (there == nullptr)
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("server \"%s\" has no extension batmap", list_.parts[part].name),
                    errhint("CREATE EXTENSION batmap in the database that the server's option dbname names.")));
  const char* const version = strrchr(there, ' ') + 1;
  const char* const wanted = version_here();
  if (strcmp(version, wanted) != 0)
    ereport(ERROR,
            (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
             errmsg("server \"%s\" has version %s of extension batmap, not %s", list_.parts[part].name, version, wanted),
             errhint("ALTER EXTENSION batmap UPDATE, so that all servers have the same version.")));
  schemas_[part] = MemoryContextStrdup(context_, pnstrdup(there, static_cast<Size>(version - 1 - there)));
  here.leave();
}

char** PartCalls::round(const char* name, MakeStatement make, void* argument) {
  round_ = name;
  done_ = 0;
  const MemoryContext caller = MemoryContextSwitchTo(context_);
  for (int k = 0; k < list_.count; ++k) {
    statements_[k] = make(argument, schemas_[k], list_.parts[k], k);
    answers_[k] = nullptr;
    busy_[k] = statements_[k] != nullptr;
    if (!busy_[k]) ++done_;
  }
  MemoryContextSwitchTo(caller);
  progress_->tasks(static_cast<uint64_t>(done_), static_cast<uint64_t>(list_.count), 0);
  int waiting = 0;
  for (int k = 0; k < list_.count; ++k) {
    if (list_.parts[k].place != PartPlace::kServer || !busy_[k]) continue;
    send(k);
    ++waiting;
  }
  if (list_.is_any(PartPlace::kNode)) ask_nodes();
  for (int k = 0; k < list_.count; ++k)
    if (list_.parts[k].place == PartPlace::kHere && busy_[k]) ask_here(k);
  const TimestampTz start = GetCurrentTimestamp();
  while (waiting > 0) {
    CHECK_FOR_INTERRUPTS();
    int collected = 0;
    for (int k = 0; k < list_.count; ++k)
      if (busy_[k] && collect(k)) ++collected;
    waiting -= collected;
    if (collected > 0 || waiting == 0) continue;
    const long taken = TimestampDifferenceMilliseconds(start, GetCurrentTimestamp());
    WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
              std::clamp(taken / kWaitShare, kShortestWaitMs, kLongestWaitMs), PG_WAIT_EXTENSION);
    ResetLatch(MyLatch);
  }
  for (int k = 0; k < list_.count; ++k)
    if (statements_[k] != nullptr) pfree(const_cast<char*>(statements_[k]));
  return answers_;
}

void PartCalls::send(int part) {
  const InPart here({operation_, round_, list_.parts[part].name});
  const char* const sent =
      value_of(psprintf("SELECT %s.dblink_send_query($1, $2)", dblink_), connections_[part], statements_[part]);
  if (sent == nullptr || strcmp(sent, "1") != 0)
    ereport(ERROR, (errcode(ERRCODE_CONNECTION_FAILURE), errmsg("server \"%s\" takes no statement", list_.parts[part].name),
                    errhint("See the log of that server.")));
  sent_ += strlen(statements_[part]);
  SPI_freetuptable(SPI_tuptable);
  here.leave();
}

/// Takes the answer of a foreign server. @return false if there is none yet
bool PartCalls::collect(int part) {
  const InPart here({operation_, round_, list_.parts[part].name});
  Datum name = CStringGetTextDatum(connections_[part]);
  const int status = SPI_execute_plan(is_busy_, &name, nullptr, true, 1);
  if (status < 0) elog(ERROR, "statement failed: %s", SPI_result_code_string(status));
  bool is_null;
  const bool busy = DatumGetInt32(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &is_null)) != 0;
  SPI_freetuptable(SPI_tuptable);
  pfree(DatumGetPointer(name));
  if (!busy) {
    const char* const text = psprintf("SELECT t.value FROM %s.dblink_get_result($1) AS t (value pg_catalog.text)", dblink_);
    char* const answer = value_of(text, connections_[part]);
    const bool has_row = SPI_processed == 1;
    SPI_freetuptable(SPI_tuptable);
    // The end of the answers must be taken, too, before the next statement.
    value_of(text, connections_[part]);
    SPI_freetuptable(SPI_tuptable);
    if (!has_row)
      ereport(ERROR, (errcode(ERRCODE_CONNECTION_FAILURE), errmsg("server \"%s\" gave no answer", list_.parts[part].name),
                      errhint("See the log of that server.")));
    answered(part, answer);
    if (answer != nullptr) pfree(answer);
  }
  here.leave();
  return !busy;
}

/// Asks all nodes of Citus, and waits for them.
void PartCalls::ask_nodes() {
  const Size room = static_cast<Size>(list_.count) * sizeof(Datum);
  auto* const hosts = static_cast<Datum*>(palloc(room));
  auto* const ports = static_cast<Datum*>(palloc(room));
  auto* const statements = static_cast<Datum*>(palloc(room));
  auto* const parts = static_cast<int*>(palloc(static_cast<Size>(list_.count) * sizeof(int)));
  int count = 0;
  for (int k = 0; k < list_.count; ++k) {
    if (list_.parts[k].place != PartPlace::kNode || !busy_[k]) continue;
    hosts[count] = CStringGetTextDatum(list_.parts[k].name);
    ports[count] = Int32GetDatum(list_.parts[k].port);
    statements[count] = CStringGetTextDatum(statements_[k]);
    sent_ += strlen(statements_[k]);
    parts[count++] = k;
  }
  if (count == 0) return;
  Oid types[3] = {TEXTARRAYOID, INT4ARRAYOID, TEXTARRAYOID};
  Datum values[3] = {PointerGetDatum(construct_array(hosts, count, TEXTOID, -1, false, TYPALIGN_INT)),
                     PointerGetDatum(construct_array(ports, count, INT4OID, 4, true, TYPALIGN_INT)),
                     PointerGetDatum(construct_array(statements, count, TEXTOID, -1, false, TYPALIGN_INT))};
  run_statement("SELECT success, result FROM pg_catalog.master_run_on_worker($1, $2, $3, true)", 3, types, values, true);
  SPITupleTable* const rows = SPI_tuptable;
  if (SPI_processed != static_cast<uint64>(count))
    ereport(ERROR, (errcode(ERRCODE_CONNECTION_FAILURE),
                    errmsg("%llu of %d nodes answered", static_cast<unsigned long long>(SPI_processed), count),
                    errhint("See the logs of the nodes.")));
  for (int k = 0; k < count; ++k) {
    const Part& part = list_.parts[parts[k]];
    const InPart here({operation_, round_, psprintf("%s:%d", part.name, part.port)});
    char* const result = SPI_getvalue(rows->vals[k], rows->tupdesc, 2);
    bool is_null;
    const bool success = DatumGetBool(SPI_getbinval(rows->vals[k], rows->tupdesc, 1, &is_null)) && !is_null;
    if (!success)
      ereport(ERROR, (errcode(ERRCODE_EXTERNAL_ROUTINE_EXCEPTION),
                      errmsg("node %s:%d failed: %s", part.name, part.port, result != nullptr ? result : ""),
                      errhint("Every part must answer. Ask again when the node does.")));
    // Citus writes NULL as an empty text, which is no value of our types.
    answered(parts[k], result != nullptr && *result != '\0' ? result : nullptr);
    if (result != nullptr) pfree(result);
    here.leave();
  }
  SPI_freetuptable(rows);
}

void PartCalls::ask_here(int part) {
  const InPart here({operation_, round_, list_.parts[part].name});
  run_statement(statements_[part], true);
  char* const answer = SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1);
  SPI_freetuptable(SPI_tuptable);
  answered(part, answer);
  if (answer != nullptr) pfree(answer);
  here.leave();
}

void PartCalls::answered(int part, const char* answer) {
  busy_[part] = false;
  if (answer != nullptr) {
    answers_[part] = MemoryContextStrdup(context_, answer);
    if (list_.parts[part].place != PartPlace::kHere) received_ += strlen(answer);
  }
  progress_->tasks(static_cast<uint64_t>(++done_), static_cast<uint64_t>(list_.count), 0);
  ereport(DEBUG1, (errmsg_internal("%s, %s: part %d of %d, \"%s\", %zu bytes", operation_, round_, done_, list_.count,
                                   list_.parts[part].name, answer != nullptr ? strlen(answer) : 0)));
}

void PartCalls::close() {
  for (int k = 0; k < list_.count; ++k) {
    if (connections_[k] == nullptr) continue;
    value_of(psprintf("SELECT %s.dblink_disconnect($1)", dblink_), connections_[k]);
    connections_[k] = nullptr;
  }
}

void PartCalls::abandon() {
  // What was interrupted is cleaned up before the interrupt is served.
  HOLD_INTERRUPTS();
  for (int k = 0; k < list_.count; ++k) {
    if (connections_[k] == nullptr) continue;
    const char* const name = quote_literal_cstr(connections_[k]);
    // To cancel waits for the other server. A session that is to end does not wait.
    if (busy_[k] && !ProcDiePending) try_statement(psprintf("SELECT %s.dblink_cancel_query(%s)", dblink_, name));
    try_statement(psprintf("SELECT %s.dblink_disconnect(%s)", dblink_, name));
    connections_[k] = nullptr;
  }
  RESUME_INTERRUPTS();
}

}  // namespace batmap::pg
