// Finds the queries of a call among its arguments, by their names, and shows them. See explain_inputs.h.
#include "extension/streams/explain_inputs.h"

#include <cstring>
#include <iterator>

#include "extension/input/inner_estimate.h"
#include "extension/input/inner_query.h"
#include "extension/input/query_shape.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

constexpr const char* kPairsQuery = "pairs_query";  // has no columns to name

// The parameters that take a query, and what EXPLAIN calls them.
constexpr struct QueryName {
  const char* parameter;
  const char* label;
} kQueryNames[] = {{"query", "Query"},
                   {"input_table", "Query"},
                   {"left_query", "Left Query"},
                   {"right_query", "Right Query"},
                   {kPairsQuery, "Pairs Query"}};

/// The arguments of a call, by the names of its parameters.
struct NamedArguments {
  List* values;
  char** names;  // [list_length(values)], and those of the result; nullptr: there are none
  ParamListInfo params;

  /// @return nullptr: there is no such parameter
  Node* find(const char* name) const {
    ListCell* cell;
    foreach (cell, values)
      if (names != nullptr && strcmp(names[foreach_current_index(cell)], name) == 0) return static_cast<Node*>(lfirst(cell));
    return nullptr;
  }

  /// The value of an argument that needs no row. @return nullptr: there is no such parameter, or its value is unknown
  const Const* value(const char* name) const {
    Node* argument = find(name);
    if (argument == nullptr) return nullptr;
    if (!IsA(argument, Const)) {
      auto* const root = makeNode(PlannerInfo);
      root->glob = makeNode(PlannerGlobal);
      root->glob->boundParams = params;
      argument = estimate_expression_value(root, argument);
    }
    return IsA(argument, Const) ? castNode(Const, argument) : nullptr;
  }
};

NamedArguments arguments_of(const FuncExpr* call, ParamListInfo params) {
  const HeapTuple row = SearchSysCache1(PROCOID, ObjectIdGetDatum(call->funcid));
  if (!HeapTupleIsValid(row)) elog(ERROR, "cache lookup failed for function %u", call->funcid);
  NamedArguments arguments{call->args, nullptr, params};
  Oid* types;
  char* modes;
  get_func_arg_info(row, &types, &arguments.names, &modes);
  ReleaseSysCache(row);
  return arguments;
}

/// What is known of the queries of a call.
struct KnownQueries {
  const FuncExpr* call;
  ParamListInfo params;
  char* thresholds;  // nullptr: there are none
  int count;
  struct {
    const char* label;
    InnerQuery query;
    bool is_complete;  // so are the names of its columns and the values of its parameters
    bool has_columns;  // they may be named
  } queries[std::size(kQueryNames)];
};

/// The arguments that are called min_..., as far as their values are known: "min_count = 3, min_lift = 1".
/// @return nullptr: there are none
char* thresholds_of(const NamedArguments& arguments) {
  char* found = nullptr;
  for (int k = 0; arguments.names != nullptr && k < list_length(arguments.values); ++k) {
    const char* const name = arguments.names[k];
    if (strncmp(name, "min_", 4) != 0) continue;
    const Const* const value = arguments.value(name);
    if (value == nullptr || value->constisnull) continue;
    Oid output;
    bool is_varlena;
    getTypeOutputInfo(value->consttype, &output, &is_varlena);
    found = psprintf("%s%s%s = %s", found == nullptr ? "" : found, found == nullptr ? "" : ", ", name,
                     OidOutputFunctionCall(output, value->constvalue));
  }
  return found;
}

void find_queries(void* arg) {
  auto& known = *static_cast<KnownQueries*>(arg);
  const NamedArguments arguments = arguments_of(known.call, known.params);
  for (const QueryName& name : kQueryNames) {
    const Const* const given = arguments.value(name.parameter);
    if (given == nullptr || given->constisnull) continue;
    const bool is_table = given->consttype == REGCLASSOID;
    if (!is_table && given->consttype != TEXTOID) continue;
    auto& found = known.queries[known.count++];
    found.label = name.label;
    found.query = InnerQuery{is_table ? table_query(DatumGetObjectId(given->constvalue))
                                      : query_text(DatumGetTextPP(given->constvalue))};
    found.is_complete = true;
    const auto add = [&](const char* parameter, auto use) {
      const Const* const value = arguments.value(parameter);
      if (value == nullptr)
        found.is_complete &= arguments.find(parameter) == nullptr;
      else if (!value->constisnull)
        use(value->constvalue);
    };
    add("params", [&](Datum value) { found.query.params = value; });
    if (strcmp(name.parameter, kPairsQuery) == 0) continue;
    add("tid_column", [&](Datum value) { found.query.tid_column = NameStr(*DatumGetName(value)); });
    add("item_column", [&](Datum value) { found.query.item_column = NameStr(*DatumGetName(value)); });
    add("tid", [&](Datum value) { found.query.tid_column = TextDatumGetCString(value); });
    add("item", [&](Datum value) { found.query.item_column = TextDatumGetCString(value); });
    found.has_columns = arguments.find("tid_column") != nullptr || arguments.find("tid") != nullptr;
  }
}

void find_thresholds(void* arg) {
  auto& known = *static_cast<KnownQueries*>(arg);
  known.thresholds = thresholds_of(arguments_of(known.call, known.params));
}

KnownQueries queries_of(const FuncExpr* call, ParamListInfo params) {
  KnownQueries known{call, params, nullptr, 0, {}};
  // Finding out may call functions, which may fail.
  if (!succeeds(find_queries, &known)) known.count = 0;
  if (!succeeds(find_thresholds, &known)) known.thresholds = nullptr;
  return known;
}

bool is_explaining_plan = false;

struct PlanText {
  const InnerQuery* query;
  bool has_columns;
  const char* label;
  ExplainState* es;  // its own
};

void print_plan(void* arg) {
  const auto& wanted = *static_cast<PlanText*>(arg);
  ExplainState* const es = wanted.es;
  PG_TRY();
  {
    is_explaining_plan = true;
    Query* query = analyze_select(*wanted.query, nullptr);
    if (wanted.has_columns) query = shape_rows(query, *wanted.query, TEXTOID);
    PlannedStmt* const plan = plan_select(query, wanted.query->text);
    plan->queryId = 0;  // not to be shown
    QueryDesc* const description =
        CreateQueryDesc(plan, wanted.query->text, GetActiveSnapshot(), InvalidSnapshot, None_Receiver, nullptr, nullptr, 0);
    ExecutorStart(description, EXEC_FLAG_EXPLAIN_ONLY);  // checks the rights of the caller
    ExplainOpenGroup(wanted.label, wanted.label, true, es);
    if (es->format == EXPLAIN_FORMAT_TEXT) {
      appendStringInfoSpaces(es->str, es->indent * 2);
      appendStringInfo(es->str, "%s:\n", wanted.label);
      ++es->indent;
    }
    ExplainPrintPlan(es, description);
    if (es->format == EXPLAIN_FORMAT_TEXT) --es->indent;
    ExplainCloseGroup(wanted.label, wanted.label, true, es);
    ExecutorEnd(description);
    FreeQueryDesc(description);
  }
  PG_FINALLY();
  { is_explaining_plan = false; }
  PG_END_TRY();
}

}  // namespace

void explain_queries(const FuncExpr* call, ParamListInfo params, ExplainState* es) {
  const KnownQueries known = queries_of(call, params);
  for (int k = 0; k < known.count; ++k) {
    const InnerQuery& query = known.queries[k].query;
    ExplainPropertyText(known.queries[k].label, query.text, es);
    if (query.tid_column != nullptr && query.item_column != nullptr) {
      const char* const tid = pstrdup(quote_identifier(query.tid_column));
      ExplainPropertyText("Columns", psprintf("%s, %s", tid, quote_identifier(query.item_column)), es);
    }
  }
  if (known.thresholds != nullptr) ExplainPropertyText("Threshold", known.thresholds, es);
}

void explain_query_plans(const FuncExpr* call, ParamListInfo params, ExplainState* es) {
  if (is_explaining_plan) return;
  const KnownQueries known = queries_of(call, params);
  for (int k = 0; k < known.count; ++k) {
    const auto& query = known.queries[k];
    if (!query.is_complete) continue;
    // A failure must leave no trace in the output, so the plan is written beside it.
    ExplainState own = *es;
    own.str = makeStringInfo();
    own.grouping_stack = list_copy(es->grouping_stack);
    own.analyze = own.buffers = own.wal = own.timing = own.summary = own.settings = false;
    own.hide_workers = false;
    own.workers_state = nullptr;
    PlanText text{&query.query, query.has_columns, psprintf("%s Plan", query.label), &own};
    if (!succeeds(print_plan, &text)) continue;
    appendBinaryStringInfo(es->str, own.str->data, own.str->len);
    es->grouping_stack = own.grouping_stack;
  }
}

}  // namespace batmap::pg
