// Sums of products for pairs of items. Rows have a tid, an item and some factors. A row of the left and a row of the
// right with the same tid are a row of the join, which adds, for each of several products, its left factor times its
// right factor to the pair of their items. What SQL computes for
//
//   SELECT a.item, b.item, sum(a.quantity * b.price), count(*) FROM t a JOIN t b USING (tid) GROUP BY 1, 2
//
// Rows of a transaction with one item are merged first: their factors add up, because a sum of products is linear in
// each side. A product may count transactions instead: then the factor of merged rows stays 1. Items are counted one by
// one in a row of sums, as in weighted_counter.cpp, by the thread that asks for them. Sums are exact: in 64 bits, or in
// 128 where the factors say that 64 may be too few. All memory is taken when the run is made: 20 bytes and those of the
// factors a row, and the sums of one item. Cost: 1 to 3 ns for each pair of merged rows and product. Source: ours.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/memory.h"
#include "core/options.h"
#include "core/run_record.h"
#include "pairs/best_pairs.h"
#include "pairs/grouped_pairs.h"

namespace batmap {

/// Wide enough for each sum.
using WideSum = __int128;

/// The rows of a side. The rows of a self-join have the left factors, then as many right factors.
class FactorRows {
 public:
  FactorRows(MemoryMeter& meter, size_t factors) : factors_(factors), keys_(meter), values_(meter), largest_(factors) {}

  /// @param factors  [factors] above INT64_MIN
  /// @throws Error{kMemoryLimit, kTooLarge}, std::bad_alloc
  void append(int64_t tid, int64_t item, const int64_t* factors);

  size_t size() const { return keys_.size(); }

 private:
  friend class PairSums;
  struct Key {
    int64_t tid;
    int64_t item;
  };

  size_t factors_;
  GrowingBuffer<Key> keys_;
  GrowingBuffer<int64_t> values_;  // [rows][factors]
  std::vector<uint64_t> largest_;  // [factors] the largest absolute value
};

struct SumsQuery {
  struct Product {
    size_t factor = 0;                 // its position among those of a side
    bool counts_transactions = false;  // its factors are 1; else rows add up
    uint64_t limit = UINT64_MAX;       // no product of two rows may be larger; UINT64_MAX: any may
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

  /// @param batch  set; valid until the next call. Items are values; `support` is the position of the pair in the batch
  /// @return false after the last pair
  bool next(PairBatch& batch);

  /// [products] of a pair of the last batch.
  std::span<const WideSum> sums(uint64_t position) const { return sums_.span().subspan(position * products_, products_); }

  const RunRecord& record() const { return record_; }

 private:
  /// The merged rows of a side, by transaction, then by rank of the item.
  struct Side {
    Buffer<uint64_t> begin;         // [transactions + 1]
    Buffer<uint32_t> items;         // numbers: frequent items first, because their sums are then close together
    Buffer<int64_t> factors;        // [rows][products]
    Buffer<int64_t> right_factors;  // [rows][products] of the same rows as those of the right; of a self-join
    Buffer<int64_t> values;         // [items] by number
  };
  /// A merged row of an item.
  struct Occurrence {
    uint32_t row;    // of the left
    uint32_t begin;  // the rows of the right in the same transaction
    uint32_t end;
  };
  using Codes = Buffer<uint32_t>;

  Side group(FactorRows& rows, const Codes& transactions, std::span<const uint32_t> item_rank) const;
  void check(const FactorRows& left, const FactorRows& right);
  void bound();
  void link();
  void number_items(Side& side) const;
  template <typename Sum>
  void add_item(uint32_t item, Buffer<Sum>& sums);
  template <size_t kProducts, typename Sum>
  void add_products(uint32_t item, Sum* sums);
  size_t factor_of(const FactorRows& rows, size_t k) const;
  template <typename Visit>
  void each_range(const Occurrence& own, Visit visit) const;
  std::span<const int64_t> right_factors() const { return self_join_ ? left_.right_factors.span() : right_.factors.span(); }
  const Side& right() const { return self_join_ ? left_ : right_; }

  SumsQuery query_;
  ExecutionOptions options_;
  size_t products_;
  bool self_join_;
  uint32_t transactions_ = 0;  // codes
  Side left_;
  Side right_;                      // not of a self-join
  Buffer<uint64_t> begin_;          // [left items + 1]
  Buffer<Occurrence> occurrences_;  // by item of the left
  bool wide_ = false;
  Buffer<int64_t> narrow_sums_;  // [right items][products] of the current item
  Buffer<WideSum> wide_sums_;    // the same
  Buffer<uint32_t> touched_;     // [touched_size_] right items of the current item
  Buffer<uint32_t> last_;        // [right items] 1 + the last left item that they occurred with
  size_t touched_size_ = 0;
  size_t handed_over_ = 0;       // of touched_
  uint64_t unpolled_ = 0;        // merged rows of the join since the last poll
  uint32_t next_item_ = 0;       // of the left
  Buffer<WideSum> sums_;         // [rows of a batch][products]
  std::vector<ItemPair> pairs_;  // of the last batch
  RunRecord record_;
};

}  // namespace batmap
