// Pair support in the engine: the rates of the kernels, and every method over a grid of densities.
//
//   kernel/NAME/...   words of 64 bits a nanosecond, for tiles in the first two caches (and_popcount) and rows from memory
//                     (add_rows): the rates in the table of kernels/bits/and_popcount.cpp
//   pairs/METHOD/...  one run from rows in memory to the last pair, for 1,000,000 rows of `items` items at a density in
//                     1/10,000. Counters: group_ms and count_ms of one run, and for each increment, word or element the
//                     nanoseconds, which are the constants of kernels/pairs/choose.cpp
//   regret/...        the time of the chosen method divided by that of the best method, for the same inputs
//   METHOD/join/...   one run of join-project, over the same rows on the left and as many others on the right, with counts
//                     and (distinct) without; regret/join/... as above
#include <benchmark/benchmark.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/stopwatch.h"
#include "instances.h"
#include "pairs/join_run.h"
#include "relation/row_log.h"

namespace {

using namespace batmap;

void bench_and_popcount(benchmark::State& state, const AndPopcountKernel& kernel) {
  constexpr size_t kWords = 256, kRows = 8, kColumns = 32;
  bench::Random random(1);
  std::vector<uint64_t> bits((kRows + kColumns) * kWords);
  for (uint64_t& word : bits) word = random.bits();
  std::vector<uint32_t> counts(kRows * kColumns);
  for (auto _ : state) {
    kernel.count(
        {bits.data(), kWords, kRows, bits.data() + kRows * kWords, kWords, kColumns, kWords, counts.data(), kColumns});
    benchmark::DoNotOptimize(counts.data());
  }
  state.counters["words/ns"] = benchmark::Counter(static_cast<double>(state.iterations() * kRows * kColumns * kWords) * 1e-9,
                                                  benchmark::Counter::kIsRate);
}

void bench_add_rows(benchmark::State& state, const AndPopcountKernel& kernel) {
  constexpr size_t kWords = BitRowSum::kMaxWords, kTids = 50'000, kListed = 2'500;
  MemoryMeter meter;
  bench::Random random(1);
  Buffer<uint64_t> bits(meter, kTids * kWords);
  for (uint64_t& word : bits) word = random.bits() & random.bits() & random.bits();
  std::vector<uint32_t> rows(kListed);
  Buffer<BitRowSum> sum(meter, 1);
  for (auto _ : state) {
    state.PauseTiming();
    for (uint32_t& row : rows) row = static_cast<uint32_t>(random.below(kTids));
    std::sort(rows.begin(), rows.end());
    state.ResumeTiming();
    sum[0].start(kWords);
    kernel.add_rows(sum[0], bits.data(), kWords, rows.data(), rows.size());
    finish(sum[0]);
    benchmark::DoNotOptimize(sum.data());
  }
  state.counters["words/ns"] =
      benchmark::Counter(static_cast<double>(state.iterations() * kListed * kWords) * 1e-9, benchmark::Counter::kIsRate);
}

struct Shape {
  int32_t items;
  int density;  // in 1/10,000
  double zipf;

  std::string name() const {
    return "items:" + std::to_string(items) + "/density:" + std::to_string(density) + (zipf > 0 ? "/zipf" : "");
  }
};

/// The rows of a shape, packed; kept while the next benchmark has the same shape. @param seed  1 or 2
const RowLog& rows_of(const Shape& shape, size_t seed = 1) {
  struct Kept {
    std::string name;
    std::unique_ptr<RowLog> log;
  };
  static MemoryMeter meter;
  static Kept kept[2];
  Kept& rows = kept[seed - 1];
  if (rows.name != shape.name()) {
    rows.name = shape.name();
    rows.log = std::make_unique<RowLog>(meter);
    const bench::Instance instance{"", shape.items, shape.density * 1e-4, 1e6, shape.zipf};
    bench::generate(instance, seed, [&](int32_t tid, int32_t item) { rows.log->append(tid, item); });
    rows.log->seal();
  }
  return *rows.log;
}

struct Times {
  double group_ms = 0;
  double count_ms = 0;
  double total() const { return group_ms + count_ms; }
};

Times run_once(const Shape& shape, const std::optional<PairMethod>& method, RunRecord* record) {
  MemoryMeter meter;
  PairQuery query;
  query.min_count = 1;
  query.method = method;
  PairRun run(rows_of(shape).chunks(), {}, query, {1, &meter, {}});
  PairBatch batch;
  while (run.next(batch)) benchmark::DoNotOptimize(batch.pairs().data());
  if (record != nullptr) *record = run.record();
  return {run.record().group_ms, run.record().count_ms};
}

std::string join_name(const Shape& left, const Shape& right, bool distinct_only) {
  return "join/" + left.name() + "/right:" + std::to_string(right.items) + (distinct_only ? "/distinct" : "");
}

Times join_once(const Shape& shape, const Shape& right, JoinQuery query, RunRecord* record) {
  MemoryMeter meter;
  const ExecutionOptions options{1, &meter, {}};
  const Stopwatch watch;
  JoinedRelation joined = join_relations({rows_of(shape).chunks(), {}}, {rows_of(right, 2).chunks(), {}}, options);
  const double join_ms = watch.milliseconds();
  JoinRun run(std::move(joined), query, options);
  PairBatch batch;
  while (run.next(batch)) benchmark::DoNotOptimize(batch.pairs().data());
  *record = run.record();
  return {join_ms + run.record().group_ms, run.record().count_ms};
}

std::map<std::string, std::map<std::string, double>> best_ms;  // [shape][method, also "auto"]

void bench_pairs(benchmark::State& state, Shape shape, std::string method) {
  RunRecord record;
  std::vector<Times> times;
  for (auto _ : state) times.push_back(run_once(shape, parse_pair_method(method), &record));
  const auto median = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), median, times.end(), [](const Times& x, const Times& y) { return x.total() < y.total(); });
  best_ms[shape.name()][method] = median->total();
  state.counters["group_ms"] = median->group_ms;
  state.counters["count_ms"] = median->count_ms;
  const double items = static_cast<double>(record.items_kept);
  const double transactions = static_cast<double>(record.transactions);
  const double work = method == "horizontal"   ? static_cast<double>(record.pair_instances)
                      : method == "positional" ? static_cast<double>(record.occurrences) * items / 128
                      : method == "bitmap"     ? items * items / 2 * transactions / 64
                                               : static_cast<double>(record.occurrences) * items;
  if (method != "auto") state.counters["ns/unit"] = median->count_ms * 1e6 / work;
  state.SetLabel(method == "auto" ? record.method : record.kernel);
}

void bench_join(benchmark::State& state, Shape shape, Shape right, bool distinct_only, std::string method) {
  JoinQuery query;
  query.distinct_only = distinct_only;
  query.method = parse_pair_method(method);
  RunRecord record;
  std::vector<Times> times;
  for (auto _ : state) times.push_back(join_once(shape, right, query, &record));
  const auto median = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), median, times.end(), [](const Times& x, const Times& y) { return x.total() < y.total(); });
  best_ms[join_name(shape, right, distinct_only)][method] = median->total();
  state.counters["group_ms"] = median->group_ms;
  state.counters["count_ms"] = median->count_ms;
  state.counters["instances"] = static_cast<double>(record.pair_instances);
  state.SetLabel(method == "auto" ? record.method : record.kernel);
}

void bench_regret(benchmark::State& state, std::string shape) {
  for (auto _ : state) {
  }
  const std::map<std::string, double>& ms = best_ms[shape];
  if (!ms.contains("auto") || ms.size() < 2) return;
  double best = 1e300;
  for (const auto& [method, time] : ms)
    if (method != "auto") best = std::min(best, time);
  state.counters["regret"] = ms.at("auto") / best;
}

}  // namespace

int main(int argc, char** argv) {
  for (const AndPopcountKernel& kernel : and_popcount_kernels()) {
    if (find_and_popcount(kernel.name) == nullptr) continue;
    const std::string name = std::string("kernel/") + kernel.name;
    benchmark::RegisterBenchmark((name + "/and_popcount").c_str(), bench_and_popcount, kernel);
    benchmark::RegisterBenchmark((name + "/add_rows").c_str(), bench_add_rows, kernel);
  }
  std::vector<Shape> shapes;
  for (const int32_t items : {100, 1'000, 10'000})
    for (const int density : {5, 20, 50, 100, 200, 500, 2'000, 5'000})
      if (items * density >= 20'000) shapes.push_back({items, density, 0});
  shapes.push_back({16'000, 6, 1});
  shapes.push_back({2'000, 200, 1});
  for (const Shape& shape : shapes) {
    for (const char* method : {"horizontal", "positional", "bitmap", "merge", "auto"}) {
      const double pairs = shape.items * (shape.items / 2.0);
      if (std::string(method) == "merge" && pairs * 1e6 / shape.items > 2e8) continue;  // it would take minutes
      if (std::string(method) == "bitmap" && pairs * 1e6 / shape.items / (shape.density * 1e-4) > 2e12) continue;
      benchmark::RegisterBenchmark((std::string("pairs/") + method + "/" + shape.name()).c_str(), bench_pairs, shape, method)
          ->Iterations(3)
          ->Unit(benchmark::kMillisecond);
    }
    benchmark::RegisterBenchmark(("regret/" + shape.name()).c_str(), bench_regret, shape.name())->Iterations(1);
  }
  const std::pair<Shape, Shape> joins[] = {{{1'000, 500, 0}, {1'000, 500, 0}},    {{1'000, 50, 0}, {1'000, 50, 0}},
                                           {{10'000, 50, 0}, {10'000, 50, 0}},    {{10'000, 500, 0}, {100, 500, 0}},
                                           {{100, 500, 0}, {10'000, 500, 0}},     {{2'000, 200, 1}, {2'000, 200, 1}},
                                           {{1'000, 5'000, 0}, {1'000, 5'000, 0}}};
  for (const auto& [left, right] : joins)
    for (const bool distinct_only : {false, true}) {
      const std::string name = join_name(left, right, distinct_only);
      for (const char* method : {"horizontal", "positional", "bitmap", "batmap", "merge", "auto"}) {
        const double pairs = static_cast<double>(left.items) * right.items;
        if (std::string(method) == "merge" && pairs > 1e6) continue;  // it would take minutes
        if (std::string(method) == "batmap" && pairs > 1e6) continue;
        benchmark::RegisterBenchmark((std::string(method) + "/" + name).c_str(), bench_join, left, right, distinct_only,
                                     method)
            ->Iterations(3)
            ->Unit(benchmark::kMillisecond);
      }
      benchmark::RegisterBenchmark(("regret/" + name).c_str(), bench_regret, name)->Iterations(1);
    }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
