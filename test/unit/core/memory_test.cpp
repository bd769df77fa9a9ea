// The arithmetic of the meter, and buffers that are charged exactly as long as they live.
#include "core/memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <new>
#include <thread>
#include <vector>

#include "core/error.h"

namespace batmap::test {
namespace {

ErrorCode code_of(auto&& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.code();
  }
  ADD_FAILURE() << "nothing was thrown";
  return ErrorCode::kInvalidData;
}

TEST(MemoryMeter, CountsUpToTheLimit) {
  MemoryMeter meter(100);
  EXPECT_EQ(meter.limit(), 100u);
  EXPECT_EQ(meter.available(), 100u);
  meter.charge(60);
  meter.charge(40);
  EXPECT_EQ(meter.current(), 100u);
  EXPECT_EQ(meter.available(), 0u);
  EXPECT_EQ(code_of([&] { meter.charge(1); }), ErrorCode::kMemoryLimit);
  EXPECT_EQ(meter.current(), 100u) << "nothing is charged when the budget would be exceeded";
  meter.charge(0);
  meter.release(70);
  EXPECT_EQ(meter.current(), 30u);
  EXPECT_EQ(meter.available(), 70u);
  EXPECT_EQ(meter.peak(), 100u);
  EXPECT_EQ(code_of([&] { meter.charge(SIZE_MAX); }), ErrorCode::kMemoryLimit) << "no wrap-around";
  EXPECT_EQ(code_of([&] { meter.charge(SIZE_MAX - 20); }), ErrorCode::kMemoryLimit) << "no wrap-around";
  EXPECT_EQ(meter.current(), 30u);
  EXPECT_EQ(meter.peak(), 100u) << "a refused charge is no peak";
}

TEST(MemoryMeter, UnlimitedDoesNotWrapAround) {
  MemoryMeter meter;
  meter.charge(1000);
  EXPECT_EQ(code_of([&] { meter.charge(SIZE_MAX - 500); }), ErrorCode::kMemoryLimit);
  EXPECT_EQ(meter.current(), 1000u);
}

TEST(MemoryMeter, CountsFromManyThreads) {
  MemoryMeter meter;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 5000; ++i) {
        meter.charge(3);
        meter.charge(5);
        meter.release(3);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(meter.current(), 4u * 5000 * 5);
  EXPECT_GE(meter.peak(), meter.current());
  EXPECT_LE(meter.peak(), 4u * 5000 * 5 + 4 * 3);
}

/// One budget for all meters, with a fixed number of bytes.
class SharedBytes final : public MemoryBudget {
 public:
  explicit SharedBytes(size_t bytes) : left_(bytes) {}
  void charge(size_t bytes) override {
    if (bytes > left_) throw Error(ErrorCode::kMemoryLimit, "shared bytes are used up");
    left_ -= bytes;
  }
  void release(size_t bytes) noexcept override { left_ += bytes; }
  size_t available() const noexcept override { return left_; }

 private:
  size_t left_;
};

TEST(MemoryMeter, TwoShareABudget) {
  SharedBytes budget(100);
  {
    MemoryMeter first(80, &budget);
    MemoryMeter second(MemoryMeter::kUnlimited, &budget);
    first.charge(70);
    EXPECT_EQ(first.available(), 10u) << "of its own limit";
    EXPECT_EQ(second.available(), 30u) << "of the budget";
    EXPECT_EQ(code_of([&] { second.charge(31); }), ErrorCode::kMemoryLimit);
    EXPECT_EQ(second.current(), 0u) << "nothing is charged when the budget refuses";
    second.charge(30);
    EXPECT_EQ(code_of([&] { first.charge(11); }), ErrorCode::kMemoryLimit);
    EXPECT_EQ(budget.available(), 0u) << "nothing is charged to the budget when the limit refuses";
    first.release(70);
    EXPECT_EQ(second.available(), 70u);
    Buffer<uint64_t> block(second, 8);
    EXPECT_EQ(budget.available(), 6u);
    EXPECT_THROW(Buffer<uint64_t>(second, 1), Error);
    EXPECT_EQ(budget.available(), 6u);
    second.release(30);
    first.charge(5);
  }
  EXPECT_EQ(budget.available(), 100u) << "what was not released is given back";
}

// Small blocks come from the heap, blocks of 256 KiB and more from the system; both behave alike.
TEST(Buffer, IsChargedAlignedAndUsable) {
  for (const size_t size : {size_t{1}, size_t{7}, size_t{64}, size_t{32767}, size_t{32768}, size_t{32769}, size_t{700000}}) {
    MemoryMeter meter;
    {
      Buffer<uint64_t> buffer(meter, size, Fill::kZero);
      EXPECT_EQ(buffer.size(), size);
      EXPECT_EQ(buffer.bytes(), size * 8);
      EXPECT_EQ(meter.current(), size * 8);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % 64, 0u);
      EXPECT_TRUE(std::all_of(buffer.begin(), buffer.end(), [](uint64_t value) { return value == 0; }));
      for (size_t i = 0; i < size; ++i) buffer[i] = i;
      EXPECT_EQ(buffer.span().back(), size - 1);
      Buffer<uint64_t> plain(meter, size);
      EXPECT_EQ(meter.current(), size * 16);
      plain[size - 1] = 1;
      plain.reset();
      EXPECT_EQ(meter.current(), size * 8);
      EXPECT_TRUE(plain.empty());
    }
    EXPECT_EQ(meter.current(), 0u);
    EXPECT_EQ(meter.peak(), size * 16);
  }
}

// A zeroed buffer is zero although the heap returns used blocks.
TEST(Buffer, ZeroedAfterUse) {
  MemoryMeter meter;
  for (int round = 0; round < 20; ++round) {
    Buffer<uint8_t> buffer(meter, 5000, Fill::kZero);
    EXPECT_EQ(std::count(buffer.begin(), buffer.end(), 0), 5000);
    std::fill(buffer.begin(), buffer.end(), uint8_t{0xff});
  }
}

TEST(Buffer, MovesItsCharge) {
  MemoryMeter meter;
  MemoryMeter other;
  {
    Buffer<uint32_t> first(meter, 10);
    first[3] = 33;
    Buffer<uint32_t> second(std::move(first));
    EXPECT_EQ(first.size(), 0u);  // NOLINT(bugprone-use-after-move): moved-from is empty
    EXPECT_EQ(second[3], 33u);
    EXPECT_EQ(meter.current(), 40u);
    Buffer<uint32_t> third(other, 5);
    third = std::move(second);
    EXPECT_EQ(other.current(), 0u);
    EXPECT_EQ(third[3], 33u);
    Buffer<uint32_t>& same = third;
    third = std::move(same);
    EXPECT_EQ(third.size(), 10u);
    EXPECT_EQ(meter.current(), 40u);
    third = Buffer<uint32_t>();
    EXPECT_EQ(meter.current(), 0u);
  }
  EXPECT_EQ(meter.current(), 0u);
}

TEST(Buffer, EmptyOnesCostNothing) {
  MemoryMeter meter(0);
  Buffer<uint64_t> buffer(meter, 0, Fill::kZero);
  EXPECT_TRUE(buffer.empty());
  EXPECT_EQ(buffer.begin(), buffer.end());
  EXPECT_EQ(meter.current(), 0u);
}

TEST(Buffer, ARefusedOneIsNotCharged) {
  MemoryMeter meter(1000);
  EXPECT_EQ(code_of([&] { Buffer<uint64_t> buffer(meter, 126); }), ErrorCode::kMemoryLimit);
  EXPECT_EQ(meter.current(), 0u);
  Buffer<uint64_t> buffer(meter, 125);
  EXPECT_EQ(meter.current(), 1000u);
}

// If the system has no such block, the charge is taken back. 2^47 bytes are more than a process can address.
TEST(Buffer, AFailedAllocationIsNotCharged) {
  MemoryMeter meter;
  EXPECT_THROW(Buffer<uint64_t>(meter, size_t{1} << 45), std::bad_alloc);
  EXPECT_EQ(meter.current(), 0u);
}

// A size whose bytes overflow size_t must not give a small block.
TEST(Buffer, SizesThatOverflowAreRefused) {
  MemoryMeter meter;
  bool refused = false;
  try {
    Buffer<uint64_t> buffer(meter, (size_t{1} << 61) + 1);
    EXPECT_GE(buffer.bytes() / sizeof(uint64_t), buffer.size()) << "8 bytes for 2^61 + 1 elements";
  } catch (const std::bad_alloc&) {
    refused = true;
  } catch (const Error& error) {
    refused = error.code() == ErrorCode::kMemoryLimit || error.code() == ErrorCode::kTooLarge;
  }
  EXPECT_TRUE(refused);
  EXPECT_EQ(meter.current(), 0u);
}

TEST(GrowingBuffer, GrowsAndKeepsItsContents) {
  MemoryMeter meter;
  {
    GrowingBuffer<uint32_t> buffer(meter);
    EXPECT_TRUE(buffer.empty());
    EXPECT_EQ(meter.current(), 0u);
    for (uint32_t i = 0; i < 100000; ++i) buffer.push_back(i * 3);
    ASSERT_EQ(buffer.size(), 100000u);
    for (uint32_t i = 0; i < 100000; ++i) ASSERT_EQ(buffer[i], i * 3);
    EXPECT_EQ(buffer.span().size(), 100000u);
    EXPECT_GE(meter.current(), 400000u);
    EXPECT_LE(meter.current(), 800000u) << "doubling";
    buffer.shrink(10);
    EXPECT_EQ(buffer.end() - buffer.begin(), 10);
    buffer.reset();
    EXPECT_EQ(meter.current(), 0u);
    buffer.push_back(7);
    EXPECT_EQ(buffer[0], 7u);
  }
  EXPECT_EQ(meter.current(), 0u);
}

TEST(GrowingBuffer, RoomIsCountedOnlyWhenAdded) {
  MemoryMeter meter;
  GrowingBuffer<uint32_t> buffer(meter);
  for (uint32_t round = 0; round < 300; ++round) {
    uint32_t* at = buffer.room(16);
    for (uint32_t i = 0; i < 16; ++i) at[i] = round;
    buffer.add(round % 17);
  }
  std::vector<uint32_t> expected;
  for (uint32_t round = 0; round < 300; ++round) expected.insert(expected.end(), round % 17, round);
  EXPECT_TRUE(std::equal(buffer.begin(), buffer.end(), expected.begin(), expected.end()));
}

// A block of 1 MiB or more keeps its pages when it grows: only what is added is charged.
TEST(GrowingBuffer, LargeBlocksGrowWithoutASecondBlock) {
  constexpr size_t kElements = size_t{16} << 20;  // 64 MiB
  MemoryMeter meter(kElements * sizeof(uint32_t));
  GrowingBuffer<uint32_t> buffer(meter);
  for (size_t i = 0; i < kElements; ++i) buffer.push_back(static_cast<uint32_t>(i * 2654435761));
  EXPECT_EQ(meter.current(), meter.limit());
  for (size_t i = 0; i < kElements; ++i) ASSERT_EQ(buffer[i], static_cast<uint32_t>(i * 2654435761));
  EXPECT_EQ(code_of([&] { buffer.push_back(0); }), ErrorCode::kMemoryLimit);
  EXPECT_EQ(buffer.size(), kElements);
  EXPECT_EQ(buffer[kElements - 1], static_cast<uint32_t>((kElements - 1) * 2654435761)) << "a failed growth loses nothing";
  buffer.reset();
  EXPECT_EQ(meter.current(), 0u);
}

TEST(GrowingBuffer, AFailedGrowthLosesNothing) {
  MemoryMeter meter(2000);
  GrowingBuffer<uint32_t> buffer(meter);
  uint32_t pushed = 0;
  EXPECT_EQ(code_of([&] {
              for (;; ++pushed) buffer.push_back(pushed);
            }),
            ErrorCode::kMemoryLimit);
  ASSERT_EQ(buffer.size(), pushed);
  for (uint32_t i = 0; i < pushed; ++i) ASSERT_EQ(buffer[i], i);
  buffer.reset();
  EXPECT_EQ(meter.current(), 0u);
}

}  // namespace
}  // namespace batmap::test
