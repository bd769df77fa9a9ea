// The phases of grouping one by one, from rows to counted forms.
//
//   append/INSTANCE/ORDER         rows into a log, as a serial read does
//   PHASE/INSTANCE/ORDER/THREADS  over the packed rows of the instance: encode (EncodedRelation), repeated (does a row
//                                 occur twice), keep, lengths, and the forms: transactions, transaction_bits, bit_matrix,
//                                 tidlists; ratio: the time of one thread divided by this time
//
// Rows come by tid, or in no order (`random`): the two extremes of a table. Wall-clock time, medians of five.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/stopwatch.h"
#include "instances.h"
#include "relation/bit_matrix.h"
#include "relation/repeated_rows.h"
#include "relation/row_log.h"
#include "relation/tidlists.h"
#include "relation/transaction_bits.h"
#include "relation/transactions.h"

namespace {

using namespace batmap;

constexpr int kRuns = 5;
constexpr double kMaxBits = 8e9;  // bits of forms that have one for every item of every transaction

struct Input {
  bench::Instance instance;
  bool random;

  std::string name() const { return std::string(instance.name) + (random ? "/random" : "/tid"); }
  std::vector<TidItem> rows() const {
    std::vector<TidItem> rows;
    bench::generate(instance, 1, [&](int32_t tid, int32_t item) { rows.push_back({tid, item}); });
    bench::Random order(2);
    if (random)
      for (size_t k = rows.size(); k > 1; --k) std::swap(rows[k - 1], rows[order.below(k)]);
    return rows;
  }
};

MemoryMeter meter;

/// The rows of an input, kept between benchmarks.
const RowLog& packed(const Input& input) {
  static std::string name;
  static std::unique_ptr<RowLog> log;
  if (name != input.name()) {
    name = input.name();
    log = std::make_unique<RowLog>(meter);
    for (const TidItem& pair : input.rows()) log->append(pair.tid, pair.item);
    log->seal();
  }
  return *log;
}

/// Medians of wall-clock time, and the ratio to that of one thread.
void report(benchmark::State& state, const std::string& name, const std::function<void()>& body) {
  static std::map<std::string, double> alone_ms;
  std::vector<double> times;
  for (auto _ : state) {
    const Stopwatch watch;
    body();
    times.push_back(watch.milliseconds());
  }
  std::nth_element(times.begin(), times.begin() + kRuns / 2, times.end());
  const double ms = times[kRuns / 2];
  alone_ms.try_emplace(name, ms);
  state.counters["ms"] = ms;
  state.counters["ratio"] = alone_ms[name] / ms;
}

void bench_append(benchmark::State& state, Input input) {
  const std::vector<TidItem> rows = input.rows();
  report(state, "append/" + input.name(), [&] {
    RowLog log(meter);
    for (const TidItem& pair : rows) log.append(pair.tid, pair.item);
    log.seal();
    benchmark::DoNotOptimize(log.rows());
  });
}

void bench_phase(benchmark::State& state, std::string phase, Input input) {
  const ExecutionOptions options{static_cast<int>(state.range(0)), &meter, {}};
  const RowLog& log = packed(input);
  const std::string name = phase + "/" + input.name();
  if (phase == "encode") {
    report(state, name, [&] { benchmark::DoNotOptimize(EncodedRelation(log.chunks(), {}, options).rows()); });
    return;
  }
  const EncodedRelation relation(log.chunks(), {}, options);
  if (phase == "repeated") {
    report(state, name, [&] { benchmark::DoNotOptimize(has_repeated_rows(relation, options)); });
    return;
  }
  const KeptItems kept = keep_items(relation, {}, options);
  const TransactionLengths lengths = transaction_lengths(relation, kept, options);
  report(state, name, [&] {
    if (phase == "keep")
      benchmark::DoNotOptimize(keep_items(relation, {}, options).size);
    else if (phase == "lengths")
      benchmark::DoNotOptimize(transaction_lengths(relation, kept, options).pair_instances);
    else if (phase == "transactions")
      benchmark::DoNotOptimize(link_transactions(relation, kept, lengths, options).support.data());
    else if (phase == "transaction_bits")
      benchmark::DoNotOptimize(fill_transaction_bits(relation, kept, options).words);
    else if (phase == "bit_matrix")
      benchmark::DoNotOptimize(fill_bit_matrix(relation, kept, options).words);
    else
      benchmark::DoNotOptimize(scatter_tidlists(relation, kept, options).tids.data());
  });
}

}  // namespace

int main(int argc, char** argv) {
  for (const bench::Instance& instance : bench::kInstances)
    for (const bool random : {false, true}) {
      const Input input{instance, random};
      benchmark::RegisterBenchmark(("append/" + input.name()).c_str(), bench_append, input)
          ->Iterations(kRuns)
          ->Unit(benchmark::kMillisecond);
      for (const char* phase :
           {"encode", "repeated", "keep", "lengths", "transactions", "transaction_bits", "bit_matrix", "tidlists"}) {
        if (std::string(phase).find("bit") != std::string::npos && instance.rows / instance.density > kMaxBits) continue;
        benchmark::RegisterBenchmark((std::string(phase) + "/" + input.name()).c_str(), bench_phase, phase, input)
            ->ArgName("threads")
            ->Arg(1)
            ->Arg(2)
            ->Iterations(kRuns)
            ->UseRealTime()
            ->Unit(benchmark::kMillisecond);
      }
    }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
