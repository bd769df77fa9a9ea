// Sums of products against a map that adds up row by row of the join, for all conditions, widths and numbers of
// products and threads.
#include "pairs/pair_sums.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

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
        const SumsQuery::Product& product = c.query.products[k];
        const auto factor = [](const Row& row, size_t at) { return at == SumsQuery::kOne ? 1 : row.factors[at]; };
        if (product.counts_transactions)
          sum[k] += is_first;
        else
          sum[k] += WideSum{factor(left, product.left)} * factor(right, product.right);
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

/// The answer in the order in which it is handed over.
using Answer = std::vector<std::pair<std::pair<int64_t, int64_t>, std::vector<WideSum>>>;

Answer answer_of(const Case& c, const ExecutionOptions& options) {
  size_t factors = 0;
  for (const SumsQuery::Product& product : c.query.products)
    for (const size_t factor : {product.left, product.right})
      if (factor != SumsQuery::kOne) factors = std::max(factors, factor + 1);
  FactorRows left = rows_of(*options.memory, c.left, factors);
  FactorRows right = rows_of(*options.memory, c.right, factors);
  PairSums run(left, c.self_join ? nullptr : &right, c.query, options);
  const size_t taken = options.memory->current();
  Answer answer;
  PairBatch batch;
  while (run.next(batch)) {
    EXPECT_LE(batch.size(), kBatchRows);
    for (const PairRow& row : batch) {
      answer.push_back({{row.item_a, row.item_b}, {}});
      for (size_t k = 0; k < c.query.products.size(); ++k) answer.back().second.push_back(run.sum(row.support, k));
    }
  }
  EXPECT_EQ(run.record().results, answer.size());
  EXPECT_EQ(run.record().tasks_done, run.record().tasks);
  EXPECT_EQ(options.memory->current(), taken);  // all memory was taken before
  return answer;
}

Sums found(const Case& c, const ExecutionOptions& options) {
  const Answer answer = answer_of(c, options);
  const Sums sums(answer.begin(), answer.end());
  EXPECT_EQ(sums.size(), answer.size());
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

/// The case with 1, 2 and 5 threads, which all give the same sequence.
void expect_exact(const Case& c, const char* what) {
  MemoryMeter meter;
  ExecutionOptions options{1, &meter, {}};
  const Answer answer = answer_of(c, options);
  EXPECT_EQ(Sums(answer.begin(), answer.end()), expected(c)) << what;
  for (const int threads : {2, 5}) {
    options.threads = threads;
    EXPECT_EQ(answer_of(c, options), answer) << what << ", threads " << threads;
  }
  EXPECT_EQ(meter.current(), 0u);
}

TEST(PairSums, AddsUpEachRowOfTheJoin) {
  std::mt19937_64 random(kSeed);
  SCOPED_TRACE(kSeed);
  for (const size_t size : {0, 1, 7, 300}) {
    for (const size_t products : {1, 2, 3, 5}) {
      for (const int64_t largest : {int64_t{5}, int64_t{1} << 30, int64_t{1} << 50}) {
        const std::string what =
            std::to_string(size) + " rows, " + std::to_string(products) + " products, " + std::to_string(largest);
        for (const PairCondition condition : kConditions) {
          Case c{.left = some_rows(random, size, 40, 25, products, largest), .right = {}, .self_join = true, .query = {}};
          c.query.condition = condition;
          for (size_t k = 0; k < products; ++k) c.query.products.push_back({.left = products - 1 - k, .right = k});
          if (products == 3) c.query.products[1] = {.counts_transactions = true};
          std::vector<uint32_t> ranks(25);
          for (uint32_t k = 0; k < 25; ++k) ranks[k] = k * 7 % 25;
          if (products == 2) c.query.item_rank = ranks;
          c.query.count = products - 1;
          c.query.products[c.query.count] = {};  // counts rows
          c.query.min_count = products == 5 ? 3 : 1;
          expect_exact(c, what.c_str());
        }
        Case two{.left = some_rows(random, size, 40, 25, products, largest),
                 .right = some_rows(random, 2 * size, 60, 3000, products, largest),
                 .self_join = false,
                 .query = {}};
        for (size_t k = 0; k < products; ++k) two.query.products.push_back({.left = k, .right = k});
        expect_exact(two, what.c_str());
        std::swap(two.left, two.right);
        two.query.products[0] = {.left = products - 1};
        expect_exact(two, what.c_str());
      }
    }
  }
}

TEST(PairSums, CodesKeysOfAnyRange) {
  std::mt19937_64 random(kSeed);
  Case c{.left = some_rows(random, 400, 60, 40, 1, 9), .right = {}, .self_join = true, .query = {}};
  c.query.products = {{.left = 0, .right = 0}, {}};
  c.query.condition = PairCondition::kLess;
  for (const int64_t distance : {int64_t{1}, int64_t{1} << 31, int64_t{1} << 55}) {
    Case wide = c;
    for (Row& row : wide.left) {
      row.tid *= distance;
      row.item = (row.item - 20) * distance;
    }
    expect_exact(wide, "wide keys");
  }
  c.left.push_back({INT64_MAX, INT64_MIN, {3}});
  c.left.push_back({INT64_MAX, INT64_MAX, {4}});
  c.left.push_back({INT64_MIN, INT64_MAX, {5}});
  expect_exact(c, "the ends of the range");
}

// Columns start as one number, then have words of 32 bits, then of 64.
TEST(PairSums, KeepsNumbersOfAnyWidth) {
  constexpr int64_t kNarrow = INT32_MAX;
  const std::vector<std::vector<int64_t>> columns = {{7, 7, 7, 7},
                                                     {kNarrow, kNarrow, kNarrow - 1, 0},
                                                     {1, 2, kNarrow + 1, 3},
                                                     {int64_t{INT32_MIN}, int64_t{INT32_MIN} - 1, 4, 4},
                                                     {int64_t{1} << 40, int64_t{1} << 40, 1, int64_t{1} << 40},
                                                     {INT64_MAX, 1, 0, -INT64_MAX}};
  for (const std::vector<int64_t>& column : columns) {
    Case c{.left = {}, .right = {}, .self_join = true, .query = {}};
    for (int64_t row = 0; row < 4; ++row) c.left.push_back({row, row % 2, {column[static_cast<size_t>(row)]}});
    c.query.products = {{.left = 0}, {.right = 0}};
    expect_exact(c, std::to_string(column[0]).c_str());
  }
}

TEST(PairSums, LeavesOutItemsBelowTheThreshold) {
  std::mt19937_64 random(kSeed);
  for (const int repeats : {1, 3}) {  // rows of a transaction that are equal count more than once
    for (const int64_t min_count : {2, 5, 9, 40, 100000}) {
      Case c{.left = {}, .right = {}, .self_join = true, .query = {}};
      for (int64_t tid = 0; tid < 60; ++tid)
        for (int64_t item = 0; item < 30; ++item)
          for (int k = 0; k < repeats && random() % 30 > static_cast<uint64_t>(item); ++k)
            c.left.push_back({tid, item, {static_cast<int64_t>(random() % 10) - 5}});
      c.query.products = {{.left = 0, .right = 0}, {}};
      c.query.count = 1;
      c.query.min_count = min_count;
      expect_exact(c, std::to_string(min_count).c_str());
      c.right.assign(c.left.begin(), c.left.begin() + static_cast<std::ptrdiff_t>(c.left.size() / 2));
      c.self_join = false;
      expect_exact(c, std::to_string(min_count).c_str());
      c.query.count = 0;  // may be negative, so no item can be left out
      expect_exact(c, std::to_string(min_count).c_str());
    }
  }
}

// So many rows that threads share the transactions, too. The oracle is the sum of all sums.
TEST(PairSums, SharesTransactions) {
  std::mt19937_64 random(kSeed);
  constexpr int64_t kTids = 140000;
  Case c{.left = {}, .right = {}, .self_join = true, .query = {}};
  for (int64_t row = 0; row < 4 * kTids; ++row)
    c.left.push_back({static_cast<int64_t>(random() % kTids), static_cast<int64_t>(random() % 300), {row % 10}});
  c.query.products = {{.left = 0, .right = 0}};
  std::vector<int64_t> totals(kTids);
  for (const Row& row : c.left) totals[static_cast<size_t>(row.tid)] += row.factors[0];
  WideSum all = 0;
  for (const int64_t total : totals) all += total * total;
  MemoryMeter meter;
  Answer first;
  for (const int threads : {1, 2, 5}) {
    const Answer answer = answer_of(c, {threads, &meter, {}});
    WideSum sum = 0;
    for (const auto& [pair, sums] : answer) sum += sums[0];
    EXPECT_EQ(sum, all) << threads;
    if (threads == 1) first = answer;
    EXPECT_EQ(answer, first) << threads;
  }
}

TEST(PairSums, RefusesWhatItCannotHold) {
  MemoryMeter meter;
  const ExecutionOptions options{1, &meter, {}};
  const auto code_of = [&](int64_t factor, uint64_t limit, size_t rows, int64_t tids = 1) {
    Case c{.left = {}, .right = {}, .self_join = true, .query = {}};
    for (int64_t tid = 0; tid < tids; ++tid) c.left.insert(c.left.end(), rows, Row{tid, 1, {factor}});
    c.query.products.push_back({.left = 0, .right = 0, .limit = limit});
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

Case case_with_tasks() {
  std::mt19937_64 random(kSeed);
  Case c{.left = some_rows(random, 5000, 100, 500, 1, 9), .right = {}, .self_join = true, .query = {}};
  c.query.products = {{.left = 0, .right = 0}, {}};
  return c;
}

/// @return the error of the run, or nothing
std::optional<ErrorCode> error_of(const Case& c, const Answer& correct, const ExecutionOptions& options) {
  try {
    EXPECT_EQ(answer_of(c, options), correct);
  } catch (const Error& error) {
    return error.code();
  }
  return std::nullopt;
}

TEST(PairSums, NeedsMemoryOnlyBeforeTheFirstPair) {
  const Case c = case_with_tasks();
  MemoryMeter meter;
  const Answer correct = answer_of(c, {1, &meter, {}});
  EXPECT_EQ(Sums(correct.begin(), correct.end()), expected(c));
  const size_t enough = meter.peak();
  for (const int threads : {1, 5}) {
    size_t answers = 0;
    for (size_t limit = enough / 8; limit <= 2 * enough; limit += enough / 8) {
      MemoryMeter small(limit);
      const std::optional<ErrorCode> error = error_of(c, correct, {threads, &small, {}});
      EXPECT_EQ(small.current(), 0u);
      answers += !error.has_value();
      EXPECT_EQ(error.value_or(ErrorCode::kMemoryLimit), ErrorCode::kMemoryLimit) << limit;
      EXPECT_TRUE(limit < enough || !error) << limit;  // what is enough for one thread is enough for five
    }
    EXPECT_GE(answers, 8u);
  }
}

/// Lends as many threads as are left.
class LeftThreads final : public ThreadBudget {
 public:
  explicit LeftThreads(size_t left) : left_(left) {}
  size_t take(size_t wanted) noexcept override {
    const size_t lent = std::min(wanted, left_);
    left_ -= lent;
    return lent;
  }
  void give_back(size_t threads) noexcept override { left_ += threads; }
  size_t left() const { return left_; }

 private:
  size_t left_;
};

TEST(PairSums, GetsFewerThreads) {
  const Case c = case_with_tasks();
  MemoryMeter meter;
  const Answer correct = answer_of(c, {1, &meter, {}});
  for (const size_t lent : {0, 1}) {
    LeftThreads budget(lent);
    ExecutionOptions options{5, &meter, {}};
    options.helpers = &budget;
    EXPECT_EQ(answer_of(c, options), correct) << lent;
    EXPECT_EQ(budget.left(), lent);
  }
}

TEST(PairSums, StopsWhereverItIsCancelled) {
  const Case c = case_with_tasks();
  MemoryMeter meter;
  for (const int threads : {1, 3}) {
    ExecutionOptions options{threads, &meter, {}};
    std::atomic<int> polls = 0;
    options.cancel = {[](void* arg) { return ++*static_cast<std::atomic<int>*>(arg) < 0; }, &polls};
    const Answer correct = answer_of(c, options);
    const int all = polls;
    EXPECT_GE(all, 8);
    for (int stop = 1; stop <= all; ++stop) {  // from the n-th poll on; with threads, there may be a few less
      std::atomic<int> left = stop;
      options.cancel = {[](void* arg) { return --*static_cast<std::atomic<int>*>(arg) <= 0; }, &left};
      const std::optional<ErrorCode> error = error_of(c, correct, options);
      EXPECT_TRUE(error == ErrorCode::kCancelled || (threads > 1 && left > 0)) << stop;
      EXPECT_EQ(meter.current(), 0u);
    }
  }
}

}  // namespace
}  // namespace batmap::test
