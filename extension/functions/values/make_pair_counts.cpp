// Function batmap_pair_counts_from: pair counts of the rows of a query. See pairs/counts/pair_counts_part.h.
#include <array>
#include <optional>

#include "extension/functions/values/value_run.h"
#include "extension/input/item_lists.h"
#include "extension/server/device_use.h"
#include "extension/types/pair_counts_datum.h"
#include "pairs/counts/pair_counts_part.h"

#include "extension/server/pg.h"

using namespace batmap;
using namespace batmap::pg;

namespace {

// Positions of the arguments after the query.
enum Argument { kMinCount, kMinSupport, kInclude, kExclude, kCandidates, kTidColumn, kItemColumn, kParams };

constexpr QueryArguments kQuery{kParams, true};

struct MakerCall : ValueCall {
  explicit MakerCall(MemoryContext context) : ValueCall(context) {
    query.kernels = selected_kernels();
    query.device = selected_devices();
  }

  PairPartQuery query;
};

/// Reads and checks the arguments after the query. The candidates are in the current context.
void read_arguments(FunctionCallInfo fcinfo, const TableInput& input, PairPartQuery& query) {
  const Arguments arguments = input.arguments();
  std::array<ItemList, 2> lists{{{kInclude, "include", query.include}, {kExclude, "exclude", query.exclude}}};
  read_lists(lists, arguments, InvalidOid);
  query.min_count = arguments.int8(kMinCount);
  query.min_support = arguments.min_support(kMinSupport);
  if (arguments.has(kCandidates)) {
    struct varlena* const candidates = counts_finished(counts_argument(fcinfo, input.index + 1 + kCandidates));
    check_counts_items(candidates, false, "Candidates have integer items, as the rows of the query have.");
    query.candidates = counts_bytes(candidates);
  }
  guarded([&] { query.check(); });
}

}  // namespace

BATMAP_FUNCTION(batmap_pair_counts_from) {
  const MemoryContext context = call_context();
  const MemoryContext caller = MemoryContextSwitchTo(context);
  TableInput input = query_input(fcinfo, context, "batmap_pair_counts_from", 0, kQuery);
  input.items_hint = "Items of other types are counted by batmap_pair_counts_agg(tid, item::text).";
  auto* const run = new_stream<ValueRun<MakerCall>>(input.operation, context);
  MakerCall& call = run->call();
  read_arguments(fcinfo, input, call.query);
  const std::optional<InputRows> rows = read_rows(input, call, call.log, {});
  run->run(*rows, [&] { return count_pairs_of_part(*call.log, call.query, call.bytes, call.options); });
  MemoryContextSwitchTo(caller);
  struct varlena* const value = run->value(kPairCountsType);
  MemoryContextDelete(context);
  PG_RETURN_POINTER(value);
}
