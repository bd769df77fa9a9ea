// Frequent itemsets on a GPU and on the CPU: the experiments of two papers, and whether `auto` chooses well.
// All times start at grouped rows. The results of both sides are compared, and a difference ends the program.
// It runs on any machine with a GPU. Prints Markdown.
//
// usage: device_itemsets MODULE [PART...]    parts: fang losiak auto
//   fang    Fang et al. 2009, Fig. 6 to 8: pbi, tbi and dfs, and where their time goes; data sets from BATMAP_TEST_DATA
//   losiak  Losiak 2009, tables 6.4 to 6.7: dfs on generated baskets
//   auto    data sets, and dense random data without equal transactions
// Whole runs (losiak, auto) are timed on the CPU, on the GPU and as `auto` chooses, in turns; the medians count.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <numeric>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "accel/loader.h"
#include "bench/instances.h"
#include "core/stopwatch.h"
#include "itemsets/itemset_run.h"
#include "itemsets/itemset_stream.h"
#include "itemsets/search/bit_row_search.h"
#include "itemsets/search/breadth_first.h"
#include "itemsets/search/device_levels.h"
#include "relation/row_log.h"

using namespace batmap;

namespace {

constexpr double kLimitSeconds = 4;  // limit of one search
// Runs of each side, in turns. Sides that are not far behind run more often, until each has searched for its
// time or the row has taken as long as it may.
constexpr double kLongMs = 500;
constexpr double kFarBehind = 2;
constexpr size_t kTurnsOfLong = 3;
constexpr size_t kTurns = 7;
constexpr size_t kMaxTurns = 31;
constexpr double kSearchMs = 1500;
constexpr double kRowMs = 6000;
// Inputs that are made this quickly are made anew in each turn and freed at its end. The place of the rows in
// memory causes most of the differences between runs, and so all sides get the same places.
constexpr double kQuicklyMadeMs = 500;
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
  RowLog log{meter};
  int64_t tids = 0;

  explicit Data(std::string n) : name(std::move(n)) {}
  void seal(int64_t transactions) {
    log.seal();
    tids = transactions;
  }
};

/// Reads a file with one transaction a line. @return nullptr if there is no such file
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

/// Every item is in every transaction with the same probability.
std::unique_ptr<Data> random_dense(int64_t transactions, int32_t items, double density) {
  char name[64];
  std::snprintf(name, sizeof name, "%lld x %d, %g %%", static_cast<long long>(transactions), items, density * 100);
  auto data = std::make_unique<Data>(name);
  const bench::Instance instance{"", items, density, static_cast<double>(transactions) * items * density, 0};
  bench::generate(instance, 1, [&](int32_t tid, int32_t item) { data->log.append(tid, item); });
  data->seal(transactions);
  return data;
}

/// Losiak 2009, 6.3. The parameters are the paper's (50 frequent sets of 5 items). It does not describe its generator;
/// ours puts each of the sets into a transaction with a probability of 12 %, beside ten items drawn from all.
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

// ---- searches with one algorithm

/// Counts itemsets, including those with perfect extensions.
class Tally final : public ItemsetVisitor {
 public:
  void visit(Rank, uint32_t, uint32_t support) override {
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
  void push(Rank) override {}
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

/// The module's functions; closing a search also keeps its times.
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

/// Levels in this machine's memory. Counting is timed.
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
  void extend_row(uint32_t row, uint32_t min_count, uint32_t fold_support, std::vector<JoinedItemset>& found) override {
    timed([&] { levels_.extend_row(row, min_count, fold_support, found); });
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

/// @param max_length  longest itemsets to find
Split search(const Data& data, int64_t min_count, ItemsetAlgorithm algorithm, bool on_device,
             uint32_t max_length = UINT32_MAX) {
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
      search_bit_rows(root, root.leading, bounds, max_length, *levels, tally);
    } else {
      const ItemsetLookup lookup = algorithm == ItemsetAlgorithm::kPbi ? ItemsetLookup::kBitmaps : ItemsetLookup::kTrie;
      BreadthFirst(root, bounds, max_length, lookup, *levels, tally, log, options).search(root.leading);
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

std::string ms_or_over(const Split& split) {
  char text[32];
  std::snprintf(text, sizeof text, split.is_over ? "over %.0f" : "%.1f", split.is_over ? kLimitSeconds * 1e3 : split.all);
  return text;
}

/// The times of a search that was stopped are not printed.
std::string part_ms(const Split& split, double ms) {
  char text[32] = "";
  if (!split.is_over) std::snprintf(text, sizeof text, "%.1f", ms);
  return text;
}

std::string ratio_of(const Split& cpu, const Split& gpu) {
  char text[32] = "";
  if (!cpu.is_over || !gpu.is_over)
    std::snprintf(text, sizeof text, "%s%.2f", cpu.is_over ? "> " : gpu.is_over ? "< " : "", cpu.all / gpu.all);
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
        std::printf("| %s | %lld | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", data->name.c_str(),
                    static_cast<long long>(min_count), name_of(algorithm),
                    gpu.is_over && cpu.is_over ? "" : std::to_string(itemsets).c_str(), ms_or_over(cpu).c_str(),
                    part_ms(cpu, cpu.all - cpu.counting).c_str(), part_ms(cpu, cpu.counting).c_str(),
                    ms_or_over(gpu).c_str(), part_ms(gpu, gpu.transfer).c_str(),
                    part_ms(gpu, gpu.all - gpu.transfer - gpu.counting).c_str(), part_ms(gpu, gpu.counting).c_str(),
                    ratio_of(cpu, gpu).c_str());
        std::fflush(stdout);
      }
  }
}

// ---- whole runs

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

/// One row of the tables: the question.
struct Question {
  const Data& data;
  int64_t min_count;
  ItemsetAlgorithm algorithm;
  int threads;
  std::optional<int64_t> max_length;  // longest itemsets to find
};

/// One of CPU, GPU and auto. Timed from the choice of a device to the last answer.
class Side {
 public:
  Side(const Question& question, DeviceMode mode) : question_(question), mode_(mode) {}

  void run() {
    const Stopwatch whole;
    try {
      if (!search_) make();
      deadline_.watch = {};
      const Stopwatch watch;
      ItemsetStream stream(*search_, options_);
      TallySink sink;
      std::vector<ItemsetStep> batch;
      while (stream.next(batch)) sink.take(batch);
      times_.push_back(watch.milliseconds() + search_->record().choice_ms);
      itemsets = sink.itemsets;
      supports = sink.supports;
    } catch (const Error&) {
      is_over = true;
      times_ = {kLimitSeconds * 1e3};
    }
    is_on_device = search_ && search_->site().device != "cpu";
    if (search_) record = search_->record();
    if (made_ms_ < kQuicklyMadeMs) search_.reset();
    spent_ms += whole.milliseconds();
  }

  double median() const {
    if (times_.empty()) return 0;
    std::vector<double> sorted = times_;
    std::ranges::sort(sorted);
    const size_t middle = sorted.size() / 2;
    return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  }
  double searched_ms() const { return std::accumulate(times_.begin(), times_.end(), 0.0); }

  uint64_t itemsets = 0;
  uint64_t supports = 0;
  bool is_on_device = false;
  bool is_over = false;  // stopped at the limit
  double spent_ms = 0;   // includes making the input
  RunRecord record;

 private:
  void make() {
    ItemsetQuery query;
    query.min_count = question_.min_count;
    query.algorithm = question_.algorithm;
    query.max_length = question_.max_length;
    query.device.offload = &offload();
    query.device.mode = mode_;
    deadline_.watch = {};
    const Stopwatch watch;
    search_.emplace(question_.data.log.chunks(), std::span<const uint32_t>(), query, options_);
    made_ms_ = watch.milliseconds();
  }

  const Question& question_;
  DeviceMode mode_;
  Deadline deadline_;
  MemoryMeter meter_;
  ExecutionOptions options_{question_.threads, &meter_, deadline_.token()};
  std::optional<ItemsetRun> search_;
  std::vector<double> times_;
  double made_ms_ = 0;
};

std::string text_of(const Side& side) {
  char text[32];
  std::snprintf(text, sizeof text, "%s%.*f", side.is_over ? "over " : "", side.median() < 10 ? 2 : 1, side.median());
  return text;
}

constexpr double kGoal = 1.2;  // auto / better

/// How far `auto` is behind the better side, over the rows where that side takes at least `from_ms`.
struct Worst {
  double from_ms;
  int rows = 0;
  int missed = 0;  // rows above kGoal
  double ratio = 0;
  double lost_ms = 0;
  std::string name;

  void add(double auto_ms, double better_ms, const std::string& row) {
    ++rows;
    missed += auto_ms > kGoal * better_ms;
    if (auto_ms <= ratio * better_ms) return;
    ratio = auto_ms / better_ms;
    lost_ms = auto_ms - better_ms;
    name = row;
  }
};
Worst worst[] = {{.from_ms = 1, .name = {}}, {.from_ms = 0, .name = {}}};

int repeated = 0;

/// One row: CPU, GPU and auto in turns; each turn starts with another side.
/// @return whether to measure again: the row is above the goal, which a busy host may cause, too
bool compare(const Question& question, bool is_repeated) {
  Side sides[] = {{question, DeviceMode::kCpu}, {question, DeviceMode::kCuda}, {question, DeviceMode::kAuto}};
  auto& [cpu, gpu, chosen] = sides;
  for (size_t turn = 0; turn < kMaxTurns; ++turn) {
    const double best = std::min({cpu.median(), gpu.median(), chosen.median()});
    const auto is_far = [&](const Side& side) { return side.median() > kFarBehind * best; };
    bool has_searched = true;
    double spent_ms = 0;
    for (const Side& side : sides) {
      if (is_far(side)) continue;
      has_searched = has_searched && side.searched_ms() > kSearchMs;
      spent_ms += side.spent_ms;
    }
    const bool is_done = has_searched || spent_ms > kRowMs;
    for (size_t k = 0; k < 3; ++k) {
      Side& side = sides[(turn + k) % 3];
      const bool is_enough = turn >= (side.median() > kLongMs ? kTurnsOfLong : kTurns) && (is_done || is_far(side));
      if (!side.is_over && !is_enough) side.run();
    }
  }
  for (const Side* other : {&gpu, &chosen})
    if (!cpu.is_over && !other->is_over && (cpu.itemsets != other->itemsets || cpu.supports != other->supports))
      fail(question.data.name + ": CPU and GPU differ");
  const double better = std::min(cpu.median(), gpu.median());
  const bool is_missed = chosen.median() > kGoal * better && !is_repeated;
  if (!is_missed)
    worst[better < worst[0].from_ms].add(chosen.median(), better,
                                         question.data.name + ", min_count " + std::to_string(question.min_count) + ", " +
                                             name_of(question.algorithm) + ", threads " + std::to_string(question.threads));
  std::printf("| %s%s | %lld | %s | %d | %llu | %s | %s | %.2f | %s | %s | %.2f | %.2f | %s |\n", question.data.name.c_str(),
              is_repeated ? ", again" : "", static_cast<long long>(question.min_count), name_of(question.algorithm),
              question.threads, static_cast<unsigned long long>(cpu.is_over ? gpu.itemsets : cpu.itemsets),
              text_of(cpu).c_str(), text_of(gpu).c_str(), cpu.median() / gpu.median(), text_of(chosen).c_str(),
              chosen.is_on_device ? "GPU" : "CPU", chosen.median() / better, chosen.record.choice_ms,
              chosen.record.reason.c_str());
  std::fflush(stdout);
  return is_missed;
}

void compare(const Question& question) {
  if (!compare(question, false)) return;
  ++repeated;
  compare(question, true);
}

void print_head() {
  std::printf(
      "\n| data | min_count | algorithm | threads | itemsets | CPU ms | GPU ms | CPU / GPU | auto ms | auto chose | auto / "
      "better | choice ms | expected |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
}

void run_losiak() {
  for (const bool whole : {true, false}) {
    std::printf(
        "\n### Losiak 2009, tables %s\n\n%s.\n", whole ? "6.4 and 6.5" : "6.6 and 6.7",
        whole ? "The whole search by dfs" : "One step of dfs for each item, without going on: itemsets of two items");
    print_head();
    const std::optional<int64_t> max_length = whole ? std::nullopt : std::optional<int64_t>(2);
    for (int64_t transactions = 512; transactions <= 131'072; transactions *= 4)
      compare({*baskets(transactions, 2000), transactions / 10, ItemsetAlgorithm::kDfs, 1, max_length});
    for (const int32_t items : {500, 8500})
      compare({*baskets(131'072, items), 13'107, ItemsetAlgorithm::kDfs, 1, max_length});
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
          compare({*data, min_count, algorithm, 1, {}});
  std::printf("\n### Dense random data, which do not merge\n");
  print_head();
  const struct {
    int64_t transactions;
    int32_t items;
    double density;
    std::vector<double> min_supports;
  } instances[] = {{3'000, 60, 0.5, {0.2, 0.05}},     {10'000, 60, 0.3, {0.05, 0.02}},
                   {30'000, 60, 0.3, {0.05, 0.02}},   {100'000, 300, 0.05, {0.01, 0.002}},
                   {100'000, 100, 0.3, {0.05, 0.02}}, {300'000, 100, 0.2, {0.03, 0.005}},
                   {300'000, 60, 0.5, {0.2, 0.1}},    {1'000'000, 100, 0.25, {0.01}}};
  for (const auto& instance : instances) {
    const std::unique_ptr<Data> data = random_dense(instance.transactions, instance.items, instance.density);
    for (const double min_support : instance.min_supports)
      for (const int threads : {1, cores})
        compare({*data,
                 static_cast<int64_t>(min_support * static_cast<double>(instance.transactions)),
                 ItemsetAlgorithm::kAuto,
                 threads,
                 {}});
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
  std::printf("\n");
  for (const Worst& among : worst)
    if (among.rows > 0)
      std::printf(
          "%d rows where the better takes %s 1 ms, %d of them with auto / better above 1.2; at worst %.2f, %.0f us (%s)\n",
          among.rows, among.from_ms > 0 ? "at least" : "less than", among.missed, among.ratio, among.lost_ms * 1e3,
          among.name.c_str());
  if (repeated > 0) std::printf("Rows that were above it were measured again, and count as then: %d.\n", repeated);
}
