// Projected lists against plain vectors: occurrences, the items behind and in front of them, and counted pairs.
#include "itemsets/forms/projected_lists.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "test/unit/shared/shapes.h"

namespace batmap::test {
namespace {

/// One transaction of a node.
struct PlainTransaction {
  uint64_t before;               // bits of the items in front of the node's item
  std::vector<uint32_t> behind;  // ascending
  uint32_t weight;
};

struct PlainLists {
  std::vector<PlainTransaction> transactions;
  std::vector<uint32_t> candidates;
};

std::vector<RootItem> root_items(const std::vector<uint32_t>& items) {
  std::vector<RootItem> all;
  for (const uint32_t item : items) all.push_back(RootItem{item});
  return all;
}

/// A node of item 1 in the transactions of a root.
class ProjectedNode {
 public:
  ProjectedNode(Random& random, size_t items, size_t transactions, uint64_t percent)
      : lists_(meter_), index_(items), bits_(items) {
    for (size_t item = 0; item < items; ++item) bits_[item] = uint64_t{1} << item % 64;
    bits_[1] = 0;
    for (size_t k = 0; k < transactions; ++k) {
      RootItem* const room = lists_.room(items);
      size_t length = 0;
      for (uint32_t item = 0; item < items; ++item)
        if (item == 1 || random.chance(percent)) room[length++] = RootItem{item};
      lists_.add(length, 1 + static_cast<uint32_t>(random.below(3)));
    }
    for (const MergedTransaction& t : lists_.transactions()) {
      const RootItem* const begin = lists_.data() + t.begin;
      const bool has_first = *begin == RootItem{0};
      const uint32_t at = t.begin + (has_first ? 1 : 0);
      occurrences.push_back({t.begin, at, t.begin + t.length, t.weight});
      PlainTransaction own{has_first ? bits_[0] : 0, {}, t.weight};
      for (uint32_t k = at + 1; k < t.begin + t.length; ++k) own.behind.push_back(index_of(lists_.data()[k]));
      transactions_.push_back(own);
      support += t.weight;
    }
  }

  /// Makes one transaction so heavy that the node has this support.
  void weigh(uint32_t wanted) {
    occurrences[0].weight += wanted - support;
    transactions_[0].weight = occurrences[0].weight;
    support = wanted;
  }
  PlainLists project(ProjectedLists& lists, const std::vector<uint32_t>& candidates) {
    number(candidates);
    lists.project(lists_, occurrences, support, index_, bits_, root_items(candidates));
    return {transactions_, candidates};
  }
  /// Of a candidate of `above`.
  PlainLists project(ProjectedLists& lists, const ProjectedLists& above, const PlainLists& from, uint32_t own,
                     const std::vector<uint32_t>& candidates) {
    const std::vector<ProjectedOccurrence> others(above.list(NodeItem{own}).begin(), above.list(NodeItem{own}).end());
    number(candidates);
    uint32_t weights = 0;
    for (const ProjectedOccurrence& other : others) weights += occurrences[other.transaction].weight;
    lists.project(above, others, occurrences, weights, index_, bits_, root_items(candidates));
    PlainLists to{{}, candidates};
    const uint32_t item = from.candidates[own];
    for (const PlainTransaction& transaction : from.transactions) {
      if (!std::binary_search(transaction.behind.begin(), transaction.behind.end(), item)) continue;
      PlainTransaction reduced{transaction.before, {}, transaction.weight};
      for (const uint32_t other : transaction.behind) {
        if (!std::binary_search(from.candidates.begin(), from.candidates.end(), other)) continue;
        if (other < item) reduced.before |= bits_[other];
        if (other > item) reduced.behind.push_back(other);
      }
      to.transactions.push_back(reduced);
    }
    return to;
  }

  void expect_equal(const ProjectedLists& lists, const PlainLists& expected) const {
    const size_t size = expected.candidates.size();
    ASSERT_EQ(lists.candidates(), size);
    for (uint32_t k = 0; k < size; ++k) {
      const uint32_t candidate = expected.candidates[k];
      std::map<uint32_t, uint32_t> counts;  // of later candidates, by index
      uint64_t common = ~uint64_t{0};
      const std::span<const ProjectedOccurrence> list = lists.list(NodeItem{k});
      size_t next = 0;
      for (const PlainTransaction& transaction : expected.transactions) {
        if (!std::binary_search(transaction.behind.begin(), transaction.behind.end(), candidate)) continue;
        uint64_t before = transaction.before;
        std::vector<uint32_t> behind;
        for (uint32_t other = 0; other < size; ++other) {
          const uint32_t item = expected.candidates[other];
          if (!std::binary_search(transaction.behind.begin(), transaction.behind.end(), item)) continue;
          if (other < k) before |= bits_[item];
          if (other > k) behind.push_back(other);
        }
        for (const uint32_t other : behind) counts[other] += transaction.weight;
        common &= before;
        ASSERT_LT(next, list.size());
        const ProjectedOccurrence& occurrence = list[next++];
        EXPECT_EQ(occurrence.before, before);
        EXPECT_EQ(occurrences[occurrence.transaction].weight, transaction.weight);
        std::vector<uint32_t> visited;
        lists.visit_behind(occurrence, [&](NodeItem item, size_t) {
          if (index_of(item) < size) visited.push_back(index_of(item));
        });
        EXPECT_EQ(visited, behind);
      }
      EXPECT_EQ(next, list.size());
      EXPECT_EQ(lists.common(NodeItem{k}), common);
      if (!lists.counts_pairs()) continue;
      for (const uint32_t min : {1u, 2u, 5u, 40'000u, 65'535u, 65'536u}) {
        std::vector<std::pair<uint32_t, uint32_t>> found;
        lists.visit_frequent_behind(NodeItem{k}, min,
                                    [&](NodeItem item, uint32_t count) { found.emplace_back(index_of(item), count); });
        std::vector<std::pair<uint32_t, uint32_t>> frequent(counts.begin(), counts.end());
        std::erase_if(frequent, [min](const auto& count) { return count.second < min; });
        ASSERT_EQ(found, frequent) << "candidate " << k << " of " << size << ", min " << min << ", seed " << kSeed;
      }
    }
  }

  std::vector<ItemOccurrence> occurrences;
  uint32_t support = 0;

 private:
  void number(const std::vector<uint32_t>& candidates) {
    std::fill(index_.begin(), index_.end(), 0u);
    for (size_t k = 0; k < candidates.size(); ++k) index_[candidates[k]] = static_cast<uint32_t>(k + 1);
  }

  MemoryMeter meter_;
  TransactionLists<RootItem> lists_;
  std::vector<PlainTransaction> transactions_;
  std::vector<uint32_t> index_;
  std::vector<uint64_t> bits_;
};

TEST(ProjectedLists, AnswerLikePlainVectors) {
  Random random(kSeed + 31);
  MemoryMeter meter;
  const ExecutionOptions options{.memory = &meter, .cancel = {}};
  ProjectedLists first(options);
  ProjectedLists second(options);
  for (const size_t size : {1, 2, 7, 8, 9, 15, 16, 17, 18, 40, 200}) {
    ProjectedNode node(random, size + 6, 60, 35);
    // All items behind the node's but four.
    std::vector<uint32_t> candidates;
    for (uint32_t item = 2; item < size + 6; ++item) candidates.push_back(item);
    for (int k = 0; k < 4; ++k)
      candidates.erase(candidates.begin() + static_cast<ptrdiff_t>(random.below(candidates.size())));
    const PlainLists projection = node.project(first, candidates);
    EXPECT_TRUE(first.counts_pairs());
    node.expect_equal(first, projection);
    const auto own = static_cast<uint32_t>(size / 3);
    std::vector<uint32_t> later;
    for (size_t k = own + 1; k < candidates.size(); ++k)
      if (random.chance(70)) later.push_back(candidates[k]);
    if (first.list(NodeItem{own}).empty() || later.empty()) continue;
    node.expect_equal(second, node.project(second, first, projection, own, later));
  }
}

TEST(ProjectedLists, CountPairsOfFewCandidatesAndTransactions) {
  Random random(kSeed + 32);
  MemoryMeter meter;
  ProjectedLists lists({.memory = &meter, .cancel = {}});
  struct Size {
    size_t candidates;
    uint32_t support;
    bool counts_pairs;
  };
  for (const Size& shape : {Size{512, 200, true}, Size{513, 200, false}, Size{20, 65'535, true}, Size{20, 65'536, false},
                            Size{512, 65'535, true}, Size{20, 200'000, false}}) {
    ProjectedNode node(random, shape.candidates + 2, 30, 50);
    node.weigh(shape.support);
    std::vector<uint32_t> candidates;
    for (uint32_t item = 2; item < shape.candidates + 2; ++item) candidates.push_back(item);
    const PlainLists projection = node.project(lists, candidates);
    EXPECT_EQ(lists.counts_pairs(), shape.counts_pairs) << shape.candidates << " candidates, support " << shape.support;
    node.expect_equal(lists, projection);
  }
}

}  // namespace
}  // namespace batmap::test
