// Chunks read back what was written, and have the documented bytes. Untrusted bytes are refused
// unless they are consistent.
#include "relation/chunk.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "core/error.h"
#include "test/unit/shared/shapes.h"

namespace batmap::test {
namespace {

std::vector<std::byte> written(const std::vector<TidItem>& pairs) {
  std::vector<std::byte> bytes(kChunkHeaderBytes + 16 * pairs.size() + 16, std::byte{0xee});
  const size_t size = write_chunk(pairs, bytes.data());
  EXPECT_LE(size, kChunkHeaderBytes + 16 * pairs.size() + 14) << "room that the header promises";
  bytes.resize(size);
  return bytes;
}

bool same(const std::vector<TidItem>& x, const std::vector<TidItem>& y) {
  if (x.size() != y.size()) return false;
  for (size_t i = 0; i < x.size(); ++i)
    if (x[i].tid != y[i].tid || x[i].item != y[i].item) return false;
  return true;
}

std::vector<TidItem> decoded(const ChunkView& chunk) {
  std::vector<TidItem> pairs(chunk.rows);
  decode_chunk(chunk, pairs.data());
  return pairs;
}

bool refused(std::span<const std::byte> bytes) {
  // In a heap block of the exact size, a sanitizer notices a read of one byte too many.
  const std::vector<std::byte> exact(bytes.begin(), bytes.end());
  try {
    read_chunk_checked(exact);
    return false;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidData);
    return true;
  }
}

TEST(Chunk, WidthOfOffsets) {
  EXPECT_EQ(offset_width(0), 0u);
  EXPECT_EQ(offset_width(1), 1u);
  EXPECT_EQ(offset_width(255), 1u);
  EXPECT_EQ(offset_width(256), 2u);
  EXPECT_EQ(offset_width(65535), 2u);
  EXPECT_EQ(offset_width(65536), 4u);
  EXPECT_EQ(offset_width(UINT32_MAX), 4u);
  EXPECT_EQ(offset_width(uint64_t{UINT32_MAX} + 1), 8u);
  EXPECT_EQ(offset_width(UINT64_MAX), 8u);
}

TEST(Chunk, ReadsWhatWasWritten) {
  Random random(kSeed);
  const uint64_t ranges[] = {0, 1, 255, 256, 65535, 65536, UINT32_MAX, uint64_t{UINT32_MAX} + 1, UINT64_MAX};
  for (const size_t rows : {1, 2, 3, 7, 8, 9, 255, 256, 257, 1000, 4095, 4096})
    for (const uint64_t tid_range : ranges)
      for (const uint64_t item_range : ranges) {
        if (rows > 300 && tid_range > 255 && item_range > 255 && tid_range != item_range) continue;  // enough cases of these
        const auto key = [&](uint64_t range) {
          const int64_t base = range == UINT64_MAX ? kMin : -17;
          const uint64_t offset = random.below(4) == 0  ? range
                                  : range == UINT64_MAX ? random.bits()
                                                        : random.below(range + 1);
          return static_cast<int64_t>(static_cast<uint64_t>(base) + offset);
        };
        std::vector<TidItem> pairs;
        for (size_t i = 0; i < rows; ++i) pairs.push_back({key(tid_range), key(item_range)});
        const std::vector<std::byte> bytes = written(pairs);
        EXPECT_EQ(bytes.size() % 8, 0u);
        const ChunkView chunk = read_chunk_checked(bytes);
        EXPECT_EQ(chunk.bytes, bytes.size());
        ASSERT_TRUE(same(decoded(chunk), pairs)) << rows << " rows, ranges " << tid_range << " " << item_range;
        const ChunkView trusted = read_chunk(bytes.data());
        EXPECT_EQ(trusted.bytes, chunk.bytes);
        ASSERT_TRUE(same(decoded(trusted), pairs));
      }
}

TEST(Chunk, BytesAreAsDocumented) {
  const std::vector<std::byte> bytes = written({{10, -3}, {11, 297}, {10, -2}});
  const uint8_t expected[] = {
      10,   0,    0,    0,    0,    0,    0,    0,     // tid base
      0xfd, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,  // item base
      1,    0,    0,    0,    0,    0,    0,    0,     // tid range
      0x2c, 1,    0,    0,    0,    0,    0,    0,     // item range 300
      3,    0,    0,    0,    0,    0,    0,    0,     // rows, zero
      0,    1,    0,    0,    0,    0,    0,    0,     // tid offsets, one byte each, padded
      0,    0,    0x2c, 1,    1,    0,    0,    0,     // item offsets, two bytes each, padded
  };
  ASSERT_EQ(bytes.size(), sizeof expected);
  for (size_t i = 0; i < bytes.size(); ++i) EXPECT_EQ(static_cast<uint8_t>(bytes[i]), expected[i]) << "byte " << i;
}

TEST(Chunk, NeedsNoAlignment) {
  const std::vector<TidItem> pairs{{1, 70000}, {300, 2}, {-5, 5000000000}};
  const std::vector<std::byte> bytes = written(pairs);
  for (size_t shift = 1; shift < 8; ++shift) {
    std::vector<std::byte> moved(shift + bytes.size());
    std::copy(bytes.begin(), bytes.end(), moved.begin() + static_cast<ptrdiff_t>(shift));
    EXPECT_TRUE(same(decoded(read_chunk_checked({moved.data() + shift, bytes.size()})), pairs));
  }
}

TEST(Chunk, BytesBehindItAreNotItsOwn) {
  std::vector<std::byte> bytes = written({{1, 2}, {3, 4}});
  const size_t size = bytes.size();
  bytes.resize(size + 100, std::byte{0xff});
  EXPECT_EQ(read_chunk_checked(bytes).bytes, size);
}

TEST(Chunk, EveryTruncationIsRefused) {
  for (const std::vector<TidItem>& pairs :
       {std::vector<TidItem>{{1, 2}}, {{1, 2}, {1, 3}}, {{1, 70000}, {300, 2}, {kMin, kMax}}}) {
    const std::vector<std::byte> bytes = written(pairs);
    for (size_t size = 0; size < bytes.size(); ++size)
      EXPECT_TRUE(refused({bytes.data(), size})) << size << " of " << bytes.size() << " bytes";
    EXPECT_FALSE(refused(bytes));
  }
}

// Rows have exactly one chunk: so every chunk that is accepted equals the one that its own rows are written as.
TEST(Chunk, EverySingleBitFlipIsRefusedOrAnotherChunk) {
  Random random(kSeed + 1);
  std::vector<std::vector<TidItem>> all{
      {{5, 7}}, {{1, 2}, {1, 3}}, {{1, 70000}, {300, 2}, {-5, 5000000000}}, {{kMin, kMax}, {kMax, kMin}}};
  all.push_back(random_rows(random, 300, 1000, 100));
  all.push_back(random_rows(random, 21, 100000, 1));
  int accepted = 0;
  for (const std::vector<TidItem>& pairs : all) {
    const std::vector<std::byte> bytes = written(pairs);
    for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
      std::vector<std::byte> flipped = bytes;
      flipped[bit / 8] ^= std::byte{1} << (bit % 8);
      if (refused(flipped)) continue;
      ++accepted;
      const ChunkView chunk = read_chunk_checked(flipped);
      const std::vector<TidItem> rows = decoded(chunk);
      EXPECT_FALSE(same(rows, pairs)) << "two forms of the same rows, bit " << bit;
      EXPECT_EQ(written(rows), std::vector(flipped.begin(), flipped.begin() + static_cast<ptrdiff_t>(chunk.bytes)))
          << "bit " << bit;
    }
  }
  EXPECT_GT(accepted, 100) << "bases may change freely";
}

TEST(Chunk, RefusesWhatDoesNotAgreeWithItself) {
  const std::vector<std::byte> good = written({{10, -3}, {11, 297}, {10, -2}});
  const auto with = [&](size_t at, auto value) {
    std::vector<std::byte> bytes = good;
    std::memcpy(bytes.data() + at, &value, sizeof value);
    return bytes;
  };
  EXPECT_TRUE(refused(with(32, uint32_t{0}))) << "no rows";
  EXPECT_TRUE(refused(with(32, uint32_t{4097})));
  EXPECT_TRUE(refused(with(32, UINT32_MAX)));
  EXPECT_TRUE(refused(with(32, uint32_t{2}))) << "range no longer reached";
  EXPECT_TRUE(refused(with(36, uint32_t{1}))) << "reserved";
  EXPECT_TRUE(refused(with(0, kMax))) << "10 + 1 beyond the largest tid";
  EXPECT_FALSE(refused(with(0, kMax - 1)));
  EXPECT_TRUE(refused(with(8, kMax - 299)));
  EXPECT_FALSE(refused(with(8, kMax - 300)));
  EXPECT_TRUE(refused(with(16, uint64_t{2}))) << "range not reached";
  EXPECT_TRUE(refused(with(16, uint64_t{0})));
  EXPECT_TRUE(refused(with(24, UINT64_MAX)));
  EXPECT_TRUE(refused(with(40, uint8_t{2}))) << "offset beyond the range";
  EXPECT_TRUE(refused(with(40, uint32_t{0x00010101}))) << "no tid is the base";
  EXPECT_TRUE(refused(with(43, uint8_t{1}))) << "padding";
  EXPECT_TRUE(refused(with(55, uint8_t{1}))) << "padding";
}

TEST(Chunk, OffsetsAreShiftedAndCut) {
  const std::vector<std::byte> bytes = written({{-5, 1000}, {250, 1255}, {0, 1001}});
  const ChunkView chunk = read_chunk(bytes.data());
  uint32_t codes[3];
  decode_offsets(chunk.tids, chunk.tid_range, chunk.rows, 7, codes);
  EXPECT_EQ(std::vector(codes, codes + 3), (std::vector<uint32_t>{7, 262, 12}));
  uint64_t keys[3];
  decode_offsets(chunk.items, chunk.item_range, chunk.rows, UINT64_MAX, keys);
  EXPECT_EQ(std::vector(keys, keys + 3), (std::vector<uint64_t>{UINT64_MAX, 254, 0}));
}

}  // namespace
}  // namespace batmap::test
