// Visiting rows with several threads: every row of a kept item once, an item's rows in order of arrival, and the forms that
// are built that way the same as with one thread. Enough rows that the work is really shared; run it under ThreadSanitizer.
#include "relation/kept_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "relation/bit_matrix.h"
#include "relation/tidlists.h"
#include "relation/transaction_bits.h"
#include "shapes.h"

namespace batmap::test {
namespace {

constexpr uint64_t kSeed = 101;

/// 1.2 million rows of 500 items, some in most transactions, some rows twice.
const std::vector<Pair>& many_rows() {
  static const std::vector<Pair> rows = [] {
    Random random(kSeed);
    std::vector<Pair> all;
    for (int i = 0; i < 1200000; ++i) {
      const int64_t item = random.signed_below(random.below(500) + 1);
      all.push_back({random.signed_below(20000), item});
    }
    return all;
  }();
  return rows;
}

struct Grouped {
  Grouped(MemoryMeter& meter, int threads)
      : packed(many_rows()),
        options{.threads = threads, .memory = &meter, .cancel = {}},
        relation(packed.chunks(), {}, options),
        kept(keep_items(relation, {.min_rows = 50, .include = {}, .exclude = std::vector<int64_t>{3, 100}}, options)) {}
  PackedRows packed;
  ExecutionOptions options;
  EncodedRelation relation;
  KeptItems kept;
};

TEST(KeptRows, RangesCoverAllRanks) {
  MemoryMeter meter;
  const Grouped data(meter, 1);
  for (const size_t parts : {1, 2, 3, 4, 7, 1000}) {
    const std::vector<uint32_t> begin = split_ranks(data.relation, data.kept, parts);
    ASSERT_GE(begin.size(), 2u);
    EXPECT_LE(begin.size(), parts + 1);
    EXPECT_EQ(begin.front(), 0u);
    EXPECT_EQ(begin.back(), data.kept.size);
    for (size_t i = 1; i < begin.size(); ++i) EXPECT_LT(begin[i - 1], begin[i]);
    for (size_t i = 0; i + 1 < begin.size(); ++i) EXPECT_EQ(begin[i] % 64, 0u);
  }
  EXPECT_GT(split_ranks(data.relation, data.kept, 4).size(), 2u) << "not shared at all";
}

TEST(KeptRows, EveryRowOnceAndInOrder) {
  std::vector<std::vector<uint32_t>> expected;
  for (const int threads : {1, 2, 4}) {
    MemoryMeter meter;
    const Grouped data(meter, threads);
    std::vector<std::vector<uint32_t>> seen(data.kept.size);  // one list an item: no two threads share one
    visit_kept_rows(data.relation, data.kept, data.options,
                    [&](uint32_t tid, uint32_t item) { seen.at(item).push_back(tid); });
    if (expected.empty()) {
      expected.resize(data.kept.size);
      std::vector<uint32_t> tids(kChunkRows), items(kChunkRows);
      for (size_t block = 0; block < data.relation.blocks(); ++block) {
        const uint32_t rows = data.relation.decode(block, tids.data(), items.data());
        for (uint32_t k = 0; k < rows; ++k)
          if (data.kept.rank_of_code[items[k]] != KeptItems::kDropped)
            expected[data.kept.rank_of_code[items[k]]].push_back(tids[k]);
      }
    }
    EXPECT_TRUE(seen == expected) << threads << " threads, seed " << kSeed;
  }
}

template <typename T>
bool same(const Buffer<T>& x, const Buffer<T>& y) {
  return std::equal(x.begin(), x.end(), y.begin(), y.end());
}

TEST(KeptRows, FormsDoNotDependOnTheNumberOfThreads) {
  MemoryMeter meter;
  const Grouped alone(meter, 1);
  const BitMatrix matrix = fill_bit_matrix(alone.relation, alone.kept, alone.options);
  const TransactionBits bits = fill_transaction_bits(alone.relation, alone.kept, alone.options);
  Tidlists lists = scatter_tidlists(alone.relation, alone.kept, alone.options);
  sort_lists(lists, alone.options);
  for (const int threads : {2, 4}) {
    const Grouped data(meter, threads);
    const BitMatrix matrix_now = fill_bit_matrix(data.relation, data.kept, data.options);
    EXPECT_TRUE(same(matrix_now.bits, matrix.bits)) << threads;
    EXPECT_TRUE(same(matrix_now.support, matrix.support)) << threads;
    const TransactionBits bits_now = fill_transaction_bits(data.relation, data.kept, data.options);
    EXPECT_TRUE(same(bits_now.bits, bits.bits)) << threads;
    EXPECT_TRUE(same(bits_now.lists.length, bits.lists.length)) << threads;
    EXPECT_TRUE(same(bits_now.lists.length, matrix.support)) << threads;
    Tidlists lists_now = scatter_tidlists(data.relation, data.kept, data.options);
    sort_lists(lists_now, data.options);
    EXPECT_TRUE(same(lists_now.length, lists.length)) << threads;
    for (uint32_t item = 0; item < data.kept.size; ++item)
      EXPECT_TRUE(std::ranges::equal(lists_now.list(item), lists.list(item))) << threads << ", item " << item;
  }
}

TEST(KeptRows, CanBeCancelled) {
  MemoryMeter meter;
  for (const int threads : {1, 4}) {
    Grouped data(meter, threads);
    data.options.cancel = {[](void*) { return true; }, nullptr};
    try {
      visit_kept_rows(data.relation, data.kept, data.options, [](uint32_t, uint32_t) {});
      ADD_FAILURE() << "not cancelled";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kCancelled);
    }
  }
}

}  // namespace
}  // namespace batmap::test
