// Itemset counts from arbitrary bytes, as they arrive by text or message. If a value passes validation, reading, writing,
// adding and questions must succeed and agree.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <vector>

#include "core/error.h"
#include "itemsets/counts/itemset_counts.h"
#include "itemsets/itemset_run.h"
#include "itemsets/rules/rules.h"
#include "require.h"

namespace {

using namespace batmap;
using batmap::test::require;
using Bytes = std::vector<std::byte>;
using Counts = std::map<std::vector<int64_t>, uint64_t>;

/// Copied to a block of the exact size, so that a sanitizer detects an access one byte past the end.
Bytes exact(const GrowingBuffer<std::byte>& buffer) { return {buffer.begin(), buffer.end()}; }

Counts read(const Bytes& value, MemoryMeter& meter) {
  const Buffer<int64_t> items = itemset_counts_items(value.data(), {.threads = 1, .memory = &meter, .cancel = {}});
  Counts counts;
  for (TreeNodes nodes = itemset_counts_nodes(value.data()); nodes.next();) {
    if (nodes.count() == 0) continue;
    std::vector<int64_t> itemset;
    for (const uint32_t index : nodes.path()) itemset.push_back(items[index]);
    require(std::ranges::is_sorted(itemset), "items ascend");
    require(counts.emplace(itemset, nodes.count()).second, "an itemset comes once");
  }
  require(counts.size() == itemset_counts_header(value.data()).itemsets, "the header knows the itemsets");
  return counts;
}

Bytes written(const Bytes& value, const ExecutionOptions& options) {
  AscendingWriter items(options);
  TreeWriter tree(CodesBelow::kAscend, options);
  for (const int64_t item : itemset_counts_items(value.data(), options)) items.add(item);
  for (TreeNodes nodes = itemset_counts_nodes(value.data()); nodes.next();)
    tree.add(nodes.length(), nodes.code(), nodes.count());
  GrowingBuffer<std::byte> out(*options.memory);
  finish_itemset_counts(items, tree, itemset_counts_header(value.data()).total, out);
  return exact(out);
}

/// Answers that the value holds as they are.
void check_answers(const Bytes& value, const Counts& counts, const ExecutionOptions& options) {
  ItemsetQuery query;
  query.min_count = 1;
  if (itemset_counts_header(value.data()).total > UINT32_MAX) return;
  struct Sink final : ItemsetSink {
    void take(std::span<const ItemsetStep> steps) override {
      for (const ItemsetStep& step : steps) answers += step.support > 0;
    }
    uint64_t answers = 0;
  };
  for (const ItemsetTarget target : {ItemsetTarget::kAll, ItemsetTarget::kClosed, ItemsetTarget::kMaximal}) {
    query.target = target;
    ItemsetRun run(value.data(), query, options);
    Sink sink;
    run.search(sink);
    require(target != ItemsetTarget::kAll || sink.answers == counts.size(), "all itemsets are answers");
    require(sink.answers <= counts.size(), "no other is");
  }
  RuleQuery rules;
  rules.itemsets.min_count = 1;
  rules.max_results = 1000;
  RuleRun run(value.data(), rules, options);
  RuleBatch batch(*options.memory);
  try {
    while (run.next(batch)) {
    }
  } catch (const Error& error) {
    require(error.code() == ErrorCode::kInvalidParameter, "a refusal is about missing subsets");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  MemoryMeter meter(size_t{1} << 30);
  const ExecutionOptions options{1, &meter, {}};
  Bytes value(size);
  if (size > 0) std::memcpy(value.data(), data, size);
  try {
    validate_itemset_counts(value, options);
  } catch (const Error& error) {
    require(error.code() == ErrorCode::kInvalidData, "a refusal is about the data");
    return 0;
  }
  require(is_itemset_counts(value, value.size()), "a value has a sound header");
  require(written(value, options) == value, "equal counts have equal bytes");
  const Counts counts = read(value, meter);
  check_answers(value, counts, options);
  if (itemset_counts_header(value.data()).total > INT64_MAX / 2) return 0;
  Counts twice = counts;
  for (auto& [itemset, count] : twice) count *= 2;
  const std::byte* const values[2] = {value.data(), value.data()};
  GrowingBuffer<std::byte> out(meter);
  add_itemset_counts(values, out, options);
  const Bytes sum = exact(out);
  validate_itemset_counts(sum, options);  // throws, and the fuzzer reports that
  require(read(sum, meter) == twice, "twice a value is twice its counts");
  return 0;
}
