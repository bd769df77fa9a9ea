// Episodes: the methods against each other on streams like EP's, and discovery on a recording. `bench/run
// episodes` builds and runs it; bench/README.md describes the method. Prints Markdown.
//
// usage: episode_methods [RECORDING.tsv.zst]     lines "time in microseconds, tab, unit"
//   BENCH_SCALE  fraction of the seconds of each stream (default 1)
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "episodes/counting_rule.h"
#include "episodes/episode_counter.h"
#include "episodes/episode_run.h"
#include "episodes/spike_train.h"
#include "episodes/tracking.h"

using namespace batmap;

namespace {

constexpr int kRounds = 5;
constexpr double kSlowMs = 1000;  // a side that takes longer runs once
constexpr Gap kGap{5000, 10000};

double cpu_milliseconds() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

double wall_milliseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

EventLog log_of_spikes(const SpikeModel& model, double seconds, const ExecutionOptions& options) {
  EventLog log(options, false);
  SpikeTrain train(model);
  std::vector<Spike> spikes;
  for (int64_t bin = 0; bin < static_cast<int64_t>(seconds * 1000); ++bin) {
    train.next(spikes);
    for (const Spike& spike : spikes) log.append(spike.time_us, spike.neuron);
  }
  return log;
}

EventLog log_of_file(const std::string& path, const ExecutionOptions& options) {
  EventLog log(options, false);
  FILE* const pipe = popen(("zstd -dc '" + path + "'").c_str(), "r");
  long long time;
  long long unit;
  while (std::fscanf(pipe, "%lld %lld", &time, &unit) == 2) log.append(time, unit);
  if (pclose(pipe) != 0 || log.rows() == 0) {
    std::fprintf(stderr, "episode_methods: cannot read %s\n", path.c_str());
    std::exit(1);
  }
  return log;
}

EventStreams streams_of_log(EventLog log, int64_t reach, const ExecutionOptions& options) {
  return {std::move(log), {}, [](const EventTotals&) { return EventFilter{}; }, reach, options};
}

struct Episodes {
  size_t length;
  std::vector<uint32_t> symbols;
  std::vector<Gap> gaps;
  EpisodeBatch view() const { return {symbols.data(), gaps.data(), length, symbols.size() / length}; }
};

/// The four embedded episodes, then others that step through the neurons in other ways.
Episodes some_episodes(size_t count, size_t length) {
  Episodes episodes{length, {}, std::vector<Gap>(count * (length - 1), kGap)};
  for (size_t k = 0; k < count; ++k)
    for (size_t position = 0; position < length; ++position)
      episodes.symbols.push_back(static_cast<uint32_t>((k * 9 + position * (k / 7 + 1)) % 64));
  return episodes;
}

void fail(const char* what) {
  std::fprintf(stderr, "episode_methods: %s\n", what);
  std::exit(1);
}

struct Side {
  EpisodeMethod method;
  int threads;
};

/// Milliseconds of each side, in turns. All counts must be equal.
std::vector<double> compare(const EventAxisView& view, const EpisodeBatch& batch, const std::vector<Side>& sides,
                            MemoryMeter& meter, uint64_t* sum = nullptr) {
  std::vector<std::vector<double>> times(sides.size());
  std::vector<uint64_t> expected;
  for (int round = 0; round < kRounds; ++round)
    for (size_t k = 0; k < sides.size(); ++k) {
      if (!times[k].empty() && times[k].front() > kSlowMs) continue;
      const ExecutionOptions options{.threads = sides[k].threads, .memory = &meter, .cancel = {}};
      std::vector<uint64_t> counts(batch.size);
      const bool alone = sides[k].threads == 1;
      const double start = alone ? cpu_milliseconds() : wall_milliseconds();
      count_episodes(sides[k].method, view, batch, counts, options);
      times[k].push_back((alone ? cpu_milliseconds() : wall_milliseconds()) - start);
      if (expected.empty()) expected = counts;
      if (counts != expected) fail("the methods do not count alike");
    }
  if (sum != nullptr) {
    *sum = 0;
    for (const uint64_t count : expected) *sum += count;
  }
  std::vector<double> medians;
  for (const std::vector<double>& own : times) medians.push_back(median(own));
  return medians;
}

void compare_methods(double scale) {
  const double seconds[] = {4000, 2000, 1000, 500, 200, 100, 50, 20};
  constexpr EpisodeMethod kSides[] = {EpisodeMethod::kTracking, EpisodeMethod::kCountScanWrite, EpisodeMethod::kAtomic,
                                      EpisodeMethod::kAutomaton, EpisodeMethod::kMapConcat};
  for (const size_t count : {size_t{30}, size_t{1}}) {
    std::printf("\n## %zu episode%s of 9, gap (5 ms, 10 ms], one thread, CPU ms\n\n", count, count == 1 ? "" : "s");
    std::printf(
        "| data set | s | events | streams built | tracking | count_scan_write | atomic | automaton | mapconcat |"
        " automaton / tracking | mapconcat / tracking |\n|---|---|---|---|---|---|---|---|---|---|---|\n");
    for (size_t k = 0; k < std::size(seconds); ++k) {
      MemoryMeter meter;
      const ExecutionOptions options{.threads = 1, .memory = &meter, .cancel = {}};
      EventLog log = log_of_spikes({}, seconds[k] * scale, options);
      const double start = cpu_milliseconds();
      const EventStreams streams = streams_of_log(std::move(log), kGap.high, options);
      const double build = cpu_milliseconds() - start;
      const EventAxisView view = streams.axes()[0].view();
      const Episodes episodes = some_episodes(count, 9);
      std::vector<Side> sides;
      for (const EpisodeMethod method : kSides) sides.push_back({method, 1});
      const std::vector<double> ms = compare(view, episodes.view(), sides, meter);
      std::printf("| %zu | %g | %zu | %.1f | %.3g | %.3g | %.3g | %.3g | %.3g | %.1f | %.1f |\n", k + 1, seconds[k] * scale,
                  view.events, build, ms[0], ms[1], ms[2], ms[3], ms[4], ms[3] / ms[0], ms[4] / ms[0]);
      std::fflush(stdout);
    }
  }
}

void compare_threads(double scale) {
  std::printf(
      "\n## One episode, two threads, ms of the clock; data set 1 and its tenth\n\n"
      "| events | length | count | tracking | count_scan_write | atomic | mapconcat | every occurrence travels | chosen |\n"
      "|---|---|---|---|---|---|---|---|---|\n");
  for (const double seconds : {4000.0, 400.0}) {
    MemoryMeter meter;
    const ExecutionOptions options{.threads = 2, .memory = &meter, .cancel = {}};
    const EventStreams streams = streams_of_log(log_of_spikes({}, seconds * scale, options), kGap.high, options);
    const EventAxisView view = streams.axes()[0].view();
    for (const size_t length : {2u, 3u, 5u, 7u, 9u}) {
      const Episodes episodes = some_episodes(1, length);
      uint64_t count;
      const std::vector<double> ms = compare(view, episodes.view(),
                                             {{EpisodeMethod::kTracking, 2},
                                              {EpisodeMethod::kCountScanWrite, 2},
                                              {EpisodeMethod::kAtomic, 2},
                                              {EpisodeMethod::kMapConcat, 2}},
                                             meter, &count);
      const double start = wall_milliseconds();
      if (track_all(view, episodes.view()[0], options) != count) fail("the bound on the frontier changes a count");
      const double all = wall_milliseconds() - start;
      const EpisodeMethod chosen = choose_episode_method(describe_job(view, episodes.view(), 2));
      std::printf("| %zu | %zu | %llu | %.3g | %.3g | %.3g | %.3g | %.3g | %s |\n", view.events, length,
                  static_cast<unsigned long long>(count), ms[0], ms[1], ms[2], ms[3], all,
                  kEpisodeMethodNames[static_cast<size_t>(chosen)]);
      std::fflush(stdout);
    }
  }
}

/// Measures what kGallopRatio is set by: a step from a long list to one that is a fraction of it, and back.
void compare_steps() {
  std::printf(
      "\n## One step, ns an element of the longer side\n\n| ratio | merge to fewer | search for fewer | merge to more |"
      " search from fewer |\n|---|---|---|---|---|\n");
  constexpr size_t kLong = 1'000'000;
  uint64_t state = 1;
  for (const size_t ratio : {1u, 2u, 4u, 8u, 16u, 64u, 256u}) {
    std::vector<int64_t> more;
    std::vector<int64_t> fewer;
    for (size_t k = 0; k < kLong; ++k) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      more.push_back(static_cast<int64_t>(k * 1000 + (state >> 33) % 1000));
      if ((state >> 20) % ratio == 0) fewer.push_back(static_cast<int64_t>(k * 1000 + (state >> 43) % 1000));
    }
    const FrontierView from_more{more.data(), more.data(), more.size()};
    const FrontierView from_fewer{fewer.data(), fewer.data(), fewer.size()};
    const Gap gap{0, 2000};
    const auto timed = [&](auto extend) {
      std::vector<double> times;
      uint64_t counts[kRounds];
      for (int round = 0; round < kRounds; ++round) {
        NonOverlapped chosen;
        const double start = cpu_milliseconds();
        extend([&](int64_t end, int64_t from) { chosen.take(end, from); });
        times.push_back((cpu_milliseconds() - start) * 1e6 / kLong);
        counts[round] = chosen.count;
      }
      if (counts[0] != counts[kRounds - 1]) fail("a step is not repeatable");
      return median(times);
    };
    std::printf("| %zu | %.2f | %.2f | %.2f | %.2f |\n", ratio,
                timed([&](auto take) { extend_merging(from_more, fewer, gap, take); }),
                timed([&](auto take) { extend_searching_frontier(from_more, fewer, gap, take); }),
                timed([&](auto take) { extend_merging(from_fewer, more, gap, take); }),
                timed([&](auto take) { extend_searching_list(from_fewer, more, gap, take); }));
  }
}

void discover(const char* name, const std::function<EventLog(const ExecutionOptions&)>& log, Gap gap, int64_t min_count,
              int64_t max_length, std::vector<std::optional<EpisodeMethod>> methods) {
  std::printf(
      "\n## Discovery: %s, gap (%lld us, %lld us], min_count %lld, ms of the clock\n\n| counting | threads | group |", name,
      static_cast<long long>(gap.low), static_cast<long long>(gap.high), static_cast<long long>(min_count));
  for (int64_t length = 1; length <= max_length; ++length) std::printf(" %lld |", static_cast<long long>(length));
  std::printf(" all |\n|---|---|---|");
  for (int64_t length = 0; length <= max_length; ++length) std::printf("---|");
  std::printf("\n");
  RunRecord record;
  for (const std::optional<EpisodeMethod> method : methods)
    for (const int threads : {1, 2}) {
      MemoryMeter meter;
      const ExecutionOptions options{.threads = threads, .memory = &meter, .cancel = {}};
      EpisodeQuery query;
      query.gaps = {gap};
      query.min_count = min_count;
      query.max_length = max_length;
      query.method = method;
      const double start = wall_milliseconds();
      EpisodeRun run(log(options), {}, query, options);
      const double grouped = wall_milliseconds();
      while (run.next()) {
      }
      const double all = wall_milliseconds() - grouped;
      record = run.record();
      std::printf("| %s | %d | %.1f |", record.method.c_str(), threads, grouped - start);
      for (const RunLevel& level : record.levels) std::printf(" %.1f |", *level.ms);
      std::printf(" %.1f |\n", all);
      std::fflush(stdout);
    }
  std::printf("| candidates | | |");
  for (const RunLevel& level : record.levels) std::printf(" %llu |", static_cast<unsigned long long>(*level.candidates));
  std::printf(" |\n| frequent | | |");
  for (const RunLevel& level : record.levels) std::printf(" %llu |", static_cast<unsigned long long>(level.frequent));
  std::printf(" |\n");
}

}  // namespace

int main(int argc, char** argv) {
  const char* const scale_text = std::getenv("BENCH_SCALE");
  const double scale = scale_text == nullptr ? 1 : std::atof(scale_text);
  std::printf("# Episodes\n");
  compare_methods(scale);
  std::printf(
      "\nEP on a GTX 280 and one core of a Core 2 Quad (figures 9 and 10): its best GPU method 6 times as fast as its CPU "
      "on data"
      " set 1, one episode;\nMapConcat up to 4 times as slow as its CPU, 11 times as slow as its best, 30 episodes.\n");
  compare_threads(scale);
  compare_steps();
  const std::vector<std::optional<EpisodeMethod>> methods{std::nullopt, EpisodeMethod::kTracking};
  discover(
      "generated, 200 s", [&](const ExecutionOptions& options) { return log_of_spikes({}, 200 * scale, options); }, kGap,
      static_cast<int64_t>(2000 * scale), 5, methods);
  if (argc > 1) {
    const std::string path = argv[1];
    discover(
        "retina", [&](const ExecutionOptions& options) { return log_of_file(path, options); }, {0, 20'000}, 200, 5, methods);
  } else {
    std::printf("\nRetina: left out, BATMAP_TEST_DATA is not set.\n");
  }
}
