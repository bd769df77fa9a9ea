// Episodes on a GPU against the CPU, on streams like EP's data sets: given episodes by both compactions, by length, and
// discovery level by level. Prints Markdown. `test/gpu/run kernels` runs it; it runs on any machine with a GPU.
//
// usage: episode_devices MODULE [THREADS]     threads of the CPU, all cores by default
//   BENCH_SCALE  share of the seconds of each stream (default 1)
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
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
constexpr double kSlowMs = 500;  // what takes longer runs once
constexpr Gap kGap{5000, 10000};

double now_ms() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void fail(const std::string& what) {
  std::fprintf(stderr, "episode_devices: %s\n", what.c_str());
  std::exit(1);
}

/// Median milliseconds of a body, which may return milliseconds of its own.
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
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
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

/// As in episode_methods.cpp: the four embedded ones, then others.
GivenEpisodes some_episodes(size_t count, size_t length) {
  GivenEpisodes given;
  given.length = length;
  given.gaps = {kGap};
  for (size_t k = 0; k < count; ++k)
    for (size_t place = 0; place < length; ++place)
      given.events.push_back(static_cast<int64_t>((k * 9 + place * (k / 7 + 1)) % 64));
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

struct OnDevice {
  double kernel_ms;
  double call_ms;   // lists there
  double whole_ms;  // lists sent and given up
  std::vector<uint64_t> counts;
};

struct Bench {
  const AcceleratorApi& api;
  Offload& offload;
  int threads;
  MemoryMeter meter;
  ExecutionOptions options(int count) { return {.threads = count, .memory = &meter, .cancel = {}}; }
};

OnDevice count_on_device(Bench& bench, const EventStreams& streams, const EpisodeBatch& batch, DeviceCompaction compaction) {
  OnDevice result{};
  const ExecutionOptions options = bench.options(bench.threads);
  const auto count = [&](DeviceTracker& tracker) {
    result.counts.assign(batch.size, 0);
    tracker.count(compaction, batch, result.counts);
  };
  try {
    result.whole_ms = median_ms([&] {
      DeviceTracker tracker(bench.api, 0, 0, false, streams, options);
      count(tracker);
    });
    DeviceTracker tracker(bench.api, 0, 0, false, streams, options);
    count(tracker);
    result.call_ms = median_ms([&] { count(tracker); });
    result.kernel_ms = median_ms([&] {
      const double before = tracker.kernel_ms();
      count(tracker);
      return tracker.kernel_ms() - before;
    });
  } catch (const DeviceFailure& failure) {
    fail(failure.text);
  }
  return result;
}

double count_ms(Bench& bench, EpisodeMethod method, const EventStreamView& view, const EpisodeBatch& batch, int threads,
                const std::vector<uint64_t>& expected) {
  return median_ms([&] {
    std::vector<uint64_t> counts(batch.size);
    count_episodes(method, view, batch, counts, bench.options(threads));
    if (counts != expected) fail("the methods do not count alike");
  });
}

void compare(Bench& bench, double scale) {
  const double seconds[] = {4000, 2000, 1000, 500, 200, 100, 50, 20};
  std::vector<std::string> lines[2];
  std::vector<std::string> by_length;
  for (size_t set = 0; set < std::size(seconds); ++set) {
    const ExecutionOptions one = bench.options(1);
    const EventStreams streams(
        log_of_spikes(seconds[set] * scale, one), {}, [](const EventTotals&) { return EventFilter{}; }, kGap.high, one);
    const EventStreamView view = streams.axes()[0].view();
    char line[256];
    for (const size_t count : {size_t{30}, size_t{1}}) {
      const GivenEpisodes given = some_episodes(count, 9);
      const Batch batch(streams, given);
      const OnDevice scan = count_on_device(bench, streams, batch.view, DeviceCompaction::kCountScanWrite);
      const OnDevice atomic = count_on_device(bench, streams, batch.view, DeviceCompaction::kAtomic);
      if (scan.counts != atomic.counts) fail("the compactions do not count alike");
      const EpisodeMethod best = choose_episode_method(describe_job(view, batch.view, bench.threads));
      const double alone = count_ms(bench, EpisodeMethod::kTracking, view, batch.view, 1, scan.counts);
      const double all = count_ms(bench, best, view, batch.view, bench.threads, scan.counts);
      const double automaton = count_ms(bench, EpisodeMethod::kAutomaton, view, batch.view, 1, scan.counts);
      // What a user gets: the choice, and what it costs.
      GivenEpisodes chosen = given;
      chosen.device.offload = &bench.offload;
      EpisodeReport report;
      const double automatic = median_ms([&] { count_given(streams, chosen, bench.options(bench.threads), report); });
      std::snprintf(line, sizeof line,
                    "| %zu | %zu | %.3g | %.3g %s | %.4g | %.3g | %.3g | %.3g | %.3g | %.1f | %.1f | %.3g %s | %.2f |",
                    set + 1, view.events, alone, all, kEpisodeMethodNames[static_cast<size_t>(best)], automaton,
                    scan.kernel_ms, atomic.kernel_ms, scan.call_ms, scan.whole_ms, alone / scan.kernel_ms,
                    all / scan.whole_ms, automatic, report.device == "cpu" ? "CPU" : "GPU",
                    automatic / std::min(all, scan.whole_ms));
      lines[count == 1].push_back(line);
    }
    if (set > 0) continue;
    for (const size_t length : {2u, 3u, 4u, 5u, 6u, 7u, 8u, 9u}) {
      const Batch batch(streams, some_episodes(1, length));
      const OnDevice scan = count_on_device(bench, streams, batch.view, DeviceCompaction::kCountScanWrite);
      const OnDevice atomic = count_on_device(bench, streams, batch.view, DeviceCompaction::kAtomic);
      std::snprintf(
          line, sizeof line, "| %zu | %llu | %.3g | %.3g | %.3g |", length, static_cast<unsigned long long>(scan.counts[0]),
          count_ms(bench, EpisodeMethod::kTracking, view, batch.view, 1, scan.counts), scan.kernel_ms, atomic.kernel_ms);
      by_length.push_back(line);
    }
  }
  for (const int count : {0, 1}) {
    std::printf(
        "\n## %s of 9, gap (5 ms, 10 ms], ms\n\n"
        "| data set | events | CPU tracking, 1 thread | CPU, %d threads | CPU automaton, 1 thread | GPU count_scan_write, "
        "kernels |"
        " GPU atomic, kernels | call, lists there | call, lists sent | 1 thread / kernels | %d threads / lists sent | auto |"
        " auto / better |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
        count == 0 ? "30 episodes" : "1 episode", bench.threads, bench.threads);
    for (const std::string& line : lines[count]) std::printf("%s\n", line.c_str());
  }
  std::printf(
      "\nEP, on a GTX 280 against one core of a Core 2 Quad: one episode on data set 1 is counted 6 times as fast (figure "
      "10); "
      "30 episodes by\nMapConcat up to 4 times as slowly as on the CPU and 11 times as slowly as by tracking (figure 9).\n");
  std::printf(
      "\n## One episode on data set 1 by length, kernels, ms (EP figure 11: count_scan_write ahead when short, atomic when "
      "long)\n\n"
      "| length | count | CPU tracking, 1 thread | count_scan_write | atomic |\n|---|---|---|---|---|\n");
  for (const std::string& line : by_length) std::printf("%s\n", line.c_str());
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
  EpisodeReport report;
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
      report = run.report();
      for (size_t k = 0; k < report.levels.size(); ++k) levels[k].push_back(report.levels[k].ms);
    }
    std::sort(totals.begin(), totals.end());
    std::printf("| %s |", mode == DeviceMode::kCpu       ? ("CPU, " + std::to_string(bench.threads) + " threads").c_str()
                          : mode == DeviceMode::kRequire ? "GPU"
                          : report.device == "cpu"       ? "auto: CPU"
                                                         : "auto: GPU");
    for (std::vector<double>& own : levels) {
      std::sort(own.begin(), own.end());
      own.empty() ? std::printf(" |") : std::printf(" %.2f |", own[own.size() / 2]);
    }
    const double total = totals[totals.size() / 2];
    std::printf(" %.2f |\n", total);
    if (mode != DeviceMode::kAuto) best = mode == DeviceMode::kCpu ? total : std::min(best, total);
    if (mode == DeviceMode::kAuto)
      std::printf("\nauto / better: %.2f. Estimates: %s\n\n| candidates |", total / best,
                  report.reason.substr(std::min<size_t>(2, report.reason.size())).c_str());
  }
  for (const EpisodeReport::Level& level : report.levels)
    std::printf(" %llu, %llu frequent |", static_cast<unsigned long long>(level.candidates),
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
  for (const double seconds : {4000.0, 1000.0, 200.0, 20.0}) discover(bench, seconds * scale, 10);
  discover(bench, 200 * scale, 2);
}
