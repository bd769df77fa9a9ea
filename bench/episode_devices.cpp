// Episodes on a GPU against the CPU, on streams like EP's data sets. Measures given episodes by every method,
// for each length; discovery level by level; the number of threads that send lists; and the point from which
// prefixes are walked. Prints Markdown. `test/gpu/run kernels` runs it; it runs on any machine with a GPU.
//
// usage: episode_devices MODULE [THREADS]     threads of the CPU, all cores by default
//   BENCH_SCALE  fraction of the seconds of each stream (default 1)
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "accel/loader.h"
#include "episodes/device_tracker.h"
#include "episodes/episode_counter.h"
#include "episodes/episode_run.h"
#include "episodes/spike_train.h"

using namespace batmap;

namespace {

constexpr int kRounds = 5;
constexpr double kSlowMs = 500;  // a side that takes longer runs once
constexpr Gap kGap{5000, 10000};

double now_ms() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void fail(const std::string& what) {
  std::fprintf(stderr, "episode_devices: %s\n", what.c_str());
  std::exit(1);
}

double median(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

/// Median milliseconds of a body. The body may return milliseconds that it measured itself.
template <typename Body>
double median_ms(Body body) {
  std::vector<double> times;
  for (int round = 0; round < kRounds && (times.empty() || times[0] < kSlowMs); ++round) {
    const double start = now_ms();
    if constexpr (std::is_void_v<decltype(body())>) {
      body();
      times.push_back(now_ms() - start);
    } else {
      times.push_back(body());
    }
  }
  return median(std::move(times));
}

/// Medians of several bodies, which take turns.
std::vector<double> medians_ms(const std::vector<std::function<void()>>& sides) {
  std::vector<std::vector<double>> times(sides.size());
  for (int round = 0; round < kRounds; ++round)
    for (size_t k = 0; k < sides.size(); ++k) {
      if (!times[k].empty() && times[k][0] >= kSlowMs) continue;
      const double start = now_ms();
      sides[k]();
      times[k].push_back(now_ms() - start);
    }
  std::vector<double> medians;
  for (std::vector<double>& own : times) medians.push_back(median(std::move(own)));
  return medians;
}

EventLog log_of_spikes(double seconds, const ExecutionOptions& options) {
  EventLog log(options, false);
  SpikeTrain train(SpikeModel{});
  std::vector<Spike> spikes;
  for (int64_t bin = 0; bin < static_cast<int64_t>(seconds * 1000); ++bin) {
    train.next(spikes);
    for (const Spike& spike : spikes) log.append(spike.time_us, spike.neuron);
  }
  return log;
}

/// As in episode_methods.cpp: the four embedded episodes, then others.
GivenEpisodes some_episodes(size_t count, size_t length) {
  GivenEpisodes given;
  given.length = length;
  given.gaps = {kGap};
  for (size_t k = 0; k < count; ++k)
    for (size_t position = 0; position < length; ++position)
      given.events.push_back(static_cast<int64_t>((k * 9 + position * (k / 7 + 1)) % 64));
  return given;
}

struct Batch {
  std::vector<uint32_t> symbols;
  std::vector<Gap> gaps;
  EpisodeBatch view;

  Batch(const EventStreams& streams, const GivenEpisodes& given) : gaps(given.size() * (given.length - 1), kGap) {
    for (const int64_t event : given.events) symbols.push_back(*streams.symbol_of(event));
    view = {symbols.data(), gaps.data(), given.length, given.size()};
  }
};

struct Bench {
  const AcceleratorApi& api;
  Offload& offload;
  int threads;
  MemoryMeter meter;
  ExecutionOptions options(int count) { return {.threads = count, .memory = &meter, .cancel = {}}; }
};

/// Runs a body that uses a device.
template <typename Body>
auto on_device(Body body) {
  try {
    return body();
  } catch (const DeviceFailure& failure) {
    fail(failure.text);
    throw;
  }
}

struct OnDevice {
  double kernel_ms;
  double call_ms;  // the lists are on the device
  std::vector<uint64_t> counts;
};

OnDevice count_on_device(Bench& bench, const EventStreams& streams, const EpisodeBatch& batch) {
  OnDevice result{};
  const ExecutionOptions options = bench.options(bench.threads);
  const auto count = [&](DeviceTracker& tracker) {
    result.counts.assign(batch.size, 0);
    tracker.count(DeviceEpisodeMethod::kCountScanWrite, batch, result.counts);
  };
  on_device([&] {
    DeviceTracker tracker(bench.api, 0, 0, false, streams, options);
    count(tracker);
    result.call_ms = median_ms([&] { count(tracker); });
    result.kernel_ms = median_ms([&] {
      const double before = tracker.kernel_ms();
      count(tracker);
      return tracker.kernel_ms() - before;
    });
  });
  return result;
}

/// Milliseconds of the kernels. @param has_order  prefixes may be walked
/// @param expected  the known counts; empty: set here
double kernel_ms(Bench& bench, const EventStreams& streams, const EpisodeBatch& batch, DeviceEpisodeMethod method,
                 bool has_order, std::vector<uint64_t>& expected) {
  const ExecutionOptions options = bench.options(bench.threads);
  return on_device([&] {
    DeviceTracker tracker(bench.api, 0, 0, has_order, streams, options);
    const auto count = [&] {
      const double before = tracker.kernel_ms();
      std::vector<uint64_t> counts(batch.size);
      tracker.count(method, batch, counts);
      if (expected.empty()) expected = counts;
      if (counts != expected) fail("the methods of the GPU do not count alike");
      return tracker.kernel_ms() - before;
    };
    count();
    return median_ms(count);
  });
}

void count_on_cpu(Bench& bench, EpisodeMethod method, const EventAxisView& view, const EpisodeBatch& batch, int threads,
                  const std::vector<uint64_t>& expected) {
  std::vector<uint64_t> counts(batch.size);
  count_episodes(method, view, batch, counts, bench.options(threads));
  if (counts != expected) fail("the methods do not count alike");
}

EventStreams streams_of_spikes(Bench& bench, double seconds, int64_t reach) {
  const ExecutionOptions one = bench.options(1);
  return {log_of_spikes(seconds, one), {}, [](const EventTotals&) { return EventFilter{}; }, reach, one};
}

void compare(Bench& bench, double scale) {
  const double seconds[] = {4000, 2000, 1000, 500, 200, 100, 50, 20};
  std::vector<std::string> lines[2];
  std::vector<std::string> machines[2];
  std::vector<std::string> by_length;
  for (size_t set = 0; set < std::size(seconds); ++set) {
    const EventStreams streams = streams_of_spikes(bench, seconds[set] * scale, kGap.high);
    const EventAxisView view = streams.axes()[0].view();
    char line[256];
    for (const size_t count : {size_t{30}, size_t{1}}) {
      const GivenEpisodes given = some_episodes(count, 9);
      const Batch batch(streams, given);
      OnDevice scan = count_on_device(bench, streams, batch.view);
      const auto kernels = [&](DeviceEpisodeMethod method) {
        return kernel_ms(bench, streams, batch.view, method, false, scan.counts);
      };
      const auto on_cpu = [&](EpisodeMethod method, int threads) {
        return median_ms([&] { count_on_cpu(bench, method, view, batch.view, threads, scan.counts); });
      };
      const double alone = on_cpu(EpisodeMethod::kTracking, 1);
      // Sides in turns: the GPU with its lists sent; what a user gets, that is the choice and its cost; the
      // CPU's chosen method, and for one episode all its methods.
      const ExecutionOptions sending = bench.options(std::min(bench.threads, kSendingThreads));
      GivenEpisodes chosen = given;
      chosen.device.offload = &bench.offload;
      RunRecord record;
      std::vector<std::function<void()>> sides = {
          [&] {
            std::vector<uint64_t> counts(batch.view.size);
            on_device([&] {
              DeviceTracker tracker(bench.api, 0, 0, false, streams, sending);
              tracker.count(DeviceEpisodeMethod::kCountScanWrite, batch.view, counts);
            });
            if (counts != scan.counts) fail("the GPU does not count alike");
          },
          [&] { count_given(streams, chosen, bench.options(bench.threads), record); }};
      std::vector<EpisodeMethod> methods = {choose_episode_method(describe_job(view, batch.view, bench.threads))};
      for (size_t k = 0; k < kEpisodeMethods && count == 1; ++k)
        if (const auto method = static_cast<EpisodeMethod>(k); method != methods[0]) methods.push_back(method);
      for (const EpisodeMethod method : methods)
        sides.push_back([&, method] { count_on_cpu(bench, method, view, batch.view, bench.threads, scan.counts); });
      const std::vector<double> ms = medians_ms(sides);
      const auto least = std::min_element(ms.begin() + 2, ms.end());
      std::snprintf(line, sizeof line,
                    "| %zu | %zu | %.3g | %.3g %s | %.3g | %.3g | %.3g | %.1f | %.1f | %.3g %s %s | %.2f |", set + 1,
                    view.events, alone, *least,
                    kEpisodeMethodNames[static_cast<size_t>(methods[static_cast<size_t>(least - ms.begin()) - 2])],
                    scan.kernel_ms, scan.call_ms, ms[0], alone / scan.kernel_ms, *least / ms[0], ms[1],
                    record.device == "cpu" ? "CPU" : "GPU", record.method.c_str(), ms[1] / std::min(*least, ms[0]));
      lines[count == 1].push_back(line);
      const double cpu_automaton = on_cpu(EpisodeMethod::kAutomaton, 1);
      const double atomic = kernels(DeviceEpisodeMethod::kAtomic);
      const double automaton = kernels(DeviceEpisodeMethod::kAutomaton);
      const double mapconcat = kernels(DeviceEpisodeMethod::kMapConcat);
      std::snprintf(line, sizeof line, "| %zu | %.4g | %.3g | %.3g | %.3g | %.3g | %.1f | %.2f |", set + 1, cpu_automaton,
                    automaton, mapconcat, atomic, scan.kernel_ms, mapconcat / scan.kernel_ms, mapconcat / cpu_automaton);
      machines[count == 1].push_back(line);
    }
    if (set > 0) continue;
    for (const size_t length : {2u, 3u, 4u, 5u, 6u, 7u, 8u, 9u}) {
      const Batch batch(streams, some_episodes(1, length));
      OnDevice scan = count_on_device(bench, streams, batch.view);
      const auto kernels = [&](DeviceEpisodeMethod method) {
        return kernel_ms(bench, streams, batch.view, method, false, scan.counts);
      };
      std::snprintf(line, sizeof line, "| %zu | %llu | %.3g | %.3g | %.3g | %.3g | %.3g |", length,
                    static_cast<unsigned long long>(scan.counts[0]),
                    median_ms([&] { count_on_cpu(bench, EpisodeMethod::kTracking, view, batch.view, 1, scan.counts); }),
                    scan.kernel_ms, kernels(DeviceEpisodeMethod::kAtomic), kernels(DeviceEpisodeMethod::kAutomaton),
                    kernels(DeviceEpisodeMethod::kMapConcat));
      by_length.push_back(line);
    }
  }
  for (const int count : {0, 1}) {
    const char* const episodes = count == 0 ? "30 episodes" : "1 episode";
    std::printf(
        "\n## %s of 9, gap (5 ms, 10 ms], ms\n\n"
        "| data set | events | CPU tracking, 1 thread | CPU, %d threads | GPU tracking, kernels | call, lists there |"
        " call, lists sent | 1 thread / kernels | %d threads / lists sent | auto | auto / better |\n"
        "|---|---|---|---|---|---|---|---|---|---|---|\n",
        episodes, bench.threads, bench.threads);
    for (const std::string& line : lines[count]) std::printf("%s\n", line.c_str());
    std::printf(
        "\n## %s of 9 by the methods of EP, GPU kernels and one thread of the CPU, ms\n\n"
        "| data set | CPU automaton | automaton | mapconcat | atomic | count_scan_write | mapconcat / count_scan_write |"
        " mapconcat / CPU automaton |\n|---|---|---|---|---|---|---|---|\n",
        episodes);
    for (const std::string& line : machines[count]) std::printf("%s\n", line.c_str());
  }
  std::printf(
      "\nEP, on a GTX 280 against a Core 2 Quad: one episode on data set 1 is counted 6 times as fast as by one core "
      "(figure "
      "10); 30 episodes by\nMapConcat up to 4 times as slowly as by the CPU and 11 times as slowly as by tracking (figure "
      "9).\n");
  std::printf(
      "\n## One episode on data set 1 by length, ms (EP figure 11: count_scan_write ahead when short, atomic when long)\n\n"
      "| length | count | CPU tracking, 1 thread | GPU kernels: count_scan_write | atomic | automaton | mapconcat |\n"
      "|---|---|---|---|---|---|---|\n");
  for (const std::string& line : by_length) std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

/// Measures what kSendingThreads is set by.
void send(Bench& bench, double scale) {
  constexpr int kThreads[] = {1, 2, 3, 4, 6, 8, 12, 16};
  std::printf("\n## Opening a job, sending lists and order, closing it, by threads, ms\n\n| events |");
  for (const int threads : kThreads) std::printf(" %d |", threads);
  std::printf("\n|---|");
  for (size_t k = 0; k < std::size(kThreads); ++k) std::printf("---|");
  for (const double seconds : {4000.0, 1000.0, 200.0, 20.0}) {
    const EventStreams streams = streams_of_spikes(bench, seconds * scale, kGap.high);
    std::printf("\n| %zu |", streams.axes()[0].view().events);
    const Batch batch(streams, some_episodes(1, 2));
    for (const int threads : kThreads) {
      const ExecutionOptions options = bench.options(threads);
      const double ms =
          median_ms([&] { on_device([&] { DeviceTracker(bench.api, 0, 0, true, streams, options).send(batch.view); }); });
      std::printf(" %.3g |", ms);
    }
  }
  std::printf("\n");
  std::fflush(stdout);
}

/// Measures what kMinToWalk of the module is set by. With fewer extensions the module does not walk, so
/// both sides do the same.
void walk(Bench& bench, double scale) {
  constexpr size_t kExtensions[] = {2, 3, 4, 6, 8, 16};
  std::printf(
      "\n## Prefixes of two with some extensions each, by steps and with their order sent, kernels, ms\n\n"
      "| events | gap, ms | prefixes |");
  for (const size_t extensions : kExtensions) std::printf(" %zu |", extensions);
  std::printf("\n|---|---|---|");
  for (size_t k = 0; k < std::size(kExtensions); ++k) std::printf("---|");
  for (const double seconds : {1000.0, 50.0}) {
    const EventStreams streams = streams_of_spikes(bench, seconds * scale, 50'000);
    for (const Gap gap : {Gap{0, 1000}, kGap, Gap{0, 50'000}})
      for (const size_t prefixes : {size_t{64}, size_t{4096}}) {
        std::printf("\n| %zu | (%g, %g] | %zu |", streams.axes()[0].view().events, static_cast<double>(gap.low) / 1000,
                    static_cast<double>(gap.high) / 1000, prefixes);
        for (const size_t extensions : kExtensions) {
          GivenEpisodes given;
          given.length = 3;
          for (size_t prefix = 0; prefix < prefixes; ++prefix)
            for (size_t k = 0; k < extensions; ++k)
              for (const size_t event : {prefix, prefix + 1 + prefix / 64, prefix + 2 + k})
                given.events.push_back(static_cast<int64_t>(event % 64));
          Batch batch(streams, given);
          std::fill(batch.gaps.begin(), batch.gaps.end(), gap);
          std::vector<uint64_t> counts;
          const double steps = kernel_ms(bench, streams, batch.view, DeviceEpisodeMethod::kCountScanWrite, false, counts);
          const double walked = kernel_ms(bench, streams, batch.view, DeviceEpisodeMethod::kCountScanWrite, true, counts);
          std::printf(" %.3g, %.3g |", steps, walked);
        }
      }
  }
  std::printf("\n");
  std::fflush(stdout);
}

void discover(Bench& bench, double seconds, double rate) {
  constexpr int64_t kLongest = 5;
  EpisodeQuery query;
  query.gaps = {kGap};
  query.min_count = std::max<int64_t>(static_cast<int64_t>(seconds * rate), 1);
  query.max_length = kLongest;
  std::printf("\n## Discovery, %g s, gap (5 ms, 10 ms], min_count %lld, ms\n\n| counting |", seconds,
              static_cast<long long>(*query.min_count));
  for (int64_t length = 1; length <= kLongest; ++length) std::printf(" %lld |", static_cast<long long>(length));
  std::printf(" all |\n|---|---|---|---|---|---|---|\n");
  double best = 0;
  uint64_t expected = 0;
  const EventLog log = log_of_spikes(seconds, bench.options(1));
  RunRecord record;
  for (const DeviceMode mode : {DeviceMode::kCpu, DeviceMode::kRequire, DeviceMode::kAuto}) {
    std::vector<double> totals;
    std::vector<std::vector<double>> levels(kLongest);
    for (int round = 0; round < kRounds && (totals.empty() || totals[0] < kSlowMs); ++round) {
      const ExecutionOptions options = bench.options(bench.threads);
      query.device.offload = &bench.offload;
      query.device.mode = mode;
      EventLog copy(options, false);
      for (uint64_t k = 0; k < log.rows(); ++k) copy.append(log[k].time, log[k].event);
      EpisodeRun run(std::move(copy), {}, query, options);
      const double start = now_ms();
      uint64_t sum = 0;
      while (const auto row = run.next()) sum = sum * 31 + row->support;
      totals.push_back(now_ms() - start);
      if (expected == 0) expected = sum;
      if (sum != expected) fail("discovery differs");
      record = run.record();
      for (size_t k = 0; k < record.levels.size(); ++k) levels[k].push_back(*record.levels[k].ms);
    }
    std::sort(totals.begin(), totals.end());
    std::printf("| %s |", mode == DeviceMode::kCpu       ? ("CPU, " + std::to_string(bench.threads) + " threads").c_str()
                          : mode == DeviceMode::kRequire ? "GPU"
                          : record.device == "cpu"       ? "auto: CPU"
                                                         : "auto: GPU");
    for (std::vector<double>& own : levels) {
      std::sort(own.begin(), own.end());
      own.empty() ? std::printf(" |") : std::printf(" %.2f |", own[own.size() / 2]);
    }
    const double total = totals[totals.size() / 2];
    std::printf(" %.2f |\n", total);
    if (mode != DeviceMode::kAuto) best = mode == DeviceMode::kCpu ? total : std::min(best, total);
    if (mode == DeviceMode::kAuto)
      std::printf("\nauto / better: %.2f. Estimates: %s\n\n| candidates |", total / best, record.reason.c_str());
  }
  for (const RunLevel& level : record.levels)
    std::printf(" %llu, %llu frequent |", static_cast<unsigned long long>(*level.candidates),
                static_cast<unsigned long long>(level.frequent));
  std::printf("\n");
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: episode_devices MODULE [THREADS]\n");
    return 2;
  }
  const char* const scale_text = std::getenv("BENCH_SCALE");
  const double scale = scale_text == nullptr ? 1 : std::atof(scale_text);
  Offload offload([&](std::string& why) { return load_accelerator(argv[1], why); });
  const AcceleratorApi* const api = offload.api();
  if (api == nullptr) fail(offload.why_not());
  std::vector<DeviceTraits> devices = offload.devices();
  if (devices.empty()) fail(offload.why_not());
  devices.resize(1);
  try {
    offload.prepare(devices);
  } catch (const DeviceFailure& failure) {
    fail(failure.text);
  }
  Bench bench{*api, offload, argc > 2 ? std::atoi(argv[2]) : static_cast<int>(std::thread::hardware_concurrency()),
              MemoryMeter{}};
  std::printf("# Episodes on a GPU\n\n%s; CPU: %d threads. Medians of %d; what takes more than %g ms runs once.\n",
              devices[0].name, bench.threads, kRounds, kSlowMs);
  compare(bench, scale);
  send(bench, scale);
  walk(bench, scale);
  for (const double seconds : {4000.0, 1000.0, 200.0, 20.0}) discover(bench, seconds * scale, 10);
  discover(bench, 200 * scale, 2);
}
