// Groups rows and adds up products. See pair_sums.h.
#include "pairs/pair_sums.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "relation/key_codes.h"

namespace batmap {

namespace {

constexpr uint64_t kSumsPollEvery = 1 << 16;  // rows between two polls of the token
constexpr size_t kSumsAhead = 16;             // occurrences between prefetch and use
constexpr WideSum kLargestSum = WideSum{1} << 126;

uint64_t absolute(int64_t value) {
  return value < 0 ? uint64_t{0} - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
}

[[noreturn]] void refuse_sum() { throw Error(ErrorCode::kTooLarge, "a sum of products is too large"); }

/// Codes of some keys; new keys get new codes.
template <typename Key>
KeyCodes codes_of(MemoryMeter& meter, size_t rows, Key key) {
  int64_t least = INT64_MAX;
  int64_t largest = INT64_MIN;
  for (size_t row = 0; row < rows; ++row) {
    least = std::min(least, key(row));
    largest = std::max(largest, key(row));
  }
  if (rows == 0) least = largest = 0;
  return KeyCodes(meter, least, static_cast<uint64_t>(largest) - static_cast<uint64_t>(least), rows);
}

uint32_t code_of(KeyCodes& codes, int64_t key) { return codes.direct() ? codes.find(key) : codes.insert(key); }

}  // namespace

void FactorRows::append(int64_t tid, int64_t item, const int64_t* factors) {
  if (keys_.size() == UINT32_MAX) throw Error(ErrorCode::kTooLarge, "more than 2^32 - 2 rows");
  int64_t* const values = values_.room(factors_);
  for (size_t k = 0; k < factors_; ++k) {
    values[k] = factors[k];
    largest_[k] = std::max(largest_[k], absolute(factors[k]));
  }
  keys_.push_back({tid, item});
  values_.add(factors_);
}

PairSums::PairSums(FactorRows& left, FactorRows* right, const SumsQuery& query, const ExecutionOptions& options)
    : query_(query), options_(options), products_(query.products.size()), self_join_(right == nullptr) {
  MemoryMeter& meter = *options.memory;
  record_.method = "horizontal";
  record_.reason = "values are added up";
  check(left, self_join_ ? left : *right);
  const size_t left_rows = left.size();
  const size_t rows = left_rows + (self_join_ ? 0 : right->size());
  const auto tid = [&](size_t row) { return row < left_rows ? left.keys_[row].tid : right->keys_[row - left_rows].tid; };
  KeyCodes codes = codes_of(meter, rows, tid);
  Codes transactions[2] = {Codes(meter, left_rows), Codes(meter, rows - left_rows)};
  for (size_t row = 0; row < rows; ++row) {
    if (row % kSumsPollEvery == 0) options_.cancel.throw_if_requested();
    (row < left_rows ? transactions[0][row] : transactions[1][row - left_rows]) = code_of(codes, tid(row));
  }
  transactions_ = static_cast<uint32_t>(codes.size());
  left_ = group(left, transactions[0], query.item_rank);
  if (!self_join_) right_ = group(*right, transactions[1], {});
  bound();
  link();
  const size_t columns = this->right().values.size();
  if (wide_)
    wide_sums_ = Buffer<WideSum>(meter, columns * products_);
  else
    narrow_sums_ = Buffer<int64_t>(meter, columns * products_);
  touched_ = Buffer<uint32_t>(meter, columns);
  last_ = Buffer<uint32_t>(meter, columns, Fill::kZero);
  sums_ = Buffer<WideSum>(meter, kBatchRows * products_);
}

/// The position of a factor in the rows, by its position in merged rows.
size_t PairSums::factor_of(const FactorRows& rows, size_t k) const {
  return query_.products[k % products_].factor + (k < products_ ? 0 : rows.factors_ / 2);
}

/// Products of two rows must not be above their limits.
void PairSums::check(const FactorRows& left, const FactorRows& right) {
  for (size_t k = 0; k < products_; ++k) {
    if (query_.products[k].limit == UINT64_MAX) continue;
    const uint64_t largest = right.largest_[factor_of(right, self_join_ ? products_ + k : k)];
    const auto product = static_cast<unsigned __int128>(left.largest_[factor_of(left, k)]) * largest;
    if (product > query_.products[k].limit) refuse_sum();
  }
}

/// Sorts the rows by transaction and rank, and merges them.
PairSums::Side PairSums::group(FactorRows& rows, const Codes& transactions, std::span<const uint32_t> item_rank) const {
  MemoryMeter& meter = *options_.memory;
  const size_t size = rows.size();
  const size_t factors = self_join_ ? 2 * products_ : products_;
  std::vector<size_t> of_row(factors);
  for (size_t k = 0; k < factors; ++k) of_row[k] = factor_of(rows, k);
  Side side;
  // Ranks of items: in the order of their values.
  KeyCodes codes = codes_of(meter, size, [&](size_t row) { return rows.keys_[row].item; });
  Buffer<uint32_t> ranks(meter, size);
  {
    for (size_t row = 0; row < size; ++row) ranks[row] = code_of(codes, rows.keys_[row].item);
    const auto value = [&](uint32_t code) {
      return item_rank.empty() ? codes.key(code) : int64_t{item_rank[static_cast<size_t>(codes.key(code))]};
    };
    Buffer<uint32_t> used(meter, codes.size(), Fill::kZero);
    for (size_t row = 0; row < size; ++row) used[ranks[row]] = 1;
    Buffer<uint32_t> sorted(meter, codes.size());
    uint32_t items = 0;
    for (uint32_t code = 0; code < codes.size(); ++code)
      if (used[code] != 0) sorted[items++] = code;
    if (!codes.direct() || !item_rank.empty())
      std::sort(sorted.begin(), sorted.begin() + items, [&](uint32_t a, uint32_t b) { return value(a) < value(b); });
    side.values = Buffer<int64_t>(meter, items);
    for (uint32_t rank = 0; rank < items; ++rank) {
      side.values[rank] = value(sorted[rank]);
      used[sorted[rank]] = rank;
    }
    for (size_t row = 0; row < size; ++row) ranks[row] = used[ranks[row]];
  }
  options_.cancel.throw_if_requested();
  // Rows by transaction.
  side.begin = Buffer<uint64_t>(meter, size_t{transactions_} + 1, Fill::kZero);
  Buffer<uint64_t> at(meter, size_t{transactions_} + 1, Fill::kZero);
  for (size_t row = 0; row < size; ++row) ++at[transactions[row] + 1];
  for (size_t code = 0; code < transactions_; ++code) at[code + 1] += at[code];
  Buffer<uint32_t> order(meter, size);
  for (size_t row = 0; row < size; ++row) order[at[transactions[row]]++] = static_cast<uint32_t>(row);
  // Merge.
  side.items = Buffer<uint32_t>(meter, size);
  side.factors = Buffer<int64_t>(meter, size * products_);
  if (self_join_) side.right_factors = Buffer<int64_t>(meter, size * products_);
  int64_t* const merged[] = {side.factors.data(), side.right_factors.data()};
  const auto factor = [&](uint64_t row, size_t k) -> int64_t& {
    return merged[k >= products_][row * products_ + k % products_];
  };
  uint64_t to = 0;
  uint64_t from = 0;
  for (size_t code = 0; code < transactions_; ++code) {
    if (code % 4096 == 0) options_.cancel.throw_if_requested();
    const uint64_t first = to;
    std::sort(order.begin() + from, order.begin() + at[code], [&](uint32_t a, uint32_t b) { return ranks[a] < ranks[b]; });
    for (; from < at[code]; ++from) {
      const uint32_t row = order[from];
      const int64_t* const values = rows.values_.begin() + row * rows.factors_;
      if (to == first || side.items[to - 1] != ranks[row]) {
        side.items[to] = ranks[row];
        for (size_t k = 0; k < factors; ++k) factor(to, k) = values[of_row[k]];
        ++to;
        continue;
      }
      for (size_t k = 0; k < factors; ++k) {
        if (query_.products[k % products_].counts_transactions) continue;
        int64_t& sum = factor(to - 1, k);
        if (__builtin_add_overflow(sum, values[of_row[k]], &sum) || sum == INT64_MIN) refuse_sum();
      }
    }
    side.begin[code + 1] = to;
  }
  rows.keys_.reset();
  rows.values_.reset();
  number_items(side);
  return side;
}

void PairSums::number_items(Side& side) const {
  MemoryMeter& meter = *options_.memory;
  const size_t items = side.values.size();
  const uint64_t rows = side.begin[transactions_];
  Buffer<uint64_t> frequency(meter, items, Fill::kZero);
  for (uint64_t row = 0; row < rows; ++row) ++frequency[side.items[row]];
  Buffer<uint32_t> sorted(meter, items);
  for (size_t rank = 0; rank < items; ++rank) sorted[rank] = static_cast<uint32_t>(rank);
  std::stable_sort(sorted.begin(), sorted.end(), [&](uint32_t a, uint32_t b) { return frequency[a] > frequency[b]; });
  Buffer<uint32_t> number(meter, items);
  Buffer<int64_t> values(meter, items);
  for (size_t k = 0; k < items; ++k) {
    number[sorted[k]] = static_cast<uint32_t>(k);
    values[k] = side.values[sorted[k]];
  }
  for (uint64_t row = 0; row < rows; ++row) side.items[row] = number[side.items[row]];
  side.values = std::move(values);
}

/// Finds out how wide sums must be.
void PairSums::bound() {
  for (size_t k = 0; k < products_; ++k) {
    WideSum sum = 0;
    for (size_t code = 0; code < transactions_; ++code) {
      const auto total = [&](const Side& side, std::span<const int64_t> factors) {
        WideSum absolutes = 0;
        for (uint64_t row = side.begin[code]; row < side.begin[code + 1]; ++row)
          absolutes += absolute(factors[row * products_ + k]);
        return absolutes;
      };
      WideSum product;
      if (__builtin_mul_overflow(total(left_, left_.factors.span()), total(right(), right_factors()), &product) ||
          __builtin_add_overflow(sum, product, &sum) || sum > kLargestSum)
        refuse_sum();
    }
    wide_ |= sum > INT64_MAX;
  }
}

/// Collects the merged rows of each item of the left.
void PairSums::link() {
  MemoryMeter& meter = *options_.memory;
  begin_ = Buffer<uint64_t>(meter, left_.values.size() + 2, Fill::kZero);
  const auto each = [&](auto visit) {
    for (uint32_t code = 0; code < transactions_; ++code) {
      if (right().begin[code] == right().begin[code + 1]) continue;
      const auto begin = static_cast<uint32_t>(right().begin[code]);
      const auto end = static_cast<uint32_t>(right().begin[code + 1]);
      for (uint64_t row = left_.begin[code]; row < left_.begin[code + 1]; ++row)
        visit(Occurrence{static_cast<uint32_t>(row), begin, end});
    }
  };
  each([&](const Occurrence& own) {
    ++begin_[left_.items[own.row] + 2];
    each_range(own, [&](uint32_t from, uint32_t to) { record_.pair_instances += to - from; });
  });
  for (size_t item = 2; item < begin_.size(); ++item) begin_[item] += begin_[item - 1];
  occurrences_ = Buffer<Occurrence>(meter, begin_[begin_.size() - 1]);
  each([&](const Occurrence& own) { occurrences_[begin_[left_.items[own.row] + 1]++] = own; });
  for (size_t code = 0; code < transactions_; ++code)
    record_.transactions += left_.begin[code] < left_.begin[code + 1] && right().begin[code] < right().begin[code + 1];
  record_.items = record_.items_kept = left_.values.size() + (self_join_ ? 0 : right_.values.size());
  record_.occurrences = left_.begin[transactions_] + (self_join_ ? 0 : right_.begin[transactions_]);
}

/// The partners of a merged row: ranges of merged rows of the right.
template <typename Visit>
void PairSums::each_range(const Occurrence& own, Visit visit) const {
  switch (query_.condition) {
    case PairCondition::kNone: return visit(own.begin, own.end);
    case PairCondition::kLess: return visit(own.row + 1, own.end);
    case PairCondition::kLessEqual: return visit(own.row, own.end);
    case PairCondition::kGreater: return visit(own.begin, own.row);
    case PairCondition::kGreaterEqual: return visit(own.begin, own.row + 1);
    case PairCondition::kNotEqual: visit(own.begin, own.row); return visit(own.row + 1, own.end);
  }
}

template <typename Sum>
void PairSums::add_item(uint32_t item, Buffer<Sum>& sums) {
  switch (products_) {
    case 1: return add_products<1>(item, sums.data());
    case 2: return add_products<2>(item, sums.data());
    case 3: return add_products<3>(item, sums.data());
    default: return add_products<0>(item, sums.data());
  }
}

/// @tparam kProducts  their number; 0: any
template <size_t kProducts, typename Sum>
void PairSums::add_products(uint32_t item, Sum* sums) {
  const size_t products = kProducts > 0 ? kProducts : products_;
  const uint32_t* const columns = right().items.data();
  const int64_t* const left_factors = left_.factors.data();
  const int64_t* const right_factors = this->right_factors().data();
  uint32_t* const last = last_.data();
  uint32_t* touched = touched_.data() + touched_size_;
  const uint32_t mark = item + 1;
  const uint64_t ends = begin_[item + 1];
  for (uint64_t at = begin_[item]; at < ends; ++at) {
    if (at + kSumsAhead < ends) {
      const Occurrence& later = occurrences_[at + kSumsAhead];
      __builtin_prefetch(left_factors + later.row * products);
      each_range(later, [&](uint32_t from, uint32_t) {
        __builtin_prefetch(columns + from);
        __builtin_prefetch(right_factors + from * products);
      });
    }
    const Occurrence& own = occurrences_[at];
    const int64_t* const left = left_factors + own.row * products;
    each_range(own, [&](uint32_t from, uint32_t to) {
      unpolled_ += to - from + 1;
      for (size_t row = from; row < to; ++row) {
        const uint32_t column = columns[row];
        const int64_t* const right = right_factors + row * products;
        Sum* const sum = sums + column * products;
        if (last[column] == mark) {
          for (size_t k = 0; k < products; ++k) sum[k] += Sum{left[k]} * right[k];
        } else {
          last[column] = mark;
          *touched++ = column;
          for (size_t k = 0; k < products; ++k) sum[k] = Sum{left[k]} * right[k];
        }
      }
    });
    if (unpolled_ < kSumsPollEvery) continue;
    unpolled_ = 0;
    options_.cancel.throw_if_requested();
  }
  touched_size_ = static_cast<size_t>(touched - touched_.data());
}

bool PairSums::next(PairBatch& batch) {
  pairs_.clear();
  const auto items = static_cast<uint32_t>(begin_.size() - 2);
  while (pairs_.size() < kBatchRows) {
    if (handed_over_ == touched_size_) {
      if (next_item_ >= items) break;
      touched_size_ = handed_over_ = 0;
      if (wide_)
        add_item(next_item_++, wide_sums_);
      else
        add_item(next_item_++, narrow_sums_);
    }
    const int64_t item = left_.values[next_item_ - 1];
    for (; handed_over_ < touched_size_ && pairs_.size() < kBatchRows; ++handed_over_) {
      const uint32_t column = touched_[handed_over_];
      if (query_.min_count > 1) {
        const size_t at = column * products_ + query_.count;
        if ((wide_ ? wide_sums_[at] : WideSum{narrow_sums_[at]}) < query_.min_count) continue;
      }
      for (size_t k = 0; k < products_; ++k) {
        const size_t from = column * products_ + k;
        sums_[pairs_.size() * products_ + k] = wide_ ? wide_sums_[from] : WideSum{narrow_sums_[from]};
      }
      pairs_.push_back({item, right().values[column], pairs_.size()});
      ++record_.results;
    }
  }
  batch = PairBatch(pairs_);
  return !pairs_.empty();
}

}  // namespace batmap
