// Functions batmap_itemset_candidates and batmap_itemset_count: itemset counts of the rows of a query. See
// itemsets/itemset_parts.h.
#include <array>
#include <optional>

#include "extension/functions/values/value_run.h"
#include "extension/input/item_lists.h"
#include "extension/server/device_use.h"
#include "extension/types/itemset_counts_datum.h"
#include "itemsets/itemset_parts.h"
#include "itemsets/itemset_run.h"

#include "extension/server/pg.h"

using namespace batmap;
using namespace batmap::pg;

namespace {

// Positions of the arguments after the query.
namespace find {
enum Argument { kMinCount, kMinSupport, kMaxLength, kInclude, kExclude, kTidColumn, kItemColumn, kParams };
}
namespace recount {
enum Argument { kCandidates, kTidColumn, kItemColumn, kParams };
}

constexpr const char* kItemsHint = "Number the items in a table of their own, and join it.";

constexpr QueryArguments kFindQuery{find::kParams, true};
constexpr QueryArguments kCountQuery{recount::kParams, true};

struct FindCall : ValueCall {
  using ValueCall::ValueCall;

  ItemsetQuery query;
  std::optional<ItemsetRun> run;
};

void read_arguments(const TableInput& input, ItemsetQuery& query) {
  const Arguments arguments = input.arguments();
  std::array<ItemList, 2> lists{{{find::kInclude, "include", query.include}, {find::kExclude, "exclude", query.exclude}}};
  read_lists(lists, arguments, InvalidOid);
  query.min_count = arguments.int8(find::kMinCount);
  query.min_support = arguments.min_support(find::kMinSupport);
  query.max_length = arguments.int4(find::kMaxLength);
  query.kernel = &select_mask_kernel(settings.cpu_kernel);
  query.bits = selected_kernels().bits;
  query.device = selected_devices();
  guarded([&] { query.check(); });
}

}  // namespace

BATMAP_FUNCTION(batmap_itemset_candidates) {
  const MemoryContext context = call_context();
  const MemoryContext caller = MemoryContextSwitchTo(context);
  TableInput input = query_input(fcinfo, context, "batmap_itemset_candidates", 0, kFindQuery);
  input.items_hint = kItemsHint;
  auto* const run = new_stream<ValueRun<FindCall>>(input.operation, context);
  FindCall& call = run->call();
  read_arguments(input, call.query);
  const std::optional<InputRows> rows = read_rows(input, call, call.log, {});
  run->run(*rows, [&] {
    call.run.emplace(*call.log, rows->ranks, call.query, call.options);
    write_itemset_counts(*call.run, call.bytes, call.options);
    RunRecord record = call.run->record();
    record.results = itemset_counts_header(call.bytes.begin()).itemsets;
    return record;
  });
  MemoryContextSwitchTo(caller);
  struct varlena* const value = run->value(kSummedItemsetCounts.type);
  MemoryContextDelete(context);
  PG_RETURN_POINTER(value);
}

BATMAP_FUNCTION(batmap_itemset_count) {
  const MemoryContext context = call_context();
  const MemoryContext caller = MemoryContextSwitchTo(context);
  TableInput input = query_input(fcinfo, context, "batmap_itemset_count", 0, kCountQuery);
  input.items_hint = kItemsHint;
  auto* const run = new_stream<ValueRun<ValueCall>>(input.operation, context);
  ValueCall& call = run->call();
  if (!input.arguments().has(recount::kCandidates))
    ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("candidates must not be NULL"),
                    errhint("Find them with batmap_itemset_candidates, and add up those of all parts with sum().")));
  const std::byte* const candidates = value_bytes(itemset_counts_argument(fcinfo, 1 + recount::kCandidates));
  const std::optional<InputRows> rows = read_rows(input, call, call.log, {});
  run->run(*rows, [&] { return count_itemsets_of_part(*call.log, candidates, call.bytes, call.options); });
  MemoryContextSwitchTo(caller);
  struct varlena* const value = run->value(kSummedItemsetCounts.type);
  MemoryContextDelete(context);
  PG_RETURN_POINTER(value);
}
