// Fills a tuplestore from a stream; the table of streamed functions. See row_stream.h.
#include "extension/functions/row_stream.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "extension/functions/srf_all_pairs.h"
#include "extension/functions/srf_episodes.h"
#include "extension/functions/srf_itemsets.h"
#include "extension/functions/srf_join.h"
#include "extension/functions/srf_pairs.h"
#include "extension/functions/srf_recommend.h"
#include "extension/functions/srf_rules.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

const StreamedFunction kStreamedFunctions[] = {
    {batmap_all_pairs, "batmap_all_pairs", open_all_pairs},
    {batmap_episode_count_query, "batmap_episode_count_query", open_episode_count},
    {batmap_episode_count_of_query, "batmap_episode_count_of_query", open_episode_count_of},
    {batmap_episode_occurrences_query, "batmap_episode_occurrences_query", open_episode_occurrences},
    {batmap_episode_occurrences_of_query, "batmap_episode_occurrences_of_query", open_episode_occurrences_of},
    {batmap_episodes_query, "batmap_episodes_query", open_episodes},
    {batmap_episodes_of_query, "batmap_episodes_of_query", open_episodes_of},
    {batmap_generate_spikes, "batmap_generate_spikes", open_generate_spikes},
    {batmap_itemsets_query, "batmap_itemsets_query", open_itemsets_query},
    {batmap_itemsets_of_query, "batmap_itemsets_of_query", open_itemsets_of_query},
    {batmap_itemsets_relation, "batmap_itemsets_relation", open_itemsets_relation},
    {batmap_join_project_query, "batmap_join_project_query", open_join_query},
    {batmap_join_project_of_query, "batmap_join_project_of_query", open_join_of_query},
    {batmap_join_project_relation, "batmap_join_project_relation", open_join_relation},
    {batmap_pairs_counts, "batmap_pairs_counts", open_pairs_counts},
    {batmap_pairs_query, "batmap_pairs_query", open_pairs_query},
    {batmap_pairs_of_query, "batmap_pairs_of_query", open_pairs_of_query},
    {batmap_pairs_relation, "batmap_pairs_relation", open_pairs_relation},
    {batmap_recommend_query, "batmap_recommend_query", open_recommend_query},
    {batmap_recommend_of_query, "batmap_recommend_of_query", open_recommend_of_query},
    {batmap_recommend_relation, "batmap_recommend_relation", open_recommend_relation},
    {batmap_rules_query, "batmap_rules_query", open_rules_query},
    {batmap_rules_of_query, "batmap_rules_of_query", open_rules_of_query},
    {batmap_rules_relation, "batmap_rules_relation", open_rules_relation},
};

/// Are all columns eight bytes, passed by value?
bool all_numbers(TupleDesc descriptor) {
  for (int k = 0; k < descriptor->natts; ++k) {
    const Form_pg_attribute column = TupleDescAttr(descriptor, k);
    if (!column->attbyval || column->attlen != sizeof(int64_t)) return false;
  }
  return true;
}

/// For rows of int8 and float8 only: forms one tuple and overwrites its numbers for each row, which halves
/// the cost of a row.
void put_numbers(RowStream* stream, const ReturnSetInfo* result, Datum* values, bool* nulls) {
  static_assert(sizeof(Datum) == sizeof(int64_t));
  const size_t bytes = static_cast<size_t>(result->setDesc->natts - stream->null_columns()) * sizeof(int64_t);
  const MinimalTuple tuple = form_minimal_tuple(result->setDesc, values, nulls);
  TupleTableSlot* const slot = MakeSingleTupleTableSlot(result->setDesc, &TTSOpsMinimalTuple);
  ExecStoreMinimalTuple(tuple, slot, false);
  char* const numbers = reinterpret_cast<char*>(tuple) + tuple->t_hoff - MINIMAL_TUPLE_OFFSET;
  Assert(tuple->t_len - (tuple->t_hoff - MINIMAL_TUPLE_OFFSET) == bytes);
  while (stream->next(values)) {
    memcpy(numbers, values, bytes);
    tuplestore_puttupleslot(result->setResult, slot);
  }
}

}  // namespace

void materialize(FunctionCallInfo fcinfo, OpenStream open) {
  InitMaterializedSRF(fcinfo, 0);
  auto* const result = reinterpret_cast<ReturnSetInfo*>(fcinfo->resultinfo);
  const MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "batmap run", ALLOCSET_DEFAULT_SIZES);
  if (RowStream* const stream = open(fcinfo, context); stream != nullptr) {
    auto* const values = static_cast<Datum*>(palloc0(static_cast<Size>(result->setDesc->natts) * sizeof(Datum)));
    auto* const nulls = static_cast<bool*>(palloc0(static_cast<Size>(result->setDesc->natts) * sizeof(bool)));
    std::fill_n(nulls + result->setDesc->natts - stream->null_columns(), stream->null_columns(), true);
    if (all_numbers(result->setDesc))
      put_numbers(stream, result, values, nulls);
    else
      while (stream->next(values)) tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
    stream->finish();
  }
  MemoryContextDelete(context);
}

const StreamedFunction* find_streamed_function(PGFunction function) {
  for (const StreamedFunction& row : kStreamedFunctions)
    if (row.function == function) return &row;
  return nullptr;
}

}  // namespace batmap::pg
