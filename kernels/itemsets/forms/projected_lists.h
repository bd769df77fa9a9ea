// The transactions of a node on lists, reduced to its candidates, and the occurrences of each candidate in them. An
// occurrence knows the items passed over in front of it as the bits of one word, which items share. So what a child of
// the node has to read lies together. 4 bytes an item and 16 an occurrence. Source: projected databases are textbook;
// lists of occurrences are LCM's (Uno, Kiyomi, Arimura, FIMI 2004); the word of bits is ours.
#pragma once

#include <cstdint>
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
        before_(*options.memory),
        candidates_(*options.memory),
        begin_(*options.memory) {}

  /// Takes the items behind `others`, in the same transactions, in place of what was there.
  /// @param index       [root items] 1 + index of a candidate; 0: none
  /// @param bits        [root items] the bit by which an occurrence remembers the item
  /// @param candidates  ascending
  void project(const TransactionLists<RootItem>& lists, std::span<const ItemOccurrence> others,
               std::span<const uint32_t> index, std::span<const uint64_t> bits, std::span<const RootItem> candidates);
  /// The same for a node in other lists. Transactions keep their numbers.
  void project(const ProjectedLists& lists, std::span<const ProjectedOccurrence> others, std::span<const uint32_t> index,
               std::span<const uint64_t> bits, std::span<const RootItem> candidates);

  std::span<const ProjectedOccurrence> list(NodeItem candidate) const {
    const uint32_t* const begin = begin_.begin() + index_of(candidate);
    return {occurrences_.begin() + begin[0], begin[1] - begin[0]};
  }
  RootItem item(NodeItem candidate) const { return candidates_[index_of(candidate)]; }
  size_t candidates() const { return begin_.size() - 1; }
  /// Calls visit(candidate, lane) for each candidate behind the occurrence, and then for one or more numbers from
  /// candidates() to candidates() + kEnds - 1. Calls are made for all lanes, 0 to kEnds - 1, between two branches: mostly
  /// there is only one branch, and it is predicted.
  template <typename Visit>
  void visit_behind(const ProjectedOccurrence& occurrence, const Visit& visit) const {
    const NodeItem* item = items_.begin() + occurrence.at;
    do {
#pragma GCC unroll 4
      for (size_t k = 0; k < kEnds; ++k) visit(item[k], k);
      item += kEnds;
    } while (!is_end(item[-1]));
  }
  static constexpr size_t kEnds = 4;  // numbers that close a transaction

 private:
  void start(size_t transactions, size_t items, std::span<const RootItem> candidates, RootItem none);
  void take(uint32_t number);
  template <typename Number>
  void sort(std::span<const uint64_t> bits, const Number& number);

  bool is_end(NodeItem item) const { return index_of(item) >= candidates(); }
  void close();

  Poll poll_;
  GrowingBuffer<NodeItem> items_;
  GrowingBuffer<ProjectedOccurrence> occurrences_;
  GrowingBuffer<uint64_t> before_;      // [transactions] bits of the items in front of the node's occurrence
  GrowingBuffer<RootItem> candidates_;  // then kEnds times one that is none
  GrowingBuffer<uint32_t> begin_;       // [candidates + 1] in occurrences_
};

}  // namespace batmap
