// Triangles against three loops over the nodes: random graphs, dense and sparse, with loops, repeated and turned edges, nodes of
// any numbers and nodes with ranks. Then too little memory, and cancellation.
#include "pairs/triangle_run.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <tuple>

#include "test/unit/shared/failing_run.h"
#include "test/unit/shared/shapes.h"

namespace batmap::test {
namespace {

using EdgeCount = std::tuple<int64_t, int64_t, uint64_t>;

struct GraphAnswers {
  std::vector<EdgeCount> of_edges;
  uint64_t triangles = 0;
  uint64_t edges = 0;
  uint64_t nodes = 0;

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
      corners += common;
    }
  }
  answers.triangles = corners / 3;
  return answers;
}

GraphAnswers graph_answers(const std::vector<TidItem>& rows, std::span<const uint32_t> ranks,
                           const ExecutionOptions& options) {
  GraphAnswers answers;
  const PackedRows packed(rows);
  TriangleRun all(packed.chunks(), ranks, false, options);
  answers.triangles = all.count();
  answers.nodes = all.nodes();
  TriangleRun of_edges(packed.chunks(), ranks, true, options);
  answers.edges = of_edges.edges();
  EXPECT_EQ(all.edges(), answers.edges);
  EXPECT_EQ(of_edges.nodes(), answers.nodes);
  PairBatch batch;
  while (of_edges.next(batch))
    for (const PairRow& edge : batch) answers.of_edges.emplace_back(edge.item_a, edge.item_b, edge.support);
  EXPECT_TRUE(batch.empty());
  EXPECT_FALSE(of_edges.next(batch));
  EXPECT_EQ(of_edges.record().results, answers.edges);
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

TEST(TriangleRunTest, AnswersLikeTheOracle) {
  Random random(kSeed);
  uint64_t triangles = 0;
  std::vector<std::vector<TidItem>> graphs = {{},
                                              {{7, 7}},
                                              {{1, 2}},
                                              {{1, 2}, {2, 1}, {1, 1}},
                                              {{1, 2}, {2, 3}, {3, 1}},
                                              {{kMin, kMax}, {kMax, 0}, {0, kMin}},
                                              {{kMin, kMin + 1}, {kMin + 1, kMin + 2}, {kMin + 2, kMin}},
                                              {{kMax, kMax - 1}, {kMax - 1, kMax - 2}, {kMax, kMax - 2}}};
  for (const uint64_t nodes : {3, 10, 65, 300})
    for (const uint64_t edges : {2, 50, 4000}) graphs.push_back(random_graph(random, edges, nodes));
  for (const std::vector<TidItem>& graph : graphs) {
    for (const bool scattered : {false, true}) {
      std::vector<TidItem> rows = graph;
      if (scattered)
        for (TidItem& row : rows) row = {scattered_key(row.tid), scattered_key(row.item)};
      const GraphAnswers expected = graph_oracle(rows);
      for (const int threads : {1, 3}) {
        MemoryMeter meter;
        ASSERT_EQ(graph_answers(rows, {}, {.threads = threads, .memory = &meter, .cancel = {}}), expected)
            << rows.size() << " edges, seed " << kSeed;
        EXPECT_EQ(meter.current(), 0u);
      }
      triangles += expected.triangles;
    }
  }
  EXPECT_GT(triangles, 10000u);
}

TEST(TriangleRunTest, NamesNodesByTheirRanks) {
  Random random(kSeed + 1);
  const std::vector<TidItem> rows = random_graph(random, 500, 40);
  std::vector<uint32_t> ranks(40);
  for (uint32_t node = 0; node < 40; ++node) ranks[node] = 39 - node;
  std::vector<TidItem> ranked = rows;
  for (TidItem& row : ranked) row = {39 - row.tid, 39 - row.item};
  MemoryMeter meter;
  EXPECT_EQ(graph_answers(rows, ranks, {.threads = 1, .memory = &meter, .cancel = {}}), graph_oracle(ranked));
}

TEST(TriangleRunTest, CanFailAnywhere) {
  Random random(kSeed + 2);
  std::vector<TidItem> rows = random_graph(random, 20000, 3000);
  for (TidItem& row : rows) row = {scattered_key(row.tid), scattered_key(row.item)};
  MemoryMeter unlimited;
  const GraphAnswers expected = graph_answers(rows, {}, {.threads = 2, .memory = &unlimited, .cancel = {}});
  const auto check = [&](const ExecutionOptions& options) { EXPECT_EQ(graph_answers(rows, {}, options), expected); };
  run_out_of_memory_everywhere(2, 65536, 5, check);
  cancel_everywhere(2, 10, check);
}

}  // namespace
}  // namespace batmap::test
