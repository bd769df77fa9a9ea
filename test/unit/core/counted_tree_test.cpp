// Ascending numbers and trees of counted paths: what is written is read again, sums and differences are those of maps,
// and any change of a byte is refused or is another tree.
#include "core/counted_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "core/error.h"
#include "test/unit/shared/shapes.h"

namespace batmap::test {
namespace {

using Path = std::vector<uint32_t>;
using Paths = std::map<Path, uint64_t>;  // in the order of a tree
using Bytes = std::vector<std::byte>;

constexpr TreeWords kWords{"counts", "item", "items", "itemset", "itemsets"};
constexpr CodesBelow kBoth[] = {CodesBelow::kAscend, CodesBelow::kAny};
constexpr uint32_t kCodes = 12;

/// A tree of all codes below kCodes.
Paths random_paths(CodesBelow below, Random& random) {
  Paths paths;
  for (uint32_t code = 0; code < kCodes; ++code) paths[{code}] = 1 + random.below(300);
  for (int k = 0; k < 200; ++k) {
    Path path;
    for (uint64_t length = 1 + random.below(6); path.size() < length;)
      path.push_back(static_cast<uint32_t>(random.below(kCodes)));
    if (below == CodesBelow::kAscend) {
      std::ranges::sort(path);
      path.erase(std::ranges::unique(path).begin(), path.end());
    }
    paths[path] = 1 + random.below(1000);
  }
  return paths;
}

void write(const Paths& paths, TreeWriter& writer) {
  Path before;
  for (const auto& [path, count] : paths) {
    const auto common = static_cast<size_t>(std::ranges::mismatch(before, path).in2 - path.begin());
    for (size_t at = common; at < path.size(); ++at)
      writer.add(static_cast<uint32_t>(at + 1), path[at], at + 1 == path.size() ? count : 0);
    before = path;
  }
}

Bytes bytes_of(TreeWriter& writer) {
  const GrowingBuffer<std::byte>& bytes = writer.finish();
  return {bytes.begin(), bytes.end()};
}

Bytes written(const Paths& paths, CodesBelow below, const ExecutionOptions& options) {
  TreeWriter writer(below, options);
  write(paths, writer);
  EXPECT_EQ(writer.counted(), paths.size());
  return bytes_of(writer);
}

TreeNodes nodes_of(const Bytes& bytes, CodesBelow below) { return {bytes.data(), bytes.data() + bytes.size(), below}; }

Paths read(const Bytes& bytes, CodesBelow below) {
  Paths paths;
  for (TreeNodes nodes = nodes_of(bytes, below); nodes.next();) {
    EXPECT_EQ(nodes.length(), nodes.path().size());
    EXPECT_EQ(nodes.code(), nodes.path().back());
    if (nodes.count() > 0) {
      EXPECT_TRUE(paths.emplace(Path(nodes.path().begin(), nodes.path().end()), nodes.count()).second);
    }
  }
  return paths;
}

TEST(CountedTree, WhatIsWrittenIsReadAgain) {
  Random random(kSeed);
  for (const CodesBelow below : kBoth)
    for (int round = 0; round < 20; ++round) {
      MemoryMeter meter;
      const ExecutionOptions options{1, &meter, {}};
      const Paths paths = random_paths(below, random);
      const Bytes bytes = written(paths, below, options);
      EXPECT_EQ(read(bytes, below), paths);
      uint64_t looked_at = 0;
      check_tree(bytes, below, {kCodes, 1, paths.size()}, kWords, options,
                 [&](std::span<const uint32_t> path, uint64_t count) {
                   if (count == 0) return;
                   EXPECT_EQ(paths.at(Path(path.begin(), path.end())), count);
                   ++looked_at;
                 });
      EXPECT_EQ(looked_at, paths.size());
    }
}

TEST(CountedTree, SumsAndDifferencesAreThoseOfMaps) {
  Random random(kSeed + 1);
  const auto same = [](uint32_t code) { return uint64_t{code}; };
  for (const CodesBelow below : kBoth)
    for (int round = 0; round < 20; ++round) {
      MemoryMeter meter;
      const ExecutionOptions options{1, &meter, {}};
      const Paths x = random_paths(below, random);
      Paths y = random_paths(below, random);
      if (round % 2 == 0) std::erase_if(y, [&](const auto& entry) { return x.contains(entry.first); });
      const Bytes of_x = written(x, below, options);
      const Bytes of_y = written(y, below, options);
      Paths sum = x;
      for (const auto& [path, count] : y) sum[path] += count;
      TreeWriter writer(below, options);
      EXPECT_EQ(add_trees(nodes_of(of_x, below), nodes_of(of_y, below), same, same, writer), round % 2 == 0);
      const Bytes of_sum = bytes_of(writer);
      EXPECT_EQ(of_sum, written(sum, below, options));

      Paths missing;
      visit_missing(nodes_of(of_sum, below), nodes_of(of_x, below), same, options,
                    [&](std::span<const uint32_t> path, uint64_t count) {
                      missing[{path.begin(), path.end()}] = count;
                    });
      Paths expected = sum;
      std::erase_if(expected, [&](const auto& entry) { return x.contains(entry.first); });
      EXPECT_EQ(missing, expected);
    }
}

TEST(CountedTree, AChangedByteIsRefusedOrIsAnotherTree) {
  Random random(kSeed + 2);
  for (const CodesBelow below : kBoth) {
    MemoryMeter meter;
    const ExecutionOptions options{1, &meter, {}};
    const Paths paths = random_paths(below, random);
    const Bytes bytes = written(paths, below, options);
    size_t refused = 0;
    for (size_t at = 0; at < bytes.size(); ++at)
      for (int bit = 0; bit < 8; ++bit) {
        Bytes changed = bytes;
        changed[at] ^= static_cast<std::byte>(1 << bit);
        try {
          check_tree(changed, below, {kCodes, 1, paths.size()}, kWords, options, [](std::span<const uint32_t>, uint64_t) {});
        } catch (const Error& error) {
          ASSERT_EQ(error.code(), ErrorCode::kInvalidData);
          ++refused;
          continue;
        }
        const Paths other = read(changed, below);
        ASSERT_NE(other, paths);
        ASSERT_EQ(written(other, below, options), changed);
      }
    EXPECT_GT(refused, 0u);
  }
}

TEST(CountedTree, AscendingNumbersAreReadAgain) {
  Random random(kSeed + 3);
  MemoryMeter meter;
  const ExecutionOptions options{1, &meter, {}};
  const auto drawn = [&] {
    std::set<int64_t> numbers{INT64_MIN, INT64_MAX, 0, -1};
    for (int k = 0; k < 1000; ++k) numbers.insert(static_cast<int64_t>(random.below(UINT64_MAX) >> random.below(64)));
    return std::vector<int64_t>(numbers.begin(), numbers.end());
  };
  const std::vector<int64_t> x = drawn();
  const std::vector<int64_t> y = drawn();
  std::vector<int64_t> both;
  std::ranges::set_union(x, y, std::back_inserter(both));
  uint64_t largest = 0;
  const AscendingUnion sum(
      x, y, [&](uint64_t size) { largest = size; }, options);
  EXPECT_EQ(largest, both.size());
  const GrowingBuffer<std::byte>& bytes = sum.numbers.bytes();
  const auto size = static_cast<uint32_t>(both.size());
  EXPECT_TRUE(std::ranges::equal(read_ascending(bytes.begin(), sum.numbers.count(), options), both));
  check_ascending(bytes.span(), size, kWords, options);
  EXPECT_THROW(check_ascending(bytes.span(), size - 1, kWords, options), Error);
  EXPECT_THROW(check_ascending(bytes.span(), size + 1, kWords, options), Error);
  for (size_t k = 0; k < x.size(); ++k) EXPECT_EQ(both[sum.of_x[k]], x[k]);
  for (size_t k = 0; k < y.size(); ++k) EXPECT_EQ(both[sum.of_y[k]], y[k]);
  EXPECT_TRUE(std::ranges::equal(positions_among(both, x, options), sum.of_x));
}

}  // namespace
}  // namespace batmap::test
