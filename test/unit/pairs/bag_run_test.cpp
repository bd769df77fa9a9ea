// Runs in which repeated rows multiply, as in a SQL join, against a loop over all pairs of rows; the
// diagonal; the best pairs with all ties. Multiplicities go up to products that exceed 32 bits.
#include <gtest/gtest.h>

#include <map>

#include "pairs/join_run.h"
#include "pairs/pair_run.h"
#include "test/unit/shared/shapes.h"

namespace batmap::test {
namespace {

using Answer = std::map<std::pair<int64_t, int64_t>, uint64_t>;

using Multiplicities = std::map<int64_t, std::map<int64_t, uint64_t>>;  // [tid][item]

Multiplicities multiplicities(const std::vector<TidItem>& rows) {
  Multiplicities all;
  for (const TidItem& pair : rows) ++all[pair.tid][pair.item];
  return all;
}

/// All pairs of items, with the number of pairs of rows that have them.
Answer joined(const std::vector<TidItem>& left, const std::vector<TidItem>& right, uint64_t threshold) {
  Answer answer;
  const Multiplicities other = multiplicities(right);
  for (const auto& [tid, items] : multiplicities(left)) {
    const auto found = other.find(tid);
    if (found == other.end()) continue;
    for (const auto& [a, rows_a] : items)
      for (const auto& [b, rows_b] : found->second) answer[{a, b}] += rows_a * rows_b;
  }
  std::erase_if(answer, [&](const auto& entry) { return entry.second < threshold; });
  return answer;
}

Answer upper_triangle(Answer answer, bool diagonal) {
  std::erase_if(answer, [&](const auto& entry) {
    return entry.first.first > entry.first.second || (!diagonal && entry.first.first == entry.first.second);
  });
  return answer;
}

template <typename Run>
Answer answers_of(Run& run) {
  Answer answer;
  PairBatch batch;
  while (run.next(batch))
    for (const PairRow& row : batch)
      EXPECT_TRUE((answer.insert({{row.item_a, row.item_b}, row.support}).second)) << "twice: " << row.item_a;
  return answer;
}

Answer run_pairs(const std::vector<TidItem>& rows, PairQuery query, int threads = 1) {
  MemoryMeter meter;
  query.kernels = {&best_and_popcount(), &best_set_kernel()};
  const PackedRows packed(rows, 0);
  PairRun run(packed.chunks(), {}, query, {.threads = threads, .memory = &meter, .cancel = {}});
  return answers_of(run);
}

std::vector<TidItem> repeated(Random& random, std::vector<TidItem> rows, uint64_t max_copies) {
  const size_t distinct = rows.size();
  for (size_t i = 0; i < distinct; ++i)
    for (uint64_t copies = random.below(max_copies); copies > 0; --copies) rows.push_back(rows[i]);
  random.shuffle(rows);
  return rows;
}

struct Shape {
  const char* name;
  std::vector<TidItem> rows;
};

std::vector<Shape> shapes() {
  Random random(kSeed);
  std::vector<Shape> all;
  all.push_back({"empty", {}});
  all.push_back({"one row", {{3, 4}}});
  all.push_back({"one row often", std::vector<TidItem>(70000, TidItem{3, 4})});
  std::vector<TidItem> two(70000, TidItem{-3, 4});
  two.resize(140000, TidItem{-3, 5});
  all.push_back({"a product above 2^32", std::move(two)});
  all.push_back({"no repeats", random_grid(random, 80, 30, 30)});
  all.push_back({"one repeat", random_grid(random, 80, 30, 30)});
  all.back().rows.push_back(all.back().rows.front());
  all.push_back({"sparse", repeated(random, random_rows(random, 900, 400, 70), 3)});
  all.push_back({"dense", repeated(random, random_grid(random, 90, 40, 60), 4)});
  all.push_back({"rare items that repeat", random_grid(random, 60, 5, 90)});
  for (int i = 0; i < 9; ++i) all.back().rows.insert(all.back().rows.end(), {{7, 100}, {7, 101}});
  return all;
}

TEST(BagRun, PairsCountRows) {
  for (const Shape& shape : shapes())
    for (const int64_t min_count : {1, 2, 20, 81, 100000})
      for (const bool diagonal : {false, true})
        for (const int threads : {1, 3}) {
          SCOPED_TRACE(std::string(shape.name) + ", " + std::to_string(min_count));
          PairQuery query;
          query.min_count = min_count;
          query.bag = true;
          query.diagonal = diagonal;
          EXPECT_EQ(run_pairs(shape.rows, query, threads),
                    upper_triangle(joined(shape.rows, shape.rows, static_cast<uint64_t>(min_count)), diagonal));
        }
}

TEST(BagRun, TheDiagonalWithoutBagsIsTheSupport) {
  for (const Shape& shape : shapes()) {
    SCOPED_TRACE(shape.name);
    std::vector<TidItem> once = shape.rows;
    const auto order = [](const TidItem& x, const TidItem& y) {
      return std::pair(x.tid, x.item) < std::pair(y.tid, y.item);
    };
    const auto same = [](const TidItem& x, const TidItem& y) { return x.tid == y.tid && x.item == y.item; };
    std::sort(once.begin(), once.end(), order);
    once.erase(std::unique(once.begin(), once.end(), same), once.end());
    for (const PairMethodName& method : kPairMethodNames) {
      PairQuery query;
      query.min_count = 2;
      query.diagonal = true;
      query.method = method.method;
      EXPECT_EQ(run_pairs(shape.rows, query), upper_triangle(joined(once, once, 2), true)) << method.name;
    }
  }
}

// More pairs than may wait for the end of the count: all have the support of the k-th, or nearly all until the last items.
TEST(BagRun, VeryManyTies) {
  constexpr int64_t kItems = 420;
  std::vector<TidItem> rows;
  for (int64_t item = 0; item < kItems; ++item) rows.push_back({1, item});
  for (const int64_t k : {1, 2, 1000}) {
    PairQuery query;
    query.top_k = k;
    query.ties = true;
    EXPECT_EQ(run_pairs(rows, query).size(), kItems * (kItems - 1) / 2) << k;
  }
  for (int64_t item = kItems - 3; item < kItems; ++item) rows.push_back({2, item});
  for (const int64_t k : {1, 3, 4}) {
    PairQuery query;
    query.top_k = k;
    query.ties = true;
    EXPECT_EQ(run_pairs(rows, query).size(), k > 3 ? kItems * (kItems - 1) / 2 : 3) << k;
  }
}

TEST(BagRun, TiesOfTheBest) {
  for (const Shape& shape : shapes())
    for (const bool diagonal : {false, true})
      for (const int64_t k : {1, 2, 10, 500, 100000}) {
        SCOPED_TRACE(std::string(shape.name) + ", " + std::to_string(k));
        Answer expected = upper_triangle(joined(shape.rows, shape.rows, 1), diagonal);
        std::vector<uint64_t> counts;
        for (const auto& entry : expected) counts.push_back(entry.second);
        std::sort(counts.rbegin(), counts.rend());
        if (counts.size() > static_cast<size_t>(k))
          std::erase_if(expected, [&](const auto& entry) { return entry.second < counts[static_cast<size_t>(k) - 1]; });
        PairQuery query;
        query.top_k = k;
        query.bag = true;
        query.diagonal = diagonal;
        query.ties = true;
        EXPECT_EQ(run_pairs(shape.rows, query), expected);
      }
}

TEST(BagRun, JoinsCountRows) {
  const std::vector<Shape> all = shapes();
  for (const Shape& left : all)
    for (const Shape& right : all)
      for (const int64_t min_count : {1, 3, 30}) {
        SCOPED_TRACE(std::string(left.name) + " and " + right.name + ", " + std::to_string(min_count));
        MemoryMeter meter;
        const ExecutionOptions options{.threads = 2, .memory = &meter, .cancel = {}};
        JoinQuery query;
        query.min_count = min_count;
        query.bag = true;
        query.kernels = {&best_and_popcount(), &best_set_kernel()};
        const PackedRows packed_left(left.rows, 0);
        const PackedRows packed_right(right.rows, 0);
        JoinRun run(join_relations({packed_left.chunks(), {}}, {packed_right.chunks(), {}}, options), query, options);
        EXPECT_EQ(answers_of(run), joined(left.rows, right.rows, static_cast<uint64_t>(min_count)));
      }
}

TEST(BagRun, OnlyARowThatIsCountedMatters) {
  for (const Shape& shape : shapes())
    for (const int64_t min_count : {1, 2}) {
      SCOPED_TRACE(std::string(shape.name) + ", " + std::to_string(min_count));
      MemoryMeter meter;
      PairQuery query;
      query.min_count = min_count;
      query.bag = true;
      query.distinct_only = true;
      const PackedRows packed(shape.rows, 0);
      PairRun run(packed.chunks(), {}, query, {.threads = 2, .memory = &meter, .cancel = {}});
      Answer expected = upper_triangle(joined(shape.rows, shape.rows, static_cast<uint64_t>(min_count)), false);
      for (auto& [pair, count] : expected) count = static_cast<uint64_t>(min_count);
      EXPECT_EQ(answers_of(run), expected);
      const bool counts_rows = run.record().reason == "rows repeat, so that rows are counted";
      EXPECT_TRUE(min_count > 1 || !counts_rows) << run.record().reason;
      EXPECT_TRUE(min_count == 1 || expected.empty() || std::string(shape.name) == "no repeats" || counts_rows);
    }
}

TEST(BagRun, StopsWhenCancelled) {
  Random random(kSeed);
  const std::vector<TidItem> rows = repeated(random, random_grid(random, 300, 60, 60), 4);
  const PackedRows packed(rows, 0);
  for (int after = 0; after < 40; ++after) {
    int polls = after;
    MemoryMeter meter;
    const CancelToken cancel{[](void* left) { return (*static_cast<int*>(left))-- <= 0; }, &polls};
    PairQuery query;
    query.min_count = 1;
    query.bag = true;
    query.kernels = {&best_and_popcount(), &best_set_kernel()};
    try {
      PairRun run(packed.chunks(), {}, query, {.threads = 1, .memory = &meter, .cancel = cancel});
      answers_of(run);
      EXPECT_GT(polls, 0);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kCancelled);
    }
    EXPECT_EQ(meter.current(), 0u);
  }
}

TEST(BagRun, StaysWithinTheMemoryLimit) {
  Random random(kSeed);
  const std::vector<TidItem> rows = repeated(random, random_grid(random, 300, 60, 60), 4);
  const PackedRows packed(rows, 0);
  size_t limit = 0;
  for (bool enough = false; !enough; limit += 16384) {
    MemoryMeter meter(limit);
    PairQuery query;
    query.min_count = 1;
    query.bag = true;
    query.kernels = {&best_and_popcount(), &best_set_kernel()};
    try {
      PairRun run(packed.chunks(), {}, query, {.threads = 1, .memory = &meter, .cancel = {}});
      EXPECT_EQ(answers_of(run), upper_triangle(joined(rows, rows, 1), false));
      enough = true;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kMemoryLimit);
    }
    EXPECT_LE(meter.peak(), limit);
    EXPECT_EQ(meter.current(), 0u);
  }
  EXPECT_GT(limit, 100000u);
}

}  // namespace
}  // namespace batmap::test
