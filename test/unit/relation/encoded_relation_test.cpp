// Encoded relations against maps: codes are one-to-one, tid codes have few gaps, and counts are counts of rows.
#include "relation/encoded_relation.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <set>
#include <vector>

#include "core/error.h"
#include "test/unit/shared/shapes.h"

namespace batmap::test {
namespace {

ExecutionOptions options_with(MemoryMeter& meter) { return {.threads = 1, .memory = &meter, .cancel = {}}; }

TEST(EncodedRelation, DecodesToWhatWasEncoded) {
  for (const Shape& shape : shapes(kSeed))
    for (const uint64_t pieces : {uint64_t{0}, kSeed}) {
      const PackedRows packed(shape.rows, pieces);
      MemoryMeter meter;
      {
        const EncodedRelation relation(packed.chunks(), {}, options_with(meter));
        std::map<int64_t, uint64_t> rows_of_item;
        std::set<int64_t> tids;
        for (const TidItem& pair : shape.rows) {
          ++rows_of_item[pair.item];
          tids.insert(pair.tid);
        }
        ASSERT_EQ(relation.rows(), shape.rows.size()) << shape.name;
        ASSERT_EQ(relation.transactions(), tids.size()) << shape.name;
        ASSERT_EQ(relation.items(), rows_of_item.size()) << shape.name;
        ASSERT_GE(relation.tid_slots(), tids.size()) << shape.name;
        ASSERT_LE(relation.tid_slots(), tids.size() * 5 / 4 + 1) << shape.name << ": slots that no transaction uses";

        std::map<uint32_t, int64_t> tid_of_code;
        std::map<int64_t, uint32_t> code_of_tid;
        std::vector<uint32_t> tid_codes(kChunkRows), item_codes(kChunkRows);
        size_t at = 0;
        for (size_t block = 0; block < relation.blocks(); ++block) {
          const uint32_t rows = relation.decode(block, tid_codes.data(), item_codes.data());
          for (uint32_t k = 0; k < rows; ++k, ++at) {
            const TidItem& pair = shape.rows.at(at);
            ASSERT_LT(tid_codes[k], relation.tid_slots()) << shape.name;
            ASSERT_GE(tid_codes[k], relation.tid_span(block).first) << shape.name << ", row " << at;
            ASSERT_LE(tid_codes[k], relation.tid_span(block).last) << shape.name << ", row " << at;
            ASSERT_LT(item_codes[k], relation.item_codes()) << shape.name;
            ASSERT_EQ(relation.item_value(ItemCode{item_codes[k]}), pair.item) << shape.name << ", row " << at;
            ASSERT_EQ(relation.item_code(pair.item), ItemCode{item_codes[k]}) << shape.name;
            ASSERT_EQ(tid_of_code.emplace(tid_codes[k], pair.tid).first->second, pair.tid) << shape.name << ", row " << at;
            ASSERT_EQ(code_of_tid.emplace(pair.tid, tid_codes[k]).first->second, tid_codes[k]) << shape.name;
          }
        }
        ASSERT_EQ(at, shape.rows.size());
        uint64_t total = 0;
        for (uint32_t index = 0; index < relation.item_codes(); ++index) {
          const ItemCode code{index};
          total += relation.item_rows(code);
          if (relation.item_rows(code) > 0) {
            ASSERT_EQ(relation.item_rows(code), rows_of_item.at(relation.item_value(code))) << shape.name;
          }
        }
        ASSERT_EQ(total, shape.rows.size()) << shape.name;
      }
      ASSERT_EQ(meter.current(), 0u) << shape.name;
    }
}

TEST(EncodedRelation, UnknownItemsHaveNoCode) {
  MemoryMeter meter;
  const PackedRows none({});
  EXPECT_EQ(EncodedRelation(none.chunks(), {}, options_with(meter)).item_code(0), EncodedRelation::kNoItem);
  const PackedRows far({{1, INT64_MIN}, {1, INT64_MAX}, {2, 0}});
  const EncodedRelation hashed(far.chunks(), {}, options_with(meter));
  EXPECT_EQ(hashed.item_code(1), EncodedRelation::kNoItem);
  EXPECT_EQ(hashed.item_value(hashed.item_code(INT64_MIN)), INT64_MIN);
  const PackedRows near({{1, 5}, {1, 9}});
  const EncodedRelation direct(near.chunks(), {}, options_with(meter));
  EXPECT_EQ(direct.item_code(4), EncodedRelation::kNoItem);
  EXPECT_EQ(direct.item_code(10), EncodedRelation::kNoItem);
  const ItemCode gap = direct.item_code(7);  // in the range, but in no row
  EXPECT_TRUE(gap == EncodedRelation::kNoItem || direct.item_rows(gap) == 0);
}

TEST(EncodedRelation, ItemRanksAreTheValues) {
  Random random(kSeed + 1);
  std::vector<uint32_t> rank(50);
  std::iota(rank.begin(), rank.end(), 0u);
  random.shuffle(rank);
  const std::vector<TidItem> rows = random_rows(random, 500, 60, 50);
  const PackedRows packed(rows);
  MemoryMeter meter;
  const EncodedRelation relation(packed.chunks(), rank, options_with(meter));
  std::vector<uint32_t> tids(kChunkRows), items(kChunkRows);
  ASSERT_EQ(relation.decode(0, tids.data(), items.data()), rows.size());
  for (size_t k = 0; k < rows.size(); ++k)
    ASSERT_EQ(relation.item_value(ItemCode{items[k]}), int64_t{rank[static_cast<size_t>(rows[k].item)]});
}

}  // namespace
}  // namespace batmap::test
