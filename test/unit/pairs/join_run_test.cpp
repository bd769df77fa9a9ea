// Runs of join-project against sets and loops: every method, every kernel of this machine, several numbers of
// threads, over pairs of relations that are each awkward in another way. All must give the same sequence of
// rows. Then failures: invalid parameters, too little memory, cancellation.
#include "pairs/join_run.h"

#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "test/unit/shared/failing_run.h"
#include "test/unit/shared/grid.h"
#include "test/unit/shared/shapes.h"

namespace batmap::test {
namespace {

struct Config {
  std::optional<PairMethod> method;
  const AndPopcountKernel* kernel;
  int threads;

  friend std::string config_name(const Config& config) {
    return std::string(config.method ? pair_method_name(*config.method) : "auto") + "_" + config.kernel->name + "_" +
           std::to_string(config.threads);
  }
  friend void PrintTo(const Config& config, std::ostream* out) { *out << config_name(config); }
};

std::vector<Config> configs() {
  std::vector<Config> all;
  std::vector<std::optional<PairMethod>> methods{std::nullopt};
  for (const PairMethodName& entry : kPairMethodNames) methods.push_back(entry.method);
  for (const std::optional<PairMethod>& method : methods)
    for (const AndPopcountKernel& kernel : and_popcount_kernels()) {
      if (find_and_popcount(kernel.name) == nullptr) continue;
      const bool has_kernel = method && *method != PairMethod::kHorizontal && *method != PairMethod::kMerge;
      if (!has_kernel && &kernel != &best_and_popcount()) continue;
      for (const int threads : {1, 3})
        if (full_grid() || threads == 3 || &kernel == &best_and_popcount()) all.push_back({method, &kernel, threads});
    }
  return all;
}

/// Rows (b, a) and (b, c).
struct Sides {
  std::string name;
  std::vector<TidItem> left;
  std::vector<TidItem> right;
};

std::vector<Sides> sides(uint64_t seed) {
  Random random(seed);
  std::vector<Sides> all;
  const auto add = [&](const char* name, std::vector<TidItem> left, std::vector<TidItem> right) {
    all.push_back({name, std::move(left), std::move(right)});
  };
  const auto scattered = [](std::vector<TidItem> rows) {
    for (TidItem& pair : rows) pair = {scattered_key(pair.tid), scattered_key(pair.item)};
    return rows;
  };
  const auto shifted = [](std::vector<TidItem> rows, int64_t tids, int64_t items) {
    for (TidItem& pair : rows) pair = {pair.tid + tids, pair.item + items};
    return rows;
  };
  add("both empty", {}, {});
  add("left empty", {}, random_rows(random, 50, 10, 10));
  add("right empty", random_rows(random, 50, 10, 10), {});
  add("no shared b", random_rows(random, 50, 10, 10), shifted(random_rows(random, 50, 10, 10), 10, 0));
  add("no shared scattered b", scattered(random_rows(random, 50, 10, 10)),
      scattered(shifted(random_rows(random, 50, 10, 10), 10, 0)));
  add("one row each", {{5, 7}}, {{5, 7}});
  add("one row many times", std::vector<TidItem>(300, TidItem{-1, -1}), std::vector<TidItem>(5000, TidItem{-1, -2}));
  add("extremes", {{kMin, kMin}, {kMax, kMax}, {kMax, kMin}, {0, kMax}}, {{kMin, kMax}, {kMax, kMin}, {1, 0}});
  add("the same on both sides", random_grid(random, 40, 12, 40), {});
  all.back().right = all.back().left;
  add("sparse", random_rows(random, 600, 300, 60), random_rows(random, 500, 300, 80));
  add("dense", random_grid(random, 700, 25, 70), random_grid(random, 650, 70, 60));
  add("full", random_grid(random, 66, 9, 100), random_grid(random, 66, 65, 100));
  add("left much longer", random_rows(random, 5000, 200, 700), random_rows(random, 60, 250, 3));
  add("right much longer", random_rows(random, 60, 250, 3), random_rows(random, 5000, 200, 700));
  add("mostly one-sided b", random_rows(random, 900, 5000, 40), shifted(random_rows(random, 900, 5000, 30), 4000, 0));
  add("scattered, mostly one-sided", scattered(random_rows(random, 900, 3000, 40)),
      scattered(shifted(random_rows(random, 900, 3000, 30), 2000, 0)));
  add("one b with all", random_grid(random, 1, 300, 100), random_grid(random, 1, 200, 100));
  add("skewed", {}, {});
  for (int i = 0; i < 1500; ++i) {
    all.back().left.push_back({random.signed_below(random.below(300) + 1), random.signed_below(random.below(90) + 1)});
    all.back().right.push_back({random.signed_below(random.below(300) + 1), random.signed_below(random.below(70) + 1)});
  }
  add("duplicates", random_grid(random, 30, 12, 40), random_grid(random, 30, 70, 40));
  for (std::vector<TidItem>* const rows : {&all.back().left, &all.back().right}) {
    const size_t distinct = rows->size();
    for (size_t i = 0; i < distinct; ++i)
      for (uint64_t copies = random.below(4 + static_cast<uint64_t>((*rows)[i].item) / 4); copies > 0; --copies)
        rows->push_back((*rows)[i]);
    random.shuffle(*rows);
  }
  for (const int64_t columns : {63, 64, 65, 511, 513})
    add("words of columns", random_grid(random, 130, 70, 20), random_grid(random, 130, columns, 20));
  add("tids of several segments", random_rows(random, 4000, 30000, 5), random_rows(random, 9000, 30000, 40));
  return all;
}

using Answer = std::map<std::pair<int64_t, int64_t>, uint64_t>;

/// The number of b that each a and c share.
Answer oracle(const Sides& sides) {
  std::map<int64_t, std::set<int64_t>> right;
  for (const TidItem& pair : sides.right) right[pair.tid].insert(pair.item);
  Answer answer;
  std::set<std::pair<int64_t, int64_t>> seen;
  for (const TidItem& pair : sides.left) {
    if (!seen.insert({pair.tid, pair.item}).second || !right.contains(pair.tid)) continue;
    for (const int64_t c : right.at(pair.tid)) ++answer[{pair.item, c}];
  }
  return answer;
}

using Row = std::tuple<int64_t, int64_t, uint64_t>;  // a, c, support

struct Found {
  std::vector<Row> rows;
  RunRecord record;
};

Found run(const Sides& sides, const JoinQuery& query, const ExecutionOptions& options, uint64_t pieces = 0) {
  const PackedRows left(sides.left, pieces);
  const PackedRows right(sides.right, pieces);
  JoinRun join(join_relations({left.chunks(), {}}, {right.chunks(), {}}, options), query, options);
  Found found;
  PairBatch batch{{}, {}};  // next() must overwrite it
  while (join.next(batch))
    for (const PairRow& row : batch) found.rows.emplace_back(row.item_a, row.item_b, row.support);
  EXPECT_TRUE(batch.empty());
  found.record = join.record();
  return found;
}

Found run(const Sides& sides, JoinQuery query, const Config& config, uint64_t pieces = 0) {
  query.method = config.method;
  query.kernels.bits = config.kernel;
  query.kernels.sets = find_set_kernel(config.kernel->name);
  MemoryMeter meter;
  Found found = run(sides, query, {.threads = config.threads, .memory = &meter, .cancel = {}}, pieces);
  EXPECT_EQ(meter.current(), 0u);
  return found;
}

/// The answer in the order of one simple method on one thread, after comparing it with the oracle.
std::vector<Row> reference(const Sides& sides, const Answer& all, const JoinQuery& query) {
  std::vector<Row> rows = run(sides, query, {PairMethod::kMerge, find_and_popcount("scalar"), 1}).rows;
  const auto min_count = static_cast<uint64_t>(query.min_count.value_or(1));
  std::vector<Row> expected;
  for (const auto& [pair, count] : all)
    if (count >= min_count) expected.emplace_back(pair.first, pair.second, query.distinct_only ? min_count : count);
  std::vector<Row> sorted = rows;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(sorted, expected) << sides.name << ", min_count " << min_count << ", seed " << kSeed;
  return rows;
}

class JoinRunTest : public testing::TestWithParam<Config> {};

TEST_P(JoinRunTest, AnswersLikeTheOracle) {
  size_t rows = 0;
  for (const Sides& sides : sides(kSeed)) {
    const Answer all = oracle(sides);
    for (const int64_t min_count : {1, 2, 3, 20, 300})
      for (const bool distinct_only : {false, true}) {
        JoinQuery query;
        if (min_count > 1) query.min_count = min_count;
        query.distinct_only = distinct_only;
        const std::vector<Row> expected = reference(sides, all, query);
        const Found found = run(sides, query, GetParam(), min_count % 2 == 0 ? kSeed : 0);
        ASSERT_EQ(found.rows, expected) << sides.name << ", min_count " << min_count << (distinct_only ? ", distinct" : "");
        EXPECT_EQ(found.record.results, expected.size());
        if (GetParam().method) {
          EXPECT_EQ(found.record.method, pair_method_name(*GetParam().method));
        }
        rows += expected.size();
      }
  }
  EXPECT_GT(rows, 10000u);
}

TEST_P(JoinRunTest, BestPairsAndTruncation) {
  for (const Sides& sides : sides(kSeed + 1)) {
    const Answer all = oracle(sides);
    std::vector<Row> best;
    for (const auto& [pair, count] : all) best.emplace_back(pair.first, pair.second, count);
    std::stable_sort(best.begin(), best.end(), [](const Row& x, const Row& y) { return std::get<2>(x) > std::get<2>(y); });
    JoinQuery query;
    query.top_k = 10;
    std::vector<Row> expected(best.begin(), best.begin() + std::min<std::ptrdiff_t>(10, std::ssize(best)));
    ASSERT_EQ(run(sides, query, GetParam()).rows, expected) << sides.name;

    // The two best pairs of each item; `best` is in the right order for both kinds of items.
    std::map<std::pair<bool, int64_t>, int> taken;
    std::set<Row> kept;
    for (const Row& row : best) {
      const bool of_a = taken[{false, std::get<0>(row)}]++ < 2;
      const bool of_c = taken[{true, std::get<1>(row)}]++ < 2;
      if (of_a || of_c) kept.insert(row);
    }
    query = {};
    query.per_item_top_k = 2;
    const std::vector<Row> found = run(sides, query, GetParam()).rows;
    ASSERT_EQ(std::set<Row>(found.begin(), found.end()), kept) << sides.name;
    ASSERT_EQ(found.size(), kept.size()) << sides.name;

    query = {};
    expected = reference(sides, all, query);
    query.max_results = 7;
    const Found cut = run(sides, query, GetParam());
    EXPECT_EQ(cut.record.truncated(), expected.size() > 7) << sides.name;
    expected.resize(std::min<size_t>(expected.size(), 7));
    ASSERT_EQ(cut.rows, expected) << sides.name;
  }
}

TEST_P(JoinRunTest, AnswersDoNotDependOnTheOrderOfRows) {
  Random random(kSeed);
  for (Sides& sides : sides(kSeed + 2)) {
    const std::vector<Row> expected = reference(sides, oracle(sides), {});
    random.shuffle(sides.left);
    random.shuffle(sides.right);
    ASSERT_EQ(run(sides, {}, GetParam()).rows, expected) << sides.name;
  }
}

struct PollCounter {
  std::atomic<uint64_t> polls{0};
  uint64_t yes_from = std::numeric_limits<uint64_t>::max();
  std::atomic<bool> said_yes{false};

  CancelToken token() {
    return {[](void* arg) {
              auto* const self = static_cast<PollCounter*>(arg);
              const bool yes = self->polls.fetch_add(1) + 1 >= self->yes_from;
              if (yes) self->said_yes = true;
              return yes;
            },
            this};
  }
};

TEST_P(JoinRunTest, CanBeCancelledAnywhere) {
  Random random(kSeed + 5);
  const Sides sides{"cancelled", random_rows(random, 9000, 2000, 70), random_grid(random, 2200, 34, 60)};
  for (const bool distinct_only : {false, true}) {
    JoinQuery query;
    query.min_count = 2;
    query.distinct_only = distinct_only;
    query.method = GetParam().method;
    query.kernels.bits = GetParam().kernel;
    const std::vector<Row> expected = run(sides, query, GetParam()).rows;
    bool done = false;
    for (uint64_t n = 1; !done; n += 1 + n / 16) {  // every poll at first, then some
      ASSERT_LT(n, 4000u) << "polls without end";
      MemoryMeter meter;
      PollCounter counter;
      counter.yes_from = n;
      try {
        const Found found = run(sides, query, {.threads = GetParam().threads, .memory = &meter, .cancel = counter.token()});
        done = true;
        EXPECT_EQ(found.rows, expected);
        EXPECT_FALSE(counter.said_yes) << "poll " << n << " said yes, yet the run went on to its end";
        EXPECT_GT(n, 8u) << "hardly ever polled";
      } catch (const Error& error) {
        ASSERT_EQ(error.code(), ErrorCode::kCancelled) << error.what();
      }
      ASSERT_EQ(meter.current(), 0u) << "after poll " << n;
    }
  }
}

TEST_P(JoinRunTest, CanRunOutOfMemoryAtEveryCharge) {
  Random random(kSeed + 6);
  Sides sides{"out of memory", random_rows(random, 3000, 500, 90), random_rows(random, 3000, 700, 60)};
  for (std::vector<TidItem>* const rows : {&sides.left, &sides.right})
    for (TidItem& pair : *rows) pair = {scattered_key(pair.tid), scattered_key(pair.item)};
  JoinQuery query;
  query.min_count = 2;
  query.method = GetParam().method;
  query.kernels.bits = GetParam().kernel;
  const std::vector<Row> expected = run(sides, query, GetParam()).rows;
  run_out_of_memory_everywhere(GetParam().threads, 4096, 10, [&](const ExecutionOptions& options) {
    EXPECT_EQ(run(sides, query, options).rows, expected);
  });
}

// Ranks exceed 16 bits, on one side, on the other, or on both.
TEST_P(JoinRunTest, MoreThan65536Items) {
  Random random(kSeed + 9);
  const auto wide = [&] {
    std::vector<TidItem> rows;
    for (int64_t item = 0; item < 70000; ++item) rows.push_back({item % 300, (item * 31) % 70000});
    return rows;
  };
  const bool quadratic = GetParam().method && *GetParam().method != PairMethod::kHorizontal;
  const std::vector<TidItem> narrow = random_rows(random, 90, 300, 4);
  std::vector<Sides> all{{"left", wide(), narrow}, {"right", narrow, wide()}};
  if (!quadratic) all.push_back({"both", wide(), wide()});
  for (Sides& sides : all) {
    if (sides.name == "both") std::erase_if(sides.right, [](const TidItem& pair) { return pair.tid % 50 != 0; });
    const std::vector<Row> found = run(sides, {}, GetParam()).rows;
    const Answer expected = oracle(sides);
    ASSERT_EQ(found.size(), expected.size()) << sides.name;
    for (const auto& [a, c, support] : found) ASSERT_EQ(expected.at({a, c}), support) << sides.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Configs, JoinRunTest, testing::ValuesIn(configs()),
                         [](const auto& config) { return config_name(config.param); });

// Ids that stand for ranks, as a dictionary gives them.
TEST(JoinRun, ItemRanksStandForItems) {
  Random random(kSeed + 4);
  const Sides ids{"ids", random_rows(random, 800, 150, 40), random_rows(random, 800, 150, 30)};
  Sides ranked = ids;
  std::vector<uint32_t> ranks[2] = {std::vector<uint32_t>(45), std::vector<uint32_t>(30)};
  for (int side = 0; side < 2; ++side) {
    std::iota(ranks[side].begin(), ranks[side].end(), 0u);
    random.shuffle(ranks[side]);
    for (TidItem& pair : side == 0 ? ranked.left : ranked.right) pair.item = ranks[side][static_cast<size_t>(pair.item)];
  }
  MemoryMeter meter;
  const ExecutionOptions options{.threads = 1, .memory = &meter, .cancel = {}};
  const PackedRows left(ids.left);
  const PackedRows right(ids.right);
  JoinRun join(join_relations({left.chunks(), ranks[0]}, {right.chunks(), ranks[1]}, options), {}, options);
  std::vector<Row> rows;
  PairBatch batch;
  while (join.next(batch))
    for (const PairRow& row : batch) rows.emplace_back(row.item_a, row.item_b, row.support);
  EXPECT_EQ(rows, reference(ranked, oracle(ranked), {}));
}

TEST(JoinRun, ReportsWhatItDid) {
  // b 1 and 2 are shared, 3 and 4 are not; a 10 and 11, c 20, 21 and 22; 12 and 23 have no shared
  // b. One row occurs twice.
  const Sides sides{
      "record", {{1, 10}, {1, 11}, {2, 10}, {3, 12}, {3, 10}, {1, 10}}, {{1, 20}, {2, 20}, {2, 21}, {2, 22}, {4, 23}}};
  const Found found = run(sides, {}, {std::nullopt, &best_and_popcount(), 1});
  EXPECT_EQ(found.record.transactions, 2u);
  EXPECT_EQ(found.record.items, 5u);
  EXPECT_EQ(found.record.items_kept, 5u);
  EXPECT_EQ(found.record.occurrences, 8u);
  EXPECT_EQ(found.record.results, 4u);
  EXPECT_EQ(found.record.pair_instances, 6u);  // 3 x 1 + 1 x 3, including the repeated row
  EXPECT_EQ(found.rows.size(), 4u);
}

TEST(JoinRun, RefusesBadParameters) {
  const auto refused = [](auto fill) {
    JoinQuery query;
    fill(query);
    try {
      query.check();
    } catch (const Error& error) {
      return error.code() == ErrorCode::kInvalidParameter;
    }
    return false;
  };
  EXPECT_FALSE(refused([](JoinQuery&) {}));
  EXPECT_TRUE(refused([](JoinQuery& q) { q.min_count = 0; }));
  EXPECT_TRUE(refused([](JoinQuery& q) { q.top_k = -1; }));
  EXPECT_TRUE(refused([](JoinQuery& q) { q.per_item_top_k = 0; }));
  EXPECT_TRUE(refused([](JoinQuery& q) { q.max_results = 0; }));
  EXPECT_FALSE(refused([](JoinQuery& q) { q.distinct_only = true; }));
  EXPECT_TRUE(refused([](JoinQuery& q) { q.distinct_only = true, q.top_k = 1; }));
  EXPECT_TRUE(refused([](JoinQuery& q) { q.distinct_only = true, q.per_item_top_k = 1; }));
}

}  // namespace
}  // namespace batmap::test
