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
    this->tell(call().run->record().notice);
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
      const RunRecord& record = call().run->record();
      call().progress.tasks(record.tasks_done, record.tasks, record.results);
      begin_batch();
      this->tell(record.notice);
      if (more) continue;
      this->end_answer(record.truncation);
      return false;
    } while (call().batch.empty());
    return true;
  }

  void fill(RunRecord& record) const final {
    record = call().run->record();
    record.results -= static_cast<uint64_t>(end_ - row_);
  }

  const PairRow* row_ = nullptr;  // the next row of the batch
  const PairRow* end_ = nullptr;
};

}  // namespace batmap::pg
