// Visiting rows in parts: every row of a kept item comes once, the rows of a transaction in order of arrival.
// Forms that are built so are the same as with one thread. There are enough rows for all threads; run it
// under ThreadSanitizer.
#include "relation/kept_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/thread_team.h"
#include "relation/bit_matrix.h"
#include "relation/tidlists.h"
#include "relation/transaction_bits.h"
#include "relation/transactions.h"
#include "test/unit/shared/shapes.h"

namespace batmap::test {
namespace {

/// 1.2 million rows of 500 items. Some items are in most transactions, some rows occur twice.
const std::vector<TidItem>& many_rows() {
  static const std::vector<TidItem> rows = [] {
    Random random(kSeed);
    std::vector<TidItem> all;
    for (int i = 0; i < 1200000; ++i) {
      const int64_t item = random.signed_below(random.below(500) + 1);
      all.push_back({random.signed_below(20000), item});
    }
    return all;
  }();
  return rows;
}

struct Grouped {
  Grouped(MemoryMeter& meter, int threads) : Grouped(many_rows(), false, meter, threads) {}
  /// @param rectangle  with two kinds of items
  Grouped(const std::vector<TidItem>& rows, bool rectangle, MemoryMeter& meter, int threads)
      : packed(rows),
        options{.threads = threads, .memory = &meter, .cancel = {}},
        relation(packed.chunks(), {}, options),
        kept(keep_items(relation, filter(rectangle), options)) {}
  static ItemFilter filter(bool rectangle) {
    ItemFilter filter{.min_rows = 50, .include = {}, .exclude = std::vector<int64_t>{3, 100}};
    if (rectangle) filter.left_items = 200;
    return filter;
  }
  PackedRows packed;
  ExecutionOptions options;
  EncodedRelation relation;
  KeptItems kept;
};

TEST(KeptRows, EveryRowOnceAndInOrder) {
  std::vector<std::vector<uint32_t>> expected;
  for (const size_t max_parts : {1, 2, 3, 7, 40}) {
    MemoryMeter meter;
    const Grouped data(meter, 4);
    const TidParts parts(data.relation, max_parts, data.options);
    // one list for each tid: no two threads share a list
    std::vector<std::vector<uint32_t>> seen(data.relation.tid_slots());
    parallel_for(data.options, parts.size(), [&](size_t part, int) {
      visit_kept_rows(parts, part, data.kept, [&](const uint32_t* tids, const uint32_t* items, uint32_t rows) {
        for (uint32_t k = 0; k < rows; ++k) seen.at(tids[k]).push_back(items[k]);
      });
    });
    if (expected.empty()) {
      expected.resize(data.relation.tid_slots());
      std::vector<uint32_t> tids(kChunkRows), items(kChunkRows);
      for (size_t block = 0; block < data.relation.blocks(); ++block) {
        const uint32_t rows = data.relation.decode(block, tids.data(), items.data());
        for (uint32_t k = 0; k < rows; ++k)
          if (const Rank rank = data.kept.rank(ItemCode{items[k]}); rank != KeptItems::kDropped)
            expected[tids[k]].push_back(index_of(rank));
      }
    }
    EXPECT_TRUE(seen == expected) << max_parts << " parts, seed " << kSeed;
  }
}

TEST(KeptRows, OffsetsAreThoseOfEveryPart) {
  MemoryMeter meter;
  const Grouped data(meter, 2);
  for (const size_t max_parts : {1, 2, 5}) {
    const TidParts parts(data.relation, max_parts, data.options);
    RowOffsets offsets(parts, data.kept, data.options);
    std::vector<uint32_t> at(offsets.of_part(0).begin(), offsets.of_part(0).end());
    for (size_t part = 0; part < parts.size(); ++part) {
      EXPECT_TRUE(std::ranges::equal(offsets.of_part(part), at)) << part << " of " << parts.size();
      visit_kept_rows(parts, part, data.kept, [&](const uint32_t*, const uint32_t* items, uint32_t rows) {
        for (uint32_t k = 0; k < rows; ++k) ++at[items[k]];
      });
    }
    EXPECT_TRUE(std::ranges::equal(offsets.of_part(parts.size()), at));
    for (uint32_t item = 0; item + 1 < data.kept.size; ++item) EXPECT_EQ(at[item], offsets.of_part(0)[item + 1]);
  }
}

template <typename T>
bool same(const Buffer<T>& x, const Buffer<T>& y) {
  return std::equal(x.begin(), x.end(), y.begin(), y.end());
}

/// The number of items that have tidlists beside the bits.
uint32_t listed(const KeptItems& kept) { return kept.pairs.rectangle() ? kept.pairs.leading : kept.size; }

/// The tails of every item. With any number of threads, what lies there is the same.
std::vector<std::vector<std::pair<uint32_t, uint32_t>>> sorted_tails(const Transactions& transactions) {
  std::vector<std::vector<std::pair<uint32_t, uint32_t>>> all;
  for (uint32_t item = 0; item < transactions.support.size(); ++item) {
    all.emplace_back();
    if (transactions.tails_begin[item] == transactions.tails_begin[item + 1]) continue;
    for (const Tail& tail : transactions.tails_of(item)) all.back().emplace_back(tail.begin, tail.length);
    std::ranges::sort(all.back());
  }
  return all;
}

/// The forms of some rows with several threads and with one are the same, except for the order in lists.
void compare_forms(const std::vector<TidItem>& rows, bool rectangle) {
  MemoryMeter meter;
  const Grouped alone(rows, rectangle, meter, 1);
  const TransactionLengths lengths = transaction_lengths(alone.relation, alone.kept, alone.options);
  const BitMatrix matrix = fill_bit_matrix(alone.relation, alone.kept, alone.options);
  TransactionBits bits = fill_transaction_bits(alone.relation, alone.kept, alone.options);
  sort_lists(bits.lists, alone.relation.tid_slots(), alone.options, listed(alone.kept));
  Tidlists lists = scatter_tidlists(alone.relation, alone.kept, alone.options);
  sort_lists(lists, alone.relation.tid_slots(), alone.options);
  const auto tails = sorted_tails(link_transactions(alone.relation, alone.kept, lengths, alone.options));
  for (const int threads : {2, 4}) {
    SCOPED_TRACE(std::to_string(threads) + " threads");
    const Grouped data(rows, rectangle, meter, threads);
    ASSERT_EQ(data.relation.items(), alone.relation.items());
    ASSERT_EQ(data.relation.transactions(), alone.relation.transactions());
    EXPECT_TRUE(same(data.kept.code_of_rank, alone.kept.code_of_rank));
    const TransactionLengths lengths_now = transaction_lengths(data.relation, data.kept, data.options);
    EXPECT_TRUE(same(lengths_now.length, lengths.length));
    EXPECT_EQ(lengths_now.pair_instances, lengths.pair_instances);
    const BitMatrix matrix_now = fill_bit_matrix(data.relation, data.kept, data.options);
    EXPECT_TRUE(same(matrix_now.bits, matrix.bits));
    EXPECT_TRUE(same(matrix_now.support, matrix.support));
    TransactionBits bits_now = fill_transaction_bits(data.relation, data.kept, data.options);
    sort_lists(bits_now.lists, data.relation.tid_slots(), data.options, listed(data.kept));
    EXPECT_TRUE(same(bits_now.bits, bits.bits));
    EXPECT_TRUE(same(bits_now.lists.length, bits.lists.length));
    EXPECT_TRUE(same(bits_now.lists.length, matrix.support));
    Tidlists lists_now = scatter_tidlists(data.relation, data.kept, data.options);
    sort_lists(lists_now, data.relation.tid_slots(), data.options);
    EXPECT_TRUE(same(lists_now.length, lists.length));
    for (uint32_t item = 0; item < data.kept.size; ++item) {
      EXPECT_TRUE(std::ranges::equal(lists_now.list(item), lists.list(item))) << "item " << item;
      if (item >= listed(data.kept)) continue;
      EXPECT_TRUE(std::ranges::equal(bits_now.lists.list(item), bits.lists.list(item))) << "item " << item;
    }
    const Transactions linked = link_transactions(data.relation, data.kept, lengths_now, data.options);
    EXPECT_TRUE(same(linked.support, matrix.support));
    EXPECT_TRUE(sorted_tails(linked) == tails);
  }
}

TEST(KeptRows, FormsDoNotDependOnTheNumberOfThreads) {
  std::vector<TidItem> rows = many_rows();
  for (const bool by_tid : {false, true}) {
    if (by_tid) std::ranges::stable_sort(rows, {}, &TidItem::tid);
    for (const bool rectangle : {false, true}) {
      SCOPED_TRACE(std::string(by_tid ? "by tid" : "in no order") + (rectangle ? ", rectangle" : ""));
      compare_forms(rows, rectangle);
    }
  }
}

TEST(KeptRows, HashedKeysAreSharedOutToo) {
  std::vector<TidItem> rows = many_rows();
  std::ranges::stable_sort(rows, {}, &TidItem::tid);
  for (TidItem& pair : rows) pair = {scattered_key(pair.tid), scattered_key(pair.item)};
  compare_forms(rows, false);
}

TEST(KeptRows, CanBeCancelled) {
  MemoryMeter meter;
  for (const int threads : {1, 4}) {
    Grouped data(meter, threads);
    data.options.cancel = {[](void*) { return true; }, nullptr};
    const TidParts parts(data.relation, 2, data.options);
    try {
      visit_kept_rows(parts, 0, data.kept, [](const uint32_t*, const uint32_t*, uint32_t) {});
      ADD_FAILURE() << "not cancelled";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kCancelled);
    }
  }
}

}  // namespace
}  // namespace batmap::test
