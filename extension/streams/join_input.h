// The input of a join of two tables R(a, b) and S(b, c): the rows of two queries or relations, and one relation made of both.
#pragma once

#include <optional>

#include "extension/streams/table_input.h"
#include "relation/joined_relation.h"

#include "extension/server/pg.h"

namespace batmap::pg {

/// The rows of two queries, in a call.
struct JoinLogs {
  std::optional<RowLog> left;
  std::optional<RowLog> right;
};

struct JoinRows {
  const char* kind;  // how they were read: a word for batmap_last_run()
  InputRows left;
  InputRows right;

  uint64_t count() const { return left.count + right.count; }
};

/// Reads both queries.
/// @param left_type, right_type  of the items; InvalidOid: they are integers
/// @param logs  of the call; made here
/// @param items_hint  see QueryInput
JoinRows read_join_queries(const InnerQuery& left_query, const InnerQuery& right_query, Oid left_type, Oid right_type,
                           RunCall& call, JoinLogs& logs, MemoryContext context, const char* items_hint = nullptr);

/// Joins both sides, and frees the logs. To be called in guarded.
JoinedRelation joined_rows(const JoinRows& rows, JoinLogs& logs, const ExecutionOptions& options);

}  // namespace batmap::pg
