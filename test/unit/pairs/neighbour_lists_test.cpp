// Lists of neighbours against sets of them, in memory and in files whose runs and pieces are small. Then too little memory, files
// that fail, and cancellation.
#include "pairs/neighbour_lists.h"

#include <gtest/gtest.h>

#include <set>

#include "test/unit/shared/failing_run.h"
#include "test/unit/shared/fake_files.h"
#include "test/unit/shared/shapes.h"

namespace batmap::test {
namespace {

using Pairs = std::vector<std::pair<uint32_t, uint32_t>>;

Pairs random_pairs(Random& random, uint64_t count, uint32_t nodes) {
  Pairs pairs;
  for (uint64_t k = 0; k < count; ++k) {
    const auto node = static_cast<uint32_t>(random.below(random.below(nodes) + 1));
    pairs.emplace_back(node, static_cast<uint32_t>(random.below(nodes)));
    if (random.chance(10)) pairs.push_back(pairs[random.below(pairs.size())]);
  }
  return pairs;
}

NeighbourLists lists_of(const Pairs& pairs, uint32_t nodes, const ExecutionOptions& options) {
  NeighbourLists lists(nodes, pairs.size(), options.files != nullptr, options);
  for (const auto& [node, neighbour] : pairs) lists.add(node, neighbour);
  lists.seal();
  return lists;
}

/// Lists of all nodes.
void expect_lists(const ListsOfNodes& lists, const std::vector<std::set<uint32_t>>& expected) {
  uint64_t size = 0;
  for (uint32_t node = lists.first_node(); node < lists.end_node(); ++node) {
    ASSERT_EQ(lists.place(node), size);
    const std::span<const uint32_t> list = lists[node];
    ASSERT_TRUE(std::ranges::equal(list, expected[node])) << "node " << node;
    for (const uint32_t neighbour : expected[node]) ASSERT_EQ(lists.place(node, neighbour), size++);
  }
  EXPECT_EQ(lists.size(), size);
}

/// @return the number of pieces
size_t check_lists(const Pairs& pairs, uint32_t nodes, const ExecutionOptions& options) {
  std::vector<std::set<uint32_t>> expected(nodes);
  for (const auto& [node, neighbour] : pairs) expected[node].insert(neighbour);
  uint64_t size = 0;
  for (const std::set<uint32_t>& neighbours : expected) size += neighbours.size();

  const NeighbourLists lists = lists_of(pairs, nodes, options);
  EXPECT_EQ(lists.nodes(), nodes);
  EXPECT_EQ(lists.size(), size);
  const size_t pieces = lists.pieces();
  EXPECT_EQ(lists.piece_begin(0), 0u);
  EXPECT_EQ(lists.piece_begin(pieces), nodes);
  EXPECT_EQ(lists.size_of(0, pieces), size);
  Buffer<uint32_t> room;
  for (size_t piece = 0; piece < pieces; ++piece) {
    const ListsOfNodes here = lists.load(piece, piece + 1, room);
    EXPECT_EQ(here.first_node(), lists.piece_begin(piece));
    EXPECT_EQ(here.end_node(), lists.piece_begin(piece + 1));
    expect_lists(here, expected);
    // It ends with the list by which it is large enough.
    uint32_t last = here.end_node() - 1;
    while (last > here.first_node() && here[last].empty()) --last;
    const uint64_t most =
        options.files != nullptr ? NeighbourLists::piece_in_files(options.work_bytes) : NeighbourLists::kPieceInMemory;
    EXPECT_LT(here.place(last), most);
    EXPECT_TRUE(here.size() >= most || piece + 1 == pieces);
    const size_t end = std::min(piece + 3, pieces);
    expect_lists(lists.load(piece, end, room), expected);
  }
  const ListsOfNodes all = lists.load(0, pieces, room);
  expect_lists(all, expected);
  expect_lists(all.part(nodes / 3, nodes / 2), expected);
  return pieces;
}

TEST(NeighbourListsTest, AreThoseOfSets) {
  Random random(kSeed);
  for (const uint32_t nodes : {1u, 2u, 50u, 3000u}) {
    for (const uint64_t count : {0u, 1u, 900u, 20000u}) {
      const Pairs pairs = random_pairs(random, count, nodes);
      MemoryMeter meter;
      ASSERT_EQ(check_lists(pairs, nodes, {.memory = &meter, .cancel = {}}), 1u);
      for (const size_t work_bytes : {size_t{1}, size_t{5000}, size_t{70000}, size_t{1} << 30}) {
        FakeFiles files;
        const ExecutionOptions options{.memory = &meter, .cancel = {}, .files = &files, .work_bytes = work_bytes};
        const size_t pieces = check_lists(pairs, nodes, options);
        EXPECT_EQ(files.bytes() > 0, pairs.size() > std::max<uint64_t>(work_bytes / 32, 1024));
        EXPECT_TRUE(pieces > 50 || nodes < 3000 || count < 20000 || work_bytes > 5000);
        EXPECT_EQ(meter.current(), 0u);
      }
    }
  }
}

TEST(NeighbourListsTest, LieInPiecesInMemory) {
  Pairs pairs;
  for (uint32_t node = 0; node < 3000; node += 3)
    for (uint32_t neighbour = 0; neighbour < 5000; ++neighbour) pairs.emplace_back(node, neighbour);
  MemoryMeter meter;
  const NeighbourLists lists = lists_of(pairs, 5000, {.memory = &meter, .cancel = {}});
  ASSERT_EQ(lists.pieces(), 2u);
  EXPECT_EQ(lists.size_of(0, 1), NeighbourLists::kPieceInMemory / 5000 * 5000 + 5000);
  EXPECT_EQ(lists.size_of(0, 2), 5'000'000u);
}

TEST(NeighbourListsTest, NeedLittleMemory) {
  MemoryMeter meter;
  FakeFiles files;
  constexpr size_t kWorkBytes = size_t{256} << 10;
  constexpr uint32_t kNodes = 1000;
  constexpr int64_t kPolls = 1 << 30;
  Countdown countdown{{kPolls}};
  const ExecutionOptions options{.memory = &meter, .cancel = countdown.token(), .files = &files, .work_bytes = kWorkBytes};
  NeighbourLists lists(kNodes, 1'000'000, true, options);
  for (uint32_t k = 0; k < 1'000'000; ++k) lists.add(k * 7 % kNodes, k / kNodes);
  countdown.left = kPolls;
  lists.seal();
  EXPECT_GT(kPolls - countdown.left, 200) << "merging hardly ever polled";
  EXPECT_EQ(lists.size(), 1'000'000u);
  EXPECT_LT(meter.peak(), kWorkBytes / 2 + kNodes * 9);
  EXPECT_LT(meter.current(), kNodes * 9);
  EXPECT_LT(files.bytes(), 16'000'000u);
  Buffer<uint32_t> room;
  const size_t half = lists.pieces() / 2;
  lists.load(0, half, room);
  lists.load(half, lists.pieces(), room);
  EXPECT_LT(meter.peak(), 2'200'000u) << "both halves were in memory";
}

TEST(NeighbourListsTest, CanFailAnywhere) {
  Random random(kSeed + 1);
  const Pairs pairs = random_pairs(random, 20000, 2000);
  std::optional<FakeFiles> files;
  const auto check_in_memory = [&](const ExecutionOptions& options) { check_lists(pairs, 2000, options); };
  const auto check_in_files = [&](ExecutionOptions options, uint64_t room) {
    files.emplace(room);
    options.files = &*files;
    options.work_bytes = 32 << 10;
    EXPECT_GT(check_lists(pairs, 2000, options), 10u);
  };
  run_out_of_memory_everywhere(1, 8192, 20, check_in_memory);
  cancel_everywhere(1, 5, check_in_memory);
  run_out_of_memory_everywhere(1, 1024, 20, [&](const ExecutionOptions& options) { check_in_files(options, UINT64_MAX); });
  cancel_everywhere(1, 20, [&](const ExecutionOptions& options) { check_in_files(options, UINT64_MAX); });
  int failures = 0;
  for (uint64_t room = 0, done = false; !done; room += 9001) {
    MemoryMeter meter;
    try {
      check_in_files({.memory = &meter, .cancel = {}}, room);
      done = true;
    } catch (const FileFailed&) {
      ++failures;
    }
    ASSERT_EQ(meter.current(), 0u);
  }
  EXPECT_GT(failures, 20);
}

}  // namespace
}  // namespace batmap::test
