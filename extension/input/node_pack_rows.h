// The plan node "BatmapPackRows". It packs rows of a key and an item into chunks (relation/chunk.h): one
// row with a bytea holds up to 4,096 rows. Below a Gather the workers pack; most of their chunks lie in shared memory
// (shared_chunks.h), and a row names the place.
#pragma once

#include <span>

#include "extension/input/key_column.h"
#include "extension/input/shared_chunks.h"

#include "extension/server/pg.h"

namespace batmap::pg {

/// Rows of two columns whose values are their own keys.
struct RowColumns {
  KeyKind key;
  KeyKind item;
  int null_items;      // 0: rows whose item is NULL are left out; 1: their item is kNullKey
  int key_column = 0;  // the other column is the item
};

/// What packing adds to the cost of a path: less than nothing if it reads the pages of a table without the executor.
Cost packing_cost(PlannerInfo* root, const Path* rows);

/// A path that packs the rows of `rows`, a path with exactly these two columns. `rows` may be partial.
Path* pack_rows_path(PlannerInfo* root, RelOptInfo* rel, Path* rows, const RowColumns& columns);

/// The same for a finished plan with exactly these two columns.
Plan* pack_rows_plan(Plan* rows, const RowColumns& columns);

/// Turns a Gather of rows into a Gather of chunks. @param pack  the packing node over the plan that
/// the Gather read
void gather_chunks(Gather* gather, Plan* pack);

/// The plan whose rows are packed, if `plan` or a node below it packs; else nullptr.
const Plan* packed_rows_plan(const Plan* plan);

/// The chunks of one row of a plan that packs. @param shared  set if they lie there, with `filled`
std::span<const std::byte> chunks_of_row(const PlanState* plan, Datum row, SharedChunks*& shared,
                                         SharedChunks::Filled& filled);

/// Calls visit(bytes of a chunk) for each chunk of a row. @param plan  that returned it @return false if a call did
template <typename Visit>
bool visit_chunks(const PlanState* plan, Datum row, Visit visit) {
  SharedChunks* shared = nullptr;
  SharedChunks::Filled filled{};
  const std::span<const std::byte> chunks = chunks_of_row(plan, row, shared, filled);
  for (size_t at = 0; at < chunks.size();) {
    const size_t bytes = read_chunk(chunks.data() + at).bytes;
    if (!visit(chunks.subspan(at, bytes))) return false;
    at += bytes;
  }
  if (shared != nullptr) shared->free(filled.slot);
  return true;
}

/// Called once, at load.
void register_pack_rows_node();

}  // namespace batmap::pg
