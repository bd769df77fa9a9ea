// Plans a query of (tid, item) rows and reads them. See query_source.h.
#include "extension/input/query_source.h"

#include <array>

#include "extension/input/packed_plan.h"
#include "extension/input/pair_list.h"
#include "extension/input/query_shape.h"
#include "extension/input/row_reader.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

/// Checks that the tids of two queries can be compared: their keys must be of one kind, with one equality.
void check_shared_tids(SharedTids& shared, Oid type, Oid collation) {
  if (!OidIsValid(shared.type)) {
    shared.type = type;
    shared.collation = collation;
    return;
  }
  const Oid types[2] = {getBaseType(shared.type), getBaseType(type)};
  if (!stands_for(types[0], types[1]) && !stands_for(types[1], types[0]) && !(is_integer(type) && is_integer(shared.type)))
    ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
                    errmsg("the queries cannot be joined: %s in one, %s in the other", format_type_be(shared.type),
                           format_type_be(type)),
                    errhint("Cast one of the columns.")));
  if (collation != shared.collation)
    ereport(ERROR, (errcode(ERRCODE_COLLATION_MISMATCH), errmsg("the queries cannot be joined: their collations differ"),
                    errhint("Give one of the columns the COLLATE clause of the other.")));
}

struct CheckedQuery {
  Query* analyzed;
  bool is_shaped;  // its columns are named, or it returns baskets
  TwoColumns columns;
  Oid item_type;  // InvalidOid: integers
};

CheckedQuery checked_query(const InnerQuery& query, const QueryInput& input) {
  Query* analyzed = analyze_select(query, input.columns);
  const Oid item_type = input.item_type == ANYELEMENTOID ? own_item_type(analyzed, query) : input.item_type;
  const Query* const given = analyzed;
  if (input.tids == nullptr) analyzed = shape_rows(analyzed, query, item_type);
  const TwoColumns columns = two_columns(analyzed, input.columns, input.tids == nullptr);
  const int tid = input.item_first ? 1 : 0;
  check_key_type(columns.types[1 - tid], item_type, input.item_first ? "first" : "second", "items", input.items_hint);
  if (input.tids != nullptr) check_shared_tids(*input.tids, columns.types[tid], columns.collations[tid]);
  return {analyzed, analyzed != given, columns, item_type};
}

/// Are the items elements of json arrays, read as integers? @param shaped  by shape_rows()
bool reads_json_numbers(const Query* shaped) {
  return list_length(shaped->targetList) == 2 && IsA(lsecond_node(TargetEntry, shaped->targetList)->expr, CoerceViaIO);
}

void hint_at_texts(void*) {
  if (geterrcode() == ERRCODE_INVALID_TEXT_REPRESENTATION)
    errhint("Elements of json arrays are read as integers. The _of form of the function takes them as texts.");
}

}  // namespace

void check_query(const InnerQuery& query, const QueryInput& input, MemoryContext context) {
  const MemoryContext caller = MemoryContextSwitchTo(context);
  ErrorContextCallback errors;
  enter_inner_query(errors, query.text);
  checked_query(query, input);
  leave_inner_query(errors);
  MemoryContextSwitchTo(caller);
}

void read_query(const InnerQuery& query, QueryInput& input, MemoryMeter& meter, MemoryContext context) {
  const MemoryContext caller = MemoryContextSwitchTo(context);
  ErrorContextCallback errors;
  enter_inner_query(errors, query.text);
  const auto [analyzed, is_shaped, columns, item_type] = checked_query(query, input);
  input.by_position = !is_shaped;
  const int tid = input.item_first ? 1 : 0;
  const int item = 1 - tid;
  std::array encoders{column_encoder(key_kind(columns.types[tid]), tid),
                      column_encoder(key_kind(columns.types[item], item_type), item)};
  if (input.tids != nullptr) encoders[0].dictionary = input.tids->dictionary;
  add_dictionary(encoders[0], columns.types[tid], columns.collations[tid], context, meter);
  encoders[1].dictionary = input.items;
  if (input.items != nullptr) check_collations(columns.collations[item], input.items_collation);
  add_dictionary(encoders[1], item_type, columns.collations[item], context, meter);

  PackedPlan plan{};
  if (is_own_key(encoders[0].kind) && is_own_key(encoders[1].kind))
    plan = plan_packed(analyzed, query.text, {encoders[0].kind, encoders[1].kind, 0, tid});
  else
    plan.plan = plan_select(analyzed, query.text);
  input.in_parallel = plan.in_parallel;
  ErrorContextCallback hint{error_context_stack, hint_at_texts, nullptr};
  if (is_shaped && reads_json_numbers(analyzed)) error_context_stack = &hint;

  RowLogSink sink{input.log, input.progress, false};
  if (plan.packed)
    read_inner_chunks(plan.plan, query.text, sink);
  else
    read_inner_query(plan.plan, query.text, columns.types, std::span<const KeyEncoder, 2>(encoders), sink);
  if (input.tids != nullptr)
    input.tids->dictionary = encoders[0].dictionary;
  else if (encoders[0].dictionary != nullptr)
    MemoryContextDelete(encoders[0].dictionary->context);
  sink.seal();
  if (input.items == nullptr && encoders[1].dictionary != nullptr) {
    input.items = encoders[1].dictionary;
    input.item_rank = dictionary_sort(*input.items);
  }
  input.rows_read = input.log->rows();
  leave_inner_query(errors);
  MemoryContextSwitchTo(caller);
}

}  // namespace batmap::pg
