// The set engine: building, counting with every kernel, and the two ways for batmaps between which the engine chooses.
//
//   build/SIZE/WIDTH            elements a microsecond, bytes an element; decoding, too
//   and/KERNEL/SIZE/DENSITY/B   ns a call for two random sets of equal size (B = 1) or one of 1/B of the other; density of
//                               the larger in 1/1,000,000; pairs of sets take turns so that about 1 MB is in use (`hot`)
//                               unless one pair is larger
//   way/probe|scan/...          both ways forced; they cross at kPlanesPerProbe
//   bits/SIZE/UNIVERSE          512 sets of this size become bit rows of transactions, one thread
//
// Filter with --benchmark_filter. set_peers.cpp compares with other libraries.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "core/cpu.h"
#include "core/sort_elements.h"
#include "pairs/counters/set_pair_counter.h"
#include "set/set_builder.h"
#include "set/set_decode.h"
#include "set/set_intersect.h"

using namespace batmap;

namespace {

MemoryMeter meter;
const ExecutionOptions options{1, &meter, {}};

struct Value {
  std::vector<uint64_t> elements;
  std::vector<std::byte> bytes;
  SetView view() const { return SetView::open(bytes); }
};

/// `count` distinct elements below `universe`, stored with the width of a batmap(universe) column.
Value make_value(uint64_t seed, uint64_t count, uint64_t universe) {
  std::mt19937_64 random(seed);
  GrowingBuffer<uint64_t> elements(meter);
  while (elements.size() < count) {
    while (elements.size() < count + count / 16 + 1) elements.push_back(random() % universe);
    sort_distinct(elements, options);
  }
  // Drop elements evenly, down to `count`.
  Value value;
  for (uint64_t i = 0; i < count; ++i) value.elements.push_back(elements[i * elements.size() / count]);
  SetEncoder encoder(options);
  value.bytes.resize(encoder.prepare(value.elements, width_for(universe)));
  encoder.write(value.bytes.data());
  return value;
}

const char* container_name(const Value& value) {
  const Container container = value.view().container();
  return container == Container::kArray ? "array" : container == Container::kBatmap ? "batmap" : "bitmap";
}

void count_elements(benchmark::State& state, uint64_t count) {
  state.counters["elements/us"] = benchmark::Counter(
      static_cast<double>(static_cast<uint64_t>(state.iterations()) * count) * 1e-6, benchmark::Counter::kIsRate);
}

void bench_build(benchmark::State& state) {
  const auto count = static_cast<uint64_t>(state.range(0));
  const int width = static_cast<int>(state.range(1));
  const Value value = make_value(1, count, universe_of(width));
  SetEncoder encoder(options);
  std::vector<std::byte> out(value.bytes.size());
  for (auto _ : state) {
    encoder.prepare(value.elements, width);
    encoder.write(out.data());
    benchmark::DoNotOptimize(out.data());
  }
  count_elements(state, count);
  state.counters["bytes/element"] = static_cast<double>(out.size()) / static_cast<double>(count);
  state.SetLabel(container_name(value));
}

void bench_decode(benchmark::State& state) {
  const auto count = static_cast<uint64_t>(state.range(0));
  const Value value = make_value(1, count, universe_of(static_cast<int>(state.range(1))));
  GrowingBuffer<uint64_t> out(meter);
  for (auto _ : state) {
    out.shrink(0);
    decode(value.view(), out, options);
    benchmark::DoNotOptimize(out.begin());
  }
  count_elements(state, count);
  state.SetLabel(container_name(value));
}

void bench_bits(benchmark::State& state) {
  const auto count = static_cast<uint64_t>(state.range(0));
  const auto universe = static_cast<uint64_t>(state.range(1));
  constexpr uint32_t kSets = 512;
  std::vector<uint32_t> order;
  SetCollection sets(meter);
  for (uint32_t set = 0; set < kSets; ++set) {
    sets.add(set, make_value(set + 1, count, universe).bytes);
    order.push_back(set);
  }
  for (auto _ : state) {
    const TransactionBits form = transaction_bits_of_sets(sets, order, universe, best_set_kernel(), options);
    benchmark::DoNotOptimize(form.bits.data());
  }
  count_elements(state, count * kSets);
}

struct Pairing {
  uint64_t size;     // of the larger set
  uint64_t density;  // of the larger set, in 1/1,000,000
  uint64_t ratio;    // size of the larger set divided by that of the other
  uint64_t universe() const { return size * 1'000'000 / density; }
  std::string name() const {
    return "size:" + std::to_string(size) + "/density_ppm:" + std::to_string(density) + "/ratio:" + std::to_string(ratio);
  }
};

/// Distinct pairs in turn, so that a branch predictor cannot learn one answer.
template <typename Count>
void bench_pair(benchmark::State& state, Pairing pairing, const SetKernel& kernel, Count count) {
  std::vector<Value> small, large;
  size_t bytes = 0;
  do {
    const uint64_t seed = 2 * small.size() + 1;
    large.push_back(make_value(seed, pairing.size, pairing.universe()));
    small.push_back(make_value(seed + 1, std::max<uint64_t>(pairing.size / pairing.ratio, 1), pairing.universe()));
    bytes += large.back().bytes.size() + small.back().bytes.size();
  } while (bytes < 256 * 1024 && small.size() < 16);
  std::vector<std::pair<SetView, SetView>> views;
  for (size_t i = 0; i < small.size(); ++i) views.emplace_back(small[i].view(), large[i].view());
  size_t next = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(count(views[next].first, views[next].second, kernel));
    next = next + 1 == views.size() ? 0 : next + 1;
  }
  state.SetLabel(std::string(container_name(small[0])) + " x " + container_name(large[0]));
  state.counters["bytes/element"] = static_cast<double>(large[0].bytes.size()) / static_cast<double>(pairing.size);
}

}  // namespace

int main(int argc, char** argv) {
  for (const int width : {14, 16, 20, 24, 27, 32, 40, 62})
    for (const int64_t count : {100, 1'000, 10'000, 100'000, 1'000'000}) {
      if (static_cast<uint64_t>(count) > universe_of(width) / 2) continue;
      if (width > 32 && count > 100'000) continue;
      benchmark::RegisterBenchmark("build", bench_build)->Args({count, width});
      benchmark::RegisterBenchmark("decode", bench_decode)->Args({count, width});
    }
  for (const int64_t count : {250, 2'500, 25'000})
    for (const int64_t times : {4, 16, 64, 256})
      benchmark::RegisterBenchmark("bits", bench_bits)->Args({count, times * count});
  for (const uint64_t ratio : {1u, 10u, 100u, 1000u})
    for (const uint64_t size : {100u, 1'000u, 10'000u, 100'000u, 1'000'000u})
      for (const uint64_t density : {10u, 100u, 1'000u, 10'000u, 20'000u, 100'000u, 500'000u}) {
        const Pairing pairing{size, density, ratio};
        for (const SetKernel& kernel : set_kernels()) {
          if (find_set_kernel(kernel.name) == nullptr) continue;
          const std::string rest = std::string(kernel.name) + "/" + pairing.name();
          const auto add = [&](const std::string& way, auto count) {
            benchmark::RegisterBenchmark((way + rest).c_str(), [&kernel, pairing, count](benchmark::State& state) {
              bench_pair(state, pairing, kernel, count);
            });
          };
          using View = const SetView&;
          using Kernel = const SetKernel&;
          if (ratio == 1 || ratio == 1000) add("and/", [](View a, View b, Kernel k) { return and_cardinality(a, b, k); });
          if (size / ratio < kSmallSet || container_for(size, width_for(pairing.universe())) != Container::kBatmap) continue;
          add("way/probe/", [](View a, View b, Kernel k) { return and_cardinality_by_probe(a, b, k); });
          add("way/scan/", [](View a, View b, Kernel k) { return and_cardinality_by_scan(a, b, k); });
        }
      }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
