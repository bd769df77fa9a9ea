// The transactions of a node on lists, reduced to its candidates, and the occurrences of each candidate in them. An
// occurrence knows the items passed over in front of it as the bits of one word, which items share. So what a child of
// the node has to read lies together. Pairs of candidates are counted on the way, if candidates and transactions are few:
// then a child knows its frequent items without a look at its transactions. 4 bytes an item, 16 an occurrence and a
// transaction, 2 a pair of candidates (at most 260 KiB). Source: projected databases are textbook; lists of occurrences
// are LCM's (Uno, Kiyomi, Arimura, FIMI 2004); a triangle of pair counts is textbook; the word of bits is ours.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>

#include "core/options.h"
#include "core/poll.h"
#include "itemsets/forms/occurrence_lists.h"

namespace batmap {

struct ProjectedOccurrence {
  uint64_t before;       // bits of the items in front of it
  uint32_t at;           // index of the next item of its transaction
  uint32_t transaction;  // index among the node's occurrences
};

class ProjectedLists {
 public:
  explicit ProjectedLists(const ExecutionOptions& options)
      : poll_(options.cancel),
        items_(*options.memory),
        occurrences_(*options.memory),
        transactions_(*options.memory),
        candidates_(*options.memory),
        begin_(*options.memory),
        common_(*options.memory),
        pair_begin_(*options.memory),
        pairs_(*options.memory) {}

  /// Takes the items behind `others`, in the same transactions, in place of what was there.
  /// @param support     of the node
  /// @param index       [root items] 1 + index of a candidate; 0: none
  /// @param bits        [root items] the bit by which an occurrence remembers the item
  /// @param candidates  ascending
  void project(const TransactionLists<RootItem>& lists, std::span<const ItemOccurrence> others, uint32_t support,
               std::span<const uint32_t> index, std::span<const uint64_t> bits, std::span<const RootItem> candidates);
  /// The same for a node in other lists. Transactions keep their numbers. @param weighted  by these numbers
  void project(const ProjectedLists& lists, std::span<const ProjectedOccurrence> others,
               std::span<const ItemOccurrence> weighted, uint32_t support, std::span<const uint32_t> index,
               std::span<const uint64_t> bits, std::span<const RootItem> candidates);

  std::span<const ProjectedOccurrence> list(NodeItem candidate) const {
    const uint32_t* const begin = begin_.begin() + index_of(candidate);
    return {occurrences_.begin() + begin[0], begin[1] - begin[0]};
  }
  RootItem item(NodeItem candidate) const { return candidates_[index_of(candidate)]; }
  size_t candidates() const { return begin_.size() - 1; }
  /// Calls visit(candidate, lane) for each candidate behind the occurrence. A transaction ends with kEnds numbers that are no
  /// candidates, from candidates() on, and visit() is called for one or more of these, too. So it can be called for kEnds items,
  /// one for each lane, before the end is looked for: mostly there is only one branch, which the processor predicts.
  template <typename Visit>
  void visit_behind(const ProjectedOccurrence& occurrence, const Visit& visit) const {
    visit_from(items_.begin() + occurrence.at, candidates(), visit);
  }
  static constexpr size_t kEnds = 4;  // numbers that close a transaction
  /// The common bits of the items in front of all occurrences of a candidate.
  uint64_t common(NodeItem candidate) const { return common_[index_of(candidate)]; }
  /// Does it know how often a candidate is behind another one?
  bool counts_pairs() const { return counts_pairs_; }
  /// If so: calls visit(candidate, count) for each one that is behind this one `min` times or more. @param min  at least 1
  template <typename Visit>
  void visit_frequent_behind(NodeItem candidate, uint32_t min, const Visit& visit) const;

 private:
  struct Transaction {
    uint64_t before;  // bits of the items in front of the node's occurrence
    uint32_t number;
    uint32_t weight;
  };

  struct Taker;

  Taker start(size_t transactions, size_t items, std::span<const RootItem> candidates, RootItem none);
  void sort(std::span<const uint64_t> bits, uint32_t support);
  template <bool kCounts>
  void sort(std::span<const uint64_t> bits);
  template <typename Visit>
  static void visit_from(const NodeItem* item, size_t candidates, const Visit& visit) {
    do {
#pragma GCC unroll 4
      for (size_t k = 0; k < kEnds; ++k) visit(item[k], k);
      item += kEnds;
    } while (index_of(item[-1]) < candidates);
  }

  Poll poll_;
  GrowingBuffer<NodeItem> items_;
  GrowingBuffer<ProjectedOccurrence> occurrences_;
  GrowingBuffer<Transaction> transactions_;
  GrowingBuffer<RootItem> candidates_;  // then kEnds times one that is none
  GrowingBuffer<uint32_t> begin_;       // [candidates + 1] in occurrences_
  GrowingBuffer<uint64_t> common_;      // [candidates]
  bool counts_pairs_ = false;
  GrowingBuffer<uint32_t> pair_begin_;  // [candidates] where index 0 of a candidate's row would be in pairs_
  GrowingBuffer<uint16_t> pairs_;       // rows of the later candidates, and of the numbers that close a transaction
};

template <typename Visit>
void ProjectedLists::visit_frequent_behind(NodeItem candidate, uint32_t min, const Visit& visit) const {
  typedef uint16_t Counts __attribute__((vector_size(16)));
  constexpr size_t kLanes = sizeof(Counts) / sizeof(uint16_t);
  if (min > UINT16_MAX) return;
  const uint16_t* const row = pairs_.begin() + pair_begin_[index_of(candidate)];
  const size_t size = candidates();
  const Counts least = Counts{} + static_cast<uint16_t>(min);
  const auto visit_lanes = [&](size_t item, size_t end) {
    for (; item < end; ++item)
      if (row[item] >= min) visit(NodeItem{static_cast<uint32_t>(item)}, uint32_t{row[item]});
  };
  size_t item = index_of(candidate) + 1;
  for (; item + kLanes <= size; item += kLanes) {
    Counts counts;
    std::memcpy(&counts, row + item, sizeof counts);
    const auto reached = counts >= least;
    uint64_t halves[2];
    std::memcpy(halves, &reached, sizeof halves);
    if ((halves[0] | halves[1]) != 0) [[unlikely]]
      visit_lanes(item, item + kLanes);
  }
  visit_lanes(item, size);
}

}  // namespace batmap
