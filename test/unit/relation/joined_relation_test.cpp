// Joined relations have the rows of both sides whose b is on both, whatever the number of b and the form of their codes.
// With many b, a chunk has rows of few of them, so that several threads can group.
#include "relation/joined_relation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/memory.h"
#include "test/unit/shared/shapes.h"

namespace batmap::test {
namespace {

struct JoinedShape {
  std::string name;
  uint64_t tids;
  int64_t step;  // between two tids
  uint64_t rows;
};

using JoinedRows = std::vector<std::pair<int64_t, int64_t>>;

/// JoinedRows (b, b) on the left, so that the joined rows tell the b of a code, and (b, c) on the right.
struct JoinedSides {
  explicit JoinedSides(const JoinedShape& shape) {
    Random random(kSeed);
    // Each side lacks some of the tids.
    for (uint64_t k = 0; k < shape.rows; ++k) {
      const int64_t tid = static_cast<int64_t>(random.below(shape.tids)) * shape.step;
      if (tid % 5 != 0) left.push_back({tid, tid});
    }
    for (uint64_t k = 0; k < shape.rows; ++k) {
      const int64_t tid = static_cast<int64_t>(random.below(shape.tids)) * shape.step;
      if (tid % 3 != 0) right.push_back({tid, static_cast<int64_t>(random.below(100)) - 50});
    }
  }
  std::vector<TidItem> left;
  std::vector<TidItem> right;
};

/// The rows of one side whose tid the other side has, sorted.
JoinedRows with_partner(const std::vector<TidItem>& rows, const std::vector<TidItem>& others) {
  std::unordered_set<int64_t> tids;
  for (const TidItem& row : others) tids.insert(row.tid);
  JoinedRows found;
  for (const TidItem& row : rows)
    if (tids.contains(row.tid)) found.emplace_back(row.tid, row.item);
  std::sort(found.begin(), found.end());
  return found;
}

class JoinedRelationTest : public ::testing::TestWithParam<JoinedShape> {};

TEST_P(JoinedRelationTest, RowsOfBothSides) {
  const JoinedShape& shape = GetParam();
  const JoinedSides sides(shape);
  const PackedRows left(sides.left);
  const PackedRows right(sides.right);
  MemoryMeter meter;
  const ExecutionOptions options{.threads = 1, .memory = &meter, .cancel = {}};
  const JoinedRelation joined = join_relations({left.chunks(), {}}, {right.chunks(), {}}, options);

  std::unordered_map<int64_t, int64_t> tid_of_code;
  JoinedRows seen_left;
  std::vector<TidItem> of_right;
  uint64_t slots = 0;
  double spans = 0;
  size_t chunks = 0;
  for (const ChunkView& chunk : joined.log.chunks()) {
    std::vector<TidItem> rows(chunk.rows);
    decode_chunk(chunk, rows.data());
    for (const TidItem& row : rows) {
      const uint32_t rank = joined.item_rank[static_cast<size_t>(row.item)];
      const int64_t value = joined.values[rank];
      slots = std::max(slots, static_cast<uint64_t>(row.tid) + 1);
      if (rank >= joined.left_items) {
        of_right.push_back({row.tid, value});
        continue;
      }
      seen_left.emplace_back(value, value);
      EXPECT_EQ(tid_of_code.emplace(row.tid, value).first->second, value);
    }
    spans += static_cast<double>(chunk.tid_range) + 1;
    ++chunks;
  }
  JoinedRows seen_right;
  for (const TidItem& row : of_right) seen_right.emplace_back(tid_of_code.at(row.tid), row.item);
  std::sort(seen_left.begin(), seen_left.end());
  std::sort(seen_right.begin(), seen_right.end());
  EXPECT_TRUE(seen_left == with_partner(sides.left, sides.right)) << shape.name << ", seed " << kSeed;
  EXPECT_TRUE(seen_right == with_partner(sides.right, sides.left)) << shape.name << ", seed " << kSeed;
  if (shape.tids > 300000) {
    EXPECT_LT(spans / static_cast<double>(chunks), static_cast<double>(slots) / 4) << shape.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, JoinedRelationTest,
                         ::testing::Values(JoinedShape{"few", 1000, 1, 20000}, JoinedShape{"many", 700000, 1, 800000},
                                           JoinedShape{"many_far_apart", 700000, 1000000007, 800000},
                                           JoinedShape{"none_in_both", 1, 1, 10}),
                         [](const auto& shape) { return shape.param.name; });

}  // namespace
}  // namespace batmap::test
