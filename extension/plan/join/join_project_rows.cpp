// Reads the inputs, counts, and hands over the pairs. See join_project_rows.h.
#include "extension/plan/join/join_project_rows.h"

#include <algorithm>
#include <span>

#include "extension/input/node_pack_rows.h"
#include "extension/input/row_reader.h"
#include "extension/plan/join/run_node.h"
#include "extension/server/device_use.h"
#include "extension/streams/pair_stream.h"
#include "pairs/grouped_run.h"
#include "pairs/join_run.h"
#include "relation/chunk.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

constexpr char kOperation[] = "join-project";

template <typename Query, typename Run>
struct JoinProjectCall : PairRowsCall<Query, GroupedRun<Run>> {
  explicit JoinProjectCall(MemoryContext context) : PairRowsCall<Query, GroupedRun<Run>>(context) {
    this->query.kernels = selected_kernels();
    this->query.device = selected_devices();
  }

  std::optional<RowLog> logs[2];
  std::optional<ItemGroups> groups[JoinProjectSpec::kLookups];
  Buffer<uint32_t> ranks;  // of groups of both sides, if they are compared
};
using SelfCall = JoinProjectCall<PairQuery, PairRun>;
using PairOfInputsCall = JoinProjectCall<JoinQuery, JoinRun>;

/// Answers without rows and closes the files, which are not needed any more.
template <typename Call>
JoinProjectRows give_up(Call& call) {
  call.files.close_all();
  return {};
}

template <typename Call>
class JoinProjectStream final : public PairRowStream<Call> {
 public:
  using PairRowStream<Call>::PairRowStream;
  using PairRowStream<Call>::call;

  /// @param make  makes the run
  template <typename Make>
  JoinProjectRows start(bool packed, Make make) {
    uint64_t rows = 0;
    for (const std::optional<RowLog>& log : call().logs)
      if (log) rows += log->rows();
    bool enough = false;
    this->begin(packed ? "parallel scan" : "stream", rows, [&] {
      enough = fits(true, [&] {
        make();
        if (!call().run->needs_rows())
          for (std::optional<RowLog>& log : call().logs) log.reset();
        // Runs up to the first answers. After them the run cannot give up any more.
        if (call().run->may_run_out()) call().run->count_all();
        while (call().run->next(call().batch) && call().batch.empty()) {
        }
        this->begin_batch();
      });
    });
    return enough ? JoinProjectRows{this, &call().batch} : give_up(call());
  }
};

// ---- lookups

/// Reads what a lookup says: its first column is the key, the others are numbered as tuples. Without others, all keys
/// are one group, and `found` stays nullptr.
/// @param code  the kind of what is looked up @return whether memory was enough
bool read_lookup(PlanState* plan, KeyKind key, KeyKind code, List* operators, const List* shown, PlanState* parent,
                 MemoryContext context, RunCall& call, ItemGroups& groups, TupleCodes*& found) {
  if (operators != NIL)
    found = tuple_codes_create(context, parent, ExecGetResultType(plan), 1, operators, shown, call.meter);
  while (const TupleTableSlot* const row = next_slot(plan, 1 + list_length(operators))) {
    if (row->tts_isnull[0]) continue;
    const int64_t item = own_key(key, row->tts_values[0]);
    if (item == kNullKey && code != KeyKind::kInt8) continue;  // no code of 32 bits is so large, but NULL has this number
    const int64_t group = found == nullptr ? 0 : tuple_code(*found, row->tts_values + 1, row->tts_isnull + 1);
    if (group < 0 || !guarded_fits(true, [&] { groups.add(item, static_cast<uint32_t>(group)); })) return false;
  }
  return guarded_fits(true, [&] { groups.seal(call.options.cancel); });
}

struct ValueOrder {
  const Datum* values;
  FmgrInfo* compare;
  Oid collation;
  MemoryContext scratch;
};

int compare_values(const void* a, const void* b, void* arg) {
  const auto& order = *static_cast<const ValueOrder*>(arg);
  CHECK_FOR_INTERRUPTS();
  const MemoryContext caller = MemoryContextSwitchTo(order.scratch);
  const int result =
      DatumGetInt32(FunctionCall2Coll(order.compare, order.collation, order.values[*static_cast<const uint32_t*>(a)],
                                      order.values[*static_cast<const uint32_t*>(b)]));
  MemoryContextSwitchTo(caller);
  MemoryContextReset(order.scratch);
  return result;
}

/// Ranks groups by one of their values. Equal values have equal ranks, NULL has none. @return whether memory was enough
bool rank_groups(const TupleCodes& found, int value, MemoryContext context, MemoryMeter& meter, Buffer<uint32_t>& ranks) {
  constexpr size_t kBytes = sizeof(Datum) + 2 * sizeof(uint32_t);
  if (meter.available() < found.count * kBytes || !guarded_fits(true, [&] { ranks = Buffer<uint32_t>(meter, found.count); }))
    return false;
  const MemoryContext own = AllocSetContextCreate(context, "batmap ranks", ALLOCSET_DEFAULT_SIZES);
  auto* const values = static_cast<Datum*>(MemoryContextAllocHuge(own, sizeof(Datum) * Max(found.count, 1)));
  auto* const sorted = static_cast<uint32_t*>(MemoryContextAllocHuge(own, sizeof(uint32_t) * Max(found.count, 1)));
  auto* const row = static_cast<Datum*>(MemoryContextAlloc(own, sizeof(Datum) * static_cast<size_t>(found.columns)));
  auto* const nulls = static_cast<bool*>(MemoryContextAlloc(own, sizeof(bool) * static_cast<size_t>(found.columns)));
  uint32_t size = 0;
  for (uint32_t group = 0; group < found.count; ++group) {
    ranks[group] = PairGrouping::kNoRank;
    tuple_of_code(found, group, row, nulls);
    values[group] = row[value];
    if (!nulls[value]) sorted[size++] = group;
  }
  const Form_pg_attribute column = TupleDescAttr(found.slot->tts_tupleDescriptor, value);
  TypeCacheEntry* const type = lookup_type_cache(column->atttypid, TYPECACHE_CMP_PROC_FINFO);
  ValueOrder order{values, &type->cmp_proc_finfo, column->attcollation,
                   AllocSetContextCreate(own, "batmap ranks scratch", ALLOCSET_SMALL_SIZES)};
  qsort_arg(sorted, size, sizeof(uint32_t), compare_values, &order);
  uint32_t rank = 0;
  for (uint32_t k = 0; k < size; ++k) {
    if (k > 0 && compare_values(&sorted[k - 1], &sorted[k], &order) != 0) rank = k;
    ranks[sorted[k]] = rank;
  }
  MemoryContextDelete(own);
  return true;
}

template <typename Call>
bool read_lookups(JoinProjectInputs& inputs, Call& call, MemoryContext context) {
  constexpr JoinProjectList kOperators[] = {kLeftItemOperators, kRightItemOperators, kSharedOperators};
  constexpr JoinProjectList kShown[] = {kLeftShown, kRightShown, kSharedShown};
  for (int number = 0; number < JoinProjectSpec::kLookups; ++number) {
    if (inputs.spec.looked_up(number).lookup == Lookup::kOfLeft) inputs.found[number] = inputs.found[0];
    if (inputs.lookups[number] == nullptr) continue;
    guarded([&] { call.groups[number].emplace(call.meter); });
    const MemoryContext caller = MemoryContextSwitchTo(inputs.parent->state->es_query_cxt);
    const KeyKind code = number < 2 ? inputs.spec.side(number).item : inputs.spec.side(0).key;
    const bool enough = read_lookup(inputs.lookups[number], inputs.spec.looked_up(number).lookup_key, code,
                                    static_cast<List*>(list_nth(inputs.lists, kOperators[number])),
                                    static_cast<List*>(list_nth(inputs.lists, kShown[number])), inputs.parent, context, call,
                                    *call.groups[number], inputs.found[number]);
    MemoryContextSwitchTo(caller);
    if (!enough) return false;
  }
  if (inputs.found[2] != nullptr && inputs.found[2]->count >= kMaxPrefixes) return false;
  const int value = inputs.spec.compared_value;
  return value < 0 || !inputs.spec.grouped || rank_groups(*inputs.found[0], value, context, call.meter, call.ranks);
}

/// Leaves out the rows whose key has no group: they are in no row of the join. May put the group before each item.
struct KeyGroupSink {
  RowLogSink& log;
  const ItemGroups& groups;
  bool is_prefix;  // of the items

  int64_t item_of(uint32_t group, int64_t item) const { return is_prefix ? with_prefix(group, item) : item; }

  bool append(int64_t tid, int64_t item, int64_t) {
    const uint32_t group = groups.find(tid);
    return group == ItemGroups::kNone || log.append(tid, item_of(group, item), 0);
  }

  bool append_rows(std::span<const TidItem> rows) {
    for (const TidItem& row : rows)
      if (!append(row.tid, row.item, 0)) return false;
    return true;
  }

  bool read_chunks(PlanState* plan, MemoryContext context) {
    auto* const rows = static_cast<TidItem*>(MemoryContextAlloc(context, sizeof(TidItem) * kChunkRows));
    const auto append_chunk = [&](std::span<const std::byte> bytes) {
      return guarded_fits(true, [&] {
        const ChunkView chunk = read_chunk(bytes.data());
        decode_chunk(chunk, rows);
        for (uint32_t k = 0; k < chunk.rows; ++k) {
          const uint32_t group = groups.find(rows[k].tid);
          if (group != ItemGroups::kNone) log.log->append(rows[k].tid, item_of(group, rows[k].item));
        }
      });
    };
    while (const TupleTableSlot* const slot = next_slot(plan, 1)) {
      if (!visit_chunks(plan, slot->tts_values[0], append_chunk)) return false;
      log.progress->phase(Phase::kReading, log.log->rows());
    }
    pfree(rows);
    return true;
  }
};

// ---- inputs

/// Reads all inputs into their logs, in the memory context of the query, as plan nodes expect. @return whether
/// memory was enough
template <typename Call>
bool read_inputs(JoinProjectInputs& inputs, Call& call, MemoryContext context) {
  const JoinProjectSpec& spec = inputs.spec;
  KeyEncoder encoders[2]{};  // of the key and of the item
  for (int number = 0; number < spec.inputs(); ++number) {
    const JoinProjectSpec::Side& side = spec.sides[number];
    PlanState* const plan = inputs.plans[number];
    make_encoders(inputs, number, context, call.meter, encoders);
    RowLogSink sink{&*call.logs[number], &call.progress, true};
    const MemoryContext caller = MemoryContextSwitchTo(inputs.parent->state->es_query_cxt);
    const int wanted = side.keys + side.codes;
    const std::span<const KeyEncoder, 2> columns(encoders);
    bool enough;
    if (call.groups[2]) {
      KeyGroupSink grouped{sink, *call.groups[2], spec.shared.items > 0};
      enough = side.packed ? grouped.read_chunks(plan, context) : read_plan(plan, wanted, columns, grouped);
    } else {
      enough = side.packed ? read_chunks(plan, sink) : read_plan(plan, wanted, columns, sink);
    }
    MemoryContextSwitchTo(caller);
    if (!enough || !sink.seal()) return false;
  }
  return true;
}

/// How pairs of codes become pairs of groups. @return nothing: they stay pairs of codes
template <typename Call>
std::optional<PairGrouping> grouping_of(const JoinProjectSpec& spec, const JoinProjectBounds& bounds, const Call& call) {
  if (!spec.grouped) return std::nullopt;
  const auto groups_of = [&](int side) {
    const std::optional<ItemGroups>& groups = call.groups[spec.sides[side].lookup == Lookup::kOfLeft ? 0 : side];
    return groups ? &*groups : nullptr;
  };
  PairGrouping grouping{.left = groups_of(0),
                        .right = groups_of(1),
                        .both_orders = spec.self_join != 0,
                        .has_prefixes = spec.shared.items > 0,
                        .condition = spec.condition,
                        .ranks = call.ranks.span(),
                        .min_count = static_cast<uint64_t>(bounds.min_count),
                        .top_k = std::nullopt};
  if (bounds.best) grouping.top_k = static_cast<uint64_t>(*bounds.best);
  return grouping;
}

/// Sets what both kinds of queries have in common.
template <typename Query>
void ask(const JoinProjectSpec& spec, const JoinProjectBounds& bounds, const std::optional<PairGrouping>& grouping,
         Query& query) {
  query.min_count = bounds.min_count;
  if (grouping && !grouping->keeps_items()) query.min_count = 1;  // of a pair of codes; groups have more
  if (!grouping) query.top_k = bounds.best;
  query.ties = query.top_k.has_value();
  query.bag = spec.rows_repeat;
  query.distinct_only = spec.counting == JoinProjectCount::kNothing;
}

bool is_packed(const JoinProjectSpec& spec) { return spec.sides[0].packed || (!spec.self_join && spec.sides[1].packed); }

JoinProjectRows open_self_join(JoinProjectInputs& inputs, const JoinProjectBounds& bounds, MemoryContext context) {
  auto* const stream = new_stream<JoinProjectStream<SelfCall>>(kOperation, context);
  SelfCall& call = stream->call();
  const JoinProjectSpec& spec = inputs.spec;
  const auto make_log = [&] { call.logs[0].emplace(call.options); };
  if (!guarded_fits(true, make_log) || !read_lookups(inputs, call, context) || !read_inputs(inputs, call, context))
    return give_up(call);
  const std::optional<PairGrouping> grouping = grouping_of(spec, bounds, call);
  ask(spec, bounds, grouping, call.query);
  call.query.supports = false;
  // An item and itself have one group, and groups may have several items.
  call.query.diagonal = grouping ? holds_for_equals(spec.condition) : holds_for_equals(spec.order);
  std::span<const uint32_t> ranks;
  if (Dictionary* const items = inputs.items[0]->dictionary; items != nullptr)
    ranks = {dictionary_sort(*items), items->count};
  return stream->start(is_packed(spec), [&] {
    call.run.emplace(grouping, call.options,
                     [&](std::optional<PairRun>& run) { run.emplace(*call.logs[0], ranks, call.query, call.options); });
  });
}

JoinProjectRows open_two_inputs(JoinProjectInputs& inputs, const JoinProjectBounds& bounds, MemoryContext context) {
  auto* const stream = new_stream<JoinProjectStream<PairOfInputsCall>>(kOperation, context);
  PairOfInputsCall& call = stream->call();
  const JoinProjectSpec& spec = inputs.spec;
  const auto make_logs = [&] {
    for (std::optional<RowLog>& log : call.logs) log.emplace(call.options);
  };
  if (!guarded_fits(true, make_logs) || !read_lookups(inputs, call, context) || !read_inputs(inputs, call, context))
    return give_up(call);
  const std::optional<PairGrouping> grouping = grouping_of(spec, bounds, call);
  ask(spec, bounds, grouping, call.query);
  return stream->start(is_packed(spec), [&] {
    JoinedRelation joined = join_relations(side_of(*call.logs[0], {}), side_of(*call.logs[1], {}), call.options);
    for (std::optional<RowLog>& log : call.logs) log.reset();
    call.run.emplace(grouping, call.options,
                     [&](std::optional<JoinRun>& run) { run.emplace(std::move(joined), call.query, call.options); });
  });
}

}  // namespace

void make_encoders(JoinProjectInputs& inputs, int number, MemoryContext context, MemoryMeter& meter,
                   KeyEncoder encoders[2]) {
  const JoinProjectSpec::Side& side = inputs.spec.sides[number];
  const auto list = [&](JoinProjectList which) { return static_cast<List*>(list_nth(inputs.lists, which)); };
  const auto encoder = [&](KeyKind kind, int first, JoinProjectList operators, const List* shown, bool null_is_key) {
    return plan_encoder(kind, first, list(operators), shown, null_is_key, inputs.parent,
                        ExecGetResultType(inputs.plans[number]), context, meter);
  };
  if (number == 0 || is_own_key(side.key)) encoders[0] = encoder(side.key, 0, kKeyOperators, NIL, false);
  encoders[1] = encoder(side.item, side.keys, number == 0 ? kLeftItemOperators : kRightItemOperators,
                        list(number == 0 ? kLeftShown : kRightShown), side.null_items != 0);
  inputs.items[number] = static_cast<KeyEncoder*>(palloc(sizeof(KeyEncoder)));
  *inputs.items[number] = encoders[1];
}

const char* why_not_read(const JoinProjectInputs& inputs) {
  bool differ = false;
  for (const KeyEncoder* const items : inputs.items) differ |= items != nullptr && looks_differ(*items);
  for (const TupleCodes* const found : inputs.found) differ |= found != nullptr && found->looks_differ;
  return differ ? kForLooks : kForWantOfMemory;
}

JoinProjectRows open_join_project(JoinProjectInputs& inputs, const JoinProjectBounds& bounds, MemoryContext context) {
  return inputs.spec.self_join ? open_self_join(inputs, bounds, context) : open_two_inputs(inputs, bounds, context);
}

}  // namespace batmap::pg
