// Sums of products for pairs of items. Rows have a tid, an item and some factors. A row of the left and a row of the
// right with the same tid are a row of the join, which adds, for each of several products, its left factor times its
// right factor to the pair of their items. What SQL computes for
//
//   SELECT a.item, b.item, sum(a.quantity * b.price), count(*) FROM t a JOIN t b USING (tid) GROUP BY 1, 2
//
// Rows of a transaction with one item are merged first: their factors add up, because a sum of products is linear in
// each side. A product may count transactions instead: then the factor of merged rows stays 1. Threads merge, each the
// rows of a range of transactions. Items with too few rows for the threshold are left out. Then items are counted one by
// one in a row of sums, as in weighted_counter.cpp: threads count tasks, which are ranges of items, and results are handed
// over in the order of the tasks. So any number of threads gives the same sequence of pairs.
//
// Sums are exact: in 64 bits, or in 128 where the factors say that 64 may be too few. Rows and merged rows are words of 32
// bits where that suffices. All memory is taken when the run is made: about 28 bytes a row and 12 for each of its factors,
// twice that with words of 64 bits, and for each thread the sums of one item and the results of two tasks. If that is too
// much for all threads, fewer count. Cost: about 3 ns for each pair of merged rows with two products, and 30 ns a row
// (bench/sql/shapes.sh). Source: ours.
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "core/memory.h"
#include "core/options.h"
#include "core/run_record.h"
#include "core/thread_team.h"
#include "pairs/best_pairs.h"
#include "pairs/counters/row_tasks.h"
#include "pairs/grouped_pairs.h"

namespace batmap {

/// Wide enough for each sum.
using WideSum = __int128;

/// The rows of a side, column by column.
class FactorRows {
 public:
  FactorRows(MemoryMeter& meter, size_t factors) : tids_(meter), items_(meter) {
    for (size_t k = 0; k < factors; ++k) factors_.emplace_back(meter);
  }

  /// @param factors  [factors] above INT64_MIN
  /// @throws Error{kMemoryLimit, kTooLarge}, std::bad_alloc; then the rows cannot be used any more
  void append(int64_t tid, int64_t item, const int64_t* factors) {
    if (size_ == kMaxRows) refuse_row();
    tids_.push_back(tid);
    items_.push_back(item);
    for (Column& column : factors_) column.push_back(*factors++);
    ++size_;
  }

  size_t size() const { return size_; }

 private:
  friend class PairSums;
  static constexpr size_t kMaxRows = UINT32_MAX - 1;

  /// Numbers: one while all are equal, then words of 32 bits until one is wider.
  class Column {
   public:
    explicit Column(MemoryMeter& meter) : narrow_(meter), wide_(meter), meter_(&meter) {}

    void push_back(int64_t value) {
      if (form_ == Form::kNarrow && value == static_cast<int32_t>(value))
        narrow_.push_back(static_cast<int32_t>(value));
      else if (form_ != Form::kOne || value != least_)
        push_other(value);
      least_ = std::min(least_, value);
      largest_ = std::max(largest_, value);
      ++size_;
    }
    int64_t operator[](size_t row) const {
      if (form_ == Form::kNarrow) return narrow_[row];
      return form_ == Form::kWide ? wide_[row] : least_;
    }
    int64_t least() const { return size_ == 0 ? 0 : least_; }
    int64_t largest() const { return size_ == 0 ? 0 : largest_; }
    void reset() {
      narrow_.reset();
      wide_.reset();
    }

   private:
    enum class Form { kOne, kNarrow, kWide };
    void push_other(int64_t value);

    Form form_ = Form::kOne;
    GrowingBuffer<int32_t> narrow_;
    GrowingBuffer<int64_t> wide_;
    MemoryMeter* meter_;
    size_t size_ = 0;
    int64_t least_ = INT64_MAX;
    int64_t largest_ = INT64_MIN;
  };

  [[noreturn]] static void refuse_row();
  void reset();

  size_t size_ = 0;
  Column tids_;
  Column items_;
  std::vector<Column> factors_;
};

struct SumsQuery {
  static constexpr size_t kOne = SIZE_MAX;  // in place of a factor: 1

  struct Product {
    size_t left = kOne;                // the positions of its factors among those of each side
    size_t right = kOne;               // of a self-join: among those of the left
    bool counts_transactions = false;  // without factors: 1 for each transaction; else rows add up
    uint64_t limit = UINT64_MAX;       // no product of two rows may be larger; UINT64_MAX: any may

    bool counts_rows() const { return left == kOne && right == kOne && !counts_transactions; }
  };
  std::vector<Product> products;
  PairCondition condition = PairCondition::kNone;  // of a self-join: between the items of a pair
  int64_t min_count = 1;                           // pairs with a smaller sum of the product `count` are left out
  size_t count = 0;
  std::span<const uint32_t> item_rank = {};  // see EncodedRelation; of a self-join
};

class PairSums {
 public:
  /// @param left     used up
  /// @param right    used up; nullptr: a self-join
  /// @param options  copied; its meter must outlive the run
  /// @throws Error{kTooLarge} if a product of two rows may be above its limit, or a sum above 126 bits
  /// @throws Error{kMemoryLimit, kCancelled}, std::bad_alloc
  PairSums(FactorRows& left, FactorRows* right, const SumsQuery& query, const ExecutionOptions& options);
  PairSums(const PairSums&) = delete;
  PairSums& operator=(const PairSums&) = delete;

  /// Gets the next pairs. Returns after about one task's work.
  /// @param batch  set; valid until the next call; may be empty although more pairs follow. Items are values; `support`
  ///               is the position of the pair for sum()
  /// @return false after the last pair
  /// @throws Error{kCancelled}, std::bad_alloc; after that next() must not be called again
  bool next(PairBatch& batch);

  /// The sum of a product for a pair of the last batch.
  WideSum sum(uint64_t position, size_t product) const {
    const size_t at = position * products_ + product;
    return wide_ ? found_->wide[at] : WideSum{found_->narrow[at]};
  }

  const RunRecord& record() const { return record_; }

 private:
  /// What a merged row has of the factors of a side.
  struct MergedColumn {
    size_t factor;  // or SumsQuery::kOne
    bool counts_transactions;

    bool operator==(const MergedColumn&) const = default;
  };
  /// The merged rows of a side, by transaction, then by rank of the item. Each is a number of an item and the merged
  /// columns: [rows][width] words of 32 or of 64 bits. A transaction has room for all its rows.
  struct Side {
    std::vector<MergedColumn> columns;
    Buffer<uint32_t> begin;  // [transactions + 1] rows
    Buffer<uint32_t> end;    // [transactions] of those that are used
    Buffer<int32_t> narrow;  // one of the two
    Buffer<int64_t> wide;
    Buffer<int64_t> values;     // [items] by number: frequent items first, because their sums are then close together
    Buffer<uint32_t> number;    // [ranks] or kDropped
    Buffer<uint64_t> rows;      // [ranks] merged rows
    uint64_t most_of_item = 0;  // rows that were merged into one
    uint64_t most_of_tid = 0;   // rows of one transaction
    size_t width() const { return 1 + columns.size(); }
  };
  /// A merged row of an item of the left, and its partners: merged rows of the right in the same transaction.
  struct Occurrence {
    uint32_t row;
    uint32_t begin;
    uint32_t end;
  };
  /// The occurrences of an item of the left, in a share of the transactions.
  struct ItemShare {
    uint64_t instances;
    uint32_t occurrences;
  };
  /// The rows of a side before they are merged.
  struct Unmerged {
    FactorRows* rows;
    Buffer<uint32_t> order;  // by transaction
    Buffer<uint32_t> items;  // [rows] codes
    Buffer<uint32_t> ranks;  // of codes
  };
  /// What a thread needs to count.
  struct Scratch {
    Buffer<int64_t> narrow;     // [right items][products] sums of the current item; one of the two
    Buffer<WideSum> wide;       // zero between two items, as `seen`
    Buffer<uint32_t> touched;   // [right items + 1] those of the current item
    Buffer<uint8_t> seen;       // [right items]
    std::vector<WideSum> left;  // [products] factors of the current row
    uint64_t unpolled = 0;      // merged rows of the join since the last poll
  };
  /// The result of a task.
  struct Found {
    Buffer<ItemPair> pairs;
    Buffer<int64_t> narrow;  // [pairs][products] one of the two
    Buffer<WideSum> wide;
    size_t size = 0;
  };

  void find_columns();
  void check(const FactorRows& left, const FactorRows& right) const;
  bool sums_are_narrow(const FactorRows& left, const FactorRows& right) const;
  static bool columns_are_narrow(const FactorRows& rows, const Side& side);
  void sort_by_transaction(Unmerged (&sides)[2]);
  void rank_items(Unmerged& from, Side& side, std::span<const uint32_t> item_rank) const;
  size_t first_of_share(size_t share) const;
  template <typename Word>
  void group(Unmerged (&sides)[2]);
  template <typename Word>
  uint64_t merge(const Unmerged& from, Side& side, size_t share, Buffer<uint64_t>& rows);
  void number_items(Side& side) const;
  template <typename Word>
  static void keep_numbered(Side& side, size_t code);
  template <typename Word>
  void link();
  template <typename Word, typename Visit>
  void each_occurrence(size_t code, Visit visit) const;
  void bound();
  void cut_into_tasks(const Buffer<uint64_t>& instances);
  Found count(size_t task, int worker);
  template <typename Word, typename Sum>
  void count_items(size_t task, Scratch& scratch, Buffer<Sum>& sums, Buffer<Sum>& to, Found& found) const;
  template <size_t kProducts, typename Word, typename Sum>
  size_t add_products(uint32_t item, Scratch& scratch, Sum* sums) const;
  template <typename Word>
  static auto& words(auto& side) {
    if constexpr (sizeof(Word) == sizeof(int32_t))
      return side.narrow;
    else
      return side.wide;
  }
  Side& right() { return self_join_ ? left_ : right_; }
  const Side& right() const { return self_join_ ? left_ : right_; }

  SumsQuery query_;
  ExecutionOptions options_;
  size_t products_;
  bool self_join_;
  bool narrow_words_ = false;
  bool wide_ = false;        // the sums
  size_t transactions_ = 0;  // codes
  size_t shares_ = 1;        // of the transactions, for the threads that group
  Side left_;
  Side right_;                      // not of a self-join
  std::vector<size_t> factors_[2];  // [products] positions in the rows of each side
  Buffer<uint64_t> begin_;          // [left items + 1]
  Buffer<Occurrence> occurrences_;  // by item of the left
  std::optional<RowTasks> cut_;
  RunRecord record_;
  std::vector<Scratch> scratch_;  // [threads]
  std::mutex spare_mutex_;
  std::vector<Found> spare_;    // emptied results of tasks, to be filled again
  std::optional<Found> found_;  // the current task's
  size_t handed_over_ = 0;      // of its pairs
  // The counting threads, once started. The last member, so that it is destroyed first.
  std::optional<OrderedTasks<Found>> tasks_;
};

}  // namespace batmap
