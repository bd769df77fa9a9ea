// Sums of products against a map that adds up row by row of the join, for all conditions, widths and numbers of products.
#include "pairs/pair_sums.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <tuple>
#include <utility>

namespace batmap::test {
namespace {

constexpr uint64_t kSeed = 21;
constexpr PairCondition kConditions[] = {PairCondition::kNone,    PairCondition::kLess,         PairCondition::kLessEqual,
                                         PairCondition::kGreater, PairCondition::kGreaterEqual, PairCondition::kNotEqual};

struct Row {
  int64_t tid;
  int64_t item;
  std::vector<int64_t> factors;
};
using Sums = std::map<std::pair<int64_t, int64_t>, std::vector<WideSum>>;

struct Case {
  std::vector<Row> left;
  std::vector<Row> right;  // not of a self-join
  bool self_join;
  SumsQuery query;
};

int64_t value_of(const Case& c, int64_t item) {
  return c.query.item_rank.empty() ? item : c.query.item_rank[static_cast<size_t>(item)];
}

Sums expected(const Case& c) {
  Sums sums;
  const size_t products = c.query.products.size();
  std::set<std::tuple<int64_t, int64_t, int64_t>> met;
  for (const Row& left : c.left) {
    for (const Row& right : c.self_join ? c.left : c.right) {
      const std::pair pair(value_of(c, left.item), c.self_join ? value_of(c, right.item) : right.item);
      if (left.tid != right.tid || !holds(c.query.condition, pair.first, pair.second)) continue;
      std::vector<WideSum>& sum = sums.try_emplace(pair, products).first->second;
      const bool is_first = met.emplace(left.tid, pair.first, pair.second).second;
      for (size_t k = 0; k < products; ++k) {
        const size_t factor = c.query.products[k].factor;
        if (c.query.products[k].counts_transactions)
          sum[k] += is_first;
        else
          sum[k] += WideSum{left.factors[factor]} * right.factors[c.self_join ? left.factors.size() / 2 + factor : factor];
      }
    }
  }
  std::erase_if(sums,
                [&](const auto& sum) { return c.query.min_count > 1 && sum.second[c.query.count] < c.query.min_count; });
  return sums;
}

FactorRows rows_of(MemoryMeter& meter, const std::vector<Row>& rows, size_t factors) {
  FactorRows given(meter, factors);
  for (const Row& row : rows) given.append(row.tid, row.item, row.factors.data());
  return given;
}

Sums found(const Case& c, const ExecutionOptions& options) {
  const size_t factors = c.left.empty() ? 2 : c.left[0].factors.size();
  FactorRows left = rows_of(*options.memory, c.left, factors);
  FactorRows right = rows_of(*options.memory, c.right, factors);
  PairSums run(left, c.self_join ? nullptr : &right, c.query, options);
  Sums sums;
  PairBatch batch;
  while (run.next(batch)) {
    for (const PairRow& row : batch) {
      const std::span<const WideSum> sum = run.sums(row.support);
      EXPECT_TRUE(sums.try_emplace({row.item_a, row.item_b}, sum.begin(), sum.end()).second);
    }
  }
  EXPECT_EQ(run.record().results, sums.size());
  return sums;
}

std::vector<Row> some_rows(std::mt19937_64& random, size_t size, int tids, int items, size_t factors, int64_t largest) {
  std::vector<Row> rows(size);
  for (Row& row : rows) {
    row.tid = static_cast<int64_t>(random() % static_cast<uint64_t>(tids)) - tids / 2;
    row.item = static_cast<int64_t>(random() % static_cast<uint64_t>(items));
    for (size_t k = 0; k < factors; ++k)
      row.factors.push_back(k % 3 == 0 ? 1 : static_cast<int64_t>(random() % static_cast<uint64_t>(2 * largest)) - largest);
  }
  return rows;
}

TEST(PairSums, AddsUpEachRowOfTheJoin) {
  std::mt19937_64 random(kSeed);
  SCOPED_TRACE(kSeed);
  MemoryMeter meter;
  ExecutionOptions options{1, &meter, {}};
  for (const size_t size : {0, 1, 7, 300}) {
    for (const size_t products : {1, 2, 3, 5}) {
      for (const int64_t largest : {int64_t{5}, int64_t{1} << 50}) {
        for (const PairCondition condition : kConditions) {
          Case c{
              .left = some_rows(random, size, 40, 25, 2 * products, largest), .right = {}, .self_join = true, .query = {}};
          c.query.condition = condition;
          for (size_t k = 0; k < products; ++k) c.query.products.push_back({.factor = products - 1 - k});
          if (products == 3) c.query.products[1].counts_transactions = true;
          std::vector<uint32_t> ranks(25);
          for (uint32_t k = 0; k < 25; ++k) ranks[k] = k * 7 % 25;
          if (products == 2) c.query.item_rank = ranks;
          c.query.count = products - 1;  // its factors are 1
          c.query.min_count = products == 5 ? 3 : 1;
          if (products == 3) {  // the same factor in each of the merged rows
            for (Row& row : c.left) row.factors[1] = row.factors[1 + products] = 1;
          }
          for (Row& row : c.left) row.factors[0] = row.factors[products] = 1;
          EXPECT_EQ(found(c, options), expected(c)) << size << " " << products << " " << largest;
        }
        Case two{.left = some_rows(random, size, 40, 25, products, largest),
                 .right = some_rows(random, 2 * size, 60, 3000, products, largest),
                 .self_join = false,
                 .query = {}};
        for (size_t k = 0; k < products; ++k) two.query.products.push_back({.factor = k});
        EXPECT_EQ(found(two, options), expected(two)) << size << " " << products << " " << largest;
      }
    }
  }
  EXPECT_EQ(meter.current(), 0u);
}

TEST(PairSums, RefusesWhatItCannotHold) {
  MemoryMeter meter;
  const ExecutionOptions options{1, &meter, {}};
  const auto code_of = [&](int64_t factor, uint64_t limit, size_t rows, int64_t tids = 1) {
    Case c{.left = {}, .right = {}, .self_join = true, .query = {}};
    for (int64_t tid = 0; tid < tids; ++tid) c.left.insert(c.left.end(), rows, Row{tid, 1, {factor, factor}});
    c.query.products.push_back({.limit = limit});
    try {
      const Sums sums = found(c, options);  // first: what is too large may overflow in expected()
      EXPECT_EQ(sums, expected(c));
    } catch (const Error& error) {
      return error.code() == ErrorCode::kTooLarge ? "too large" : "another error";
    }
    return "exact";
  };
  EXPECT_STREQ(code_of(46340, INT32_MAX, 3), "exact");
  EXPECT_STREQ(code_of(46341, INT32_MAX, 3), "too large");
  EXPECT_STREQ(code_of(-46341, INT32_MAX, 3), "too large");
  EXPECT_STREQ(code_of(INT64_MAX, UINT64_MAX, 1), "exact");
  EXPECT_STREQ(code_of(INT64_MAX, UINT64_MAX, 1, 2), "too large");  // the sum
  EXPECT_STREQ(code_of(INT64_MAX / 2, UINT64_MAX, 2), "exact");
  EXPECT_STREQ(code_of(INT64_MAX / 2, UINT64_MAX, 3), "too large");  // the merged row
}

TEST(PairSums, StopsForMemoryAndCancel) {
  std::mt19937_64 random(kSeed);
  Case c{.left = some_rows(random, 5000, 100, 500, 2, 9), .right = {}, .self_join = true, .query = {}};
  c.query.products.push_back({});
  const auto fails_with = [&](const ExecutionOptions& options, ErrorCode code) {
    try {
      found(c, options);
    } catch (const Error& error) {
      return error.code() == code;
    }
    return false;
  };
  MemoryMeter small(100000);
  EXPECT_TRUE(fails_with({1, &small, {}}, ErrorCode::kMemoryLimit));
  EXPECT_EQ(small.current(), 0u);
  MemoryMeter meter;
  ExecutionOptions options{1, &meter, {}};
  int polls = 0;
  options.cancel = {[](void* arg) { return ++*static_cast<int*>(arg) < 0; }, &polls};
  EXPECT_EQ(found(c, options), expected(c));
  const int all = polls;
  EXPECT_GE(all, 4);
  for (int stop = 1; stop <= all; ++stop) {  // at the n-th poll
    int left = stop;
    options.cancel = {[](void* arg) { return --*static_cast<int*>(arg) <= 0; }, &left};
    EXPECT_TRUE(fails_with(options, ErrorCode::kCancelled)) << stop;
    EXPECT_EQ(meter.current(), 0u);
  }
}

}  // namespace
}  // namespace batmap::test
