// Which items are kept, and in which order, against a sorted map.
#include "relation/kept_items.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "test/unit/shared/shapes.h"

namespace batmap::test {
namespace {

void check(const Shape& shape, const ItemFilter& filter) {
  const PackedRows packed(shape.rows);
  MemoryMeter meter;
  {
    const ExecutionOptions options{.threads = 1, .memory = &meter, .cancel = {}};
    const EncodedRelation relation(packed.chunks(), {}, options);
    const KeptItems kept = keep_items(relation, filter, options);

    std::map<int64_t, uint64_t> rows_of_item;
    for (const TidItem& pair : shape.rows) ++rows_of_item[pair.item];
    const auto has = [](const std::optional<std::vector<int64_t>>& list, int64_t item) {
      return list && std::find(list->begin(), list->end(), item) != list->end();
    };
    // included items first, then fewer rows, then the smaller value
    std::vector<std::tuple<bool, uint64_t, int64_t>> expected;
    uint64_t occurrences = 0;
    for (const auto& [item, rows] : rows_of_item) {
      if (rows < filter.min_rows || has(filter.exclude, item)) continue;
      expected.emplace_back(filter.include && !has(filter.include, item), rows, item);
      occurrences += rows;
    }
    std::sort(expected.begin(), expected.end());

    ASSERT_EQ(kept.size, expected.size()) << shape.name;
    ASSERT_EQ(kept.code_of_rank.size(), kept.size);
    EXPECT_EQ(kept.occurrences, occurrences) << shape.name;
    EXPECT_EQ(kept.pairs.leading,
              std::count_if(expected.begin(), expected.end(), [](const auto& e) { return !std::get<0>(e); }))
        << shape.name;
    std::set<ItemCode> codes;
    for (uint32_t rank = 0; rank < kept.size; ++rank) {
      const ItemCode code = kept.code(Rank{rank});
      ASSERT_EQ(relation.item_value(code), std::get<2>(expected[rank]))
          << shape.name << ", rank " << rank << ", seed " << kSeed;
      ASSERT_EQ(kept.rank(code), Rank{rank}) << shape.name;
      codes.insert(code);
    }
    ASSERT_EQ(kept.rank_of_code.size(), relation.item_codes());
    for (uint32_t code = 0; code < relation.item_codes(); ++code)
      if (!codes.contains(ItemCode{code})) {
        ASSERT_EQ(kept.rank(ItemCode{code}), KeptItems::kDropped) << shape.name;
      }
  }
  EXPECT_EQ(meter.current(), 0u);
}

TEST(KeptItems, LikeSorting) {
  for (const Shape& shape : shapes(kSeed)) {
    const auto item = [&](size_t at) { return shape.rows.empty() ? int64_t{1} : shape.rows[at % shape.rows.size()].item; };
    for (const uint64_t min_rows : {1, 2, 5, 1000000}) {
      check(shape, {.min_rows = min_rows, .include = {}, .exclude = {}});
      check(shape, {.min_rows = min_rows, .include = std::vector{item(0), item(3), int64_t{-77777}}, .exclude = {}});
      check(shape, {.min_rows = min_rows, .include = {}, .exclude = std::vector{item(0), item(5), int64_t{-77777}}});
      check(shape,
            {.min_rows = min_rows, .include = std::vector{item(0), item(3)}, .exclude = std::vector{item(3), item(5)}});
      check(shape, {.min_rows = min_rows, .include = std::vector<int64_t>{}, .exclude = std::vector<int64_t>{}});
    }
  }
}

}  // namespace
}  // namespace batmap::test
