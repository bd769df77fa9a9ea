// Runs of episodes on a fake accelerator. The answers and their order are those of the CPU, whatever the
// accelerator answers and whenever it fails. The user is told, the accelerator is not asked again after an
// error, runs can be cancelled, and no job stays open.
#include "episodes/device_tracker.h"

#include <gtest/gtest.h>

#include "episodes/episode_counter.h"
#include "episodes/episode_run.h"
#include "test/unit/shared/episodes.h"
#include "test/unit/shared/fake_accelerator_test.h"

namespace batmap::test {
namespace {

using Fake = FakeAccelerator;

using DeviceEpisodeRun = FakeAcceleratorTest;

std::vector<Event> some_events() {
  Random random(20261122);
  return random_events(random, 2000, 12'000, 5, 3);
}

EpisodeQuery query_for(Offload* offload, DeviceMode mode) {
  EpisodeQuery query;
  query.gaps = {{0, 10}, {10, 30}};
  query.min_count = 25;
  query.max_length = 4;
  query.device.offload = offload;
  query.device.mode = mode;
  return query;
}

struct Found {
  std::vector<uint64_t> rows;  // steps and supports, row by row
  RunRecord record;
};

Found discover(const EpisodeQuery& query, const ExecutionOptions& options) {
  EpisodeRun run(log_of(some_events(), options), {}, query, options);
  Found found;
  while (const auto row = run.next()) {
    found.rows.insert(found.rows.end(), row->steps.begin(), row->steps.end());
    found.rows.push_back(row->support);
  }
  found.record = run.record();
  return found;
}

Found discover(const EpisodeQuery& query) {
  MemoryMeter meter;
  const Found found = discover(query, {.threads = 2, .memory = &meter, .cancel = {}});
  EXPECT_EQ(meter.current(), 0u);
  return found;
}

struct Counted {
  std::vector<uint64_t> counts;
  RunRecord record;
};

Counted count(Offload* offload, DeviceMode mode, std::optional<EpisodeMethod> method = std::nullopt) {
  MemoryMeter meter;
  const ExecutionOptions options{.threads = 2, .memory = &meter, .cancel = {}};
  GivenEpisodes given;
  given.length = 3;
  given.events = {0, 1, 2, 2, 2, 1, 0, 77, 1, 3, 4, 3};
  given.gaps = {{0, 20}};
  given.method = method;
  given.device.offload = offload;
  given.device.mode = mode;
  const EventStreams streams = streams_of(log_of(some_events(), options), {}, given, options);
  Counted counted;
  counted.counts = count_given(streams, given, options, counted.record);
  return counted;
}

TEST_F(DeviceEpisodeRun, AnswersAsTheCpu) {
  const Found expected = discover(query_for(nullptr, DeviceMode::kAuto));
  ASSERT_GT(expected.rows.size(), 100u);
  ASSERT_EQ(expected.record.levels.size(), 4u);
  for (const DeviceMode mode : {DeviceMode::kCuda, DeviceMode::kRequire}) {
    const Found found = discover(query_for(&offload_, mode));
    EXPECT_EQ(found.rows, expected.rows);
    EXPECT_EQ(found.record.device, "cuda:0 fake");
    EXPECT_EQ(found.record.notice, "");
    EXPECT_NE(found.record.reason.find("length 2: CPU"), std::string::npos) << found.record.reason;
    for (size_t k = 0; k < 4; ++k) {
      EXPECT_EQ(found.record.levels[k].candidates, expected.record.levels[k].candidates);
      EXPECT_EQ(found.record.levels[k].frequent, expected.record.levels[k].frequent);
    }
  }
  for (const DeviceMode mode : {DeviceMode::kCpu, DeviceMode::kAuto}) {  // for kAuto the job is too small to load anything
    const Found found = discover(query_for(&offload_, mode));
    EXPECT_EQ(found.rows, expected.rows);
    EXPECT_EQ(found.record.device, "cpu");
  }
  EpisodeQuery best = query_for(nullptr, DeviceMode::kAuto);
  best.top_k = 20;
  const Found expected_best = discover(best);
  best.device = {&offload_, DeviceMode::kRequire, {}, 0};
  EXPECT_EQ(discover(best).rows, expected_best.rows);
}

TEST_F(DeviceEpisodeRun, CountsGivenEpisodes) {
  const Counted expected = count(nullptr, DeviceMode::kAuto);
  EXPECT_EQ(expected.record.device, "cpu");
  EXPECT_EQ(expected.counts[2], 0u) << "an event that does not occur";
  const Counted found = count(&offload_, DeviceMode::kRequire);
  EXPECT_EQ(found.counts, expected.counts);
  EXPECT_EQ(found.record.device, "cuda:0 fake");
  EXPECT_EQ(found.record.method, "count_scan_write");
}

TEST_F(DeviceEpisodeRun, CountsByTheMethodThatIsNamed) {
  struct Named {
    EpisodeMethod method;
    DeviceEpisodeMethod on_device;
    const char* reported;
  };
  const Counted expected = count(nullptr, DeviceMode::kAuto);
  EpisodeQuery query = query_for(nullptr, DeviceMode::kAuto);
  const Found expected_rows = discover(query);
  query.device = {&offload_, DeviceMode::kRequire, {}, 0};
  for (const Named& named : {Named{EpisodeMethod::kTracking, DeviceEpisodeMethod::kCountScanWrite, "count_scan_write"},
                             Named{EpisodeMethod::kCountScanWrite, DeviceEpisodeMethod::kCountScanWrite, "count_scan_write"},
                             Named{EpisodeMethod::kAtomic, DeviceEpisodeMethod::kAtomic, "atomic"},
                             Named{EpisodeMethod::kAutomaton, DeviceEpisodeMethod::kAutomaton, "automaton"},
                             Named{EpisodeMethod::kMapConcat, DeviceEpisodeMethod::kMapConcat, "mapconcat"}}) {
    SCOPED_TRACE(named.reported);
    Fake::state().episode_method.reset();
    const Counted found = count(&offload_, DeviceMode::kRequire, named.method);
    EXPECT_EQ(found.counts, expected.counts);
    EXPECT_EQ(found.record.method, named.reported);
    EXPECT_EQ(found.record.device, "cuda:0 fake");
    EXPECT_EQ(Fake::state().episode_method, named.on_device);
    Fake::state().episode_method.reset();
    query.method = named.method;
    EXPECT_EQ(discover(query).rows, expected_rows.rows);
    EXPECT_EQ(Fake::state().episode_method, named.on_device);
  }
}

TEST_F(DeviceEpisodeRun, SendsAListWithTheFirstBatchThatNeedsIt) {
  MemoryMeter meter;
  const ExecutionOptions options{.threads = 3, .memory = &meter, .cancel = {}};
  Random random(20261122);
  const EventStreams streams = streams_of_events(random_events(random, 150'000, 500'000, 5), 20, options);
  const EventAxisView view = streams.axes()[0].view();
  ASSERT_EQ(streams.symbols(), 5u);
  DeviceTracker tracker(*Fake::api(), 0, 0, false, streams, options);
  const auto expect = [&](std::vector<uint32_t> symbols, uint64_t sent) {
    const Gap gap{0, 20};
    const EpisodeBatch batch{symbols.data(), &gap, 2, 1};
    std::vector<uint64_t> expected(1);
    count_episodes(EpisodeMethod::kTracking, view, batch, expected, options);
    std::vector<uint64_t> counts(1);
    Fake::state().sent_list_times = 0;
    tracker.count(DeviceEpisodeMethod::kCountScanWrite, batch, counts);
    EXPECT_EQ(counts, expected);
    EXPECT_EQ(Fake::state().sent_list_times, sent);
  };
  expect({3, 0}, view.list(0).size() + view.list(3).size());
  expect({0, 3}, 0);
  expect({1, 0}, view.list(1).size());
  expect({2, 4}, view.list(2).size() + view.list(4).size());
  expect({4, 1}, 0);
}

TEST_F(DeviceEpisodeRun, EveryCallMayFail) {
  const Found expected = discover(query_for(nullptr, DeviceMode::kAuto));
  const Counted expected_counts = count(nullptr, DeviceMode::kAuto);
  for (const AcceleratorStatus status : {AcceleratorStatus::kDeclined, AcceleratorStatus::kNoDevice,
                                         AcceleratorStatus::kOutOfMemory, AcceleratorStatus::kFailed})
    for (const int call : {Fake::kDevices, Fake::kPrepare, Fake::kOpenEpisodes, Fake::kSendEvents, Fake::kCountEpisodes})
      for (const int after : {0, 1}) {
        if (after > 0 && call != Fake::kCountEpisodes) continue;  // a failure in the middle: at the second level
        SCOPED_TRACE(testing::Message() << "status " << static_cast<int>(status) << ", call " << call << " after " << after);
        const auto break_call = [&] {
          Fake::state().reset();
          Fake::state().answer[call] = status;
          Fake::state().after[call] = after;
        };
        break_call();
        Offload offload([](std::string&) { return Fake::api(); });
        const Found found = discover(query_for(&offload, DeviceMode::kCuda));
        EXPECT_EQ(found.rows, expected.rows);
        EXPECT_EQ(found.record.device, after > 0 ? "cuda:0 fake" : "cpu") << "who has counted any level";
        const bool is_error = status == AcceleratorStatus::kFailed && call != Fake::kDevices;
        EXPECT_EQ(found.record.notice.empty(), !is_error) << found.record.notice;
        EXPECT_EQ(Fake::state().open, 0);
        break_call();
        EXPECT_THROW(discover(query_for(&offload, DeviceMode::kRequire)), Error);
        if (after > 0) continue;
        break_call();
        Offload another([](std::string&) { return Fake::api(); });
        const Counted counted = count(&another, DeviceMode::kCuda);
        EXPECT_EQ(counted.counts, expected_counts.counts);
        EXPECT_EQ(counted.record.device, "cpu");
        EXPECT_EQ(counted.record.notice.empty(), !is_error);
      }
}

TEST_F(DeviceEpisodeRun, DevicesLeaveStreamsAndStepsToTheCpu) {
  for (const bool by_streams : {true, false}) {
    EpisodeQuery query = query_for(&offload_, DeviceMode::kCuda);
    query.min_count = 2;
    query.max_length = 2;
    if (by_streams)
      query.counting = EpisodeCounting::kStreams;
    else
      query.same_time = true;
    const Found found = discover(query);
    EXPECT_EQ(found.record.device, "cpu");
    EXPECT_NE(found.record.reason.find("GPUs count neither"), std::string::npos) << found.record.reason;
    EXPECT_TRUE(found.record.notice.empty());
    query.device.mode = DeviceMode::kCpu;
    EXPECT_EQ(discover(query).rows, found.rows);
    query.device.mode = DeviceMode::kRequire;
    try {
      discover(query);
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kNoDevice);
      EXPECT_NE(std::string(error.what()).find("GPUs count neither"), std::string::npos) << error.what();
    }
  }
}

TEST_F(DeviceEpisodeRun, NoDevice) {
  Offload none([](std::string& why) -> const AcceleratorApi* {
    why = "no such file";
    return nullptr;
  });
  EXPECT_EQ(discover(query_for(&none, DeviceMode::kCuda)).record.device, "cpu");
  try {
    discover(query_for(&none, DeviceMode::kRequire));
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kNoDevice);
    EXPECT_NE(std::string(error.what()).find("no such file"), std::string::npos) << error.what();
  }
  AcceleratorApi without = *Fake::api();
  without.episodes = nullptr;
  Offload pairs_only([&](std::string&) { return &without; });
  EXPECT_EQ(discover(query_for(&pairs_only, DeviceMode::kCuda)).record.device, "cpu");
  EXPECT_THROW(discover(query_for(&pairs_only, DeviceMode::kRequire)), Error);
}

TEST_F(DeviceEpisodeRun, StopsAStallingDevice) {
  MemoryMeter meter;
  ExecutionOptions options{.threads = 1, .memory = &meter, .cancel = {}};
  expect_cancelled([&](const CancelToken& cancel) {
    options.cancel = cancel;
    discover(query_for(&offload_, DeviceMode::kCuda), options);
  });
  // A timeout ends the answer; it is not an error.
  options.cancel = {};
  EpisodeQuery query = query_for(&offload_, DeviceMode::kCuda);
  query.timeout_ms = 30;
  const Found found = discover(query, options);
  EXPECT_EQ(found.record.truncation.cause, Truncation::kTimeout);
  EXPECT_FALSE(found.rows.empty()) << "the first level was complete";
}

}  // namespace
}  // namespace batmap::test
