// Counts of listed pairs: triangles of generated graphs, and given pairs.
//
//   KIND/GRAPH/THREADS  KIND: triangles (the list is all edges) or pairs (the list is as many random pairs of vertices);
//                       GRAPH: even (200,000 vertices), skewed (the same; one of rank r is drawn with a density like r^-0.6)
//                       or dense (2,000 vertices). lookups: rows that are looked up, in millions; group_ns: of grouping, for
//                       each row and pair; lookup_ns: of counting, for each lookup; pair_ns: the same for each pair
//
// Each graph has a million edges. The counters are CPU time, of all threads together.
#include <benchmark/benchmark.h>

#include <cmath>
#include <ctime>
#include <string>
#include <vector>

#include "instances.h"
#include "pairs/listed_run.h"
#include "relation/row_log.h"

namespace {

using namespace batmap;

constexpr int64_t kEdges = 1'000'000;

struct Graph {
  const char* name;
  double vertices;
  double exponent;  // 1: all vertices alike
};

constexpr Graph kGraphs[] = {{"even", 200'000, 1}, {"skewed", 200'000, 2.5}, {"dense", 2'000, 1}};

MemoryMeter meter;

double cpu_ns() { return static_cast<double>(std::clock()) * 1e9 / CLOCKS_PER_SEC; }

RowLog random_edges(bench::Random& random, const Graph& graph) {
  RowLog log(meter);
  const auto vertex = [&] { return static_cast<int64_t>(graph.vertices * std::pow(random.unit(), graph.exponent)); };
  for (int64_t k = 0; k < kEdges; ++k) {
    const int64_t src = vertex();
    log.append(src, vertex());
  }
  log.seal();
  return log;
}

/// Edges of the other direction.
RowLog turned(const RowLog& edges) {
  RowLog log(meter);
  TidItem rows[kChunkRows];
  for (const ChunkView& chunk : edges.chunks()) {
    decode_chunk(chunk, rows);
    for (uint32_t k = 0; k < chunk.rows; ++k) log.append(rows[k].item, rows[k].tid);
  }
  log.seal();
  return log;
}

void count(benchmark::State& state, bool triangles, Graph graph) {
  bench::Random random(1);
  const RowLog edges = random_edges(random, graph);
  const RowLog starts = turned(edges);  // (vertex between, first vertex)
  graph.exponent = 1;
  const RowLog pairs = triangles ? RowLog(meter) : random_edges(random, graph);
  const ListedInput input{triangles ? edges.chunks() : pairs.chunks(), starts.chunks(), edges.chunks()};
  const ExecutionOptions options{.threads = static_cast<int>(state.range(0)), .memory = &meter, .cancel = {}};
  double group = 0;
  double counting = 0;
  double lookups = 0;
  for (auto _ : state) {
    double start = cpu_ns();
    ListedRun run(input, {}, options);
    group += cpu_ns() - start;
    start = cpu_ns();
    std::vector<ListedPair> batch;
    while (run.next(batch)) benchmark::DoNotOptimize(batch.data());
    counting += cpu_ns() - start;
    lookups += static_cast<double>(run.record().pair_instances);
  }
  const auto runs = static_cast<double>(state.iterations());
  state.counters["lookups"] = lookups / runs / 1e6;
  state.counters["group_ns"] = group / runs / (3 * kEdges);
  state.counters["lookup_ns"] = counting / lookups;
  state.counters["pair_ns"] = counting / runs / kEdges;
}

}  // namespace

int main(int argc, char** argv) {
  for (const bool triangles : {true, false})
    for (const Graph& graph : kGraphs)
      benchmark::RegisterBenchmark((std::string(triangles ? "triangles/" : "pairs/") + graph.name).c_str(), count, triangles,
                                   graph)
          ->Arg(1)
          ->Arg(2)
          ->UseRealTime()
          ->Unit(benchmark::kMillisecond);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
