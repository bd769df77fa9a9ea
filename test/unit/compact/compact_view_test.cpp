// Compact sets read back: elements, membership, header alone, and bytes that are not a compact set.
#include "compact/compact_view.h"

#include <gtest/gtest.h>

#include "test/unit/shared/sets.h"

namespace batmap::test {
namespace {

bool is_valid(const Bytes& bytes) {
  try {
    validate_compact(bytes);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidData);
    return false;
  }
  return true;
}

template <typename Element = uint64_t>
std::vector<Element> read_back(const CompactView& set, size_t first = 0) {
  constexpr Element kUntouched = 12345;
  std::vector<Element> all;
  Element chunk[CompactReader::kChunk + 1];
  chunk[CompactReader::kChunk] = kUntouched;
  CompactReader reader(set, {}, first);
  while (const size_t count = reader.next(chunk)) all.insert(all.end(), chunk, chunk + count);
  EXPECT_EQ(chunk[CompactReader::kChunk], kUntouched);
  return all;
}

TEST(CompactView, ElementsComeBack) {
  for (const NamedSet& set : compact_sets()) {
    SCOPED_TRACE(set.name + " of " + std::to_string(set.elements.size()));
    ASSERT_TRUE(is_valid(set.bytes));
    const CompactView view = CompactView::open(set.bytes);
    ASSERT_EQ(view.cardinality(), set.elements.size());
    ASSERT_EQ(read_back(view), set.elements);
    ASSERT_EQ(read_back<uint32_t>(view), std::vector<uint32_t>(set.elements.begin(), set.elements.end()));
    if (set.elements.empty()) continue;
    EXPECT_EQ(compact_min(view), set.elements.front());
    EXPECT_EQ(compact_max(view), set.elements.back());
    EXPECT_EQ(view.last_key(), set.elements.back() >> 16);
    // Each block by its number, and where it begins.
    size_t seen = 0;
    for (size_t i = 0; i < view.blocks(); ++i) {
      const CompactBlock block = view.block(i);
      const auto from = std::lower_bound(set.elements.begin(), set.elements.end(), block.key << 16);
      ASSERT_EQ(static_cast<size_t>(from - set.elements.begin()), seen);
      if (i % 50 == 7) {
        ASSERT_EQ(read_back(view, i), Elements(from, set.elements.end()));
      }
      EXPECT_EQ(block.min(), *from & 0xffff);
      seen += block.count;
      EXPECT_EQ(block.max(), set.elements[seen - 1] & 0xffff);
    }
  }
}

TEST(CompactView, Membership) {
  for (const NamedSet& set : compact_sets()) {
    const CompactView view = CompactView::open(set.bytes);
    const size_t step = set.elements.size() / 500 + 1;
    for (size_t i = 0; i < set.elements.size(); i += step)
      for (const uint64_t x : {set.elements[i] - 1, set.elements[i], set.elements[i] + 1, set.elements[i] + 65536})
        ASSERT_EQ(view.contains(x), std::binary_search(set.elements.begin(), set.elements.end(), x)) << set.name << " " << x;
    EXPECT_EQ(view.contains(0), !set.elements.empty() && set.elements[0] == 0);
    EXPECT_FALSE(view.contains(~uint64_t{0}));
  }
}

TEST(CompactView, HeaderAlone) {
  for (const NamedSet& set : compact_sets()) {
    const std::span<const std::byte> head = std::span(set.bytes).first(std::min(set.bytes.size(), kCompactHeadBytes));
    const CompactView view = CompactView::header(head, set.bytes.size());
    EXPECT_EQ(view.cardinality(), set.elements.size()) << set.name;
    EXPECT_EQ(view.last_key(), set.elements.empty() ? 0 : set.elements.back() >> 16) << set.name;
    EXPECT_EQ(view.bytes(), set.bytes.size());
  }
}

TEST(CompactView, CursorSeeks) {
  for (const NamedSet& set : compact_sets()) {
    const CompactView view = CompactView::open(set.bytes);
    for (const size_t step : {1u, 2u, 20u, 100u}) {
      BlockCursor cursor(view);
      for (size_t i = 0; i < view.blocks(); i += step) {
        cursor.seek(view.key(i) - (i > 0 && view.key(i - 1) < view.key(i) - 1));
        ASSERT_EQ(cursor.number(), i) << set.name;
        ASSERT_EQ(cursor.block().data, view.block(i).data) << set.name;
      }
      cursor.seek(~uint64_t{0});
      EXPECT_TRUE(cursor.at_end());
    }
  }
}

TEST(CompactView, EveryLengthButTheRightOne) {
  for (const NamedSet& set : compact_sets()) {
    for (size_t size = 0; size < set.bytes.size(); size += 1 + size / 16)
      ASSERT_FALSE(is_valid({set.bytes.begin(), set.bytes.begin() + static_cast<ptrdiff_t>(size)}))
          << set.name << " " << size;
    for (const size_t more : {1u, 2u, 8u}) {
      Bytes longer = set.bytes;
      longer.resize(longer.size() + more);
      ASSERT_FALSE(is_valid(longer)) << set.name;
    }
  }
}

// A set has one compact form: bytes that are accepted are those of their elements.
TEST(CompactView, EveryBitMatters) {
  Random random(34);
  size_t accepted = 0;
  for (const NamedSet& set : compact_sets()) {
    const size_t step = set.bytes.size() / 300 + 1;
    for (size_t at = 0; at < set.bytes.size(); at += at < 64 ? 1 : step)
      for (const unsigned bit : {0u, 3u, 7u}) {
        Bytes changed = set.bytes;
        changed[at] ^= std::byte{1} << bit;
        if (!is_valid(changed)) continue;
        ++accepted;
        const Elements elements = read_back(CompactView::open(changed));
        ASSERT_NE(elements, set.elements) << set.name << ", byte " << at;
        ASSERT_EQ(encode_compact(elements), changed) << set.name << ", byte " << at;
      }
  }
  EXPECT_GT(accepted, 1000u);
}

TEST(CompactView, RefusesOtherKindsAndHeaders) {
  const auto bytes = [](std::initializer_list<int> values) {
    Bytes all;
    for (const int value : values) all.push_back(static_cast<std::byte>(value));
    return all;
  };
  EXPECT_TRUE(is_valid(bytes({0x24})));
  EXPECT_TRUE(is_valid(bytes({0x25, 0, 0, 2, 0, 2, 0, 1, 0, 5, 0, 9, 0})));
  EXPECT_FALSE(is_valid({}));
  EXPECT_FALSE(is_valid(bytes({0x20, 0})));                                                  // few blocks in a long way
  EXPECT_FALSE(is_valid(bytes({0x20, 1, 0, 0, 2, 0, 2, 0, 1, 0, 5, 0, 9, 0})));              // the same
  EXPECT_FALSE(is_valid(bytes({0x22, 1, 0, 0, 0, 0, 0, 0, 2, 0, 2, 0, 1, 0, 5, 0, 9, 0})));  // wide without need
  EXPECT_FALSE(is_valid(bytes({0x22, 1, 0, 0, 1, 0, 0, 0, 2, 0, 2, 0, 1, 0, 5, 0, 9, 0})));  // the same: 3 bytes are enough
  EXPECT_TRUE(is_valid(bytes({0x22, 1, 0, 0, 0, 1, 0, 0, 2, 0, 2, 0, 1, 0, 5, 0, 9, 0})));
  EXPECT_TRUE(is_valid(bytes({0x28, 1, 0, 0, 1, 2, 0, 2, 0, 1, 0, 5, 0, 9, 0})));
  EXPECT_FALSE(is_valid(bytes({0x28, 1, 0xff, 0xff, 0, 2, 0, 2, 0, 1, 0, 5, 0, 9, 0})));        // 2 bytes are enough
  EXPECT_FALSE(is_valid(bytes({0x28, 1, 0, 0, 1, 2, 0, 2, 0, 1, 0, 5, 0, 9})));                 // cut off
  EXPECT_FALSE(is_valid(bytes({0x28, 0})));                                                     // no key needs 3 bytes
  EXPECT_FALSE(is_valid(bytes({0x22, 1, 0, 0, 0, 0, 0, 0x40, 2, 0, 2, 0, 1, 0, 5, 0, 9, 0})));  // 2^62
  EXPECT_FALSE(is_valid(bytes({0x2a, 1, 0, 0, 1, 2, 0, 2, 0, 1, 0, 5, 0, 9, 0})));              // unknown flags
  EXPECT_FALSE(is_valid(bytes({0x34})));                                                        // unknown version
  EXPECT_FALSE(is_valid(bytes({0x25, 0, 0, 1, 0, 1, 0, 5, 0, 6, 0})));                          // an array that is a run
  EXPECT_TRUE(is_valid(bytes({0x25, 0, 0, 1, 0, 0, 0x20, 5, 0})));
  EXPECT_FALSE(is_valid(bytes({0x25, 0, 0, 0, 0, 0, 0x20, 5, 0})));                       // a run of one
  EXPECT_FALSE(is_valid(bytes({0x25, 0, 0, 1, 0, 0, 0x20, 0xff, 0xff})));                 // a run beyond the block
  EXPECT_FALSE(is_valid(bytes({0x25, 0, 0, 7, 0, 3, 0x20, 5, 0, 8, 0, 9, 0, 12, 0})));    // adjacent runs
  EXPECT_FALSE(is_valid(bytes({0x25, 0, 0, 6, 0, 3, 0x20, 5, 0, 8, 0, 8, 0, 10, 0})));    // overlapping runs
  EXPECT_FALSE(is_valid(bytes({0x25, 0, 0, 7, 0, 2, 0x20, 5, 0, 8, 0, 10, 0})));          // half a run
  EXPECT_FALSE(is_valid(bytes({0x25, 0, 0, 2, 0, 2, 0x30, 1, 0, 5, 0, 9, 0})));           // unknown kind
  EXPECT_FALSE(is_valid(bytes({0x25, 0, 0, 3, 0, 2, 0, 1, 0, 5, 0, 9, 0})));              // count
  EXPECT_FALSE(is_valid(bytes({0x25, 0, 0, 2, 0, 2, 0, 1, 0, 9, 0, 5, 0})));              // not ascending
  EXPECT_FALSE(is_valid(bytes({0x26, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0})));  // a key twice
}

TEST(CompactView, RunsEndInsideTheirBlock) {
  for (const uint32_t count : {1u, 36u, 37u, 65536u}) {
    std::byte first[2];
    store_le<uint16_t>(first, 65500);
    const BlockRun run = CompactBlock{0, count, {BlockKind::kRuns, 1}, first}.run(0);
    EXPECT_EQ(run.first, 65500u);
    EXPECT_EQ(run.last, std::min(65499 + count, 65535u));
  }
}

TEST(CompactView, ValidationStopsWhenAsked) {
  Random random(35);
  const Bytes bytes = encode_compact(random_elements(random, 100000, 30));
  Polls polls;
  validate_compact(bytes, polls.token());
  const uint64_t all = polls.seen;
  EXPECT_GT(all, 500u);
  polls = {0, all};
  EXPECT_THROW(validate_compact(bytes, polls.token()), Error);
}

}  // namespace
}  // namespace batmap::test
