// Function batmap_join_counts_from: join counts of the rows of two queries. See pairs/counts/join_counts_part.h.
#include "extension/functions/values/value_run.h"
#include "extension/server/device_use.h"
#include "extension/streams/join_input.h"
#include "extension/types/join_counts_datum.h"
#include "pairs/counts/join_counts_part.h"

#include "extension/server/pg.h"

using namespace batmap;
using namespace batmap::pg;

namespace {

constexpr int kLeft = 0;
constexpr int kRight = 1;

// Positions of the arguments after the two queries.
enum Argument { kMinCount, kCandidates, kParams };

constexpr QueryArguments kQueries{kParams};

struct MakerCall : ValueCall {
  explicit MakerCall(MemoryContext context) : ValueCall(context) {
    query.kernels = selected_kernels();
    query.device = selected_devices();
  }

  JoinLogs logs;
  JoinPartQuery query;
};

/// Reads and checks the arguments after the queries. The candidates are in the current context.
void read_arguments(FunctionCallInfo fcinfo, const Arguments& arguments, JoinPartQuery& query) {
  query.min_count = arguments.int8(kMinCount);
  if (arguments.has(kCandidates))
    query.candidates = value_bytes(summed_argument(kSummedJoinCounts, fcinfo, kRight + 1 + kCandidates));
  guarded([&] { query.check(); });
}

}  // namespace

BATMAP_FUNCTION(batmap_join_counts_from) {
  const MemoryContext context = call_context();
  const MemoryContext caller = MemoryContextSwitchTo(context);
  auto* const run = new_stream<ValueRun<MakerCall>>("batmap_join_counts_from", context);
  MakerCall& call = run->call();
  query_input(fcinfo, context, "batmap_join_counts_from", kLeft, kQueries);
  const TableInput right = query_input(fcinfo, context, "batmap_join_counts_from", kRight, kQueries);
  read_arguments(fcinfo, right.arguments(), call.query);
  const InnerQuery left = query_argument(fcinfo, kLeft, kRight + 1, kQueries);
  const JoinRows rows = read_join_queries(left, right.query(), InvalidOid, InvalidOid, call, call.logs, context,
                                          "Number them in a table of their own, and join it.");
  run->run(rows.kind, rows.count(), [&] {
    return count_join_of_part(joined_rows(rows, call.logs, call.options), call.query, call.bytes, call.options);
  });
  MemoryContextSwitchTo(caller);
  struct varlena* const value = run->value(kSummedJoinCounts.type);
  MemoryContextDelete(context);
  PG_RETURN_POINTER(value);
}
