// Table functions batmap_join_project and batmap_join_project_of: arguments, two inputs, and rows
// of the answer.
#include "extension/functions/pair_stream.h"
#include "extension/input/arguments.h"
#include "extension/input/query_source.h"
#include "extension/server/backend.h"
#include "extension/server/boundary.h"
#include "extension/server/device_use.h"
#include "extension/server/settings.h"
#include "extension/types/relation_datum.h"
#include "pairs/join_run.h"

#include "extension/server/pg.h"

using namespace batmap;
using namespace batmap::pg;

namespace {

/// The engine's side of one call.
struct JoinCall : PairRowsCall<JoinQuery, JoinRun> {
  explicit JoinCall(MemoryContext context) : PairRowsCall(context) { query.kernels = selected_kernels(); }

  std::optional<RowLog> left;
  std::optional<RowLog> right;
};

// Positions of the arguments after the two inputs. The inputs are two arguments, or four in the _of form.
enum Argument { kMinCount, kDistinctOnly, kTopK, kPerItemTopK, kMaxResults, kMethod, kDevice, kArguments };

void read_arguments(const Arguments& arguments, JoinQuery& query) {
  query.min_count = arguments.int8(kMinCount);
  query.distinct_only = arguments.boolean(kDistinctOnly).value_or(false);
  query.top_k = arguments.int8(kTopK);
  query.per_item_top_k = arguments.int4(kPerItemTopK);
  query.max_results = arguments.int8(kMaxResults);
  const char* const method = arguments.string(kMethod, "auto");
  const char* const device = arguments.string(kDevice, nullptr);
  guarded([&] {
    query.method = parse_pair_method(method);
    query.device = device != nullptr ? selected_devices(device) : selected_devices();
    query.check();
  });
}

class JoinStream final : public PairRowStream<JoinCall> {
 public:
  using PairRowStream::PairRowStream;

  int null_columns() const override { return call().query.distinct_only ? 1 : 0; }

  /// Joins the rows of both sides. After that, rows can be pulled.
  /// @param kind   how the rows were read: a word for batmap_last_run()
  /// @param sides  makes the left and the right side; runs inside guarded
  /// @param drop   called when they are no longer used; runs inside guarded
  template <typename Sides, typename Drop>
  void start(const char* kind, const QueryInput& left, const QueryInput& right, Sides sides, Drop drop) {
    left_items_ = left.items;
    right_items_ = right.items;
    begin(kind, left.rows_read + right.rows_read, [&] {
      JoinedRelation joined = sides();
      drop();
      call().run.emplace(std::move(joined), call().query, call().options);
    });
  }

 private:
  void put(const PairRow& row, Datum* values) const override {
    values[0] = left_items_ == nullptr ? Int64GetDatum(row.item_a) : left_items_->values[row.item_a];
    values[1] = right_items_ == nullptr ? Int64GetDatum(row.item_b) : right_items_->values[row.item_b];
    values[2] = Int64GetDatum(static_cast<int64_t>(row.support));
  }

  const Dictionary* left_items_ = nullptr;  // nullptr: items are int8
  const Dictionary* right_items_ = nullptr;
};

RowStream* open_queries(FunctionCallInfo fcinfo, MemoryContext context, const char* operation, int first_query,
                        Oid left_type, Oid right_type) {
  auto* const stream = new_stream<JoinStream>(operation, context);
  JoinCall& call = stream->call();
  if (PG_ARGISNULL(first_query) || PG_ARGISNULL(first_query + 1))
    ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("input query must not be NULL")));
  read_arguments({fcinfo, first_query + 2}, call.query);
  char* const left_query = text_to_cstring(PG_GETARG_TEXT_PP(first_query));
  char* const right_query = text_to_cstring(PG_GETARG_TEXT_PP(first_query + 1));

  guarded([&] {
    call.left.emplace(call.options);
    call.right.emplace(call.options);
  });
  SharedTids tids{};
  QueryInput left{&*call.left, &call.progress, left_type, nullptr, nullptr, 0, false, "a and b", true, &tids};
  QueryInput right{&*call.right, &call.progress, right_type, nullptr, nullptr, 0, false, "b and c", false, &tids};
  check_query(left_query, left, context);
  check_query(right_query, right, context);
  read_query(left_query, left, call.meter, context);
  read_query(right_query, right, call.meter, context);
  if (tids.dictionary != nullptr) MemoryContextDelete(tids.dictionary->context);
  stream->start(
      left.in_parallel ? left.kind() : right.kind(), left, right,
      [&] { return join_relations(side_of(*call.left, left.ranks()), side_of(*call.right, right.ranks()), call.options); },
      [&] {
        call.left.reset();
        call.right.reset();
      });
  return stream;
}

}  // namespace

BATMAP_TABLE_FUNCTION(batmap_join_project_query) {
  return open_queries(fcinfo, context, "batmap_join_project", 0, InvalidOid, InvalidOid);
}

BATMAP_TABLE_FUNCTION(batmap_join_project_of_query) {
  const Oid left_type = get_fn_expr_argtype(fcinfo->flinfo, 0);
  const Oid right_type = get_fn_expr_argtype(fcinfo->flinfo, 1);
  if (!OidIsValid(left_type) || !OidIsValid(right_type))
    ereport(ERROR, (errcode(ERRCODE_INDETERMINATE_DATATYPE), errmsg("could not determine the types of a and c"),
                    errhint("Give a typed NULL as each of the first two arguments, such as NULL::text.")));
  return open_queries(fcinfo, context, "batmap_join_project_of", 2, left_type, right_type);
}

BATMAP_TABLE_FUNCTION(batmap_join_project_relation) {
  auto* const stream = new_stream<JoinStream>("batmap_join_project", context);
  JoinCall& call = stream->call();
  read_arguments({fcinfo, 2}, call.query);
  if (PG_ARGISNULL(0) || PG_ARGISNULL(1)) return nullptr;  // batmap_relation_agg over no rows gives NULL
  const MemoryContext copies = AllocSetContextCreate(context, "batmap relation", ALLOCSET_DEFAULT_SIZES);
  const MemoryContext caller = MemoryContextSwitchTo(copies);
  const std::byte* const left_bytes = relation_bytes(relation_finished(relation_argument(fcinfo, 0)));
  const std::byte* const right_bytes = relation_bytes(relation_finished(relation_argument(fcinfo, 1)));
  MemoryContextSwitchTo(caller);
  QueryInput left{};
  QueryInput right{};
  left.rows_read = flat_header(left_bytes).rows();
  right.rows_read = flat_header(right_bytes).rows();
  stream->start(
      "relation", left, right,
      [&] {
        return join_relations({flat_chunks(left_bytes), {}}, {flat_chunks(right_bytes), {}}, call.options);
      },
      [] {});
  MemoryContextDelete(copies);  // the rows are grouped now
  return stream;
}

BATMAP_FUNCTION(batmap_join_project_support) {
  auto* const request = reinterpret_cast<Node*>(PG_GETARG_POINTER(0));
  PG_RETURN_POINTER(bound_rows(request, kArguments - kTopK, kArguments - kMaxResults));
}
