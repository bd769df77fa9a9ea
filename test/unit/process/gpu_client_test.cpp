// A session and a GPU process with a fake accelerator. All three kinds of jobs answer as the module itself does, also from
// several threads, and from several sessions at once. Then everything that can happen to one of the two: cancelled, out
// of memory, failed, killed, hung, stopped, of another version, gone.
#include "process/client/gpu_client.h"

#include <gtest/gtest.h>

#include <chrono>
#include <numeric>
#include <thread>

#include "process/gpu_wire.h"
#include "test/unit/shared/gpu_process.h"
#include "test/unit/shared/sets.h"

namespace batmap::test {
namespace {

using process::Connected;
using Fake = FakeAccelerator;
using Clock = std::chrono::steady_clock;

class GpuClient : public ::testing::Test {
 protected:
  void SetUp() override {
    Fake::state().reset();
    FakeItemsets::state().reset();
  }
  void TearDown() override { process::disconnect(); }
};

#define ASSERT_OK(call) ASSERT_EQ(call, AcceleratorStatus::kOk) << why.text

/// A sink into a vector.
template <typename T>
struct Vector {
  std::vector<T> all;
  static T* room(void* arg, size_t size) {
    auto& vector = *static_cast<Vector*>(arg);
    vector.all.resize(size);
    return vector.all.data();
  }
};

constexpr uint32_t kItems = 450;  // all their pairs need more room than a channel has
constexpr uint32_t kTids = 40;
constexpr size_t kRows = 300'000;  // more than a channel holds, twice

DevicePairJob pair_job(uint32_t items = kItems, DeviceMethod method = DeviceMethod::kBitmap) {
  DevicePairJob job{};
  job.items = job.leading = items;
  job.tid_slots = kTids;
  job.rows = kRows;
  job.method = method;
  job.device_count = 1;
  return job;
}

void find_pairs(const AcceleratorApi& api, size_t rows, std::vector<uint64_t>& found) {
  Random random(42);
  std::vector<uint32_t> tids(rows);
  std::vector<uint32_t> items(rows);
  for (size_t i = 0; i < rows; ++i) {
    tids[i] = static_cast<uint32_t>(random.below(kTids));
    items[i] = static_cast<uint32_t>(random.below(kItems) * random.below(kItems) / kItems);
  }
  AcceleratorMessage why{};
  DevicePairs* pairs = nullptr;
  const DevicePairJob job = pair_job();
  ASSERT_OK(api.open_pairs(&job, &pairs, &why));
  std::vector<std::thread> threads;
  for (size_t k = 0; k < 4; ++k)
    threads.emplace_back([&, k] {
      AcceleratorMessage message{};
      for (size_t first = k * rows / 4; first < (k + 1) * rows / 4; first += 4096)
        EXPECT_EQ(
            api.add_rows(pairs, &tids[first], &items[first], std::min<size_t>(4096, (k + 1) * rows / 4 - first), &message),
            AcceleratorStatus::kOk)
            << message.text;
    });
  for (std::thread& thread : threads) thread.join();
  std::vector<uint32_t> supports(kItems);
  ASSERT_OK(api.build(pairs, supports.data(), &why));
  found.insert(found.end(), supports.begin(), supports.end());
  for (const auto& [first, last] : {std::pair{0u, 384u}, {384u, kItems}, {0u, 0u}, {0u, 128u}}) {
    Vector<DevicePair> answers;
    const DevicePairSink sink{Vector<DevicePair>::room, &answers};
    ASSERT_OK(api.count_rows(pairs, first, last, 1, &sink, &why));
    for (const DevicePair& pair : answers.all) found.insert(found.end(), {pair.a, pair.b, pair.count});
  }
  // More pairs than a channel holds, in any order.
  std::vector<uint32_t> a(rows);
  std::vector<uint32_t> b(rows);
  for (size_t i = 0; i < rows; ++i) {
    a[i] = static_cast<uint32_t>(random.below(kItems));
    b[i] = static_cast<uint32_t>(random.below(kItems));
  }
  std::vector<uint32_t> counts(rows);
  ASSERT_OK(api.count_list(pairs, a.data(), b.data(), rows, counts.data(), &why));
  found.insert(found.end(), counts.begin(), counts.end());
  const DevicePairSink nowhere{[](void*, size_t) -> DevicePair* { return nullptr; }, nullptr};
  EXPECT_EQ(api.count_rows(pairs, 0, 128, 1, &nowhere, &why), AcceleratorStatus::kOutOfMemory);
  api.close_pairs(pairs);
}

void find_set_pairs(const AcceleratorApi& api, std::vector<uint64_t>& found) {
  Random random(43);
  std::vector<Bytes> values;
  for (const uint64_t size : {300, 300, 511, 512, 513, 1100, 9000, 120'000, 120'001, 130'000})
    values.push_back(encode(random_elements(random, size, 24), 24));
  std::vector<uint64_t> cardinality;
  std::vector<PlanePiece> planes;
  std::vector<uint64_t> begin{0};
  std::vector<uint32_t> stash_begin{0};
  std::vector<uint64_t> stash;
  for (const Bytes& value : values) {
    const SetView view = SetView::open(value);
    cardinality.push_back(view.cardinality());
    planes.push_back({reinterpret_cast<const unsigned char*>(view.planes()), batmap_shape(view.cardinality(), 24).bytes()});
    begin.push_back(begin.back() + planes.back().bytes);
    for (uint64_t i = 0; i < view.stash(); ++i) stash.push_back(view.stash_element(i));
    stash_begin.push_back(static_cast<uint32_t>(stash.size()));
  }
  const auto sets = static_cast<uint32_t>(values.size());
  ASSERT_GT(begin.back(), 2 * process::kAreaBytes);
  const DeviceSets given{sets, 24, cardinality.data(), stash_begin.data(), stash.data()};
  AcceleratorMessage why{};
  DevicePairs* pairs = nullptr;
  const DevicePairJob job = pair_job(sets, DeviceMethod::kBatmap);
  ASSERT_OK(api.open_pairs(&job, &pairs, &why));
  ASSERT_OK(api.add_sets(pairs, &given, &why));
  // Two threads send halves, the first one in pieces of its own.
  std::thread other([&] {
    AcceleratorMessage message{};
    EXPECT_EQ(api.add_planes(pairs, begin[5], &planes[5], sets - 5, &message), AcceleratorStatus::kOk) << message.text;
  });
  for (uint64_t at = 0; at < planes[0].bytes; at += 1000) {
    const PlanePiece piece{planes[0].data + at, std::min<uint64_t>(1000, planes[0].bytes - at)};
    EXPECT_EQ(api.add_planes(pairs, at, &piece, 1, &why), AcceleratorStatus::kOk) << why.text;
  }
  EXPECT_EQ(api.add_planes(pairs, begin[1], &planes[1], 4, &why), AcceleratorStatus::kOk) << why.text;
  other.join();
  std::vector<uint32_t> supports(sets);
  ASSERT_OK(api.build(pairs, supports.data(), &why));
  found.insert(found.end(), supports.begin(), supports.end());
  Vector<DevicePair> answers;
  const DevicePairSink sink{Vector<DevicePair>::room, &answers};
  ASSERT_OK(api.count_rows(pairs, 0, sets, 1, &sink, &why));
  for (const DevicePair& pair : answers.all) found.insert(found.end(), {pair.a, pair.b, pair.count});
  api.close_pairs(pairs);
}

void count_episodes(const AcceleratorApi& api, std::vector<uint64_t>& found) {
  constexpr uint32_t kSymbols = 5;
  constexpr uint32_t kEvents = 3000;
  std::vector<uint32_t> begin(kSymbols + 1);
  std::vector<int64_t> lists(kEvents);
  std::vector<int64_t> times(kEvents);
  std::vector<uint32_t> symbols(kEvents);
  for (uint32_t symbol = 0; symbol <= kSymbols; ++symbol) begin[symbol] = symbol * (kEvents / kSymbols);
  for (uint32_t i = 0; i < kEvents; ++i) {
    times[i] = i;
    symbols[i] = i * 7 % kSymbols;
    lists[i] = i % (kEvents / kSymbols) * kSymbols + i / (kEvents / kSymbols);
  }
  const DeviceEventAxis axis{kEvents, kSymbols, begin.data(), kEvents - 1, 1000};
  DeviceEpisodeJob job{};
  job.axes = &axis;
  job.axis_count = 1;
  job.has_order = 1;
  AcceleratorMessage why{};
  DeviceEpisodes* episodes = nullptr;
  ASSERT_OK(api.episodes->open(&job, &episodes, &why));
  ASSERT_OK(api.episodes->send(episodes, 0, DeviceEventArray::kListTimes, 1000, &lists[1000], kEvents - 1000, &why));
  ASSERT_OK(api.episodes->send(episodes, 0, DeviceEventArray::kListTimes, 0, lists.data(), 1000, &why));
  ASSERT_OK(api.episodes->send(episodes, 0, DeviceEventArray::kTimes, 0, times.data(), kEvents, &why));
  ASSERT_OK(api.episodes->send(episodes, 0, DeviceEventArray::kSymbols, 0, symbols.data(), kEvents, &why));
  const std::vector<uint32_t> batch_symbols{0, 1, 2, 3, 4, 0};
  const std::vector<DeviceGap> gaps{{0, 5}, {0, 9}, {1, 20}};
  const DeviceEpisodeBatch batch{batch_symbols.data(), gaps.data(), 2, 3, DeviceEpisodeMethod::kAtomic};
  std::vector<uint64_t> counts{10, 20, 30};
  ASSERT_OK(api.episodes->count(episodes, &batch, counts.data(), &why));
  found.insert(found.end(), counts.begin(), counts.end());
  api.episodes->close(episodes);
}

void find_itemsets(const AcceleratorApi& api, std::vector<uint64_t>& found) {
  Random random(44);
  constexpr uint32_t kFew = 9;
  std::vector<uint64_t> rows(kFew * 8);
  for (uint64_t& word : rows) word = random.bits() | random.bits();
  const DevicePlane plane{0, 8, 1};
  DeviceItemsetJob job{};
  job.items = kFew;
  job.words = 8;
  job.rows = rows.data();
  job.planes = &plane;
  job.plane_count = 1;
  job.has_bitmaps = 1;
  AcceleratorMessage why{};
  DeviceItemsets* itemsets = nullptr;
  const DeviceItemsetApi& search = *api.itemsets;
  ASSERT_OK(search.open(&job, &itemsets, &why));
  for (const uint32_t last : {kFew, 5u}) {
    Vector<JoinedItemset> answers;
    const DeviceItemsetSink sink{Vector<JoinedItemset>::room, &answers};
    const DeviceExtension step{0, last, 300, 1, kFew, 0, 1};
    uint64_t candidates = 0;
    ASSERT_OK(search.extend(itemsets, &step, &sink, &candidates, &why));
    found.push_back(candidates);
    for (const JoinedItemset& joined : answers.all) found.insert(found.end(), {joined.parent, joined.other, joined.support});
  }
  search.pop(itemsets);
  std::vector<JoinedItemset> joined{{0, 1, 0}, {0, 2, 0}, {1, 2, 0}};
  ASSERT_OK(search.count(itemsets, joined.data(), joined.size(), &why));
  for (const JoinedItemset& one : joined) found.push_back(one.support);
  ASSERT_OK(search.push(itemsets, joined.data(), joined.size(), &why));
  search.drop_lower(itemsets);
  found.push_back(search.room(itemsets));
  DeviceItemsetTimes times{1, 1, 1};
  search.times(itemsets, &times);
  EXPECT_EQ(times.counting, 0);
  search.close(itemsets);
}

std::vector<uint64_t> everything(const AcceleratorApi& api, size_t rows = kRows) {
  std::vector<uint64_t> found;
  DeviceTraits traits[kMaxDevices];
  uint32_t count = 0;
  AcceleratorMessage why{};
  EXPECT_EQ(api.devices(traits, &count, &why), AcceleratorStatus::kOk);
  EXPECT_EQ(api.prepare(0, traits, &why), AcceleratorStatus::kOk);
  found.insert(found.end(), {count, static_cast<uint64_t>(traits[0].ready), traits[0].memory_bytes});
  find_pairs(api, rows, found);
  find_set_pairs(api, found);
  count_episodes(api, found);
  find_itemsets(api, found);
  return found;
}

TEST_F(GpuClient, AnswersAsTheModule) {
  const std::vector<uint64_t> expected = everything(*FakeItemsets::accelerator());
  ASSERT_GT(expected.size(), 200'000u);
  GpuProcess gpu;
  gpu.connect();
  EXPECT_FALSE(process::last_greeting().is_warm);
  EXPECT_EQ(process::last_greeting().pid, gpu.pid());
  EXPECT_EQ(everything(*process::client_api()), expected);
  EXPECT_EQ(everything(*process::client_api()), expected) << "once more, with channels that are open";
  process::ProcessUse use{};
  ASSERT_TRUE(process::ask_use(use));
  EXPECT_EQ(use.pid, gpu.pid());
  EXPECT_EQ(use.sessions, 1u);
  process::disconnect();
  gpu.connect();
  EXPECT_TRUE(process::last_greeting().is_warm);
  EXPECT_EQ(gpu.end(), process::kExitEnded);
}

/// A process of its own that runs `body` as one session. @return whether it was right
pid_t start_session(const std::function<bool()>& body) {
  const pid_t pid = fork();
  if (pid == 0) _exit(body() ? 0 : 1);
  return pid;
}
int status_of(pid_t pid) {
  int status = 0;
  waitpid(pid, &status, 0);
  return status;
}

TEST_F(GpuClient, SessionsAtOnce) {
  const std::vector<uint64_t> expected = everything(*FakeItemsets::accelerator(), 20'000);
  GpuProcess gpu([](process::HostOptions& options) {
    options.at_once = 2;
    options.quantum_ms = 1;
    options.idle_ms = 1;
  });
  std::vector<pid_t> sessions;
  for (int k = 0; k < 6; ++k)
    sessions.push_back(start_session([&] {
      std::string why;
      return process::connect(gpu.client(), why) == Connected::kYes &&
             everything(*process::client_api(), 20'000) == expected;
    }));
  for (const pid_t session : sessions) EXPECT_EQ(status_of(session), 0);
}

TEST_F(GpuClient, JobsAtOnce) {
  std::vector<uint64_t> expected;
  find_pairs(*FakeItemsets::accelerator(), kRows, expected);
  GpuProcess gpu;
  gpu.connect();
  // Their threads need more channels than a session has: one sends the rows of the other.
  std::vector<std::thread> jobs;
  for (int job = 0; job < 4; ++job)
    jobs.emplace_back([&] {
      std::vector<uint64_t> found;
      find_pairs(*process::client_api(), kRows, found);
      EXPECT_TRUE(found == expected);
    });
  for (std::thread& job : jobs) job.join();
}

/// A job of a few rows.
DevicePairJob small_rows() {
  DevicePairJob job = pair_job();
  job.rows = 4;
  return job;
}

/// A job that is ready to count.
DevicePairs* small_job(const DevicePairJob& about) {
  const AcceleratorApi& api = *process::client_api();
  AcceleratorMessage why{};
  DevicePairs* pairs = nullptr;
  EXPECT_EQ(api.open_pairs(&about, &pairs, &why), AcceleratorStatus::kOk) << why.text;
  if (pairs == nullptr) return nullptr;
  const uint32_t tids[] = {0, 0, 1, 1};
  const uint32_t items[] = {0, 1, 0, 1};
  std::vector<uint32_t> supports(about.items);
  EXPECT_EQ(api.add_rows(pairs, tids, items, 4, &why), AcceleratorStatus::kOk) << why.text;
  EXPECT_EQ(api.build(pairs, supports.data(), &why), AcceleratorStatus::kOk) << why.text;
  EXPECT_EQ(supports[0], 2u);
  return pairs;
}

struct Ended {
  AcceleratorStatus status;
  std::string why;
  size_t pairs;
};
Ended count(DevicePairs* pairs) {
  AcceleratorMessage why{};
  Vector<DevicePair> answers;
  const DevicePairSink sink{Vector<DevicePair>::room, &answers};
  const AcceleratorStatus status = process::client_api()->count_rows(pairs, 0, 128, 1, &sink, &why);
  return {status, why.text, answers.all.size()};
}

/// Asks to stop from some time on.
struct StopAt {
  Clock::time_point when;
  static bool is_over(void* arg) { return Clock::now() >= static_cast<StopAt*>(arg)->when; }
};
DevicePairJob stopping_job(StopAt& stop) {
  stop.when = Clock::now() + std::chrono::milliseconds(50);
  DevicePairJob job = pair_job();
  job.stop = StopAt::is_over;
  job.stop_arg = &stop;
  return job;
}

TEST_F(GpuClient, Cancelled) {
  Fake::state().stalls = true;
  GpuProcess gpu;
  gpu.connect();
  StopAt stop;
  DevicePairs* const pairs = small_job(stopping_job(stop));
  const auto start = Clock::now();
  EXPECT_EQ(count(pairs).status, AcceleratorStatus::kCancelled);
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(2)) << "the process stopped it";
  process::client_api()->close_pairs(pairs);
  process::ProcessUse use{};
  EXPECT_TRUE(process::ask_use(use)) << "cancelling is no error of the process";
}

TEST_F(GpuClient, AnErrorIsOneOfTheSession) {
  Fake::state().answer[Fake::kOpen] = AcceleratorStatus::kOutOfMemory;
  Fake::state().after[Fake::kOpen] = 1;
  GpuProcess gpu;
  gpu.connect();
  DevicePairs* const pairs = small_job(pair_job());
  DevicePairs* other = nullptr;
  AcceleratorMessage why{};
  const DevicePairJob about = pair_job();
  EXPECT_EQ(process::client_api()->open_pairs(&about, &other, &why), AcceleratorStatus::kOutOfMemory);
  EXPECT_STREQ(why.text, "fake answer 2");
  EXPECT_EQ(count(pairs).pairs, 1u) << "the other job goes on";
  // Rows outside of the job are found when they are sent, and are an error of the job alone.
  process::client_api()->close_pairs(pairs);
  EXPECT_TRUE(process::is_connected());
}

TEST_F(GpuClient, RowsThatFailLater) {
  GpuProcess gpu;
  gpu.connect();
  const AcceleratorApi& api = *process::client_api();
  AcceleratorMessage why{};
  DevicePairs* pairs = nullptr;
  const DevicePairJob about = pair_job();
  ASSERT_OK(api.open_pairs(&about, &pairs, &why));
  const uint32_t tid = kTids;
  const uint32_t item = 0;
  EXPECT_EQ(api.add_rows(pairs, &tid, &item, 1, &why), AcceleratorStatus::kOk) << "it waits for more";
  std::vector<uint32_t> supports(kItems);
  EXPECT_EQ(api.build(pairs, supports.data(), &why), AcceleratorStatus::kDeclined);
  EXPECT_STREQ(why.text, "the GPU process refused a damaged request: a row is outside of the job");
  api.close_pairs(pairs);
  DevicePairs* const next = small_job(pair_job());
  EXPECT_EQ(count(next).pairs, 1u);
  api.close_pairs(next);
}

TEST_F(GpuClient, RowsOnTheirWayDoNotKeepASession) {
  GpuProcess gpu;
  gpu.connect();
  const AcceleratorApi& api = *process::client_api();
  AcceleratorMessage why{};
  DevicePairs* pairs = nullptr;
  const DevicePairJob about = pair_job();
  ASSERT_OK(api.open_pairs(&about, &pairs, &why));
  const std::vector<uint32_t> rows(process::kAreaRows, 0);  // as many as are sent at once
  ASSERT_OK(api.add_rows(pairs, rows.data(), rows.data(), rows.size(), &why));
  api.close_pairs(pairs);
  process::disconnect();
  gpu.connect();
  process::ProcessUse use{};
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(process::ask_use(use));
    if (use.sessions == 1) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_EQ(use.sessions, 1u) << "the old one has ended";
  DevicePairs* const next = small_job(pair_job());
  EXPECT_EQ(count(next).pairs, 1u);
  api.close_pairs(next);
}

TEST_F(GpuClient, NobodyWaitsForTheEndOfAJob) {
  GpuProcess gpu([](process::HostOptions& options) {
    options.load = [](std::string&) -> const AcceleratorApi* {
      static AcceleratorApi api = *FakeItemsets::accelerator();
      api.close_pairs = [](DevicePairs* pairs) {
        usleep(300'000);
        FakeItemsets::accelerator()->close_pairs(pairs);
      };
      return &api;
    };
  });
  gpu.connect();
  DevicePairs* const pairs = small_job(pair_job());
  EXPECT_EQ(count(pairs).pairs, 1u);
  const auto start = Clock::now();
  process::client_api()->close_pairs(pairs);
  EXPECT_LT(Clock::now() - start, std::chrono::milliseconds(250));
  DevicePairs* const next = small_job(pair_job());
  EXPECT_GT(Clock::now() - start, std::chrono::milliseconds(250)) << "on the channel that ends the first job";
  EXPECT_EQ(count(next).pairs, 1u);
  process::client_api()->close_pairs(next);
}

TEST_F(GpuClient, ADeviceFails) {
  Fake::state().answer[Fake::kCountRows] = AcceleratorStatus::kFailed;
  GpuProcess gpu;
  gpu.connect();
  DevicePairs* const pairs = small_job(pair_job());
  const Ended ended = count(pairs);
  EXPECT_EQ(ended.status, AcceleratorStatus::kFailed);
  EXPECT_EQ(ended.why, "fake answer " + std::to_string(Fake::kCountRows));
  EXPECT_EQ(gpu.wait(), process::kExitDeviceFailed);
  EXPECT_EQ(count(pairs).why, "the GPU process has ended");
  process::client_api()->close_pairs(pairs);
  EXPECT_FALSE(process::is_connected());
}

TEST_F(GpuClient, Killed) {
  Fake::state().stalls = true;
  GpuProcess gpu;
  gpu.connect();
  DevicePairs* const pairs = small_job(pair_job());
  std::thread killer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    kill(gpu.pid(), SIGKILL);
  });
  const Ended ended = count(pairs);
  killer.join();
  EXPECT_EQ(ended.status, AcceleratorStatus::kFailed);
  EXPECT_EQ(ended.why, "the GPU process has ended");
  EXPECT_EQ(gpu.wait(), -SIGKILL);
  std::string why;
  EXPECT_EQ(process::connect(gpu.client(), why), Connected::kNobody);
  Fake::state().stalls = false;
  GpuProcess next;
  next.connect();
  EXPECT_EQ(count(pairs).status, AcceleratorStatus::kFailed) << "a job stays with its process";
  process::client_api()->close_pairs(pairs);
  DevicePairs* const again = small_job(pair_job());
  EXPECT_EQ(count(again).pairs, 1u);
  process::client_api()->close_pairs(again);
}

/// The fake, with a call that never looks at `stop`.
const AcceleratorApi* hanging_api(std::string&) {
  static const AcceleratorApi api = [] {
    AcceleratorApi table = *FakeItemsets::accelerator();
    table.count_rows = [](DevicePairs*, uint32_t, uint32_t, uint32_t, const DevicePairSink*, AcceleratorMessage*) {
      for (;;) pause();
      return AcceleratorStatus::kOk;
    };
    return table;
  }();
  return &api;
}

TEST_F(GpuClient, Hung) {
  GpuProcess gpu([](process::HostOptions& options) {
    options.load = hanging_api;
    options.hung_ms = 200;
  });
  gpu.connect();
  DevicePairs* const pairs = small_job(pair_job());
  EXPECT_EQ(count(pairs).status, AcceleratorStatus::kFailed);
  EXPECT_EQ(gpu.wait(), process::kExitHung) << "the watch ends it";
  process::client_api()->close_pairs(pairs);
}

TEST_F(GpuClient, WhoCancelsDoesNotWaitForWhatHangs) {
  GpuProcess gpu([](process::HostOptions& options) { options.load = hanging_api; });
  std::string why;
  process::ClientOptions options = gpu.client();
  options.patience_ms = 50;
  ASSERT_EQ(process::connect(options, why), Connected::kYes);
  StopAt stop;
  DevicePairs* const pairs = small_job(stopping_job(stop));
  EXPECT_EQ(count(pairs).status, AcceleratorStatus::kCancelled);
  process::client_api()->close_pairs(pairs);  // does not wait for ever, either
  EXPECT_TRUE(process::is_connected());
}

TEST_F(GpuClient, Silent) {
  GpuProcess gpu;
  std::string why;
  process::ClientOptions options = gpu.client();
  options.silence_ms = 500;
  ASSERT_EQ(process::connect(options, why), Connected::kYes);
  DevicePairs* const pairs = small_job(pair_job());
  kill(gpu.pid(), SIGSTOP);
  int status = 0;
  waitpid(gpu.pid(), &status, WUNTRACED);  // until it has stopped
  EXPECT_EQ(count(pairs).why, "the GPU process does not answer");
  process::client_api()->close_pairs(pairs);
  kill(gpu.pid(), SIGKILL);
}

TEST_F(GpuClient, Refused) {
  std::string why;
  process::ClientOptions nobody;
  nobody.socket = "/tmp/batmap_no_such_socket";
  EXPECT_EQ(process::connect(nobody, why), Connected::kNobody);
  AcceleratorMessage message{};
  uint32_t devices = 0;
  DeviceTraits traits[kMaxDevices];
  EXPECT_EQ(process::client_api()->devices(traits, &devices, &message), AcceleratorStatus::kFailed);

  GpuProcess gpu;
  process::ClientOptions other_module = gpu.client();
  other_module.module_mark = process::mark_of("another");
  EXPECT_EQ(process::connect(other_module, why), Connected::kRefused);
  other_module.module_mark = process::mark_of("fake");
  EXPECT_EQ(process::connect(other_module, why), Connected::kYes) << why;

  GpuProcess without([](process::HostOptions& options) {
    options.load = [](std::string& reason) -> const AcceleratorApi* {
      reason = "no module is here";
      return nullptr;
    };
  });
  EXPECT_EQ(process::connect(without.client(), why), Connected::kNoModule);
  EXPECT_EQ(why, "no module is here");
}

TEST_F(GpuClient, OfAnotherVersion) {
  // A session of another version at this process...
  GpuProcess gpu;
  const process::File socket = process::connect_to(gpu.socket());
  process::Request hello;
  ++hello.protocol;
  ASSERT_TRUE(process::send_packet(socket.number(), &hello, sizeof hello - 8));
  process::Reply reply;
  process::File none;
  ASSERT_EQ(process::receive_packet(socket.number(), &reply, sizeof reply, none), sizeof reply);
  EXPECT_EQ(reply.status, AcceleratorStatus::kDeclined);
  EXPECT_EQ(process::receive_packet(socket.number(), &reply, sizeof reply, none), 0u) << "and no more";
  // ... and this session at a process of another version.
  const std::string path = gpu.socket() + "2";
  const process::File listener = process::listen_at(path);
  std::thread other([&] {
    const process::File session(accept(listener.number(), nullptr, nullptr));
    process::Request request;
    process::File memory;
    process::receive_packet(session.number(), &request, sizeof request, memory);
    process::Reply answer;
    ++answer.protocol;
    process::send_packet(session.number(), &answer, sizeof answer);
  });
  process::ClientOptions options = gpu.client();
  options.socket = path;
  std::string why;
  EXPECT_EQ(process::connect(options, why), Connected::kRefused);
  EXPECT_EQ(why, "the GPU process is of another version of batmap");
  other.join();
  unlink(path.c_str());
}

TEST_F(GpuClient, TheJobsOfASessionGoWithIt) {
  Fake::state().stalls = true;
  GpuProcess gpu;
  const pid_t session = start_session([&] {
    gpu.connect();
    DevicePairs* const pairs = small_job(pair_job());
    return count(pairs).status == AcceleratorStatus::kOk;
  });
  gpu.connect();
  process::ProcessUse use{};
  const auto wait_for_sessions = [&](uint32_t sessions) {
    for (int tries = 0; tries < 1000 && process::ask_use(use) && use.sessions != sessions; ++tries) usleep(5000);
    return use.sessions;
  };
  ASSERT_EQ(wait_for_sessions(2), 2u);
  usleep(20'000);
  kill(session, SIGKILL);
  EXPECT_NE(status_of(session), 0);
  EXPECT_EQ(wait_for_sessions(1), 1u) << "its stalled job was told to stop";
}

TEST_F(GpuClient, ChannelsThatSendMuchArePinned) {
  GpuProcess gpu([](process::HostOptions& options) {
    options.load = [](std::string&) -> const AcceleratorApi* {
      static AcceleratorApi api = *FakeItemsets::accelerator();
      api.memory_used = [](int32_t) -> uint64_t { return Fake::state().pinned_bytes; };
      return &api;
    };
  });
  gpu.connect();
  process::ProcessUse use{};
  const auto pinned = [&] { return process::ask_use(use) ? use.memory_bytes[0] / process::kChannelBytes : 1000; };
  std::vector<uint64_t> found;
  find_pairs(*process::client_api(), 4096, found);
  EXPECT_EQ(pinned(), 0u) << "not for a little";
  for (int run = 0; run < 3; ++run) find_pairs(*process::client_api(), kRows, found);
  const uint64_t of_large_jobs = pinned();
  EXPECT_GT(of_large_jobs, 1u);
  EXPECT_LE(of_large_jobs, 16u);
  // A session that has only small jobs from then on gives the channels back, but the one that it uses.
  for (int run = 0; run < 2; ++run) {
    const DevicePairJob few = small_rows();
    process::client_api()->close_pairs(small_job(few));
  }
  for (int tries = 0; tries < 1000 && pinned() > 1; ++tries) usleep(5000);
  EXPECT_LE(pinned(), 1u);
  process::disconnect();
  gpu.connect();
  for (int tries = 0; tries < 1000 && pinned() > 0; ++tries) usleep(5000);
  EXPECT_EQ(pinned(), 0u) << "with the session its memory goes";
}

std::atomic<uint64_t> limit_now{0};

TEST_F(GpuClient, TheWorkerSetsTheLimit) {
  GpuProcess gpu([](process::HostOptions& options) {
    options.load = [](std::string&) -> const AcceleratorApi* {
      static AcceleratorApi api = *FakeItemsets::accelerator();
      api.limit_memory = [](uint64_t bytes) { limit_now = bytes; };
      api.memory_used = [](int32_t device) { return limit_now + static_cast<uint64_t>(device); };
      return &api;
    };
  });
  const uint64_t limit = 12345;
  ASSERT_TRUE(process::send_packet(gpu.control(), &limit, sizeof limit));
  gpu.connect();
  DeviceTraits traits[kMaxDevices];
  uint32_t count = 0;
  AcceleratorMessage why{};
  ASSERT_OK(process::client_api()->devices(traits, &count, &why));
  process::ProcessUse use{};
  for (int tries = 0; tries < 1000 && process::ask_use(use) && use.memory_bytes[0] != limit; ++tries) usleep(5000);
  EXPECT_EQ(use.memory_bytes[0], limit);
  char beat = 0;
  EXPECT_EQ(recv(gpu.control(), &beat, 1, 0), 1) << "and hears that the process lives";
  EXPECT_EQ(gpu.end(), process::kExitEnded);
}

}  // namespace
}  // namespace batmap::test
