// Shared by the functions that make one value of the rows of a query: the input, the times and the record of the run.
#pragma once

#include <optional>

#include "extension/server/flat_value.h"
#include "extension/server/server_files.h"
#include "extension/streams/run_stream.h"
#include "extension/streams/table_input.h"

#include "extension/server/pg.h"

namespace batmap::pg {

/// The engine's side of one call. The rows go to files beyond the work memory.
struct ValueCall : RunCall {
  explicit ValueCall(MemoryContext context) : RunCall(thread_count()), files(context), bytes(meter) {
    options.files = &files;
    options.work_bytes = run_work_bytes();
  }

  ServerFiles files;
  std::optional<RowLog> log;
  GrowingBuffer<std::byte> bytes;  // of the value
  RunRecord made;
};

/// A run whose answer is in the bytes of its call.
template <typename Call>
class ValueRun final : public RunStream<Call> {
 public:
  using RunStream<Call>::RunStream;
  using RunStream<Call>::call;

  bool next(Datum*) override { return false; }

  /// @param kind  how the rows were read: a word for batmap_last_run()
  /// @param make  fills the bytes of the call and returns the record; runs inside guarded
  template <typename Make>
  void run(const char* kind, uint64_t rows, Make make) {
    this->begin(kind, rows, [&] { call().made = make(); });
    finish();
  }
  template <typename Make>
  void run(const InputRows& rows, Make make) {
    run(rows.kind, rows.count, make);
  }

  /// The bytes as a value in the current context.
  struct varlena* value(const FlatType& type) const {
    const GrowingBuffer<std::byte>& bytes = call().bytes;
    struct varlena* const value = type.allocate(bytes.size());
    memcpy(VARDATA(value), bytes.begin(), bytes.size());
    return value;
  }

  void finish() override {
    RunStream<Call>::finish();
    this->tell(call().made.notice);
    call().files.close_all();
  }

 private:
  void fill(RunRecord& record) const override { record = call().made; }
};

/// A context for one call, below the current one, which deletes it after an error.
inline MemoryContext call_context() {
  return AllocSetContextCreate(CurrentMemoryContext, "batmap value", ALLOCSET_DEFAULT_SIZES);
}

}  // namespace batmap::pg
