// Parses, analyses and runs a query. See inner_query.h.
#include "extension/input/inner_query.h"

#include <algorithm>
#include <cctype>

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

const char* skip_space(const char* at) {
  while (scanner_isspace(*at)) ++at;
  return at;
}

bool is_letter(char byte) { return isalpha(static_cast<unsigned char>(byte)) != 0 || byte == '_' || IS_HIGHBIT_SET(byte); }

/// The end of the identifier that begins here. @return nullptr: none begins here
const char* end_of_identifier(const char* at) {
  if (*at != '"') {
    if (!is_letter(*at)) return nullptr;
    while (is_letter(*at) || isdigit(static_cast<unsigned char>(*at)) != 0 || *at == '$') ++at;
    return at;
  }
  const char* const first = ++at;
  while (*at != '\0' && (*at != '"' || at[1] == '"')) at += *at == '"' ? 2 : 1;
  return *at == '"' && at > first ? at + 1 : nullptr;
}

/// Is the name at a position, in characters from 1 on, without a schema?
bool has_no_schema(const char* query, int position) {
  const char* const end = end_of_identifier(query + pg_mbcharcliplen(query, static_cast<int>(strlen(query)), position - 1));
  return end != nullptr && *skip_space(end) != '.';
}

/// Is there no schema in the search_path?
bool is_path_empty() {
  const auto is_path = [](const char* path) { return strcmp(namespace_search_path, path) == 0; };
  return is_path("") || is_path("\"\"") || is_path("pg_catalog, pg_temp");
}

// Makes errors of the inner query point into its own text, as SQL functions do.
void point_into_query(void* arg) {
  if (geterrcode() == ERRCODE_UNDEFINED_PARAMETER) errhint("Give its value: params => ROW(value of $1, value of $2, ...).");
  const auto* const query = static_cast<const char*>(arg);
  const int position = geterrposition();
  if (position > 0) {
    if (geterrcode() == ERRCODE_UNDEFINED_TABLE && has_no_schema(query, position)) {
      if (is_path_empty())
        errhint("The search_path has no schema, as in restores: write schema.table, or give the table as regclass.");
      else if (pg_strncasecmp(skip_space(query), "with", 4) != 0)  // of its own WITH names the server knows more
        errhint(
            "If it is a WITH name: a query text is a statement of its own, and does not see those of the statement around "
            "it.");
    }
    errposition(0);
    internalerrposition(position);
    internalerrquery(query);
  } else {
    errcontext("batmap input query \"%s\"", query);
  }
}

/// The number of columns that the query returns, and the types of the first three.
UpToThreeColumns first_columns(const Query* query) {
  UpToThreeColumns found{};
  ListCell* cell;
  foreach (cell, query->targetList) {
    const auto* const target = static_cast<const TargetEntry*>(lfirst(cell));
    if (target->resjunk) continue;
    if (found.count < 3) {
      found.types[found.count] = exprType(reinterpret_cast<Node*>(target->expr));
      found.collations[found.count] = exprCollation(reinterpret_cast<Node*>(target->expr));
    }
    ++found.count;
  }
  return found;
}

/// Another extension in the server may have changed the plan.
void check_columns(TupleDesc row, std::span<const Oid> types) {
  bool same = static_cast<size_t>(row->natts) == types.size();
  for (int k = 0; same && k < row->natts; ++k) same = TupleDescAttr(row, k)->atttypid == types[k];
  if (!same)
    ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH), errmsg("plan of the input query gives other columns than the query"),
                    errhint("Another extension may have made the plan.")));
}

void begin_receiving(DestReceiver*, int, TupleDesc) {}
void end_receiving(DestReceiver*) {}

}  // namespace

void enter_inner_query(ErrorContextCallback& callback, const char* query) {
  callback.callback = point_into_query;
  callback.arg = const_cast<char*>(query);
  callback.previous = error_context_stack;
  error_context_stack = &callback;
}

// Identifiers with dots between them. SELECT alone is a query.
bool is_table_name(const char* text) {
  const char* at = skip_space(text);
  const char* const first = at;
  const char* const end = end_of_identifier(first);
  if (end == nullptr) return false;
  const int keyword = ScanKeywordLookup(pnstrdup(first, static_cast<Size>(end - first)), &ScanKeywords);
  if (keyword >= 0 && ScanKeywordCategories[keyword] == RESERVED_KEYWORD) return false;
  for (at = skip_space(end); *at == '.'; at = skip_space(at)) {
    at = end_of_identifier(skip_space(at + 1));
    if (at == nullptr) return false;
  }
  return *at == '\0';
}

namespace {

/// @raises 42601 unless the query is one SELECT
RawStmt* parse_select(const char* query, const char* columns) {
  List* const statements = raw_parser(query, RAW_PARSE_DEFAULT);
  if (list_length(statements) != 1)
    ereport(ERROR, (errcode(ERRCODE_SYNTAX_ERROR),
                    errmsg("input query must be one SELECT, not %d statements", list_length(statements)),
                    columns == nullptr ? 0 : errhint("Give a query of two columns: %s.", columns)));
  RawStmt* const statement = linitial_node(RawStmt, statements);
  if (!IsA(statement->stmt, SelectStmt))
    ereport(ERROR, (errcode(ERRCODE_SYNTAX_ERROR), errmsg("input query must be a SELECT"),
                    columns == nullptr ? 0 : errhint("Give a query of two columns: %s.", columns)));
  return statement;
}

/// The values of parameters.
struct ParamValues {
  int count;
  Oid* types;  // UNKNOWNOID: the place in the query decides; later the type that it decided on
  int32* typmods;
  Oid* collations;
  Datum* values;
  bool* nulls;
};

ParamValues param_values(Datum record) {
  const HeapTupleHeader row = DatumGetHeapTupleHeader(record);
  const TupleDesc fields = lookup_rowtype_tupdesc(HeapTupleHeaderGetTypeId(row), HeapTupleHeaderGetTypMod(row));
  HeapTupleData tuple{};
  tuple.t_len = HeapTupleHeaderGetDatumLength(row);
  tuple.t_data = row;
  const auto room = [&](Size bytes) { return palloc(static_cast<Size>(fields->natts) * bytes); };
  ParamValues params{fields->natts,
                     static_cast<Oid*>(room(sizeof(Oid))),
                     static_cast<int32*>(room(sizeof(int32))),
                     static_cast<Oid*>(room(sizeof(Oid))),
                     static_cast<Datum*>(room(sizeof(Datum))),
                     static_cast<bool*>(room(sizeof(bool)))};
  heap_deform_tuple(&tuple, fields, params.values, params.nulls);
  params.count = 0;
  for (int k = 0; k < fields->natts; ++k) {
    const Form_pg_attribute field = TupleDescAttr(fields, k);
    if (field->attisdropped) continue;
    const int number = params.count++;
    params.types[number] = field->atttypid;
    params.typmods[number] = field->atttypmod;
    params.collations[number] = field->attcollation;
    params.values[number] = params.values[k];
    params.nulls[number] = params.nulls[k];
  }
  ReleaseTupleDesc(fields);
  return params;
}

/// Literals without a type become values of the types that their places in the query ask for.
void give_types(ParamValues& params, const Oid* types) {
  for (int k = 0; k < params.count; ++k) {
    if (params.types[k] != UNKNOWNOID || types[k] == UNKNOWNOID || params.nulls[k]) continue;
    Oid function;
    Oid parameter;
    getTypeInputInfo(types[k], &function, &parameter);
    params.values[k] = OidInputFunctionCall(function, DatumGetCString(params.values[k]), parameter, -1);
  }
}

/// Puts constants in the places of parameters.
Node* with_constants(Node* node, void* context) {
  if (node == nullptr) return nullptr;
  const auto mutator = reinterpret_cast<Node* (*)()>(reinterpret_cast<void*>(with_constants));
  if (IsA(node, Query)) return reinterpret_cast<Node*>(query_tree_mutator(castNode(Query, node), mutator, context, 0));
  if (!IsA(node, Param) || castNode(Param, node)->paramkind != PARAM_EXTERN)
    return expression_tree_mutator(node, mutator, context);
  const auto* const params = static_cast<const ParamValues*>(context);
  const Param* const param = castNode(Param, node);
  const int k = param->paramid - 1;
  int16 length;
  bool by_value;
  get_typlenbyval(param->paramtype, &length, &by_value);
  const int32 typmod = params->types[k] == param->paramtype ? params->typmods[k] : -1;
  return reinterpret_cast<Node*>(makeConst(param->paramtype, typmod, param->paramcollid, length,
                                           params->nulls[k] ? Datum{0} : params->values[k], params->nulls[k], by_value));
}

/// Which parameters a query has. A call with two queries may have values for the other one, and the server refuses those whose type
/// no place tells.
struct UsedParams {
  int count;
  bool* marks;
};

bool mark_used(Node* node, void* context) {
  if (node == nullptr) return false;
  if (!IsA(node, ParamRef)) return raw_expression_tree_walker(node, walker(mark_used), context);
  const auto* const used = static_cast<const UsedParams*>(context);
  const int number = castNode(ParamRef, node)->number;
  if (number >= 1 && number <= used->count) used->marks[number - 1] = true;
  return false;
}

List* analyze_with(const InnerQuery& query, RawStmt* statement, ParamValues& params) {
  auto* types = static_cast<Oid*>(palloc(static_cast<Size>(params.count + 1) * sizeof(Oid)));
  std::copy_n(params.types, params.count, types);
  UsedParams used{params.count, static_cast<bool*>(palloc0(static_cast<Size>(params.count)))};
  if (std::find(types, types + params.count, Oid{UNKNOWNOID}) != types + params.count) mark_used(statement->stmt, &used);
  for (int k = 0; k < params.count; ++k)
    if (types[k] == UNKNOWNOID && !used.marks[k]) types[k] = TEXTOID;
  int count = params.count;
  List* const rewritten = pg_analyze_and_rewrite_varparams(statement, query.text, &types, &count, nullptr);
  if (count > params.count)
    ereport(ERROR, (errcode(ERRCODE_UNDEFINED_PARAMETER), errmsg("there is no parameter $%d", count)));
  give_types(params, types);
  return castNode(List, with_constants(reinterpret_cast<Node*>(rewritten), &params));
}

}  // namespace

const char* query_text(const text* given) {
  char* const query = text_to_cstring(given);
  return is_table_name(query) ? psprintf("TABLE %s", query) : query;
}

const char* table_query(Oid table) {
  const char* const name = get_rel_name(table);
  const char* const schema = name == nullptr ? nullptr : get_namespace_name_or_temp(get_rel_namespace(table));
  if (schema == nullptr)
    ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE), errmsg("relation with OID %u does not exist", table)));
  return psprintf("TABLE %s", quote_qualified_identifier(schema, name));
}

Query* analyze_select(const InnerQuery& query, const char* columns) {
  RawStmt* const statement = parse_select(query.text, columns);
  List* rewritten;
  if (query.open_params) {
    Oid* types = nullptr;
    int count = 0;
    rewritten = pg_analyze_and_rewrite_varparams(statement, query.text, &types, &count, nullptr);
  } else if (query.params == 0) {
    rewritten = pg_analyze_and_rewrite_fixedparams(statement, query.text, nullptr, 0, nullptr);
  } else {
    ParamValues params = param_values(query.params);
    rewritten = analyze_with(query, statement, params);
  }
  Query* const analyzed = list_length(rewritten) == 1 ? linitial_node(Query, rewritten) : nullptr;
  if (analyzed == nullptr || analyzed->commandType != CMD_SELECT || analyzed->utilityStmt != nullptr)
    ereport(ERROR, (errcode(ERRCODE_SYNTAX_ERROR), errmsg("input query must be a SELECT without INTO"),
                    errhint("The function returns the rows: SELECT ... INTO t FROM batmap_...(...).")));
  if (analyzed->hasModifyingCTE)
    ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("input query must not change data"),
                    errhint("Change the data in a statement before this one.")));
  return analyzed;
}

TwoColumns two_columns(const Query* query, const char* columns, bool can_be_named) {
  const UpToThreeColumns found = first_columns(query);
  if (found.count != 2)
    ereport(ERROR,
            (errcode(ERRCODE_INVALID_COLUMN_REFERENCE), errmsg("input query must return 2 columns, not %d", found.count),
             errhint("The two columns are %s.%s", columns,
                     found.count <= 2 ? ""
                     : can_be_named   ? " Name them with tid_column and item_column."
                                      : " Select these alone.")));
  return {{found.types[0], found.types[1]}, {found.collations[0], found.collations[1]}};
}

UpToThreeColumns two_or_three_columns(const Query* query, const char* columns) {
  const UpToThreeColumns found = first_columns(query);
  if (found.count != 2 && found.count != 3)
    ereport(ERROR, (errcode(ERRCODE_INVALID_COLUMN_REFERENCE),
                    errmsg("input query must return 2 or 3 columns, not %d", found.count),
                    errhint("The columns are %s.", columns)));
  return found;
}

DestReceiver make_receiver(bool (*receive)(TupleTableSlot*, DestReceiver*)) {
  return {receive, begin_receiving, end_receiving, end_receiving, DestNone};
}

void run_plan(PlannedStmt* plan, const char* query, std::span<const Oid> types, DestReceiver* receiver,
              const PlanState** running) {
  QueryDesc* const description =
      CreateQueryDesc(plan, query, GetActiveSnapshot(), InvalidSnapshot, receiver, nullptr, nullptr, 0);
  ExecutorStart(description, 0);
  check_columns(description->tupDesc, types);
  if (running != nullptr) *running = description->planstate;
  run_executor(description);
  ExecutorFinish(description);
  ExecutorEnd(description);
  FreeQueryDesc(description);
}

}  // namespace batmap::pg
