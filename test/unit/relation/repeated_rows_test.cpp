// Repeated rows are found in any order of arrival, and none is found where all rows differ. There are
// enough rows for several parts and threads; run it under ThreadSanitizer.
#include "relation/repeated_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "test/unit/shared/shapes.h"

namespace batmap::test {
namespace {

bool found(const std::vector<TidItem>& rows, int threads) {
  MemoryMeter meter;
  const ExecutionOptions options{.threads = threads, .memory = &meter, .cancel = {}};
  const PackedRows packed(rows);
  return has_repeated_rows(EncodedRelation(packed.chunks(), {}, options), options);
}

/// About 540,000 rows by tid, which all differ.
std::vector<TidItem> distinct_rows() {
  Random random(kSeed);
  std::vector<TidItem> rows;
  for (int32_t tid = 0; tid < 30000; ++tid)
    for (int32_t item = random.signed_below(8); item < 300; item += 1 + random.signed_below(32)) rows.push_back({tid, item});
  return rows;
}

struct Order {
  const char* name;
  void (*arrange)(std::vector<TidItem>& rows);
};

constexpr Order kOrders[] = {
    {"by tid", [](std::vector<TidItem>&) {}},
    {"by descending tid", [](std::vector<TidItem>& rows) { std::ranges::reverse(rows); }},
    {"by tid, items in no order",
     [](std::vector<TidItem>& rows) {
       Random random(kSeed + 1);
       random.shuffle(rows);
       std::ranges::stable_sort(rows, {}, &TidItem::tid);
     }},
    {"in no order",
     [](std::vector<TidItem>& rows) {
       Random random(kSeed + 2);
       random.shuffle(rows);
     }},
    {"by tid but for a few rows",
     [](std::vector<TidItem>& rows) {
       for (size_t at = rows.size() / 2; at + 40 < rows.size(); at += rows.size() / 20) std::swap(rows[at], rows[at + 40]);
     }},
    {"two streams by tid, one after the other",
     [](std::vector<TidItem>& rows) {
       std::ranges::stable_partition(rows, [](const TidItem& row) { return row.tid / 1000 % 2 == 1; });
     }},
};

TEST(RepeatedRows, AreFoundInAnyOrder) {
  for (const Order& order : kOrders)
    for (const int threads : {1, 4}) {
      SCOPED_TRACE(std::string(order.name) + ", threads " + std::to_string(threads));
      std::vector<TidItem> rows = distinct_rows();
      order.arrange(rows);
      EXPECT_FALSE(found(rows, threads));
      for (const size_t part : {0, 1, 5, 9}) {
        const auto at = static_cast<std::ptrdiff_t>(rows.size() * part / 10);
        const TidItem row = rows[static_cast<size_t>(at)];
        std::vector<TidItem> more = rows;
        more.insert(more.begin() + at, row);
        EXPECT_TRUE(found(more, threads)) << "next to itself, " << part;
        more = rows;
        more.push_back(row);
        EXPECT_TRUE(found(more, threads)) << "at the end, " << part;
      }
    }
}

TEST(RepeatedRows, AreFoundAmongHashedKeys) {
  std::vector<TidItem> rows = distinct_rows();
  for (TidItem& row : rows) row = {scattered_key(row.tid), scattered_key(row.item)};
  EXPECT_FALSE(found(rows, 4));
  rows.push_back(rows[rows.size() / 3]);
  EXPECT_TRUE(found(rows, 4));
}

TEST(RepeatedRows, AreFoundAmongFewRows) {
  EXPECT_FALSE(found({}, 1));
  EXPECT_FALSE(found({{1, 1}}, 1));
  EXPECT_FALSE(found({{1, 1}, {1, 2}, {2, 1}}, 1));
  EXPECT_TRUE(found({{1, 1}, {1, 1}}, 1));
  EXPECT_TRUE(found({{1, 1}, {2, 1}, {1, 1}}, 1));
}

TEST(RepeatedRows, CanBeCancelled) {
  MemoryMeter meter;
  const PackedRows packed(distinct_rows());
  ExecutionOptions options{.threads = 1, .memory = &meter, .cancel = {}};
  const EncodedRelation relation(packed.chunks(), {}, options);
  options.cancel = {[](void*) { return true; }, nullptr};
  try {
    has_repeated_rows(relation, options);
    ADD_FAILURE() << "not cancelled";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kCancelled);
  }
}

}  // namespace
}  // namespace batmap::test
