// The itemset search against the oracle: every target, kernel and option over thousands of small relations,
// which reach the tables and masks of the search. Then larger relations, which begin as lists, against a plain
// recursion over tidsets. Answers pulled from a stream must be the same sequence for any number of threads.
// Then bad parameters, cancelling, too little memory, truncation.
#include "itemsets/itemset_run.h"

#include <gtest/gtest.h>

#include <bitset>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "itemsets/itemset_stream.h"
#include "test/unit/shared/itemsets.h"
#include "test/unit/shared/shapes.h"

namespace batmap::test {
namespace {

std::vector<ItemsetRow> mine(const std::vector<TidItem>& relation, const ItemsetQuery& query) {
  MemoryMeter meter;
  const PackedRows packed(relation);
  ItemsetRun run(packed.chunks(), {}, query, {.memory = &meter, .cancel = {}});
  RowSink sink(run);
  run.search(sink);
  return sink.rows;
}

std::vector<ItemsetRow> sorted(std::vector<ItemsetRow> rows) {
  std::sort(rows.begin(), rows.end());
  return rows;
}

std::vector<ItemsetRow> pull(ItemsetRun& run, const ExecutionOptions& options, Truncation* truncated = nullptr) {
  ItemsetStream stream(run, options);
  RowSink sink(run);
  std::vector<ItemsetStep> batch;
  while (stream.next(batch)) sink.take(batch);
  if (truncated != nullptr) *truncated = stream.truncation();
  EXPECT_EQ(stream.results(), sink.rows.size());
  return sink.rows;
}

TEST(ItemsetRun, AnswersLikeTheOracle) {
  Random random(kSeed);
  uint64_t answers = 0;
  for (int round = 0; round < 6000; ++round) {
    const int64_t items = 1 + random.signed_below(round % 8 == 0 ? 13 : 10);
    const std::vector<TidItem> relation = draw_relation(random, items);
    const ItemsetOracle oracle(relation);
    const ItemsetQuery query = draw_query(random, items);
    const std::vector<ItemsetRow> expected = oracle.answer(query);
    const std::vector<ItemsetRow> found = mine(relation, query);
    answers += found.size();
    ASSERT_EQ(difference(query.top_k ? found : sorted(found), expected), "")
        << "round " << round << ", " << describe_query(query) << ", seed " << kSeed;
  }
  EXPECT_GT(answers, 100000u);
}

TEST(ItemsetRun, VisitsAreTheAnswers) {
  Random random(kSeed + 6);
  for (int round = 0; round < 1000; ++round) {
    const std::vector<TidItem> relation = draw_relation(random, 1 + random.signed_below(12));
    ItemsetQuery query;
    if (round % 2 == 0)
      query.min_count = 1 + random.signed_below(6);
    else
      query = draw_query(random, 12);
    MemoryMeter meter;
    const PackedRows packed(relation);
    ItemsetRun run(packed.chunks(), {}, query, {.memory = &meter, .cancel = {}});
    RowVisitor visitor(run);
    run.search(visitor);
    ASSERT_EQ(difference(sorted(visitor.rows), sorted(mine(relation, query))), "")
        << "round " << round << ", " << describe_query(query) << ", seed " << kSeed;
  }
}

TEST(ItemsetRun, SpectrumCountsTheAnswers) {
  Random random(kSeed + 1);
  for (int round = 0; round < 500; ++round) {
    const std::vector<TidItem> relation = draw_relation(random, 1 + random.signed_below(11));
    const ItemsetQuery query = draw_query(random, 11);
    std::map<std::pair<uint64_t, uint64_t>, uint64_t> expected;
    for (const ItemsetRow& row : ItemsetOracle(relation).answer(query)) ++expected[{row.items.size(), row.support}];
    std::map<std::pair<uint64_t, uint64_t>, uint64_t> found;
    MemoryMeter meter;
    const PackedRows packed(relation);
    ItemsetRun run(packed.chunks(), {}, query, {.memory = &meter, .cancel = {}});
    for (const SpectrumRow& row : run.spectrum()) found[{row.length, row.support}] += row.itemsets;
    ASSERT_EQ(found, expected) << "round " << round << ", " << describe_query(query) << ", seed " << kSeed;
  }
}

TEST(ItemsetRun, SpectrumCountsWithoutWalking) {
  std::vector<TidItem> relation;
  for (int64_t tid = 0; tid < 3; ++tid)
    for (int64_t item = 0; item < 60; ++item) relation.push_back({tid, item});
  MemoryMeter meter;
  ItemsetQuery query;
  query.min_count = 2;
  const PackedRows packed(relation);
  ItemsetRun run(packed.chunks(), {}, query, {.memory = &meter, .cancel = {}});
  uint64_t itemsets = 0;
  for (const SpectrumRow& row : run.spectrum()) {
    EXPECT_EQ(row.support, 3u);
    itemsets += row.itemsets;
  }
  EXPECT_EQ(itemsets, (uint64_t{1} << 60) - 1);
}

/// All frequent itemsets, by plain recursion over sets of tids in 0 .. 4095.
class TidsetOracle {
 public:
  TidsetOracle(const std::vector<TidItem>& relation, uint64_t min_count) : min_count_(min_count) {
    std::map<int64_t, Tids> tids;
    for (const TidItem& pair : relation) tids[pair.item].set(static_cast<size_t>(pair.tid));
    lists_.assign(tids.begin(), tids.end());
    extend({}, Tids().set(), 0);
    std::sort(rows.begin(), rows.end());
  }
  std::vector<ItemsetRow> rows;

 private:
  using Tids = std::bitset<4096>;

  void extend(const std::vector<int64_t>& items, const Tids& tids, size_t from) {
    for (size_t k = from; k < lists_.size(); ++k) {
      const Tids both = tids & lists_[k].second;
      if (both.count() < min_count_) continue;
      std::vector<int64_t> longer = items;
      longer.push_back(lists_[k].first);
      rows.push_back({longer, both.count()});
      extend(longer, both, k + 1);
    }
  }

  uint64_t min_count_;
  std::vector<std::pair<int64_t, Tids>> lists_;
};

struct Wide {
  const char* name;
  std::vector<TidItem> rows;
  int64_t min_count;
};

/// More items than masks have bits, so that a search begins with lists.
std::vector<Wide> wide_relations() {
  Random random(kSeed + 2);
  std::vector<Wide> all;
  all.push_back({"sparse", random_rows(random, 6000, 700, 300), 4});
  all.push_back({"many items", random_rows(random, 4000, 900, 3000), 2});
  all.push_back({"dense", random_grid(random, 60, 90, 40), 12});
  // Lists below lists: a node that itself has more than 64 candidates.
  std::vector<TidItem> deep = random_grid(random, 120, 200, 12);
  for (int64_t tid = 0; tid < 120; ++tid)
    for (const int64_t item : {1000, 1001, 1002})
      if (random.chance(85)) deep.push_back({tid, item});
  all.push_back({"lists below lists", deep, 4});
  std::vector<TidItem> repeated;
  for (int64_t tid = 0; tid < 400; ++tid)
    for (int64_t item = 0; item < 100; ++item)
      if ((item + tid % 7) % 9 < 2 || item == 50) repeated.push_back({tid, item});
  all.push_back({"few distinct transactions", repeated, 60});
  // Many dense transactions that do not merge: bit rows below masks and below lists.
  all.push_back({"large and dense", random_grid(random, 3000, 24, 50), 300});
  all.push_back({"large, dense and wide", random_grid(random, 1200, 68, 90), 885});
  for (const int64_t items : {63, 64, 65, 66}) {
    std::vector<TidItem> rows = random_grid(random, 90, items, 20);
    for (int64_t tid = 0; tid < 90; ++tid) rows.push_back({tid, 500});  // in all transactions
    all.push_back({"around 64 items", rows, 6});
  }
  return all;
}

TEST(ItemsetRun, ListsAnswerLikeTheOracle) {
  for (const Wide& wide : wide_relations()) {
    const TidsetOracle oracle(wide.rows, static_cast<uint64_t>(wide.min_count));
    EXPECT_GT(oracle.rows.size(), 100u) << wide.name;
    for (const MaskKernel& kernel : mask_kernels()) {
      ItemsetQuery query;
      query.min_count = wide.min_count;
      query.kernel = &select_mask_kernel(kernel.name);
      ASSERT_EQ(difference(sorted(mine(wide.rows, query)), oracle.rows), "") << wide.name << ", " << kernel.name;
      query.max_length = 3;
      query.min_length = 2;
      std::vector<ItemsetRow> expected = oracle.rows;
      std::erase_if(expected, [](const ItemsetRow& row) { return row.items.size() < 2 || row.items.size() > 3; });
      ASSERT_EQ(difference(sorted(mine(wide.rows, query)), expected), "") << wide.name << ", " << kernel.name;
    }
  }
}

/// Which of all frequent itemsets belong to a target, straight from the definitions.
std::vector<ItemsetRow> choose(ItemsetTarget target, const std::vector<ItemsetRow>& all, uint64_t transactions) {
  std::map<std::vector<int64_t>, uint64_t> support;
  std::map<std::vector<int64_t>, bool> dropped;
  for (const ItemsetRow& row : all) support[row.items] = row.support;
  for (const ItemsetRow& row : all)
    for (size_t k = 0; k < row.items.size(); ++k) {
      std::vector<int64_t> subset = row.items;
      subset.erase(subset.begin() + static_cast<ptrdiff_t>(k));
      const bool same = (subset.empty() ? transactions : support[subset]) == row.support;
      if (target == ItemsetTarget::kGenerators)
        dropped[row.items] |= same;
      else
        dropped[subset] |= target == ItemsetTarget::kMaximal || same;
    }
  std::vector<ItemsetRow> rows = all;
  if (target != ItemsetTarget::kAll) std::erase_if(rows, [&](const ItemsetRow& row) { return dropped[row.items]; });
  return rows;
}

uint64_t transactions_of(const std::vector<TidItem>& rows) {
  std::set<int64_t> tids;
  for (const TidItem& pair : rows) tids.insert(pair.tid);
  return tids.size();
}

constexpr ItemsetTarget kChosen[] = {ItemsetTarget::kClosed, ItemsetTarget::kMaximal, ItemsetTarget::kGenerators};

TEST(ItemsetRun, ListsAnswerTargetsLikeTheOracle) {
  Random random(kSeed + 7);
  std::vector<Wide> all = wide_relations();
  // The items passed over fill one word behind the candidates, or several; there are nodes on lists below other nodes.
  for (int k = 0; k < 150; ++k) {
    const int64_t tids = 8 + random.signed_below(30);
    std::vector<TidItem> rows = random_grid(random, tids, 66 + random.signed_below(140), 3 + random.below(14));
    for (int64_t tid = 0; tid < tids; ++tid)
      for (int64_t item = 300; item < 304; ++item)
        if (random.chance(90)) rows.push_back({tid, item});
    all.push_back({"small and wide", std::move(rows), 2 + static_cast<int64_t>(tids / 12)});
  }
  // Each transaction is of a group that has items of its own, between items of all groups: a node on lists has more than
  // 64 candidates, whose pairs are counted, and each of these some of its group, a few or more than a leaf.
  for (const uint64_t density : {40, 65}) {
    std::vector<TidItem> rows = random_grid(random, 600, 110, 16);
    for (int64_t tid = 0; tid < 600; ++tid)
      for (int64_t item = 0; item < 12; ++item)
        if (random.chance(density)) rows.push_back({tid, item < 4 ? 1000 + item : 2000 + tid % 9 * 12 + item});
    all.push_back({"groups", std::move(rows), 11});
  }
  // The rarest item meets every other one in two transactions: its node has more candidates than pairs are counted of.
  std::vector<TidItem> rows;
  int64_t next = 0;
  for (int64_t a = 0; a < 33; ++a) {
    rows.push_back({a, 5000});
    for (int64_t b = 0; b < a; ++b) {
      // Some pairs of transactions have two or three items.
      for (const int64_t end = next + 1 + (b % 9 == 0 ? a % 3 : 0); next < end; ++next) {
        rows.insert(rows.end(), {{a, next}, {b, next}});
        for (int k = 0; k < 34; ++k) rows.push_back({33 + random.signed_below(4000), next});
      }
    }
  }
  all.push_back({"many candidates", std::move(rows), 2});
  uint64_t answers = 0;
  for (const Wide& wide : all) {
    const TidsetOracle oracle(wide.rows, static_cast<uint64_t>(wide.min_count));
    for (const ItemsetTarget target : kChosen) {
      ItemsetQuery query;
      query.min_count = wide.min_count;
      query.target = target;
      const std::vector<ItemsetRow> expected = choose(target, oracle.rows, transactions_of(wide.rows));
      answers += expected.size();
      ASSERT_EQ(difference(sorted(mine(wide.rows, query)), expected), "")
          << wide.name << ", " << describe_query(query) << ", seed " << kSeed;
    }
  }
  EXPECT_GT(answers, 100000u);
}

TEST(ItemsetRun, OrderDoesNotDependOnRowsThreadsKernelOrAlgorithm) {
  Random random(kSeed + 3);
  std::vector<Wide> all = wide_relations();
  for (int k = 0; k < 20; ++k) all.push_back({"small", draw_relation(random, 14), 2});
  for (Wide& wide : all) {
    ItemsetQuery query;
    query.min_count = wide.min_count;
    const std::vector<ItemsetRow> expected = mine(wide.rows, query);
    random.shuffle(wide.rows);
    const PackedRows packed(wide.rows, kSeed);
    for (const MaskKernel& kernel : mask_kernels())
      for (const int threads : {1, 3}) {
        query.kernel = &select_mask_kernel(kernel.name);
        MemoryMeter meter;
        ItemsetRun run(packed.chunks(), {}, query, {.threads = threads, .memory = &meter, .cancel = {}});
        ASSERT_EQ(difference(pull(run, {.threads = threads, .memory = &meter, .cancel = {}}), expected), "")
            << wide.name << ", " << threads << " threads, " << kernel.name;
      }
    for (const ItemsetTarget target : kChosen) {
      query.target = target;
      std::vector<ItemsetRow> one_thread;
      for (const int threads : {1, 3}) {
        MemoryMeter meter;
        const ExecutionOptions options{.threads = threads, .memory = &meter, .cancel = {}};
        ItemsetRun run(packed.chunks(), {}, query, options);
        const std::vector<ItemsetRow> rows = pull(run, options);
        if (threads == 1) one_thread = rows;
        ASSERT_EQ(difference(rows, one_thread), "") << wide.name << ", " << describe_query(query);
      }
    }
    query.target = ItemsetTarget::kAll;
    for (const ItemsetAlgorithm algorithm : {ItemsetAlgorithm::kPbi, ItemsetAlgorithm::kTbi, ItemsetAlgorithm::kDfs}) {
      query.algorithm = algorithm;
      ASSERT_EQ(difference(mine(wide.rows, query), expected), "")
          << wide.name << ", algorithm " << static_cast<int>(algorithm) << ", seed " << kSeed;
    }
  }
}

TEST(ItemsetRun, EmptyInputsHaveNoItemsets) {
  ItemsetQuery query;
  query.min_count = 1;
  EXPECT_TRUE(mine({}, query).empty());
  query.min_count = 3;
  EXPECT_TRUE(mine({{1, 1}, {2, 1}}, query).empty());
}

// The query has no threshold, but the rare itemsets, 2^50 of them, must not be searched.
TEST(ItemsetRun, BestItemsetsAreFoundFromTheTop) {
  Random random(kSeed + 5);
  std::vector<TidItem> rows = random_grid(random, 300, 12, 30);
  for (int64_t item = 1000; item < 1050; ++item) rows.push_back({7, item});
  for (const ItemsetTarget target : {ItemsetTarget::kAll, ItemsetTarget::kClosed, ItemsetTarget::kGenerators}) {
    ItemsetQuery query;
    query.top_k = 30;
    query.target = target;
    query.min_length = 2;
    std::vector<TidItem> frequent = rows;
    std::erase_if(frequent, [](const TidItem& pair) { return pair.item >= 1000; });
    ASSERT_EQ(difference(mine(rows, query), ItemsetOracle(frequent).answer(query)), "") << describe_query(query);
  }
}

// 2^50 itemsets have one support. Only those short enough to be among the best may be visited.
TEST(ItemsetRun, BestItemsetsAreTheShortOnesOfABlock) {
  for (const int64_t others : {0, 20})
    for (const int64_t first : {0, 100}) {  // the block's values come before those of the other items, or behind
      std::vector<TidItem> rows;
      for (int64_t tid = 0; tid < 100 + others; ++tid) {
        for (int64_t item = 0; tid < 100 && item < 50; ++item) rows.push_back({tid, first + item});
        rows.push_back({tid, 60 + tid % 7});
      }
      ItemsetQuery query;
      query.top_k = 60;
      std::vector<ItemsetRow> expected;
      for (int64_t item = 0; item < 50; ++item) expected.push_back({{first + item}, 100});
      for (int64_t item = 1; item <= 10; ++item) expected.push_back({{first, first + item}, 100});
      for (const ItemsetAlgorithm algorithm : {ItemsetAlgorithm::kAuto, ItemsetAlgorithm::kDfs}) {
        query.algorithm = algorithm;
        ASSERT_EQ(difference(mine(rows, query), expected), "") << others << " others, " << describe_query(query);
      }
    }
}

// One relation whose search uses lists, masks and tables. It has two thousand million answers, so it never ends by itself.
std::vector<TidItem> endless() {
  Random random(kSeed + 4);
  std::vector<TidItem> rows = random_grid(random, 200, 80, 10);
  for (int64_t tid = 0; tid < 50; ++tid)
    for (int64_t item = 100; item < 131; ++item) rows.push_back({tid, item});
  return rows;
}

TEST(ItemsetStream, StopsAtMaxResults) {
  const PackedRows packed(endless());
  for (const int64_t max_results : {1, 4095, 4096, 4097, 100000}) {
    ItemsetQuery query;
    query.min_count = 3;
    query.max_results = max_results;
    MemoryMeter meter;
    ItemsetRun run(packed.chunks(), {}, query, {.memory = &meter, .cancel = {}});
    Truncation truncated{};
    EXPECT_EQ(pull(run, {.threads = 2, .memory = &meter, .cancel = {}}, &truncated).size(),
              static_cast<size_t>(max_results));
    EXPECT_EQ(truncated.cause, Truncation::kMaxResults);
    EXPECT_LT(meter.peak(), size_t{32} << 20);
  }
}

TEST(ItemsetStream, MaxResultsReachedExactlyIsNotTruncated) {
  ItemsetQuery query;
  query.min_count = 1;
  query.max_results = 3;
  const PackedRows packed({{1, 1}, {1, 2}});
  MemoryMeter meter;
  ItemsetRun run(packed.chunks(), {}, query, {.memory = &meter, .cancel = {}});
  Truncation truncated{};
  EXPECT_EQ(pull(run, {.memory = &meter, .cancel = {}}, &truncated).size(), 3u);
  EXPECT_EQ(truncated.cause, Truncation::kNone);
}

struct NoThreads final : ThreadBudget {
  size_t take(size_t) noexcept override { return 0; }
  void give_back(size_t) noexcept override {}
};

/// Long runs of steps between two answers do not fit into a pass.
TEST(ItemsetStream, EndsWithoutThreadsWhereFewStepsAreAnswers) {
  constexpr int64_t kItems = 18;  // transaction k has all items but k
  std::vector<TidItem> rows;
  for (int64_t tid = 0; tid < kItems; ++tid)
    for (int64_t item = 0; item < kItems; ++item)
      if (item != tid) rows.push_back({tid, item});
  ItemsetQuery query;
  query.min_count = 1;
  query.min_length = kItems - 1;
  query.timeout_ms = 60000;
  MemoryMeter meter(uint64_t{2} << 20);
  NoThreads none;
  const ExecutionOptions options{.threads = 1, .memory = &meter, .cancel = {}, .helpers = &none};
  const PackedRows packed(rows);
  ItemsetRun run(packed.chunks(), {}, query, options);
  ItemsetStream stream(run, options);
  std::vector<ItemsetStep> batch;
  while (stream.next(batch)) {
  }
  EXPECT_EQ(stream.truncation().cause, Truncation::kNone);
  EXPECT_EQ(stream.results(), uint64_t{kItems});
}

TEST(ItemsetStream, StopsAfterTheTimeout) {
  const PackedRows packed(endless());
  ItemsetQuery query;
  query.min_count = 3;
  query.timeout_ms = 50;
  MemoryMeter meter;
  ItemsetRun run(packed.chunks(), {}, query, {.memory = &meter, .cancel = {}});
  ItemsetStream stream(run, {.threads = 2, .memory = &meter, .cancel = {}});
  std::vector<ItemsetStep> batch;
  while (stream.next(batch)) EXPECT_LT(meter.current(), size_t{32} << 20);
  EXPECT_EQ(stream.truncation().cause, Truncation::kTimeout);
}

TEST(ItemsetStream, MayBeLeftAtAnyTime) {
  const PackedRows packed(endless());
  for (int batches = 0; batches < 4; ++batches)
    for (const int threads : {1, 3}) {
      ItemsetQuery query;
      query.min_count = 3;
      MemoryMeter meter;
      ItemsetRun run(packed.chunks(), {}, query, {.memory = &meter, .cancel = {}});
      const size_t before = meter.current();
      {
        ItemsetStream stream(run, {.threads = threads, .memory = &meter, .cancel = {}});
        std::vector<ItemsetStep> batch;
        for (int k = 0; k < batches; ++k) EXPECT_TRUE(stream.next(batch));
      }
      EXPECT_EQ(meter.current(), before);
    }
}

TEST(ItemsetStream, CanBeCancelledAtEveryPoll) {
  struct Counter {
    std::atomic<int64_t> left;
    static bool poll(void* arg) { return static_cast<Counter*>(arg)->left.fetch_sub(1) <= 0; }
  };
  const PackedRows packed(wide_relations()[3].rows);
  std::vector<ItemsetQuery> queries(kItemsetAlgorithms + std::size(kChosen));
  for (size_t k = 0; k < queries.size(); ++k)
    if (k < kItemsetAlgorithms)
      queries[k].algorithm = static_cast<ItemsetAlgorithm>(k);
    else
      queries[k].target = kChosen[k - kItemsetAlgorithms];
  for (ItemsetQuery& query : queries) {
    query.min_count = 4;
    int cancelled = 0;
    bool done = false;
    for (int64_t polls = 0; !done && polls < 3000; polls += 1 + polls / 20) {
      Counter counter{polls};
      MemoryMeter meter;
      const ExecutionOptions options{.threads = 2, .memory = &meter, .cancel = {Counter::poll, &counter}};
      try {
        ItemsetRun run(packed.chunks(), {}, query, options);
        pull(run, options);
        done = true;
      } catch (const Error& error) {
        ASSERT_EQ(error.code(), ErrorCode::kCancelled);
        ++cancelled;
      }
      ASSERT_EQ(meter.current(), 0u);
    }
    EXPECT_GT(cancelled, 5);
  }
}

TEST(ItemsetStream, EndsWithAnErrorAtEveryMemoryLimit) {
  const PackedRows packed(wide_relations()[3].rows);
  std::vector<ItemsetQuery> queries(2 + std::size(kChosen));
  queries[1].target = ItemsetTarget::kClosed;
  queries[1].algorithm = ItemsetAlgorithm::kTbi;
  for (size_t k = 0; k < std::size(kChosen); ++k) queries[2 + k].target = kChosen[k];
  for (ItemsetQuery& query : queries) {
    query.min_count = 4;
    bool enough = false;
    for (size_t limit = 1000; !enough; limit += limit / 4) {
      MemoryMeter meter(limit);
      try {
        ItemsetRun run(packed.chunks(), {}, query, {.threads = 2, .memory = &meter, .cancel = {}});
        pull(run, {.threads = 2, .memory = &meter, .cancel = {}});
        enough = true;
      } catch (const Error& error) {
        ASSERT_EQ(error.code(), ErrorCode::kMemoryLimit);
      }
      ASSERT_EQ(meter.current(), 0u);
      ASSERT_LT(limit, size_t{1} << 30);
    }
  }
}

TEST(ItemsetQuery, RefusesBadParameters) {
  const auto error_of = [](auto change) {
    ItemsetQuery query;
    query.min_count = 2;
    change(query);
    try {
      query.check();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidParameter);
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(error_of([](ItemsetQuery&) {}), "");
  EXPECT_EQ(error_of([](ItemsetQuery& q) { q.min_support = 0.5; }), "min_count 2 and min_support 0.5 exclude each other");
  EXPECT_EQ(error_of([](ItemsetQuery& q) { q.min_count.reset(); }), "a threshold is missing");
  EXPECT_EQ(error_of([](ItemsetQuery& q) { q.min_count.reset(), q.top_k = 3; }), "");
  EXPECT_EQ(error_of([](ItemsetQuery& q) { q.min_count = 0; }), "min_count must be at least 1, not 0");
  EXPECT_EQ(error_of([](ItemsetQuery& q) { q.min_count.reset(), q.min_support = 1.5; }),
            "min_support must be above 0 and at most 1, not 1.5");
  EXPECT_EQ(error_of([](ItemsetQuery& q) { q.max_support = 0; }), "max_support must be above 0 and at most 1, not 0");
  EXPECT_EQ(error_of([](ItemsetQuery& q) { q.max_length = 0; }), "max_length must be at least 1, not 0");
  EXPECT_EQ(error_of([](ItemsetQuery& q) { q.min_length = 3, q.max_length = 2; }), "min_length 3 is above max_length 2");
  EXPECT_EQ(error_of([](ItemsetQuery& q) { q.top_k = 0; }), "top_k must be at least 1, not 0");
  EXPECT_EQ(error_of([](ItemsetQuery& q) { q.timeout_ms = 0; }), "timeout must be above 0, not 0 ms");
  EXPECT_THROW(parse_itemset_target("some"), Error);
  EXPECT_THROW(parse_itemset_algorithm("some"), Error);
  EXPECT_EQ(parse_itemset_algorithm("tbi"), ItemsetAlgorithm::kTbi);
}

// ---- reference answers

std::vector<TidItem> read_transactions(const std::string& path) {
  FILE* const pipe = popen(("zstd -dc '" + path + "'").c_str(), "r");
  std::vector<TidItem> rows;
  int64_t tid = 0;
  int64_t item = -1;
  for (int c; (c = std::fgetc(pipe)) != EOF;) {
    if (c >= '0' && c <= '9') {
      item = (item < 0 ? 0 : item * 10) + (c - '0');
      continue;
    }
    if (item >= 0) rows.push_back({tid, item});
    item = -1;
    tid += c == '\n';
  }
  pclose(pipe);
  return rows;
}

TEST(ItemsetRun, CountsOfReferenceDataByLength) {
  const char* const folder = std::getenv("BATMAP_TEST_DATA");
  if (folder == nullptr) GTEST_SKIP() << "BATMAP_TEST_DATA is not set: no data sets to compare with";
  const ReferenceCounts expected = reference_counts(folder);
  ASSERT_FALSE(expected.empty());
  std::string loaded;
  std::vector<TidItem> relation;
  for (const auto& [of, counts] : expected) {
    if (loaded != of.first) relation = read_transactions(std::string(folder) + "/fimi/" + of.first + ".dat.zst");
    loaded = of.first;
    ASSERT_FALSE(relation.empty()) << loaded;
    ItemsetQuery query;
    query.min_count = of.second;
    MemoryMeter meter;
    const PackedRows packed(relation);
    ItemsetRun run(packed.chunks(), {}, query, {.memory = &meter, .cancel = {}});
    std::map<uint64_t, uint64_t> found;
    for (const SpectrumRow& row : run.spectrum()) found[row.length] += row.itemsets;
    EXPECT_EQ(found, counts) << of.first << ", min_count " << of.second;
  }
}

}  // namespace
}  // namespace batmap::test
