// Reads the input, searches, and hands over the itemsets. See itemset_rows.h.
#include "extension/plan/itemsets/itemset_rows.h"

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "extension/input/row_reader.h"
#include "extension/plan/join/run_node.h"
#include "extension/server/device_use.h"
#include "extension/server/server_files.h"
#include "extension/streams/run_stream.h"
#include "itemsets/answers/ascending_itemset.h"
#include "itemsets/itemset_run.h"
#include "itemsets/itemset_stream.h"
#include "relation/repeated_rows.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

constexpr char kOperation[] = "itemset-join";

/// Steps of the search that wait until all of them are known: in memory, and in a file when they are many.
class WaitingSteps {
 public:
  /// @param max_bytes  in memory
  WaitingSteps(const ExecutionOptions& options, size_t max_bytes)
      : files_(options.files), steps_(*options.memory), max_steps_(Max(max_bytes / sizeof(ItemsetStep), kBatch)) {}

  void append(const std::vector<ItemsetStep>& batch) {
    if (steps_.size() + batch.size() > max_steps_ && !steps_.empty()) {
      if (file_ == nullptr) file_ = &files_->create();
      file_->write(std::as_bytes(steps_.span()));
      in_file_ += steps_.size();
      steps_.shrink(0);
    }
    std::copy(batch.begin(), batch.end(), steps_.room(batch.size()));
    steps_.add(batch.size());
  }

  /// The next steps; append() must not be called any more. @return false after the last
  bool next(std::vector<ItemsetStep>& batch) {
    if (in_file_ > 0) {
      batch.resize(Min(kBatch, in_file_));
      file_->read(std::as_writable_bytes(std::span(batch)));
      in_file_ -= batch.size();
    } else {
      const size_t size = Min(kBatch, steps_.size() - handed_over_);
      batch.assign(steps_.begin() + handed_over_, steps_.begin() + handed_over_ + size);
      handed_over_ += size;
    }
    return !batch.empty();
  }

 private:
  static constexpr size_t kBatch = 4096;

  TempFiles* files_;
  TempFile* file_ = nullptr;
  GrowingBuffer<ItemsetStep> steps_;  // after those in the file
  size_t max_steps_;
  size_t in_file_ = 0;
  size_t handed_over_ = 0;
};

struct ItemsetJoinCall : RunCall {
  using Query = ItemsetQuery;

  explicit ItemsetJoinCall(MemoryContext context) : RunCall(thread_count()), files(context) {
    options.files = &files;
    options.work_bytes = run_work_bytes();
    query.kernel = &select_mask_kernel(settings.cpu_kernel);
    query.bits = selected_kernels().bits;
    query.device = selected_devices();
  }

  ServerFiles files;
  ItemsetQuery query;
  std::optional<RowLog> log;
  std::optional<ItemsetRun> run;
  std::optional<ItemsetStream> stream;  // must be destroyed before the run
  std::optional<WaitingSteps> waiting;
  std::optional<AscendingItemset> itemset;  // the itemset of the last step
  std::vector<ItemsetStep> batch;
  RunRecord found;  // of the search
};

class ItemsetJoinStream final : public RunStream<ItemsetJoinCall> {
 public:
  using RunStream::RunStream;

  /// Searches the rows of the log.
  ItemsetRows start(const ItemsetSpec& spec, std::span<const uint32_t> ranks) {
    bool enough = true;
    bool repeats = false;
    begin(spec.input.packed ? "parallel scan" : "stream", call().log->rows(), [&] {
      enough = fits(true, [&] {
        if (spec.rows_may_repeat) {
          repeats = has_repeated_rows(EncodedRelation(call().log->chunks(), {}, call().options), call().options);
          if (repeats) return;
        }
        call().run.emplace(call().log->chunks(), ranks, call().query, call().options);
        call().log.reset();
        call().itemset.emplace(call().meter, call().run->ranks());
        call().waiting.emplace(call().options, call().options.work_bytes / RowLog::kShareOfWorkMemory);
        call().stream.emplace(*call().run, call().options);
      });
    });
    bool more = enough && !repeats;
    while (more) {
      count([&] {
        enough = fits(true, [&] {
          more = call().stream->next(call().batch);
          if (more) call().waiting->append(call().batch);
        });
        more &= enough;
        return more;
      });
      if (call().stream && enough) {
        const ItemsetStream& stream = *call().stream;
        call().progress.tasks(stream.tasks_done(), stream.tasks(), stream.results());
      }
    }
    if (!enough || repeats) {
      guarded([&] { call().stream.reset(); });
      call().files.close_all();
      return {nullptr, nullptr, repeats ? "because rows repeat" : kForWantOfMemory};
    }
    guarded([&] {
      call().found = call().stream->record();
      call().stream.reset();
      call().batch.clear();
    });
    tell(call().found.notice);
    return {this, &row_, nullptr};
  }

  bool next(Datum*) override {
    for (;;) {
      if (at_ == call().batch.size()) {
        at_ = 0;
        if (!count([&] { return call().waiting->next(call().batch); })) return false;
      }
      const ItemsetStep& step = call().batch[at_++];
      call().itemset->step(step.length, call().run->value(step.item));
      if (step.support == 0) continue;
      ++results_;
      row_ = {call().itemset->items().data(), step.support};
      return true;
    }
  }

  void finish() override {
    RunStream::finish();
    call().files.close_all();
  }

 private:
  void fill(RunRecord& record) const override {
    record = call().found;
    record.results = results_;
  }

  FoundItemset row_{};
  size_t at_ = 0;  // in the batch
  uint64_t results_ = 0;
};

}  // namespace

ItemsetRows open_itemsets(ItemsetInput& input, MemoryContext context) {
  auto* const stream = new_stream<ItemsetJoinStream>(kOperation, context);
  ItemsetJoinCall& call = stream->call();
  const ItemsetSpec& spec = input.spec;
  const JoinProjectSpec::Side& side = spec.input;
  call.query.min_count = input.min_count;
  call.query.min_length = call.query.max_length = spec.length;
  const ItemsetRows no_memory{nullptr, nullptr, kForWantOfMemory};
  if (!guarded_fits(true, [&] { call.log.emplace(call.meter); })) return no_memory;
  const TupleDesc columns = ExecGetResultType(input.plan);
  KeyEncoder encoders[2] = {
      plan_encoder(side.key, 0, static_cast<List*>(list_nth(input.lists, kItemsetKeyOperators)), NIL, false, input.parent,
                   columns, context, call.meter),
      plan_encoder(side.item, side.keys, NIL, list_make1_int(true), false, input.parent, columns, context, call.meter)};
  input.items = static_cast<KeyEncoder*>(palloc(sizeof(KeyEncoder)));
  *input.items = encoders[1];
  RowLogSink sink{&*call.log, &call.progress, true};
  const MemoryContext caller = MemoryContextSwitchTo(input.parent->state->es_query_cxt);
  const bool enough = side.packed
                          ? read_chunks(input.plan, sink)
                          : read_plan(input.plan, side.keys + side.codes, std::span<const KeyEncoder, 2>(encoders), sink);
  MemoryContextSwitchTo(caller);
  if (!enough && looks_differ(encoders[1])) return {nullptr, nullptr, kForLooks};
  if (!enough || !sink.seal()) return no_memory;
  std::span<const uint32_t> ranks;
  if (Dictionary* const items = input.items->dictionary; items != nullptr) ranks = {dictionary_sort(*items), items->count};
  return stream->start(spec, ranks);
}

}  // namespace batmap::pg
