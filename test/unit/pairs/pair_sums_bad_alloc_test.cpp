// Sums of products whose n-th allocation fails, for every n: std::bad_alloc or, if the run can do without the memory, the
// complete answer. A program of its own, since it replaces operator new.
#include <gtest/gtest.h>

#include <cstdint>
#include <new>
#include <vector>

#include "pairs/pair_sums.h"
#include "test/unit/shared/failing_new.h"

namespace batmap::test {
namespace {

constexpr int64_t kTids = 60;
constexpr int64_t kRowsOfTid = 80;

/// Adds up for all pairs. @return the sum of all sums
int64_t add_up(int threads, MemoryMeter& meter) {
  FactorRows rows(meter, 1);
  for (int64_t tid = 0; tid < kTids; ++tid)
    for (int64_t k = 0; k < kRowsOfTid; ++k) rows.append(tid * 1000003, (k * 7919 + tid) % 400 * 1000003, &k);
  const SumsQuery query{.products = {{.left = 0, .right = 0}, {}}};
  PairSums run(rows, nullptr, query, {.threads = threads, .memory = &meter, .cancel = {}});
  EXPECT_GT(run.record().tasks, 2u);
  int64_t sum = 0;
  PairBatch batch;
  while (run.next(batch))
    for (const PairRow& row : batch) sum += static_cast<int64_t>(run.sum(row.support, 0));
  return sum;
}

TEST(PairSumsBadAlloc, MayFailAtEveryAllocation) {
  constexpr int64_t kTotal = kRowsOfTid * (kRowsOfTid - 1) / 2;
  for (const int threads : {1, 3}) {
    for (const bool all_later : {false, true}) {
      int failures = 0;
      for (int64_t n = 0;; ++n) {
        ASSERT_LT(n, 5000) << "allocations without end";
        MemoryMeter meter;
        const int64_t live_before = live.load();
        bool done = false;
        int64_t sum = 0;
        all_fail_after = all_later;
        allocations_left = n;
        try {
          sum = add_up(threads, meter);
          done = true;
        } catch (const std::bad_alloc&) {
        }
        const bool reached = allocations_left.exchange(kNever) < 0;
        ASSERT_EQ(meter.current(), 0u) << "allocation " << n;
        ASSERT_EQ(live.load(), live_before) << "leak when allocation " << n << " fails";
        failures += !done;
        if (!done) continue;
        ASSERT_EQ(sum, kTids * kTotal * kTotal) << "allocation " << n;
        if (!reached) break;
      }
      EXPECT_GT(failures, 20);
    }
  }
}

}  // namespace
}  // namespace batmap::test
