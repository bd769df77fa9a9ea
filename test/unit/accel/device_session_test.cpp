// A session over a fake accelerator: what is asked and woken in which order, what the record of the run then says,
// and that each way in which a device can end a job leaves it to the CPU, to the caller, or to nobody.
#include "accel/device_session.h"

#include "test/unit/shared/fake_accelerator_test.h"

namespace batmap::test {
namespace {

using Fake = FakeAccelerator;

class DeviceSessionTest : public FakeAcceleratorTest {
 protected:
  DeviceUse use(DeviceMode mode) { return {.offload = &offload_, .mode = mode, .only = {}, .memory_limit = 0}; }
};

/// A policy that chooses the devices or not, and keeps what it was asked.
struct Policy {
  bool chooses = true;
  bool chooses_woken = true;
  std::vector<std::vector<bool>> asked = {};  // [calls][devices] whether the device is woken

  DeviceVerdict operator()(std::span<const DeviceTraits> devices) {
    asked.emplace_back();
    for (const DeviceTraits& device : devices) asked.back().push_back(device.ready != 0);
    return {asked.back()[0] ? chooses_woken : chooses, "asked " + std::to_string(asked.size())};
  }
};

bool works(std::span<const DeviceTraits>) { return true; }

TEST_F(DeviceSessionTest, AsksAgainOnceDevicesAreAwake) {
  Fake::state().device_count = 3;
  DeviceSession session(use(DeviceMode::kAuto), 2);
  Policy policy;
  size_t seen = 0;
  EXPECT_TRUE(session.offer(1000, std::ref(policy), [&](std::span<const DeviceTraits> devices) {
    seen = devices.size();
    return true;
  }));
  EXPECT_EQ(policy.asked, (std::vector<std::vector<bool>>{{false, false}, {true, true}}));
  EXPECT_EQ(Fake::state().calls[Fake::kPrepare], 2);
  EXPECT_EQ(seen, 2u);
  EXPECT_EQ(session.devices().size(), 2u);
  EXPECT_EQ(session.device(), "cuda:0 fake, cuda:1 fake");
  EXPECT_EQ(session.reason(), "; asked 2");
  EXPECT_EQ(session.notice(), "");
}

TEST_F(DeviceSessionTest, ThePolicyMayRefuse) {
  for (const bool before : {false, true}) {
    Fake::state().reset();
    DeviceSession session(use(DeviceMode::kCuda));
    Policy policy{.chooses = before, .chooses_woken = false};
    EXPECT_FALSE(session.offer(1000, std::ref(policy), [](auto) -> bool { throw std::logic_error("refused"); }));
    EXPECT_EQ(Fake::state().calls[Fake::kPrepare], before ? 1 : 0) << "refused devices are not woken";
    EXPECT_EQ(session.device(), "cpu");
    EXPECT_EQ(session.reason(), before ? "; asked 2" : "; asked 1");
    EXPECT_TRUE(session.is_possible()) << "the next job may suit";
  }
  DeviceSession session(use(DeviceMode::kRequire));
  Policy policy{.chooses = false};
  try {
    session.offer(1000, std::ref(policy), works);
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kNoDevice);
    EXPECT_STREQ(error.what(), "the GPU could not count\nthe job does not fit: asked 1");
  }
}

TEST_F(DeviceSessionTest, ShortJobsDoNotLoadTheModule) {
  int loads = 0;
  Offload offload([&](std::string&) {
    ++loads;
    return Fake::api();
  });
  const auto offer = [&](DeviceMode mode, double cpu_ms) {
    DeviceSession session({.offload = &offload, .mode = mode, .only = {}, .memory_limit = 0});
    return session.offer(cpu_ms, Policy(), works);
  };
  EXPECT_FALSE(offer(DeviceMode::kCpu, 1e9));
  EXPECT_FALSE(offer(DeviceMode::kAuto, kWorthLoadingMs - 1));
  EXPECT_EQ(loads, 0);
  EXPECT_TRUE(offer(DeviceMode::kAuto, kWorthLoadingMs));
  EXPECT_TRUE(offer(DeviceMode::kAuto, 0)) << "now it is loaded";
  EXPECT_EQ(loads, 1);
  DeviceSession none(DeviceUse{});
  EXPECT_FALSE(none.offer(1e9, Policy(), works));
  EXPECT_FALSE(none.is_possible());
}

TEST_F(DeviceSessionTest, DevicesOfAnotherProcess) {
  int loads = 0;
  int finds = 0;
  bool is_awake = false;
  bool may_recover = false;
  const auto load = [&](std::string& why) {
    why = "asleep";
    ++loads;
    return is_awake ? Fake::api() : nullptr;
  };
  Offload offload(load, {[&](std::string&) {
                           ++finds;
                           return is_awake ? Fake::api() : nullptr;
                         },
                         [&] { return may_recover; }});
  const auto offer = [&](double cpu_ms) {
    DeviceSession session({.offload = &offload, .mode = DeviceMode::kAuto, .only = {}, .memory_limit = 0});
    return session.offer(cpu_ms, Policy(), works);
  };
  EXPECT_FALSE(offer(kWorthFindingMs / 2));
  EXPECT_EQ(finds, 0) << "not worth a look";
  EXPECT_FALSE(offer(kWorthFindingMs));
  EXPECT_EQ(finds, 1);
  EXPECT_EQ(loads, 0) << "nobody is woken for a short job";
  is_awake = true;
  EXPECT_TRUE(offer(kWorthFindingMs));
  EXPECT_TRUE(offer(0)) << "now it is there";
  EXPECT_EQ(finds, 2);
  EXPECT_EQ(loads, 0);

  Fake::state().answer[Fake::kPrepare] = AcceleratorStatus::kFailed;
  EXPECT_FALSE(offer(1000));
  Fake::state().reset();
  EXPECT_FALSE(offer(1000)) << "not yet";
  EXPECT_EQ(loads, 0);
  may_recover = true;
  is_awake = false;
  EXPECT_FALSE(offer(1000));
  EXPECT_EQ(offload.why_not(), "asleep");
  is_awake = true;
  EXPECT_TRUE(offer(1000));
  EXPECT_EQ(loads, 2);
}

TEST_F(DeviceSessionTest, AJobMayNotNeedTheDevices) {
  DeviceSession session(use(DeviceMode::kCuda));
  EXPECT_FALSE(session.offer(1000, Policy(), [](auto) { return false; }));
  EXPECT_EQ(session.device(), "cpu");
  EXPECT_TRUE(session.devices().empty());
  EXPECT_TRUE(session.is_possible());
}

TEST_F(DeviceSessionTest, TheCpuDoesWhatDevicesDoNot) {
  for (const bool has_begun : {false, true})
    for (const AcceleratorStatus status : {AcceleratorStatus::kDeclined, AcceleratorStatus::kNoDevice,
                                           AcceleratorStatus::kOutOfMemory, AcceleratorStatus::kFailed}) {
      const auto fail = [&] { throw DeviceFailure{status, "because"}; };
      const auto run = [&](DeviceSession& session) {
        if (!has_begun)
          return session.offer(1000, Policy(), [&](auto) {
            fail();
            return true;
          });
        EXPECT_TRUE(session.offer(1000, Policy(), works));
        EXPECT_EQ(session.device(), "cuda:0 fake");
        return session.go_on(fail);
      };
      Offload offload([](std::string&) { return Fake::api(); });
      DeviceSession session({.offload = &offload, .mode = DeviceMode::kCuda, .only = {}, .memory_limit = 0});
      EXPECT_FALSE(run(session));
      EXPECT_EQ(session.device(), "cpu");
      EXPECT_TRUE(session.devices().empty());
      EXPECT_FALSE(session.is_possible());
      EXPECT_FALSE(session.offer(1000, Policy(), works)) << "not asked again";
      const bool is_broken = status == AcceleratorStatus::kFailed;
      EXPECT_EQ(session.notice(), is_broken ? "the GPU failed, and the CPU goes on: because" : "");
      EXPECT_EQ(offload.api() == nullptr, is_broken || status == AcceleratorStatus::kNoDevice);
      Offload another([](std::string&) { return Fake::api(); });
      DeviceSession required({.offload = &another, .mode = DeviceMode::kRequire, .only = {}, .memory_limit = 0});
      EXPECT_TRUE(required.is_required());
      EXPECT_THROW(run(required), Error);
    }
}

TEST_F(DeviceSessionTest, WorkOfEarlierJobsStays) {
  DeviceSession session(use(DeviceMode::kCuda));
  EXPECT_TRUE(session.offer(1000, Policy(), works));
  EXPECT_FALSE(session.offer(1000, Policy(), [](auto) -> bool {
    throw DeviceFailure{AcceleratorStatus::kOutOfMemory, ""};
  }));
  EXPECT_EQ(session.device(), "cuda:0 fake") << "it did the first job";
  EXPECT_EQ(session.reason(), "; asked 2; asked 2");
}

TEST_F(DeviceSessionTest, CancelAndErrorsPass) {
  DeviceSession session(use(DeviceMode::kCuda));
  EXPECT_TRUE(session.offer(1000, Policy(), works));
  try {
    session.go_on([] { throw DeviceFailure{AcceleratorStatus::kCancelled, ""}; });
    ADD_FAILURE() << "not cancelled";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kCancelled);
  }
  EXPECT_THROW(session.go_on([] { throw Error(ErrorCode::kTooLarge, "too many"); }), Error);
  EXPECT_TRUE(session.is_possible());
  EXPECT_FALSE(session.go_on([] { throw Error(ErrorCode::kMemoryLimit, "buffers"); })) << "the CPU may need less";
}

}  // namespace
}  // namespace batmap::test
