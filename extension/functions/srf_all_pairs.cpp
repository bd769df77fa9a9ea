// Table functions batmap_all_pairs and batmap_all_pairs_of: fetch each set of a query once and count all pairs of them.
#include <vector>

#include "extension/functions/pair_stream.h"
#include "extension/functions/planner_support.h"
#include "extension/functions/table_input.h"
#include "extension/input/inner_query.h"
#include "extension/input/key_encoder.h"
#include "extension/server/device_use.h"
#include "extension/server/settings.h"
#include "pairs/all_pairs.h"

#include "extension/server/pg.h"

using namespace batmap;
using namespace batmap::pg;

namespace {

constexpr char kColumns[] = "the id and the set, a batmap";

/// The engine's side of one call.
struct AllPairsCall : PairRowsCall<AllPairsQuery, AllPairsRun> {
  explicit AllPairsCall(MemoryContext context) : PairRowsCall(context), sets(meter) { query.kernels = selected_kernels(); }

  SetCollection sets;
  const Dictionary* ids = nullptr;  // by rank, which is then the id of a set; nullptr: ids are integers
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
    show_pairs(call().ids, call().ids);
    const PairBatch& batch = call().batch;
    Assert(batch.size() <= kBatchRows);
    if (jaccard_ == nullptr) jaccard_ = static_cast<double*>(MemoryContextAlloc(context(), kBatchRows * sizeof(double)));
    for (size_t k = 0; k < batch.size(); ++k) jaccard_[k] = pair_jaccard(batch[k]);
    show_column(jaccard_, sizeof(double));
  }

  double* jaccard_ = nullptr;  // [kBatchRows]
};

// Positions of the arguments after the query.
enum Argument { kMinCount, kMinJaccard, kTopK, kPerItemTopK, kMaxResults, kDevice, kParams };

constexpr QueryArguments kQueryArguments{kParams};

/// Receives the rows of the query.
struct SetReceiver {
  DestReceiver pub;
  AllPairsCall* call;
  MemoryContext scratch;  // of one row
  KeyEncoder id;
};

bool receive_set(TupleTableSlot* slot, DestReceiver* self) {
  auto& receiver = *reinterpret_cast<SetReceiver*>(self);
  slot_getsomeattrs(slot, 2);
  if (slot->tts_isnull[0] || slot->tts_isnull[1]) return true;
  int64_t id;
  encode_key(receiver.id, slot->tts_values, slot->tts_isnull, id);
  const MemoryContext caller = MemoryContextSwitchTo(receiver.scratch);
  const struct varlena* const value = PG_DETOAST_DATUM_PACKED(slot->tts_values[1]);
  guarded([&] {
    receiver.call->sets.add(id, {reinterpret_cast<const std::byte*>(VARDATA_ANY(value)), VARSIZE_ANY_EXHDR(value)});
  });
  MemoryContextSwitchTo(caller);
  MemoryContextReset(receiver.scratch);
  return true;
}

/// @raises 42804 unless the columns are an id and a batmap
void check_types(const TwoColumns& columns, Oid id_type, Oid function) {
  check_key_type(columns.types[0], id_type, "first", "ids");
  // The type batmap in the schema of the extension.
  const Oid set = GetSysCacheOid2(TYPENAMENSP, Anum_pg_type_oid, CStringGetDatum("batmap"),
                                  ObjectIdGetDatum(get_func_namespace(function)));
  if (getBaseType(columns.types[1]) != set)
    ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
                    errmsg("second column of the input query must be %s, not %s", format_type_be(set),
                           format_type_be(columns.types[1])),
                    errhint("Arrays of integers can be cast: items::batmap.")));
}

SetCollection& read_sets(const TableInput& input, AllPairsCall& call) {
  const InnerQuery query = input.query();
  const MemoryContext caller = MemoryContextSwitchTo(input.context);
  ErrorContextCallback errors;
  enter_inner_query(errors, query.text);
  Query* const analyzed = analyze_select(query, kColumns);
  const TwoColumns columns = two_columns(analyzed, kColumns, false);
  check_types(columns, input.item_type, input.fcinfo->flinfo->fn_oid);
  SetReceiver receiver{make_receiver(receive_set), &call,
                       AllocSetContextCreate(input.context, "batmap set", ALLOCSET_DEFAULT_SIZES),
                       column_encoder(key_kind(columns.types[0], input.item_type), 0)};
  add_dictionary(receiver.id, input.item_type, columns.collations[0], input.context, call.meter);
  run_plan(plan_select(analyzed, query.text), query.text, columns.types, &receiver.pub);
  MemoryContextDelete(receiver.scratch);
  if (Dictionary* const ids = receiver.id.dictionary; ids != nullptr) {
    const uint32_t* const ranks = dictionary_sort(*ids);
    guarded([&] { call.sets.rename({ranks, ids->count}); });
    call.ids = ids;
  }
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

/// The steps of a call.
RowStream* find_set_pairs(const TableInput& input) {
  auto* const stream = new_stream<AllPairsStream>(input.operation, input.context);
  const AllPairsQuery& query = read_arguments(input.arguments(), stream->call().query);
  SetCollection& sets = read_sets(input, stream->call());
  return stream->run(query, sets);
}

}  // namespace

BATMAP_TABLE_FUNCTION(batmap_all_pairs) {
  return find_set_pairs(query_input(fcinfo, context, "batmap_all_pairs", 0, kQueryArguments));
}

BATMAP_TABLE_FUNCTION(batmap_all_pairs_text_query) {
  return find_set_pairs(query_input(fcinfo, context, "batmap_all_pairs_of", 0, kQueryArguments, TEXTOID));
}

BATMAP_TABLE_FUNCTION(batmap_all_pairs_of_query) {
  return find_set_pairs(
      query_input(fcinfo, context, "batmap_all_pairs_of", 1, kQueryArguments, item_type_argument(fcinfo, 0)));
}

BATMAP_FUNCTION(batmap_all_pairs_support) {
  static const SupportedCall kCall{1, 1, kTopK, kMaxResults, kQueryArguments};
  PG_RETURN_POINTER(support_call(reinterpret_cast<Node*>(PG_GETARG_POINTER(0)), kCall));
}
