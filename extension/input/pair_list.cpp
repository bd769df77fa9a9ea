// Plans a query of pairs and reads its rows. See pair_list.h.
#include "extension/input/pair_list.h"

#include <array>

#include "extension/input/row_reader.h"

#include "extension/server/pg.h"

namespace batmap::pg {

void read_pair_list(const InnerQuery& query, PairListInput& input, MemoryMeter& meter, MemoryContext context) {
  const MemoryContext caller = MemoryContextSwitchTo(context);
  ErrorContextCallback errors;
  enter_inner_query(errors, query.text);
  Query* const analyzed = analyze_select(query, input.columns);
  const TwoColumns columns = two_columns(analyzed, input.columns, false);
  check_key_type(columns.types[0], input.item_type, "first", "items");
  check_key_type(columns.types[1], input.item_type, "second", "items");
  check_collations(columns.collations[0], columns.collations[1]);
  std::array encoders{column_encoder(key_kind(columns.types[0], input.item_type), 0),
                      column_encoder(key_kind(columns.types[1], input.item_type), 1)};
  add_dictionary(encoders[0], input.item_type, columns.collations[0], context, meter);
  encoders[1].dictionary = encoders[0].dictionary;
  PlannedStmt* const plan = pg_plan_query(analyzed, query.text, 0, nullptr);
  RowLogSink sink{input.log, input.progress, false};
  read_inner_query(plan, query.text, columns.types, std::span<const KeyEncoder, 2>(encoders), sink);
  sink.seal();
  input.items = encoders[0].dictionary;
  input.collation = columns.collations[0];
  leave_inner_query(errors);
  MemoryContextSwitchTo(caller);
}

void check_collations(Oid first, Oid second) {
  const auto deterministic = [](Oid collation) { return !OidIsValid(collation) || get_collation_isdeterministic(collation); };
  if (first == second || (deterministic(first) && deterministic(second))) return;
  ereport(ERROR, (errcode(ERRCODE_COLLATION_MISMATCH), errmsg("the items cannot be compared: their collations differ"),
                  errhint("Give one of the columns the COLLATE clause of the other.")));
}

}  // namespace batmap::pg
