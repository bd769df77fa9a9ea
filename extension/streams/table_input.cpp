// Reads the rows of a table function. See table_input.h.
#include "extension/streams/table_input.h"

#include <cmath>

#include "extension/types/relation_datum.h"
#include "extension/types/text_items.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

/// The types of the parameters from one on, the input.
struct InputTypes {
  InputTypes(FunctionCallInfo fcinfo, int index) {
    Oid* types;
    int count;
    get_func_signature(fcinfo->flinfo->fn_oid, &types, &count);
    for (int k = 0; k < kMost && index + k < count; ++k) oids[k] = types[index + k];
    pfree(types);
  }
  bool is_table() const { return oids[0] == REGCLASSOID; }
  /// Do the names of two columns follow? Then it is a table, or a query that is followed by a threshold.
  bool has_columns() const {
    return is_table() || (oids[1] == TEXTOID && oids[2] == TEXTOID && (oids[3] == INT8OID || oids[3] == FLOAT8OID));
  }

  static constexpr int kMost = 2 + kTableColumns;
  Oid oids[kMost] = {};
};

/// The name of a column, behind a table or a query. @return nullptr: it is NULL
const char* column_argument(FunctionCallInfo fcinfo, int index, const InputTypes& types) {
  if (PG_ARGISNULL(index)) return nullptr;
  return types.is_table() ? NameStr(*PG_GETARG_NAME(index)) : text_to_cstring(PG_GETARG_TEXT_PP(index));
}

}  // namespace

std::optional<int64_t> Arguments::min_count(int index) const {
  if (!has(index)) return std::nullopt;
  Oid* types;
  int count;
  get_func_signature(fcinfo->flinfo->fn_oid, &types, &count);
  const bool is_float = types[first + index] == FLOAT8OID;
  pfree(types);
  if (!is_float) return int8(index);
  const double value = DatumGetFloat8(datum(index));
  constexpr double kEnd = 9223372036854775808.0;
  if (value >= kEnd) return INT64_MAX;  // no item is so frequent
  if (!(value >= -kEnd) || value != std::trunc(value))
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("min_count must be a whole number, not %g", value),
                    errhint("A fraction of the transactions is min_support.")));
  return static_cast<int64_t>(value);
}

InnerQuery query_argument(FunctionCallInfo fcinfo, int index, int after_input, const QueryArguments& places) {
  const InputTypes types(fcinfo, index);
  InnerQuery query{types.is_table() ? table_query(PG_GETARG_OID(index)) : query_text(PG_GETARG_TEXT_PP(index))};
  if (types.has_columns()) {
    query.tid_column = column_argument(fcinfo, index + 1, types);
    query.item_column = column_argument(fcinfo, index + 2, types);
  }
  const Arguments arguments{fcinfo, after_input};
  if (types.is_table() || places.params == QueryArguments::kNone) return query;
  const int params = types.has_columns() ? places.begin() : places.params;
  if (arguments.has(params)) query.params = arguments.datum(params);
  if (!places.columns || types.has_columns()) return query;
  const auto name = [&](int at) { return arguments.has(at) ? NameStr(*DatumGetName(arguments.datum(at))) : nullptr; };
  query.tid_column = name(places.params - 2);
  query.item_column = name(places.params - 1);
  return query;
}

TableInput query_input(FunctionCallInfo fcinfo, MemoryContext context, const char* operation, int index,
                       const QueryArguments& places, Oid item_type) {
  const InputTypes types(fcinfo, index);
  if (types.is_table()) {
    constexpr const char* kParts[] = {"input_table", "tid_column", "item_column"};
    for (int k = 0; k <= kTableColumns; ++k)
      if (PG_ARGISNULL(index + k))
        ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("%s must not be NULL", kParts[k]),
                        errhint("Give the table and the names of two of its columns.")));
  } else if (PG_ARGISNULL(index)) {
    ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("input query must not be NULL"),
                    errhint("A text is NULL if || added a NULL to it. Write $1, and give the NULL in params.")));
  }
  const int after_input = index + 1 + (types.has_columns() ? kTableColumns : 0);
  return {fcinfo, context, operation, index, false, item_type, places, after_input, nullptr};
}

TableInput relation_input(FunctionCallInfo fcinfo, MemoryContext context, const char* operation, int index, Oid item_type) {
  return {fcinfo, context, operation, index, true, item_type, {}, index + 1, nullptr};
}

std::vector<ChunkView> InputRows::chunks() const { return log != nullptr ? log->chunks() : flat_chunks(relation); }

InputRows query_rows(const QueryInput& query) {
  return {query.kind(), query.rows_read, query.log, nullptr, nullptr, query.items, query.ranks(), query.by_position};
}

namespace {

/// @raises 42804 if a relation does not have the kind of items that a function answers with
void check_items(struct varlena* relation, const char* operation, Oid item_type) {
  if (OidIsValid(item_type) == holds_texts(relation) || relation_row_count(relation) == 0) return;
  if (holds_texts(relation)) raise_text_items(other_form(operation, item_type));
  raise_integer_items(other_form(operation, item_type));
}

}  // namespace

const char* other_form(const char* operation, Oid item_type) {
  if (!OidIsValid(item_type)) return psprintf("Use %s_of.", operation);
  const int without_of = static_cast<int>(strlen(operation)) - static_cast<int>(strlen("_of"));
  return psprintf("Use %.*s.", without_of, operation);
}

const Dictionary* read_text_items(std::span<const std::string_view> texts, Oid item_type, std::span<ItemList> lists,
                                  const Arguments& arguments, MemoryContext context, MemoryMeter& meter) {
  if (item_type != TEXTOID) return values_of_texts(texts, item_type, lists, arguments, context, meter);
  rank_lists_by_text(lists, arguments, texts);
  return dictionary_of_values(context, item_type, text_values(texts, context, meter), static_cast<uint32_t>(texts.size()));
}

InputRows relation_rows(FunctionCallInfo fcinfo, int index, MemoryContext context, const char* operation, Oid item_type,
                        MemoryMeter& meter, std::span<ItemList> lists, const Arguments& arguments) {
  const MemoryContext copies = AllocSetContextCreate(context, "batmap relation", ALLOCSET_DEFAULT_SIZES);
  const MemoryContext caller = MemoryContextSwitchTo(copies);
  struct varlena* const relation = relation_finished(any_relation_argument(fcinfo, index));
  check_items(relation, operation, item_type);
  InputRows rows{"relation", relation_row_count(relation), nullptr, relation_bytes(relation), copies, nullptr, {}};
  if (OidIsValid(item_type)) {
    std::span<const std::string_view> texts;
    if (holds_texts(relation)) {
      texts = relation_texts(relation, meter);
      rows.relation = text_relation_rows(std::as_bytes(flat_bytes(relation))).data();
    }
    rows.items = read_text_items(texts, item_type, lists, arguments, context, meter);
  }
  MemoryContextSwitchTo(caller);
  return rows;
}

std::optional<InputRows> read_rows(const TableInput& input, RunCall& call, std::optional<RowLog>& log,
                                   std::span<ItemList> lists) {
  const FunctionCallInfo fcinfo = input.fcinfo;
  if (input.is_relation) {
    if (PG_ARGISNULL(input.index)) return std::nullopt;
    return relation_rows(fcinfo, input.index, input.context, input.operation, input.item_type, call.meter, lists,
                         input.arguments());
  }
  guarded([&] { log.emplace(call.options); });
  QueryInput query{&*log, &call.progress, input.item_type, nullptr, nullptr, 0, false, false};
  query.items_hint = input.items_hint;
  read_query(input.query(), query, call.meter, input.context);
  if (OidIsValid(input.item_type)) rank_lists(lists, input.arguments(), query);
  return query_rows(query);
}

void drop_relation(const InputRows& rows) {
  if (rows.copies != nullptr) MemoryContextDelete(rows.copies);
}

}  // namespace batmap::pg
