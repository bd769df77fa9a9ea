// A run whose n-th allocation fails, for every n. The caller gets std::bad_alloc or, if the engine can do
// without the memory, the complete answer. Nothing leaks, and nothing is terminated. A program of its own,
// since it replaces operator new.
#include <gtest/gtest.h>

#include <cstdint>
#include <new>
#include <ostream>

#include "pairs/pair_run.h"
#include "test/unit/shared/failing_new.h"
#include "test/unit/shared/grid.h"
#include "test/unit/shared/oracle.h"
#include "test/unit/shared/shapes.h"

namespace batmap::test {
namespace {

struct Config {
  std::optional<PairMethod> method;
  int threads;
  bool all_fail_after;  // else only the n-th

  friend void PrintTo(const Config& config, std::ostream* out) { *out << config_name(config); }
  friend std::string config_name(const Config& config) {
    return std::string(pair_method_name(*config.method)) + "_" + std::to_string(config.threads) +
           (config.all_fail_after ? "_and_all_later" : "_alone");
  }
};

class PairRunBadAllocTest : public testing::TestWithParam<Config> {};

TEST_P(PairRunBadAllocTest, MayFailAtEveryAllocation) {
  const Config config = GetParam();
  Random random(20240608);
  // Enough items for several tasks, so that helpers are started.
  std::vector<TidItem> rows = random_rows(random, 4000, 400, 900);
  for (TidItem& pair : rows) pair.item = scattered_key(pair.item);
  const PackedRows packed(rows);
  const Oracle oracle(rows);
  for (const int form : {0, 1, 2}) {
    PairQuery query;
    if (form == 0) query.min_count = 2;
    if (form == 1) query.top_k = 200;
    if (form == 2) {
      query.per_item_top_k = 2;
      query.include = std::vector<int64_t>{rows[0].item, rows[1].item, rows[2].item};
      query.exclude = std::vector<int64_t>{rows[3].item};
    }
    query.method = config.method;
    const OracleAnswer expected = oracle.answer(query);
    int failures = 0;
    for (int64_t n = 0;; ++n) {
      ASSERT_LT(n, 5000) << "allocations without end";
      MemoryMeter meter;
      std::vector<PairRow> found;
      found.reserve(expected.rows.size() + 1);
      const int64_t live_before = live.load();
      enum { kDone, kBadAlloc, kOther } outcome = kOther;
      bool reached = false;
      {
        std::vector<ChunkView> chunks = packed.chunks();
        all_fail_after = config.all_fail_after;
        allocations_left = n;
        try {
          PairRun pairs(std::move(chunks), {}, query, {.threads = config.threads, .memory = &meter, .cancel = {}});
          PairBatch batch;
          while (pairs.next(batch)) found.insert(found.end(), batch.begin(), batch.end());
          outcome = kDone;
        } catch (const std::bad_alloc&) {
          outcome = kBadAlloc;
        } catch (...) {
        }
        reached = allocations_left.exchange(kNever) < 0;
      }
      ASSERT_NE(outcome, kOther) << "neither an answer nor bad_alloc when allocation " << n << " fails, form " << form;
      ASSERT_EQ(meter.current(), 0u) << "allocation " << n;
      ASSERT_EQ(live.load(), live_before) << "leak when allocation " << n << " fails, form " << form;
      if (outcome == kDone) {
        ASSERT_EQ(difference(found, expected.rows), "") << "allocation " << n;
        if (!reached) break;
      } else {
        ++failures;
      }
    }
    EXPECT_GT(failures, 20);
  }
}

std::vector<Config> configs() {
  std::vector<Config> all;
  for (const bool persistent : {false, true})
    for (const int threads : {1, 3})
      for (const PairMethodName& entry : kPairMethodNames)
        if (full_grid() || persistent == (threads == 3)) all.push_back({entry.method, threads, persistent});
  return all;
}

INSTANTIATE_TEST_SUITE_P(Configs, PairRunBadAllocTest, testing::ValuesIn(configs()),
                         [](const auto& config) { return config_name(config.param); });

}  // namespace
}  // namespace batmap::test
