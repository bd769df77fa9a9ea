// The experiments of Amossen and Pagh 2011, section IV, with the methods of the engine. Prints CSV, one
// quantity a line. `bench/run paper pairs` builds and runs it; pairs_report.py beside it makes tables and a
// plot; bench/README.md describes the method.
//
// usage: paper_pairs [--most-items N] [--seconds S] [--runs N] [--rows N]
//
//   items    Fig. 5 to 7: 10 million rows, every item in a transaction with probability 5 %, 1,000 items and more
//   density  Fig. 8: 10 million rows, 8,000 items
//   cores    Fig. 9: 4,000 items at 5 %, with an increasing number of threads
//   compare  Fig. 11: two batmaps, out of cache, with an increasing number of threads
//   merge    IV-B: two sorted lists of 2^24, with an increasing number of threads
#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "bench/byte_slots.h"
#include "bench/instances.h"
#include "pairs/pair_run.h"
#include "relation/row_log.h"
#include "set/set_builder.h"
#include "set/set_intersect.h"

using namespace batmap;

namespace {

struct Settings {
  int32_t max_items = 16'000;
  // time of a method at a point: a run is stopped then, and another one starts only if it is likely to fit
  double seconds = 10;
  int runs = 3;
  double rows = 10e6;
};

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "paper_pairs: %s\n", what.c_str());
  std::exit(1);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

enum class Clock { kCpu, kWall };

/// One thread is timed by CPU time, which a busy machine affects little.
Clock clock_for(int threads) { return threads == 1 ? Clock::kCpu : Clock::kWall; }

double now(Clock clock) {
  timespec at{};
  clock_gettime(clock == Clock::kCpu ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &at);
  return static_cast<double>(at.tv_sec) + static_cast<double>(at.tv_nsec) * 1e-9;
}

void print(const char* experiment, const std::string& series, double x, const char* quantity, double value) {
  std::printf("%s,%s,%.10g,%s,%.6g\n", experiment, series.c_str(), x, quantity, value);
  std::fflush(stdout);
}

// ---- all pairs of a relation

/// All methods must agree on this.
struct Answer {
  uint64_t pairs = 0;
  uint64_t supports = 0;
  uint64_t checksum = 0;  // over (item, item, support), independent of the order
  bool operator==(const Answer&) const = default;

  void add(const PairRow& row) {
    const auto [low, high] = std::minmax(row.item_a, row.item_b);
    uint64_t mixed = (static_cast<uint64_t>(low) << 32 | static_cast<uint64_t>(high)) * 0x9e3779b97f4a7c15;
    mixed ^= mixed >> 32;
    ++pairs;
    supports += row.support;
    checksum += mixed * row.support;
  }
};

struct Side {
  const char* name;
  PairMethod method;
  int32_t max_items = INT32_MAX;  // with more items a run takes too long
  std::vector<double> total_s{}, generation_s{};
  double peak_bytes = 0;
  Answer answer{};

  /// Whether another run like the first one fits into `seconds`, together with those before.
  bool has_time(double seconds) const {
    return total_s.empty() || static_cast<double>(total_s.size() + 1) * total_s[0] <= seconds;
  }
};

struct Deadline {
  Clock clock;
  double at;
  static bool passed(void* arg) {
    const auto* deadline = static_cast<const Deadline*>(arg);
    return now(deadline->clock) > deadline->at;
  }
};

/// One run, from rows in memory to the last pair. @return false if it was stopped
bool run_once(Side& side, const RowLog& log, size_t log_bytes, int threads, double seconds) {
  const Clock clock = clock_for(threads);
  const double begin = now(clock);
  Deadline deadline{clock, begin + seconds};
  MemoryMeter meter;
  PairQuery query;
  query.min_count = 1;
  query.method = side.method;
  Answer answer;
  try {
    PairRun run(log, {}, query, {threads, &meter, {Deadline::passed, &deadline}});
    const double grouped = now(clock);
    PairBatch batch;
    while (run.next(batch))
      for (const PairRow& row : batch) answer.add(row);
    const double end = now(clock);
    side.total_s.push_back(end - begin);
    side.generation_s.push_back(end - grouped);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kCancelled) throw;
    return false;
  }
  if (side.total_s.size() > 1 && !(answer == side.answer))
    fail(std::string(side.name) + " gives different answers in two runs");
  side.answer = answer;
  side.peak_bytes = std::max(side.peak_bytes, static_cast<double>(meter.peak() + log_bytes));
  return true;
}

std::unique_ptr<RowLog> make_rows(MemoryMeter& meter, int32_t items, double density, double rows) {
  auto log = std::make_unique<RowLog>(meter);
  bench::generate({"", items, density, rows, 0.0}, 1, [&](int32_t tid, int32_t item) { log->append(tid, item); });
  log->seal();
  return log;
}

/// Runs all sides in turns, except those for which `items` are too many. The answers of a stopped side are not compared.
void run_point(const char* experiment, double x, std::vector<Side>& sides, int32_t items, const RowLog& log,
               size_t log_bytes, int threads, const Settings& settings) {
  std::fprintf(stderr, "paper_pairs: %s %g, %" PRIu64 " rows\n", experiment, x, log.rows());
  for (Side& side : sides) side = {side.name, side.method, side.max_items};
  std::vector<Side*> running;
  for (Side& side : sides)
    if (items <= side.max_items) running.push_back(&side);
  for (int round = 0; round < settings.runs; ++round)
    std::erase_if(running, [&](Side* side) {
      return !side->has_time(settings.seconds) || !run_once(*side, log, log_bytes, threads, settings.seconds);
    });
  const Side* witness = nullptr;
  for (const Side& side : sides) {
    if (side.total_s.empty()) continue;
    if (witness != nullptr && !(side.answer == witness->answer))
      fail(std::string(side.name) + " and " + witness->name + " give different answers");
    witness = &side;
  }
  print(experiment, "instance", x, "rows", static_cast<double>(log.rows()));
  for (const Side& side : sides) {
    if (side.total_s.empty()) {
      print(experiment, side.name, x, "over_s", settings.seconds);
      continue;
    }
    print(experiment, side.name, x, "generation_s", median(side.generation_s));
    print(experiment, side.name, x, "total_s", median(side.total_s));
    print(experiment, side.name, x, "peak_mb", side.peak_bytes / 1e6);
    print(experiment, side.name, x, "runs", static_cast<double>(side.total_s.size()));
    print(experiment, side.name, x, "pairs", static_cast<double>(side.answer.pairs));
  }
}

std::vector<Side> all_methods() {
  std::vector<Side> sides;
  for (const PairMethodName& entry : kPairMethodNames) sides.push_back({entry.name, entry.method});
  return sides;
}

std::vector<int> thread_counts() {
  const int most = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  std::vector<int> counts;
  for (int threads = 1; threads < most; threads *= 2) counts.push_back(threads);
  counts.push_back(most);
  return counts;
}

/// Time grows with the number of items: a method that was stopped is left out from there on.
void vary_items(std::vector<Side>& sides, const Settings& settings) {
  for (int32_t items = 1'000; items <= settings.max_items; items *= 2) {
    MemoryMeter meter;
    const auto log = make_rows(meter, items, 0.05, settings.rows);
    run_point("items", items, sides, items, *log, meter.current(), 1, settings);
    for (Side& side : sides)
      if (side.total_s.empty()) side.max_items = std::min(side.max_items, items - 1);
  }
}

void vary_density(std::vector<Side>& sides, const Settings& settings) {
  for (const double density : {0.005, 0.02, 0.05, 0.2}) {
    MemoryMeter meter;
    const auto log = make_rows(meter, 8'000, density, settings.rows);
    run_point("density", density, sides, 8'000, *log, meter.current(), 1, settings);
  }
}

void vary_cores(std::vector<Side>& sides, const Settings& settings) {
  MemoryMeter meter;
  const auto log = make_rows(meter, 4'000, 0.05, settings.rows);
  for (const int threads : thread_counts())
    run_point("cores", threads, sides, 4'000, *log, meter.current(), threads, settings);
}

// ---- two sets

/// Runs `body(thread)` on all threads at once. @return seconds until the last one ends
template <typename Body>
double simultaneously(int threads, Body body) {
  const double begin = now(clock_for(threads));
  std::vector<std::thread> others;
  for (int thread = 1; thread < threads; ++thread) others.emplace_back(body, thread);
  body(0);
  for (std::thread& other : others) other.join();
  return now(clock_for(threads)) - begin;
}

/// About `count` ascending elements: each number below the universe is taken with the same probability.
std::vector<uint64_t> random_set(uint64_t seed, uint64_t count, uint64_t universe) {
  bench::Random random(seed);
  const double log_miss = std::log1p(-static_cast<double>(count) / static_cast<double>(universe));
  std::vector<uint64_t> elements;
  elements.reserve(count + count / 64);
  for (double x = -1; (x += 1 + std::floor(std::log(random.unit()) / log_miss)) < static_cast<double>(universe);)
    elements.push_back(static_cast<uint64_t>(x));
  return elements;
}

uint64_t common_elements(const std::vector<uint64_t>& a, const std::vector<uint64_t>& b) {
  uint64_t common = 0;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    common += a[i] == b[j];
    const bool first = a[i] <= b[j], second = b[j] <= a[i];
    i += first, j += second;
  }
  return common;
}

/// A stored batmap as the extension keeps it: opened, with aligned planes.
class StoredSet {
 public:
  StoredSet(const std::vector<uint64_t>& elements, int width, const ExecutionOptions& options) {
    SetEncoder encoder(options);
    bytes_ = encoder.prepare(elements, width);
    memory_ = Buffer<std::byte>(*options.memory, kOffset + bytes_);
    encoder.write(memory_.data() + kOffset);
  }
  SetView view() const { return SetView::open({memory_.data() + kOffset, bytes_}); }
  size_t bytes() const { return bytes_; }

 private:
  static constexpr size_t kOffset = 64 - kSetHeaderBytes - kStashHeaderBytes;
  Buffer<std::byte> memory_;
  size_t bytes_ = 0;
};

/// Every thread compares its own pair `calls` times, so that no cache is shared. Prints medians.
template <typename Count>
void print_rates(const char* series, double bytes, double elements, const Settings& settings, Count count) {
  constexpr int kCalls = 50;
  for (const int threads : thread_counts()) {
    std::vector<double> seconds;
    for (int run = 0; run < settings.runs; ++run)
      seconds.push_back(simultaneously(threads,
                                       [&](int thread) {
                                         for (int call = 0; call < kCalls; ++call) count(thread);
                                       }) /
                        kCalls / threads);
    print("compare", series, threads, "gb_per_s", bytes / median(seconds) / 1e9);
    print("compare", series, threads, "elements_per_s", elements / median(seconds));
  }
}

void compare_batmaps(const Settings& settings) {
  constexpr uint64_t kElements = 4'000'000;  // 2^23 slots a table: 25 MB as bytes; the paper has 20 MB
  constexpr int kWidth = 29;                 // 7 bits a slot in the paper's form, 6 key planes in ours: equally many bytes
  std::fprintf(stderr, "paper_pairs: two batmaps of %" PRIu64 " elements\n", kElements);
  MemoryMeter meter;
  const ExecutionOptions options{1, &meter, {}};
  const std::vector<uint64_t> a = random_set(1, kElements, uint64_t{1} << kWidth);
  const std::vector<uint64_t> b = random_set(2, kElements, uint64_t{1} << kWidth);
  const auto elements = static_cast<double>(a.size() + b.size());
  const uint64_t common = common_elements(a, b);
  const auto threads = static_cast<size_t>(thread_counts().back());
  {
    const auto bytes_a = byte_slots::build(a, uint64_t{1} << kWidth), bytes_b = byte_slots::build(b, uint64_t{1} << kWidth);
    const std::vector<std::pair<byte_slots::Value, byte_slots::Value>> pairs(threads, {bytes_a, bytes_b});
    auto count = [&](int thread) {
      const auto& [first, second] = pairs[static_cast<size_t>(thread)];
      if (byte_slots::and_cardinality(first, second) != common) fail("byte slots count differently");
    };
    count(0);
    print_rates("byte slots", static_cast<double>(bytes_a.slots.size() + bytes_b.slots.size()), elements, settings, count);
  }
  std::vector<StoredSet> sets;
  for (size_t thread = 0; thread < threads; ++thread) {
    sets.emplace_back(a, kWidth, options);
    sets.emplace_back(b, kWidth, options);
  }
  if (sets[0].view().container() != Container::kBatmap) fail("the sets are no batmaps");
  auto count = [&](int thread) {
    const auto first = static_cast<size_t>(thread) * 2;
    if (and_cardinality(sets[first].view(), sets[first + 1].view(), best_set_kernel()) != common)
      fail("bit planes count differently");
  };
  count(0);
  print_rates("bit planes", static_cast<double>(sets[0].bytes() + sets[1].bytes()), elements, settings, count);
}

void merge_lists(const Settings& settings) {
  constexpr uint64_t kElements = 1 << 24;
  constexpr uint64_t kUniverse = 1 << 29;
  std::fprintf(stderr, "paper_pairs: two lists of %" PRIu64 " elements\n", kElements);
  MemoryMeter meter;
  RowLog log(meter);
  const std::vector<uint64_t> lists[] = {random_set(1, kElements, kUniverse), random_set(2, kElements, kUniverse)};
  for (int item = 0; item < 2; ++item)
    for (const uint64_t tid : lists[item]) log.append(static_cast<int64_t>(tid), item);
  log.seal();
  const uint64_t common = common_elements(lists[0], lists[1]);
  const auto elements = static_cast<double>(lists[0].size() + lists[1].size());
  PairQuery query;
  query.min_count = 1;
  query.method = PairMethod::kMerge;
  for (const int threads : thread_counts()) {
    std::vector<double> seconds;
    for (int round = 0; round < settings.runs; ++round) {
      std::vector<std::unique_ptr<PairRun>> runs;
      for (int thread = 0; thread < threads; ++thread)
        runs.push_back(std::make_unique<PairRun>(log, std::span<const uint32_t>{}, query, ExecutionOptions{1, &meter, {}}));
      seconds.push_back(simultaneously(threads,
                                       [&](int thread) {
                                         Answer answer;
                                         PairBatch batch;
                                         while (runs[static_cast<size_t>(thread)]->next(batch))
                                           for (const PairRow& row : batch) answer.add(row);
                                         if (answer.pairs != 1 || answer.supports != common)
                                           fail("merge counts differently");
                                       }) /
                        threads);
    }
    print("merge", "merge", threads, "elements_per_s", elements / median(seconds));
  }
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  for (int arg = 1; arg < argc; arg += 2) {
    const std::string name = argv[arg];
    const double value = arg + 1 < argc ? std::atof(argv[arg + 1]) : 0;
    if (value <= 0) fail(name + " needs a positive number");
    if (name == "--most-items")
      settings.max_items = static_cast<int32_t>(value);
    else if (name == "--seconds")
      settings.seconds = value;
    else if (name == "--runs")
      settings.runs = std::max(1, static_cast<int>(value));
    else if (name == "--rows")
      settings.rows = value;
    else
      fail("no such option: " + name);
  }
  std::printf("experiment,series,x,quantity,value\n");
  compare_batmaps(settings);
  merge_lists(settings);
  std::vector<Side> sides = all_methods();
  vary_items(sides, settings);
  vary_density(sides, settings);
  vary_cores(sides, settings);
}
