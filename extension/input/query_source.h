// Rows from the text of a query: the input of the table functions.
//
// The text is parsed, analysed, planned and run as the caller, in the snapshot of the calling statement, like the
// query of COPY (query) TO. It must be one SELECT of two columns, (tid, item) or (item, tid). Where the values of both stand
// for themselves, the plan packs the rows (packed_plan.h), in parallel workers where the planner finds that cheaper;
// otherwise every row goes from the executor straight into the log. There is never a table of tuples in between.
#pragma once

#include <span>

#include "relation/row_log.h"

#include "extension/input/dictionary.h"
#include "extension/server/progress.h"

#include "extension/server/pg.h"

namespace batmap::pg {

/// Tids that mean the same in two queries, whatever their type. Filled by the first, used by the second.
struct SharedTids {
  Oid type;
  Oid collation;
  Dictionary* dictionary;  // nullptr: tids are integers, or no query has been read
};

struct QueryInput {
  RowLog* log;  // filled and sealed; not owned
  ProgressReport* progress;
  Oid item_type;  // for the _of functions: what the second column must be; else InvalidOid
  // Results:
  Dictionary* items;    // item values by rank, for the _of functions; else nullptr
  uint32_t* item_rank;  // [items->count] rank of each item id in the log
  uint64_t rows_read;   // rows with both columns; the others are no rows of the relation
  bool in_parallel;     // read by workers, too
  // What else the query is, where its columns are not just the transaction and the item:
  const char* columns = "the transaction and the item";  // for hints
  bool item_first = false;
  SharedTids* tids = nullptr;  // nullptr: this query's alone

  /// What the engine is to take items for; empty where they are integers.
  std::span<const uint32_t> ranks() const {
    return items == nullptr ? std::span<const uint32_t>() : std::span(item_rank, items->count);
  }

  /// A word for batmap_last_run().
  const char* kind() const { return in_parallel ? "parallel scan" : "stream"; }
};

/// Checks a query as read_query does before it reads: for the second of two, so that its errors do not come late. Where the
/// tids are shared and nothing is known of them yet, their type is that of this query.
void check_query(const char* query, const QueryInput& input, MemoryContext context);

/// @raises 42601 unless one SELECT; 42P10 unless two columns; 42804 for wrong types
void read_query(const char* query, QueryInput& input, MemoryMeter& meter, MemoryContext context);

}  // namespace batmap::pg
