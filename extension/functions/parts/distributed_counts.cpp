// Functions batmap_distributed_pair_counts, _itemset_counts, _episode_counts and _join_counts: the counts of all pairs, itemsets
// or episodes that are frequent in a table whose rows lie on several servers, and of all frequent pairs of a join of two such
// tables.
//
// Two rounds. What is frequent in the whole is frequent, at the same share of the transactions, in at least one part; so the
// frequent ones of the parts are all candidates there are (Savasere, Omiecinski, Navathe: An Efficient Algorithm for Mining
// Association Rules in Large Databases, VLDB 1995, section 3). In the second round each part counts those candidates that it
// did not report itself, and the sums are exact. A threshold that is a number is shared out between the parts: with thresholds
// t_k such that the sum of all t_k - 1 is below it, what reaches t_k in no part does not reach it in the sum (ours). So the
// shares may be guesses.
//
// Cost: each part reads its rows twice; the network carries its candidates, the candidates that it counts, and their counts.
#include "extension/functions/parts/distributed_counts.h"

#include <cmath>
#include <cstring>
#include <optional>
#include <span>

#include "core/parameters.h"
#include "episodes/episode_run.h"
#include "extension/functions/parts/part_calls.h"
#include "extension/input/arguments.h"
#include "extension/input/gap_list.h"
#include "extension/server/own_function.h"
#include "extension/server/own_statement.h"
#include "extension/server/subtransaction.h"
#include "extension/streams/run_stream.h"
#include "extension/types/episode_counts_datum.h"
#include "extension/types/itemset_counts_datum.h"
#include "extension/types/join_counts_datum.h"
#include "extension/types/pair_counts_datum.h"
#include "pairs/counts/pair_counts.h"
#include "pairs/pair_run.h"

#include "extension/server/pg.h"

using namespace batmap;
using namespace batmap::pg;

namespace {

/// What a function of a round takes.
enum class Takes {
  kRows,
  kRightRows,
  kMinCount,
  kMinSupport,
  kMinRate,
  kMaxLength,
  kInclude,
  kExclude,
  kGapUnit,
  kGaps,
  kCounting,
  kSameTime,
  kCandidates,
  kFirstColumn,
  kSecondColumn,
  kParams
};
constexpr int kTakes = static_cast<int>(Takes::kParams) + 1;

/// A function of a round, with all of its parameters in their order.
struct RoundFunction {
  const char* name;
  std::span<const Takes> parameters;
};

/// A value of counts that is made of rows and adds up. A part need not count again in the second round what it has counted in
/// the first.
struct CountsKind {
  const char* name;  // of the type
  const SummedType& type;
  RoundFunction candidates;                   // of the first round
  RoundFunction recount;                      // of the second
  uint64_t (*size)(const std::byte* value);   // 0: nothing is in it
  uint64_t (*total)(const std::byte* value);  // transactions
  /// Appends what the value of a part lacks of the sum.
  void (*missing)(const std::byte* sum, const std::byte* value, GrowingBuffer<std::byte>& out,
                  const ExecutionOptions& options);
  /// Appends the value of a part and more counts of it. @return false: they are not of the same transactions
  bool (*complete)(const std::byte* counts, const std::byte* more, GrowingBuffer<std::byte>& out,
                   const ExecutionOptions& options);
};

constexpr Takes kPairParameters[] = {Takes::kRows,        Takes::kMinCount,     Takes::kMinSupport,
                                     Takes::kInclude,     Takes::kExclude,      Takes::kCandidates,
                                     Takes::kFirstColumn, Takes::kSecondColumn, Takes::kParams};
constexpr Takes kJoinParameters[] = {Takes::kRows, Takes::kRightRows, Takes::kMinCount, Takes::kCandidates, Takes::kParams};
constexpr Takes kItemsetParameters[] = {Takes::kRows,        Takes::kMinCount,     Takes::kMinSupport,
                                        Takes::kMaxLength,   Takes::kInclude,      Takes::kExclude,
                                        Takes::kFirstColumn, Takes::kSecondColumn, Takes::kParams};
constexpr Takes kRecountParameters[] = {Takes::kRows, Takes::kCandidates, Takes::kFirstColumn, Takes::kSecondColumn,
                                        Takes::kParams};

constexpr Takes kEpisodeParameters[] = {Takes::kRows,     Takes::kGapUnit,   Takes::kGaps,      Takes::kMinCount,
                                        Takes::kMinRate,  Takes::kMaxLength, Takes::kInclude,   Takes::kExclude,
                                        Takes::kCounting, Takes::kSameTime,  Takes::kCandidates};

uint64_t pair_counts_size(const std::byte* value) { return pair_counts_header(value).items; }
uint64_t pair_counts_total(const std::byte* value) { return pair_counts_header(value).total; }

constexpr CountsKind kPairCounts{"batmap_pair_counts",
                                 kSummedPairCounts,
                                 {"batmap_pair_counts_from", kPairParameters},
                                 {"batmap_pair_counts_from", kPairParameters},
                                 pair_counts_size,
                                 pair_counts_total,
                                 missing_pair_counts,
                                 complete_pair_counts};
constexpr CountsKind kJoinCounts{"batmap_join_counts",
                                 kSummedJoinCounts,
                                 {"batmap_join_counts_from", kJoinParameters},
                                 {"batmap_join_counts_from", kJoinParameters},
                                 pair_counts_size,
                                 pair_counts_total,
                                 missing_pair_counts,
                                 complete_pair_counts};
constexpr CountsKind kItemsetCounts{"batmap_itemset_counts",
                                    kSummedItemsetCounts,
                                    {"batmap_itemset_candidates", kItemsetParameters},
                                    {"batmap_itemset_count", kRecountParameters},
                                    [](const std::byte* value) { return itemset_counts_header(value).itemsets; },
                                    [](const std::byte* value) { return itemset_counts_header(value).total; },
                                    missing_itemset_counts,
                                    complete_itemset_counts};
constexpr CountsKind kEpisodeCounts{"batmap_episode_counts",
                                    kSummedEpisodeCounts,
                                    {"_batmap_episode_counts_of_part", kEpisodeParameters},
                                    {"_batmap_episode_counts_of_part", kEpisodeParameters},
                                    [](const std::byte* value) { return episode_counts_header(value).episodes; },
                                    [](const std::byte* value) { return episode_counts_header(value).rows; },
                                    missing_episode_counts,
                                    complete_episode_counts};

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
  std::optional<double> min_rate;
  const char* further[kTakes];  // texts of other arguments of the parts; nullptr: NULL
  // Set by the rounds:
  const int64_t* thresholds;
  const char** candidates;  // [parts] of the second round; nullptr: the part has counted all of them
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

const char* type_of(Takes parameter, const Spread& spread, const char* schema) {
  switch (parameter) {
    case Takes::kRows:
    case Takes::kRightRows: return "pg_catalog.text";
    case Takes::kMinCount: return "pg_catalog.int8";
    case Takes::kMinSupport:
    case Takes::kMinRate: return "pg_catalog.float8";
    case Takes::kMaxLength:
    case Takes::kGapUnit: return "pg_catalog.int4";
    case Takes::kCounting: return "pg_catalog.text";
    case Takes::kSameTime: return "pg_catalog.bool";
    case Takes::kGaps:
    case Takes::kInclude:
    case Takes::kExclude: return "pg_catalog.int8[]";
    case Takes::kCandidates: return psprintf("%s.%s", schema, spread.kind->name);
    case Takes::kFirstColumn:
    case Takes::kSecondColumn: return "pg_catalog.name";
    case Takes::kParams: break;
  }
  return "pg_catalog.record";
}

/// A call of exactly this function. All arguments are given by position, with their types: another function of the same name
/// in the same schema could fit better, or as well, if one was left away, named, or a literal without a type.
/// @param texts  [kTakes] nullptr: NULL
const char* call_text(const Spread& spread, const char* schema, const RoundFunction& function, const char* const* texts) {
  StringInfoData call;
  initStringInfo(&call);
  appendStringInfo(&call, "SELECT %s.%s", schema, function.name);
  char before = '(';
  for (const Takes parameter : function.parameters) {
    const char* const text = texts[static_cast<int>(parameter)];
    appendStringInfo(&call, "%c%s::%s", before, text != nullptr ? quote_literal_cstr(text) : "NULL",
                     type_of(parameter, spread, schema));
    before = ',';
  }
  appendStringInfoString(&call, ")::pg_catalog.text");
  return call.data;
}

/// The texts of what both rounds take.
void add_rows(const Spread& spread, const Part& part, const char** texts) {
  texts[static_cast<int>(Takes::kRows)] = part.query;
  texts[static_cast<int>(Takes::kRightRows)] = part.right;
  for (const Takes same :
       {Takes::kFirstColumn, Takes::kSecondColumn, Takes::kGapUnit, Takes::kGaps, Takes::kCounting, Takes::kSameTime})
    texts[static_cast<int>(same)] = spread.further[static_cast<int>(same)];
}

const char* first_statement(void* argument, const char* schema, const Part& part, int index) {
  const auto* const spread = static_cast<const Spread*>(argument);
  const char* texts[kTakes];
  memcpy(texts, spread->further, sizeof texts);
  add_rows(*spread, part, texts);
  // A little less than what was asked for, so that rounding loses no candidate: a number of transactions that the share
  // gives exactly stays the same.
  constexpr double kSafe = 1 - 1e-12;
  if (spread->min_support) {
    texts[static_cast<int>(Takes::kMinSupport)] = psprintf("%.17g", *spread->min_support * kSafe);
  } else if (spread->min_rate) {
    texts[static_cast<int>(Takes::kMinRate)] = psprintf("%.17g", *spread->min_rate * kSafe);
  } else {
    texts[static_cast<int>(Takes::kMinCount)] = psprintf("%lld", static_cast<long long>(spread->thresholds[index]));
  }
  return call_text(*spread, schema, spread->kind->candidates, texts);
}

const char* second_statement(void* argument, const char* schema, const Part& part, int index) {
  const auto* const spread = static_cast<const Spread*>(argument);
  if (spread->candidates[index] == nullptr) return nullptr;
  const char* texts[kTakes] = {};
  add_rows(*spread, part, texts);
  texts[static_cast<int>(Takes::kCandidates)] = spread->candidates[index];
  return call_text(*spread, schema, spread->kind->recount, texts);
}

/// The values that the parts answered. @return [parts] nullptr: NULL
struct varlena** values_of(const CountsKind& kind, char* const* answers, int count) {
  auto** const values = static_cast<struct varlena**>(palloc0(static_cast<Size>(Max(count, 1)) * sizeof(struct varlena*)));
  for (int k = 0; k < count; ++k)
    if (answers[k] != nullptr) {
      values[k] = summed_validated(kind.type, flat_of_text(kind.type.type, answers[k]));
      if (&kind.type == &kSummedPairCounts) check_counts_items(values[k], false, "All parts have integer items.");
    }
  return values;
}

/// @return nullptr: there is no value
struct varlena* sum_of(const CountsKind& kind, struct varlena* const* values, int count) {
  auto** const bytes = static_cast<const std::byte**>(palloc(static_cast<Size>(Max(count, 1)) * sizeof(std::byte*)));
  size_t some = 0;
  for (int k = 0; k < count; ++k)
    if (values[k] != nullptr) bytes[some++] = value_bytes(values[k]);
  if (some == 0) return nullptr;
  return made_value(kind.type.type, [&](CountsWork& work) { kind.type.add({bytes, some}, work.bytes, work.options); });
}

uint64_t total_of(const CountsKind& kind, struct varlena* value) {
  return value != nullptr ? kind.total(value_bytes(value)) : 0;
}

/// What each part counts in the second round. @return [parts] texts; nullptr: nothing; or nullptr: no part counts
const char** missing_of(const Spread& spread, struct varlena* sum, struct varlena* const* values, int count) {
  const CountsKind& kind = *spread.kind;
  auto** const texts = static_cast<const char**>(palloc0(static_cast<Size>(count) * sizeof(char*)));
  bool is_needed = false;
  for (int k = 0; k < count; ++k) {
    if (spread.thresholds != nullptr && spread.thresholds[k] == 1) continue;  // it has reported all that it has
    struct varlena* missing = sum;
    if (values[k] != nullptr)
      missing = made_value(kind.type.type, [&](CountsWork& work) {
        kind.missing(value_bytes(sum), value_bytes(values[k]), work.bytes, work.options);
      });
    if (kind.size(value_bytes(missing)) > 0) {
      texts[k] = flat_to_text(kind.type.type, {value_bytes(missing), value_capacity(missing)});
      is_needed = true;
    }
    if (missing != sum) pfree(missing);
  }
  return is_needed ? texts : nullptr;
}

/// Completes the values of the parts that were asked again. @param more  [parts] what they answered
void complete(const Spread& spread, struct varlena** values, struct varlena* const* more, const PartList& list) {
  const CountsKind& kind = *spread.kind;
  bool is_same = true;
  uint64_t before = 0;
  uint64_t after = 0;
  for (int k = 0; k < list.count && is_same; ++k) {
    if (spread.candidates[k] == nullptr) continue;
    before = total_of(kind, values[k]);
    after = total_of(kind, more[k]);
    is_same = before == after;
    if (!is_same || values[k] == nullptr || more[k] == nullptr) continue;
    struct varlena* const completed = made_value(kind.type.type, [&](CountsWork& work) {
      is_same = kind.complete(value_bytes(values[k]), value_bytes(more[k]), work.bytes, work.options);
    });
    pfree(values[k]);
    values[k] = completed;
  }
  if (is_same) return;
  ereport(
      ERROR,
      (errcode(ERRCODE_T_R_SERIALIZATION_FAILURE), errmsg("rows of table \"%s\" changed between the two rounds", list.table),
       before != after ? errdetail("There were %llu transactions in a part, then %llu.",
                                   static_cast<unsigned long long>(before), static_cast<unsigned long long>(after))
                       : errdetail("A part has as many transactions as before, with other items or times."),
       errhint("Ask again, or keep others from writing: LOCK TABLE ... IN SHARE MODE.")));
}

/// Both rounds. @return the counts, as long as the SPI connection; nullptr: there are no rows
struct varlena* count_parts(Spread& spread, const PartList& list, PartCalls& calls) {
  bool all = true;  // whether each part names all that it has
  if (spread.min_support || spread.min_rate) {
    all = false;
  } else {
    spread.thresholds = share_out(*spread.min_count, list);
    for (int k = 0; k < list.count; ++k) all = all && spread.thresholds[k] == 1;
  }
  calls.open();
  const CountsKind& kind = *spread.kind;
  struct varlena** const values = values_of(kind, calls.round("candidates", first_statement, &spread), list.count);
  struct varlena* sum = sum_of(kind, values, list.count);
  if (!all && list.count > 1 && sum != nullptr) {
    spread.candidates = missing_of(spread, sum, values, list.count);
    if (spread.candidates != nullptr) {
      complete(spread, values, values_of(kind, calls.round("recount", second_statement, &spread), list.count), list);
      sum = sum_of(kind, values, list.count);
    }
  }
  calls.close();
  ereport(DEBUG1, (errmsg_internal("%s: %llu bytes sent, %llu received", spread.operation,
                                   static_cast<unsigned long long>(calls.bytes_sent()),
                                   static_cast<unsigned long long>(calls.bytes_received()))));
  return sum;
}

/// What is to be cancelled and reported, in a context of the call.
struct SpreadCall {
  ProgressReport progress;
};

/// Runs the call in a subtransaction, so that connections can be given up after an error.
/// @return a copy in the current context; 0: NULL
Datum run_spread(Spread& spread) {
  const MemoryContext caller = CurrentMemoryContext;
  const MemoryContext context = AllocSetContextCreate(caller, "batmap parts", ALLOCSET_DEFAULT_SIZES);
  SpreadCall* const call = ContextOwned<SpreadCall>::reserve(context)->emplace();
  call->progress.start(spread.operation);
  const bool has_servers = spread.servers != NIL;
  const Oid table = has_servers ? InvalidOid : find_spread_table(spread.source.table);
  const Oid right = has_servers || spread.right == nullptr ? InvalidOid : find_spread_table(spread.right->table);
  PartCalls* calls = nullptr;
  Datum result = 0;
  MemoryContextSwitchTo(context);
  ErrorData* const error = error_of([&] {
    SPI_connect();
    const int settings = NewGUCNestLevel();
    set_config_option("search_path", "pg_catalog, pg_temp", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
    const MemoryContext inner = MemoryContextSwitchTo(context);
    const PartList list = spread.right == nullptr ? find_parts(spread.source, table, spread.servers, spread.disjoint)
                                                  : find_joined_parts(spread.source, table, *spread.right, right,
                                                                      spread.servers, spread.disjoint);
    calls = new (palloc(sizeof(PartCalls))) PartCalls(list, spread.operation, spread.schema, &call->progress);
    MemoryContextSwitchTo(inner);
    struct varlena* const counts = count_parts(spread, list, *calls);
    if (counts != nullptr) {
      MemoryContextSwitchTo(caller);
      result = datumCopy(PointerGetDatum(counts), false, -1);
      MemoryContextSwitchTo(inner);
    }
    AtEOXact_GUC(true, settings);
    SPI_finish();
  });
  MemoryContextSwitchTo(caller);
  if (error != nullptr) {
    if (calls != nullptr) calls->abandon();
    ReThrowError(error);
  }
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

/// Hands an argument on to the parts.
void pass_on(Spread& spread, FunctionCallInfo fcinfo, int argument, Takes as, Oid type) {
  if (PG_ARGISNULL(argument)) return;
  Oid output;
  bool is_varlena;
  getTypeOutputInfo(type, &output, &is_varlena);
  spread.further[static_cast<int>(as)] = OidOutputFunctionCall(output, PG_GETARG_DATUM(argument));
}

/// A table of some columns. @param table  argument of its name @param first  argument of the name of its first column
SpreadSource read_source(FunctionCallInfo fcinfo, int table, const char* name, int first, const char* const* roles,
                         int count = 2) {
  if (PG_ARGISNULL(table)) raise_null(name);
  SpreadSource source{};
  source.table = TextDatumGetCString(PG_GETARG_DATUM(table));
  source.count = count;
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
  if (spread.servers == NIL) return;
  // Parts get the source as it is.
  spread.further[static_cast<int>(Takes::kFirstColumn)] = spread.source.columns[0];
  spread.further[static_cast<int>(Takes::kSecondColumn)] = spread.source.columns[1];
}

/// The threshold, with the errors of the functions over one server.
void read_threshold(FunctionCallInfo fcinfo, Spread& spread) {
  const Arguments arguments{fcinfo, 1};
  spread.min_count = arguments.int8(0);
  spread.min_support = arguments.min_support(1);
  if (!spread.min_count && !spread.min_support)
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("a threshold is missing"),
                    errhint("Give min_count or min_support: top_k alone does not bound what the parts send.")));
  guarded([&] {
    PairQuery query;
    query.min_count = spread.min_count;
    query.min_support = spread.min_support;
    query.check();
  });
}

Datum distributed_counts(FunctionCallInfo fcinfo, Spread& spread) {
  spread.schema = schema_of_function(fcinfo->flinfo->fn_oid);
  const Datum counts = run_spread(spread);
  if (counts == 0) PG_RETURN_NULL();
  return counts;
}

/// Checks the arguments of episodes, and hands the gaps on, in ticks.
void read_episode_query(FunctionCallInfo fcinfo, const EpisodePlaces& places, Spread& spread) {
  const Arguments arguments{fcinfo, 0};
  arguments.require(places.gaps, "gaps");
  spread.min_count = arguments.int8(places.min_count);
  spread.min_rate = arguments.float8(places.min_rate);
  if (!spread.min_count && !spread.min_rate)
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("a threshold is missing"),
                    errhint("Give min_count or min_rate: top_k alone does not bound what the parts send.")));
  const GapList gaps = read_gaps(PG_GETARG_ARRAYTYPE_P(places.gaps));
  guarded([&] { check_number_of_gaps(static_cast<size_t>(gaps.rows)); });
  const char* const counting = arguments.string(places.counting, kEpisodeCountingNames[0]);
  StringInfoData ticks;
  initStringInfo(&ticks);
  for (int row = 0; row < gaps.rows; ++row) {
    const Gap gap = gap_of(gaps, row);
    appendStringInfo(&ticks, "%c%lld,%lld", row == 0 ? '{' : ',', static_cast<long long>(gap.low),
                     static_cast<long long>(gap.high));
  }
  appendStringInfoChar(&ticks, '}');
  guarded([&] {
    EpisodeQuery query;
    query.gaps = {{0, 1}};  // they are checked already
    query.min_count = spread.min_count;
    query.min_rate = spread.min_rate;
    query.max_length = arguments.int4(places.max_length);
    query.counting = parse_episode_counting(counting);
    query.check();
  });
  spread.further[static_cast<int>(Takes::kGapUnit)] = psprintf("%d", static_cast<int>(gaps.kind));
  spread.further[static_cast<int>(Takes::kGaps)] = ticks.data;
  spread.further[static_cast<int>(Takes::kCounting)] = counting;
}

}  // namespace

Datum batmap::pg::distributed_episode_counts(FunctionCallInfo fcinfo, const char* operation, const EpisodePlaces& places) {
  static constexpr const char* kRoles[] = {"time_column", "event_column", "stream_column"};
  Spread spread{};
  spread.operation = operation;
  spread.kind = &kEpisodeCounts;
  spread.source = read_source(fcinfo, 0, "source", places.columns, kRoles, 3);
  spread.source.key = 2;
  spread.source.together = "stream";
  spread.source.by_position = true;
  read_places(fcinfo, places.servers, spread);
  read_episode_query(fcinfo, places, spread);
  pass_on(spread, fcinfo, places.max_length, Takes::kMaxLength, INT4OID);
  pass_on(spread, fcinfo, places.include, Takes::kInclude, INT8ARRAYOID);
  pass_on(spread, fcinfo, places.exclude, Takes::kExclude, INT8ARRAYOID);
  pass_on(spread, fcinfo, places.same_time, Takes::kSameTime, BOOLOID);
  spread.schema = schema_of_function(fcinfo->flinfo->fn_oid);
  return run_spread(spread);
}

BATMAP_FUNCTION(batmap_distributed_episode_counts) {
  constexpr EpisodePlaces kPlaces{.gaps = 1,
                                  .min_count = 2,
                                  .min_rate = 3,
                                  .max_length = 4,
                                  .include = 5,
                                  .exclude = 6,
                                  .counting = 7,
                                  .same_time = 8,
                                  .columns = 9,
                                  .servers = 12};
  const Datum counts = distributed_episode_counts(fcinfo, "batmap_distributed_episode_counts", kPlaces);
  if (counts == 0) PG_RETURN_NULL();
  return counts;
}

BATMAP_FUNCTION(batmap_distributed_pair_counts) {
  Spread spread{};
  spread.operation = "batmap_distributed_pair_counts";
  spread.kind = &kPairCounts;
  read_last_arguments(fcinfo, 5, spread);
  read_threshold(fcinfo, spread);
  pass_on(spread, fcinfo, 3, Takes::kInclude, INT8ARRAYOID);
  pass_on(spread, fcinfo, 4, Takes::kExclude, INT8ARRAYOID);
  return distributed_counts(fcinfo, spread);
}

BATMAP_FUNCTION(batmap_distributed_itemset_counts) {
  Spread spread{};
  spread.operation = "batmap_distributed_itemset_counts";
  spread.kind = &kItemsetCounts;
  read_last_arguments(fcinfo, 6, spread);
  read_threshold(fcinfo, spread);
  pass_on(spread, fcinfo, 3, Takes::kMaxLength, INT4OID);
  pass_on(spread, fcinfo, 4, Takes::kInclude, INT8ARRAYOID);
  pass_on(spread, fcinfo, 5, Takes::kExclude, INT8ARRAYOID);
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
  return distributed_counts(fcinfo, spread);
}
