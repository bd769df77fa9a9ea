// What the table functions that answer with pairs share: the engine's objects of one call, pulling its batches, the
// record of the run, and the warning where max_results cut the answer off.
#pragma once

#include <new>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "extension/backend.h"
#include "extension/boundary.h"
#include "extension/context_owned.h"
#include "extension/last_run.h"
#include "extension/progress.h"
#include "extension/row_stream.h"
#include "extension/settings.h"
#include "extension/temp_files.h"
#include "support/pair_run.h"

#include "extension/pg.h"

namespace batmap::pg {

/// The engine's side of one call; lives in the memory context of the call.
template <typename Query, typename Run>
struct PairRowsCall {
  explicit PairRowsCall(MemoryContext context)
      : meter(memory_limit_bytes()),
        files(context),
        options{thread_count(), &meter, backend_cancel_token(), &files, work_memory_bytes()} {}

  MemoryMeter meter;
  ServerFiles files;
  ProgressReport progress;
  ExecutionOptions options;
  Query query;
  std::optional<Run> run;
  std::vector<PairRow> batch;
  size_t handed_over = 0;  // of the batch
};

/// What a report says of a run, apart from its input and its surroundings.
void record_pairs(const PairReport& report, LastRun& run);

/// Since `start`, which becomes now.
double lap_ms(instr_time& start);

/// A WARNING, or an error under batmap.on_truncation = error.
void report_truncation(int64_t max_results);
void report_timeout(int64_t timeout_ms);

template <typename Call>
class PairRowStream : public RowStream {
 public:
  PairRowStream(const char* operation, Call* call) : operation_(operation), call_(call) { INSTR_TIME_SET_CURRENT(clock_); }

  Call& call() const { return *call_; }

  bool next(Datum* values) final {
    if (call_->handed_over == call_->batch.size() && !next_batch()) return false;
    put(call_->batch[call_->handed_over++], values);
    return true;
  }

  void finish() final {
    describe(last_run);
    call_->files.close_all();
    call_->progress.finish();
  }

  void explain(ExplainState* state) final {
    LastRun run;
    describe(run);
    explain_run(run, state);
  }

 protected:
  /// Makes the run, once its input has been read.
  /// @param kind  how the input came: a word for batmap_last_run()
  /// @param make  runs inside guarded
  template <typename Make>
  void begin(const char* kind, uint64_t rows_read, Make make) {
    kind_ = kind;
    rows_read_ = rows_read;
    read_ms_ = lap_ms(clock_);
    call_->progress.phase(Phase::kGrouping, rows_read);
    guarded(make);
    INSTR_TIME_SET_CURRENT(clock_);
  }

 private:
  virtual void put(const PairRow& row, Datum* values) const = 0;

  bool next_batch() {
    do {
      CHECK_FOR_INTERRUPTS();
      answer_ms_ += lap_ms(clock_);
      call_->handed_over = 0;
      const bool more = guarded([&] { return call_->run->next(call_->batch); });
      const PairReport& report = call_->run->report();
      call_->progress.tasks(report.tasks_done, report.tasks, report.results);
      INSTR_TIME_SET_CURRENT(clock_);
      if (more) continue;
      if (report.truncated) {
        finish();
        report_truncation(*call_->query.max_results);
      }
      return false;
    } while (call_->batch.empty());
    return true;
  }

  void describe(LastRun& run) const {
    run = {};
    run.any = true;
    record_pairs(call_->run->report(), run);
    run.results -= static_cast<int64_t>(call_->batch.size() - call_->handed_over);
    strlcpy(run.operation, operation_, sizeof run.operation);
    strlcpy(run.input, kind_, sizeof run.input);
    run.threads = call_->options.threads;
    run.rows_read = static_cast<int64_t>(rows_read_);
    run.read_ms = read_ms_;
    run.answer_ms = answer_ms_;
    run.peak_memory = static_cast<int64_t>(call_->meter.peak());
  }

  const char* operation_;
  const char* kind_ = "";
  Call* call_;
  uint64_t rows_read_ = 0;
  double read_ms_ = 0;
  double answer_ms_ = 0;  // between a batch and the wish for the next
  instr_time clock_;
};

/// A stream of type Stream, which is a PairRowStream of its Call, in `context`.
template <typename Stream>
Stream* new_pair_stream(const char* operation, MemoryContext context) {
  using Call = std::remove_reference_t<decltype(std::declval<Stream>().call())>;
  Call* const call = ContextOwned<Call>::reserve(context)->emplace(context);
  call->progress.start(operation);
  return new (MemoryContextAlloc(context, sizeof(Stream))) Stream(operation, call);
}

/// Planner support of a table function: the rows that its arguments `top_k` and `max_results` allow.
/// @param from_end  their places, counted from the last argument, 1 the last
Node* bound_rows(Node* request, int top_k_from_end, int max_results_from_end);

}  // namespace batmap::pg
