// The walk. See candidate_counter.h.
#include "itemsets/counts/candidate_counter.h"

#include <algorithm>
#include <deque>
#include <utility>
#include <variant>
#include <vector>

#include "core/error.h"
#include "core/poll.h"
#include "core/thread_team.h"
#include "relation/transactions.h"

namespace batmap {

namespace {

constexpr uint32_t kAbsent = UINT32_MAX;

/// One thread's walk below the itemsets of one item. Items are ranks of the part.
template <typename Item>
class Walk {
 public:
  /// @param own_rank  [ranks of the whole] the rank in the part, or kAbsent
  Walk(const CandidateTree& tree, const Transactions& transactions, std::span<const uint32_t> own_rank, size_t items,
       std::span<uint32_t> counts, const ExecutionOptions& options)
      : tree_(tree),
        transactions_(transactions),
        items_(std::get<Buffer<Item>>(transactions.items).span()),
        own_rank_(own_rank),
        counts_(counts),
        poll_(options.cancel),
        child_of_(*options.memory, items, Fill::kZero),
        tails_(*options.memory) {}

  void walk(size_t root) {
    const uint32_t item = own_rank_[tree_.item(root)];
    if (item == kAbsent) return;
    counts_[root] += transactions_.support[item];
    if (!tree_.has_below(root)) return;
    const std::span<const Tail> tails = transactions_.tails_of(item);
    std::copy(tails.begin(), tails.end(), tails_.room(tails.size()));
    tails_.add(tails.size());
    frames_.push_back({root, 0, tails_.size(), true});
    while (!frames_.empty()) {
      Frame& frame = frames_.back();
      if (std::exchange(frame.is_new, false)) {
        expand(Frame(frame));
      } else {
        tails_.shrink(frame.begin);
        frames_.pop_back();
      }
    }
  }

 private:
  /// A node, and the rests of its transactions: tails_[begin, end). Those of the last frame are at the end.
  struct Frame {
    size_t node;
    size_t begin;
    size_t end;
    bool is_new;
  };

  template <typename Visit>
  void for_children(size_t node, Visit visit) const {
    uint32_t number = 1;
    for (size_t child = node + 1; child < tree_.end(node); child = tree_.end(child))
      if (const uint32_t item = own_rank_[tree_.item(child)]; item != kAbsent) visit(child, item, number++);
  }

  /// Calls visit(number of the child, position of the item) for each item of a child in the transactions.
  template <typename Visit>
  void for_items(const Frame& frame, Visit visit) {
    for (size_t k = frame.begin; k < frame.end; ++k) {
      const Tail tail = tails_[k];
      for (uint32_t at = tail.begin; at < tail.begin + tail.length; ++at) visit(child_of_[items_[at]], at, tail);
      poll_.after(tail.length + 1);
    }
  }

  /// Counts the children of a node, and pushes those that have nodes below them.
  void expand(const Frame& frame) {
    numbers_.assign(1, 0);
    for_children(frame.node, [&](size_t, uint32_t item, uint32_t number) {
      child_of_[item] = number;
      numbers_.push_back(0);
    });
    for_items(frame, [&](uint32_t number, uint32_t, const Tail&) { ++numbers_[number]; });
    const size_t before = frames_.size();
    size_t end = frame.end;
    ends_.assign(numbers_.size(), kSkipped);
    for_children(frame.node, [&](size_t child, uint32_t, uint32_t number) {
      counts_[child] += numbers_[number];
      if (numbers_[number] == 0 || !tree_.has_below(child)) return;
      ends_[number] = end;
      frames_.push_back({child, end, end + numbers_[number], true});
      end += numbers_[number];
    });
    if (frames_.size() > before) {
      tails_.room(end - frame.end);
      for_items(frame, [&](uint32_t number, uint32_t at, const Tail& tail) {
        if (ends_[number] != kSkipped) tails_.begin()[ends_[number]++] = {at + 1, tail.begin + tail.length - at - 1};
      });
      tails_.add(end - frame.end);
    }
    for_children(frame.node, [&](size_t, uint32_t item, uint32_t) { child_of_[item] = 0; });
    poll_.after(tree_.end(frame.node) - frame.node);
  }

  static constexpr size_t kSkipped = SIZE_MAX;

  const CandidateTree& tree_;
  const Transactions& transactions_;
  std::span<const Item> items_;
  std::span<const uint32_t> own_rank_;
  std::span<uint32_t> counts_;
  Poll poll_;
  Buffer<uint32_t> child_of_;  // [ranks of the part] number of the child with this item, from 1; 0: none
  GrowingBuffer<Tail> tails_;
  std::vector<uint32_t> numbers_;  // [children + 1] transactions
  std::vector<size_t> ends_;       // [children + 1] where the next of their tails goes
  std::vector<Frame> frames_;
};

template <typename Item>
void walk_all(const CandidateTree& tree, const Transactions& transactions, std::span<const uint32_t> own_rank, size_t items,
              std::span<uint32_t> counts, const ExecutionOptions& options) {
  std::vector<size_t> roots;
  for (size_t node = 0; node < tree.size(); node = tree.end(node)) roots.push_back(node);
  std::deque<Walk<Item>> walks;
  for (int worker = 0; worker < options.threads; ++worker)
    walks.emplace_back(tree, transactions, own_rank, items, counts, options);
  parallel_for(options, roots.size(),
               [&](size_t task, int worker) { walks[static_cast<size_t>(worker)].walk(roots[task]); });
}

}  // namespace

CandidateTree::CandidateTree(std::span<const ItemsetStep> steps, const ExecutionOptions& options)
    : steps_(steps), end_(*options.memory, steps.size()) {
  if (steps.size() >= UINT32_MAX)
    throw Error(ErrorCode::kTooLarge, "more than 4294967294 candidate itemsets", "Raise the threshold or give max_length.");
  std::vector<uint32_t> open;  // nodes on the path to the current one
  const auto close = [&](size_t length, size_t at) {
    for (; open.size() > length; open.pop_back()) end_[open.back()] = static_cast<uint32_t>(at);
  };
  for (size_t node = 0; node < steps.size(); ++node) {
    close(steps[node].length - 1, node);
    open.push_back(static_cast<uint32_t>(node));
  }
  close(0, steps.size());
}

void count_candidates(const CandidateTree& tree, const EncodedRelation& relation, const ItemTotals& totals,
                      const KeptItems& kept, std::span<uint32_t> counts, const ExecutionOptions& options) {
  Buffer<Rank> rank_of_whole;
  KeptItems own = keep_items_of_partition(relation, totals, kept, rank_of_whole, options);
  if (own.size == 0) return;
  own.pairs.leading = own.size;  // a candidate may begin with any item
  Buffer<uint32_t> own_rank(*options.memory, kept.size);
  std::fill(own_rank.begin(), own_rank.end(), kAbsent);
  for (uint32_t rank = 0; rank < own.size; ++rank) own_rank[index_of(rank_of_whole[rank])] = rank;
  const TransactionLengths lengths = transaction_lengths(relation, own, options);
  const Transactions transactions = link_transactions(relation, own, lengths, options);
  if (std::holds_alternative<Buffer<uint16_t>>(transactions.items))
    walk_all<uint16_t>(tree, transactions, own_rank.span(), own.size, counts, options);
  else
    walk_all<uint32_t>(tree, transactions, own_rank.span(), own.size, counts, options);
}

}  // namespace batmap
