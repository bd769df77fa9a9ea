// Triangles against three loops over the nodes: random graphs, dense and sparse, with loops, repeated and turned edges, nodes of
// any numbers and nodes with ranks, in memory and in files. Then too little memory, files that fail, and cancellation.
#include "pairs/triangle_run.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "test/unit/shared/failing_run.h"
#include "test/unit/shared/fake_files.h"
#include "test/unit/shared/shapes.h"

namespace batmap::test {
namespace {

using EdgeCount = std::tuple<int64_t, int64_t, uint64_t>;

struct GraphAnswers {
  std::vector<EdgeCount> of_edges;
  uint64_t triangles = 0;
  uint64_t edges = 0;
  uint64_t nodes = 0;
  uint64_t looked_up = 0;  // of each edge the shorter list

  bool operator==(const GraphAnswers&) const = default;
};

GraphAnswers graph_oracle(const std::vector<TidItem>& rows) {
  std::map<int64_t, std::set<int64_t>> neighbours;
  GraphAnswers answers;
  for (const TidItem& row : rows) {
    neighbours[row.tid];
    neighbours[row.item];
    if (row.tid == row.item) continue;
    neighbours[row.tid].insert(row.item);
    neighbours[row.item].insert(row.tid);
  }
  answers.nodes = neighbours.size();
  uint64_t corners = 0;
  for (const auto& [node, others] : neighbours) {
    for (const int64_t other : others) {
      if (other <= node) continue;
      uint64_t common = 0;
      for (const int64_t third : neighbours[other]) common += others.count(third);
      answers.of_edges.emplace_back(node, other, common);
      ++answers.edges;
      answers.looked_up += std::min(others.size(), neighbours[other].size());
      corners += common;
    }
  }
  answers.triangles = corners / 3;
  return answers;
}

GraphAnswers graph_answers(const std::vector<TidItem>& rows, std::span<const uint32_t> ranks,
                           const ExecutionOptions& options) {
  GraphAnswers answers;
  TriangleRun all(log_of(rows, options), ranks, false, options);
  answers.triangles = all.count();
  answers.nodes = all.nodes();
  EXPECT_EQ(all.record().tasks_done, all.record().tasks);
  TriangleRun of_edges(log_of(rows, options), ranks, true, options);
  answers.edges = of_edges.edges();
  EXPECT_EQ(all.edges(), answers.edges);
  EXPECT_EQ(of_edges.nodes(), answers.nodes);
  PairBatch batch;
  while (of_edges.next(batch))
    for (const PairRow& edge : batch) answers.of_edges.emplace_back(edge.item_a, edge.item_b, edge.support);
  EXPECT_TRUE(batch.empty());
  EXPECT_FALSE(of_edges.next(batch));
  answers.looked_up = of_edges.record().pair_instances;
  EXPECT_EQ(of_edges.record().results, answers.edges);
  EXPECT_EQ(of_edges.record().tasks_done, of_edges.record().tasks);
  return answers;
}

std::vector<TidItem> random_graph(Random& random, uint64_t edges, uint64_t nodes) {
  std::vector<TidItem> rows;
  for (uint64_t k = 0; k < edges; ++k) {
    TidItem edge{random.signed_below(random.below(nodes) + 1), random.signed_below(nodes)};
    if (!rows.empty() && random.chance(20)) edge = rows[random.below(rows.size())];
    if (random.chance(50)) std::swap(edge.tid, edge.item);
    rows.push_back(edge);
  }
  return rows;
}

std::vector<std::vector<TidItem>> graphs(Random& random) {
  std::vector<std::vector<TidItem>> graphs = {{},
                                              {{7, 7}},
                                              {{1, 2}},
                                              {{1, 2}, {2, 1}, {1, 1}},
                                              {{1, 2}, {2, 3}, {3, 1}},
                                              {{kMin, kMax}, {kMax, 0}, {0, kMin}},
                                              {{kMin, kMin + 1}, {kMin + 1, kMin + 2}, {kMin + 2, kMin}},
                                              {{kMax, kMax - 1}, {kMax - 1, kMax - 2}, {kMax, kMax - 2}}};
  std::vector<TidItem> star, loops, clique;
  for (int64_t node = 0; node < 3000; ++node) {
    star.push_back({node < 1000 ? 1000 : node, node < 1000 ? node : 1000});
    loops.push_back({node, node});
  }
  for (int64_t node = -70; node < 0; ++node)
    for (int64_t other = node; other < 0; ++other) clique.push_back({other, node});
  graphs.insert(graphs.end(), {star, loops, clique});
  for (const uint64_t nodes : {3, 10, 65, 300, 2000})
    for (const uint64_t edges : {2, 50, 1500, 4000}) graphs.push_back(random_graph(random, edges, nodes));
  return graphs;
}

/// Each graph as it is, and with nodes that are no direct codes.
void check_graphs(uint64_t seed, const std::function<void(const std::vector<TidItem>&, const GraphAnswers&)>& check) {
  Random random(seed);
  uint64_t triangles = 0;
  for (const std::vector<TidItem>& graph : graphs(random)) {
    for (const bool scattered : {false, true}) {
      std::vector<TidItem> rows = graph;
      if (scattered)
        for (TidItem& row : rows) row = {scattered_key(row.tid), scattered_key(row.item)};
      const GraphAnswers expected = graph_oracle(rows);
      SCOPED_TRACE(std::to_string(rows.size()) + " edges, seed " + std::to_string(seed));
      check(rows, expected);
      triangles += expected.triangles;
    }
  }
  EXPECT_GT(triangles, 10000u);
}

TEST(TriangleRunTest, AnswersLikeTheOracle) {
  check_graphs(kSeed, [](const std::vector<TidItem>& rows, const GraphAnswers& expected) {
    for (const int threads : {1, 3}) {
      MemoryMeter meter;
      ASSERT_EQ(graph_answers(rows, {}, {.threads = threads, .memory = &meter, .cancel = {}}), expected);
      EXPECT_EQ(meter.current(), 0u);
    }
  });
}

TEST(TriangleRunTest, InFilesAnswersLikeTheOracle) {
  int round = 0;
  for (const size_t work_bytes : {size_t{1} << 10, size_t{5} << 10, size_t{40} << 10}) {
    check_graphs(kSeed + work_bytes, [&](const std::vector<TidItem>& rows, const GraphAnswers& expected) {
      MemoryMeter meter;
      FakeFiles files;
      const ExecutionOptions options{
          .threads = 1 + ++round % 4, .memory = &meter, .cancel = {}, .files = &files, .work_bytes = work_bytes};
      ASSERT_EQ(log_of(rows, options).partitions() != nullptr, !rows.empty());
      ASSERT_EQ(graph_answers(rows, {}, options), expected) << work_bytes << " bytes, threads: " << options.threads;
      EXPECT_EQ(meter.current(), 0u);
    });
  }
}

TEST(TriangleRunTest, NamesNodesByTheirRanks) {
  Random random(kSeed + 1);
  const uint32_t nodes = 400;
  const std::vector<TidItem> rows = random_graph(random, 5000, nodes - 3);
  std::vector<uint32_t> ranks(nodes);
  for (uint32_t node = 0; node < nodes; ++node) ranks[node] = node;
  random.shuffle(ranks);
  std::vector<TidItem> ranked = rows;
  for (TidItem& row : ranked) row = {ranks[static_cast<size_t>(row.tid)], ranks[static_cast<size_t>(row.item)]};
  const GraphAnswers expected = graph_oracle(ranked);
  MemoryMeter meter;
  FakeFiles files;
  EXPECT_EQ(graph_answers(rows, ranks, {.threads = 1, .memory = &meter, .cancel = {}}), expected);
  EXPECT_EQ(graph_answers(rows, ranks, {2, &meter, {}, &files, 8 << 10}), expected);
  EXPECT_GT(files.bytes(), 0u);
}

/// Nodes on a circle, with numbers `scale` apart. Each is joined to the `reach` nodes before it and behind it.
struct Circle {
  int64_t nodes;
  int64_t reach;
  int64_t scale;

  uint64_t edges() const { return static_cast<uint64_t>(nodes * reach); }
  RowLog log(const ExecutionOptions& options) const {
    RowLog log(options);
    for (int64_t over = 1; over <= reach; ++over)
      for (int64_t node = 0; node < nodes; ++node) log.append(node * scale, (node + over) % nodes * scale);
    log.seal();
    return log;
  }
  /// The ends of an edge over d nodes have all in common that both of them reach.
  void check(TriangleRun& run, bool of_edges) const {
    if (!of_edges) {
      EXPECT_EQ(run.count(), edges() * static_cast<uint64_t>(reach - 1) / 2);
      return;
    }
    PairBatch batch;
    uint64_t answers = 0;
    uint64_t wrong = 0;
    TidItem last{-1, 0};
    while (run.next(batch)) {
      for (const PairRow& edge : batch) {
        const int64_t apart = (edge.item_b - edge.item_a) / scale;
        const int64_t over = std::min(apart, nodes - apart);
        wrong += over > reach || edge.support != static_cast<uint64_t>(2 * reach - 1 - over);
        wrong += std::tuple(last.tid, last.item) >= std::tuple(edge.item_a, edge.item_b);
        last = {edge.item_a, edge.item_b};
        ++answers;
      }
    }
    EXPECT_EQ(answers, edges());
    EXPECT_EQ(wrong, 0u);
  }
};

/// Counts a circle whose rows are in files. @return the most memory that was taken
size_t check_in_files(const Circle& circle, bool of_edges, size_t work_bytes, uint64_t least_tasks) {
  MemoryMeter rows_meter;
  MemoryMeter meter;
  FakeFiles files;
  ExecutionOptions options{2, &rows_meter, {}, &files, work_bytes};
  const RowLog log = circle.log(options);
  EXPECT_NE(log.partitions(), nullptr);
  options.memory = &meter;
  TriangleRun run(log, {}, of_edges, options);
  circle.check(run, of_edges);
  EXPECT_GT(run.record().tasks, least_tasks);
  return meter.peak();
}

// What is in memory is the work memory and the nodes, not the edges.
TEST(TriangleRunTest, AMillionEdgesInFilesNeedLittleMemory) {
  constexpr size_t kWorkBytes = size_t{1} << 20;
  for (const Circle& circle : {Circle{10000, 100, 1}, Circle{10000, 100, int64_t{1} << 40}}) {
    const size_t node_bytes = circle.scale == 1 ? 16 : 100;
    for (const bool of_edges : {false, true})
      EXPECT_LT(check_in_files(circle, of_edges, kWorkBytes, 80), kWorkBytes + 10000 * node_bytes)
          << circle.scale << " " << of_edges;
  }
}

// The numbers of the nodes are too far apart for direct codes until many nodes have been seen.
TEST(TriangleRunTest, NodesGetDirectCodesWhenThereAreEnough) {
  for (const bool of_edges : {false, true})
    EXPECT_LT(check_in_files({100000, 3, 2}, of_edges, 128 << 10, 50), 4000000u) << of_edges;
}

/// Both kinds of answers about a graph whose nodes are no direct codes. @param rows_in_files  the run is given files
void check_failures(bool rows_in_files, size_t memory_step) {
  Random random(kSeed + 2);
  std::vector<TidItem> rows = random_graph(random, 20000, 3000);
  for (TidItem& row : rows) row = {scattered_key(row.tid), scattered_key(row.item)};
  const GraphAnswers expected = graph_oracle(rows);
  const auto check = [&](const ExecutionOptions& given, FakeFiles& files) {
    ExecutionOptions options = given;
    if (rows_in_files) {
      options.files = &files;
      options.work_bytes = 64 << 10;
    }
    ASSERT_EQ(graph_answers(rows, {}, options), expected);
  };
  const auto check_with_files = [&](const ExecutionOptions& options) {
    FakeFiles files;
    check(options, files);
  };
  run_out_of_memory_everywhere(2, memory_step, 20, check_with_files);
  cancel_everywhere(2, 30, check_with_files);
  if (!rows_in_files) return;
  const auto files_fail = [&](FakeFiles files) {
    MemoryMeter meter;
    bool failed = false;
    try {
      check({.threads = 2, .memory = &meter, .cancel = {}}, files);
    } catch (const FileFailed&) {
      failed = true;
    }
    EXPECT_EQ(meter.current(), 0u);
    return failed;
  };
  uint64_t failures = 0;
  while (files_fail(FakeFiles(failures * 30011))) ++failures;
  EXPECT_GE(failures, 20u);
  failures = 0;
  while (files_fail(FakeFiles(UINT64_MAX, failures * 20))) ++failures;
  EXPECT_GE(failures, 20u);
}

TEST(TriangleRunTest, CanFailAnywhere) { check_failures(false, 16384); }
TEST(TriangleRunTest, InFilesCanFailAnywhere) { check_failures(true, 16384); }

}  // namespace
}  // namespace batmap::test
