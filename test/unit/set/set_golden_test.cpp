// Stored values must stay readable, and the same set must be stored in the same way: bytes of each container and
// class of universe, as they are in tables. A reader written from FORMAT.md alone has checked the values once.
#include <gtest/gtest.h>

#include <fstream>

#include "test/unit/shared/sets.h"

namespace batmap::test {
namespace {

/// Distinct for count <= 2^width, since the factor is odd.
Elements scattered(uint64_t count, int width) {
  Elements elements;
  for (uint64_t i = 0; i < count; ++i) elements.push_back(i * 0x9e3779b97f4a7c15 & (universe_of(width) - 1));
  std::sort(elements.begin(), elements.end());
  return elements;
}

Elements multiples(uint64_t count, uint64_t of) {
  Elements elements;
  for (uint64_t i = 0; i < count; ++i) elements.push_back(i * of);
  return elements;
}

Elements first_that_clash(uint64_t count, int width) {
  Elements elements;
  for (uint64_t x = 0; elements.size() < count; ++x) {
    bool clashes = true;
    for (int table = 0; table < kTables; ++table) clashes &= (Permutation<>(table, width).forward(x) & 511) < 48;
    if (clashes) elements.push_back(x);
  }
  return elements;
}

Bytes golden(const std::string& name) {
  const std::string source = __FILE__;
  std::ifstream file(source.substr(0, source.rfind("/unit/")) + "/golden/" + name + ".hex");
  EXPECT_TRUE(file) << name;
  std::string digits, line;
  while (std::getline(file, line))
    for (const char c : line.substr(0, line.find('#')))
      if (std::isxdigit(static_cast<unsigned char>(c))) digits += c;
  Bytes bytes;
  for (size_t i = 0; i + 1 < digits.size(); i += 2)
    bytes.push_back(static_cast<std::byte>(std::stoi(digits.substr(i, 2), nullptr, 16)));
  return bytes;
}

TEST(SetGolden, BytesOfEveryContainerAndUniverseClass) {
  const struct {
    const char* name;
    Container container;
    int width;
    Elements elements;
  } values[] = {
      {"set_empty", Container::kArray, 32, {}},
      {"set_tiny", Container::kArray, 0, {0}},
      {"set_array_narrow", Container::kArray, 32, scattered(5, 32)},
      {"set_array_wide", Container::kArray, 62, scattered(5, 62)},
      {"set_bitmap_tiny", Container::kBitmap, 3, {1, 5, 6}},
      {"set_bitmap", Container::kBitmap, 11, scattered(300, 11)},
      {"set_bitmap_short", Container::kBitmap, 11, multiples(100, 5)},
      {"set_batmap_narrow", Container::kBatmap, 15, scattered(256, 15)},
      {"set_batmap_wide", Container::kBatmap, 40, scattered(256, 40)},
      {"set_batmap_stash", Container::kBatmap, 20, first_that_clash(256, 20)},
  };
  for (const auto& value : values) {
    const Bytes bytes = golden(value.name);
    ASSERT_NO_THROW(validate(bytes)) << value.name;
    const SetView view = SetView::open(bytes);
    EXPECT_EQ(view.container(), value.container) << value.name;
    EXPECT_EQ(view.width(), value.width) << value.name;
    EXPECT_EQ(decoded(view), value.elements) << value.name;
    EXPECT_EQ(encode(value.elements, value.width), bytes) << value.name;
  }
  EXPECT_GT(SetView::open(golden("set_batmap_stash")).stash(), 100u);
}

// The examples of FORMAT.md.
TEST(SetGolden, ExamplesOfTheFormatPage) {
  const auto hex = [](const Bytes& bytes) {
    std::string text;
    char two[3];
    for (const std::byte byte : bytes) {
      std::snprintf(two, sizeof two, "%02x", std::to_integer<unsigned>(byte));
      text += two;
    }
    return text;
  };
  EXPECT_EQ(hex(encode({1, 5, 9}, 20)),
            "1114030000000000"
            "01000000"
            "05000000"
            "09000000");
  EXPECT_EQ(hex(encode({1, 5, 9}, 62)),
            "113e030000000000"
            "0100000000000000"
            "0500000000000000"
            "0900000000000000");
  EXPECT_EQ(hex(encode({1, 5, 6}, 3)),
            "1303030000000000"
            "6200000000000000");
  Elements sixty_five = multiples(64, 1);
  sixty_five.push_back(100);
  EXPECT_EQ(hex(encode(sixty_five, 8)),
            "1308410000000000"
            "ffffffffffffffff"
            "0000000010000000");
  EXPECT_EQ(hex(encode({}, 32)), "1120000000000000");
}

}  // namespace
}  // namespace batmap::test
