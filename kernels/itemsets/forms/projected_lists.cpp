// Projection and a counting sort by candidate. See projected_lists.h.
#include "itemsets/forms/projected_lists.h"

#include <algorithm>

#include "itemsets/forms/node_counts.h"

namespace batmap {

namespace {

// Pairs of more candidates are not counted. Source: bench/itemset_peers.cpp, T10I4D100K: 256 takes 5 % more instructions,
// 1024 takes as many.
constexpr size_t kPaired = 512;

}  // namespace

/// Writes the candidates of one transaction after the other, and counts them.
struct ProjectedLists::Taker {
  NodeItem* next;
  uint32_t* begin;
  uint32_t candidates;

  /// @param number  1 + index of a candidate, or 0
  void take(uint32_t number) {
    // No branch: it cannot be predicted which items are candidates. begin[0] counts the others.
    *next = NodeItem{number - 1};
    next += number != 0;
    ++begin[number];
  }
  /// Ends the transaction.
  void close() {
    for (uint32_t k = 0; k < kEnds; ++k) *next++ = NodeItem{candidates + k};
  }
};

/// @param items  at most so many will be taken @param none  a root item that is no candidate
ProjectedLists::Taker ProjectedLists::start(size_t transactions, size_t items, std::span<const RootItem> candidates,
                                            RootItem none) {
  items_.room(items + kEnds * transactions);
  transactions_.shrink(0);
  transactions_.room(transactions);
  candidates_.shrink(0);
  std::copy(candidates.begin(), candidates.end(), candidates_.room(candidates.size() + kEnds));
  candidates_.add(candidates.size());
  for (size_t k = 0; k < kEnds; ++k) candidates_.push_back(none);
  begin_.shrink(0);
  std::fill_n(begin_.room(candidates.size() + 1), candidates.size() + 1, 0u);
  begin_.add(candidates.size() + 1);
  return {items_.begin(), begin_.begin(), static_cast<uint32_t>(candidates.size())};
}

void ProjectedLists::project(const TransactionLists<RootItem>& lists, std::span<const ItemOccurrence> others,
                             uint32_t support, std::span<const uint32_t> index, std::span<const uint64_t> bits,
                             std::span<const RootItem> candidates) {
  size_t room = 0;
  for (const ItemOccurrence& other : others) room += other.end - other.at;
  Taker taker = start(others.size(), room, candidates, lists.data()[others.front().at]);
  const RootItem* const data = lists.data();
  for (size_t k = 0; k < others.size(); ++k) {
    if (k + kPrefetchAhead < others.size()) __builtin_prefetch(data + others[k + kPrefetchAhead].at);
    const ItemOccurrence other = others[k];
    uint64_t passed = 0;
    for (uint32_t at = other.begin; at < other.at; ++at) passed |= bits[index_of(data[at])];
    transactions_.push_back({passed, static_cast<uint32_t>(k), other.weight});
    for (uint32_t at = other.at + 1; at < other.end; ++at) taker.take(index[index_of(data[at])]);
    taker.close();
    poll_.after(other.end - other.begin);
  }
  sort(bits, support);
}

void ProjectedLists::project(const ProjectedLists& lists, std::span<const ProjectedOccurrence> others,
                             std::span<const ItemOccurrence> weighted, uint32_t support, std::span<const uint32_t> index,
                             std::span<const uint64_t> bits, std::span<const RootItem> candidates) {
  size_t room = 0;
  for (const ProjectedOccurrence& other : others) lists.visit_behind(other, [&](NodeItem, size_t) { ++room; });
  Taker taker = start(others.size(), room, candidates, lists.candidates_[lists.candidates()]);
  for (const ProjectedOccurrence& other : others) {
    transactions_.push_back({other.before, other.transaction, weighted[other.transaction].weight});
    lists.visit_behind(other, [&](NodeItem item, size_t) { taker.take(index[index_of(lists.item(item))]); });
    taker.close();
    poll_.after(8);
  }
  sort(bits, support);
}

/// Sorts, and counts the pairs if they are few and their counts have 16 bits. @param support  of the node
void ProjectedLists::sort(std::span<const uint64_t> bits, uint32_t support) {
  const size_t size = candidates();
  counts_pairs_ = size <= kPaired && support <= UINT16_MAX;
  if (!counts_pairs_) return sort<false>(bits);
  pair_begin_.shrink(0);
  uint32_t* const rows = pair_begin_.room(size);
  uint32_t pairs = 1;  // so that index 0 of the first row lies in pairs_
  for (uint32_t k = 0; k < size; ++k) {
    rows[k] = pairs - (k + 1);
    pairs += static_cast<uint32_t>(size + kEnds) - (k + 1);
  }
  pair_begin_.add(size);
  std::fill_n(pairs_.room_for_all(pairs), pairs, uint16_t{0});
  sort<true>(bits);
}

/// Sorts the occurrences by candidate. @tparam kCounts  count the pairs, in rows of zeros
template <bool kCounts>
void ProjectedLists::sort(std::span<const uint64_t> bits) {
  uint32_t* const begin = begin_.begin();
  const size_t size = candidates();
  begin[0] = 0;
  for (size_t k = 0; k < size; ++k) begin[k + 1] += begin[k];
  common_.shrink(0);
  uint64_t* const common = common_.room(size);
  std::fill_n(common, size, ~uint64_t{0});
  common_.add(size);
  occurrences_.shrink(0);
  ProjectedOccurrence* const occurrences = occurrences_.room(begin[size]);
  occurrences_.add(begin[size]);
  uint16_t* const pairs = pairs_.begin();
  const uint32_t* const rows = pair_begin_.begin();
  const NodeItem* const items = items_.begin();
  const RootItem* const candidates = candidates_.begin();
  const NodeItem* next = items;
  for (const Transaction& transaction : transactions_.span()) {
    uint64_t passed = transaction.before;
    const uint32_t number = transaction.number;
    const auto weight = static_cast<uint16_t>(transaction.weight);
    while (index_of(*next) < size) {
      const uint32_t candidate = index_of(*next++);
      ProjectedOccurrence& occurrence = occurrences[begin[candidate]++];
      occurrence.before = passed;
      occurrence.at = static_cast<uint32_t>(next - items);
      occurrence.transaction = number;
      common[candidate] &= passed;
      passed |= bits[index_of(candidates[candidate])];
      if constexpr (kCounts)
        visit_from(next, size, [row = pairs + rows[candidate], weight](NodeItem item, size_t) {
          row[index_of(item)] = static_cast<uint16_t>(row[index_of(item)] + weight);
        });
    }
    next += kEnds;
    poll_.after(8);
  }
  // Filling turned beginnings into ends. Turn them back.
  for (size_t k = size; k > 0; --k) begin[k] = begin[k - 1];
  begin[0] = 0;
}

}  // namespace batmap
