// Reads the inputs, counts, and hands over the pairs. See join_project_rows.h.
#include "extension/plan/join_project_rows.h"

#include <algorithm>

#include "extension/functions/pair_stream.h"
#include "extension/input/row_reader.h"
#include "extension/server/device_use.h"
#include "pairs/join_run.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

constexpr char kOperation[] = "join-project";
constexpr double kMostPasses = 1000;  // limit, however expensive the planner takes the plain plan to be

template <typename Query, typename Run>
struct JoinProjectCall : PairRowsCall<Query, Run> {
  explicit JoinProjectCall(MemoryContext context) : PairRowsCall<Query, Run>(context) {
    this->query.kernels = selected_kernels();
    this->query.device = selected_devices();
  }

  std::optional<RowLog> logs[2];
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
    return enough ? JoinProjectRows{this, &row_} : give_up(call());
  }

 private:
  void put(const PairRow& row, Datum*) const override { row_ = row; }

  mutable PairRow row_{};
};

/// Reads all inputs into their logs, in the memory context of the query, as plan nodes expect. @return whether
/// memory was enough
template <typename Call>
bool read_inputs(JoinProjectInputs& inputs, Call& call, MemoryContext context) {
  const JoinProjectSpec& spec = inputs.spec;
  KeyEncoder encoders[2]{};  // of the key and of the item
  for (int number = 0; number < spec.inputs(); ++number) {
    const JoinProjectSpec::Side& side = spec.sides[number];
    PlanState* const plan = inputs.plans[number];
    const auto encoder = [&](KeyKind kind, int first, JoinProjectList operators, bool null_is_key) {
      return plan_encoder(kind, first, static_cast<List*>(list_nth(inputs.lists, operators)), null_is_key, inputs.parent,
                          ExecGetResultType(plan), context, call.meter);
    };
    // Both inputs share the ids of keys.
    if (number == 0 || is_own_key(side.key)) encoders[0] = encoder(side.key, 0, kKeyOperators, false);
    encoders[1] =
        encoder(side.item, side.keys, number == 0 ? kLeftItemOperators : kRightItemOperators, side.null_items != 0);
    inputs.items[number] = static_cast<KeyEncoder*>(palloc(sizeof(KeyEncoder)));
    *inputs.items[number] = encoders[1];
    RowLogSink sink{&*call.logs[number], &call.progress, true};
    const MemoryContext caller = MemoryContextSwitchTo(inputs.parent->state->es_query_cxt);
    const bool enough =
        side.packed ? read_chunks(plan, sink)
                    : read_rows(PlanSource{plan, side.keys + side.items}, std::span<const KeyEncoder, 2>(encoders), sink);
    MemoryContextSwitchTo(caller);
    if (!enough || !sink.seal()) return false;
  }
  return true;
}

/// Sets what both kinds of queries have in common.
template <typename Query>
void ask(const JoinProjectSpec& spec, const JoinProjectBounds& bounds, Query& query) {
  query.min_count = bounds.min_count;
  query.top_k = bounds.best;
  query.ties = bounds.best.has_value();
  query.bag = spec.rows_repeat;
  query.distinct_only = spec.counting == JoinProjectCount::kNothing;
}

/// How often rows in files may be read again before the plain plan becomes cheaper.
uint64_t most_passes(const JoinProjectBounds& bounds, uint64_t rows) {
  const double passes = bounds.plain_cost / pass_cost(static_cast<double>(rows));
  return static_cast<uint64_t>(std::clamp(passes, 1.0, kMostPasses));
}

bool is_packed(const JoinProjectSpec& spec) { return spec.sides[0].packed || (!spec.self_join && spec.sides[1].packed); }

JoinProjectRows open_self_join(JoinProjectInputs& inputs, const JoinProjectBounds& bounds, MemoryContext context) {
  auto* const stream = new_stream<JoinProjectStream<SelfCall>>(kOperation, context);
  SelfCall& call = stream->call();
  const JoinProjectSpec& spec = inputs.spec;
  ask(spec, bounds, call.query);
  call.query.diagonal = spec.order == ItemOrder::kAny;
  if (!guarded_fits(true, [&] { call.logs[0].emplace(call.options); }) || !read_inputs(inputs, call, context))
    return give_up(call);
  std::span<const uint32_t> ranks;
  if (Dictionary* const items = inputs.items[0]->dictionary; items != nullptr)
    ranks = {dictionary_sort(*items), items->count};
  call.query.max_passes = most_passes(bounds, call.logs[0]->rows());
  return stream->start(is_packed(spec), [&] { call.run.emplace(*call.logs[0], ranks, call.query, call.options); });
}

JoinProjectRows open_two_inputs(JoinProjectInputs& inputs, const JoinProjectBounds& bounds, MemoryContext context) {
  auto* const stream = new_stream<JoinProjectStream<PairOfInputsCall>>(kOperation, context);
  PairOfInputsCall& call = stream->call();
  const JoinProjectSpec& spec = inputs.spec;
  ask(spec, bounds, call.query);
  const auto make_logs = [&] {
    for (std::optional<RowLog>& log : call.logs) log.emplace(call.options);
  };
  if (!guarded_fits(true, make_logs) || !read_inputs(inputs, call, context)) return give_up(call);
  call.query.max_passes = most_passes(bounds, call.logs[0]->rows() + call.logs[1]->rows());
  return stream->start(is_packed(spec), [&] {
    JoinedRelation joined = join_relations(side_of(*call.logs[0], {}), side_of(*call.logs[1], {}), call.options);
    for (std::optional<RowLog>& log : call.logs) log.reset();
    call.run.emplace(std::move(joined), call.query, call.options);
  });
}

}  // namespace

JoinProjectRows open_join_project(JoinProjectInputs& inputs, const JoinProjectBounds& bounds, MemoryContext context) {
  return inputs.spec.self_join ? open_self_join(inputs, bounds, context) : open_two_inputs(inputs, bounds, context);
}

}  // namespace batmap::pg
