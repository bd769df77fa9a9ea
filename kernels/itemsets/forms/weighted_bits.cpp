// Layout of the columns, and counting plane by plane. See weighted_bits.h.
#include "itemsets/forms/weighted_bits.h"

#include <algorithm>
#include <bit>

#include "core/poll.h"

namespace batmap {

namespace {

// Pairs are counted in bit rows from so many masks on, if these have more than so many items on
// average: bench/itemset_peers.cpp, mushroom.
constexpr size_t kMasksFrom = 512;
constexpr uint64_t kItemsFrom = 8;

// Both call visit(weight, for_each_item) for every distinct transaction.
auto transactions_of(const WeightedMasks& list, uint64_t items) {
  return [=](auto visit) {
    int position[64] = {};
    int positions = 0;
    for (uint64_t rest = items; rest != 0; rest &= rest - 1) position[std::countr_zero(rest)] = positions++;
    for (size_t k = 0; k < list.size; ++k)
      visit(list.weights[k], [&, mask = list.masks[k] & items](auto item) {
        for (uint64_t rest = mask; rest != 0; rest &= rest - 1) item(static_cast<size_t>(position[std::countr_zero(rest)]));
      });
  };
}

template <ItemNumber Item>
auto transactions_of(const TransactionLists<Item>& lists) {
  return [&lists](auto visit) {
    for (const MergedTransaction& t : lists.transactions())
      visit(t.weight, [items = lists.data() + t.begin, length = t.length](auto item) {
        for (uint32_t k = 0; k < length; ++k) item(index_of(items[k]));
      });
  };
}

}  // namespace

WeightedBits::WeightedBits(const SearchRoot& root, const AndPopcountKernel& kernel, const ExecutionOptions& options)
    : kernel_(kernel) {
  if (root.as_masks)
    fill(root.items.size(), transactions_of(root.masks.list(0, root.masks.size()), ~uint64_t{0}), options);
  else
    fill(root.items.size(), transactions_of(root.lists), options);
}

WeightedBits::WeightedBits(const WeightedMasks& list, uint64_t items, const AndPopcountKernel& kernel,
                           const ExecutionOptions& options)
    : kernel_(kernel) {
  fill(static_cast<size_t>(std::popcount(items)), transactions_of(list, items), options);
}

template <ItemNumber Item>
WeightedBits::WeightedBits(const TransactionLists<Item>& lists, size_t items, const AndPopcountKernel& kernel,
                           const ExecutionOptions& options)
    : kernel_(kernel) {
  fill(items, transactions_of(lists), options);
}

template WeightedBits::WeightedBits(const TransactionLists<RootItem>&, size_t, const AndPopcountKernel&,
                                    const ExecutionOptions&);
template WeightedBits::WeightedBits(const TransactionLists<NodeItem>&, size_t, const AndPopcountKernel&,
                                    const ExecutionOptions&);

template <typename Transactions>
void WeightedBits::fill(size_t items, Transactions visit_transactions, const ExecutionOptions& options) {
  items_ = items;
  size_t columns[32] = {};
  visit_transactions([&](uint32_t weight, auto) {
    for (uint32_t rest = weight; rest != 0; rest &= rest - 1) ++columns[std::countr_zero(rest)];
  });
  size_t next[32] = {};  // next column of each bit of the weights
  for (int shift = 0; shift < 32; ++shift) {
    if (columns[shift] == 0) continue;
    const size_t words = (columns[shift] + 511) / 512 * 8;
    next[shift] = words_ * 64;
    planes_.push_back({words_, words, shift});
    words_ += words;
  }
  bits_ = Buffer<uint64_t>(*options.memory, items * words_, Fill::kZero);
  Poll poll(options.cancel);
  visit_transactions([&](uint32_t weight, auto for_each_item) {
    for (uint32_t rest = weight; rest != 0; rest &= rest - 1) {
      const size_t column = next[std::countr_zero(rest)]++;
      uint64_t* const word = bits_.data() + column / 64;
      for_each_item([&](size_t item) { word[item * words_] |= uint64_t{1} << (column % 64); });
      poll.after(64);
    }
  });
}

void WeightedBits::count(const uint64_t* row, const uint64_t* others, size_t count, uint32_t* supports) {
  std::fill_n(supports, count, 0u);
  if (counts_.size() < count) counts_.resize(count);
  for (const Plane& plane : planes_) {
    std::fill_n(counts_.begin(), count, 0u);
    kernel_.count({.rows = row + plane.first,
                   .row_stride = words_,
                   .row_count = 1,
                   .columns = others + plane.first,
                   .column_stride = words_,
                   .column_count = count,
                   .words = plane.words,
                   .counts = counts_.data(),
                   .count_stride = count});
    for (size_t k = 0; k < count; ++k) supports[k] += counts_[k] << plane.shift;
  }
}

void count_mask_pairs(const WeightedMasks& list, uint64_t items, const AndPopcountKernel& kernel,
                      const ExecutionOptions& options, Poll& poll, uint32_t* pairs) {
  uint64_t occurrences = 0;
  if (list.size >= kMasksFrom)
    for (size_t k = 0; k < list.size; ++k) occurrences += static_cast<uint64_t>(std::popcount(list.masks[k]));
  if (occurrences > kItemsFrom * list.size) {
    WeightedBits bits(list, items, kernel, options);
    uint32_t supports[kMaskItems];
    size_t position = 0;
    auto behind = static_cast<size_t>(std::popcount(items));
    for (uint64_t rest = items; --behind > 0; ++position) {
      uint32_t* const row = pairs + static_cast<size_t>(std::countr_zero(rest)) * kMaskItems;
      rest &= rest - 1;
      bits.count(bits.row(position), bits.row(position + 1), behind, supports);
      const uint32_t* support = supports;
      for (uint64_t later = rest; later != 0; later &= later - 1) row[std::countr_zero(later)] = *support++;
      poll.after(behind * bits.words());
    }
    return;
  }
  for (size_t k = 0; k < list.size; ++k) {
    const uint32_t weight = list.weights[k];
    for (uint64_t rest = list.masks[k]; rest != 0;) {
      uint32_t* const row = pairs + static_cast<size_t>(std::countr_zero(rest)) * kMaskItems;
      rest &= rest - 1;
      for (uint64_t later = rest; later != 0; later &= later - 1) row[std::countr_zero(later)] += weight;
    }
    poll.after(64);
  }
}

}  // namespace batmap
