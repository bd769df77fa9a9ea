// Blocks of texts: what is written is read, ranks are those of a sorted list, and every damaged block is refused.
#include "relation/item_texts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/error.h"
#include "test/unit/shared/shapes.h"

namespace batmap::test {
namespace {

/// Texts around the lengths at which varints and prefixes change, and some that differ late.
std::vector<std::string> some_texts() {
  std::vector<std::string> texts;
  for (const size_t length : {0, 1, 7, 8, 9, 15, 16, 17, 127, 128, 129, 16383, 16384}) texts.emplace_back(length, 'x');
  for (const char* text : {"xxxxxxxx\xff", "xxxxxxxx\x01", "\xff", "\x80", "\x7f", "a", "ab", "abc", "b"})
    texts.emplace_back(text);
  return texts;
}

std::vector<std::byte> block_of(const std::vector<std::string>& texts) {
  std::vector<std::byte> block;
  for (const std::string& text : texts) {
    std::vector<std::byte> one(text_bytes_at_most(text.size()));
    one.resize(static_cast<size_t>(put_text(one.data(), text) - one.data()));
    block.insert(block.end(), one.begin(), one.end());
  }
  return block;
}

bool is_refused_block(std::span<const std::byte> block, uint32_t count) {
  try {
    validate_texts(block, count, {});
    return false;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidData);
    return true;
  }
}

TEST(ItemTexts, AreReadAsWritten) {
  const std::vector<std::string> texts = some_texts();
  const std::vector<std::byte> block = block_of(texts);
  std::vector<std::string_view> read(texts.size());
  read_texts(block, read, {});
  EXPECT_TRUE(std::equal(texts.begin(), texts.end(), read.begin()));
  std::vector<std::string_view> other(texts.size() - 1);
  EXPECT_THROW(read_texts(block, other, {}), Error);
  other.resize(texts.size() + 1);
  EXPECT_THROW(read_texts(block, other, {}), Error);
  EXPECT_NO_THROW(read_texts({}, {}, {}));
}

TEST(ItemTexts, RanksAreThoseOfASortedList) {
  std::vector<std::string> texts = some_texts();
  Random random(kSeed);
  for (int i = 0; i < 500; ++i) {
    std::string text(random.below(20), '\0');
    for (char& c : text) c = static_cast<char>('a' + random.below(2) + (random.chance(5) ? 100 : 0));
    texts.push_back(text);
  }
  std::sort(texts.begin(), texts.end());
  texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
  const std::vector<std::string> expected = texts;
  random.shuffle(texts);
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  std::vector<uint32_t> ranks(texts.size());
  std::vector<uint32_t> order(texts.size());
  MemoryMeter meter;
  rank_texts(views, ranks, order, meter, {});
  std::vector<std::string_view> ascending;
  for (size_t rank = 0; rank < texts.size(); ++rank) {
    EXPECT_EQ(texts[order[rank]], expected[rank]);
    EXPECT_EQ(ranks[order[rank]], rank);
    ascending.push_back(expected[rank]);
  }
  for (size_t rank = 0; rank < texts.size(); ++rank) EXPECT_EQ(rank_of_text(ascending, expected[rank]), rank);
  for (const char* text : {"c", "nothing", "\xff\xff"}) EXPECT_EQ(rank_of_text(ascending, text), ascending.size());
  EXPECT_EQ(rank_of_text({}, "a"), 0u);
}

TEST(ItemTexts, OnlyAscendingTextsAreValid) {
  EXPECT_FALSE(is_refused_block(block_of({"", "a", "ab", "b"}), 4));
  EXPECT_FALSE(is_refused_block({}, 0));
  EXPECT_TRUE(is_refused_block(block_of({"a", "a"}), 2));
  EXPECT_TRUE(is_refused_block(block_of({"b", "a"}), 2));
  EXPECT_TRUE(is_refused_block(block_of({"ab", "a"}), 2));
  EXPECT_TRUE(is_refused_block(block_of({"\x80", "\x7f"}), 2)) << "bytes are unsigned";
  EXPECT_TRUE(is_refused_block(block_of({"a"}), 2));
  EXPECT_TRUE(is_refused_block(block_of({"a", "b"}), 1));
}

TEST(ItemTexts, EveryTruncationIsRefused) {
  const std::vector<std::byte> block = block_of({"", "abc", std::string(200, 'x')});
  for (size_t size = 0; size < block.size(); ++size) EXPECT_TRUE(is_refused_block(std::span(block).first(size), 3)) << size;
  const std::vector<std::byte> endless(30, std::byte{0xff});
  EXPECT_TRUE(is_refused_block(endless, 1));
  const std::byte padded[] = {std::byte{0x81}, std::byte{0}, std::byte{'a'}};
  EXPECT_TRUE(is_refused_block(padded, 1)) << "a length of two bytes where one is enough";
}

TEST(ItemTexts, SortingIsCancelled) {
  std::vector<std::string> texts;
  for (int i = 0; i < 100; ++i) texts.push_back(std::to_string(i * 79 % 100));
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  std::vector<uint32_t> ranks(texts.size());
  std::vector<uint32_t> order(texts.size());
  MemoryMeter meter;
  EXPECT_THROW(rank_texts(views, ranks, order, meter, CancelToken{[](void*) { return true; }, nullptr}), Error);
  EXPECT_EQ(meter.current(), 0u);
}

}  // namespace
}  // namespace batmap::test
