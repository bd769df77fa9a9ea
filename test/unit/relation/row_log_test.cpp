// The log returns every row that it was given, in order, for any mixture of single rows and whole chunks.
#include "relation/row_log.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "core/error.h"
#include "test/unit/shared/fake_files.h"
#include "test/unit/shared/shapes.h"

namespace batmap::test {
namespace {

std::vector<TidItem> rows_of(const RowLog& log) {
  std::vector<TidItem> all;
  for (const ChunkView& chunk : log.chunks()) {
    std::vector<TidItem> pairs(chunk.rows);
    decode_chunk(chunk, pairs.data());
    all.insert(all.end(), pairs.begin(), pairs.end());
  }
  return all;
}

void expect_same(const std::vector<TidItem>& found, const std::vector<TidItem>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ(found[i].tid, expected[i].tid) << "row " << i << ", seed " << kSeed;
    ASSERT_EQ(found[i].item, expected[i].item) << "row " << i << ", seed " << kSeed;
  }
}

TEST(RowLog, KeepsRowsInOrder) {
  Random random(kSeed);
  for (const uint64_t size : {0, 1, 2, 4095, 4096, 4097, 8192, 100000}) {
    MemoryMeter meter;
    {
      RowLog log(meter);
      const std::vector<TidItem> rows = random_rows(random, size, 1u << 20, 1u << 30);
      uint64_t count = 0;
      for (const TidItem& pair : rows) {
        log.append(pair.tid, pair.item);
        EXPECT_EQ(log.rows(), ++count);
      }
      log.seal();
      log.seal();  // nothing is left to pack
      EXPECT_EQ(log.rows(), size);
      expect_same(rows_of(log), rows);
      EXPECT_LE(log.chunks().size(), size / kChunkRows + 1);
    }
    EXPECT_EQ(meter.current(), 0u);
  }
}

TEST(RowLog, GoesOnAfterSealing) {
  Random random(kSeed + 1);
  MemoryMeter meter;
  RowLog log(meter);
  std::vector<TidItem> expected;
  for (int round = 0; round < 60; ++round) {
    for (const TidItem& pair : random_rows(random, random.below(300), 1000, 1000)) {
      log.append(pair.tid, pair.item);
      expected.push_back(pair);
    }
    log.seal();
  }
  expect_same(rows_of(log), expected);
}

TEST(RowLog, TakesSeveralRowsAtOnce) {
  Random random(kSeed + 4);
  MemoryMeter meter;
  RowLog log(meter);
  std::vector<TidItem> expected;
  for (const uint64_t size : {0, 1, 226, 3869, 4096, 0, 291, 4095, 20000, 1}) {
    const std::vector<TidItem> rows = random_rows(random, size, 1u << 20, 1u << 30);
    log.append_rows(rows);
    log.append(1, 2);
    expected.insert(expected.end(), rows.begin(), rows.end());
    expected.push_back({1, 2});
    EXPECT_EQ(log.rows(), expected.size());
  }
  log.seal();
  expect_same(rows_of(log), expected);
}

TEST(RowLog, TakesWholeChunks) {
  Random random(kSeed + 2);
  MemoryMeter meter;
  RowLog log(meter);
  std::vector<TidItem> expected;
  std::vector<std::byte> bytes(kChunkMaxBytes);
  for (int round = 0; round < 40; ++round) {
    // Wide keys: chunks of all sizes up to the largest possible one.
    std::vector<TidItem> rows = random_rows(random, round == 7 ? kChunkRows : 1 + random.below(kChunkRows), 1u << 20, 1000);
    for (TidItem& pair : rows) pair.tid = scattered_key(pair.tid), pair.item = scattered_key(pair.item);
    log.append_chunk(bytes.data(), write_chunk(rows, bytes.data()));
    expected.insert(expected.end(), rows.begin(), rows.end());
    EXPECT_EQ(log.rows(), expected.size());
  }
  expect_same(rows_of(log), expected);
}

TEST(RowLog, IsChargedAndStopsAtTheLimit) {
  MemoryMeter meter(size_t{1} << 20);
  {
    RowLog log(meter);
    uint64_t appended = 0;
    try {
      for (;; ++appended) log.append(static_cast<int64_t>(appended) << 33, -static_cast<int64_t>(appended) << 33);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kMemoryLimit);
    }
    EXPECT_GT(appended, 16000u);
    EXPECT_LE(meter.peak(), size_t{1} << 20);
  }
  EXPECT_EQ(meter.current(), 0u);
}

TEST(RowLog, MovingToFilesCanBeCancelled) {
  for (const bool cancelled : {false, true}) {
    MemoryMeter meter;
    FakeFiles files;
    bool requested = cancelled;
    const CancelToken cancel{[](void* arg) { return *static_cast<bool*>(arg); }, &requested};
    RowLog log({.memory = &meter, .cancel = cancel, .files = &files, .work_bytes = 1 << 20});
    const auto fill = [&] {
      for (int64_t k = 0; k < 100000; ++k) log.append(k, k * 7919 % 1000);
    };
    if (cancelled)
      EXPECT_THROW(fill(), Error);
    else
      EXPECT_NO_THROW(fill());
    EXPECT_NE(log.partitions(), nullptr);
  }
}

/// A budget of which others take almost everything after it was asked some times.
struct ShrinkingBudget final : MemoryBudget {
  static constexpr size_t kLittle = size_t{2} << 20;
  void charge(size_t) override {}
  void release(size_t) noexcept override {}
  size_t available() const noexcept override { return asks_left-- > 0 ? SIZE_MAX : kLittle; }
  mutable int asks_left = 0;
};

TEST(RowLog, MovesToFilesWhereOthersTakeTheMemory) {
  constexpr int64_t kRows = 1000000;
  int in_memory = 0;
  for (int asks = 0; asks < 8; ++asks) {
    SCOPED_TRACE(asks);
    ShrinkingBudget budget;
    budget.asks_left = asks;
    MemoryMeter meter(MemoryMeter::kUnlimited, &budget);
    FakeFiles files;
    RowLog log({.memory = &meter, .cancel = {}, .files = &files, .work_bytes = SIZE_MAX});
    for (int64_t k = 0; k < kRows; ++k) log.append(k, k * 7919 % 100000);
    log.seal();
    EXPECT_EQ(log.rows(), uint64_t{kRows});
    std::vector<TidItem> rows = rows_of(log);
    in_memory += log.partitions() == nullptr;
    if (log.partitions() != nullptr) {
      EXPECT_TRUE(rows.empty());
      for (const RowPartition& part : log.partitions()->parts())
        visit_chunks(part, meter, {}, [&](const ChunkView& chunk) {
          std::vector<TidItem> decoded(chunk.rows);
          decode_chunk(chunk, decoded.data());
          rows.insert(rows.end(), decoded.begin(), decoded.end());
        });
    }
    std::sort(rows.begin(), rows.end(), [](const TidItem& x, const TidItem& y) { return x.tid < y.tid; });
    ASSERT_EQ(rows.size(), size_t{kRows});
    for (int64_t k = 0; k < kRows; ++k) ASSERT_EQ(rows[static_cast<size_t>(k)].tid, k);
  }
  EXPECT_GT(in_memory, 0);
  EXPECT_LT(in_memory, 8);
}

}  // namespace
}  // namespace batmap::test
