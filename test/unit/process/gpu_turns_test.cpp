// The line for the devices: one after the other, nobody twice before all, idle ones lose their turn, and who is to stop
// leaves the line.
#include "process/host/gpu_turns.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>

namespace batmap::process {
namespace {

using std::chrono::milliseconds;

bool never() { return false; }

TEST(GpuTurns, NoMoreAtOnceThanThereAreTurns) {
  Turns turns(3, milliseconds(1), milliseconds(1));
  std::atomic<int> inside{0};
  std::atomic<int> most{0};
  std::vector<std::thread> sessions;
  for (int k = 0; k < 12; ++k)
    sessions.emplace_back([&] {
      Turns::Place place;
      for (int call = 0; call < 20; ++call) {
        ASSERT_TRUE(turns.enter(place, never));
        most = std::max<int>(most, ++inside);
        std::this_thread::sleep_for(std::chrono::microseconds(100));
        --inside;
        turns.leave(place);
      }
      turns.give_up(place);
    });
  for (std::thread& session : sessions) session.join();
  EXPECT_LE(most, 3);
}

TEST(GpuTurns, ALongJobLetsOthersIn) {
  Turns turns(1, milliseconds(5), milliseconds(1000));
  std::atomic<bool> is_done{false};
  std::thread hog([&] {  // two threads of one session, so that it is never without a call
    Turns::Place place;
    const auto call = [&] {
      while (!is_done) {
        ASSERT_TRUE(turns.enter(place, never));
        std::this_thread::sleep_for(milliseconds(1));
        turns.leave(place);
      }
    };
    std::thread other(call);
    call();
    other.join();
    turns.give_up(place);
  });
  for (int k = 0; k < 5; ++k) {
    Turns::Place place;
    ASSERT_TRUE(turns.enter(place, never));
    turns.leave(place);
    turns.give_up(place);
  }
  is_done = true;
  hog.join();
}

TEST(GpuTurns, WhoIsIdleLosesItsTurn) {
  Turns turns(1, milliseconds(100'000), milliseconds(20));
  Turns::Place idle;
  ASSERT_TRUE(turns.enter(idle, never));
  turns.leave(idle);
  Turns::Place other;
  EXPECT_FALSE(turns.enter(other, [] { return true; })) << "not idle for long enough";
  ASSERT_TRUE(turns.enter(other, never));
  Turns::Place third;
  int asked = 0;
  EXPECT_FALSE(turns.enter(third, [&] { return ++asked == 10; })) << "the other has a call";
  turns.leave(other);
  ASSERT_TRUE(turns.enter(other, never)) << "who left the line takes no turn";
  turns.leave(other);
  turns.give_up(other);
  ASSERT_TRUE(turns.enter(idle, never));
  turns.leave(idle);
  turns.give_up(idle);
}

}  // namespace
}  // namespace batmap::process
