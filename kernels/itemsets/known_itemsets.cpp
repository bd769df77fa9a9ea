// Stored counts as known itemsets. See known_itemsets.h.
#include "itemsets/known_itemsets.h"

#include <unordered_set>
#include <vector>

#include "core/error.h"
#include "core/poll.h"
#include "itemsets/counts/itemset_counts.h"
#include "itemsets/counts/itemset_sorter.h"
#include "itemsets/itemset_run.h"

namespace batmap {

KnownItemsets known_itemsets(const std::byte* counts, const ItemsetQuery& query, const ExecutionOptions& options) {
  KnownItemsets known(*options.memory);
  const ItemsetCountsHeader header = itemset_counts_header(counts);
  if (header.total > UINT32_MAX)
    throw Error(ErrorCode::kTooLarge, "more than 4294967295 transactions",
                "The counts can be added up, but no questions can be put to them.");
  known.transactions = header.total;
  known.items = header.items;
  const Buffer<int64_t> items = itemset_counts_items(counts, options);
  using Values = std::unordered_set<int64_t>;
  const Values included = query.include ? Values(query.include->begin(), query.include->end()) : Values();
  const Values excluded = query.exclude ? Values(query.exclude->begin(), query.exclude->end()) : Values();

  // Included items have the first ranks, so that an itemset with one of them begins with one.
  Buffer<uint32_t> rank_of(*options.memory, items.size());
  known.values = Buffer<int64_t>(*options.memory, items.size());
  uint32_t ranks = 0;
  for (const bool first : {true, false}) {
    for (uint32_t index = 0; index < items.size(); ++index) {
      if ((!query.include || included.contains(items[index])) != first) continue;
      rank_of[index] = ranks;
      known.values[ranks++] = items[index];
    }
    if (first) known.leading = ranks;
  }

  Poll poll(options.cancel);
  ItemsetSorter sorter(options);
  std::vector<uint32_t> ranks_of_path;
  uint32_t excluded_length = UINT32_MAX;  // of the node at which an excluded item came in
  for (TreeNodes nodes = itemset_counts_nodes(counts); nodes.next();) {
    poll.after(8);
    if (nodes.length() > excluded_length) continue;
    excluded_length = excluded.contains(items[nodes.code()]) ? nodes.length() : UINT32_MAX;
    if (excluded_length != UINT32_MAX) continue;
    const auto support = static_cast<uint32_t>(nodes.count());
    if (!query.include) {
      known.steps.push_back({Rank{nodes.code()}, nodes.length(), support});
      continue;
    }
    if (support == 0) continue;
    ranks_of_path.clear();
    for (const uint32_t index : nodes.path()) ranks_of_path.push_back(rank_of[index]);
    sorter.add(ranks_of_path, support);
    poll.after(8 * uint64_t{nodes.length()});
  }
  if (!query.include) return known;
  sorter.sort();
  sorter.visit([&](uint32_t length, uint32_t rank, uint64_t support, size_t) {
    known.steps.push_back({Rank{rank}, length, static_cast<uint32_t>(support)});
  });
  return known;
}

}  // namespace batmap
