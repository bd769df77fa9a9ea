// Reads the rows of a table function. See table_input.h.
#include "extension/functions/table_input.h"

#include "extension/types/relation_datum.h"

#include "extension/server/pg.h"

namespace batmap::pg {

InnerQuery query_argument(FunctionCallInfo fcinfo, int index, int after_input, const QueryArguments& places) {
  const Arguments arguments{fcinfo, after_input};
  InnerQuery query{query_text(PG_GETARG_TEXT_PP(index))};
  if (places.params == QueryArguments::kNone) return query;
  if (arguments.has(places.params)) query.params = arguments.datum(places.params);
  if (!places.columns) return query;
  const auto name = [&](int at) { return arguments.has(at) ? NameStr(*DatumGetName(arguments.datum(at))) : nullptr; };
  query.tid_column = name(places.params - 2);
  query.item_column = name(places.params - 1);
  return query;
}

TableInput query_input(FunctionCallInfo fcinfo, MemoryContext context, const char* operation, int index,
                       const QueryArguments& places, Oid item_type) {
  if (PG_ARGISNULL(index))
    ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("input query must not be NULL"),
                    errhint("A text is NULL if || added a NULL to it. Write $1, and give the NULL in params.")));
  return {fcinfo, context, operation, index, false, item_type, places};
}

TableInput relation_input(FunctionCallInfo fcinfo, MemoryContext context, const char* operation, int index) {
  return {fcinfo, context, operation, index, true, InvalidOid, {}};
}

std::vector<ChunkView> InputRows::chunks() const { return log != nullptr ? log->chunks() : flat_chunks(relation); }

InputRows query_rows(const QueryInput& query) {
  return {query.kind(), query.rows_read, query.log, nullptr, nullptr, query.items, query.ranks()};
}

InputRows relation_rows(FunctionCallInfo fcinfo, int index, MemoryContext context) {
  const MemoryContext copies = AllocSetContextCreate(context, "batmap relation", ALLOCSET_DEFAULT_SIZES);
  const MemoryContext caller = MemoryContextSwitchTo(copies);
  const std::byte* const bytes = relation_bytes(relation_finished(relation_argument(fcinfo, index)));
  MemoryContextSwitchTo(caller);
  return {"relation", flat_header(bytes).rows(), nullptr, bytes, copies, nullptr, {}};
}

std::optional<InputRows> read_rows(const TableInput& input, RunCall& call, std::optional<RowLog>& log,
                                   std::span<ItemList> lists) {
  const FunctionCallInfo fcinfo = input.fcinfo;
  if (input.is_relation) {
    if (PG_ARGISNULL(input.index)) return std::nullopt;
    return relation_rows(fcinfo, input.index, input.context);
  }
  guarded([&] { log.emplace(call.options); });
  QueryInput query{&*log, &call.progress, input.item_type, nullptr, nullptr, 0, false};
  read_query(input.query(), query, call.meter, input.context);
  if (OidIsValid(input.item_type)) rank_lists(lists, input.arguments(), query);
  return query_rows(query);
}

void drop_relation(const InputRows& rows) {
  if (rows.copies != nullptr) MemoryContextDelete(rows.copies);
}

}  // namespace batmap::pg
