// The input of a table function over one relation: a query or a batmap_relation among its arguments, and the
// step that reads its rows. The body of such a function has three steps: it reads the arguments, then the rows,
// and makes a RunStream of both.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "extension/input/arguments.h"
#include "extension/input/item_lists.h"
#include "extension/input/query_source.h"
#include "extension/streams/run_stream.h"
#include "relation/row_log.h"

#include "extension/server/pg.h"

namespace batmap::pg {

/// Where the arguments are that belong to a query, among those after the input.
struct QueryArguments {
  static constexpr int kNone = -1;

  int params = kNone;
  bool columns = false;  // tid_column and item_column are the two before it

  /// The first of them. @return INT_MAX if there are none
  int begin() const { return params == kNone ? INT_MAX : params - (columns ? 2 : 0); }
};

/// The number of arguments that an input has more if it is a table, or a query with the names of its columns behind it.
constexpr int kTableColumns = 2;

/// A query among the arguments, or a table. @param index  of it @param after_input  of the first argument after the input
InnerQuery query_argument(FunctionCallInfo fcinfo, int index, int after_input, const QueryArguments& places);

/// One call of a table function.
struct TableInput {
  FunctionCallInfo fcinfo;
  MemoryContext context;  // lives as long as the stream
  const char* operation;  // the name for batmap_last_run()
  int index;              // of the query or of the relation among the arguments; the other arguments follow it
  bool is_relation;
  Oid item_type;  // of an _of form; ANYELEMENTOID: any, as the answer has no items; InvalidOid: items are integers
  QueryArguments places;
  int after_input;                   // the first argument after the input
  const char* items_hint = nullptr;  // see QueryInput

  /// The arguments after the input, without those of the query.
  Arguments arguments() const { return {fcinfo, after_input, places.begin()}; }
  /// A copy of the query in the current memory context.
  InnerQuery query() const { return query_argument(fcinfo, index, after_input, places); }
};

/// A query, or a table. Columns that are named behind a query may be NULL: then it has two.
/// @raises 22004 if it is NULL, or the name of a column of a table
TableInput query_input(FunctionCallInfo fcinfo, MemoryContext context, const char* operation, int index,
                       const QueryArguments& places, Oid item_type = InvalidOid);
TableInput relation_input(FunctionCallInfo fcinfo, MemoryContext context, const char* operation, int index,
                          Oid item_type = InvalidOid);

/// The rows of a query or of a relation.
struct InputRows {
  const char* kind;  // how they were read: a word for batmap_last_run()
  uint64_t count;
  const RowLog* log;                // of a query
  const std::byte* relation;        // of a relation, where `log` is nullptr
  MemoryContext copies;             // contains the relation
  const Dictionary* items;          // by rank, of an _of form; nullptr: items are integers
  std::span<const uint32_t> ranks;  // of the item ids, see EncodedRelation; empty if items are integers
  bool by_position = false;         // of a query: see QueryInput

  /// To be called in guarded.
  std::vector<ChunkView> chunks() const;
};

/// The rows that read_query() has read.
InputRows query_rows(const QueryInput& query);

/// @param index      of a relation among the arguments that is not NULL
/// @param operation  the name of the function, for errors
/// @param item_type  of an _of form; InvalidOid: items are integers
/// @param meter      of the call: is charged for the texts and values of items
/// @param lists      of an _of form: get the ranks of their items
/// @raises 42804 if the items of the relation are not such; what the input function of the type raises
InputRows relation_rows(FunctionCallInfo fcinfo, int index, MemoryContext context, const char* operation, Oid item_type,
                        MemoryMeter& meter, std::span<ItemList> lists = {}, const Arguments& arguments = {});

/// For a hint: the form of a function for items of the other kind. @param item_type  InvalidOid: items are integers
const char* other_form(const char* operation, Oid item_type);

/// The values of items that are texts, in `context`; the lists get the ranks of their items.
/// @param texts  ascending @param meter  of the call @raises what values_of_texts() raises
const Dictionary* read_text_items(std::span<const std::string_view> texts, Oid item_type, std::span<ItemList> lists,
                                  const Arguments& arguments, MemoryContext context, MemoryMeter& meter);

/// Reads the rows of the input. In an _of form, the lists get the ranks of their items.
/// @param log  of the call; made here for a query
/// @return nothing if the relation is NULL, the result of batmap_relation_agg over no rows
std::optional<InputRows> read_rows(const TableInput& input, RunCall& call, std::optional<RowLog>& log,
                                   std::span<ItemList> lists);

/// Frees the relation, when a run no longer needs it.
void drop_relation(const InputRows& rows);

}  // namespace batmap::pg
