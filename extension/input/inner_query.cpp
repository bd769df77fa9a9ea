// Parses, analyses and runs a query. See inner_query.h.
#include "extension/input/inner_query.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

// Makes errors of the inner query point into its own text, as SQL functions do.
void point_into_query(void* arg) {
  if (geterrcode() == ERRCODE_UNDEFINED_PARAMETER)
    errhint("The text has no parameters. Put the value into it: format('SELECT ... %%L', value).");
  const auto* const query = static_cast<const char*>(arg);
  const int position = geterrposition();
  if (position > 0) {
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

Query* analyze_select(RawStmt* statement, const char* query) {
  List* const rewritten = pg_analyze_and_rewrite_fixedparams(statement, query, nullptr, 0, nullptr);
  Query* const analyzed = list_length(rewritten) == 1 ? linitial_node(Query, rewritten) : nullptr;
  if (analyzed == nullptr || analyzed->commandType != CMD_SELECT || analyzed->utilityStmt != nullptr)
    ereport(ERROR, (errcode(ERRCODE_SYNTAX_ERROR), errmsg("input query must be a SELECT without INTO"),
                    errhint("The function returns the rows: SELECT ... INTO t FROM batmap_...(...).")));
  if (analyzed->hasModifyingCTE)
    ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("input query must not change data"),
                    errhint("Change the data in a statement before this one.")));
  return analyzed;
}

TwoColumns two_columns(const Query* query, const char* columns) {
  const UpToThreeColumns found = first_columns(query);
  if (found.count != 2)
    ereport(ERROR,
            (errcode(ERRCODE_INVALID_COLUMN_REFERENCE), errmsg("input query must return 2 columns, not %d", found.count),
             errhint("The two columns are %s.", columns)));
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

void run_plan(PlannedStmt* plan, const char* query, std::span<const Oid> types, DestReceiver* receiver) {
  QueryDesc* const description =
      CreateQueryDesc(plan, query, GetActiveSnapshot(), InvalidSnapshot, receiver, nullptr, nullptr, 0);
  ExecutorStart(description, 0);
  check_columns(description->tupDesc, types);
  run_executor(description);
  ExecutorFinish(description);
  ExecutorEnd(description);
  FreeQueryDesc(description);
}

}  // namespace batmap::pg
