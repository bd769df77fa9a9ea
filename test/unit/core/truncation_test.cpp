// Answers of every length, handed over in batches of every size, are cut off behind max_results rows and nowhere else. Then
// the time, and errors that are only the time being up.
#include "core/truncation.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace batmap::test {
namespace {

TEST(AnswerLimit, CutsOffBehindMaxResults) {
  for (const uint64_t rows : {0, 1, 4, 5, 6, 100}) {
    for (const uint64_t batch : {1, 2, 5, 6, 1000}) {
      AnswerLimit limit(5);
      uint64_t handed_over = 0;
      for (uint64_t left = rows; left > 0 && !limit.is_cut_off();) {
        const uint64_t size = std::min(left, batch);
        const uint64_t taken = limit.take(size);
        EXPECT_EQ(taken == size, !limit.is_cut_off());
        handed_over += taken;
        left -= size;
      }
      EXPECT_EQ(handed_over, std::min<uint64_t>(rows, 5)) << rows << " rows by " << batch;
      EXPECT_EQ(limit.taken(), handed_over);
      EXPECT_EQ(limit.is_cut_off(), rows > 5) << rows << " rows by " << batch;
      EXPECT_EQ(limit.truncation().cause, rows > 5 ? Truncation::kMaxResults : Truncation::kNone);
      EXPECT_EQ(limit.truncation().limit, rows > 5 ? 5 : 0);
    }
  }
}

TEST(AnswerLimit, NoLimit) {
  AnswerLimit limit;
  EXPECT_EQ(limit.take(UINT64_MAX / 2), UINT64_MAX / 2);
  EXPECT_FALSE(limit.time_is_up());
  EXPECT_FALSE(limit.end_in_time());
  EXPECT_FALSE(limit.is_cut_off());
}

TEST(AnswerLimit, Time) {
  AnswerLimit later({}, 3'600'000);
  EXPECT_FALSE(later.time_is_up());
  EXPECT_FALSE(later.end_in_time());
  EXPECT_FALSE(later.is_cut_off());

  AnswerLimit soon({}, 1);
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  EXPECT_TRUE(soon.time_is_up());
  EXPECT_FALSE(soon.is_cut_off()) << "only the run cuts off";
  EXPECT_TRUE(soon.end_in_time());
  EXPECT_EQ(soon.truncation().cause, Truncation::kTimeout);
  EXPECT_EQ(soon.truncation().limit, 1);

  AnswerLimit again({}, 200);
  std::this_thread::sleep_for(std::chrono::milliseconds(201));
  again.restart_clock();
  EXPECT_FALSE(again.time_is_up());
}

TEST(AnswerLimit, OnlyTheTimeEndsAnAnswer) {
  const Error cancelled(ErrorCode::kCancelled, "run cancelled");
  const Error memory(ErrorCode::kMemoryLimit, "out of memory");
  const CancelToken asked{[](void*) { return true; }, nullptr};

  AnswerLimit early({}, 3'600'000);
  EXPECT_FALSE(early.was_ended_by_time(cancelled, {}));
  AnswerLimit late({}, 1);
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  EXPECT_FALSE(late.was_ended_by_time(memory, {}));
  EXPECT_FALSE(late.was_ended_by_time(cancelled, asked)) << "the caller asked for it";
  EXPECT_FALSE(late.is_cut_off());
  EXPECT_TRUE(late.was_ended_by_time(cancelled, {}));
  EXPECT_EQ(late.truncation().cause, Truncation::kTimeout);
}

}  // namespace
}  // namespace batmap::test
