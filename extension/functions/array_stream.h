// Shared by the table functions that answer with arrays of items: the run over the rows, which stay in
// memory, and the record of the run.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "extension/functions/run_stream.h"
#include "extension/input/item_lists.h"
#include "itemsets/itemset_run.h"
#include "itemsets/itemset_stream.h"

#include "extension/server/pg.h"

namespace batmap::pg {

/// The engine's side of one call; lives in the memory context of the call.
template <typename QueryType, typename Run>
struct ArrayCall : RunCall {
  using Query = QueryType;
  using RunCall::RunCall;

  Query query;
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

  /// Makes the run after the rows have been read. See relation_stream.h.
  template <typename Rows>
  void start(const char* kind, const QueryInput& input, Rows rows) {
    for (std::optional<ItemArray>& array : arrays_) array.emplace(input.items, this->context());
    this->begin(kind, input.rows_read, [&] {
      call().run.emplace(chunks_of(rows()), input.ranks(), call().query, call().options);
      call().log.reset();
    });
    look_at_site();
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
  static std::vector<ChunkView> chunks_of(const RowLog& log) { return log.chunks(); }
  static std::vector<ChunkView> chunks_of(std::vector<ChunkView> chunks) { return chunks; }

  std::array<std::optional<ItemArray>, 2> arrays_;  // set once the rows have been read
};

}  // namespace batmap::pg
