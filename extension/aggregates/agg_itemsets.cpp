// Aggregate batmap_itemsets_agg: the frequent itemsets of a group as an array. It collects rows
// like batmap_relation_agg, keeps the threshold and the greatest length in the state, and searches
// in the final function.
#include <algorithm>
#include <optional>
#include <span>

#include "extension/aggregates/agg_relation.h"
#include "extension/aggregates/tuple_array.h"
#include "extension/server/backend.h"
#include "extension/server/boundary.h"
#include "extension/server/context_owned.h"
#include "extension/server/settings.h"
#include "extension/types/relation_datum.h"
#include "itemsets/answers/ascending_itemset.h"
#include "itemsets/itemset_run.h"

#include "extension/server/pg.h"

using namespace batmap;
using namespace batmap::pg;

namespace {

// The state carries the greatest length in the high half of a number and the threshold in the low half. The
// threshold is cut to kMaxCount: no item of a relation has a larger support.
constexpr int64_t kMaxCount = UINT32_MAX;

/// @raises 22023 unless threshold and greatest length are those of the rows before
void check_carried(int64_t carried, int64_t before) {
  if (before != carried)
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("min_count and max_length must be the same for all rows of a group"),
                    errhint("A group has one threshold: add its column to GROUP BY.")));
}

template <RowAppender Append>
Datum itemsets_trans(FunctionCallInfo fcinfo) {
  const int64_t min_count = min_count_argument(fcinfo, 3);
  const int64_t max_length = PG_ARGISNULL(4) ? INT32_MAX : PG_GETARG_INT32(4);
  if (max_length < 1)
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("max_length must be at least 1, not " INT64_FORMAT, max_length)));
  const int64_t carried = max_length << 32 | std::min(min_count, kMaxCount);
  const bool is_first = PG_ARGISNULL(0);
  if (PG_ARGISNULL(1) || PG_ARGISNULL(2)) {
    if (!is_first) check_carried(carried, carried_number(any_relation_argument(fcinfo, 0)));
    return unchanged_state(fcinfo);
  }
  struct varlena* const state = Append(fcinfo);  // as in agg_pairs.cpp
  if (is_first)
    carry_number(state, carried);
  else
    check_carried(carried, carried_number(state));
  PG_RETURN_POINTER(state);
}

struct Answer {
  size_t begin;  // index of the first item
  uint32_t length;
  uint32_t support;
};

/// All answers of a small run at once.
struct ItemsetsOfGroup final : ItemsetSink {
  explicit ItemsetsOfGroup(const std::byte* relation)
      : meter(memory_limit_bytes(), session_memory()),
        options{.threads = 1, .memory = &meter, .cancel = backend_cancel_token()},
        items(meter),
        answers(meter) {
    const int64_t carried = flat_header(relation).carried;
    ItemsetQuery query;
    query.min_count = carried & kMaxCount;
    query.max_length = carried >> 32;
    query.kernel = &select_mask_kernel(settings.cpu_kernel);
    ItemsetRun search(flat_chunks(relation), {}, query, options);
    run = &search;
    itemset.emplace(meter, search.ranks());
    search.search(*this);
    run = nullptr;
  }
  void take(std::span<const ItemsetStep> steps) override {
    for (const ItemsetStep& step : steps) {
      itemset->step(step.length, run->value(step.item));
      if (step.support == 0) continue;
      answers.push_back({items.size(), step.length, step.support});
      std::ranges::copy(itemset->items(), items.room(step.length));
      items.add(step.length);
    }
  }

  MemoryMeter meter;
  ExecutionOptions options;
  const ItemsetRun* run = nullptr;
  std::optional<AscendingItemset> itemset;
  GrowingBuffer<int64_t> items;
  GrowingBuffer<Answer> answers;
};

/// @param texts  see itemset_array() @param datums  [items] working memory
ArrayType* array_of(std::span<const int64_t> items, const Datum* texts, Datum* datums) {
  const auto count = static_cast<int>(items.size());
  for (int k = 0; k < count; ++k) datums[k] = texts == nullptr ? Int64GetDatum(items[k]) : texts[items[k]];
  if (texts != nullptr) return construct_array(datums, count, TEXTOID, -1, false, TYPALIGN_INT);
  return construct_array(datums, count, INT8OID, sizeof(int64_t), true, TYPALIGN_DOUBLE);
}

/// @param table_function  with the same answer, for the hint
/// @param texts  of the items, which then are indexes of them; nullptr: the items are integers
/// @raises 54000 when the itemsets do not fit into one array
Datum itemset_array(FunctionCallInfo fcinfo, const ItemsetsOfGroup& found, const char* table_function,
                    const Datum* texts = nullptr) {
  const Oid type = get_element_type(get_func_rettype(fcinfo->flinfo->fn_oid));
  const size_t count = found.answers.size();
  // Each itemset is a tuple with an array: some headers, and the items.
  size_t bytes = count * 96;
  if (texts == nullptr) bytes += found.items.size() * sizeof(int64_t);
  for (size_t k = 0; texts != nullptr && k < found.items.size(); ++k) {
    if (k % 4096 == 0) CHECK_FOR_INTERRUPTS();
    bytes += INTALIGN(VARSIZE(DatumGetPointer(texts[found.items[k]])));
  }
  if (bytes > MaxAllocSize)
    ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED), errmsg("%zu itemsets do not fit into one array", count),
                    errhint("Use the table function %s, or a higher min_count.", table_function)));
  uint32_t max_length = 0;
  for (const Answer& answer : found.answers.span()) max_length = Max(max_length, answer.length);
  auto* const items = static_cast<Datum*>(palloc(Max(max_length, 1) * sizeof(Datum)));
  TupleArray array(type);
  for (const Answer& answer : found.answers.span()) {
    ArrayType* const itemset = array_of({&found.items[answer.begin], answer.length}, texts, items);
    Datum values[] = {PointerGetDatum(itemset), Int64GetDatum(answer.support)};
    array.add(values);
    pfree(itemset);
  }
  return array.finish();
}

}  // namespace

BATMAP_FUNCTION(batmap_itemsets_trans_int4_int4) { return itemsets_trans<with_integer_row<int32_t, int32_t>>(fcinfo); }
BATMAP_FUNCTION(batmap_itemsets_trans_int4_int8) { return itemsets_trans<with_integer_row<int32_t, int64_t>>(fcinfo); }
BATMAP_FUNCTION(batmap_itemsets_trans_int8_int4) { return itemsets_trans<with_integer_row<int64_t, int32_t>>(fcinfo); }
BATMAP_FUNCTION(batmap_itemsets_trans_int8_int8) { return itemsets_trans<with_integer_row<int64_t, int64_t>>(fcinfo); }
BATMAP_FUNCTION(batmap_itemsets_trans_int4_text) { return itemsets_trans<with_text_row<int32_t>>(fcinfo); }
BATMAP_FUNCTION(batmap_itemsets_trans_int8_text) { return itemsets_trans<with_text_row<int64_t>>(fcinfo); }
BATMAP_FUNCTION(batmap_itemsets_trans_int4_uuid) { return itemsets_trans<with_uuid_row<int32_t>>(fcinfo); }
BATMAP_FUNCTION(batmap_itemsets_trans_int8_uuid) { return itemsets_trans<with_uuid_row<int64_t>>(fcinfo); }

BATMAP_FUNCTION(batmap_itemsets_final) {
  if (PG_ARGISNULL(0)) PG_RETURN_NULL();
  const MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "batmap itemsets", ALLOCSET_SMALL_SIZES);
  struct varlena* const relation = relation_finished(relation_argument(fcinfo, 0));
  const ItemsetsOfGroup* const found = ContextOwned<ItemsetsOfGroup>::reserve(context)->emplace(relation_bytes(relation));
  const Datum array = itemset_array(fcinfo, *found, "batmap_itemsets");
  MemoryContextDelete(context);
  return array;
}

BATMAP_FUNCTION(batmap_itemsets_text_final) {
  if (PG_ARGISNULL(0)) PG_RETURN_NULL();
  const MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "batmap itemsets", ALLOCSET_SMALL_SIZES);
  const FinishedTexts relation = finished_texts(fcinfo, 0, context, "Cast the items to text.");
  const ItemsetsOfGroup* const found = ContextOwned<ItemsetsOfGroup>::reserve(context)->emplace(relation.rows);
  const Datum array = itemset_array(fcinfo, *found, "batmap_itemsets_of", relation.texts);
  MemoryContextDelete(context);
  return array;
}
