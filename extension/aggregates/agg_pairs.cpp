// Aggregate batmap_pairs_agg: the frequent pairs of a group as an array. Collects rows like batmap_relation_agg,
// with integer or text items and with the threshold in the state, and counts in the final function.
#include <vector>

#include "extension/aggregates/agg_relation.h"
#include "extension/aggregates/pair_array.h"
#include "extension/server/backend.h"
#include "extension/server/boundary.h"
#include "extension/server/context_owned.h"
#include "extension/server/settings.h"
#include "extension/types/relation_datum.h"
#include "pairs/pair_run.h"

#include "extension/server/pg.h"

using namespace batmap;
using namespace batmap::pg;

namespace {

/// @raises 22023 unless the threshold is that of the rows before
void check_same(int64_t min_count, int64_t before) {
  if (before != min_count)
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("min_count must be the same for all rows of a group"),
                    errdetail("It is " INT64_FORMAT " after " INT64_FORMAT ".", min_count, before)));
}

template <RowAppender Append>
Datum pairs_trans(FunctionCallInfo fcinfo) {
  const int64_t min_count = min_count_argument(fcinfo, 3);
  const bool is_first = PG_ARGISNULL(0);
  if (PG_ARGISNULL(1) || PG_ARGISNULL(2)) {
    if (!is_first) check_same(min_count, carried_number(any_relation_argument(fcinfo, 0)));
    return unchanged_state(fcinfo);
  }
  struct varlena* const state = Append(fcinfo);  // keeps the number, and checks the state, which is worth doing once a row
  if (is_first)
    carry_number(state, min_count);
  else
    check_same(min_count, carried_number(state));
  PG_RETURN_POINTER(state);
}

/// All answers of a small run at once.
struct PairsOfGroup {
  explicit PairsOfGroup(const std::byte* relation) : meter(memory_limit_bytes(), session_memory()) {
    PairQuery query;
    query.min_count = flat_header(relation).carried;
    query.kernels = selected_kernels();
    const ExecutionOptions options{1, &meter, backend_cancel_token()};
    PairRun run(flat_chunks(relation), {}, query, options);
    PairBatch batch;
    while (run.next(batch)) rows.insert(rows.end(), batch.begin(), batch.end());
  }

  MemoryMeter meter;
  std::vector<PairRow> rows;
};

}  // namespace

BATMAP_FUNCTION(batmap_pairs_trans_int4_int4) { return pairs_trans<with_integer_row<int32_t, int32_t>>(fcinfo); }
BATMAP_FUNCTION(batmap_pairs_trans_int4_int8) { return pairs_trans<with_integer_row<int32_t, int64_t>>(fcinfo); }
BATMAP_FUNCTION(batmap_pairs_trans_int8_int4) { return pairs_trans<with_integer_row<int64_t, int32_t>>(fcinfo); }
BATMAP_FUNCTION(batmap_pairs_trans_int8_int8) { return pairs_trans<with_integer_row<int64_t, int64_t>>(fcinfo); }
BATMAP_FUNCTION(batmap_pairs_trans_int4_text) { return pairs_trans<with_text_row<int32_t>>(fcinfo); }
BATMAP_FUNCTION(batmap_pairs_trans_int8_text) { return pairs_trans<with_text_row<int64_t>>(fcinfo); }
BATMAP_FUNCTION(batmap_pairs_trans_int4_uuid) { return pairs_trans<with_uuid_row<int32_t>>(fcinfo); }
BATMAP_FUNCTION(batmap_pairs_trans_int8_uuid) { return pairs_trans<with_uuid_row<int64_t>>(fcinfo); }

BATMAP_FUNCTION(batmap_pairs_final) {
  if (PG_ARGISNULL(0)) PG_RETURN_NULL();
  const MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "batmap pairs", ALLOCSET_SMALL_SIZES);
  struct varlena* const relation = relation_finished(relation_argument(fcinfo, 0));
  const PairsOfGroup* const pairs = ContextOwned<PairsOfGroup>::reserve(context)->emplace(relation_bytes(relation));
  const Datum array = pair_array(fcinfo, pairs->rows, "batmap_pairs");
  MemoryContextDelete(context);
  return array;
}

BATMAP_FUNCTION(batmap_pairs_text_final) {
  if (PG_ARGISNULL(0)) PG_RETURN_NULL();
  const MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "batmap pairs", ALLOCSET_SMALL_SIZES);
  const FinishedTexts relation = finished_texts(fcinfo, 0, context, "Cast the items to text.");
  const PairsOfGroup* const pairs = ContextOwned<PairsOfGroup>::reserve(context)->emplace(relation.rows);
  const Datum array = pair_array(fcinfo, pairs->rows, "batmap_pairs_of", relation.texts);
  MemoryContextDelete(context);
  return array;
}
