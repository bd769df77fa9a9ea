// Rows to transactions. See search_root.h.
#include "itemsets/search_root.h"

#include <algorithm>
#include <bit>

#include "itemsets/poll.h"
#include "relation/tidlists.h"

namespace batmap {

namespace {

/// Sorts the items into perfect ones and those that are searched. @param support  [kept items] exact
void choose_items(const std::vector<uint32_t>& support, const KeptItems& kept, uint64_t min_count, SearchRoot& root) {
  const bool all_lead = kept.pairs.leading == kept.size;
  for (uint32_t rank = 0; rank < kept.size; ++rank) {
    if (support[rank] < min_count) continue;  // rows that came twice
    if (all_lead && support[rank] == root.transactions) {
      root.perfect.push_back(rank);
      continue;
    }
    root.items.push_back(rank);
    root.support.push_back(support[rank]);
    root.leading += rank < kept.pairs.leading;
  }
}

void add_masks(const EncodedRelation& relation, const KeptItems& kept, uint64_t min_count, const ExecutionOptions& options,
               SearchRoot& root) {
  Buffer<uint64_t> mask(*options.memory, relation.tid_slots(), Fill::kZero);
  uint32_t tids[kChunkRows];
  uint32_t items[kChunkRows];
  for (size_t block = 0; block < relation.blocks(); ++block) {
    options.cancel.throw_if_requested();
    const uint32_t rows = relation.decode(block, tids, items);
    for (uint32_t k = 0; k < rows; ++k) {
      const uint32_t rank = kept.rank_of_code[items[k]];
      mask[tids[k]] |= rank == KeptItems::kDropped ? 0 : uint64_t{1} << rank;
    }
  }
  MaskStack all(*options.memory);
  all.start();
  for (const uint64_t m : mask) all.add(m, 1);
  mask.reset();
  const WeightedMasks merged = all.list(0, all.size());

  std::vector<uint32_t> support(kept.size, 0);
  for (size_t k = 0; k < merged.size; ++k)
    for (uint64_t rest = merged.masks[k]; rest != 0; rest &= rest - 1)
      support[static_cast<size_t>(std::countr_zero(rest))] += merged.weights[k];
  choose_items(support, kept, min_count, root);

  // Ranks to places.
  uint64_t place[kMaskItems] = {};
  for (size_t k = 0; k < root.items.size(); ++k) place[root.items[k]] = uint64_t{1} << k;
  root.masks.start();
  for (size_t k = 0; k < merged.size; ++k) {
    uint64_t packed = 0;
    for (uint64_t rest = merged.masks[k]; rest != 0; rest &= rest - 1)
      packed |= place[static_cast<size_t>(std::countr_zero(rest))];
    if (packed != 0) root.masks.add(packed, merged.weights[k]);
  }
}

void add_lists(const EncodedRelation& relation, const KeptItems& kept, uint64_t min_count, bool linked,
               const ExecutionOptions& options, SearchRoot& root) {
  MemoryMeter& meter = *options.memory;
  // Tidlists dealt out to the transactions in order of rank: a row that came twice finds its item in front of it.
  const uint32_t tids = relation.tid_slots();
  Buffer<uint32_t> begin(meter, size_t{tids} + 1, Fill::kZero);
  Buffer<uint32_t> end(meter, tids);
  Tidlists lists = scatter_tidlists(relation, kept, options);
  for (const uint32_t tid : lists.tids) ++begin[tid + 1];
  for (uint32_t tid = 0; tid < tids; ++tid) begin[tid + 1] += end[tid] = begin[tid];
  Buffer<uint32_t> items(meter, begin[tids]);
  std::vector<uint32_t> support(kept.size, 0);
  Poll poll(options.cancel);
  for (uint32_t rank = 0; rank < kept.size; ++rank) {
    poll.after(lists.length[rank] + 1);
    for (const uint32_t tid : lists.list(rank)) {
      uint32_t& cursor = end[tid];
      if (cursor > begin[tid] && items[cursor - 1] == rank) continue;
      items[cursor++] = rank;
      ++support[rank];
    }
  }
  lists = {};
  choose_items(support, kept, min_count, root);

  Buffer<uint32_t> place(meter, kept.size);
  std::fill(place.begin(), place.end(), UINT32_MAX);
  for (size_t k = 0; k < root.items.size(); ++k) place[root.items[k]] = static_cast<uint32_t>(k);
  root.as_masks = root.items.size() <= kMaskItems;
  if (root.as_masks) {
    root.masks.start();
    for (uint32_t tid = 0; tid < tids; ++tid) {
      uint64_t mask = 0;
      for (uint32_t k = begin[tid]; k < end[tid]; ++k)
        if (place[items[k]] != UINT32_MAX) mask |= uint64_t{1} << place[items[k]];
      if (mask != 0) root.masks.add(mask, 1);
      poll.after(end[tid] - begin[tid] + 1);
    }
    return;
  }
  root.lists = TransactionLists(meter, tids);
  for (uint32_t tid = 0; tid < tids; ++tid) {
    const uint32_t length = end[tid] - begin[tid];
    poll.after(length + 1);
    uint32_t* const out = root.lists.room(length);
    size_t taken = 0;
    for (uint32_t k = begin[tid]; k < end[tid]; ++k)
      if (place[items[k]] != UINT32_MAX) out[taken++] = place[items[k]];
    if (taken > 1) root.lists.add(taken, 1);  // of one item the support is known
  }
  items.reset();
  if (linked) root.lists.link(static_cast<uint32_t>(root.items.size()));
}

}  // namespace

SearchRoot build_search_root(const EncodedRelation& relation, const KeptItems& kept, uint64_t min_count, bool linked,
                             const ExecutionOptions& options) {
  SearchRoot root(*options.memory);
  root.transactions = static_cast<uint32_t>(relation.transactions());
  root.leading_ranks = kept.pairs.leading;
  root.as_masks = kept.size <= kMaskItems;
  if (root.as_masks)
    add_masks(relation, kept, min_count, options, root);
  else
    add_lists(relation, kept, min_count, linked, options, root);
  return root;
}

}  // namespace batmap
