// Frequent itemsets on a GPU and on the CPU: the experiments of two papers, and whether `auto` chooses well. Everything is
// timed from grouped rows on; what both sides find is compared, and a difference ends the program. It runs on any machine
// with a GPU. Prints Markdown.
//
// usage: device_itemsets MODULE [PART...]    parts: fang losiak auto
//   fang    Fang et al. 2009, Fig. 6 to 8: pbi, tbi and dfs, and where their time goes; data sets from BATMAP_TEST_DATA
//   losiak  Losiak 2009, tables 6.4 to 6.7: dfs on generated baskets
//   auto    dense random data that do not merge, and all of the above: the time of `auto` over the better of CPU and GPU
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "accel/loader.h"
#include "bench/instances.h"
#include "core/stopwatch.h"
#include "itemsets/bit_row_search.h"
#include "itemsets/breadth_first.h"
#include "itemsets/device_levels.h"
#include "itemsets/itemset_run.h"
#include "itemsets/itemset_stream.h"
#include "relation/pair_log.h"

using namespace batmap;

namespace {

constexpr double kLimitSeconds = 4;  // of one search
const char* module_path;

Offload& offload() {
  static Offload loaded([](std::string& why) { return load_accelerator(module_path, why); });
  return loaded;
}

[[noreturn]] void fail(const std::string& text) {
  std::fprintf(stderr, "device_itemsets: %s\n", text.c_str());
  std::exit(1);
}

struct Deadline {
  Stopwatch watch;
  CancelToken token() {
    return {[](void* arg) { return static_cast<Deadline*>(arg)->watch.milliseconds() > kLimitSeconds * 1e3; }, this};
  }
};

// ---- data

struct Data {
  std::string name;
  MemoryMeter meter;
  PairLog log{meter};
  int64_t tids = 0;

  explicit Data(std::string n) : name(std::move(n)) {}
  void seal(int64_t transactions) {
    log.seal();
    tids = transactions;
  }
};

/// A file of one transaction a line. @return nullptr: there is none
std::unique_ptr<Data> read_transactions(const std::string& name) {
  const char* const folder = std::getenv("BATMAP_TEST_DATA");
  std::ifstream file(std::string(folder == nullptr ? "." : folder) + "/fimi/" + name + ".dat");
  if (!file.is_open()) return nullptr;
  auto data = std::make_unique<Data>(name);
  std::string line;
  int64_t tid = 0;
  for (; std::getline(file, line); ++tid) {
    std::istringstream items(line);
    for (int64_t item; items >> item;) data->log.append(tid, item);
  }
  data->seal(tid);
  return data;
}

/// Each item in each transaction with one probability.
std::unique_ptr<Data> random_dense(int64_t transactions, int32_t items, double density) {
  char name[64];
  std::snprintf(name, sizeof name, "%lld x %d, %g %%", static_cast<long long>(transactions), items, density * 100);
  auto data = std::make_unique<Data>(name);
  const bench::Instance instance{"", items, density, static_cast<double>(transactions) * items * density, 0};
  bench::generate(instance, 1, [&](int32_t tid, int32_t item) { data->log.append(tid, item); });
  data->seal(transactions);
  return data;
}

/// Losiak 2009, 6.3: the parameters are the paper's (50 frequent sets of 5 items), the generator, which it does not name, is
/// ours: each of the sets is in a transaction with 12 %, beside ten items drawn from all.
std::unique_ptr<Data> baskets(int64_t transactions, int32_t items) {
  auto data = std::make_unique<Data>(std::to_string(transactions) + " x " + std::to_string(items));
  bench::Random random(7);
  std::vector<int32_t> sets(50 * 5);
  for (int32_t& item : sets) item = static_cast<int32_t>(random.below(static_cast<uint64_t>(items)));
  for (int64_t tid = 0; tid < transactions; ++tid) {
    for (size_t set = 0; set < 50; ++set)
      if (random.unit() < 0.12)
        for (size_t k = 0; k < 5; ++k) data->log.append(tid, sets[set * 5 + k]);
    for (int k = 0; k < 10; ++k) data->log.append(tid, static_cast<int64_t>(random.below(static_cast<uint64_t>(items))));
  }
  data->seal(transactions);
  return data;
}

// ---- searches by one strategy

/// Counts itemsets, those with perfect extensions included.
class Tally final : public ItemsetVisitor {
 public:
  void visit(uint32_t, uint32_t, uint32_t support) override {
    itemsets += uint64_t{1} << perfect();
    supports += uint64_t{support} << perfect();
  }
  void visit_perfect(uint32_t support) override {
    itemsets += (uint64_t{1} << perfect()) - 1;
    supports += support * ((uint64_t{1} << perfect()) - 1);
  }
  uint64_t itemsets = 0;
  uint64_t supports = 0;

 private:
  void push(uint32_t) override {}
  void shrink(size_t) override {}
};

struct Split {
  double all = 0;
  double transfer = 0;
  double counting = 0;
  uint64_t itemsets = 0;
  uint64_t supports = 0;
  bool is_over = false;  // stopped at the limit
};

DeviceItemsetTimes last_times;
const DeviceItemsetApi* real_api;

/// The module's functions, but that the times of a search are kept when it is closed.
const AcceleratorApi& timed_api() {
  static DeviceItemsetApi itemsets;
  static AcceleratorApi api;
  real_api = offload().api()->itemsets;
  itemsets = *real_api;
  itemsets.close = [](DeviceItemsets* search) {
    real_api->times(search, &last_times);
    real_api->close(search);
  };
  api = *offload().api();
  api.itemsets = &itemsets;
  return api;
}

/// Levels in this machine's memory, with a clock around what counts.
class TimedLevels final : public RowLevels {
 public:
  explicit TimedLevels(HostLevels levels) : levels_(std::move(levels)) {}
  void count(std::span<JoinedItemset> candidates) override {
    timed([&] { levels_.count(candidates); });
  }
  void push(std::span<const JoinedItemset> kept) override {
    timed([&] { levels_.push(kept); });
  }
  void pop() override { levels_.pop(); }
  void drop_lower() override { levels_.drop_lower(); }
  void extend_row(uint32_t row, uint32_t least, uint32_t fold_support, std::vector<JoinedItemset>& found) override {
    timed([&] { levels_.extend_row(row, least, fold_support, found); });
  }
  double milliseconds = 0;

 private:
  template <typename Work>
  void timed(Work work) {
    const Stopwatch watch;
    work();
    milliseconds += watch.milliseconds();
  }
  HostLevels levels_;
};

/// @param most  length of the longest itemset wanted
Split search(const Data& data, int64_t min_count, ItemsetAlgorithm algorithm, bool on_device, uint32_t most = UINT32_MAX) {
  Deadline deadline;
  MemoryMeter meter;
  const ExecutionOptions options{1, &meter, deadline.token()};
  const EncodedRelation relation(data.log.chunks(), {}, options);
  const KeptItems kept = keep_items(relation, {static_cast<uint64_t>(min_count), {}, {}}, options);
  const SearchRoot root = build_search_root(relation, kept, static_cast<uint64_t>(min_count), false, options);
  SearchBounds bounds;
  bounds.min_count = static_cast<uint32_t>(min_count);
  WeightedBits bits(root, best_and_popcount(), options);
  Split split;
  deadline.watch = {};
  const Stopwatch watch;
  last_times = {};
  Tally tally;
  double host_ms = 0;
  try {
    std::unique_ptr<RowLevels> levels;
    TimedLevels* timed = nullptr;
    if (on_device) {
      levels = rows_on_device(timed_api(), {0, 0, algorithm == ItemsetAlgorithm::kPbi}, bits, options);
    } else {
      auto host = std::make_unique<TimedLevels>(HostLevels(std::move(bits), options));
      timed = host.get();
      levels = std::move(host);
    }
    SearchLevels log;
    if (algorithm == ItemsetAlgorithm::kDfs) {
      search_bit_rows(root, root.leading, bounds, most, *levels, tally);
    } else {
      const ItemsetLookup lookup = algorithm == ItemsetAlgorithm::kPbi ? ItemsetLookup::kBitmaps : ItemsetLookup::kTrie;
      BreadthFirst(root, bounds, most, lookup, *levels, tally, log, options).search(root.leading);
    }
    if (timed != nullptr) host_ms = timed->milliseconds;
  } catch (const Error&) {
    split.is_over = true;
  } catch (const DeviceFailure& failure) {
    if (failure.status != AcceleratorStatus::kCancelled) fail(failure.text);
    split.is_over = true;
  }
  split.all = watch.milliseconds();
  split.transfer = last_times.transfer;
  split.counting = on_device ? last_times.counting : host_ms;
  split.itemsets = tally.itemsets;
  split.supports = tally.supports;
  return split;
}

const char* name_of(ItemsetAlgorithm algorithm) {
  constexpr const char* kNames[] = {"auto", "pbi", "tbi", "dfs"};
  return kNames[static_cast<size_t>(algorithm)];
}

std::string ms_or_over(const Split& split, double ms) {
  char text[32];
  if (split.is_over)
    std::snprintf(text, sizeof text, "over %.0f", kLimitSeconds * 1e3);
  else
    std::snprintf(text, sizeof text, "%.1f", ms);
  return text;
}

void run_fang() {
  std::printf(
      "\n### Fang et al. 2009, Fig. 6 to 8\n\nMilliseconds from bit rows on, answers walked but not written; one thread of "
      "the "
      "host. *candidates* is what is neither transfer nor counting:\njoining, pruning, and the walk over the answers. "
      "Searches "
      "were stopped at %.0f s.\n\n| data | min_count | algorithm | itemsets | CPU | candidates | counting | GPU | transfer "
      "| "
      "candidates | counting | CPU / GPU |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n",
      kLimitSeconds);
  const struct {
    const char* name;
    std::vector<int64_t> min_counts;
  } sets[] = {{"T40I10D100K-regen", {2000, 1000, 500}}, {"chess", {2557, 2238, 1918}}, {"retail", {89, 45, 9}}};
  for (const auto& set : sets) {
    const std::unique_ptr<Data> data = read_transactions(set.name);
    if (!data) {
      std::printf("| %s | not here |\n", set.name);
      continue;
    }
    for (const int64_t min_count : set.min_counts)
      for (const ItemsetAlgorithm algorithm : {ItemsetAlgorithm::kPbi, ItemsetAlgorithm::kTbi, ItemsetAlgorithm::kDfs}) {
        const Split gpu = search(*data, min_count, algorithm, true);
        const Split cpu = search(*data, min_count, algorithm, false);
        if (!gpu.is_over && !cpu.is_over && (gpu.itemsets != cpu.itemsets || gpu.supports != cpu.supports))
          fail(data->name + ": GPU and CPU differ");
        const uint64_t itemsets = gpu.is_over ? cpu.itemsets : gpu.itemsets;
        std::printf("| %s | %lld | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s%.2f |\n", data->name.c_str(),
                    static_cast<long long>(min_count), name_of(algorithm),
                    gpu.is_over && cpu.is_over ? "" : std::to_string(itemsets).c_str(), ms_or_over(cpu, cpu.all).c_str(),
                    ms_or_over(cpu, cpu.all - cpu.counting).c_str(), ms_or_over(cpu, cpu.counting).c_str(),
                    ms_or_over(gpu, gpu.all).c_str(), ms_or_over(gpu, gpu.transfer).c_str(),
                    ms_or_over(gpu, gpu.all - gpu.transfer - gpu.counting).c_str(), ms_or_over(gpu, gpu.counting).c_str(),
                    cpu.is_over && !gpu.is_over ? "> " : "", cpu.all / gpu.all);
        std::fflush(stdout);
      }
  }
}

// ---- whole runs

struct Timed {
  double ms = 0;  // from the choice of a device to the last answer
  uint64_t itemsets = 0;
  uint64_t supports = 0;
  std::string place;
  std::string reason;
  bool is_over = false;
};

class TallySink final : public ItemsetSink {
 public:
  void take(std::span<const ItemsetStep> steps) override {
    for (const ItemsetStep& step : steps) {
      itemsets += step.support != 0;
      supports += step.support;
    }
  }
  uint64_t itemsets = 0;
  uint64_t supports = 0;
};

Timed run(const Data& data, int64_t min_count, ItemsetAlgorithm algorithm, DeviceMode mode, int threads,
          std::optional<int64_t> most) {
  Deadline deadline;
  MemoryMeter meter;
  const ExecutionOptions options{threads, &meter, deadline.token()};
  ItemsetQuery query;
  query.min_count = min_count;
  query.algorithm = algorithm;
  query.max_length = most;
  query.device.offload = &offload();
  query.device.mode = mode;
  Timed timed;
  try {
    ItemsetRun search(data.log.chunks(), {}, query, options);
    deadline.watch = {};
    const Stopwatch watch;
    ItemsetStream stream(search, options);
    TallySink sink;
    std::vector<ItemsetStep> batch;
    while (stream.next(batch)) sink.take(batch);
    timed.ms = watch.milliseconds() + search.report().choice_ms;
    timed.itemsets = sink.itemsets;
    timed.supports = sink.supports;
    timed.place = search.place().device == "cpu" ? "CPU" : "GPU";
    timed.reason = search.report().reason;
  } catch (const Error&) {
    timed.is_over = true;
    timed.ms = kLimitSeconds * 1e3;
  }
  return timed;
}

std::string text_of(const Timed& timed) {
  char text[32];
  std::snprintf(text, sizeof text, "%s%.1f", timed.is_over ? "over " : "", timed.ms);
  return text;
}

double worst_ratio = 0;
std::string worst_name;

/// One row: CPU, GPU, auto.
void compare(const Data& data, int64_t min_count, ItemsetAlgorithm algorithm, int threads,
             std::optional<int64_t> most = {}) {
  // Short ones several times, in turns: the best of each counts.
  Timed best[3];
  const DeviceMode modes[] = {DeviceMode::kCpu, DeviceMode::kCuda, DeviceMode::kAuto};
  for (int round = 0; round < 5; ++round) {
    for (int side = 0; side < 3; ++side) {
      const Timed timed = run(data, min_count, algorithm, modes[side], threads, most);
      if (round == 0 || timed.ms < best[side].ms) best[side] = timed;
    }
    if (best[0].ms + best[1].ms + best[2].ms > (round < 2 ? 4000 : 400)) break;
  }
  const auto& [cpu, gpu, chosen] = best;
  for (const Timed& other : {gpu, chosen})
    if (!cpu.is_over && !other.is_over && (cpu.itemsets != other.itemsets || cpu.supports != other.supports))
      fail(data.name + ": CPU and GPU differ");
  const double ratio = chosen.ms / std::min(cpu.ms, gpu.ms);
  // Below some milliseconds nobody waits, and the clock has more to say than the choice.
  const bool counts = std::max(cpu.ms, gpu.ms) >= 20 && chosen.ms >= 10;
  if (counts && ratio > worst_ratio) {
    worst_ratio = ratio;
    worst_name = data.name + ", min_count " + std::to_string(min_count);
  }
  std::printf("| %s | %lld | %s | %d | %llu | %s | %s | %.2f | %s | %s | %.2f | %s |\n", data.name.c_str(),
              static_cast<long long>(min_count), name_of(algorithm), threads,
              static_cast<unsigned long long>(cpu.is_over ? gpu.itemsets : cpu.itemsets), text_of(cpu).c_str(),
              text_of(gpu).c_str(), cpu.ms / gpu.ms, text_of(chosen).c_str(), chosen.place.c_str(), ratio,
              chosen.reason.c_str());
  std::fflush(stdout);
}

void print_head() {
  std::printf(
      "\n| data | min_count | algorithm | threads | itemsets | CPU ms | GPU ms | CPU / GPU | auto ms | auto chose | auto / "
      "better | expected |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n");
}

void run_losiak() {
  for (const bool whole : {true, false}) {
    std::printf(
        "\n### Losiak 2009, tables %s\n\n%s.\n", whole ? "6.4 and 6.5" : "6.6 and 6.7",
        whole ? "The whole search by dfs" : "One step of dfs for each item, without going on: itemsets of two items");
    print_head();
    const std::optional<int64_t> most = whole ? std::nullopt : std::optional<int64_t>(2);
    for (int64_t transactions = 512; transactions <= 131'072; transactions *= 4)
      compare(*baskets(transactions, 2000), transactions / 10, ItemsetAlgorithm::kDfs, 1, most);
    for (const int32_t items : {500, 2000, 8500}) compare(*baskets(131'072, items), 13'107, ItemsetAlgorithm::kDfs, 1, most);
  }
}

void run_auto() {
  const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  std::printf("\n### Data sets\n");
  print_head();
  const struct {
    const char* name;
    std::vector<int64_t> min_counts;
  } sets[] = {{"T40I10D100K-regen", {2000, 1000}}, {"chess", {1918}}, {"retail", {45, 9}}, {"connect", {54046}}};
  for (const auto& set : sets)
    if (const std::unique_ptr<Data> data = read_transactions(set.name))
      for (const int64_t min_count : set.min_counts)
        for (const ItemsetAlgorithm algorithm : {ItemsetAlgorithm::kAuto, ItemsetAlgorithm::kPbi, ItemsetAlgorithm::kTbi})
          compare(*data, min_count, algorithm, 1);
  std::printf("\n### Dense random data, which do not merge\n");
  print_head();
  const struct {
    int64_t transactions;
    int32_t items;
    double density;
    std::vector<double> min_supports;
  } instances[] = {{30'000, 60, 0.3, {0.05, 0.02}},
                   {100'000, 100, 0.3, {0.05, 0.02}},
                   {300'000, 100, 0.2, {0.03, 0.005}},
                   {300'000, 60, 0.5, {0.2, 0.1}},
                   {1'000'000, 100, 0.25, {0.01}}};
  for (const auto& instance : instances) {
    const std::unique_ptr<Data> data = random_dense(instance.transactions, instance.items, instance.density);
    for (const double min_support : instance.min_supports)
      for (const int threads : {1, cores})
        compare(*data, static_cast<int64_t>(min_support * static_cast<double>(instance.transactions)),
                ItemsetAlgorithm::kAuto, threads);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: device_itemsets MODULE [PART...]\n");
    return 2;
  }
  module_path = argv[1];
  const auto wanted = [&](const char* part) {
    for (int i = 2; i < argc; ++i)
      if (std::strcmp(argv[i], part) == 0) return true;
    return argc == 2;
  };
  std::vector<DeviceTraits> devices = offload().devices();
  if (devices.empty()) fail(offload().why_not());
  devices.resize(1);
  try {
    offload().prepare(devices);
  } catch (const DeviceFailure& failure) {
    fail(failure.text);
  }
  std::printf("%s and %u cores, kernel %s; the CUDA context is there\n", devices[0].name,
              std::thread::hardware_concurrency(), best_and_popcount().name);
  if (wanted("fang")) run_fang();
  if (wanted("losiak")) run_losiak();
  if (wanted("auto")) run_auto();
  if (worst_ratio > 0)
    std::printf("\nauto over the better of CPU and GPU, where it takes 10 ms or more: %.2f at worst (%s)\n", worst_ratio,
                worst_name.c_str());
}
