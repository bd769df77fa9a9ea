// When preparing a small set pays: what counting two compact sets costs, what counting them prepared costs, and what
// preparing one costs. `bench/run sets` builds and runs it. The constants of meetings_worth_preparing()
// (kernels/set/set_intersect.cpp) come from here; the last column shows what it makes of them. Prints Markdown.
//
// usage: small_sets [--elements N]    (only this size, many times: for a profile)
//
// Random sets of equal size. 64 of each side meet in turn, so that a branch predictor cannot learn the answers; they fit in
// the second-level cache up to 1,000 elements. The least of 15 samples of CPU time counts: other processes only add to it.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "bench/thread_time.h"
#include "compact/compact_writer.h"
#include "core/sort_elements.h"
#include "set/set_builder.h"
#include "set/set_decode.h"
#include "set/set_intersect.h"

using namespace batmap;

namespace {

MemoryMeter meter;
const ExecutionOptions options{1, &meter, {}};

constexpr uint64_t kSizes[] = {10, 30, 100, 300, 600, 1'000, 2'500, 10'000};
constexpr double kDensities[] = {0.5, 0.05, 0.01, 1e-3, 1e-5};
constexpr size_t kSets = 64;
constexpr int kSamples = 15;

/// A value where the extension would keep it: planes are aligned.
struct Value {
  std::vector<std::byte> room;
  SetView view;
};

Value compact_value(const std::vector<uint64_t>& elements) {
  CompactWriter writer(options);
  writer.add_elements(std::span<const uint64_t>(elements));
  Value value{std::vector<std::byte>(writer.bytes()), {}};
  writer.write(value.room.data());
  value.view = SetView::open(value.room);
  return value;
}

void prepare(const SetView& compact, int width, GrowingBuffer<uint64_t>& elements, SetEncoder& encoder, Value& value) {
  elements.shrink(0);
  decode(compact, elements, options);
  const size_t bytes = encoder.prepare(elements.span(), width);
  const size_t front = kSetHeaderBytes + kStashHeaderBytes + 8 * encoder.stash().size();
  value.room.resize(bytes + 128);
  const auto at = reinterpret_cast<uintptr_t>(value.room.data()) + front;
  std::byte* const data = value.room.data() + ((at + 63) / 64 * 64 - at);
  encoder.write(data);
  value.view = SetView::open({data, bytes});
}

std::vector<uint64_t> random_elements(std::mt19937_64& random, uint64_t count, uint64_t universe) {
  GrowingBuffer<uint64_t> drawn(meter);
  while (drawn.size() < count) {
    while (drawn.size() < count) drawn.push_back(random() % universe);
    sort_distinct(drawn, options);
  }
  return {drawn.begin(), drawn.end()};
}

const char* name_of(Container container) {
  return container == Container::kArray ? "array" : container == Container::kBatmap ? "batmap" : "bitmap";
}

void measure(uint64_t size, double density) {
  const auto universe = static_cast<uint64_t>(static_cast<double>(size) / density);
  std::mt19937_64 random(size);
  std::vector<Value> compact;
  for (size_t i = 0; i < 2 * kSets; ++i) compact.push_back(compact_value(random_elements(random, size, universe)));
  std::vector<Value> prepared(2 * kSets);
  const int width = width_for(universe);
  GrowingBuffer<uint64_t> elements(meter);
  SetEncoder encoder(options);
  const double preparing = bench::least_ns(kSamples, 2 * kSets, [&](size_t i) {
    prepare(compact[i].view, width, elements, encoder, prepared[i]);
    return prepared[i].view.bytes();
  });

  const SetKernel& kernel = best_set_kernel();
  const size_t calls = std::max<size_t>(kSets, 40'000 / size * kSets);
  const auto count = [&](const std::vector<Value>& sets) {
    return bench::least_ns(kSamples, calls, [&, i = size_t{0}](size_t) mutable {
      i = (i + 1) % kSets;
      return and_cardinality(sets[2 * i].view, sets[2 * i + 1].view, kernel);
    });
  };
  for (size_t i = 0; i < kSets; ++i)
    if (and_cardinality(compact[2 * i].view, compact[2 * i + 1].view, kernel) !=
        and_cardinality(prepared[2 * i].view, prepared[2 * i + 1].view, kernel)) {
      std::fprintf(stderr, "small_sets: the two forms count differently\n");
      std::exit(1);
    }
  const double compact_ns = count(compact);
  const double prepared_ns = count(prepared);
  std::vector<std::byte> copy = compact[0].room;
  const double comparing = bench::least_ns(kSamples, calls, [&](size_t) {
    return static_cast<uint64_t>(std::memcmp(compact[0].room.data(), copy.data(), copy.size()) == 0);
  });
  const uint32_t worth = meetings_worth_preparing(compact[0].view);
  const double even = preparing / (compact_ns - prepared_ns);
  std::printf("| %llu | %g | %zu | %zu | %.0f | %s, %zu | %.0f | %.0f | %.1f | %s | %s |\n",
              static_cast<unsigned long long>(size), density, compact[0].room.size(), compact[0].view.compact().blocks(),
              compact_ns, name_of(prepared[0].view.container()), prepared[0].view.bytes(), prepared_ns, comparing,
              preparing / static_cast<double>(size),
              even > 0 && even < 1e6 ? std::to_string(static_cast<int>(even) + 1).c_str() : "never",
              worth == kNeverPrepared ? "never" : std::to_string(worth).c_str());
}

}  // namespace

int main(int argc, char** argv) {
  uint64_t only = 0;
  if (argc == 3 && std::string(argv[1]) == "--elements") only = std::strtoull(argv[2], nullptr, 10);
  if (argc != 1 && only == 0) {
    std::fprintf(stderr, "usage: small_sets [--elements N]\n");
    return 1;
  }
  std::printf(
      "## Small sets: compact against prepared\n\n"
      "Two sets of equal size, kernel %s; the least of %d samples of CPU time.\n\n"
      "| elements | density | bytes, compact | blocks | compact, ns | prepared as, bytes | prepared, ns | comparing "
      "the bytes of one, ns | preparing, ns an element | pays from so many meetings | is prepared from |\n"
      "|---|---|---|---|---|---|---|---|---|---|---|\n",
      best_set_kernel().name, kSamples);
  for (const uint64_t size : kSizes)
    for (const double density : kDensities)
      if (only == 0 || size == only) measure(size, density);
  return bench::sink == 1 ? 2 : 0;
}
