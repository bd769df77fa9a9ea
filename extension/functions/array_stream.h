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
  ExecutionSite site;  // where the run computes, as of the last look
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

  /// To be called when the engine has found more answers. Warns once if a device has failed since
  /// the last call.
  void look_at_site() {
    if constexpr (requires { call().run->site(); }) guarded([&] { call().site = call().run->site(); });
    if (call().site.notice.empty() || told_) return;
    told_ = true;
    report_notice(call().site.notice);
  }

  void record(LastRun& run) const override {
    const ItemsetReport& report = call().run->report();
    const ExecutionSite& site = call().site;
    strlcpy(run.method, site.method.empty() ? report.method.c_str() : site.method.c_str(), sizeof run.method);
    strlcpy(run.kernel, site.method.empty() ? report.kernel.c_str() : site.kernel.c_str(), sizeof run.kernel);
    strlcpy(run.device, site.device.c_str(), sizeof run.device);
    strlcpy(run.reason, report.reason.c_str(), sizeof run.reason);
    run.transactions = static_cast<int64_t>(report.transactions);
    run.items = static_cast<int64_t>(report.items);
    run.items_kept = static_cast<int64_t>(report.items_kept);
    run.occurrences = static_cast<int64_t>(report.occurrences);
    run.group_ms = report.group_ms;
    run.count_ms -= report.group_ms;
  }

 private:
  static std::vector<ChunkView> chunks_of(const RowLog& log) { return log.chunks(); }
  static std::vector<ChunkView> chunks_of(std::vector<ChunkView> chunks) { return chunks; }

  std::array<std::optional<ItemArray>, 2> arrays_;  // set once the rows have been read
  bool told_ = false;
};

}  // namespace batmap::pg
