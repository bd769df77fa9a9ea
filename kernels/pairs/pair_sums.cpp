// Groups rows and adds up products. See pair_sums.h.
#include "pairs/pair_sums.h"

#include <cassert>
#include <functional>
#include <limits>
#include <utility>

#include "core/error.h"
#include "core/poll.h"
#include "core/polled.h"
#include "core/stopwatch.h"
#include "relation/encoded_relation.h"
#include "relation/key_codes.h"

namespace batmap {

namespace {

constexpr uint64_t kSumsPollEvery = 1 << 16;  // rows between two polls of the token
constexpr size_t kSumsAhead = 16;             // occurrences between prefetch and use
constexpr uint64_t kTaskSums = 1 << 18;       // pairs of merged rows of a task: about a millisecond
constexpr size_t kTasksWaiting = 2;           // results for each thread that may wait
constexpr uint32_t kDroppedItem = UINT32_MAX;
constexpr WideSum kLargestSum = WideSum{1} << 126;

uint64_t absolute(int64_t value) {
  return value < 0 ? uint64_t{0} - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
}

[[noreturn]] void refuse_sum() { throw Error(ErrorCode::kTooLarge, "a sum of products is too large"); }

/// Multiplies what is not negative. @return the largest value if that is less than the product
WideSum saturating(WideSum a, WideSum b) {
  WideSum product;
  return __builtin_mul_overflow(a, b, &product) ? ~(WideSum{1} << 127) : product;
}

}  // namespace

// ---- rows

/// A number that narrow_ cannot take, at least not yet.
void FactorRows::Column::push_other(int64_t value) {
  const auto is_narrow = [](int64_t number) { return number == static_cast<int32_t>(number); };
  if (form_ == Form::kOne) {
    if (size_ == 0) return;
    if (is_narrow(value) && is_narrow(least_)) {
      std::fill_n(narrow_.room(size_ + 1), size_, static_cast<int32_t>(least_));
      narrow_.add(size_);
      narrow_.push_back(static_cast<int32_t>(value));
      form_ = Form::kNarrow;
      return;
    }
  }
  if (form_ != Form::kWide) {
    int64_t* const to = wide_.room(size_ + 1);
    for (size_t row = 0; row < size_; ++row) to[row] = (*this)[row];
    wide_.add(size_);
    narrow_.reset();
    form_ = Form::kWide;
  }
  wide_.push_back(value);
}

void FactorRows::refuse_row() { throw Error(ErrorCode::kTooLarge, "more than 2^32 - 2 rows"); }

void FactorRows::reset() {
  tids_.reset();
  items_.reset();
  for (Column& column : factors_) column.reset();
}

// ---- grouping

PairSums::PairSums(FactorRows& left, FactorRows* right, const SumsQuery& query, const ExecutionOptions& options)
    : query_(query), options_(options), products_(query.products.size()), self_join_(right == nullptr) {
  const Stopwatch watch;
  record_.method = "horizontal";
  record_.reason = "values are added up";
  FactorRows& other = self_join_ ? left : *right;
  find_columns();
  check(left, other);
  const uint64_t rows = left.size() + (self_join_ ? 0 : right->size());
  shares_ = threads_for_rows(rows, options);
  Unmerged sides[2] = {{&left, {}, {}, {}}, {self_join_ ? nullptr : right, {}, {}, {}}};
  sort_by_transaction(sides);
  wide_ = !sums_are_narrow(left, other);
  narrow_words_ = !wide_ && columns_are_narrow(left, left_) && columns_are_narrow(other, this->right());
  if (narrow_words_)
    group<int32_t>(sides);
  else
    group<int64_t>(sides);
  record_.group_ms = watch.milliseconds();
}

/// What merged rows have: each factor once.
void PairSums::find_columns() {
  assert(!query_.products.empty() && query_.count < query_.products.size());
  for (const SumsQuery::Product& product : query_.products) {
    for (int side = 0; side < 2; ++side) {
      std::vector<MergedColumn>& columns = side == 0 ? left_.columns : right().columns;
      const MergedColumn column{side == 0 ? product.left : product.right, product.counts_transactions};
      const auto at = std::find(columns.begin(), columns.end(), column);
      factors_[side].push_back(1 + static_cast<size_t>(at - columns.begin()));
      if (at == columns.end()) columns.push_back(column);
    }
  }
}

namespace {

/// The largest absolute value of a factor.
template <typename Columns>
uint64_t largest_of(const Columns& factors, size_t factor) {
  if (factor == SumsQuery::kOne) return 1;
  return std::max(absolute(factors[factor].least()), absolute(factors[factor].largest()));
}

}  // namespace

/// Products of two rows must not be above their limits.
void PairSums::check(const FactorRows& left, const FactorRows& right) const {
  for (const SumsQuery::Product& product : query_.products) {
    assert(product.left == SumsQuery::kOne || product.left < left.factors_.size());
    assert(product.right == SumsQuery::kOne || product.right < right.factors_.size());
    if (product.limit == UINT64_MAX) continue;
    const auto largest =
        static_cast<unsigned __int128>(largest_of(left.factors_, product.left)) * largest_of(right.factors_, product.right);
    if (largest > product.limit) refuse_sum();
  }
}

/// Is it clear without a look at each transaction that 64 bits suffice for the sums?
bool PairSums::sums_are_narrow(const FactorRows& left, const FactorRows& right) const {
  const WideSum joined = WideSum{left.size()} * this->right().most_of_tid;
  return std::all_of(query_.products.begin(), query_.products.end(), [&](const SumsQuery::Product& product) {
    const WideSum largest = WideSum{largest_of(left.factors_, product.left)} * largest_of(right.factors_, product.right);
    return saturating(joined, largest) <= INT64_MAX;
  });
}

/// The same for 32 bits and merged factors.
bool PairSums::columns_are_narrow(const FactorRows& rows, const Side& side) {
  return std::all_of(side.columns.begin(), side.columns.end(), [&](const MergedColumn& column) {
    return saturating(side.most_of_tid, largest_of(rows.factors_, column.factor)) <= INT32_MAX;
  });
}

namespace {

/// Codes of the keys of a column, or of two.
/// @param key  of a row
template <typename Column, typename Key>
KeyCodes codes_of(const Column& a, const Column& b, size_t rows, Buffer<uint32_t>& codes, const ExecutionOptions& options,
                  Key key) {
  const int64_t least = std::min(a.least(), b.least());
  const int64_t largest = std::max(a.largest(), b.largest());
  KeyCodes found(options, least, static_cast<uint64_t>(largest) - static_cast<uint64_t>(least), rows);
  codes = Buffer<uint32_t>(*options.memory, rows);
  in_parts(rows, options.cancel, [&](size_t begin, size_t end) {
    if (found.direct())
      for (size_t row = begin; row < end; ++row)
        codes[row] = static_cast<uint32_t>(static_cast<uint64_t>(key(row)) - static_cast<uint64_t>(least));
    else
      for (size_t row = begin; row < end; ++row) codes[row] = found.insert(key(row));
  });
  return found;
}

}  // namespace

/// Finds the rows of each transaction, and the ranks of the items: in the order of their values.
void PairSums::sort_by_transaction(Unmerged (&sides)[2]) {
  MemoryMeter& meter = *options_.memory;
  const auto sort = [&] {
    const FactorRows& left = *sides[0].rows;
    const FactorRows& right = self_join_ ? left : *sides[1].rows;
    const size_t left_rows = left.size();
    const size_t rows = left_rows + (self_join_ ? 0 : right.size());
    Buffer<uint32_t> codes;
    // No rows have no smallest key.
    const FactorRows& one = left_rows > 0 ? left : right;
    const FactorRows& two = right.size() > 0 ? right : one;
    transactions_ = codes_of(one.tids_, two.tids_, rows, codes, options_, [&](size_t row) {
                      return row < left_rows ? left.tids_[row] : right.tids_[row - left_rows];
                    }).size();
    for (int number = 0; number < (self_join_ ? 1 : 2); ++number) {
      Side& side = number == 0 ? left_ : right_;
      const std::span<const uint32_t> own = codes.span().subspan(number == 0 ? 0 : left_rows, sides[number].rows->size());
      side.begin = Buffer<uint32_t>(meter, transactions_ + 1, Fill::kZero);
      // Counts, then where the next row of a transaction goes; in the end, where those of the next transaction begin.
      uint32_t* const at = side.begin.data() + 1;
      in_parts(own.size(), options_.cancel, [&](size_t begin, size_t end) {
        for (const uint32_t code : own.subspan(begin, end - begin)) ++at[code];
      });
      uint32_t before = 0;
      for (size_t code = 0; code < transactions_; ++code) {
        side.most_of_tid = std::max<uint64_t>(side.most_of_tid, at[code]);
        before += std::exchange(at[code], before);
      }
      options_.cancel.throw_if_requested();
      sides[number].order = Buffer<uint32_t>(meter, own.size());
      in_parts(own.size(), options_.cancel, [&](size_t begin, size_t end) {
        for (size_t row = begin; row < end; ++row) sides[number].order[at[own[row]]++] = static_cast<uint32_t>(row);
      });
    }
  };
  ExecutionOptions few = options_;
  if (shares_ == 1) few.threads = 1;
  parallel_for(few, self_join_ ? 2 : 3, [&](size_t task, int) {
    if (task == 0)
      sort();
    else
      rank_items(sides[task - 1], task == 1 ? left_ : right_, task == 1 ? query_.item_rank : std::span<const uint32_t>());
  });
}

void PairSums::rank_items(Unmerged& from, Side& side, std::span<const uint32_t> item_rank) const {
  MemoryMeter& meter = *options_.memory;
  const FactorRows::Column& items = from.rows->items_;
  const KeyCodes codes =
      codes_of(items, items, from.rows->size(), from.items, options_, [&](size_t row) { return items[row]; });
  const auto value = [&](uint32_t code) {
    return item_rank.empty() ? codes.key(code) : int64_t{item_rank[static_cast<size_t>(codes.key(code))]};
  };
  from.ranks = Buffer<uint32_t>(meter, codes.size(), Fill::kZero);
  for (const uint32_t code : from.items) from.ranks[code] = 1;
  Buffer<uint32_t> sorted(meter, codes.size());
  uint32_t ranks = 0;
  for (uint32_t code = 0; code < codes.size(); ++code)
    if (from.ranks[code] != 0) sorted[ranks++] = code;
  if (!codes.direct() || !item_rank.empty())
    std::sort(sorted.begin(), sorted.begin() + ranks,
              polled(options_.cancel, [&](uint32_t a, uint32_t b) { return value(a) < value(b); }));
  side.values = Buffer<int64_t>(meter, ranks);
  side.rows = Buffer<uint64_t>(meter, ranks, Fill::kZero);
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    side.values[rank] = value(sorted[rank]);
    from.ranks[sorted[rank]] = rank;
  }
}

/// The first transaction of a share. Shares have about as many rows.
size_t PairSums::first_of_share(size_t share) const {
  if (share == shares_) return transactions_;
  const Side& larger = right().begin[transactions_] > left_.begin[transactions_] ? right() : left_;
  const auto row = static_cast<uint32_t>(uint64_t{larger.begin[transactions_]} * share / shares_);
  return static_cast<size_t>(std::lower_bound(larger.begin.begin(), larger.begin.end() - 1, row) - larger.begin.begin());
}

template <typename Word>
void PairSums::group(Unmerged (&sides)[2]) {
  MemoryMeter& meter = *options_.memory;
  for (int number = 0; number < (self_join_ ? 1 : 2); ++number) {
    Side& side = number == 0 ? left_ : right_;
    const size_t size = sides[number].rows->size();
    words<Word>(side) = Buffer<Word>(meter, size * side.width());
    side.end = Buffer<uint32_t>(meter, transactions_);
    std::vector<Buffer<uint64_t>> rows;  // [shares - 1] for all shares but the first
    for (size_t share = 1; share < shares_; ++share) rows.emplace_back(meter, side.rows.size(), Fill::kZero);
    std::vector<uint64_t> most(shares_);
    parallel_for(options_, shares_, [&](size_t share, int) {
      most[share] = merge<Word>(sides[number], side, share, share == 0 ? side.rows : rows[share - 1]);
    });
    side.most_of_item = *std::max_element(most.begin(), most.end());
    for (const Buffer<uint64_t>& more : rows)
      for (size_t rank = 0; rank < more.size(); ++rank) side.rows[rank] += more[rank];
    sides[number].rows->reset();
    sides[number] = {};
  }
  number_items(left_);
  if (!self_join_) number_items(right_);
  link<Word>();
}

/// Sorts the rows of a share by transaction and rank, and merges them.
/// @param rows  [ranks] merged rows are added @return the most rows that were merged into one
template <typename Word>
uint64_t PairSums::merge(const Unmerged& from, Side& side, size_t share, Buffer<uint64_t>& rows) {
  const size_t width = side.width();
  Word* const words = PairSums::words<Word>(side).data();
  Buffer<uint64_t> sorted(*options_.memory, side.most_of_tid);  // rank, row
  const size_t last = first_of_share(share + 1);
  uint64_t most = 0;
  Poll poll(options_.cancel);
  for (size_t code = first_of_share(share); code < last; ++code) {
    const uint32_t begin = side.begin[code];
    const uint32_t size = side.begin[code + 1] - begin;
    poll.after(size + 1);
    bool is_sorted = true;
    for (uint32_t k = 0; k < size; ++k) {
      const uint32_t row = from.order[begin + k];
      sorted[k] = uint64_t{from.ranks[from.items[row]]} << 32 | row;
      is_sorted &= k == 0 || sorted[k - 1] < sorted[k];
    }
    if (!is_sorted) std::sort(sorted.begin(), sorted.begin() + size, polled(options_.cancel, std::less<uint64_t>()));
    Word* to = words + size_t{begin} * width;
    uint64_t merged = 0;
    uint64_t rank = UINT64_MAX;
    for (uint32_t k = 0; k < size; ++k) {
      const auto row = static_cast<uint32_t>(sorted[k]);
      const auto factor = [&](const MergedColumn& column) {
        return column.factor == SumsQuery::kOne ? 1 : from.rows->factors_[column.factor][row];
      };
      if (const uint64_t own = sorted[k] >> 32; own != rank) {
        rank = own;
        merged = 1;
        ++rows[rank];
        *to++ = static_cast<Word>(rank);
        for (const MergedColumn& column : side.columns) *to++ = static_cast<Word>(factor(column));
      } else {
        ++merged;
        Word* sum = to - side.columns.size();
        for (const MergedColumn& column : side.columns) {
          if (!column.counts_transactions &&
              (__builtin_add_overflow(*sum, factor(column), sum) || *sum == std::numeric_limits<int64_t>::min()))
            refuse_sum();
          ++sum;
        }
      }
      most = std::max(most, merged);
    }
    side.end[code] = static_cast<uint32_t>(static_cast<size_t>(to - words) / width);
  }
  return most;
}

/// Numbers the items whose pairs may reach the threshold.
void PairSums::number_items(Side& side) const {
  MemoryMeter& meter = *options_.memory;
  const size_t ranks = side.values.size();
  const bool may_drop = query_.min_count > 1 && query_.products[query_.count].counts_rows();
  const WideSum most = WideSum{left_.most_of_item} * right().most_of_item;  // rows of a pair in a transaction
  Buffer<uint32_t> sorted(meter, ranks);
  uint32_t kept = 0;
  side.number = Buffer<uint32_t>(meter, ranks);
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    side.number[rank] = kDroppedItem;
    if (!may_drop || saturating(side.rows[rank], most) >= query_.min_count) sorted[kept++] = rank;
  }
  std::sort(sorted.begin(), sorted.begin() + kept, polled(options_.cancel, [&](uint32_t a, uint32_t b) {
              return side.rows[a] != side.rows[b] ? side.rows[a] > side.rows[b] : a < b;
            }));
  Buffer<int64_t> values(meter, kept);
  for (uint32_t k = 0; k < kept; ++k) {
    side.number[sorted[k]] = k;
    values[k] = side.values[sorted[k]];
  }
  side.values = std::move(values);
}

/// Puts numbers in place of ranks in a transaction, and leaves out the items that have none.
template <typename Word>
void PairSums::keep_numbered(Side& side, size_t code) {
  const size_t width = side.width();
  Word* const words = PairSums::words<Word>(side).data();
  uint32_t to = side.begin[code];
  for (uint32_t row = to; row < side.end[code]; ++row) {
    const Word* const own = words + size_t{row} * width;
    const uint32_t number = side.number[static_cast<uint32_t>(own[0])];
    if (number == kDroppedItem) continue;
    Word* const kept = words + size_t{to++} * width;
    kept[0] = static_cast<Word>(number);
    for (size_t k = 1; k < width; ++k) kept[k] = own[k];
  }
  side.end[code] = to;
}

/// Calls visit(item, occurrence) for the merged rows of a transaction that have partners, maybe twice for a row.
template <typename Word, typename Visit>
void PairSums::each_occurrence(size_t code, Visit visit) const {
  const uint32_t begin = right().begin[code];
  const uint32_t end = right().end[code];
  const Word* const items = words<Word>(left_).data();
  for (uint32_t row = left_.begin[code]; row < left_.end[code]; ++row) {
    const auto partners = [&](uint32_t from, uint32_t to) {
      if (from < to) visit(static_cast<uint32_t>(items[size_t{row} * left_.width()]), Occurrence{row, from, to});
    };
    switch (query_.condition) {
      case PairCondition::kNone: partners(begin, end); break;
      case PairCondition::kLess: partners(row + 1, end); break;
      case PairCondition::kLessEqual: partners(row, end); break;
      case PairCondition::kGreater: partners(begin, row); break;
      case PairCondition::kGreaterEqual: partners(begin, row + 1); break;
      case PairCondition::kNotEqual:
        partners(begin, row);
        partners(row + 1, end);
        break;
    }
  }
}

/// Collects the occurrences of each item of the left.
template <typename Word>
void PairSums::link() {
  MemoryMeter& meter = *options_.memory;
  record_.items = left_.number.size() + (self_join_ ? 0 : right_.number.size());
  const size_t items = left_.values.size();
  record_.items_kept = items + (self_join_ ? 0 : right_.values.size());
  std::vector<Buffer<ItemShare>> of_item;  // [shares][left items]
  for (size_t share = 0; share < shares_; ++share) of_item.emplace_back(meter, items, Fill::kZero);
  std::vector<RunRecord> records(shares_);
  parallel_for(options_, shares_, [&](size_t share, int) {
    RunRecord& record = records[share];
    ItemShare* const own = of_item[share].data();
    const size_t last = first_of_share(share + 1);
    Poll poll(options_.cancel);
    for (size_t code = first_of_share(share); code < last; ++code) {
      record.transactions += left_.begin[code] < left_.begin[code + 1] && right().begin[code] < right().begin[code + 1];
      keep_numbered<Word>(left_, code);
      if (!self_join_) keep_numbered<Word>(right_, code);
      const uint32_t rows = left_.end[code] - left_.begin[code] + (self_join_ ? 0 : right_.end[code] - right_.begin[code]);
      record.occurrences += rows;
      poll.after(rows + 1);
      each_occurrence<Word>(code, [&](uint32_t item, const Occurrence& found) {
        ++own[item].occurrences;
        own[item].instances += found.end - found.begin;
      });
    }
  });
  for (const RunRecord& record : records) {
    record_.transactions += record.transactions;
    record_.occurrences += record.occurrences;
  }
  begin_ = Buffer<uint64_t>(meter, items + 1);
  Buffer<uint64_t> instances(meter, items, Fill::kZero);
  uint64_t all = 0;
  for (size_t item = 0; item < items; ++item) {
    begin_[item] = all;
    for (size_t share = 0; share < shares_; ++share) {
      instances[item] += of_item[share][item].instances;
      all += of_item[share][item].occurrences;
      of_item[share][item].instances = all;  // from here on: where its occurrences end
    }
    record_.pair_instances += instances[item];
  }
  begin_[items] = all;
  occurrences_ = Buffer<Occurrence>(meter, all);
  parallel_for(options_, shares_, [&](size_t share, int) {
    ItemShare* const own = of_item[share].data();
    const size_t last = first_of_share(share + 1);
    Poll poll(options_.cancel);
    for (size_t code = first_of_share(share); code < last; ++code) {
      poll.after(left_.end[code] - left_.begin[code] + 1);
      each_occurrence<Word>(code, [&](uint32_t item, const Occurrence& found) {
        occurrences_[own[item].instances - own[item].occurrences--] = found;
      });
    }
  });
  of_item.clear();
  if (wide_) bound();
  for (Side* const side : {&left_, &right_}) {
    side->begin.reset();
    side->end.reset();
    side->number.reset();
    side->rows.reset();
  }
  cut_into_tasks(instances);
}

/// Finds out from each transaction how wide sums must be.
void PairSums::bound() {
  wide_ = false;
  for (size_t k = 0; k < products_; ++k) {
    WideSum sum = 0;
    Poll poll(options_.cancel);
    for (size_t code = 0; code < transactions_; ++code) {
      const auto total = [&](const Side& side, size_t column) {
        WideSum absolutes = 0;
        poll.after(side.end[code] - side.begin[code] + 1);
        for (uint32_t row = side.begin[code]; row < side.end[code]; ++row)
          absolutes += absolute(side.wide[size_t{row} * side.width() + column]);
        return absolutes;
      };
      WideSum product;
      if (__builtin_mul_overflow(total(left_, factors_[0][k]), total(right(), factors_[1][k]), &product) ||
          __builtin_add_overflow(sum, product, &sum) || sum > kLargestSum)
        refuse_sum();
    }
    wide_ |= sum > INT64_MAX;
  }
}

// ---- counting

/// Takes all memory that counting needs.
void PairSums::cut_into_tasks(const Buffer<uint64_t>& instances) {
  MemoryMeter& meter = *options_.memory;
  const size_t columns = right().values.size();
  cut_.emplace(static_cast<uint32_t>(instances.size()), kTaskSums, options_.threads, [&](uint32_t item) -> RowCost {
    return {.work = instances[item], .results = std::min<uint64_t>(instances[item], columns)};
  });
  record_.tasks = cut_->size();
  const size_t results = cut_->max_results();
  const size_t sum_bytes = products_ * (wide_ ? sizeof(WideSum) : sizeof(int64_t));
  const size_t scratch_bytes = columns * (sum_bytes + sizeof(uint32_t) + 1);
  const size_t found_bytes = results * (sum_bytes + sizeof(ItemPair));
  // With threads, one result more than may wait is being handed over.
  const auto slots = [](size_t threads) { return threads == 1 ? 1 : threads * kTasksWaiting + 1; };
  const auto bytes = [&](size_t threads) { return threads * scratch_bytes + slots(threads) * found_bytes; };
  size_t threads = std::clamp<size_t>(cut_->size(), 1, static_cast<size_t>(std::max(options_.threads, 1)));
  while (threads > 1 && bytes(threads) > meter.available() / 2) --threads;
  options_.threads = static_cast<int>(threads);
  for (size_t thread = 0; thread < threads; ++thread) {
    Scratch scratch;
    if (wide_)
      scratch.wide = Buffer<WideSum>(meter, columns * products_, Fill::kZero);
    else
      scratch.narrow = Buffer<int64_t>(meter, columns * products_, Fill::kZero);
    scratch.touched = Buffer<uint32_t>(meter, columns + 1);
    scratch.seen = Buffer<uint8_t>(meter, columns, Fill::kZero);
    scratch.left.resize(products_);
    scratch_.push_back(std::move(scratch));
  }
  spare_.reserve(slots(threads));
  for (size_t slot = 0; slot < slots(threads); ++slot) {
    Found found;
    found.pairs = Buffer<ItemPair>(meter, results);
    if (wide_)
      found.wide = Buffer<WideSum>(meter, results * products_);
    else
      found.narrow = Buffer<int64_t>(meter, results * products_);
    spare_.push_back(std::move(found));
  }
}

PairSums::Found PairSums::count(size_t task, int worker) {
  Found found;
  {
    std::lock_guard lock(spare_mutex_);
    found = std::move(spare_.back());
    spare_.pop_back();
  }
  Scratch& scratch = scratch_[static_cast<size_t>(worker)];
  if (wide_)
    count_items<int64_t>(task, scratch, scratch.wide, found.wide, found);
  else if (narrow_words_)
    count_items<int32_t>(task, scratch, scratch.narrow, found.narrow, found);
  else
    count_items<int64_t>(task, scratch, scratch.narrow, found.narrow, found);
  return found;
}

/// @param to  the sums of `found`
template <typename Word, typename Sum>
void PairSums::count_items(size_t task, Scratch& scratch, Buffer<Sum>& sums, Buffer<Sum>& to, Found& found) const {
  const Sum min_count = query_.min_count;
  size_t size = 0;
  for (uint32_t item = cut_->begin(task); item < cut_->end(task); ++item) {
    size_t touched;
    switch (products_) {
      case 1: touched = add_products<1, Word>(item, scratch, sums.data()); break;
      case 2: touched = add_products<2, Word>(item, scratch, sums.data()); break;
      case 3: touched = add_products<3, Word>(item, scratch, sums.data()); break;
      default: touched = add_products<0, Word>(item, scratch, sums.data()); break;
    }
    const int64_t value = left_.values[item];
    for (size_t at = 0; at < touched; ++at) {
      const uint32_t column = scratch.touched[at];
      Sum* const sum = sums.data() + size_t{column} * products_;
      scratch.seen[column] = 0;
      if (min_count <= 1 || sum[query_.count] >= min_count) {
        found.pairs[size] = {value, right().values[column], size};
        for (size_t k = 0; k < products_; ++k) to[size * products_ + k] = sum[k];
        ++size;
      }
      for (size_t k = 0; k < products_; ++k) sum[k] = 0;
    }
  }
  found.size = size;
}

/// Adds up the products of an item of the left. @tparam kProducts  their number; 0: any
/// @return the number of right items that it occurs with
template <size_t kProducts, typename Word, typename Sum>
size_t PairSums::add_products(uint32_t item, Scratch& scratch, Sum* sums) const {
  const size_t products = kProducts > 0 ? kProducts : products_;
  const size_t width = right().width();
  const size_t left_width = left_.width();
  const Word* const left_rows = words<Word>(left_).data();
  const Word* const right_rows = words<Word>(right()).data();
  Sum few[kProducts > 0 ? kProducts : 1];
  size_t few_columns[kProducts > 0 ? kProducts : 1];
  const size_t* columns = factors_[1].data();
  if constexpr (kProducts > 0) {
    std::copy_n(columns, kProducts, few_columns);
    columns = few_columns;
  }
  uint8_t* const seen = scratch.seen.data();
  uint32_t* touched = scratch.touched.data();
  const uint64_t ends = begin_[item + 1];
  for (uint64_t at = begin_[item]; at < ends; ++at) {
    if (at + kSumsAhead < ends) {
      const Occurrence& later = occurrences_[at + kSumsAhead];
      __builtin_prefetch(left_rows + size_t{later.row} * left_width);
      __builtin_prefetch(right_rows + size_t{later.begin} * width);
    }
    const Occurrence own = occurrences_[at];
    const Word* const left_row = left_rows + size_t{own.row} * left_width;
    const auto add = [&](const auto* left) {
      const Word* const end = right_rows + size_t{own.end} * width;
      for (const Word* row = right_rows + size_t{own.begin} * width; row < end; row += width) {
        const auto column = static_cast<uint32_t>(row[0]);
        Sum* const sum = sums + size_t{column} * products;
        for (size_t k = 0; k < products; ++k) sum[k] += static_cast<Sum>(left[k]) * row[columns[k]];
        *touched = column;  // no branch: whether it is a new one is unpredictable
        touched += seen[column] == 0;
        seen[column] = 1;
      }
    };
    if constexpr (kProducts > 0) {
      for (size_t k = 0; k < kProducts; ++k) few[k] = left_row[factors_[0][k]];
      add(few);
    } else {
      for (size_t k = 0; k < products; ++k) scratch.left[k] = left_row[factors_[0][k]];
      add(scratch.left.data());
    }
    scratch.unpolled += own.end - own.begin + 1;
    if (scratch.unpolled < kSumsPollEvery) continue;
    scratch.unpolled = 0;
    options_.cancel.throw_if_requested();
  }
  return static_cast<size_t>(touched - scratch.touched.data());
}

bool PairSums::next(PairBatch& batch) {
  batch = {};
  if (!tasks_)
    tasks_.emplace(options_, cut_->size(), scratch_.size() * kTasksWaiting,
                   [this](size_t task, int worker) { return count(task, worker); });
  if (!found_ || handed_over_ == found_->size) {
    if (found_) {
      std::lock_guard lock(spare_mutex_);
      spare_.push_back(std::move(*found_));
      found_.reset();
    }
    found_ = tasks_->next();
    handed_over_ = 0;
    if (!found_) return false;
    ++record_.tasks_done;
  }
  const size_t size = std::min<size_t>(kBatchRows, found_->size - handed_over_);
  batch = PairBatch(found_->pairs.span().subspan(handed_over_, size));
  handed_over_ += size;
  record_.results += size;
  return true;
}

}  // namespace batmap
