// Projection and a counting sort by candidate. See projected_lists.h.
#include "itemsets/forms/projected_lists.h"

#include <algorithm>

#include "itemsets/forms/node_counts.h"

namespace batmap {

/// @param items  at most so many will be taken @param none  a root item that is no candidate
void ProjectedLists::start(size_t transactions, size_t items, std::span<const RootItem> candidates, RootItem none) {
  items_.shrink(0);
  items_.room(items + kEnds * transactions);
  before_.shrink(0);
  before_.room(transactions);
  candidates_.shrink(0);
  std::copy(candidates.begin(), candidates.end(), candidates_.room(candidates.size() + kEnds));
  candidates_.add(candidates.size());
  for (size_t k = 0; k < kEnds; ++k) candidates_.push_back(none);
  begin_.shrink(0);
  std::fill_n(begin_.room(candidates.size() + 1), candidates.size() + 1, 0u);
  begin_.add(candidates.size() + 1);
}

/// @param number  1 + index of a candidate, or 0
inline void ProjectedLists::take(uint32_t number) {
  // No branch: it cannot be predicted which items are candidates. begin_[0] counts the others.
  *items_.end() = NodeItem{number - 1};
  items_.add(number != 0);
  ++begin_[number];
}

/// Ends the transaction.
inline void ProjectedLists::close() {
  for (size_t k = 0; k < kEnds; ++k) items_.end()[k] = NodeItem{static_cast<uint32_t>(candidates() + k)};
  items_.add(kEnds);
}

void ProjectedLists::project(const TransactionLists<RootItem>& lists, std::span<const ItemOccurrence> others,
                             std::span<const uint32_t> index, std::span<const uint64_t> bits,
                             std::span<const RootItem> candidates) {
  size_t room = 0;
  for (const ItemOccurrence& other : others) room += other.end - other.at;
  start(others.size(), room, candidates, lists.data()[others.front().at]);
  const RootItem* const data = lists.data();
  for (size_t k = 0; k < others.size(); ++k) {
    if (k + kPrefetchAhead < others.size()) __builtin_prefetch(data + others[k + kPrefetchAhead].at);
    const ItemOccurrence& other = others[k];
    uint64_t passed = 0;
    for (uint32_t at = other.begin; at < other.at; ++at) passed |= bits[index_of(data[at])];
    before_.push_back(passed);
    for (uint32_t at = other.at + 1; at < other.end; ++at) take(index[index_of(data[at])]);
    close();
    poll_.after(other.end - other.begin);
  }
  sort(bits, [](uint32_t k) { return k; });
}

void ProjectedLists::project(const ProjectedLists& lists, std::span<const ProjectedOccurrence> others,
                             std::span<const uint32_t> index, std::span<const uint64_t> bits,
                             std::span<const RootItem> candidates) {
  size_t room = 0;
  for (const ProjectedOccurrence& other : others) lists.visit_behind(other, [&](NodeItem, size_t) { ++room; });
  start(others.size(), room, candidates, lists.candidates_[lists.candidates()]);
  for (const ProjectedOccurrence& other : others) {
    before_.push_back(other.before);
    lists.visit_behind(other, [&](NodeItem item, size_t) { take(index[index_of(lists.item(item))]); });
    close();
    poll_.after(8);
  }
  sort(bits, [&](uint32_t k) { return others[k].transaction; });
}

/// Sorts the occurrences by candidate. @param number  number(k) of the k-th transaction taken
template <typename Number>
void ProjectedLists::sort(std::span<const uint64_t> bits, const Number& number) {
  uint32_t* const begin = begin_.begin();
  const size_t size = candidates();
  begin[0] = 0;
  for (size_t k = 0; k < size; ++k) begin[k + 1] += begin[k];
  occurrences_.shrink(0);
  ProjectedOccurrence* const occurrences = occurrences_.room(begin[size]);
  occurrences_.add(begin[size]);
  const NodeItem* const items = items_.begin();
  const NodeItem* next = items;
  for (uint32_t k = 0; k < before_.size(); ++k, next += kEnds) {
    uint64_t passed = before_[k];
    for (; !is_end(*next); ++next) {
      const uint32_t candidate = index_of(*next);
      occurrences[begin[candidate]++] = {passed, static_cast<uint32_t>(next + 1 - items), number(k)};
      passed |= bits[index_of(candidates_[candidate])];
    }
    poll_.after(8);
  }
  // Filling turned beginnings into ends. Turn them back.
  for (size_t k = size; k > 0; --k) begin[k] = begin[k - 1];
  begin[0] = 0;
}

}  // namespace batmap
