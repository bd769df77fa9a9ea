// Opens the streams of table functions over one relation. It reads the arguments, then the rows of a query or
// of a batmap_relation.
//
// Such a stream is a RunStream. Its call has the members `query` and `log`. The stream has
//   static std::array<ItemList, n> lists(Query&)                 the lists of items among the arguments
//   static void read_arguments(const Arguments&, Query&)         reads and checks the other arguments
//   void start(const char* kind, const QueryInput&, Rows rows)   makes the run; rows() gives the log or chunks, in guarded
#pragma once

#include "extension/functions/run_stream.h"
#include "extension/input/item_lists.h"
#include "extension/types/relation_datum.h"

#include "extension/server/pg.h"

namespace batmap::pg {

/// @param input_argument  the place of the query; the other arguments follow it
/// @param item_type       of an _of form; InvalidOid: items are integers
/// @raises 22004 if the query is NULL
template <typename Stream>
Stream* open_query(FunctionCallInfo fcinfo, MemoryContext context, const char* operation, int input_argument,
                   Oid item_type = InvalidOid) {
  Stream* const stream = new_stream<Stream>(operation, context);
  auto& call = stream->call();
  const Arguments arguments{fcinfo, input_argument + 1};
  if (PG_ARGISNULL(input_argument))
    ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("input query must not be NULL")));
  auto lists = Stream::lists(call.query);
  read_lists(lists, arguments, item_type);
  Stream::read_arguments(arguments, call.query);
  guarded([&] { call.log.emplace(call.options); });
  QueryInput input{&*call.log, &call.progress, item_type, nullptr, nullptr, 0, false};
  read_query(text_to_cstring(PG_GETARG_TEXT_PP(input_argument)), input, call.meter, context);
  if (OidIsValid(item_type)) rank_lists(lists, arguments, input);
  stream->start(input.kind(), input, [&]() -> const RowLog& { return *call.log; });
  return stream;
}

/// @param input_argument  the place of the relation @return nullptr if it is NULL, the result of
/// batmap_relation_agg over no rows
template <typename Stream>
Stream* open_relation(FunctionCallInfo fcinfo, MemoryContext context, const char* operation, int input_argument) {
  Stream* const stream = new_stream<Stream>(operation, context);
  auto& call = stream->call();
  const Arguments arguments{fcinfo, input_argument + 1};
  auto lists = Stream::lists(call.query);
  read_lists(lists, arguments, InvalidOid);
  Stream::read_arguments(arguments, call.query);
  if (PG_ARGISNULL(input_argument)) return nullptr;
  const MemoryContext copies = AllocSetContextCreate(context, "batmap relation", ALLOCSET_DEFAULT_SIZES);
  const MemoryContext caller = MemoryContextSwitchTo(copies);
  const std::byte* const bytes = relation_bytes(relation_finished(relation_argument(fcinfo, input_argument)));
  MemoryContextSwitchTo(caller);
  QueryInput input{};
  input.rows_read = flat_header(bytes).rows();
  stream->start("relation", input, [&] { return flat_chunks(bytes); });
  if (!stream->keeps_input()) MemoryContextDelete(copies);  // the rows are grouped now
  return stream;
}

}  // namespace batmap::pg
