// Codes are the same for equal keys, differ for different keys, and lead back to the key; by distance and by hash.
#include "relation/key_codes.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <vector>

#include "core/error.h"
#include "test/unit/shared/shapes.h"

namespace batmap::test {
namespace {

TEST(KeyCodes, DirectCodesAreDistances) {
  MemoryMeter meter;
  for (const int64_t base : {kMin, int64_t{-500}, int64_t{0}, kMax - 1000}) {
    const KeyCodes codes({1, &meter, {}}, base, 1000, 10);
    ASSERT_TRUE(codes.direct());
    EXPECT_EQ(codes.base(), base);
    EXPECT_EQ(codes.size(), 1001u);
    for (uint32_t distance = 0; distance <= 1000; ++distance) {
      const int64_t key = base + static_cast<int64_t>(distance);
      ASSERT_EQ(codes.find(key), distance);
      ASSERT_EQ(codes.key(distance), key);
    }
    if (base > kMin) {
      EXPECT_EQ(codes.find(base - 1), KeyCodes::kNone);
      EXPECT_EQ(codes.find(kMin), KeyCodes::kNone);
    }
    if (base < kMax - 1000) {
      EXPECT_EQ(codes.find(base + 1001), KeyCodes::kNone);
      EXPECT_EQ(codes.find(kMax), KeyCodes::kNone);
    }
  }
  EXPECT_EQ(meter.current(), 0u) << "nothing is stored";
}

TEST(KeyCodes, WideRangesAreHashed) {
  MemoryMeter meter;
  EXPECT_TRUE(KeyCodes({1, &meter, {}}, 0, 0, 1).direct());
  EXPECT_TRUE(KeyCodes({1, &meter, {}}, 0, 1000000, 1000000).direct()) << "as many keys as rows";
  EXPECT_FALSE(KeyCodes({1, &meter, {}}, 0, uint64_t{1} << 33, 1000).direct());
  EXPECT_FALSE(KeyCodes({1, &meter, {}}, kMin, UINT64_MAX, 1000).direct());
  EXPECT_FALSE(KeyCodes({1, &meter, {}}, kMin, UINT64_MAX, UINT64_MAX / 4).direct()) << "codes have 32 bits";
  EXPECT_FALSE(KeyCodes({1, &meter, {}}, 0, UINT32_MAX, UINT64_MAX / 4).direct()) << "2^32 codes leave none to say none";
  EXPECT_EQ(meter.current(), 0u);
}

// Codes by first appearance, over many growths of the table; keys differ in few bits, high or low ones.
TEST(KeyCodes, HashedCodesAreLikeAMap) {
  Random random(kSeed);
  for (const int pattern : {0, 1, 2, 3, 4}) {
    MemoryMeter meter;
    {
      KeyCodes codes({1, &meter, {}}, kMin, UINT64_MAX, 1);
      std::map<int64_t, uint32_t> expected;
      for (int i = 0; i < 40000; ++i) {
        const int64_t small = random.signed_below(15000);
        const int64_t key = pattern == 0   ? small
                            : pattern == 1 ? static_cast<int64_t>(static_cast<uint64_t>(small) << 32)
                            : pattern == 2 ? static_cast<int64_t>(static_cast<uint64_t>(small) << 50)
                            : pattern == 3 ? static_cast<int64_t>(random.bits())
                                           : scattered_key(small);
        const uint32_t next = static_cast<uint32_t>(expected.size());
        const auto [at, added] = expected.emplace(key, next);
        if (added) {
          ASSERT_EQ(codes.find(key), KeyCodes::kNone);
        }
        ASSERT_EQ(codes.insert(key), at->second) << "pattern " << pattern << ", seed " << kSeed;
        ASSERT_EQ(codes.size(), expected.size());
      }
      for (const auto& [key, code] : expected) {
        ASSERT_EQ(codes.find(key), code);
        ASSERT_EQ(codes.key(code), key);
      }
      EXPECT_LE(meter.current(), 80 * expected.size() + 100000) << "slots for four times the keys at most, and their array";
    }
    EXPECT_EQ(meter.current(), 0u);
  }
}

TEST(KeyCodes, StopAtTheMemoryLimit) {
  MemoryMeter meter(size_t{200} << 10);
  {
    KeyCodes codes({1, &meter, {}}, kMin, UINT64_MAX, 1);
    bool stopped = false;
    try {
      for (int64_t i = 0; i < 100000; ++i) codes.insert(scattered_key(i));
    } catch (const Error& error) {
      stopped = error.code() == ErrorCode::kMemoryLimit;
    }
    EXPECT_TRUE(stopped);
    EXPECT_LE(meter.peak(), meter.limit());
  }
  EXPECT_EQ(meter.current(), 0u);
}

// A table of millions of keys takes seconds to grow.
TEST(KeyCodes, GrowingCanBeCancelled) {
  MemoryMeter meter;
  int polls = 0;
  const CancelToken cancel{[](void* count) { return ++*static_cast<int*>(count) > 40; }, &polls};
  KeyCodes codes({1, &meter, cancel}, kMin, UINT64_MAX, 1);
  try {
    for (int64_t i = 0; i < 2000000; ++i) codes.insert(scattered_key(i));
    ADD_FAILURE() << "not cancelled";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kCancelled);
  }
  EXPECT_LT(codes.size(), 1000000u) << "in the middle";
}

}  // namespace
}  // namespace batmap::test
