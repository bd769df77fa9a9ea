// Rows from the text of a query: the input of the table functions.
//
// The text is parsed, analysed, planned and run as the caller, in the snapshot of the calling statement, like
// the query of COPY (query) TO. It must be one SELECT of two columns, (tid, item) or (item, tid). If the
// values of both columns are their own keys, the plan packs the rows (packed_plan.h), in parallel workers if
// the planner finds that cheaper. Otherwise each row goes from the executor directly into the log. The rows
// are never stored as tuples in between.
#pragma once

#include <span>

#include "relation/row_log.h"

#include "extension/input/dictionary.h"
#include "extension/input/inner_query.h"
#include "extension/server/progress.h"

#include "extension/server/pg.h"

namespace batmap::pg {

/// The tids that two queries have in common, whatever their types. The first query fills this, the
/// second uses it.
struct SharedTids {
  Oid type;
  Oid collation;
  Dictionary* dictionary;  // nullptr: tids are integers, or no query has been read
};

struct QueryInput {
  RowLog* log;  // filled and sealed; not owned
  ProgressReport* progress;
  Oid item_type;  // for the _of functions: the type of the item column; ANYELEMENTOID: any; else InvalidOid
  // Results:
  Dictionary* items;    // item values by rank, for the _of functions; else nullptr. If the caller gives one, item values by
                        // id instead, among them those that it has
  uint32_t* item_rank;  // [items->count] rank of each item id in the log; nullptr with a dictionary of the caller
  uint64_t rows_read;   // rows without NULL; other rows are not part of the relation
  bool in_parallel;     // parallel workers read, too
  bool by_position;     // the two columns have no names that tell which is which, and neither is an array
  // For queries whose columns are not just the transaction and the item:
  const char* columns = "the transaction and the item";  // for hints
  bool item_first = false;
  SharedTids* tids = nullptr;        // nullptr: the tids are not shared
  Oid items_collation = InvalidOid;  // of the dictionary that the caller gives
  const char* items_hint = nullptr;  // for items of a type that the function does not take; nullptr: there is an _of form

  /// The rank of each item id, for the engine. Empty if items are integers, or the engine gets their ids.
  std::span<const uint32_t> ranks() const {
    return item_rank == nullptr ? std::span<const uint32_t>() : std::span(item_rank, items->count);
  }

  /// The word for batmap_last_run().
  const char* kind() const { return in_parallel ? "parallel scan" : "stream"; }
};

/// Makes the checks that read_query() makes before it reads. For the second of two queries, so that its
/// errors come before the first is read. If the tids are shared and have no type yet, they get the type
/// of this query.
void check_query(const InnerQuery& query, const QueryInput& input, MemoryContext context);

/// @raises what analyze_select() and shape_rows() do; 42P10 unless two columns; 42804 for wrong types
void read_query(const InnerQuery& query, QueryInput& input, MemoryMeter& meter, MemoryContext context);

}  // namespace batmap::pg
