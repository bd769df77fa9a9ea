// Plans a query of pairs and reads its rows. See pair_list.h.
#include "extension/input/pair_list.h"

#include <array>

#include "extension/input/packed_plan.h"
#include "extension/input/row_reader.h"
#include "extension/server/equality.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

/// @return InvalidOid: integers
Oid common_type(const TwoColumns& columns) {
  if (is_integer(columns.types[0]) && is_integer(columns.types[1])) return InvalidOid;
  const Oid types[2] = {getBaseType(columns.types[0]), getBaseType(columns.types[1])};
  if (stands_for(types[1], types[0])) return types[0];
  if (stands_for(types[0], types[1])) return types[1];
  ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
                  errmsg("the columns of the input query must be of one type, not %s and %s",
                         format_type_be(columns.types[0]), format_type_be(columns.types[1])),
                  errhint("Cast one of the columns.")));
}

}  // namespace

void read_pair_list(const InnerQuery& query, PairListInput& input, MemoryMeter& meter, MemoryContext context) {
  const MemoryContext caller = MemoryContextSwitchTo(context);
  ErrorContextCallback errors;
  enter_inner_query(errors, query.text);
  Query* const analyzed = analyze_select(query, input.columns);
  const TwoColumns columns = two_columns(analyzed, input.columns, false);
  Oid type = input.item_type;
  if (type == ANYELEMENTOID) type = common_type(columns);
  check_key_type(columns.types[0], type, "first", input.values);
  check_key_type(columns.types[1], type, "second", input.values);
  Oid collation = columns.collations[0];
  if (input.by_bytes)
    collation = type == TEXTOID ? Oid{C_COLLATION_OID} : get_typcollation(type);
  else
    check_collations(collation, columns.collations[1]);
  std::array encoders{column_encoder(key_kind(columns.types[0], type), 0),
                      column_encoder(key_kind(columns.types[1], type), 1)};
  add_dictionary(encoders[0], type, collation, context, meter);
  encoders[1].dictionary = encoders[0].dictionary;
  PackedPlan plan{};
  const int options = input.keeps_order ? 0 : CURSOR_OPT_PARALLEL_OK;
  if (!OidIsValid(type))
    plan = plan_packed(analyzed, query.text, {encoders[0].kind, encoders[1].kind, 0, 0}, options);
  else
    plan.plan = plan_select(analyzed, query.text, options);
  RowLogSink sink{input.log, input.progress, false};
  if (plan.packed)
    read_inner_chunks(plan.plan, query.text, sink);
  else
    read_inner_query(plan.plan, query.text, columns.types, std::span<const KeyEncoder, 2>(encoders), sink);
  sink.seal();
  input.kind = plan.in_parallel ? "parallel scan" : "stream";
  input.items = encoders[0].dictionary;
  input.collation = collation;
  leave_inner_query(errors);
  MemoryContextSwitchTo(caller);
}

void check_collations(Oid first, Oid second) {
  if (first == second || (is_deterministic(first) && is_deterministic(second))) return;
  ereport(ERROR, (errcode(ERRCODE_COLLATION_MISMATCH), errmsg("the items cannot be compared: their collations differ"),
                  errhint("Give one of the columns the COLLATE clause of the other.")));
}

}  // namespace batmap::pg
