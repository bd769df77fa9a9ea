// Shared by the table functions that stream the answers of an engine run: the engine objects of one call, the
// course of the run with its times and its record, and the warning when a limit has cut the answer off.
#pragma once

#include <algorithm>
#include <string>

#include "core/run_record.h"
#include "core/thread_team.h"
#include "extension/server/backend.h"
#include "extension/server/boundary.h"
#include "extension/server/context_owned.h"
#include "extension/server/last_run.h"
#include "extension/server/progress.h"
#include "extension/server/settings.h"
#include "extension/streams/row_stream.h"
#include "relation/swapped_columns.h"

#include "extension/server/pg.h"

namespace batmap::pg {

/// The engine's side of one call; lives in the memory context of the call.
struct RunCall {
  explicit RunCall(int threads)
      : meter(memory_limit_bytes(), session_memory()),
        options{.threads = threads,
                .memory = &meter,
                .cancel = backend_cancel_token(),
                .helpers = session_threads(),
                .pool = threads > 1 ? new_thread_pool(session_threads()) : nullptr} {}

  MemoryMeter meter;
  ProgressReport progress;
  ExecutionOptions options;
  RunRecord record;
};

/// The milliseconds since `start`, which is then set to now.
double lap_ms(instr_time& start);

/// Raises a WARNING that the answer was cut off, or an error under batmap.on_truncation = error.
void report_truncation(const Truncation& truncation);
/// Raises a NOTICE if the columns of a query look swapped.
void report_swapped_columns(const RelationSizes& sizes);
/// Raises a NOTICE if no stream has two events: then there is nothing to find, and the columns may stand in another order.
/// @param rows  with their stream
void report_single_events(uint64_t rows, uint64_t streams);
/// Raises a NOTICE if the times and events of a query look swapped.
void report_swapped_times(const EventSizes& sizes);
/// Raises a WARNING with a message of the run: a device has failed.
void report_notice(const std::string& notice);

/// @tparam CallType  a RunCall with the other objects of the run
template <typename CallType>
class RunStream : public RowStream {
 public:
  using Call = CallType;

  RunStream(const char* operation, Call* call, MemoryContext context)
      : operation_(operation), call_(call), context_(context) {
    INSTR_TIME_SET_CURRENT(clock_);
  }

  Call& call() const { return *call_; }

  void finish() override {
    describe();
    guarded([&] { keep_run(call_->record); });
    call_->progress.finish();
  }

  void explain(ExplainState* state) final {
    describe();
    explain_run(call_->record, state);
  }

 protected:
  /// Makes the run after its input has been read.
  /// @param kind  how the input was read: a word for batmap_last_run()
  /// @param make  runs inside guarded
  template <typename Make>
  void begin(const char* kind, uint64_t rows_read, Make make) {
    kind_ = kind;
    rows_read_ = rows_read;
    read_ms_ = lap_ms(clock_);
    call_->progress.phase(Phase::kGrouping, rows_read);
    // Others may have taken memory meanwhile.
    if (call_->options.files != nullptr)
      call_->options.work_bytes = std::min<uint64_t>(call_->options.work_bytes, run_work_bytes());
    guarded(make);
    call_->progress.tasks(0, 0, 0);
    count_ms_ += lap_ms(clock_);
  }

  /// To be called after begin() for a query whose columns have no names: raises a NOTICE if they look swapped.
  template <typename Run>
  void look_at_columns(const Run& run) const {
    report_swapped_columns(guarded([&] {
      const RunRecord& record = run.record();
      return RelationSizes{rows_read_, record.transactions, record.items, record.most_item_rows};
    }));
  }

  /// To be called after begin() over (time, event, stream): raises a NOTICE if no stream has two events, or if times and events
  /// look swapped.
  template <typename Run>
  void look_at_events(const Run& run) const {
    const auto& totals = run.streams().totals();
    report_single_events(totals.rows, totals.streams);
    if (totals.times) report_swapped_times({totals.rows, *totals.times, totals.events, totals.most_event_rows});
  }

  /// Lets the engine find more answers.
  /// @param find  runs inside guarded @return the result of `find`
  template <typename Find>
  bool count(Find find) {
    CHECK_FOR_INTERRUPTS();
    answer_ms_ += lap_ms(clock_);
    const bool more = guarded(find);
    count_ms_ += lap_ms(clock_);
    return more;
  }

  /// To be called after the last row: ends the run, and warns, if the answer was cut off.
  void end_answer(const Truncation& truncation) {
    if (truncation.cause == Truncation::kNone) return;
    finish();
    report_truncation(truncation);
  }

  MemoryContext context() const { return context_; }  // lives as long as the call

  /// Warns once if a device has failed.
  void tell(const std::string& notice) {
    if (notice.empty() || told_) return;
    told_ = true;
    report_notice(notice);
  }

  /// Sets what the engine knows, and how many rows were handed over. Runs inside guarded.
  virtual void fill(RunRecord& record) const = 0;

 private:
  /// Makes the record of the call, as of now.
  void describe() {
    RunRecord& record = call_->record;
    guarded([&] { fill(record); });
    record.operation = operation_;
    record.input = kind_;
    record.threads = call_->options.threads;
    record.rows_read = rows_read_;
    record.read_ms = read_ms_;
    if (record.count_ms == 0) record.count_ms = count_ms_ - record.group_ms;
    record.answer_ms = answer_ms_;
    record.peak_memory = call_->meter.peak();
  }

  const char* operation_;
  const char* kind_ = "";
  Call* call_;
  MemoryContext context_;
  uint64_t rows_read_ = 0;
  double read_ms_ = 0;
  double count_ms_ = 0;   // in the engine
  double answer_ms_ = 0;  // from one batch to the request for the next
  instr_time clock_;
  bool told_ = false;
};

/// Makes a stream of type Stream, which is a RunStream, in `context`.
template <typename Stream>
Stream* new_stream(const char* operation, MemoryContext context) {
  using Call = typename Stream::Call;
  Call* const call = ContextOwned<Call>::reserve(context)->emplace(context);
  call->progress.start(operation);
  return new (MemoryContextAlloc(context, sizeof(Stream))) Stream(operation, call, context);
}

}  // namespace batmap::pg
