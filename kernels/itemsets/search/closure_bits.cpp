// Nodes of few transactions. Each transaction is a bit, and each item has a row of a few words. See closure_nodes.h.
//
// The items of a node lie in one list: those passed over, then the candidates. A child is made from a candidate: the rows of all
// items are cut down to the transactions of the candidate. In the child, the items in front of the candidate are passed over, and
// those behind it are candidates. An item passed over covers the child if its row keeps all of the child's transactions. Source:
// rows of bits as in Burdick, Calimlim, Gehrke (MAFIA, ICDE 2001); the list with the items passed over is ours.
#include <algorithm>
#include <bit>
#include <span>
#include <utility>

#include "itemsets/search/closure_nodes.h"

namespace batmap {

/// Searches the candidates of the path's node. @param support  at most kBitTransactions
void ClosureNodes::search_bits(const ListNode& node, std::span<const Candidate> candidates, uint32_t support) {
  bit_node_ = &node;
  bit_words_ = (support + 63) / 64;
  bit_items_.shrink(0);
  bit_supports_.shrink(0);
  bit_rows_.shrink(0);
  constexpr size_t kOthers = ProjectedLists::kEnds;
  for (size_t k = 0; k < kOthers; ++k) push_bit_item({RootItem{0}, 0});  // rows of all other items, one for each lane
  for (const Candidate& candidate : candidates) push_bit_item(candidate);
  std::fill_n(bit_rows_.room(bit_items_.size() * bit_words_), bit_items_.size() * bit_words_, uint64_t{0});
  bit_rows_.add(bit_items_.size() * bit_words_);

  const size_t words = bit_words_;
  uint32_t* const index = index_.data();
  for (size_t k = 0; k < candidates.size(); ++k) index[index_of(candidates[k].item)] = static_cast<uint32_t>(kOthers + k);
  uint32_t bit = 0;
  for (size_t k = 0; k < node.size(); ++k) {
    const ItemOccurrence& transaction = node.transaction(k);
    const uint64_t passed = bits_before(node, k);
    for (const uint32_t end = bit + transaction.weight; bit < end; ++bit) {
      bit_before_[bit] = passed;
      bit_transaction_[bit] = static_cast<uint32_t>(k);
      const auto set = [word = bit_rows_.begin() + bit / 64, self = uint64_t{1} << bit % 64, index, words](RootItem item,
                                                                                                           size_t lane) {
        const size_t row = index[index_of(item)];
        word[(row != 0 ? row : lane) * words] |= self;
      };
      if (node.lists != nullptr)
        node.lists->visit_behind(node.projected[k],
                                 [&, lists = node.lists](NodeItem item, size_t lane) { set(lists->item(item), lane); });
      else
        for (const RootItem item : part_of(transaction, Part::kBehind)) set(item, 0);
    }
    poll_.after(transaction.end - transaction.begin);
  }
  for (const Candidate& candidate : candidates) index[index_of(candidate.item)] = 0;
  walk_bits({.begin = kOthers, .passed = 0, .size = candidates.size(), .own = 0, .support = support});
}

void ClosureNodes::push_bit_item(const Candidate& candidate) {
  bit_items_.push_back(candidate.item);
  bit_supports_.push_back(candidate.support);
}

void ClosureNodes::walk_bits(const BitNode& node) {
  const bool is_leaf = node.size - node.passed <= static_cast<size_t>(kLeafItems);
  const bool is_branch = projected_depth_ == 0 && node.own == 0;
  const size_t height = path_.size();
  const size_t begin = node.begin + node.size;
  const size_t words = bit_words_;
  for (size_t k = node.passed; k < node.size; ++k) {
    const uint32_t min_count = threshold();
    const uint32_t support = bit_supports_[node.begin + k];
    if (support < min_count) continue;
    RootItem* const items = bit_items_.room(node.size);
    uint32_t* const supports = bit_supports_.room(node.size);
    uint64_t* const rows = bit_rows_.room(node.size * words);
    kernel_.intersect(bit_row(node.begin), node.size, words, bit_row(node.begin + k), rows, supports);
    poll_.after(node.size * words);
    if (is_branch)
      for (size_t item = k + 1; item < node.size; ++item)
        if (supports[item] >= min_count) add_pair(bit_items_[node.begin + k], bit_items_[node.begin + item]);
    size_t kept = 0;
    const auto keep = [&](size_t item) {
      items[kept] = bit_items_[node.begin + item];
      supports[kept] = supports[item];
      for (size_t w = 0; w < words; ++w) rows[kept * words + w] = rows[item * words + w];
      ++kept;
    };
    bool is_covered = false;
    for (size_t item = 0; item < k && !is_covered; ++item) {
      is_covered = supports[item] == support;
      if (supports[item] >= min_count) keep(item);
    }
    if (is_covered || is_covered_on_bits(bit_row(node.begin + k))) continue;
    const size_t passed = kept;
    push(bit_items_[node.begin + k]);
    bool is_closed = true;
    for (size_t item = k + 1; item < node.size; ++item) {
      if (supports[item] < min_count) continue;
      if (supports[item] == support && !is_leaf) {
        push(bit_items_[node.begin + item]);
        continue;
      }
      is_closed = is_closed && supports[item] != support;
      keep(item);
    }
    bit_items_.add(kept);
    bit_supports_.add(kept);
    bit_rows_.add(kept * words);
    const BitNode child{.begin = begin, .passed = passed, .size = kept, .own = node.begin + k, .support = support};
    if (visit_bits(child, is_closed) && kept > passed) walk_bits(child);
    bit_items_.shrink(begin);
    bit_supports_.shrink(begin);
    bit_rows_.shrink(begin * words);
    pop(height);
  }
}

/// Is there an item, among those passed over before the first node on bits, that all of these transactions have?
bool ClosureNodes::is_covered_on_bits(const uint64_t* transactions) {
  uint64_t shared = ~uint64_t{0};
  if (!visit_transactions(transactions, [&](size_t bit) { return (shared &= bit_before_[bit]) != 0; })) return false;
  CommonItems common(*this, shared);
  return visit_transactions(transactions,
                            [&](size_t bit) { return common.keep(before(*bit_node_, bit_transaction_[bit])); });
}

namespace {

constexpr int kFewBits = 8;

/// Counts of 64 bits over many words, bit by bit of the counts. Source: textbook (carry-save addition).
class BitCounts {
 public:
  void add(uint64_t word, uint32_t weight) {
    for (weight = std::min(weight, 1u << kPlanes); weight != 0; --weight) {
      uint64_t carry = word;
#pragma GCC unroll 6
      for (uint64_t& plane : plane_) carry &= std::exchange(plane, plane ^ carry);
      above_ |= carry;
    }
  }
  /// The bits whose counts are `min` or more; where `min` is above 2^kPlanes, those that have so many.
  uint64_t reached(uint32_t min) const {
    if (min >> kPlanes != 0) return above_;
    uint64_t above = above_;
    uint64_t equal = ~uint64_t{0};
    for (size_t plane = kPlanes; plane-- > 0;) {
      if ((min >> plane & 1) == 0) above |= equal & plane_[plane];
      equal &= (min >> plane & 1) == 0 ? ~plane_[plane] : plane_[plane];
    }
    return above | equal;
  }

 private:
  static constexpr size_t kPlanes = 6;

  uint64_t above_ = 0;  // the bits that have 2^kPlanes or more
  uint64_t plane_[kPlanes] = {};
};

}  // namespace

/// Is an item, among those passed over before the node, in so many of these of its transactions as the threshold says?
/// @param each  each(take) calls take(bits of the items passed over, index of the transaction, weight) until it returns false
template <typename Each>
bool ClosureNodes::has_frequent_before(const ListNode& node, const Each& each) {
  BitCounts bit_counts;
  const uint32_t min_count = threshold();
  each([&](uint64_t passed, size_t, uint32_t weight) {
    poll_.after(1);
    bit_counts.add(passed, weight);
    return true;
  });
  uint64_t reached = bit_counts.reached(min_count);
  if (reached == 0) return false;
  bool is_found = false;
  while (reached != 0 && !is_found) {
    // Of few bits mostly the first one decides, as only one of its items is in many of these transactions.
    const uint64_t bits = std::popcount(reached) <= kFewBits ? reached & -reached : reached;
    reached &= ~bits;
    each([&](uint64_t passed, size_t k, uint32_t weight) {
      poll_.after(1);
      if ((passed & bits) == 0) return true;
      const RootItem* const begin = root_.lists.data() + node.transaction(k).begin;
      const RootItem* item = begin;
      for (; *item < node.item; ++item) {
        if ((head_bit_[index_of(*item)] & bits) == 0) continue;
        uint32_t& count = counts_[index_of(*item)];
        if (count == 0) counted_.push_back(*item);
        is_found |= (count += weight) >= min_count;
      }
      poll_.after(static_cast<uint64_t>(item - begin));
      return !is_found;
    });
    for (const RootItem item : counted_) counts_[index_of(item)] = 0;
    counted_.clear();
  }
  return is_found;
}

bool ClosureNodes::is_passed(const BitNode& node, bool whole) {
  uint64_t transactions[kBitTransactions / 64];
  std::copy_n(bit_row(node.own), bit_words_, transactions);
  const uint32_t min_count = threshold();
  if (whole) {
    uint32_t support = 0;
    for (size_t k = node.passed; k < node.size; ++k)
      kernel_.intersect(bit_row(node.begin + k), 1, bit_words_, transactions, transactions, &support);
    if (support < min_count) return false;
  }
  uint32_t* const supports = bit_supports_.room(node.passed);
  uint64_t* const rows = bit_rows_.room(node.passed * bit_words_);  // moves the rows that there are
  kernel_.intersect(bit_row(node.begin), node.passed, bit_words_, transactions, rows, supports);
  if (std::any_of(supports, supports + node.passed, [&](uint32_t support) { return support >= min_count; })) return true;
  if (bit_node_->passed == Passed::kNone) return false;
  return has_frequent_before(*bit_node_, [&](const auto& take) {
    visit_transactions(transactions, [&](size_t bit) { return take(bit_before_[bit], bit_transaction_[bit], 1); });
  });
}

bool ClosureNodes::has_frequent_before(const ListNode& node, size_t subset) {
  return has_frequent_before(node, [&](const auto& take) {
    for (size_t k = 0; k < node.size(); ++k)
      if (contains(leaf_subset_[k], subset) && !take(bits_before(node, k), k, node.transaction(k).weight)) return;
  });
}

bool ClosureNodes::has_frequent_before(const ListNode& node) {
  return has_frequent_before(node, [&](const auto& take) {
    for (size_t k = 0; k < node.size(); ++k)
      if (!take(bits_before(node, k), k, node.transaction(k).weight)) return;
  });
}

}  // namespace batmap
