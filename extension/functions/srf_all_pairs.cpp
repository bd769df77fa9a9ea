// Table function batmap_all_pairs: fetches each set of a query once and counts all pairs of them.
#include <vector>

#include "extension/functions/pair_stream.h"
#include "extension/functions/planner_support.h"
#include "extension/functions/table_input.h"
#include "extension/input/inner_query.h"
#include "extension/server/device_use.h"
#include "extension/server/settings.h"
#include "pairs/all_pairs.h"

#include "extension/server/pg.h"

using namespace batmap;
using namespace batmap::pg;

namespace {

constexpr char kColumns[] = "the id, an integer, and the set, a batmap";

/// The engine's side of one call.
struct AllPairsCall : PairRowsCall<AllPairsQuery, AllPairsRun> {
  explicit AllPairsCall(MemoryContext context) : PairRowsCall(context), sets(meter) { query.kernels = selected_kernels(); }

  SetCollection sets;
};

class AllPairsStream final : public PairRowStream<AllPairsCall> {
 public:
  using PairRowStream::PairRowStream;

  /// Counts the sets. After that, answers can be pulled.
  RowStream* run(const AllPairsQuery& query, SetCollection& sets) {
    begin("stream", sets.size(), [&] { call().run.emplace(std::move(sets), query, call().options); });
    return this;
  }

 private:
  void show() override {
    show_pairs();
    const PairBatch& batch = call().batch;
    Assert(batch.size() <= kBatchRows);
    if (jaccard_ == nullptr) jaccard_ = static_cast<double*>(MemoryContextAlloc(context(), kBatchRows * sizeof(double)));
    for (size_t k = 0; k < batch.size(); ++k) jaccard_[k] = pair_jaccard(batch[k]);
    show_column(jaccard_, sizeof(double));
  }

  double* jaccard_ = nullptr;  // [kBatchRows]
};

// Positions of the arguments.
enum Argument { kQuery, kMinCount, kMinJaccard, kTopK, kPerItemTopK, kMaxResults, kDevice, kParams };

constexpr QueryArguments kQueryArguments{kParams - kMinCount};

/// Receives the rows of the query.
struct SetReceiver {
  DestReceiver pub;
  AllPairsCall* call;
  MemoryContext scratch;  // of one row
  Oid id_type;
};

bool receive_set(TupleTableSlot* slot, DestReceiver* self) {
  auto& receiver = *reinterpret_cast<SetReceiver*>(self);
  slot_getsomeattrs(slot, 2);
  if (slot->tts_isnull[0] || slot->tts_isnull[1]) return true;
  const Datum id = slot->tts_values[0];
  const int64_t number = receiver.id_type == INT8OID   ? DatumGetInt64(id)
                         : receiver.id_type == INT4OID ? DatumGetInt32(id)
                                                       : DatumGetInt16(id);
  const MemoryContext caller = MemoryContextSwitchTo(receiver.scratch);
  const struct varlena* const value = PG_DETOAST_DATUM_PACKED(slot->tts_values[1]);
  guarded([&] {
    receiver.call->sets.add(number, {reinterpret_cast<const std::byte*>(VARDATA_ANY(value)), VARSIZE_ANY_EXHDR(value)});
  });
  MemoryContextSwitchTo(caller);
  MemoryContextReset(receiver.scratch);
  return true;
}

/// The type of the ids. @raises 42804 unless the columns are an integer and a batmap
Oid check_types(const TwoColumns& columns, Oid function) {
  const Oid id = getBaseType(columns.types[0]);
  if (id != INT2OID && id != INT4OID && id != INT8OID)
    ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
                    errmsg("first column of the input query must be an integer, not %s", format_type_be(columns.types[0]))));
  // The type batmap in the schema of the extension.
  const Oid set = GetSysCacheOid2(TYPENAMENSP, Anum_pg_type_oid, CStringGetDatum("batmap"),
                                  ObjectIdGetDatum(get_func_namespace(function)));
  if (getBaseType(columns.types[1]) != set)
    ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
                    errmsg("second column of the input query must be %s, not %s", format_type_be(set),
                           format_type_be(columns.types[1])),
                    errhint("Arrays of integers can be cast: items::batmap.")));
  return id;
}

SetCollection& read_sets(const InnerQuery& query, Oid function, AllPairsCall& call, MemoryContext context) {
  const MemoryContext caller = MemoryContextSwitchTo(context);
  ErrorContextCallback errors;
  enter_inner_query(errors, query.text);
  Query* const analyzed = analyze_select(query, kColumns);
  const TwoColumns columns = two_columns(analyzed, kColumns, false);
  SetReceiver receiver{make_receiver(receive_set), &call,
                       AllocSetContextCreate(context, "batmap set", ALLOCSET_DEFAULT_SIZES), check_types(columns, function)};
  run_plan(pg_plan_query(analyzed, query.text, CURSOR_OPT_PARALLEL_OK, nullptr), query.text, columns.types, &receiver.pub);
  MemoryContextDelete(receiver.scratch);
  leave_inner_query(errors);
  MemoryContextSwitchTo(caller);
  return call.sets;
}

const AllPairsQuery& read_arguments(const Arguments& arguments, AllPairsQuery& query) {
  query.min_count = arguments.int8(kMinCount);
  query.min_jaccard = arguments.float8(kMinJaccard);
  query.top_k = arguments.int8(kTopK);
  query.per_item_top_k = arguments.int4(kPerItemTopK);
  query.max_results = arguments.int8(kMaxResults);
  const char* const device = arguments.string(kDevice, nullptr);
  guarded([&] {
    query.device = device != nullptr ? selected_devices(device) : selected_devices();
    query.check();
  });
  return query;
}

}  // namespace

BATMAP_TABLE_FUNCTION(batmap_all_pairs) {
  auto* const stream = new_stream<AllPairsStream>("batmap_all_pairs", context);
  const TableInput input = query_input(fcinfo, context, "batmap_all_pairs", kQuery, kQueryArguments);
  const AllPairsQuery& query = read_arguments({fcinfo, 0}, stream->call().query);
  SetCollection& sets = read_sets(input.query(), fcinfo->flinfo->fn_oid, stream->call(), context);
  return stream->run(query, sets);
}

BATMAP_FUNCTION(batmap_all_pairs_support) {
  static const SupportedCall kCall{kMinCount, 1, kTopK - kMinCount, kMaxResults - kMinCount, kQueryArguments};
  PG_RETURN_POINTER(support_call(reinterpret_cast<Node*>(PG_GETARG_POINTER(0)), kCall));
}
