// Functions batmap_distributed_pair_counts, _itemset_counts and _join_counts: the counts of all pairs, or itemsets, that
// are frequent in a table whose rows lie on several servers, and of all frequent pairs of a join of two such tables.
//
// Two rounds. What is frequent in the whole is frequent, at the same share of the transactions, in at least one part; so the
// frequent ones of the parts are all candidates there are (Savasere, Omiecinski, Navathe: An Efficient Algorithm for Mining
// Association Rules in Large Databases, VLDB 1995, section 3). In the second round each part counts all candidates, and the
// sums are exact. A threshold that is a number is shared out between the parts: with thresholds t_k such that the sum of all
// t_k - 1 is below it, what reaches t_k in no part does not reach it in the sum (ours). So the shares may be guesses.
//
// Cost: each part reads its rows twice; the network carries its candidates, all candidates, and their counts.
#include <cmath>
#include <cstring>

#include "core/parameters.h"
#include "extension/functions/kept_setup.h"
#include "extension/functions/part_calls.h"
#include "extension/functions/run_stream.h"
#include "extension/input/arguments.h"
#include "pairs/pair_run.h"

#include "extension/server/pg.h"

using namespace batmap;
using namespace batmap::pg;

namespace {

/// A value of counts that is made of rows and adds up.
struct CountsKind {
  const char* type;        // sum() adds its values up
  const char* candidates;  // function of the first round: a query and the further arguments
  const char* recount;     // function of the second: a query and `candidates`
  const char* total;       // function: the transactions of a value
};

constexpr CountsKind kPairCounts{"batmap_pair_counts", "batmap_pair_counts_from", "batmap_pair_counts_from",
                                 "batmap_pair_counts_total"};
constexpr CountsKind kJoinCounts{"batmap_join_counts", "batmap_join_counts_from", "batmap_join_counts_from",
                                 "batmap_join_counts_total"};
constexpr CountsKind kItemsetCounts{"batmap_itemset_counts", "batmap_itemset_candidates", "batmap_itemset_count",
                                    "batmap_itemset_counts_total"};

/// One call.
struct Spread {
  const char* operation;
  const CountsKind* kind;
  const char* schema;  // of the extension here, quoted
  SpreadSource source;
  const SpreadSource* right;  // of a join: `source` is its left table
  List* servers;
  bool disjoint;
  std::optional<int64_t> min_count;
  std::optional<double> min_support;
  const char* further;  // arguments of the first round, each with a comma before it
  // Set by the rounds:
  const char* columns;  // arguments that name the columns, where parts get the source as it is
  const int64_t* thresholds;
  const char* candidates;
};

/// Shares a threshold out between the parts, by their weights. @return [parts]
const int64_t* share_out(int64_t min_count, const PartList& list) {
  auto* const shares = static_cast<int64_t*>(palloc(static_cast<Size>(Max(list.count, 1)) * sizeof(int64_t)));
  double weight = 0;
  for (int k = 0; k < list.count; ++k) weight += list.parts[k].weight;
  // What is left to give, and the parts and weights that have not got theirs.
  int64_t left = min_count - 1;
  for (int k = 0; k < list.count; ++k) {
    const double share = weight > 0 ? list.parts[k].weight / weight : 1.0 / (list.count - k);
    const double given = std::floor(share * static_cast<double>(left));
    const int64_t most = given >= static_cast<double>(left) ? left : static_cast<int64_t>(given);
    shares[k] = most + 1;
    left -= most;
    weight -= list.parts[k].weight;
  }
  return shares;
}

/// The rows of a part, as arguments.
const char* rows_of(const Part& part) {
  const char* const query = quote_literal_cstr(part.query);
  return part.right != nullptr ? psprintf("%s, %s", query, quote_literal_cstr(part.right)) : query;
}

const char* first_statement(void* argument, const char* schema, const Part& part, int index) {
  const auto* const spread = static_cast<const Spread*>(argument);
  const char* threshold = "";
  if (spread->min_support) {
    // A little less than what was asked for, so that rounding loses no candidate: a number of transactions that the share
    // gives exactly stays the same.
    constexpr double kSafe = 1 - 1e-12;
    threshold = psprintf(", min_support => %s::pg_catalog.float8",
                         quote_literal_cstr(psprintf("%.17g", *spread->min_support * kSafe)));
  } else {
    threshold = psprintf(", min_count => %lld", static_cast<long long>(spread->thresholds[index]));
  }
  return psprintf("SELECT %s.%s(%s%s%s%s)::pg_catalog.text", schema, spread->kind->candidates, rows_of(part), threshold,
                  spread->further, spread->columns);
}

const char* second_statement(void* argument, const char* schema, const Part& part, int) {
  const auto* const spread = static_cast<const Spread*>(argument);
  return psprintf("SELECT %s.%s(%s, candidates => %s::%s.%s%s)::pg_catalog.text", schema, spread->kind->recount,
                  rows_of(part), quote_literal_cstr(spread->candidates), schema, spread->kind->type, spread->columns);
}

/// The sum of the answers.
struct Sum {
  Datum value;  // 0: NULL
  int64_t total;
  const char* text;
};

Sum sum_of(const Spread& spread, char* const* answers, int count, bool as_text) {
  auto* const texts = static_cast<Datum*>(palloc(static_cast<Size>(Max(count, 1)) * sizeof(Datum)));
  int some = 0;
  for (int k = 0; k < count; ++k)
    if (answers[k] != nullptr) texts[some++] = CStringGetTextDatum(answers[k]);
  Oid type = TEXTARRAYOID;
  Datum array = PointerGetDatum(construct_array(texts, some, TEXTOID, -1, false, TYPALIGN_INT));
  run_statement(psprintf("SELECT q.s, %s.%s(q.s), %s FROM (SELECT %s.sum(a::%s.%s) AS s FROM pg_catalog.unnest($1) a) q",
                         spread.schema, spread.kind->total, as_text ? "q.s::pg_catalog.text" : "NULL::pg_catalog.text",
                         spread.schema, spread.schema, spread.kind->type),
                1, &type, &array, true);
  pfree(DatumGetPointer(array));
  for (int k = 0; k < some; ++k) pfree(DatumGetPointer(texts[k]));
  bool is_null;
  Sum sum{};
  sum.value = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &is_null);
  if (is_null) return {};
  sum.total = DatumGetInt64(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 2, &is_null));
  sum.text = as_text ? SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 3) : nullptr;
  return sum;
}

/// Both rounds. @return the counts, as long as the SPI connection; 0: there are no rows
Datum count_parts(Spread& spread, const PartList& list, PartCalls& calls) {
  bool all = true;  // whether each part names all that it has
  if (spread.min_support) {
    all = false;
  } else {
    spread.thresholds = share_out(*spread.min_count, list);
    for (int k = 0; k < list.count; ++k) all = all && spread.thresholds[k] == 1;
  }
  calls.open();
  const bool is_exact = all || list.count <= 1;
  const Sum found = sum_of(spread, calls.round("candidates", first_statement, &spread), list.count, !is_exact);
  Sum sum = found;
  if (!is_exact && found.value != 0) {
    spread.candidates = found.text;
    sum = sum_of(spread, calls.round("recount", second_statement, &spread), list.count, false);
    if (sum.value == 0 || sum.total != found.total)
      ereport(ERROR, (errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
                      errmsg("rows of table \"%s\" changed between the two rounds", list.table),
                      errdetail("There were %lld transactions, then %lld.", static_cast<long long>(found.total),
                                static_cast<long long>(sum.total)),
                      errhint("Ask again, or keep others from writing: LOCK TABLE ... IN SHARE MODE.")));
  }
  calls.close();
  ereport(DEBUG1, (errmsg_internal("%s: %llu bytes sent, %llu received", spread.operation,
                                   static_cast<unsigned long long>(calls.bytes_sent()),
                                   static_cast<unsigned long long>(calls.bytes_received()))));
  return sum.value;
}

/// What is to be cancelled and reported, in a context of the call.
struct SpreadCall {
  ProgressReport progress;
};

/// Runs the call in a subtransaction, so that connections can be given up after an error.
/// @return a copy in the current context; 0: NULL
Datum run_spread(Spread& spread) {
  const MemoryContext caller = CurrentMemoryContext;
  const ResourceOwner owner = CurrentResourceOwner;
  const MemoryContext context = AllocSetContextCreate(caller, "batmap parts", ALLOCSET_DEFAULT_SIZES);
  SpreadCall* const call = ContextOwned<SpreadCall>::reserve(context)->emplace();
  call->progress.start(spread.operation);
  const bool has_servers = spread.servers != NIL;
  const Oid table = has_servers ? InvalidOid : find_spread_table(spread.source.table);
  const Oid right = has_servers || spread.right == nullptr ? InvalidOid : find_spread_table(spread.right->table);
  PartCalls* volatile calls = nullptr;
  volatile Datum result = 0;
  BeginInternalSubTransaction(nullptr);
  MemoryContextSwitchTo(context);
  PG_TRY();
  {
    SPI_connect();
    const int settings = NewGUCNestLevel();
    set_config_option("search_path", "pg_catalog, pg_temp", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
    const MemoryContext inner = MemoryContextSwitchTo(context);
    const PartList list = spread.right == nullptr ? find_parts(spread.source, table, spread.servers, spread.disjoint)
                                                  : find_joined_parts(spread.source, table, *spread.right, right,
                                                                      spread.servers, spread.disjoint);
    calls = new (palloc(sizeof(PartCalls))) PartCalls(list, spread.operation, spread.schema, &call->progress);
    MemoryContextSwitchTo(inner);
    const Datum counts = count_parts(spread, list, *calls);
    if (counts != 0) {
      MemoryContextSwitchTo(caller);
      result = PointerGetDatum(PG_DETOAST_DATUM_COPY(counts));
      MemoryContextSwitchTo(inner);
    }
    AtEOXact_GUC(true, settings);
    SPI_finish();
    ReleaseCurrentSubTransaction();
    MemoryContextSwitchTo(caller);
    CurrentResourceOwner = owner;
  }
  PG_CATCH();
  {
    MemoryContextSwitchTo(caller);
    ErrorData* const error = CopyErrorData();
    FlushErrorState();
    RollbackAndReleaseCurrentSubTransaction();
    MemoryContextSwitchTo(caller);
    CurrentResourceOwner = owner;
    if (calls != nullptr) const_cast<PartCalls*>(calls)->abandon();
    ReThrowError(error);
  }
  PG_END_TRY();
  MemoryContextDelete(context);
  return result;
}

// ---- arguments

[[noreturn]] void raise_null(const char* name) {
  ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("%s must not be NULL", name),
                  errhint("Give the name of a table whose rows lie on several servers.")));
  pg_unreachable();
}

List* read_servers(FunctionCallInfo fcinfo, int argument) {
  if (PG_ARGISNULL(argument)) return NIL;
  Datum* values;
  bool* nulls;
  int count;
  deconstruct_array(PG_GETARG_ARRAYTYPE_P(argument), TEXTOID, -1, false, TYPALIGN_INT, &values, &nulls, &count);
  List* servers = NIL;
  for (int k = 0; k < count; ++k) {
    if (nulls[k])
      ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("servers must not contain NULL"),
                      errhint("Give names of foreign servers.")));
    servers = lappend(servers, TextDatumGetCString(values[k]));
  }
  if (servers == NIL)
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("servers must not be empty"),
                    errhint("Leave it away to ask the parts of the table.")));
  return servers;
}

/// ", name => 'value'::type" for an argument that is given. The type is one of pg_catalog.
void add_argument(StringInfo to, FunctionCallInfo fcinfo, int argument, const char* name, Oid type) {
  if (PG_ARGISNULL(argument)) return;
  Oid output;
  bool is_varlena;
  getTypeOutputInfo(type, &output, &is_varlena);
  appendStringInfo(to, ", %s => %s::%s", name, quote_literal_cstr(OidOutputFunctionCall(output, PG_GETARG_DATUM(argument))),
                   format_type_be_qualified(type));
}

/// A table of two columns. @param table  argument of its name @param first  argument of the name of its first column
SpreadSource read_source(FunctionCallInfo fcinfo, int table, const char* name, int first, const char* const* roles) {
  if (PG_ARGISNULL(table)) raise_null(name);
  SpreadSource source{};
  source.table = TextDatumGetCString(PG_GETARG_DATUM(table));
  source.count = 2;
  for (int k = 0; k < source.count; ++k) {
    source.roles[k] = roles[k];
    source.columns[k] = PG_ARGISNULL(first + k) ? nullptr : pstrdup(NameStr(*PG_GETARG_NAME(first + k)));
  }
  return source;
}

/// The arguments that all such functions end with: servers, disjoint.
void read_places(FunctionCallInfo fcinfo, int first, Spread& spread) {
  spread.servers = read_servers(fcinfo, first);
  spread.disjoint = !PG_ARGISNULL(first + 1) && PG_GETARG_BOOL(first + 1);
}

/// The arguments that functions over one table end with: tid_column, item_column, servers, disjoint.
void read_last_arguments(FunctionCallInfo fcinfo, int first, Spread& spread) {
  static constexpr const char* kRoles[] = {"tid_column", "item_column"};
  spread.source = read_source(fcinfo, 0, "source", first, kRoles);
  read_places(fcinfo, first + 2, spread);
  StringInfoData columns;
  initStringInfo(&columns);
  for (int k = 0; spread.servers != NIL && k < 2; ++k)
    if (spread.source.columns[k] != nullptr)
      appendStringInfo(&columns, ", %s => %s::pg_catalog.name", spread.source.roles[k],
                       quote_literal_cstr(spread.source.columns[k]));
  spread.columns = columns.data;
}

/// The threshold, with the errors of the functions over one server.
void read_threshold(FunctionCallInfo fcinfo, Spread& spread) {
  const Arguments arguments{fcinfo, 1};
  spread.min_count = arguments.int8(0);
  spread.min_support = arguments.min_support(1);
  guarded([&] {
    PairQuery query;
    query.min_count = spread.min_count;
    query.min_support = spread.min_support;
    query.check();
  });
}

Datum distributed_counts(FunctionCallInfo fcinfo, Spread& spread) {
  spread.schema = quote_identifier(get_namespace_name(get_func_namespace(fcinfo->flinfo->fn_oid)));
  const Datum counts = run_spread(spread);
  if (counts == 0) PG_RETURN_NULL();
  return counts;
}

}  // namespace

BATMAP_FUNCTION(batmap_distributed_pair_counts) {
  Spread spread{};
  spread.operation = "batmap_distributed_pair_counts";
  spread.kind = &kPairCounts;
  read_last_arguments(fcinfo, 5, spread);
  read_threshold(fcinfo, spread);
  StringInfoData further;
  initStringInfo(&further);
  add_argument(&further, fcinfo, 3, "include", INT8ARRAYOID);
  add_argument(&further, fcinfo, 4, "exclude", INT8ARRAYOID);
  spread.further = further.data;
  return distributed_counts(fcinfo, spread);
}

BATMAP_FUNCTION(batmap_distributed_itemset_counts) {
  Spread spread{};
  spread.operation = "batmap_distributed_itemset_counts";
  spread.kind = &kItemsetCounts;
  read_last_arguments(fcinfo, 6, spread);
  read_threshold(fcinfo, spread);
  StringInfoData further;
  initStringInfo(&further);
  add_argument(&further, fcinfo, 3, "max_length", INT4OID);
  add_argument(&further, fcinfo, 4, "include", INT8ARRAYOID);
  add_argument(&further, fcinfo, 5, "exclude", INT8ARRAYOID);
  spread.further = further.data;
  return distributed_counts(fcinfo, spread);
}

BATMAP_FUNCTION(batmap_distributed_join_counts) {
  enum { kLeft, kRight, kMinCount, kA, kLeftB, kRightB, kC, kServers };
  static constexpr const char* kLeftRoles[] = {"a_column", "left_b_column"};
  static constexpr const char* kRightRoles[] = {"right_b_column", "c_column"};
  Spread spread{};
  spread.operation = "batmap_distributed_join_counts";
  spread.kind = &kJoinCounts;
  spread.source = read_source(fcinfo, kLeft, "left_source", kA, kLeftRoles);
  SpreadSource right = read_source(fcinfo, kRight, "right_source", kRightB, kRightRoles);
  spread.source.key = 1;
  right.key = 0;
  spread.source.by_position = right.by_position = true;
  spread.right = &right;
  read_places(fcinfo, kServers, spread);
  spread.min_count = PG_ARGISNULL(kMinCount) ? 1 : PG_GETARG_INT64(kMinCount);
  guarded([&] { require_at_least("min_count", spread.min_count, 1); });
  spread.further = spread.columns = "";
  return distributed_counts(fcinfo, spread);
}
