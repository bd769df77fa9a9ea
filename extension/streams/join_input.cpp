// Reads both sides of a join. See join_input.h.
#include "extension/streams/join_input.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

JoinSide side(const InputRows& rows) {
  return rows.log != nullptr ? side_of(*rows.log, rows.ranks) : JoinSide{rows.chunks(), {}};
}

}  // namespace

JoinRows read_join_queries(const InnerQuery& left_query, const InnerQuery& right_query, Oid left_type, Oid right_type,
                           RunCall& call, JoinLogs& logs, MemoryContext context, const char* items_hint) {
  guarded([&] {
    logs.left.emplace(call.options);
    logs.right.emplace(call.options);
  });
  SharedTids tids{};
  QueryInput left{&*logs.left, &call.progress, left_type, nullptr, nullptr, 0, false, false, "a and b", true, &tids};
  QueryInput right{&*logs.right, &call.progress, right_type, nullptr, nullptr, 0, false, false, "b and c", false, &tids};
  left.items_hint = right.items_hint = items_hint;
  check_query(left_query, left, context);
  check_query(right_query, right, context);
  read_query(left_query, left, call.meter, context);
  read_query(right_query, right, call.meter, context);
  if (tids.dictionary != nullptr) MemoryContextDelete(tids.dictionary->context);
  return {left.in_parallel ? left.kind() : right.kind(), query_rows(left), query_rows(right)};
}

JoinedRelation joined_rows(const JoinRows& rows, JoinLogs& logs, const ExecutionOptions& options) {
  JoinedRelation joined = join_relations(side(rows.left), side(rows.right), options);
  logs.left.reset();
  logs.right.reset();
  return joined;
}

}  // namespace batmap::pg
