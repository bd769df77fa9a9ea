// Shared by the table functions that answer with arrays of items: the run over the rows or over stored counts, and the
// record of the run.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <type_traits>

#include "extension/input/item_lists.h"
#include "extension/server/server_files.h"
#include "extension/streams/run_stream.h"
#include "extension/streams/table_input.h"
#include "itemsets/itemset_run.h"
#include "itemsets/itemset_stream.h"

#include "extension/server/pg.h"

namespace batmap::pg {

/// The engine's side of one call; lives in the memory context of the call.
template <typename QueryType, typename RunType>
struct ArrayCall : RunCall {
  using Query = QueryType;
  using Run = RunType;
  using RunCall::RunCall;

  /// Lets rows go to files beyond the work memory. The run is then done with them when it is made.
  void use_files(MemoryContext context) {
    files.emplace(context);
    options.files = &*files;
    options.work_bytes = run_work_bytes();
  }

  Query query;
  std::optional<ServerFiles> files;
  std::optional<RowLog> log;
  std::optional<Run> run;
  ExecutionSite site;  // as of the last look
};

template <typename Call>
class ArrayStream : public RunStream<Call> {
 public:
  using Query = typename Call::Query;
  using RunStream<Call>::RunStream;
  using RunStream<Call>::call;

  /// Groups the rows. After that, answers can be pulled.
  RowStream* run(const Query& query, const InputRows& rows) {
    for (std::optional<ItemArray>& array : arrays_) array.emplace(rows.items, this->context());
    this->begin(rows.kind, rows.count, [&] {
      if constexpr (std::is_constructible_v<typename Call::Run, const RowLog&, std::span<const uint32_t>, const Query&,
                                            const ExecutionOptions&>) {
        if (rows.log != nullptr)
          call().run.emplace(*rows.log, rows.ranks, query, call().options);
        else
          call().run.emplace(rows.chunks(), rows.ranks, query, call().options);
      } else {
        call().run.emplace(rows.chunks(), rows.ranks, query, call().options);
      }
      call().log.reset();
    });
    if (call().files) call().files->close_all();
    drop_relation(rows);
    if (rows.by_position) this->look_at_columns(*call().run);
    look_at_site();
    return this;
  }

  /// The same over stored counts with integer items.
  RowStream* run_counts(const Query& query, const std::byte* counts, uint64_t itemsets) {
    for (std::optional<ItemArray>& array : arrays_) array.emplace(nullptr, this->context());
    this->begin("itemset counts", itemsets, [&] { call().run.emplace(counts, query, call().options); });
    return this;
  }

 protected:
  /// The array of one column, reused for each row.
  ItemArray& array(size_t column) { return *arrays_[column]; }

  /// To be called when the engine has found more answers. Warns once if a device has failed since the last call.
  void look_at_site() {
    if constexpr (requires { call().run->site(); }) guarded([&] { call().site = call().run->site(); });
    this->tell(call().site.notice);
  }

  void fill(RunRecord& record) const override { record = call().run->record(); }

 private:
  std::array<std::optional<ItemArray>, 2> arrays_;  // set once the rows have been read
};

}  // namespace batmap::pg
