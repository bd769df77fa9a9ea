// Itemset counts: written, read, added and checked, against a map of itemsets. Malformed bytes, large numbers,
// cancellation, lack of memory.
#include "itemsets/counts/itemset_counts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <fstream>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "core/error.h"
#include "itemsets/counts/itemset_sorter.h"
#include "test/unit/shared/failing_run.h"
#include "test/unit/shared/shapes.h"

namespace batmap::test {
namespace {

using CountBytes = std::vector<std::byte>;

/// The content of a value in the plainest form. The map's order is that of the nodes.
struct ItemsetCountMap {
  std::map<std::vector<int64_t>, uint64_t> counts;
  uint64_t total = 0;

  ItemsetCountMap& operator+=(const ItemsetCountMap& other) {
    for (const auto& [itemset, count] : other.counts) counts[itemset] += count;
    total += other.total;
    return *this;
  }
  bool operator==(const ItemsetCountMap&) const = default;
};

CountBytes bytes_of(const GrowingBuffer<std::byte>& buffer) { return {buffer.begin(), buffer.end()}; }

CountBytes written_counts(const ItemsetCountMap& map, const ExecutionOptions& options) {
  AscendingWriter items(options);
  TreeWriter nodes(CodesBelow::kAscend, options);
  std::map<int64_t, uint32_t> position;
  for (const auto& [itemset, count] : map.counts)
    for (const int64_t item : itemset) position[item] = 0;
  for (auto& [item, index] : position) {
    index = items.count();
    items.add(item);
  }
  std::vector<int64_t> before;
  for (const auto& [itemset, count] : map.counts) {
    const auto common = static_cast<size_t>(std::ranges::mismatch(before, itemset).in2 - itemset.begin());
    for (size_t at = common; at < itemset.size(); ++at)
      nodes.add(static_cast<uint32_t>(at + 1), position.at(itemset[at]), at + 1 == itemset.size() ? count : 0);
    before = itemset;
  }
  GrowingBuffer<std::byte> out(*options.memory);
  finish_itemset_counts(items, nodes, map.total, out);
  return bytes_of(out);
}

CountBytes written_counts(const ItemsetCountMap& map) {
  MemoryMeter meter;
  return written_counts(map, {1, &meter, {}});
}

bool are_refused(const CountBytes& bytes) {
  MemoryMeter meter;
  try {
    validate_itemset_counts(bytes, {1, &meter, {}});
    return false;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidData);
    return true;
  }
}

/// Reads a value, and checks every guarantee about a finished one.
ItemsetCountMap read_counts(const CountBytes& bytes) {
  EXPECT_FALSE(are_refused(bytes));
  MemoryMeter meter;
  const ItemsetCountsHeader header = itemset_counts_header(bytes.data());
  EXPECT_EQ(header.bytes, bytes.size());
  EXPECT_EQ(header.behind, 0u);
  const Buffer<int64_t> items = itemset_counts_items(bytes.data(), {.threads = 1, .memory = &meter, .cancel = {}});
  ItemsetCountMap map;
  map.total = header.total;
  for (TreeNodes nodes = itemset_counts_nodes(bytes.data()); nodes.next();) {
    std::vector<int64_t> itemset;
    for (const uint32_t index : nodes.path()) itemset.push_back(items[index]);
    EXPECT_TRUE(std::ranges::is_sorted(itemset));
    EXPECT_EQ(itemset.size(), nodes.length());
    EXPECT_EQ(nodes.path().back(), nodes.code());
    if (nodes.count() > 0) {
      EXPECT_TRUE(map.counts.emplace(itemset, nodes.count()).second) << "an itemset comes once";
    }
  }
  EXPECT_EQ(map.counts.size(), header.itemsets);
  return map;
}

CountBytes sum_of_counts(const std::vector<CountBytes>& values, const ExecutionOptions& options) {
  std::vector<const std::byte*> pointers;
  for (const CountBytes& value : values) pointers.push_back(value.data());
  GrowingBuffer<std::byte> out(*options.memory);
  add_itemset_counts(pointers, out, options);
  return bytes_of(out);
}

CountBytes sum_of_counts(const std::vector<CountBytes>& values) {
  MemoryMeter meter;
  return sum_of_counts(values, {1, &meter, {}});
}

/// Random itemsets, which need not have their subsets.
ItemsetCountMap draw_counts(Random& random, uint64_t itemsets, uint64_t items, int64_t spread) {
  ItemsetCountMap map;
  map.total = 1 + random.below(1000);
  for (uint64_t k = 0; k < itemsets; ++k) {
    std::vector<int64_t> itemset;
    for (uint64_t length = 1 + random.below(5); length > 0; --length)
      itemset.push_back((random.signed_below(items) - 3) * spread);
    std::ranges::sort(itemset);
    itemset.erase(std::unique(itemset.begin(), itemset.end()), itemset.end());
    map.counts[itemset] = 1 + random.below(map.total);
  }
  return map;
}

std::vector<ItemsetCountMap> some_counts() {
  Random random(kSeed);
  std::vector<ItemsetCountMap> all = {{}, {{}, 7}, {{{{5}, 1}}, 1}, {{{{5, 9, 11}, 3}}, 3}};
  all.push_back({{{{INT64_MIN}, 2}, {{INT64_MIN, INT64_MAX}, 1}, {{INT64_MAX}, 2}}, 3});
  for (const uint64_t itemsets : {1, 10, 300})
    for (const uint64_t items : {4, 30, 300})
      for (const int64_t spread : {int64_t{1}, int64_t{1} << 50})
        all.push_back(draw_counts(random, itemsets, items, spread));
  return all;
}

TEST(ItemsetCounts, AreReadAsWritten) {
  for (const ItemsetCountMap& map : some_counts()) {
    const CountBytes bytes = written_counts(map);
    EXPECT_EQ(read_counts(bytes), map) << "seed " << kSeed;
    EXPECT_TRUE(is_itemset_counts(bytes, bytes.size()));
  }
  EXPECT_EQ(written_counts({}).size(), kItemsetCountsHeaderBytes);
}

TEST(ItemsetCounts, AddUpItemsetByItemset) {
  const std::vector<ItemsetCountMap> all = some_counts();
  for (const ItemsetCountMap& left : all)
    for (const ItemsetCountMap& right : all) {
      ItemsetCountMap expected = left;
      expected += right;
      ASSERT_EQ(sum_of_counts({written_counts(left), written_counts(right)}), written_counts(expected)) << "seed " << kSeed;
    }
}

/// What a value lacks of a sum.
CountBytes missing_counts(const CountBytes& sum, const CountBytes& value, const ExecutionOptions& options) {
  GrowingBuffer<std::byte> out(*options.memory);
  missing_itemset_counts(sum.data(), value.data(), out, options);
  return bytes_of(out);
}

CountBytes completed_counts(const CountBytes& counts, const CountBytes& more, const ExecutionOptions& options) {
  GrowingBuffer<std::byte> out(*options.memory);
  EXPECT_TRUE(complete_itemset_counts(counts.data(), more.data(), out, options));
  return bytes_of(out);
}

TEST(ItemsetCounts, WhatAValueLacksOfASumCompletesIt) {
  const std::vector<ItemsetCountMap> all = some_counts();
  MemoryMeter meter;
  const ExecutionOptions options{1, &meter, {}};
  for (const ItemsetCountMap& a : all)
    for (const ItemsetCountMap& b : all) {
      ItemsetCountMap sum = a;
      sum += b;
      ItemsetCountMap lacks = sum;
      for (const auto& [itemset, count] : a.counts) lacks.counts.erase(itemset);
      ASSERT_EQ(read_counts(missing_counts(written_counts(sum), written_counts(a), options)), lacks);
      ItemsetCountMap completed = a;
      completed.total = sum.total;
      const CountBytes bytes = written_counts(completed);
      completed += lacks;
      completed.total = sum.total;
      ASSERT_EQ(read_counts(completed_counts(bytes, written_counts(lacks), options)), completed);
      if (lacks.counts.empty()) continue;
      GrowingBuffer<std::byte> out(meter);
      EXPECT_FALSE(complete_itemset_counts(written_counts(completed).data(), written_counts(lacks).data(), out, options))
          << "some are counted twice";
    }
}

TEST(ItemsetCounts, StatesAreAddedWithAllThatLiesBehind) {
  Random random(kSeed + 1);
  ItemsetCountMap expected;
  std::vector<CountBytes> states(2);
  for (int k = 0; k < 60; ++k) {
    const ItemsetCountMap map = draw_counts(random, random.below(20), 12, 1);
    const CountBytes value = written_counts(map);
    expected += map;
    CountBytes& state = states[k % 2];
    if (state.empty()) {
      state = value;
      continue;
    }
    const size_t used = state.size();
    state.resize(used + value.size());
    itemset_counts_append(state.data(), value.data());
    ASSERT_TRUE(is_itemset_counts(state, state.size()));
    ASSERT_EQ(itemset_counts_header(state.data()).used(), state.size());
    ASSERT_TRUE(are_refused(state)) << "a state is no value";
  }
  EXPECT_EQ(sum_of_counts(states), written_counts(expected));
  const size_t used = states[0].size();
  states[0].resize(used + states[1].size());
  itemset_counts_append(states[0].data(), states[1].data());
  EXPECT_EQ(sum_of_counts({states[0]}), written_counts(expected));
}

TEST(ItemsetCounts, LargeCountsAreExact) {
  ItemsetCountMap map{{{{1}, 3}, {{1, 2}, 1}}, 3};
  CountBytes bytes = written_counts(map);
  for (int doubled = 0; doubled < 61; ++doubled) {
    bytes = sum_of_counts({bytes, bytes});
    map += ItemsetCountMap(map);
    ASSERT_EQ(read_counts(bytes), map);
  }
  try {
    sum_of_counts({bytes, bytes});
    FAIL() << "3 x 2^62 transactions are too many";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kTooLarge);
  }
}

TEST(ItemsetCounts, AFrequentItemsetTakesFewBytes) {
  ItemsetCountMap map;
  map.total = 100;
  for (int64_t a = 0; a < 40; ++a)
    for (int64_t b = a + 1; b < 40; ++b)
      for (int64_t c = b + 1; c < 40; ++c) map.counts[{a, b}] = map.counts[{a}] = map.counts[{a, b, c}] = 50;
  EXPECT_LT(written_counts(map).size(), 5 * map.counts.size() / 2);
}

TEST(ItemsetCounts, MalformedBytesAreRefused) {
  const CountBytes bytes = written_counts({{{{2}, 9}, {{2, 4}, 5}, {{2, 4, 300}, 3}, {{4, 300}, 200}, {{300}, 3}}, 250});
  ASSERT_FALSE(are_refused(bytes));
  for (size_t size = 0; size < bytes.size(); ++size) EXPECT_TRUE(are_refused({bytes.begin(), bytes.begin() + size})) << size;
  CountBytes longer = bytes;
  longer.push_back(std::byte{0});
  EXPECT_TRUE(are_refused(longer));
  // Each change of a byte is refused, or gives another value that is sound.
  int sound = 0;
  for (size_t at = 0; at < bytes.size(); ++at)
    for (int value = 0; value < 256; ++value) {
      CountBytes changed = bytes;
      changed[at] = static_cast<std::byte>(value);
      if (changed == bytes || are_refused(changed)) continue;
      ++sound;
      ASSERT_EQ(written_counts(read_counts(changed)), changed) << "equal counts have equal bytes";
    }
  EXPECT_GT(sound, 10);

  const auto value_of = [](std::vector<int> rest, uint32_t items, uint64_t itemsets, uint64_t item_bytes) {
    ItemsetCountsHeader header{};
    header.version = 1;
    header.items = items;
    header.bytes = kItemsetCountsHeaderBytes + rest.size();
    header.total = 9;
    header.itemsets = itemsets;
    header.item_bytes = item_bytes;
    CountBytes value(header.bytes);
    std::memcpy(value.data(), &header, sizeof header);
    for (size_t k = 0; k < rest.size(); ++k) value[kItemsetCountsHeaderBytes + k] = static_cast<std::byte>(rest[k]);
    return value;
  };
  EXPECT_FALSE(are_refused(value_of({4, 1, 8}, 1, 1, 1)));
  EXPECT_FALSE(are_refused(value_of({4, 0, 1, 9, 1, 8, 0, 1, 8}, 2, 3, 2)));
  EXPECT_TRUE(are_refused(value_of({4, 1, 8}, 1, 2, 1))) << "number of itemsets";
  EXPECT_TRUE(are_refused(value_of({4, 1, 20}, 1, 1, 1))) << "more transactions than there are";
  EXPECT_TRUE(are_refused(value_of({4, 1, 0}, 1, 0, 1))) << "a path to nowhere";
  EXPECT_TRUE(are_refused(value_of({4, 1, 1}, 1, 0, 1))) << "cut off below a path";
  EXPECT_TRUE(are_refused(value_of({4, 0, 1, 9, 1, 8}, 2, 2, 2))) << "without an end";
  EXPECT_TRUE(are_refused(value_of({4, 0, 1, 9, 0, 1, 8}, 2, 2, 2))) << "nothing before an end";
  EXPECT_TRUE(are_refused(value_of({4, 0, 1, 8, 0, 1, 8}, 2, 2, 2))) << "an end at the top";
  EXPECT_TRUE(are_refused(value_of({4, 0, 1, 8}, 2, 1, 2))) << "an item in no itemset";
  EXPECT_TRUE(are_refused(value_of({4, 2, 8}, 1, 1, 1))) << "an item that is not there";
  EXPECT_TRUE(are_refused(value_of({0, 8}, 0, 1, 0))) << "nodes without items";
  EXPECT_TRUE(are_refused(value_of({1, 8}, 0, 1, 0))) << "nodes without items";
}

TEST(ItemsetCounts, TooLongAnItemsetIsRefused) {
  for (const size_t length : {kMaxPathLength, kMaxPathLength + 1}) {
    ItemsetCountMap map;
    map.total = 1;
    std::vector<int64_t> itemset(length);
    for (size_t k = 0; k < length; ++k) itemset[k] = static_cast<int64_t>(k);
    map.counts[itemset] = 1;
    EXPECT_EQ(are_refused(written_counts(map)), length > kMaxPathLength);
  }
}

TEST(ItemsetCounts, SoundHeadersAreToldFromOthers) {
  const CountBytes bytes = written_counts({{{{2}, 9}}, 250});
  EXPECT_TRUE(is_itemset_counts(bytes, bytes.size() + 100)) << "with room behind it";
  EXPECT_FALSE(is_itemset_counts(bytes, bytes.size() - 1));
  EXPECT_FALSE(is_itemset_counts(std::span(bytes).first(47), bytes.size()));
  for (const size_t at : {0, 1, 4, 8, 16, 31, 32, 40}) {
    CountBytes changed = bytes;
    changed[at] = std::byte{0xff};
    EXPECT_FALSE(is_itemset_counts(changed, changed.size())) << at;
  }
}

// Stored values must stay readable: the bytes of a small value, as they are in tables.
TEST(ItemsetCounts, BytesAreThoseOfTheGoldenFile) {
  const std::string source = __FILE__;
  const std::string path = source.substr(0, source.rfind("/unit/")) + "/golden/small_itemset_counts.hex";
  std::ifstream file(path);
  ASSERT_TRUE(file) << path;
  std::string expected, line;
  while (std::getline(file, line))
    for (const char c : line.substr(0, line.find('#')))
      if (std::isxdigit(static_cast<unsigned char>(c))) expected += c;
  std::string found;
  for (const std::byte byte :
       written_counts({{{{-2}, 9}, {{-2, 4}, 5}, {{-2, 4, 300}, 3}, {{4}, 200}, {{4, 300}, 200}, {{300}, 3}}, 250})) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned>(byte));
    found += digits;
  }
  EXPECT_EQ(found, expected);
}

// An itemset may have 65,535 items, so work is not counted by itemsets.
TEST(ItemsetCounts, LongItemsetsAreSortedWithManyPolls) {
  constexpr int64_t kEnough = int64_t{1} << 40;
  MemoryMeter meter;
  Countdown countdown{{kEnough}};
  const ExecutionOptions options{.threads = 1, .memory = &meter, .cancel = countdown.token()};
  const auto polls = [&] {
    const int64_t seen = kEnough - countdown.left;
    countdown.left = kEnough;
    return seen;
  };
  ItemsetSorter sorter(options);
  std::vector<uint32_t> numbers(60000);
  std::iota(numbers.begin(), numbers.end(), 0u);
  for (uint32_t leaf = 0; leaf < 100; ++leaf) {
    numbers.back() = 100000 - leaf;
    sorter.add(numbers, 1);
  }
  EXPECT_GE(polls(), 100);
  sorter.sort();
  EXPECT_GT(polls(), 200);
  size_t nodes = 0;
  sorter.visit([&](uint32_t, uint32_t, uint64_t, size_t) { ++nodes; });
  EXPECT_EQ(nodes, 59999u + 100u);
  EXPECT_GE(polls(), 50);
}

TEST(ItemsetCounts, CancelledAndOutOfMemory) {
  Random random(kSeed + 2);
  const ItemsetCountMap map = draw_counts(random, 60000, 3000, 1);
  const CountBytes value = written_counts(map);
  const CountBytes few = written_counts(draw_counts(random, 100, 3000, 1));
  const FailingRun run = [&](const ExecutionOptions& options) {
    validate_itemset_counts(value, options);
    sum_of_counts({value, value, value}, options);
    missing_counts(value, few, options);
    GrowingBuffer<std::byte> out(*options.memory);
    complete_itemset_counts(value.data(), few.data(), out, options);
  };
  run_out_of_memory_everywhere(1, 100003, 10, run);
  cancel_everywhere(1, 5, run);
}

}  // namespace
}  // namespace batmap::test
