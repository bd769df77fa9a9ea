// Reads the inputs, counts, and hands over the answers. See listed_rows.h.
#include "extension/plan/listed/listed_rows.h"

#include <optional>
#include <span>
#include <vector>

#include "extension/input/row_reader.h"
#include "extension/streams/run_stream.h"
#include "relation/row_log.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

constexpr char kOperation[] = "listed-pairs";

struct ListedCall : RunCall {
  using Query = ListedQuery;

  explicit ListedCall(MemoryContext) : RunCall(thread_count()), values(meter) {}

  std::optional<RowLog> list;
  std::optional<RowLog> inputs[2];
  GrowingBuffer<uint32_t> values;  // for each row of the list, the number of its values
  std::optional<ListedRun> run;
  std::vector<ListedPair> batch;
};

class ListedStream final : public RunStream<ListedCall> {
 public:
  using RunStream::RunStream;

  /// Counts the rows of the logs.
  ListedRows start(const ListedSpec& spec) {
    const bool packed = spec.list.packed || spec.inputs[0].packed || spec.inputs[1].packed;
    uint64_t rows = call().list->rows();
    for (const std::optional<RowLog>& log : call().inputs)
      if (log) rows += log->rows();
    bool enough = false;
    begin(packed ? "parallel scan" : "stream", rows, [&] {
      enough = fits(true, [&] {
        ListedInput input{call().list->chunks(), call().inputs[0]->chunks(), {}};
        input.right = spec.self_join ? input.left : call().inputs[1]->chunks();
        const ListedQuery query{
            .min_count = 1, .bag = spec.counting == JoinProjectCount::kRows, .each_row = spec.answer == ListedAnswer::kRow};
        call().run.emplace(input, query, call().options);
        call().list.reset();
        for (std::optional<RowLog>& log : call().inputs) log.reset();
      });
      // After the first answer the run cannot give up any more.
      enough = enough && !call().run->may_run_out();
    });
    return enough ? ListedRows{this, &pair_} : ListedRows{};
  }

  bool next(Datum*) override {
    while (at_ == call().batch.size()) {
      at_ = 0;
      if (!count([&] { return call().run->next(call().batch); })) return false;
      const RunRecord& record = call().run->record();
      call().progress.tasks(record.tasks_done, record.tasks, record.results);
    }
    pair_ = call().batch[at_++];
    if (!call().values.empty()) pair_.row = call().values[pair_.row];
    return true;
  }

 private:
  void fill(RunRecord& record) const override {
    record = call().run->record();
    record.results -= call().batch.size() - at_;
  }

  ListedPair pair_{};
  size_t at_ = 0;  // in the batch
};

/// Keeps the number of the values of each row beside the log.
struct ValuesSink {
  RowLogSink& log;
  GrowingBuffer<uint32_t>& values;

  bool append(int64_t left, int64_t right, int64_t value) {
    return guarded_fits(true, [&] { values.push_back(static_cast<uint32_t>(value)); }) && log.append(left, right, 0);
  }
};

KeyEncoder at_column(KeyEncoder encoder, int first) {
  encoder.first = first;
  return encoder;
}

/// @return whether memory was enough
bool read_list(ListedInputs& inputs, ListedCall& call, MemoryContext context) {
  const JoinProjectSpec::Side& list = inputs.spec.list;
  const TupleDesc columns = ExecGetResultType(inputs.list);
  const auto encoder = [&](KeyKind kind, int first, ListedList operators, bool null_is_key = false) {
    return plan_encoder(kind, first, static_cast<List*>(list_nth(inputs.lists, operators)), NIL, null_is_key, inputs.parent,
                        columns, context, call.meter);
  };
  inputs.codes[0] = encoder(list.key, 0, kListedLeftCodes);
  // Of a self-join, both items have the same numbers.
  inputs.codes[1] =
      inputs.spec.self_join ? at_column(inputs.codes[0], list.keys) : encoder(list.item, list.keys, kListedRightCodes);
  RowLogSink sink{&*call.list, &call.progress, true};
  if (inputs.spec.answer == ListedAnswer::kRow) {
    const KeyEncoder encoders[3] = {inputs.codes[0], inputs.codes[1],
                                    encoder(KeyKind::kTuples, list.keys + list.codes, kListedItems, true)};
    inputs.values = encoders[2].tuples;
    ValuesSink numbered{sink, call.values};
    return read_plan(inputs.list, columns->natts, std::span<const KeyEncoder, 3>(encoders), numbered) && sink.seal();
  }
  const KeyEncoder encoders[2] = {inputs.codes[0], inputs.codes[1]};
  return (list.packed ? read_chunks(inputs.list, sink)
                      : read_plan(inputs.list, columns->natts, std::span<const KeyEncoder, 2>(encoders), sink)) &&
         sink.seal();
}

/// The same, for the two inputs.
bool read_inputs(ListedInputs& inputs, ListedCall& call, MemoryContext context) {
  KeyEncoder key;
  for (int number = 0; number < (inputs.spec.self_join ? 1 : 2); ++number) {
    const JoinProjectSpec::Side& side = inputs.spec.inputs[number];
    PlanState* const plan = inputs.plans[number];
    // Both inputs share the numbers of keys.
    if (number == 0)
      key = plan_encoder(side.key, 0, static_cast<List*>(list_nth(inputs.lists, kListedKeys)), NIL, false, inputs.parent,
                         ExecGetResultType(plan), context, call.meter);
    const KeyEncoder encoders[2] = {key, at_column(inputs.codes[number], side.keys)};
    RowLogSink sink{&*call.inputs[number], &call.progress, true};
    const bool enough = side.packed
                            ? read_chunks(plan, sink)
                            : read_plan(plan, side.keys + side.codes, std::span<const KeyEncoder, 2>(encoders), sink);
    if (!enough || !sink.seal()) return false;
  }
  return true;
}

}  // namespace

ListedRows open_listed_pairs(ListedInputs& inputs, MemoryContext context) {
  auto* const stream = new_stream<ListedStream>(kOperation, context);
  ListedCall& call = stream->call();
  const auto make_logs = [&] {
    call.list.emplace(call.meter);
    for (std::optional<RowLog>& log : call.inputs) log.emplace(call.meter);
  };
  if (!guarded_fits(true, make_logs)) return {};
  const MemoryContext caller = MemoryContextSwitchTo(inputs.parent->state->es_query_cxt);
  const bool enough = read_list(inputs, call, context) && read_inputs(inputs, call, context);
  MemoryContextSwitchTo(caller);
  return enough ? stream->start(inputs.spec) : ListedRows{};
}

}  // namespace batmap::pg
