// From rows to merged transactions. See search_root.h.
#include "itemsets/forms/search_root.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <span>

#include "core/poll.h"
#include "relation/tidlists.h"

namespace batmap {

namespace {

// A root of lists searches its last 64 items on masks if a transaction has at least so many of them on average.
// Source: bench/itemset_peers.cpp; the bound lies between mushroom and T40I10D100K.
constexpr uint64_t kMaskedItems = 8;

/// Separates the perfect items from those that are searched. @param support  [kept items] exact
void choose_items(const std::vector<uint32_t>& support, const KeptItems& kept, uint64_t min_count, SearchRoot& root) {
  const bool all_lead = kept.pairs.leading == kept.size;
  for (uint32_t rank = 0; rank < kept.size; ++rank) {
    if (support[rank] < min_count) continue;  // it was kept only because rows repeat
    if (all_lead && support[rank] == root.transactions) {
      root.perfect.push_back(Rank{rank});
      continue;
    }
    root.items.push_back(Rank{rank});
    root.support.push_back(support[rank]);
    root.leading += rank < kept.pairs.leading;
  }
}

/// The kept items of every transaction as bits: [tid slots][words]
Buffer<uint64_t> item_bits(const EncodedRelation& relation, const KeptItems& kept, size_t words,
                           const ExecutionOptions& options) {
  struct BitPosition {
    uint64_t bit;
    size_t word;
  };
  // [item codes] no bit for a dropped item
  Buffer<BitPosition> bit_of_code(*options.memory, kept.rank_of_code.size(), Fill::kZero);
  for (uint32_t rank = 0; rank < kept.size; ++rank)
    bit_of_code[index_of(kept.code(Rank{rank}))] = {uint64_t{1} << (rank % 64), rank / 64};
  Buffer<uint64_t> bits(*options.memory, relation.tid_slots() * words, Fill::kZero);
  uint32_t tids[kChunkRows];
  uint32_t items[kChunkRows];
  for (size_t block = 0; block < relation.blocks(); ++block) {
    options.cancel.throw_if_requested();
    const uint32_t rows = relation.decode(block, tids, items);
    for (uint32_t k = 0; k < rows; ++k) {
      const BitPosition position = bit_of_code[items[k]];
      bits[tids[k] * words + position.word] |= position.bit;
    }
  }
  return bits;
}

constexpr uint64_t kAddWork = 64;  // steps of one mask, which is looked up in memory

void add_masks(const EncodedRelation& relation, const KeptItems& kept, uint64_t min_count, const ExecutionOptions& options,
               SearchRoot& root) {
  Buffer<uint64_t> mask = item_bits(relation, kept, 1, options);
  MaskStack all(*options.memory);
  all.start();
  Poll poll(options.cancel);
  for (const uint64_t m : mask) {
    all.add(m, 1);
    poll.after(kAddWork);
  }
  mask.reset();
  const WeightedMasks merged = all.list(0, all.size());

  std::vector<uint32_t> support(kept.size, 0);
  for (size_t k = 0; k < merged.size; ++k) {
    for (uint64_t rest = merged.masks[k]; rest != 0; rest &= rest - 1)
      support[static_cast<size_t>(std::countr_zero(rest))] += merged.weights[k];
    poll.after(kAddWork);
  }
  choose_items(support, kept, min_count, root);

  // From ranks to bits of the root's items.
  uint64_t bit_of_rank[kMaskItems] = {};
  const std::vector<RootItem> root_item_of_rank = root.root_items(kept.size);
  for (size_t rank = 0; rank < kept.size; ++rank)
    if (const RootItem item = root_item_of_rank[rank]; item != kNoRootItem)
      bit_of_rank[rank] = uint64_t{1} << index_of(item);
  root.masks.start();
  for (size_t k = 0; k < merged.size; ++k) {
    uint64_t packed = 0;
    for (uint64_t rest = merged.masks[k]; rest != 0; rest &= rest - 1)
      packed |= bit_of_rank[static_cast<size_t>(std::countr_zero(rest))];
    if (packed != 0) root.masks.add(packed, merged.weights[k]);
    poll.after(2 * kAddWork);
  }
}

/// @param visit_transactions  calls visit(item ranks, ascending) for each transaction
template <typename Transactions>
void add_transactions(const Transactions& visit_transactions, uint32_t transactions, const KeptItems& kept,
                      uint64_t min_count, bool linked, const ExecutionOptions& options, SearchRoot& root) {
  Poll poll(options.cancel);
  uint64_t occurrences = 0;
  std::vector<uint32_t> support(kept.size, 0);
  visit_transactions([&](std::span<const uint32_t> ranks) {
    for (const uint32_t rank : ranks) ++support[rank];
    occurrences += ranks.size();
    poll.after(ranks.size() + 1);
  });
  choose_items(support, kept, min_count, root);

  const std::vector<RootItem> root_item_of_rank = root.root_items(kept.size);
  const size_t items = root.items.size();
  const size_t before_last = items - std::min<size_t>(items, kMaskItems);
  root.as_masks = before_last == 0;
  if (root.as_masks) {
    root.masks.start();
    visit_transactions([&](std::span<const uint32_t> ranks) {
      uint64_t mask = 0;
      for (const uint32_t rank : ranks)
        if (const RootItem item = root_item_of_rank[rank]; item != kNoRootItem) mask |= uint64_t{1} << index_of(item);
      if (mask != 0) root.masks.add(mask, 1);
      poll.after(ranks.size() + 1);
    });
    return;
  }
  root.lists = TransactionLists<RootItem>(*options.memory, transactions);
  root.lists.room(occurrences);
  const size_t min_items = linked ? 2 : 1;  // the support of single items is known
  visit_transactions([&](std::span<const uint32_t> ranks) {
    RootItem* const out = root.lists.room(ranks.size());
    size_t taken = 0;
    for (const uint32_t rank : ranks)
      if (const RootItem item = root_item_of_rank[rank]; item != kNoRootItem) out[taken++] = item;
    if (taken >= min_items) root.lists.add(taken, 1);
    poll.after(ranks.size() + 1);
  });
  const uint64_t masked =
      std::accumulate(root.support.begin() + static_cast<ptrdiff_t>(before_last), root.support.end(), uint64_t{0});
  root.first_masked = RootItem{static_cast<uint32_t>(masked >= kMaskedItems * transactions ? before_last : items)};
  if (linked) root.lists.link(root.first_masked, options.cancel);
}

void add_lists(const EncodedRelation& relation, const KeptItems& kept, uint64_t min_count, bool linked,
               const ExecutionOptions& options, SearchRoot& root) {
  MemoryMeter& meter = *options.memory;
  const uint32_t tids = relation.tid_slots();
  // Use bits where they take no more memory than numbers.
  const size_t words = (kept.size + 63) / 64;
  if (tids * words * sizeof(uint64_t) <= kept.occurrences * sizeof(uint32_t)) {
    const Buffer<uint64_t> bits = item_bits(relation, kept, words, options);
    Buffer<uint32_t> items(meter, kept.size);
    const auto visit_bits = [&](auto visit) {
      for (size_t tid = 0; tid < tids; ++tid) {
        uint32_t* out = items.data();
        for (size_t word = 0; word < words; ++word)
          for (uint64_t rest = bits[tid * words + word]; rest != 0; rest &= rest - 1)
            *out++ = static_cast<uint32_t>(64 * word) + static_cast<uint32_t>(std::countr_zero(rest));
        visit(std::span<const uint32_t>(items.data(), out));
      }
    };
    return add_transactions(visit_bits, tids, kept, min_count, linked, options, root);
  }
  // Deal the tidlists out to the transactions in order of rank. A repeated row finds its item directly in front of it.
  Buffer<uint32_t> begin(meter, size_t{tids} + 1, Fill::kZero);
  Buffer<uint32_t> end(meter, tids);
  Tidlists lists = scatter_tidlists(relation, kept, options);
  for (const uint32_t tid : lists.tids) ++begin[tid + 1];
  for (uint32_t tid = 0; tid < tids; ++tid) begin[tid + 1] += end[tid] = begin[tid];
  Buffer<uint32_t> items(meter, begin[tids]);
  Poll poll(options.cancel);
  for (uint32_t rank = 0; rank < kept.size; ++rank) {
    poll.after(lists.length[rank] + 1);
    for (const uint32_t tid : lists.list(rank)) {
      uint32_t& cursor = end[tid];
      if (cursor > begin[tid] && items[cursor - 1] == rank) continue;
      items[cursor++] = rank;
    }
  }
  lists = {};
  const auto visit_lists = [&](auto visit) {
    for (uint32_t tid = 0; tid < tids; ++tid)
      visit(std::span<const uint32_t>(items.data() + begin[tid], items.data() + end[tid]));
  };
  add_transactions(visit_lists, tids, kept, min_count, linked, options, root);
}

}  // namespace

std::vector<RootItem> SearchRoot::root_items(size_t ranks) const {
  std::vector<RootItem> of_rank(ranks, kNoRootItem);
  for (uint32_t item = 0; item < items.size(); ++item) of_rank[index_of(items[item])] = RootItem{item};
  return of_rank;
}

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
