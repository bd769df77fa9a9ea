// What tests on the fake accelerator share.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "test/unit/shared/fake_accelerator.h"

namespace batmap {

namespace test {

/// A test that finds the accelerator in its initial state, and checks that no job stays open.
class FakeAcceleratorTest : public ::testing::Test {
 protected:
  void SetUp() override { FakeAccelerator::state().reset(); }
  void TearDown() override { EXPECT_EQ(FakeAccelerator::state().open, 0) << "a job was not closed"; }

  /// Starts a run with offload_ and cancels it while the accelerator stalls. @param run  gets the token
  template <typename Run>
  void expect_cancelled(Run run) {
    FakeAccelerator::state().stalls = true;
    std::atomic<bool> stop{false};
    std::thread canceller([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      stop = true;
    });
    try {
      run(CancelToken{[](void* arg) { return static_cast<std::atomic<bool>*>(arg)->load(); }, &stop});
      ADD_FAILURE() << "not cancelled";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kCancelled);
    }
    canceller.join();
    EXPECT_NE(offload_.api(), nullptr) << "cancelling is no error of the device";
  }

  Offload offload_{[](std::string&) { return FakeAccelerator::api(); }};
};

}  // namespace test

}  // namespace batmap
