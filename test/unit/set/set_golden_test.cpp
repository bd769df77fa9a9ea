// Stored values must stay readable, and the same set must be stored in the same way: bytes of each container and
// class of universe, as they are in tables. A reader written from FORMAT.md alone has checked the values once.
#include <gtest/gtest.h>

#include <string>

#include "test/unit/shared/golden.h"
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
    const Bytes bytes = golden_bytes(value.name);
    ASSERT_NO_THROW(validate(bytes)) << value.name;
    const SetView view = SetView::open(bytes);
    EXPECT_EQ(view.container(), value.container) << value.name;
    EXPECT_EQ(view.width(), value.width) << value.name;
    EXPECT_EQ(decoded(view), value.elements) << value.name;
    EXPECT_EQ(encode(value.elements, value.width), bytes) << value.name;
  }
  EXPECT_GT(SetView::open(golden_bytes("set_batmap_stash")).stash(), 100u);
}

// The compact form: kinds of blocks, and headers of every sort.
TEST(SetGolden, BytesOfEveryBlockAndHeader) {
  const auto every = [](uint64_t step, uint64_t first, uint64_t count) {
    Elements elements = multiples(count, step);
    for (uint64_t& x : elements) x += first;
    return elements;
  };
  Elements runs;
  for (uint64_t r = 0; r < 40; ++r)
    for (const uint64_t x : every(1, 1000 * r, 100)) runs.push_back(x);
  Elements kinds = every(1, 0, 5000);
  for (const uint64_t x : every(2, 65536, 30000)) kinds.push_back(x);
  for (const uint64_t x : every(77, 3 * 65536, 200)) kinds.push_back(x);
  const struct {
    const char* name;
    Elements elements;
  } values[] = {
      {"compact_empty", {}},
      {"compact_few", {1, 5, 9}},
      {"compact_runs", runs},
      {"compact_kinds", kinds},
      {"compact_short", scattered(300, 22)},
      {"compact_medium", scattered(60, 38)},
      {"compact_wide", scattered(60, 60)},
      {"compact_long", scattered(200, 32)},
  };
  for (const auto& value : values) {
    const Bytes bytes = golden_bytes(value.name);
    ASSERT_NO_THROW(validate(bytes)) << value.name;
    EXPECT_EQ(SetView::open(bytes).container(), Container::kCompact) << value.name;
    EXPECT_EQ(decoded(SetView::open(bytes)), value.elements) << value.name;
    EXPECT_EQ(encode_compact(value.elements), bytes) << value.name;
  }
  const Bytes last = golden_bytes("compact_long");
  EXPECT_TRUE(SetView::open(last).compact().has_long_header());
}

// The examples of FORMAT.md.
TEST(SetGolden, ExamplesOfTheFormatPage) {
  EXPECT_EQ(hex_of(encode({1, 5, 9}, 20)),
            "1114030000000000"
            "01000000"
            "05000000"
            "09000000");
  EXPECT_EQ(hex_of(encode({1, 5, 9}, 62)),
            "113e030000000000"
            "0100000000000000"
            "0500000000000000"
            "0900000000000000");
  EXPECT_EQ(hex_of(encode({1, 5, 6}, 3)),
            "1303030000000000"
            "6200000000000000");
  Elements sixty_five = multiples(64, 1);
  sixty_five.push_back(100);
  EXPECT_EQ(hex_of(encode(sixty_five, 8)),
            "1308410000000000"
            "ffffffffffffffff"
            "0000000010000000");
  EXPECT_EQ(hex_of(encode({}, 32)), "1120000000000000");
  EXPECT_EQ(hex_of(encode_compact({})), "24");
  EXPECT_EQ(hex_of(encode_compact({1, 5, 9})), "25000002000200010005000900");
  EXPECT_EQ(hex_of(encode_compact({5, 6, 7})), "250000020000200500");
  EXPECT_EQ(hex_of(encode_compact({0, 1, 2, 3, 7, 8, 9})), "250000060003200000030007000900");
  EXPECT_EQ(hex_of(encode_compact({1, 65536, uint64_t{1} << 32})),
            "2803"
            "000000010000000001"
            "000000000000"
            "000000000000"
            "010000000000");
  EXPECT_EQ(hex_of(encode_compact({1, uint64_t{1} << 40})),
            "2202"
            "000000000000000000010000"
            "00000000"
            "00000000"
            "01000000");
}

// Hash indexes, tables that are partitioned by hash, and indexes in order live as long as values: the hash and the order of a set
// never change, whatever its form.
TEST(SetGolden, HashAndOrder) {
  const struct {
    Elements elements;
    uint64_t hash, seeded;
  } values[] = {
      {{}, 0x0u, 0xfc80cd1860e28208u},
      {{0}, 0x378ccccb6b8b8e60u, 0x6e281ff6e24cbc1au},
      {{0, 1, 2}, 0x3ee3f3b0812c1cbbu, 0x396a8addda697ff7u},
      {multiples(300, 3), 0x92658fe46cae8b49u, 0xc91f51c837ef2defu},
      {{7, 100, 1000000}, 0xb263eabb2fa836d6u, 0xcc221410215a706cu},
      {{uint64_t{1} << 61}, 0x316d170bb7f78522u, 0xffb1834922d5cd88u},
  };
  const Bytes* before = nullptr;
  std::vector<Bytes> compact;
  for (const auto& value : values) compact.push_back(encode_compact(value.elements));
  for (size_t k = 0; k < compact.size(); ++k) {
    const SetView view = SetView::open(compact[k]);
    EXPECT_EQ(hash(view, 0), values[k].hash) << k;
    EXPECT_EQ(hash(view, 12345), values[k].seeded) << k;
    const Bytes prepared = encode(values[k].elements, 62);
    EXPECT_EQ(hash(SetView::open(prepared), 0), values[k].hash) << k;
    if (before != nullptr) {
      EXPECT_LT(compare(SetView::open(*before), view, {}), 0) << k;
    }
    before = &compact[k];
  }
}

}  // namespace
}  // namespace batmap::test
