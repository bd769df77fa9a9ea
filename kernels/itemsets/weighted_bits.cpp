// Layout of the columns, and counting plane by plane. See weighted_bits.h.
#include "itemsets/weighted_bits.h"

#include <algorithm>
#include <bit>

#include "itemsets/poll.h"

namespace batmap {

namespace {

/// Calls visit(weight, for_each_item) for every distinct transaction.
template <typename Visit>
void visit_transactions(const SearchRoot& root, Visit visit) {
  if (root.as_masks) {
    const WeightedMasks list = root.masks.list(0, root.masks.size());
    for (size_t k = 0; k < list.size; ++k)
      visit(list.weights[k], [mask = list.masks[k]](auto item) {
        for (uint64_t rest = mask; rest != 0; rest &= rest - 1) item(static_cast<size_t>(std::countr_zero(rest)));
      });
    return;
  }
  for (const TransactionLists::Transaction& t : root.lists.transactions())
    visit(t.weight, [items = root.lists.data() + t.begin, length = t.length](auto item) {
      for (uint32_t k = 0; k < length; ++k) item(items[k]);
    });
}

}  // namespace

WeightedBits::WeightedBits(const SearchRoot& root, const AndPopcountKernel& kernel, const ExecutionOptions& options)
    : kernel_(kernel) {
  size_t columns[32] = {};
  visit_transactions(root, [&](uint32_t weight, auto) {
    for (uint32_t rest = weight; rest != 0; rest &= rest - 1) ++columns[std::countr_zero(rest)];
  });
  size_t next[32] = {};  // column of each weight bit
  for (int shift = 0; shift < 32; ++shift) {
    if (columns[shift] == 0) continue;
    const size_t words = (columns[shift] + 511) / 512 * 8;
    next[shift] = words_ * 64;
    planes_.push_back({words_, words, shift});
    words_ += words;
  }
  bits_ = Buffer<uint64_t>(*options.memory, root.items.size() * words_, Fill::kZero);
  Poll poll(options.cancel);
  visit_transactions(root, [&](uint32_t weight, auto for_each_item) {
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

}  // namespace batmap
