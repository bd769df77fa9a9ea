// Episodes on a device against the CPU's methods: both compactions, steps and walks, automaton and mapconcat.
// They run on hundreds of small streams (ties, repeated symbols, empty and unbounded gaps, several streams),
// and on long ones. Then memory limits and cancelling. Runs on a machine with a GPU.
#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <span>
#include <thread>

#include "accel/device_episodes.h"
#include "device_module.h"
#include "episodes/device_tracker.h"
#include "episodes/episode_counter.h"
#include "episodes/spike_train.h"
#include "test/unit/shared/episodes.h"

namespace batmap::test {
namespace {

constexpr uint64_t kSeed = 20261122;
constexpr DeviceEpisodeMethod kMethods[] = {DeviceEpisodeMethod::kCountScanWrite, DeviceEpisodeMethod::kAtomic,
                                            DeviceEpisodeMethod::kAutomaton, DeviceEpisodeMethod::kMapConcat};

struct Batch {
  size_t length;
  std::vector<uint32_t> symbols;
  std::vector<Gap> gaps;

  EpisodeBatch view() const { return {symbols.data(), gaps.data(), length, symbols.size() / length}; }
};

/// Some streams, sent to the first device.
class Opened {
 public:
  explicit Opened(const EventStreams& streams, bool has_order = true, uint64_t memory_limit = 0,
                  bool (*stop)(void*) = nullptr, void* stop_arg = nullptr) {
    std::vector<DeviceEventAxis> axes;
    for (const EventAxis& axis : streams.axes()) {
      const EventAxisView view = axis.view();
      axes.push_back({view.events, view.symbol_count, view.begin, view.times[view.events - 1], view.reach});
    }
    DeviceEpisodeJob job{};
    job.axes = axes.data();
    job.axis_count = axes.size();
    job.has_order = has_order;
    job.memory_limit = memory_limit;
    job.stop = stop;
    job.stop_arg = stop_arg;
    status_ = api().episodes->open(&job, &episodes_, &why_);
    for (uint64_t k = 0; k < axes.size() && status_ == AcceleratorStatus::kOk; ++k) {
      const EventAxisView view = streams.axes()[k].view();
      send(k, DeviceEventArray::kListTimes, view.list_times, view.events);
      if (!has_order) continue;
      send(k, DeviceEventArray::kTimes, view.times, view.events);
      send(k, DeviceEventArray::kSymbols, view.symbols, view.events);
    }
  }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;
  ~Opened() {
    if (episodes_ != nullptr) api().episodes->close(episodes_);
  }

  AcceleratorStatus count(const EpisodeBatch& batch, DeviceEpisodeMethod method, std::vector<uint64_t>& counts) {
    if (status_ != AcceleratorStatus::kOk) return status_;
    std::vector<DeviceGap> gaps;
    for (size_t k = 0; k < batch.size * (batch.length - 1); ++k) gaps.push_back({batch.gaps[k].low, batch.gaps[k].high});
    const DeviceEpisodeBatch job{batch.symbols, gaps.data(), batch.length, batch.size, method};
    counts.assign(batch.size, 0);
    return api().episodes->count(episodes_, &job, counts.data(), &why_);
  }
  AcceleratorStatus status() const { return status_; }
  const char* why() const { return why_.text; }

 private:
  template <typename Value>
  void send(uint64_t axis, DeviceEventArray array, const Value* values, uint64_t events) {
    const uint64_t half = events / 2;
    for (const auto& [first, size] : {std::pair(half, events - half), std::pair(uint64_t{0}, half)})
      if (status_ == AcceleratorStatus::kOk)
        status_ = api().episodes->send(episodes_, axis, array, first, values + first, size, &why_);
  }

  DeviceEpisodes* episodes_ = nullptr;
  AcceleratorStatus status_;
  AcceleratorMessage why_{};
};

void expect_as_the_cpu(const EventStreams& streams, const EpisodeBatch& batch, EpisodeMethod method, int threads = 1) {
  MemoryMeter meter;
  const ExecutionOptions options{.threads = threads, .memory = &meter, .cancel = {}};
  std::vector<uint64_t> expected(batch.size);
  for (const EventAxis& axis : streams.axes()) count_episodes(method, axis.view(), batch, expected, options);
  for (const bool has_order : {true, false}) {  // tracking with walks; then all methods without
    Opened opened(streams, has_order);
    for (const DeviceEpisodeMethod with : has_order ? std::span(kMethods).first(2) : std::span(kMethods))
      for (int run = 0; run < 2; ++run) {  // the second run finds the arrays of the first
        std::vector<uint64_t> counts;
        ASSERT_EQ(opened.count(batch, with, counts), AcceleratorStatus::kOk) << opened.why();
        ASSERT_EQ(counts, expected) << "method " << static_cast<int>(with) << ", length " << batch.length
                                    << (has_order ? "" : ", without order");
      }
  }
}

EventStreams streams_of_spikes(double seconds, int64_t reach, const ExecutionOptions& options) {
  EventLog log(options, false);
  SpikeTrain train(SpikeModel{});
  std::vector<Spike> spikes;
  for (int64_t bin = 0; bin < static_cast<int64_t>(seconds * 1000); ++bin) {
    train.next(spikes);
    for (const Spike& spike : spikes) log.append(spike.time_us, spike.neuron);
  }
  return {std::move(log), {}, [](const EventTotals&) { return EventFilter{}; }, reach, options};
}

/// Episodes of one length: some share a prefix with many others, some share nothing.
Batch random_batch(Random& random, size_t length, uint32_t symbols, uint64_t span) {
  Batch batch{length, {}, {}};
  for (uint64_t prefixes = 1 + random.below(4); prefixes > 0; --prefixes) {
    std::vector<uint32_t> own;
    std::vector<Gap> gaps;
    for (size_t position = 0; position + 1 < length; ++position) {
      own.push_back(static_cast<uint32_t>(random.below(symbols)));
      if (position > 0) gaps.push_back(random_gap(random, span));
    }
    const Gap last[] = {random_gap(random, span), random_gap(random, span)};
    for (uint64_t leaves = 1 + random.below(2 * symbols); leaves > 0; --leaves) {
      batch.symbols.insert(batch.symbols.end(), own.begin(), own.end());
      batch.gaps.insert(batch.gaps.end(), gaps.begin(), gaps.end());
      batch.symbols.push_back(static_cast<uint32_t>(random.below(symbols)));
      if (length > 1) batch.gaps.push_back(last[random.below(2)]);
    }
  }
  return batch;
}

TEST(DeviceEpisodes, SmallStreams) {
  RecordProperty("seed", std::to_string(kSeed));
  Random random(kSeed);
  MemoryMeter meter;
  const ExecutionOptions options{.threads = 1, .memory = &meter, .cancel = {}};
  const int rounds = is_small() ? 6 : 500;
  for (int round = 0; round < rounds; ++round) {
    SCOPED_TRACE(testing::Message() << "round " << round);
    const uint64_t span = 1 + random.below(round % 10 == 0 ? 5000 : 60);
    const std::vector<Event> events = random_events(random, 1 + random.below(round % 10 == 0 ? 9000 : 40), span,
                                                    1 + random.below(5), random.chance(30) ? 1 + random.below(4) : 1);
    const EventStreams streams = streams_of_events(events, Gap::kUnbounded, options);
    const Batch batch = random_batch(random, 1 + random.below(5), streams.symbols(), span);
    expect_as_the_cpu(streams, batch.view(), EpisodeMethod::kAutomaton);
    if (HasFailure()) return;
  }
}

TEST(DeviceEpisodes, SeveralAxes) {
  MemoryMeter meter;
  const ExecutionOptions options{.threads = 1, .memory = &meter, .cancel = {}};
  constexpr int64_t kFar = int64_t{1} << 60;
  std::vector<Event> events;
  for (int64_t stream = 0; stream < (is_small() ? 8 : 40); ++stream) {
    events.push_back({-kFar / 2, 0, stream});
    events.push_back({kFar / 2 + stream, 1, stream});
    events.push_back({kFar / 2 + 2 * stream, stream % 7, stream});
  }
  const EventStreams streams = streams_of_events(events, Gap::kUnbounded, options);
  ASSERT_GT(streams.axes().size(), 1u);
  for (const Gap gap : {Gap{0, Gap::kUnbounded}, Gap{kFar, kFar + 10}, Gap{0, kFar - 1}, Gap{5, 5}}) {
    Batch batch{2, {}, {}};
    for (uint32_t a = 0; a < streams.symbols(); ++a)
      for (uint32_t b = 0; b < streams.symbols(); ++b) {
        batch.symbols.insert(batch.symbols.end(), {a, b});
        batch.gaps.push_back(gap);
      }
    expect_as_the_cpu(streams, batch.view(), EpisodeMethod::kTracking);
  }
}

/// Times travel in 32 bits as long as they fit.
TEST(DeviceEpisodes, TimesAround32Bits) {
  Random random(kSeed + 4);
  MemoryMeter meter;
  const ExecutionOptions options{.threads = 1, .memory = &meter, .cancel = {}};
  for (const int64_t last : {int64_t{INT32_MAX}, int64_t{INT32_MAX} + 1, int64_t{UINT32_MAX}, int64_t{UINT32_MAX} + 1}) {
    SCOPED_TRACE(last);
    std::vector<Event> events{{-7, 0}, {last - 7, 1}};  // an axis begins at 0
    for (int k = 0; k < (is_small() ? 300 : 20'000); ++k)
      events.push_back({last - 7 - static_cast<int64_t>(random.below(100'000)), static_cast<int64_t>(random.below(3))});
    const EventStreams streams = streams_of_events(events, Gap::kUnbounded, options);
    Batch batch{3, {}, {}};
    for (uint32_t code = 0; code < 27; code += is_small() ? 13 : 1)
      batch.symbols.insert(batch.symbols.end(), {code / 9, code / 3 % 3, code % 3});
    batch.gaps.assign(batch.symbols.size() / 3 * 2, {5, is_small() ? 3000 : 40});
    expect_as_the_cpu(streams, batch.view(), EpisodeMethod::kTracking);
  }
}

TEST(DeviceEpisodes, LongStreams) {
  MemoryMeter meter;
  const ExecutionOptions options{.threads = 8, .memory = &meter, .cancel = {}};
  const double seconds = is_small() ? 0.3 : 200;
  const EventStreams streams = streams_of_spikes(seconds, Gap::kUnbounded, options);
  const auto symbols = streams.symbols();
  for (const Gap gap : {Gap{5000, 10000}, Gap{0, 1000}, Gap{0, Gap::kUnbounded}, Gap{100'000, 150'000},
                        Gap{100'000, 100'100}}) {  // many events may wait for the last symbol's one
    for (const size_t length : {2u, 3u, 5u, 9u}) {
      if (is_small() && length != 3) continue;
      SCOPED_TRACE(testing::Message() << "length " << length << ", gap " << gap.low << " to " << gap.high);
      Batch batch{length, {}, {}};
      for (uint32_t k = 0; k < 30; ++k)
        for (uint32_t position = 0; position < length; ++position)
          batch.symbols.push_back((k * 9 + position * (k / 7 + 1)) % symbols);
      batch.gaps.assign(batch.symbols.size() / length * (length - 1), gap);
      expect_as_the_cpu(streams, batch.view(), EpisodeMethod::kTracking, 8);
    }
  }
  // A whole level, counted in several groups.
  Batch level{3, {}, {}};
  for (uint32_t a = 0; a < symbols; a += 2)
    for (uint32_t b = 0; b < symbols; b += 3)
      for (uint32_t c = 0; c < symbols; ++c) level.symbols.insert(level.symbols.end(), {a, b, c});
  level.gaps.assign(level.symbols.size() / 3 * 2, {5000, 10000});
  if (is_small()) level.symbols.resize(3 * 200), level.gaps.resize(2 * 200);
  expect_as_the_cpu(streams, level.view(), EpisodeMethod::kTracking, 8);
}

/// Occurrences that overlap from the first to the last, so that one warp counts them all; and
/// rare events among frequent ones.
TEST(DeviceEpisodes, ChainsAndRareEvents) {
  Random random(kSeed + 1);
  MemoryMeter meter;
  const ExecutionOptions options{.threads = 1, .memory = &meter, .cancel = {}};
  const int64_t periods = is_small() ? 300 : 50'000;
  std::vector<Event> events;
  for (int64_t k = 0; k < periods; ++k) {
    events.push_back({k * 10, 0});
    events.push_back({k * 10 + 1, 1});
    if (random.chance(1)) events.push_back({k * 10 + random.signed_below(10), 2});
    if (k % 1000 == 0) events.push_back({k * 10 + 3, 3});
  }
  const EventStreams streams = streams_of_events(events, 1'000'000, options);
  for (const Gap gap : {Gap{10, 15}, Gap{0, 5}, Gap{35, 45}, Gap{100, 20'000}, Gap{0, 1'000'000}})
    for (const size_t length : {2u, 4u}) {
      if (is_small() && length == 2) continue;
      Batch batch{length, {}, {}};
      for (uint32_t code = 0; code < (length == 2 ? 16u : 256u); code += length == 2 ? 1 : is_small() ? 50 : 5)
        for (uint32_t position = 0; position < length; ++position) batch.symbols.push_back(code >> (2 * position) & 3);
      batch.gaps.assign(batch.symbols.size() / length * (length - 1), gap);
      expect_as_the_cpu(streams, batch.view(), EpisodeMethod::kTracking);
      // Neighbours that differ only in the last symbol.
      Batch walked{length, {}, {}};
      for (uint32_t code = 0; code < 16; ++code)
        for (uint32_t position = 0; position < length; ++position)
          walked.symbols.push_back(position + 1 == length ? code & 3 : code >> 2 & 3);
      walked.gaps.assign(16 * (length - 1), gap);
      expect_as_the_cpu(streams, walked.view(), EpisodeMethod::kTracking);
    }
}

TEST(DeviceEpisodes, ManySymbols) {
  Random random(kSeed + 2);
  MemoryMeter meter;
  const ExecutionOptions options{.threads = 1, .memory = &meter, .cancel = {}};
  for (const uint64_t symbols : {500u, 20'000u}) {  // too many symbols for a walk
    const std::vector<Event> events = random_events(random, is_small() ? 5000 : 200'000, 1'000'000, symbols);
    const EventStreams streams = streams_of_events(events, 5000, options);
    Batch batch{2, {}, {}};
    for (uint32_t a = 0; a < 20; ++a)
      for (uint32_t b = 0; b < 300; ++b) {
        batch.symbols.insert(batch.symbols.end(), {a, b * 7 % streams.symbols()});
        batch.gaps.push_back({0, 5000});
      }
    expect_as_the_cpu(streams, batch.view(), EpisodeMethod::kTracking);
  }
}

TEST(DeviceEpisodes, MemoryLimit) {
  Random random(kSeed + 3);
  MemoryMeter meter;
  const ExecutionOptions options{.threads = 1, .memory = &meter, .cancel = {}};
  const EventStreams streams =
      streams_of_events(random_events(random, is_small() ? 10'000 : 100'000, 1'000'000, 4), 100, options);
  Batch batch{4, {}, {}};
  for (uint32_t code = 0; code < 256; code += is_small() ? 50 : 3)
    for (uint32_t position = 0; position < 4; ++position) batch.symbols.push_back(code >> (2 * position) & 3);
  batch.gaps.assign(batch.symbols.size() / 4 * 3, {0, 100});
  std::vector<uint64_t> expected;
  ASSERT_EQ(Opened(streams).count(batch.view(), DeviceEpisodeMethod::kCountScanWrite, expected), AcceleratorStatus::kOk);
  for (const DeviceEpisodeMethod method : kMethods) {
    SCOPED_TRACE(testing::Message() << "method " << static_cast<int>(method));
    size_t refused = 0;
    size_t done = 0;
    for (uint64_t limit = uint64_t{1} << 16; limit <= uint64_t{1} << 26; limit *= 2) {
      Opened opened(streams, true, limit);
      std::vector<uint64_t> counts;
      const AcceleratorStatus status = opened.count(batch.view(), method, counts);
      if (status == AcceleratorStatus::kOk) {
        EXPECT_EQ(counts, expected) << "in small groups";
        ++done;
      } else {
        EXPECT_EQ(status, AcceleratorStatus::kOutOfMemory) << opened.why();
        ++refused;
      }
    }
    EXPECT_GT(refused, 0u);
    EXPECT_GT(done, 0u);
  }
}

TEST(DeviceEpisodes, Cancel) {
  MemoryMeter meter;
  const ExecutionOptions options{.threads = 1, .memory = &meter, .cancel = {}};
  // One chain of overlaps from end to end: this makes the longest kernels.
  std::vector<Event> events;
  const int64_t periods = is_small() ? 2000 : 4'000'000;
  for (int64_t k = 0; k < periods; ++k) {
    events.push_back({k * 10, 0});
    events.push_back({k * 10 + 1, 1});
  }
  const EventStreams streams = streams_of_events(events, 15, options);
  using Clock = std::chrono::steady_clock;
  Clock::time_point stop_at = Clock::now() + std::chrono::hours(1);
  Opened opened(
      streams, true, 0, [](void* at) { return Clock::now() > *static_cast<Clock::time_point*>(at); }, &stop_at);
  ASSERT_EQ(opened.status(), AcceleratorStatus::kOk) << opened.why();
  struct Job {
    DeviceEpisodeMethod method;
    int64_t episodes;
  };
  for (const Job job :
       {Job{DeviceEpisodeMethod::kCountScanWrite, 1}, Job{DeviceEpisodeMethod::kCountScanWrite, 100},  // walks
        Job{DeviceEpisodeMethod::kAutomaton, 1}, Job{DeviceEpisodeMethod::kMapConcat, 1000}}) {
    Batch batch{2, {}, {}};
    for (int64_t k = 0; k < job.episodes; ++k) {
      batch.symbols.insert(batch.symbols.end(), {0, 1});
      batch.gaps.push_back({10, 11 + k});
    }
    stop_at = Clock::now() + std::chrono::milliseconds(is_small() ? 0 : 20);
    std::vector<uint64_t> counts;
    EXPECT_EQ(opened.count(batch.view(), job.method, counts), AcceleratorStatus::kCancelled);
    const double late = std::chrono::duration<double, std::milli>(Clock::now() - stop_at).count();
    if (!is_small()) {
      EXPECT_LT(late, 100);
    }
  }
  stop_at = Clock::now() + std::chrono::hours(1);
  Batch batch{2, {0, 1}, {{0, 5}}};
  for (const DeviceEpisodeMethod method : kMethods) {
    std::vector<uint64_t> counts;
    EXPECT_EQ(opened.count(batch.view(), method, counts), AcceleratorStatus::kOk);
    EXPECT_EQ(counts[0], static_cast<uint64_t>(periods));
  }
}

std::vector<uint64_t> counted_by_the_cpu(const EventStreams& streams, const EpisodeBatch& batch) {
  MemoryMeter meter;
  std::vector<uint64_t> counts(batch.size);
  for (const EventAxis& axis : streams.axes())
    count_episodes(EpisodeMethod::kTracking, axis.view(), batch, counts, {.threads = 1, .memory = &meter, .cancel = {}});
  return counts;
}

/// Batches of few symbols each, so that most counts send lists first. With the order, the first count sends all lists.
TEST(DeviceEpisodes, ListsBetweenCounts) {
  Random random(kSeed + 5);
  MemoryMeter meter;
  const ExecutionOptions options{.threads = 4, .memory = &meter, .cancel = {}};
  const uint32_t max_symbols = is_small() ? 20 : 60;
  const EventStreams streams =
      streams_of_events(random_events(random, is_small() ? 2000 : 500'000, 1'000'000, max_symbols, 2), 500, options);
  const uint32_t symbols = streams.symbols();
  for (const bool has_order : {false, true}) {
    DeviceTracker tracker(api(), 0, 0, has_order, streams, options);
    for (uint32_t first = 0; first + 3 < symbols; first += 2) {  // each batch has a symbol that has been sent
      Batch batch{3, {}, {}};
      for (uint32_t code = 0; code < 27; code += is_small() ? 5 : 1)
        batch.symbols.insert(batch.symbols.end(), {first + code / 9, first + code / 3 % 3, first + code % 3});
      batch.gaps.assign(batch.symbols.size() / 3 * 2, {0, 500});
      std::vector<uint64_t> counts(batch.view().size);
      tracker.count(DeviceEpisodeMethod::kCountScanWrite, batch.view(), counts);
      ASSERT_EQ(counts, counted_by_the_cpu(streams, batch.view())) << "symbols from " << first;
    }
  }
}

/// Each job has a stream of its own, although a process keeps only one.
TEST(DeviceEpisodes, JobsSideBySide) {
  Random random(kSeed + 6);
  MemoryMeter meter;
  const ExecutionOptions options{.threads = 1, .memory = &meter, .cancel = {}};
  struct Side {
    EventStreams streams;
    Batch batch;
    std::vector<uint64_t> expected;
    std::vector<std::vector<uint64_t>> found;
  };
  constexpr size_t kSides = 3;
  const size_t turns = is_small() ? 2 : 20;
  std::vector<Side> sides;
  for (size_t side = 0; side < kSides; ++side) {
    EventStreams streams = streams_of_events(
        random_events(random, (is_small() ? 500 : 100'000) * (side + 1), 1'000'000, 4 + side), 2000, options);
    Batch batch{4, {}, {}};
    for (uint32_t code = 0; code < 256; code += is_small() ? 50 : 3)
      for (uint32_t position = 0; position < 4; ++position) batch.symbols.push_back(code >> (2 * position) & 3);
    batch.gaps.assign(batch.symbols.size() / 4 * 3, {0, 1000 + static_cast<int64_t>(side)});
    std::vector<uint64_t> expected = counted_by_the_cpu(streams, batch.view());
    sides.push_back({std::move(streams), std::move(batch), std::move(expected), {}});
  }
  const auto count = [&](Side& side, Opened& opened) {
    side.found.emplace_back();
    if (opened.count(side.batch.view(), DeviceEpisodeMethod::kCountScanWrite, side.found.back()) != AcceleratorStatus::kOk)
      side.found.back().clear();
  };
  {  // one thread, in turns: all jobs are open at once
    std::vector<std::unique_ptr<Opened>> opened;
    for (Side& side : sides) opened.push_back(std::make_unique<Opened>(side.streams));
    for (size_t turn = 0; turn < turns; ++turn)
      for (size_t side = 0; side < kSides; ++side) count(sides[side], *opened[side]);
  }
  std::vector<std::thread> threads;  // then a thread for each, which opens a new job each turn
  for (Side& side : sides)
    threads.emplace_back([&count, &side, turns] {
      for (size_t turn = 0; turn < turns; ++turn) {
        Opened opened(side.streams);
        count(side, opened);
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const Side& side : sides) {
    ASSERT_EQ(side.found.size(), 2 * turns);
    for (const std::vector<uint64_t>& found : side.found) ASSERT_EQ(found, side.expected);
  }
}

/// A job after a cancelled job finds everything as new.
TEST(DeviceEpisodes, AfterACancelledJob) {
  Random random(kSeed + 7);
  MemoryMeter meter;
  const ExecutionOptions options{.threads = 1, .memory = &meter, .cancel = {}};
  const EventStreams streams =
      streams_of_events(random_events(random, is_small() ? 2000 : 300'000, 1'000'000, 3), 2000, options);
  Batch batch{3, {}, {}};
  for (uint32_t code = 0; code < 27; code += is_small() ? 9 : 1)
    batch.symbols.insert(batch.symbols.end(), {code / 9, code / 3 % 3, code % 3});
  batch.gaps.assign(batch.symbols.size() / 3 * 2, {0, 2000});
  const std::vector<uint64_t> expected = counted_by_the_cpu(streams, batch.view());
  for (const DeviceEpisodeMethod method : kMethods) {
    std::vector<uint64_t> counts;
    {
      Opened cancelled(
          streams, true, 0, [](void*) { return true; }, nullptr);
      EXPECT_EQ(cancelled.count(batch.view(), method, counts), AcceleratorStatus::kCancelled);
    }
    Opened next(streams);
    ASSERT_EQ(next.count(batch.view(), method, counts), AcceleratorStatus::kOk) << next.why();
    EXPECT_EQ(counts, expected);
  }
}

}  // namespace
}  // namespace batmap::test
