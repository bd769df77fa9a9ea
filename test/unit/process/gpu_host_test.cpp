// Requests that no session sends. Valid ones are damaged word by word, and random ones are sent: the process answers each,
// reads nothing outside of what it was given (asan), lives on, and answers the next session rightly.
#include "process/host/gpu_host.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "process/gpu_wire.h"
#include "test/unit/shared/gpu_process.h"
#include "test/unit/shared/shapes.h"

namespace batmap::test {
namespace {

using process::Op;

constexpr uint32_t kItems = 200;
constexpr uint32_t kTids = 64;
constexpr uint32_t kSets = 2;
constexpr int kSetWidth = 24;
constexpr uint32_t kSetSize = 300;

/// One channel, without the client.
class RawChannel {
 public:
  /// @param session  the channel is to be one more of its session
  explicit RawChannel(const GpuProcess& gpu, const RawChannel* session = nullptr)
      : socket_(process::connect_to(gpu.socket())) {
    memory_ = process::SharedMemory::create(process::kChannelBytes);
    process::Request hello;
    if (session != nullptr) std::copy_n(session->key_.begin(), 2, hello.args);
    process::File none;
    if (!process::send_packet(socket_.number(), &hello, sizeof hello, memory_.file()) ||
        process::receive_packet(socket_.number(), &reply_, sizeof reply_, none) != sizeof reply_ ||
        reply_.status != AcceleratorStatus::kOk)
      ADD_FAILURE() << "no channel: " << reply_.why.text;
    std::copy_n(reply_.values, 2, key_.begin());
  }
  uint32_t* words() { return reinterpret_cast<uint32_t*>(memory_.data() + process::kHeaderBytes); }
  process::Reply& reply() { return reply_; }

  /// @return false: the process is gone, or has closed the channel
  bool ask(const process::Request& request, int file = -1) {
    process::File none;
    return process::send_packet(socket_.number(), &request, sizeof request, file) &&
           process::receive_packet(socket_.number(), &reply_, sizeof reply_, none) == sizeof reply_;
  }

 private:
  process::File socket_;
  process::SharedMemory memory_;
  process::Reply reply_;
  std::array<uint64_t, 2> key_;
};

/// A valid request, with its arrays in the area. Jobs are the first of the session of their kind.
process::Request valid(Op op, uint64_t job, RawChannel& channel) {
  process::Request request;
  request.op = op;
  request.job = job;
  uint32_t* const words = channel.words();
  std::memset(words, 0, 4096);
  const auto put = [&](const auto& value) {
    std::memcpy(reinterpret_cast<std::byte*>(words) + request.bytes, &value, sizeof value);
    request.bytes += sizeof value;
  };
  const auto args = [&](std::initializer_list<uint64_t> values) { std::copy(values.begin(), values.end(), request.args); };
  switch (op) {
    case Op::kOpenPairs: {
      DevicePairJob about{};
      about.items = about.leading = kItems;
      about.tid_slots = kTids;
      about.rows = 1000;
      about.device_count = 1;
      put(about);
      break;
    }
    case Op::kAddRows:
      args({50});
      for (uint32_t i = 0; i < 50; ++i) words[i] = i, words[process::kAreaRows + i] = i % 7;
      break;
    case Op::kCountRows: args({0, 128, 1}); break;
    case Op::kAddSets:
      args({kSets, kSetWidth, 0});
      put(uint64_t{kSetSize});
      put(uint64_t{kSetSize});
      put(std::array<uint32_t, 4>{});  // without stashes; the last one fills up
      break;
    case Op::kAddPlanes: request.bytes = batmap_shape(kSetSize, kSetWidth).bytes(); break;
    case Op::kOpenEpisodes:
      args({1, 1, 0, 0});
      for (const int64_t word : {int64_t{4}, int64_t{2}, int64_t{100}, int64_t{50}}) put(word);
      for (const uint32_t begin : {0u, 2u, 4u, 0u}) put(begin);
      break;
    case Op::kSendEvents:
      args({0, 0, 0, 4});
      for (const int64_t time : {1, 5, 2, 90}) put(time);
      break;
    case Op::kCountEpisodes:
      args({2, 1, 0});
      for (const uint32_t symbol : {0u, 1u}) put(symbol);
      put(DeviceGap{0, 10});
      break;
    case Op::kOpenItemsets:
      args({4, 8, 1, 1, 0, 0});
      put(DevicePlane{0, 8, 0});
      for (uint64_t word = 0; word < 32; ++word) put(~(word << 9));
      break;
    case Op::kExtend: put(DeviceExtension{0, 2, 1, 0, 4, 0, 1}); break;
    case Op::kCountJoined:
    case Op::kPush:
      args({2});
      put(JoinedItemset{0, 1, 0});
      put(JoinedItemset{0, 2, 0});
      break;
    default: break;
  }
  return request;
}

/// A job of sets instead of rows.
process::Request valid_open_sets(RawChannel& channel) {
  const process::Request request = valid(Op::kOpenPairs, 0, channel);
  DevicePairJob about{};
  about.items = about.leading = kSets;
  about.method = DeviceMethod::kBatmap;
  about.device_count = 1;
  std::memcpy(channel.words(), &about, sizeof about);
  return request;
}

constexpr Op kPairOps[] = {Op::kAddRows,   Op::kAddSets,   Op::kAddPlanes, Op::kBuild,
                           Op::kCountRows, Op::kCountList, Op::kPairTimes};
constexpr Op kEpisodeOps[] = {Op::kSendEvents, Op::kCountEpisodes, Op::kKernelMs};
constexpr Op kItemsetOps[] = {Op::kExtend,    Op::kCountJoined, Op::kPush,        Op::kPop,
                              Op::kDropLower, Op::kRoom,        Op::kItemsetTimes};

class GpuHost : public ::testing::Test {
 protected:
  void SetUp() override {
    FakeAccelerator::state().reset();
    FakeItemsets::state().reset();
  }
};

TEST_F(GpuHost, ValidRequestsAreTaken) {
  GpuProcess gpu;
  RawChannel channel(gpu);
  const auto expect_taken = [&](Op op, uint64_t job) {
    ASSERT_TRUE(channel.ask(valid(op, job, channel)));
    EXPECT_EQ(channel.reply().status, AcceleratorStatus::kOk) << static_cast<int>(op) << " " << channel.reply().why.text;
  };
  expect_taken(Op::kOpenPairs, 0);
  for (const Op op : {Op::kAddRows, Op::kBuild, Op::kCountRows, Op::kPairTimes}) expect_taken(op, 1);
  EXPECT_EQ(channel.reply().bytes, 0u);
  expect_taken(Op::kOpenEpisodes, 0);
  process::Request events = valid(Op::kSendEvents, 2, channel);
  for (const uint64_t array : {0, 1}) {
    events.args[1] = array;
    ASSERT_TRUE(channel.ask(events));
    EXPECT_EQ(channel.reply().status, AcceleratorStatus::kOk) << channel.reply().why.text;
  }
  ASSERT_TRUE(channel.ask(valid(Op::kCountEpisodes, 2, channel)));
  EXPECT_STREQ(channel.reply().why.text, "the GPU process refused a damaged request: the order was not sent");
  expect_taken(Op::kOpenItemsets, 0);
  for (const Op op : {Op::kCountJoined, Op::kPush, Op::kPop, Op::kExtend, Op::kCountJoined, Op::kDropLower, Op::kRoom})
    expect_taken(op, 3);
  expect_taken(Op::kCloseItemsets, 3);
  ASSERT_TRUE(channel.ask(valid(Op::kExtend, 3, channel)));
  EXPECT_STREQ(channel.reply().why.text, "the GPU process refused a damaged request: no such job");
}

TEST_F(GpuHost, EachFormCountsWhatItCan) {
  GpuProcess gpu;
  RawChannel channel(gpu);
  const auto answer_of = [&](DeviceMethod method, bool counts_all, Op count) {
    process::Request request = valid(Op::kOpenPairs, 0, channel);
    DevicePairJob about{};
    std::memcpy(&about, channel.words(), sizeof about);
    about.method = method;
    about.counts_all = counts_all ? 1 : 0;
    std::memcpy(channel.words(), &about, sizeof about);
    EXPECT_TRUE(channel.ask(request));
    const uint64_t job = channel.reply().values[0];
    for (const Op op : {Op::kAddRows, Op::kBuild}) EXPECT_TRUE(channel.ask(valid(op, job, channel)));
    EXPECT_EQ(channel.reply().status, AcceleratorStatus::kOk) << channel.reply().why.text;
    EXPECT_TRUE(channel.ask(valid(count, job, channel)));
    return std::string(channel.reply().why.text);
  };
  const std::string refused = "the GPU process refused a damaged request: ";
  EXPECT_EQ(answer_of(DeviceMethod::kLists, false, Op::kCountList), "");
  EXPECT_EQ(answer_of(DeviceMethod::kLists, true, Op::kCountRows), refused + "a range of rows");
  EXPECT_EQ(answer_of(DeviceMethod::kHorizontal, false, Op::kCountRows), "");
  EXPECT_EQ(answer_of(DeviceMethod::kHorizontal, false, Op::kCountList), refused + "no list is counted");
  EXPECT_EQ(answer_of(DeviceMethod::kHorizontal, true, Op::kCountList), "");
}

TEST_F(GpuHost, SetsNeedAllTheirPlanes) {
  GpuProcess gpu;
  RawChannel channel(gpu);
  ASSERT_TRUE(channel.ask(valid_open_sets(channel)));
  const uint64_t bytes = batmap_shape(kSetSize, kSetWidth).bytes();
  const auto ask = [&](Op op, uint64_t offset) {
    process::Request request = valid(op, 1, channel);
    if (op == Op::kAddPlanes) request.args[0] = offset;
    EXPECT_TRUE(channel.ask(request));
    return std::string(channel.reply().why.text);
  };
  const std::string refused = "the GPU process refused a damaged request: ";
  EXPECT_EQ(ask(Op::kAddPlanes, 0), refused + "planes") << "of sets that were not announced";
  EXPECT_EQ(ask(Op::kAddSets, 0), "");
  EXPECT_EQ(ask(Op::kAddSets, 0), refused + "sets") << "twice";
  EXPECT_EQ(ask(Op::kAddPlanes, bytes + 1), refused + "planes outside of the sets");
  EXPECT_EQ(ask(Op::kAddPlanes, UINT64_MAX), refused + "planes outside of the sets");
  EXPECT_EQ(ask(Op::kAddPlanes, 1), "");
  EXPECT_EQ(ask(Op::kAddPlanes, bytes), "");
  EXPECT_EQ(ask(Op::kBuild, 0), refused + "nothing to build") << "the first byte is missing";
  EXPECT_EQ(ask(Op::kAddPlanes, 0), "");
  // Now the module is asked. That of the tests reads the sets on the CPU, and these planes have no elements.
  EXPECT_EQ(ask(Op::kBuild, 0), "the GPU process could not serve a request: invalid batmap: fewer elements than it says");
  EXPECT_EQ(ask(Op::kAddPlanes, 0), refused + "planes") << "of a job that is complete";
  EXPECT_EQ(gpu.end(), process::kExitEnded);
}

/// The sizes of some sets add up to little more than 2^64.
TEST_F(GpuHost, SizesOfSetsDoNotOverflow) {
  GpuProcess gpu;
  RawChannel channel(gpu);
  const uint64_t large = (uint64_t{1} << 48) - 1;
  const auto sets = static_cast<uint32_t>(UINT64_MAX / batmap_shape(large, kMaxWidth).bytes() + 1);
  process::Request open = valid_open_sets(channel);
  DevicePairJob about{};
  std::memcpy(&about, channel.words(), sizeof about);
  about.items = about.leading = sets;
  std::memcpy(channel.words(), &about, sizeof about);
  ASSERT_TRUE(channel.ask(open));
  for (const auto& [cardinality, why] : {std::pair(large, "a set is no batmap"),
                                         std::pair(uint64_t{UINT32_MAX}, "more planes than any device has room for")}) {
    process::Request request = valid(Op::kAddSets, 1, channel);
    request.args[0] = sets;
    request.args[1] = static_cast<uint64_t>(kMaxWidth);
    const std::vector<uint64_t> cardinalities(sets, cardinality);
    request.bytes = sets * sizeof(uint64_t) + (sets + 2) / 2 * sizeof(uint64_t);
    std::memset(channel.words(), 0, request.bytes);
    std::memcpy(channel.words(), cardinalities.data(), sets * sizeof(uint64_t));
    ASSERT_TRUE(channel.ask(request));
    EXPECT_EQ(channel.reply().why.text, std::string("the GPU process refused a damaged request: ") + why);
  }
  EXPECT_EQ(gpu.end(), process::kExitEnded);
}

TEST_F(GpuHost, NothingIsTakenInAfterABuildThatFailed) {
  FakeAccelerator::state().answer[FakeAccelerator::kBuild] = AcceleratorStatus::kOutOfMemory;
  GpuProcess gpu;
  RawChannel channel(gpu);
  ASSERT_TRUE(channel.ask(valid(Op::kOpenPairs, 0, channel)));
  ASSERT_TRUE(channel.ask(valid(Op::kBuild, 1, channel)));
  EXPECT_EQ(channel.reply().status, AcceleratorStatus::kOutOfMemory);
  for (const Op op : {Op::kAddRows, Op::kBuild, Op::kCountRows}) {
    ASSERT_TRUE(channel.ask(valid(op, 1, channel)));
    EXPECT_EQ(channel.reply().status, AcceleratorStatus::kDeclined) << channel.reply().why.text;
  }
  EXPECT_EQ(gpu.end(), process::kExitEnded);
}

TEST_F(GpuHost, RowsComeWithTheRequestToBuild) {
  GpuProcess gpu;
  RawChannel channel(gpu);
  ASSERT_TRUE(channel.ask(valid(Op::kOpenPairs, 0, channel)));
  process::Request build = valid(Op::kAddRows, 1, channel);
  build.op = Op::kBuild;
  channel.words()[process::kAreaRows] = kItems;
  ASSERT_TRUE(channel.ask(build));
  EXPECT_STREQ(channel.reply().why.text, "the GPU process refused a damaged request: a row is outside of the job");
  channel.words()[process::kAreaRows] = 0;
  ASSERT_TRUE(channel.ask(build));
  EXPECT_STREQ(channel.reply().why.text, "");
  for (const Op op : {Op::kAddRows, Op::kBuild}) {
    ASSERT_TRUE(channel.ask(valid(op, 1, channel)));
    EXPECT_EQ(channel.reply().status, AcceleratorStatus::kDeclined) << "of a job that is built";
  }
  EXPECT_EQ(gpu.end(), process::kExitEnded);
}

TEST_F(GpuHost, SetsThatWereNotTakenHaveNoPlanes) {
  FakeAccelerator::state().answer[FakeAccelerator::kAddSets] = AcceleratorStatus::kOutOfMemory;
  GpuProcess gpu;
  RawChannel channel(gpu);
  ASSERT_TRUE(channel.ask(valid_open_sets(channel)));
  ASSERT_TRUE(channel.ask(valid(Op::kAddSets, 1, channel)));
  EXPECT_EQ(channel.reply().status, AcceleratorStatus::kOutOfMemory);
  for (const Op op : {Op::kAddPlanes, Op::kBuild}) {
    ASSERT_TRUE(channel.ask(valid(op, 1, channel)));
    EXPECT_EQ(channel.reply().status, AcceleratorStatus::kDeclined) << channel.reply().why.text;
  }
  EXPECT_EQ(gpu.end(), process::kExitEnded);
}

TEST_F(GpuHost, LevelsOfItemsetsAreUsedAsTheyWereMade) {
  GpuProcess gpu;
  RawChannel channel(gpu);
  const auto answer = [&](const process::Request& request) {
    EXPECT_TRUE(channel.ask(request));
    return channel.reply().status == AcceleratorStatus::kOk ? std::string() : std::string(channel.reply().why.text);
  };
  const auto extend = [&](uint32_t first, uint32_t last) {
    const process::Request request = valid(Op::kExtend, 1, channel);
    const DeviceExtension step{first, last, 1, 0, 4, 0, 1};
    std::memcpy(channel.words(), &step, sizeof step);
    return answer(request);
  };
  const std::string damaged = "the GPU process refused a damaged request: ";
  // Items 0 and 1 have nothing in common, item 2 has something with both, item 3 has nothing.
  process::Request open = valid(Op::kOpenItemsets, 0, channel);
  auto* const rows = reinterpret_cast<uint64_t*>(reinterpret_cast<std::byte*>(channel.words()) + sizeof(DevicePlane));
  std::fill_n(rows, 32, 0);
  rows[0] = rows[8 + 1] = rows[16] = rows[16 + 1] = 15;
  ASSERT_EQ(answer(open), "");
  EXPECT_EQ(answer(valid(Op::kPush, 1, channel)), "");
  EXPECT_EQ(extend(0, 1), damaged + "a range of parents") << "what was pushed cannot be extended";
  EXPECT_EQ(answer(valid(Op::kPop, 1, channel)), "");
  ASSERT_EQ(extend(0, 3), "");
  ASSERT_EQ(channel.reply().bytes, 2 * sizeof(JoinedItemset)) << "they have different parents";
  process::Request join = valid(Op::kCountJoined, 1, channel);
  join.args[0] = 1;
  EXPECT_EQ(answer(join), damaged + "a level without rows");
  join.op = Op::kPush;
  EXPECT_EQ(answer(join), damaged + "a level without rows");
  EXPECT_EQ(extend(0, 2), "") << "nothing is found";
  EXPECT_EQ(gpu.end(), process::kExitEnded);
}

TEST_F(GpuHost, AJobIsClosedWhileAnotherChannelUsesIt) {
  FakeAccelerator::state().stalls = true;  // until the job is cancelled
  GpuProcess gpu([](process::HostOptions& options) { options.hung_ms = 500; });
  RawChannel one(gpu);
  RawChannel two(gpu, &one);
  for (const auto& [op, job] : {std::pair{Op::kOpenPairs, 0}, {Op::kAddRows, 1}, {Op::kBuild, 1}})
    ASSERT_TRUE(one.ask(valid(op, static_cast<uint64_t>(job), one)));
  std::thread counting([&] { EXPECT_TRUE(one.ask(valid(Op::kCountRows, 1, one))); });
  const auto runs = [&] { return static_cast<uint32_t>(two.reply().values[1 + kMaxDevices]) > 0; };
  while (two.ask(valid(Op::kStatus, 0, two)) && !runs()) {
  }
  EXPECT_TRUE(two.ask(valid(Op::kClosePairs, 1, two)));
  counting.join();
  EXPECT_EQ(one.reply().status, AcceleratorStatus::kCancelled);
  EXPECT_EQ(two.reply().status, AcceleratorStatus::kOk) << two.reply().why.text;
  EXPECT_EQ(gpu.end(), process::kExitEnded);
}

TEST_F(GpuHost, DamagedRequestsAreRefused) {
  constexpr uint64_t kSeed = 20261124;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  Random random(kSeed);
  GpuProcess gpu;
  const auto odd = [&](uint64_t value) -> uint64_t {
    switch (random.below(6)) {
      case 0: return value + 1;
      case 1: return value - 1;
      case 2: return UINT64_MAX - random.below(3);
      case 3: return uint64_t{1} << random.below(64);
      case 4: return random.below(300);
      default: return random.bits();
    }
  };
  int refused = 0;
  for (int round = 0; round < 150; ++round) {
    RawChannel channel(gpu);
    for (const Op op : {Op::kOpenPairs, Op::kOpenEpisodes, Op::kOpenItemsets})
      ASSERT_TRUE(channel.ask(valid(op, 0, channel))) << "the process has ended";
    ASSERT_TRUE(channel.ask(valid_open_sets(channel)));
    for (int step = 0; step < 20; ++step) {
      Op op;
      uint64_t job;
      switch (random.below(4)) {
        case 0: op = kPairOps[random.below(std::size(kPairOps))], job = random.below(2) == 0 ? 1 : 4; break;
        case 1: op = kEpisodeOps[random.below(std::size(kEpisodeOps))], job = 2; break;
        case 2: op = kItemsetOps[random.below(std::size(kItemsetOps))], job = 3; break;
        default: op = std::array{Op::kOpenPairs, Op::kOpenEpisodes, Op::kOpenItemsets}[random.below(3)], job = 0; break;
      }
      process::Request request = valid(op, job, channel);
      switch (random.below(6)) {
        case 0: break;  // as it is, perhaps at the wrong time
        case 1: request.args[random.below(4)] = odd(request.args[0]); break;
        case 2: request.bytes = odd(request.bytes); break;
        case 3: channel.words()[random.below(40)] = static_cast<uint32_t>(odd(0)); break;
        case 4: channel.words()[process::kAreaRows + random.below(50)] = static_cast<uint32_t>(odd(0)); break;
        default: request.op = static_cast<Op>(random.below(40)); break;
      }
      if (random.below(50) == 0) request.has_file = 1;  // there is none
      // A whole job of the fake may be large, and is not what this test is about.
      if (request.op == Op::kOpenItemsets && request.args[0] > 1000) continue;
      if (!channel.ask(request)) break;
      refused += channel.reply().status == AcceleratorStatus::kDeclined;
      ASSERT_NE(channel.reply().status, AcceleratorStatus::kFailed) << channel.reply().why.text;
    }
  }
  EXPECT_GT(refused, 300);
  RawChannel after(gpu);
  ASSERT_TRUE(after.ask(valid(Op::kOpenPairs, 0, after)));
  for (const Op op : {Op::kAddRows, Op::kBuild, Op::kCountRows}) ASSERT_TRUE(after.ask(valid(op, 1, after)));
  EXPECT_EQ(after.reply().status, AcceleratorStatus::kOk) << "and it is as good as before";
  EXPECT_EQ(gpu.end(), process::kExitEnded);
}

TEST_F(GpuHost, FilesThatCouldShrinkAreRefused) {
  GpuProcess gpu;
  char name[] = "/tmp/batmap_plain_XXXXXX";
  const process::File plain(mkstemp(name));
  unlink(name);
  ASSERT_EQ(ftruncate(plain.number(), process::kChannelBytes), 0);
  const process::File socket = process::connect_to(gpu.socket());
  process::Request hello;
  process::Reply reply;
  process::File none;
  ASSERT_TRUE(process::send_packet(socket.number(), &hello, sizeof hello, plain.number()));
  ASSERT_EQ(process::receive_packet(socket.number(), &reply, sizeof reply, none), sizeof reply);
  EXPECT_STREQ(reply.why.text, "the GPU process got no memory to share");
  RawChannel channel(gpu);
  process::Request request = valid(Op::kOpenPairs, 0, channel);
  request.has_file = 1;
  ASSERT_TRUE(channel.ask(request, plain.number()));
  EXPECT_STREQ(channel.reply().why.text, "the GPU process refused a damaged request: the arrays are not there");
}

}  // namespace
}  // namespace batmap::test
