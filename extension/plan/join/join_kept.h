// Kept counts (batmap_keep) as the input of a join-project: the counts of the companions are read instead of the rows of the
// table. Planning finds out whether they answer the query, and what that costs; the start of the executor, whether they do
// so in its snapshot.
//
// They answer a self-join of a kept table by its tid that counts pairs of its items, the smaller or the larger one first: with the
// filter of the kept table as the only condition, and a count that a row which occurs twice does not change.
#pragma once

#include "extension/plan/join/join_project_path.h"
#include "extension/plan/join/join_project_rows.h"

#include "extension/server/pg.h"

namespace batmap::pg {

/// A kept table as the planner sees it.
struct KeptInput {
  Oid table;   // InvalidOid: no kept counts answer the query
  Oid counts;  // its companion
  Cost cost;   // of reading counts and changes
};

/// @param spec  of the path that counts
KeptInput kept_input(PlannerInfo* root, const JoinProjectQuery& query, const JoinProjectSpec& spec);

/// To be called when the executor starts, with the snapshot that the query will use.
/// @return why the kept counts of a table must not be used; nullptr: they may
const char* why_not_kept(Oid table, const EState* estate);

/// Reads the counts in the snapshot of the query.
/// @param[out] why  they cannot be used after all, if no stream is returned
JoinProjectRows open_kept(JoinProjectInputs& inputs, const JoinProjectBounds& bounds, MemoryContext context,
                          const char*& why);

}  // namespace batmap::pg
