// The CUDA module alone: forms and kernels on the instances of the paper and on larger ones, through
// accelerator.h. For each it prints the time to send and build, the time of the kernels (events on the
// device, median of several counts), and the fraction of the card's limit that this is. `test/gpu/pack`
// builds it; it runs on any machine with a GPU.
//
// usage: device_pairs MODULE [--csv FILE] [PART...]    parts: staging bits horizontal density batmaps list
// devices The part `density` writes its times to FILE, for density_plot.py.
#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "accel/accelerator.h"
#include "core/options.h"
#include "set/set_builder.h"
#include "set/set_intersect.h"

using namespace batmap;

namespace {

const AcceleratorApi* api;

void expect(AcceleratorStatus status, const AcceleratorMessage& why) {
  if (status == AcceleratorStatus::kOk) return;
  std::fprintf(stderr, "status %d: %s\n", static_cast<int>(status), why.text);
  std::exit(1);
}

double now_ms() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Random {
  uint64_t state;
  uint64_t operator()() {
    uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }
};

template <typename Body>
void on_all_cores(size_t tasks, Body body) {
  const size_t cores = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::thread> threads;
  for (size_t core = 0; core < cores; ++core)
    threads.emplace_back([&, core] {
      for (size_t task = core; task < tasks; task += cores) body(task);
    });
  for (std::thread& thread : threads) thread.join();
}

struct Sink {
  std::vector<DevicePair> pairs;
  static DevicePair* room(void* arg, size_t size) {
    auto& sink = *static_cast<Sink*>(arg);
    sink.pairs.resize(size);
    return sink.pairs.data();
  }
};

DevicePairJob job_for(uint32_t items, uint32_t tids, uint64_t rows, DeviceMethod method) {
  DevicePairJob job{};
  job.items = job.leading = items;
  job.tid_slots = tids;
  job.rows = rows;
  job.method = method;
  job.device_count = 1;
  return job;
}

struct Times {
  double send_ms = 0;
  double build_ms = 0;
  double kernel_ms = 0;  // one count of all pairs
  double count_ms = 0;   // the same with sorting and copying, wall clock
  size_t found = 0;
};

Times count_all(DevicePairs* pairs, const DevicePairJob& job, uint32_t threshold) {
  Times times;
  AcceleratorMessage why{};
  Sink sink;
  sink.pairs.reserve(1 << 20);
  const DevicePairSink to{Sink::room, &sink};
  std::vector<double> kernels;
  std::vector<double> wholes;
  double build = 0;
  double before = 0;
  api->times(pairs, &build, &before);
  for (int run = 0; run < 9; ++run) {
    const double start = now_ms();
    expect(api->count_rows(pairs, 0, job.leading, threshold, &to, &why), why);
    wholes.push_back(now_ms() - start);
    double after = 0;
    api->times(pairs, &times.build_ms, &after);
    kernels.push_back(after - before);
    before = after;
  }
  std::ranges::sort(kernels);
  std::ranges::sort(wholes);
  times.kernel_ms = kernels[kernels.size() / 2];
  times.count_ms = wholes[wholes.size() / 2];
  times.found = sink.pairs.size();
  return times;
}

struct Rows {
  uint32_t items;
  uint32_t tids;
  std::vector<uint32_t> tid;
  std::vector<uint32_t> item;
};

/// Random rows by item, as a table in the order of items would have them; few duplicates.
Rows random_rows(uint32_t items, double density, uint64_t occurrences) {
  Rows rows{items, static_cast<uint32_t>(static_cast<double>(occurrences) / (density * items)), {}, {}};
  rows.tid.resize(occurrences);
  rows.item.resize(occurrences);
  on_all_cores(64, [&](size_t task) {
    Random random{task + 1};
    for (uint64_t i = occurrences * task / 64; i < occurrences * (task + 1) / 64; ++i) {
      const uint64_t r = random();
      rows.item[i] = static_cast<uint32_t>((r >> 32) * items >> 32);
      rows.tid[i] = static_cast<uint32_t>((r & 0xffffffff) * rows.tids >> 32);
    }
  });
  return rows;
}

Times count_rows(const Rows& rows, DeviceMethod method, uint32_t threshold) {
  const DevicePairJob job = job_for(rows.items, rows.tids, rows.tid.size(), method);
  AcceleratorMessage why{};
  DevicePairs* pairs = nullptr;
  const double start = now_ms();
  expect(api->open_pairs(&job, &pairs, &why), why);
  constexpr size_t kBlock = 4096;
  for (size_t at = 0; at < rows.tid.size(); at += kBlock)
    expect(api->add_rows(pairs, rows.tid.data() + at, rows.item.data() + at, std::min(kBlock, rows.tid.size() - at), &why),
           why);
  std::vector<uint32_t> supports(rows.items);
  const double sent = now_ms();
  expect(api->build(pairs, supports.data(), &why), why);
  Times times = count_all(pairs, job, threshold);
  times.send_ms = sent - start;
  api->close_pairs(pairs);
  return times;
}

void print(const char* what, const Times& times, const char* limit) {
  std::printf("| %-44s | %8.2f | %8.2f | %9.4f | %9.2f | %9zu | %s |\n", what, times.send_ms, times.build_ms,
              times.kernel_ms, times.count_ms, times.found, limit);
  std::fflush(stdout);
}

/// Sends rows from several threads, in blocks, as pairs/counters/device_counter.cpp does. Counts nothing.
void run_staging() {
  const Rows rows = random_rows(4000, 0.05, 10'000'000);
  const DevicePairJob job = job_for(rows.items, rows.tids, rows.tid.size(), DeviceMethod::kBitmap);
  constexpr size_t kBlock = 4096;
  const size_t blocks = (rows.tid.size() + kBlock - 1) / kBlock;
  for (const int threads : {1, 2, 4, 8, 16}) {
    std::vector<double> sent;
    Times times;
    for (int run = 0; run < 5; ++run) {
      AcceleratorMessage why{};
      DevicePairs* pairs = nullptr;
      expect(api->open_pairs(&job, &pairs, &why), why);
      std::atomic<size_t> next{0};
      std::vector<std::thread> team;
      const double start = now_ms();
      for (int t = 0; t < threads; ++t)
        team.emplace_back([&] {
          AcceleratorMessage mine{};
          for (size_t block; (block = next++) < blocks;) {
            const size_t at = block * kBlock;
            expect(api->add_rows(pairs, rows.tid.data() + at, rows.item.data() + at, std::min(kBlock, rows.tid.size() - at),
                                 &mine),
                   mine);
          }
        });
      for (std::thread& thread : team) thread.join();
      sent.push_back(now_ms() - start);
      std::vector<uint32_t> supports(rows.items);
      expect(api->build(pairs, supports.data(), &why), why);
      double count = 0;
      api->times(pairs, &times.build_ms, &count);
      api->close_pairs(pairs);
    }
    std::ranges::sort(sent);
    times.send_ms = sent[sent.size() / 2];
    char name[64];
    char limit[64];
    std::snprintf(name, sizeof name, "rows staged by %d thread%s", threads, threads == 1 ? "" : "s");
    std::snprintf(limit, sizeof limit, "%.0f million rows/s", static_cast<double>(rows.tid.size()) / times.send_ms / 1e3);
    print(name, times, limit);
  }
}

std::string operations(uint32_t items, uint32_t tids, double ms) {
  char text[96];
  const double ops = static_cast<double>(items) * items * tids;  // half of the pairs, an AND and an addition each
  std::snprintf(text, sizeof text, "%.1f x 10^15 bit operations/s", ops / ms / 1e12);
  return text;
}

void run_bits() {
  const struct {
    const char* name;
    uint32_t items;
    double density;
    uint32_t threshold;
  } instances[] = {{"bitmap, 4,000 sets of 2,500 in 50,000", 4000, 0.05, 180},
                   {"bitmap, 4,000, all pairs back", 4000, 0.05, 1},
                   {"bitmap, 16,384, 5 %", 16384, 0.05, 62},
                   {"bitmap, 64,000, 5 %", 64000, 0.05, 24}};
  for (const auto& instance : instances) {
    const Rows rows = random_rows(instance.items, instance.density, 10'000'000);
    const Times times = count_rows(rows, DeviceMethod::kBitmap, instance.threshold);
    print(instance.name, times, operations(rows.items, rows.tids, times.kernel_ms).c_str());
  }
}

double increments_of(const Rows& rows) {
  std::vector<uint32_t> length(rows.tids);
  for (const uint32_t tid : rows.tid) ++length[tid];
  double sum = 0;
  for (const uint32_t l : length) sum += static_cast<double>(l) * (l - 1.0) / 2;
  return sum;
}

void run_horizontal() {
  const Rows rows = random_rows(4096, 0.002, 10'000'000);
  const Times times = count_rows(rows, DeviceMethod::kHorizontal, 20);
  char limit[96];
  std::snprintf(limit, sizeof limit, "%.1f million increments, %.3g x 10^9/s", increments_of(rows) / 1e6,
                increments_of(rows) / times.kernel_ms / 1e6);
  print("horizontal, 4,096 items, 0.2 %", times, limit);
}

struct Sets {
  uint32_t width;
  std::vector<uint64_t> cardinality;
  std::vector<std::vector<std::byte>> bytes;
  std::vector<PlanePiece> planes;
  std::vector<uint32_t> stash_begin;
  std::vector<uint64_t> stash;
  uint64_t slots = 0;  // slots of a set, all three tables

  DeviceSets view() const {
    return {static_cast<uint32_t>(bytes.size()), width, cardinality.data(), stash_begin.data(), stash.data()};
  }
};

std::vector<uint64_t> random_set(size_t seed, uint32_t size, uint64_t universe) {
  Random random{seed * 7919 + 1};
  std::vector<uint64_t> set;
  while (set.size() < size) {
    for (size_t missing = size - set.size(); missing > 0; --missing) set.push_back(random() % universe);
    std::ranges::sort(set);
    set.erase(std::unique(set.begin(), set.end()), set.end());
  }
  return set;
}

Sets random_sets(uint32_t count, uint32_t size, uint64_t universe) {
  Sets sets;
  sets.width = static_cast<uint32_t>(width_for(universe));
  sets.cardinality.assign(count, size);
  sets.bytes.resize(count);
  std::vector<std::vector<uint64_t>> stashes(count);
  on_all_cores(count, [&](size_t i) {
    thread_local MemoryMeter meter;
    const ExecutionOptions options{1, &meter, {}};
    const std::vector<uint64_t> set = random_set(i, size, universe);
    SetEncoder encoder(options);
    encoder.place_batmap(set, static_cast<int>(sets.width));
    sets.bytes[i].resize(batmap_shape(size, static_cast<int>(sets.width)).bytes());
    encoder.write_planes(sets.bytes[i].data());
    stashes[i].assign(encoder.stash().begin(), encoder.stash().end());
  });
  sets.stash_begin.push_back(0);
  for (uint32_t i = 0; i < count; ++i) {
    sets.planes.push_back({reinterpret_cast<const unsigned char*>(sets.bytes[i].data()), sets.bytes[i].size()});
    sets.stash.insert(sets.stash.end(), stashes[i].begin(), stashes[i].end());
    sets.stash_begin.push_back(static_cast<uint32_t>(sets.stash.size()));
  }
  sets.slots = 3 * batmap_shape(size, static_cast<int>(sets.width)).slots();
  return sets;
}

DevicePairs* open_sets(const Sets& sets, const DevicePairJob& job, Times& times) {
  AcceleratorMessage why{};
  DevicePairs* pairs = nullptr;
  const double start = now_ms();
  expect(api->open_pairs(&job, &pairs, &why), why);
  const DeviceSets view = sets.view();
  expect(api->add_sets(pairs, &view, &why), why);
  expect(api->add_planes(pairs, 0, sets.planes.data(), sets.planes.size(), &why), why);
  std::vector<uint32_t> supports(job.items);
  expect(api->build(pairs, supports.data(), &why), why);
  times.send_ms = now_ms() - start;
  return pairs;
}

Times count_sets(const Sets& sets, uint32_t threshold) {
  const auto items = static_cast<uint32_t>(sets.bytes.size());
  const DevicePairJob job = job_for(items, 1, 0, DeviceMethod::kBatmap);
  Times open;
  DevicePairs* const pairs = open_sets(sets, job, open);
  Times times = count_all(pairs, job, threshold);
  times.send_ms = open.send_ms;
  api->close_pairs(pairs);
  return times;
}

/// The paper counts a byte a slot, for both sides of every pair.
std::string paper_rate(const Sets& sets, double ms) {
  const auto items = static_cast<double>(sets.bytes.size());
  char text[64];
  std::snprintf(text, sizeof text, "%.1f TB/s in the paper's unit",
                items * (items - 1) * static_cast<double>(sets.slots) / ms / 1e9);
  return text;
}

/// The same rows, or sets with as many elements, by every method.
void run_density(FILE* csv) {
  constexpr uint32_t kItems = 4096;
  if (csv != nullptr) std::fprintf(csv, "method,items,density,send_ms,build_ms,kernel_ms,count_ms\n");
  for (const double density : {0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05}) {
    const Rows rows = random_rows(kItems, density, 10'000'000);
    const Sets sets = random_sets(kItems, static_cast<uint32_t>(rows.tid.size() / kItems), rows.tids);
    const auto expected = static_cast<double>(rows.tids) * density * density;
    const auto threshold = static_cast<uint32_t>(expected + 6 * std::max(1.0, expected / 4) + 8);
    const auto tell = [&](const char* method, const Times& times, const std::string& limit) {
      char name[64];
      std::snprintf(name, sizeof name, "%s, 4,096 items, %g %%", method, density * 100);
      print(name, times, limit.c_str());
      if (csv != nullptr)
        std::fprintf(csv, "%s,%u,%g,%g,%g,%g,%g\n", method, kItems, density, times.send_ms, times.build_ms, times.kernel_ms,
                     times.count_ms);
    };
    const Times bits = count_rows(rows, DeviceMethod::kBitmap, threshold);
    tell("bitmap", bits, operations(rows.items, rows.tids, bits.kernel_ms));
    const Times horizontal = count_rows(rows, DeviceMethod::kHorizontal, threshold);
    char limit[64];
    std::snprintf(limit, sizeof limit, "%.3g x 10^9 increments/s", increments_of(rows) / horizontal.kernel_ms / 1e6);
    tell("horizontal", horizontal, limit);
    const Times batmaps = count_sets(sets, threshold);
    tell("batmap", batmaps, paper_rate(sets, batmaps.kernel_ms));
  }
}

void run_batmaps() {
  const Sets sets = random_sets(4096, 2500, 50000);
  const Times times = count_sets(sets, 180);
  print("batmap, 4,096 sets of 2,500 in 50,000", times, paper_rate(sets, times.kernel_ms).c_str());
}

constexpr uint32_t kListedSets = 100'000;
constexpr uint32_t kListedSize = 1000;
constexpr uint64_t kListedUniverse = 10'000'000;

/// Sends the same sets as rows (element, set).
DevicePairs* open_elements(uint32_t size, const DevicePairJob& job, Times& times) {
  AcceleratorMessage why{};
  DevicePairs* pairs = nullptr;
  const double start = now_ms();
  expect(api->open_pairs(&job, &pairs, &why), why);
  on_all_cores(job.items, [&](size_t i) {
    const std::vector<uint64_t> set = random_set(i, size, job.tid_slots);
    const std::vector<uint32_t> tids(set.begin(), set.end());
    const std::vector<uint32_t> items(size, static_cast<uint32_t>(i));
    AcceleratorMessage message{};
    expect(api->add_rows(pairs, tids.data(), items.data(), size, &message), message);
  });
  std::vector<uint32_t> supports(job.items);
  expect(api->build(pairs, supports.data(), &why), why);
  times.send_ms = now_ms() - start;
  return pairs;
}

/// Counts the list on all cores of the CPU from stored values; the counts must equal those of the device.
/// @return milliseconds
double count_list_on_cpu(const std::vector<uint32_t>& a, const std::vector<uint32_t>& b,
                         const std::vector<uint32_t>& counts) {
  std::vector<std::vector<std::byte>> values(kListedSets);
  on_all_cores(kListedSets, [&](size_t i) {
    thread_local MemoryMeter meter;
    const ExecutionOptions options{1, &meter, {}};
    SetEncoder encoder(options);
    values[i].resize(encoder.prepare(random_set(i, kListedSize, kListedUniverse), width_for(kListedUniverse)));
    encoder.write(values[i].data());
  });
  std::vector<SetView> views;
  for (const std::vector<std::byte>& value : values) views.push_back(SetView::open(value));
  constexpr size_t kBlock = 10'000;
  std::atomic<size_t> wrong{0};
  const double start = now_ms();
  on_all_cores(a.size() / kBlock, [&](size_t block) {
    for (size_t i = block * kBlock; i < (block + 1) * kBlock; ++i)
      wrong += and_cardinality(views[a[i]], views[b[i]], best_set_kernel()) != counts[i];
  });
  const double ms = now_ms() - start;
  if (wrong > 0) {
    std::fprintf(stderr, "CPU and GPU differ in %zu counts of the list\n", wrong.load());
    std::exit(1);
  }
  return ms;
}

void run_list() {
  const Sets sets = random_sets(kListedSets, kListedSize, kListedUniverse);
  const DevicePairJob job = job_for(kListedSets, 1, 0, DeviceMethod::kBatmap);
  Times times;
  DevicePairs* const pairs = open_sets(sets, job, times);
  constexpr size_t kPairs = 10'000'000;
  std::vector<uint32_t> a(kPairs);
  std::vector<uint32_t> b(kPairs);
  std::vector<uint32_t> counts(kPairs);
  Random random{3};
  for (size_t i = 0; i < kPairs; ++i) {
    a[i] = static_cast<uint32_t>(random() % kListedSets);
    b[i] = static_cast<uint32_t>(random() % kListedSets);
  }
  AcceleratorMessage why{};
  double before = 0;
  for (int run = 0; run < 3; ++run) {
    const double start = now_ms();
    expect(api->count_list(pairs, a.data(), b.data(), kPairs, counts.data(), &why), why);
    times.count_ms = now_ms() - start;
    double after = 0;
    api->times(pairs, &times.build_ms, &after);
    times.kernel_ms = after - before;
    before = after;
  }
  api->close_pairs(pairs);
  for (const uint32_t count : counts) times.found += count > 0;
  Times of_lists;
  DevicePairs* const lists = open_elements(kListedSize,
                                           job_for(kListedSets, static_cast<uint32_t>(kListedUniverse),
                                                   uint64_t{kListedSets} * kListedSize, DeviceMethod::kLists),
                                           of_lists);
  std::vector<uint32_t> again(kPairs);
  for (int run = 0; run < 2; ++run) {
    api->times(lists, &of_lists.build_ms, &before);
    const double start = now_ms();
    expect(api->count_list(lists, a.data(), b.data(), kPairs, again.data(), &why), why);
    of_lists.count_ms = now_ms() - start;
    api->times(lists, &of_lists.build_ms, &of_lists.kernel_ms);
    of_lists.kernel_ms -= before;
  }
  api->close_pairs(lists);
  of_lists.found = times.found;
  if (again != counts) {
    std::fprintf(stderr, "lists and batmaps differ\n");
    std::exit(1);
  }
  Times of_cpu;
  of_cpu.count_ms = count_list_on_cpu(a, b, counts);
  of_cpu.found = times.found;
  char limit[128];
  // Where nothing matches, the valid plane and eight key planes of both sides are read.
  const double bytes = 2.0 * static_cast<double>(sets.slots) / 8 * 9;
  std::snprintf(limit, sizeof limit, "%.3g million pairs/s, %.2f TB/s of planes", kPairs / times.kernel_ms / 1e3,
                bytes * kPairs / times.kernel_ms / 1e9);
  print("list of 10 M pairs, 1e5 batmaps of 1e3 in 1e7", times, limit);
  std::snprintf(limit, sizeof limit, "%.3g million pairs/s; the GPU, with the list sent: %.1f times",
                kPairs / of_cpu.count_ms / 1e3, of_cpu.count_ms / times.count_ms);
  print("the same list, all cores, stored values", of_cpu, limit);
  std::snprintf(limit, sizeof limit, "%.2f ns a pair", of_lists.kernel_ms * 1e6 / kPairs);
  print("the same list, lists on the GPU", of_lists, limit);
}

/// Ways in which devices count a list of pairs of sets.
struct ListWay {
  DeviceMethod method;
  bool counts_all;
  const char* name;
};
constexpr ListWay kListWays[] = {{DeviceMethod::kBatmap, false, "batmaps"},
                                 {DeviceMethod::kBatmap, true, "batmaps, all pairs"},
                                 {DeviceMethod::kLists, false, "lists"},
                                 {DeviceMethod::kHorizontal, true, "transactions, all pairs"}};

void run_listed(uint32_t count, uint32_t size, uint64_t universe) {
  const Sets sets = random_sets(count, size, universe);
  constexpr size_t kPairs = 1'000'000;
  std::vector<uint32_t> a(kPairs);
  std::vector<uint32_t> b(kPairs);
  std::vector<uint32_t> first;
  Random random{5};
  for (size_t i = 0; i < kPairs; ++i) {
    a[i] = static_cast<uint32_t>(random() % count);
    b[i] = static_cast<uint32_t>(random() % count);
  }
  std::sort(b.begin(), b.end());  // as the engine hands them over
  for (const ListWay& way : kListWays) {
    DevicePairJob job = job_for(count, static_cast<uint32_t>(universe), uint64_t{count} * size, way.method);
    job.counts_all = way.counts_all ? 1 : 0;
    Times times;
    DevicePairs* const pairs =
        way.method == DeviceMethod::kBatmap ? open_sets(sets, job, times) : open_elements(size, job, times);
    std::vector<uint32_t> counts(kPairs);
    AcceleratorMessage why{};
    double before = 0;
    api->times(pairs, &times.build_ms, &before);
    const double start = now_ms();
    expect(api->count_list(pairs, a.data(), b.data(), kPairs, counts.data(), &why), why);
    times.count_ms = now_ms() - start;
    api->times(pairs, &times.build_ms, &times.kernel_ms);
    times.kernel_ms -= before;
    api->close_pairs(pairs);
    char name[96];
    std::snprintf(name, sizeof name, "list of 1 M pairs, %u sets of %u: %s", count, size, way.name);
    char limit[96];
    std::snprintf(limit, sizeof limit, "%.2f ns a pair of the list, %.3f of all pairs to build",
                  times.kernel_ms * 1e6 / kPairs, times.build_ms * 1e6 / (0.5 * count * (count - 1.0)));
    print(name, times, limit);
    if (first.empty()) first = counts;
    if (counts == first) continue;
    std::fprintf(stderr, "two ways of counting a list differ\n");
    std::exit(1);
  }
}

/// One large instance on one device, on two, and so on. A device takes the next block of rows when it is
/// free, as in pairs/counters/device_counter.cpp.
void run_devices(uint32_t device_count) {
  constexpr uint32_t kItems = 64000;
  const Rows rows = random_rows(kItems, 0.0005, 10'000'000);
  std::vector<uint32_t> begin{0};
  for (uint64_t pairs = 0, row = 0; row < kItems; ++row) {
    pairs += kItems - row - 1;
    if (row + 1 == kItems || (pairs >= uint64_t{1} << 26 && (row + 1) % 128 == 0)) {
      begin.push_back(static_cast<uint32_t>(row) + 1);
      pairs = 0;
    }
  }
  double one = 0;
  for (uint32_t devices = 1; devices <= device_count; ++devices) {
    DevicePairJob job = job_for(kItems, rows.tids, rows.tid.size(), DeviceMethod::kBitmap);
    job.device_count = devices;
    for (uint32_t i = 0; i < devices; ++i) job.devices[i] = static_cast<int32_t>(i);
    AcceleratorMessage why{};
    DevicePairs* pairs = nullptr;
    Times times;
    const double start = now_ms();
    expect(api->open_pairs(&job, &pairs, &why), why);
    expect(api->add_rows(pairs, rows.tid.data(), rows.item.data(), rows.tid.size(), &why), why);
    std::vector<uint32_t> supports(kItems);
    times.send_ms = now_ms() - start;
    expect(api->build(pairs, supports.data(), &why), why);
    std::vector<double> wholes;
    for (int run = 0; run < 3; ++run) {
      std::atomic<size_t> next{0};
      std::atomic<size_t> found{0};
      std::vector<std::thread> threads;
      const double counting = now_ms();
      for (uint32_t t = 0; t < 2 * devices; ++t)
        threads.emplace_back([&] {
          AcceleratorMessage mine{};
          Sink sink;
          const DevicePairSink to{Sink::room, &sink};
          for (size_t task; (task = next++) + 1 < begin.size();) {
            expect(api->count_rows(pairs, begin[task], begin[task + 1], 6, &to, &mine), mine);
            found += sink.pairs.size();
          }
        });
      for (std::thread& thread : threads) thread.join();
      wholes.push_back(now_ms() - counting);
      times.found = found;
    }
    std::ranges::sort(wholes);
    times.count_ms = wholes[1];
    api->times(pairs, &times.build_ms, &times.kernel_ms);
    times.kernel_ms /= 3;
    api->close_pairs(pairs);
    if (devices == 1) one = times.count_ms;
    char name[64];
    char limit[64];
    std::snprintf(name, sizeof name, "bitmap, 64,000 items, 0.05 %%, %u device%s", devices, devices == 1 ? "" : "s");
    std::snprintf(limit, sizeof limit, "counting %.2f times as fast as one", one / times.count_ms);
    print(name, times, limit);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: device_pairs MODULE [--csv FILE] [PART...]\n");
    return 2;
  }
  int parts = 2;  // index of the first part
  FILE* csv = nullptr;
  if (argc > 3 && std::strcmp(argv[2], "--csv") == 0) {
    parts = 4;
    csv = std::fopen(argv[3], "w");
    if (csv == nullptr) {
      std::perror(argv[3]);
      return 1;
    }
  }
  void* const module = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (module == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  api = reinterpret_cast<const AcceleratorApi* (*)()>(dlsym(module, "batmap_accelerator"))();
  const auto wanted = [&](const char* part) {
    for (int i = parts; i < argc; ++i)
      if (std::strcmp(argv[i], part) == 0) return true;
    return argc == parts;
  };
  DeviceTraits traits{};
  AcceleratorMessage why{};
  const double start = now_ms();
  expect(api->prepare(0, &traits, &why), why);
  const DeviceRates& r = traits.rates;
  std::printf(
      "%s, kernel %s; ready after %.0f ms: context %.0f ms, up %.1f GB/s, down %.1f GB/s, %.3g bits/ns, %.3g "
      "increments/ns, %.3g rows/ns grouped, %.2f ms for nothing\n\n",
      traits.name, traits.bit_kernel, now_ms() - start, r.context_ms, r.upload_bytes, r.download_bytes, r.and_bits,
      r.increments, r.grouped_rows, r.launch_ms);
  std::printf("| %-44s | %8s | %8s | %9s | %9s | %9s | %s |\n|---|---|---|---|---|---|---|\n", "10 million occurrences",
              "send ms", "build ms", "kernel ms", "count ms", "pairs", "");
  if (wanted("staging")) run_staging();
  if (wanted("bits")) run_bits();
  if (wanted("horizontal")) run_horizontal();
  if (wanted("density")) run_density(csv);
  if (wanted("batmaps")) run_batmaps();
  if (wanted("list")) {
    run_list();
    run_listed(1500, 1000, kListedUniverse);
    run_listed(4000, 1000, kListedUniverse);
    run_listed(2000, 10'000, 100'000'000);
  }
  if (wanted("devices")) {
    DeviceTraits all[kMaxDevices];
    uint32_t count = 0;
    expect(api->devices(all, &count, &why), why);
    run_devices(count);
  }
  if (csv != nullptr) std::fclose(csv);
}
