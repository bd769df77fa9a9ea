// Counts of listed pairs against loops over maps: relations that are each awkward in another way, lists of several kinds,
// sets and bags, an answer for each pair or for each row of the list, several numbers of threads. Then failures: too little
// memory, cancellation.
#include "pairs/listed_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "test/unit/shared/failing_run.h"
#include "test/unit/shared/shapes.h"

namespace batmap::test {
namespace {

struct Input {
  std::string name;
  std::vector<TidItem> list;  // an item of each side
  std::vector<TidItem> left;
  std::vector<TidItem> right;
};

/// Pairs of items of the two sides; some of them are unknown, and some repeat.
std::vector<TidItem> random_list(Random& random, const std::vector<TidItem>& left, const std::vector<TidItem>& right,
                                 uint64_t pairs) {
  const auto item_of = [&](const std::vector<TidItem>& side) {
    return side.empty() || random.chance(5) ? random.signed_below(1000) - 500 : side[random.below(side.size())].item;
  };
  std::vector<TidItem> list;
  for (uint64_t k = 0; k < pairs; ++k)
    list.push_back(!list.empty() && random.chance(20) ? list[random.below(list.size())]
                                                      : TidItem{item_of(left), item_of(right)});
  return list;
}

/// Edges of a graph in which few vertices have most edges.
std::vector<TidItem> skewed_edges(Random& random, uint64_t edges, uint64_t vertices) {
  std::vector<TidItem> rows;
  for (uint64_t k = 0; k < edges; ++k)
    rows.push_back({random.signed_below(random.below(vertices) + 1), random.signed_below(random.below(vertices) + 1)});
  return rows;
}

std::vector<Input> inputs(uint64_t seed) {
  Random random(seed);
  std::vector<Input> all;
  const auto add = [&](std::string name, std::vector<TidItem> list, std::vector<TidItem> left, std::vector<TidItem> right) {
    all.push_back({std::move(name), std::move(list), std::move(left), std::move(right)});
  };
  const auto scattered = [](std::vector<TidItem> rows) {
    for (TidItem& pair : rows) pair = {scattered_key(pair.tid), scattered_key(pair.item)};
    return rows;
  };
  add("all empty", {}, {}, {});
  add("no list", {}, random_rows(random, 50, 10, 10), random_rows(random, 50, 10, 10));
  add("no left rows", random_list(random, {}, {}, 20), {}, random_rows(random, 50, 10, 10));
  add("no right rows", random_list(random, {}, {}, 20), random_rows(random, 50, 10, 10), {});
  add("unknown items", {{-1, 3}, {3, -1}, {kMin, kMax}, {7, 7}}, random_rows(random, 90, 10, 10),
      random_rows(random, 90, 10, 10));
  add("one pair many times", std::vector<TidItem>(2000, TidItem{3, 4}), random_rows(random, 500, 40, 9),
      random_rows(random, 500, 40, 9));
  add("one row many times", {{-1, -2}, {-1, -1}}, std::vector<TidItem>(300, TidItem{5, -1}),
      std::vector<TidItem>(5000, TidItem{5, -2}));
  add("extremes", {{kMin, kMax}, {kMax, kMin}, {kMax, kMax}, {kMin, 0}},
      {{kMin, kMin}, {kMax, kMax}, {kMax, kMin}, {0, kMax}}, {{kMin, kMax}, {kMax, kMin}, {1, 0}, {kMin, 0}});
  for (const Shape& shape : shapes(seed))
    add(shape.name, random_list(random, shape.rows, shape.rows, 300), shape.rows, shape.rows);
  {
    const std::vector<TidItem> left = scattered(random_rows(random, 900, 300, 40));
    const std::vector<TidItem> right = scattered(random_rows(random, 900, 200, 70));
    add("scattered", random_list(random, left, right, 700), left, right);
  }
  {
    // One item of either side has most rows; it is paired with all others.
    std::vector<TidItem> left = random_rows(random, 3000, 5000, 600);
    std::vector<TidItem> right = random_rows(random, 3000, 5000, 600);
    for (int64_t tid = 0; tid < 5000; tid += 2) left.push_back({tid, 600});
    for (int64_t tid = 0; tid < 5000; tid += 3) right.push_back({tid, 600});
    std::vector<TidItem> list = random_list(random, left, right, 500);
    for (int64_t item = 0; item <= 600; ++item) {
      list.push_back({600, item});
      list.push_back({item, 600});
    }
    add("huge items", list, left, right);
  }
  {
    // As SQL asks for triangles: edges a -> b as (b, a), edges b -> c as (b, c), and the edges a -> c.
    const std::vector<TidItem> edges = skewed_edges(random, 3000, 150);
    std::vector<TidItem> turned;
    for (const TidItem& edge : edges) turned.push_back({edge.item, edge.tid});
    add("triangles", edges, turned, edges);
  }
  {
    // More answers than a task has.
    std::vector<TidItem> list;
    for (int64_t a = 0; a < 150; ++a)
      for (int64_t b = 0; b < 150; ++b) list.push_back({a, b});
    const std::vector<TidItem> rows = random_rows(random, 4000, 300, 150);
    add("a long list", list, rows, rows);
  }
  return all;
}

using Answer = std::tuple<int64_t, int64_t, uint64_t, uint64_t, uint64_t>;  // items, count, times, row

/// All answers, sorted.
std::vector<Answer> oracle(const Input& input, const ListedQuery& query) {
  std::map<int64_t, std::map<int64_t, uint64_t>> sides[2];  // by item: rows of each tid
  for (const TidItem& row : input.left) ++sides[0][row.item][row.tid];
  for (const TidItem& row : input.right) ++sides[1][row.item][row.tid];
  const auto count = [&](const TidItem& pair) {
    uint64_t found = 0;
    for (const auto& [tid, rows] : sides[0][pair.tid]) {
      const auto other = sides[1][pair.item].find(tid);
      if (other != sides[1][pair.item].end()) found += query.bag ? rows * other->second : 1;
    }
    return found;
  };
  std::map<std::pair<int64_t, int64_t>, std::vector<uint64_t>> rows;
  for (size_t k = 0; k < input.list.size(); ++k) rows[{input.list[k].tid, input.list[k].item}].push_back(k);
  std::vector<Answer> answers;
  for (const auto& [pair, numbers] : rows) {
    const uint64_t found = count({pair.first, pair.second});
    if (found < query.min_count) continue;
    if (!query.each_row) answers.emplace_back(pair.first, pair.second, found, numbers.size(), 0);
    for (const uint64_t number : numbers)
      if (query.each_row) answers.emplace_back(pair.first, pair.second, found, 1, number);
  }
  std::sort(answers.begin(), answers.end());
  return answers;
}

struct Found {
  std::vector<Answer> answers;  // in the order in which they came
  RunRecord record;
};

Found run(const Input& input, const ListedQuery& query, const ExecutionOptions& options, uint64_t pieces = 0) {
  const PackedRows list(input.list, pieces);
  const PackedRows left(input.left, pieces);
  const PackedRows right(input.right, pieces);
  ListedRun run({list.chunks(), left.chunks(), right.chunks()}, query, options);
  EXPECT_FALSE(options.memory->limit() == MemoryMeter::kUnlimited && run.may_run_out());
  Found found;
  std::vector<ListedPair> batch{{}, {}};  // next() must overwrite it
  while (run.next(batch))
    for (const ListedPair& pair : batch)
      found.answers.emplace_back(pair.item_a, pair.item_b, pair.count, pair.times, query.each_row ? pair.row : 0);
  EXPECT_TRUE(batch.empty());
  EXPECT_FALSE(run.next(batch));
  found.record = run.record();
  return found;
}

Found run(const Input& input, const ListedQuery& query, int threads, uint64_t pieces = 0) {
  MemoryMeter meter;
  Found found = run(input, query, {.threads = threads, .memory = &meter, .cancel = {}}, pieces);
  EXPECT_EQ(meter.current(), 0u);
  return found;
}

std::vector<ListedQuery> queries() {
  std::vector<ListedQuery> all;
  for (const uint64_t min_count : {0, 1, 3})
    for (const bool bag : {false, true})
      for (const bool each_row : {false, true}) all.push_back({min_count, bag, each_row});
  return all;
}

TEST(ListedRunTest, AnswersLikeTheOracle) {
  size_t answers = 0;
  for (const Input& input : inputs(kSeed)) {
    for (const ListedQuery& query : queries()) {
      SCOPED_TRACE(input.name + ", min_count " + std::to_string(query.min_count) + (query.bag ? ", bag" : "") +
                   (query.each_row ? ", each row" : "") + ", seed " + std::to_string(kSeed));
      const std::vector<Answer> expected = oracle(input, query);
      const Found found = run(input, query, 1);
      std::vector<Answer> sorted = found.answers;
      std::sort(sorted.begin(), sorted.end());
      ASSERT_EQ(sorted, expected);
      EXPECT_EQ(found.record.results, expected.size());
      EXPECT_EQ(found.record.tasks_done, found.record.tasks);
      ASSERT_EQ(run(input, query, 3, kSeed).answers, found.answers) << "with threads";
      answers += expected.size();
    }
  }
  EXPECT_GT(answers, 80000u);
}

TEST(ListedRunTest, LooksUpTheSmallerItem) {
  Input input{"star", {}, {}, {}};
  for (int64_t tid = 0; tid < 10000; ++tid) input.left.push_back({tid, 0});
  for (int64_t item = 0; item < 100; ++item) {
    input.right.push_back({item, item});
    input.list.push_back({0, item});
  }
  EXPECT_EQ(run(input, {}, 1).record.pair_instances, 100u);
  std::swap(input.left, input.right);
  for (TidItem& pair : input.list) std::swap(pair.tid, pair.item);
  const Found turned = run(input, {}, 1);
  EXPECT_EQ(turned.record.pair_instances, 100u);
  EXPECT_EQ(turned.record.items, 101u);
  EXPECT_EQ(turned.record.items_kept, 101u);
  EXPECT_EQ(turned.record.occurrences, 10100u);
}

/// Several tasks, with codes of every kind.
Input large_input() {
  Random random(kSeed + 1);
  Input input{"large", {}, random_rows(random, 30000, 4000, 300), random_rows(random, 30000, 4000, 200)};
  for (std::vector<TidItem>* const rows : {&input.left, &input.right})
    for (TidItem& row : *rows) row = {scattered_key(row.tid), scattered_key(row.item)};
  input.list = random_list(random, input.left, input.right, 40000);
  return input;
}

TEST(ListedRunTest, CanBeCancelledAnywhere) {
  const Input input = large_input();
  for (const int threads : {1, 3}) {
    const std::vector<Answer> expected = run(input, {.bag = true}, threads).answers;
    cancel_everywhere(threads, 20, [&](const ExecutionOptions& options) {
      EXPECT_EQ(run(input, {.bag = true}, options).answers, expected);
    });
  }
}

TEST(ListedRunTest, CanRunOutOfMemoryAtEveryCharge) {
  const Input input = large_input();
  for (const bool bag : {false, true}) {
    const std::vector<Answer> expected = run(input, {.bag = bag}, 3).answers;
    run_out_of_memory_everywhere(3, 32768, 10, [&](const ExecutionOptions& options) {
      EXPECT_EQ(run(input, {.bag = bag}, options).answers, expected);
    });
  }
}

// A run that says that memory suffices does not run out of it later.
TEST(ListedRunTest, KnowsWhenMemorySuffices) {
  const Input input = large_input();
  const PackedRows list(input.list);
  const PackedRows left(input.left);
  const PackedRows right(input.right);
  bool is_safe = false;
  for (size_t limit = 1 << 20; !is_safe; limit += 1 << 18) {
    ASSERT_LT(limit, size_t{64} << 20);
    MemoryMeter meter(limit);
    std::optional<ListedRun> run;
    const ExecutionOptions options{.threads = 3, .memory = &meter, .cancel = {}};
    try {
      run.emplace(ListedInput{list.chunks(), left.chunks(), right.chunks()}, ListedQuery{.min_count = 0}, options);
    } catch (const Error&) {
      continue;
    }
    is_safe = !run->may_run_out();
    std::vector<ListedPair> batch;
    while (is_safe && run->next(batch)) {
    }
  }
}

}  // namespace
}  // namespace batmap::test
