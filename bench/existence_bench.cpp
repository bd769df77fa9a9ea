// Join-project with counts, and without (distinct): both sides have as many rows, and values are drawn from domains, as by the
// generator of DIM3 (join_shapes.h).
//
//   METHOD/SHAPE/counts|distinct/threads:N   one run from rows in memory to the last pair. Counters, of the fastest of three
//                                            runs: group_ms and count_ms, their CPU time over all threads (group_cpu_ms,
//                                            count_cpu_ms), the paths (a, b, c), and the pairs (a, c)
#include <benchmark/benchmark.h>

#include <algorithm>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "core/stopwatch.h"
#include "join_shapes.h"
#include "pairs/join_run.h"
#include "relation/row_log.h"

namespace {

using namespace batmap;

double cpu_ms() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

struct Times {
  double group_ms = 0;
  double count_ms = 0;
  double group_cpu_ms = 0;
  double count_cpu_ms = 0;
};

/// The rows of a side, packed; kept while the next benchmark has the same shape. @param side  0 or 1
const RowLog& rows_of(const bench::JoinShape& shape, size_t side) {
  static MemoryMeter meter;
  static const char* kept[2];
  static std::unique_ptr<RowLog> logs[2];
  if (kept[side] == shape.name) return *logs[side];
  kept[side] = shape.name;
  logs[side] = std::make_unique<RowLog>(meter);
  bench::generate_side(shape, side, [&](int64_t key, int64_t item) { logs[side]->append(key, item); });
  logs[side]->seal();
  return *logs[side];
}

void bench_join(benchmark::State& state, bench::JoinShape shape, bool distinct_only, int threads, std::string method) {
  JoinQuery query;
  query.distinct_only = distinct_only;
  query.method = parse_pair_method(method);
  const JoinSide left{rows_of(shape, 0).chunks(), {}};
  const JoinSide right{rows_of(shape, 1).chunks(), {}};
  std::vector<Times> times;
  RunRecord record;
  for (auto _ : state) {
    MemoryMeter meter;
    const ExecutionOptions options{threads, &meter, {}};
    const Stopwatch group_watch;
    const double cpu_begin = cpu_ms();
    JoinRun run(join_relations(left, right, options), query, options);
    Times& time = times.emplace_back();
    time.group_ms = group_watch.milliseconds();
    time.group_cpu_ms = cpu_ms() - cpu_begin;
    const Stopwatch count_watch;
    const double cpu_middle = cpu_ms();
    PairBatch batch;
    while (run.next(batch)) benchmark::DoNotOptimize(batch.pairs().data());
    time.count_ms = count_watch.milliseconds();
    time.count_cpu_ms = cpu_ms() - cpu_middle;
    record = run.record();
  }
  const Times best = *std::ranges::min_element(times, {}, [](const Times& time) { return time.group_ms + time.count_ms; });
  state.counters["group_ms"] = best.group_ms;
  state.counters["count_ms"] = best.count_ms;
  state.counters["group_cpu_ms"] = best.group_cpu_ms;
  state.counters["count_cpu_ms"] = best.count_cpu_ms;
  state.counters["paths"] = static_cast<double>(record.pair_instances);
  state.counters["pairs"] = static_cast<double>(record.results);
  state.SetLabel(record.method);
}

}  // namespace

int main(int argc, char** argv) {
  for (const bench::JoinShape& shape : bench::kJoinShapes)
    for (const int threads : {1, 2})
      for (const bool distinct_only : {false, true})
        for (const char* method : {"auto", "horizontal", "positional"}) {
          const double bits = static_cast<double>(shape.items) * static_cast<double>(shape.keys);
          if (std::string(method) == "positional" && bits > 5e10) continue;  // too much memory
          const std::string name = std::string(method) + "/" + shape.name + (distinct_only ? "/distinct" : "/counts") +
                                   "/threads:" + std::to_string(threads);
          benchmark::RegisterBenchmark(name.c_str(), bench_join, shape, distinct_only, threads, method)
              ->Iterations(3)
              ->Unit(benchmark::kMillisecond);
        }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
