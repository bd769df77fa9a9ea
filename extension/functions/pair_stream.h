// Shared by the table functions that answer with pairs: they pull the batches of a run and record it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "extension/functions/run_stream.h"
#include "extension/server/server_files.h"
#include "pairs/pair_run.h"

#include "extension/server/pg.h"

namespace batmap::pg {

/// The engine's side of one call; lives in the memory context of the call.
template <typename Query, typename Run>
struct PairRowsCall : RunCall {
  explicit PairRowsCall(MemoryContext context) : RunCall(thread_count()), files(context) {
    options.files = &files;
    options.work_bytes = run_work_bytes();
  }

  ServerFiles files;
  Query query;
  std::optional<Run> run;
  std::vector<PairRow> batch;
};

/// Copies the figures of a report into the record. The caller sets what concerns the input and the settings.
void record_pairs(const PairReport& report, LastRun& run);

template <typename Call>
class PairRowStream : public RunStream<Call> {
 public:
  using RunStream<Call>::RunStream;
  using RunStream<Call>::call;

  bool next(Datum* values) final {
    if (row_ == end_ && !next_batch()) return false;
    put(*row_++, values);
    return true;
  }

  void finish() final {
    RunStream<Call>::finish();
    tell();
    call().files.close_all();
  }

 protected:
  /// Starts with the first row of the current batch.
  void begin_batch() {
    row_ = call().batch.data();
    end_ = row_ + call().batch.size();
  }

 private:
  virtual void put(const PairRow& row, Datum* values) const = 0;

  bool next_batch() {
    do {
      const bool more = this->count([&] { return call().run->next(call().batch); });
      const PairReport& report = call().run->report();
      call().progress.tasks(report.tasks_done, report.tasks, report.results);
      begin_batch();
      tell();
      if (more) continue;
      this->end_answer(report.truncation);
      return false;
    } while (call().batch.empty());
    return true;
  }

  void record(LastRun& run) const final {
    record_pairs(call().run->report(), run);
    run.results -= end_ - row_;
  }

  void tell() {
    const std::string& notice = call().run->report().notice;
    if (notice.empty() || told_) return;
    told_ = true;
    report_notice(notice);
  }

  const PairRow* row_ = nullptr;  // the next row of the batch
  const PairRow* end_ = nullptr;
  bool told_ = false;
};

}  // namespace batmap::pg
