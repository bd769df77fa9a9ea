// Merges by hash, links by counting sort. See transaction_lists.h.
#include "itemsets/forms/transaction_lists.h"

#include <algorithm>

#include "core/poll.h"

namespace batmap {

namespace {

template <ItemNumber Item>
uint32_t hash_of(const Item* items, size_t length) {
  uint64_t hash = length;
  for (size_t k = 0; k < length; ++k) hash = (hash ^ index_of(items[k])) * 0x9e3779b97f4a7c15u;
  return static_cast<uint32_t>(hash >> 32);
}

}  // namespace

template <ItemNumber Item>
void TransactionLists<Item>::add(size_t length, uint32_t weight) {
  if (2 * (transactions_.size() + 1) > slots_.size()) rehash();
  const Item* const items = items_.end();
  const uint32_t hash = hash_of(items, length);
  const size_t mask = slots_.size() - 1;
  size_t at = hash & mask;
  for (; slots_[at] != 0; at = (at + 1) & mask) {
    MergedTransaction& other = transactions_[slots_[at] - 1];
    if (other.hash == hash && other.length == length && std::equal(items, items + length, items_.begin() + other.begin)) {
      other.weight += weight;
      return;
    }
  }
  transactions_.push_back({static_cast<uint32_t>(items_.size()), static_cast<uint32_t>(length), weight, hash});
  slots_[at] = static_cast<uint32_t>(transactions_.size());
  items_.add(length);
}

template <ItemNumber Item>
void TransactionLists<Item>::rehash() {
  const size_t size = 2 * slots_.size();
  slots_.reset();
  slots_ = Buffer<uint32_t>(*meter_, size, Fill::kZero);
  for (size_t k = 0; k < transactions_.size(); ++k) {
    size_t at = transactions_[k].hash & (size - 1);
    while (slots_[at] != 0) at = (at + 1) & (size - 1);
    slots_[at] = static_cast<uint32_t>(k + 1);
  }
}

template <ItemNumber Item>
void TransactionLists<Item>::link(Item end, const CancelToken& cancel) {
  Poll poll(cancel);
  slots_.reset();
  tails_begin_ = Buffer<uint32_t>(*meter_, size_t{index_of(end)} + 1, Fill::kZero);
  const Item* const data = items_.begin();
  for (const MergedTransaction& t : transactions_) {
    for (uint32_t k = 0; k + 1 < t.length && data[t.begin + k] < end; ++k) ++tails_begin_[index_of(data[t.begin + k])];
    poll.after(t.length);
  }
  // Counts become ends; filling from the back turns ends into beginnings.
  uint32_t tails = 0;
  for (uint32_t& begin : tails_begin_) begin = tails += begin;
  tails_ = Buffer<WeightedTail>(*meter_, tails);
  for (size_t k = transactions_.size(); k > 0; --k) {
    const MergedTransaction& t = transactions_[k - 1];
    for (uint32_t p = 0; p + 1 < t.length && data[t.begin + p] < end; ++p)
      tails_[--tails_begin_[index_of(data[t.begin + p])]] = {t.begin + p + 1, t.length - p - 1, t.weight};
    poll.after(2 * uint64_t{t.length});
  }
}

template class TransactionLists<RootItem>;
template class TransactionLists<NodeItem>;

}  // namespace batmap
