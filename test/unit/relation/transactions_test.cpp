// The counted forms against sets: tidlists, bit matrix, transaction bits and linked transactions of one relation
// have the same pairs of tid code and item rank, without duplicates, in the layout that their headers document.
#include "relation/transactions.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "relation/bit_matrix.h"
#include "relation/tidlists.h"
#include "relation/transaction_bits.h"
#include "test/unit/shared/shapes.h"

namespace batmap::test {
namespace {

struct Encoded {
  Encoded(const std::vector<TidItem>& rows, const ItemFilter& filter, MemoryMeter& meter)
      : packed(rows, kSeed),
        options{.threads = 2, .memory = &meter, .cancel = {}},
        relation(packed.chunks(), {}, options),
        kept(keep_items(relation, filter, options)) {
    std::vector<uint32_t> tid_codes(kChunkRows), item_codes(kChunkRows);
    for (size_t block = 0; block < relation.blocks(); ++block) {
      const uint32_t count = relation.decode(block, tid_codes.data(), item_codes.data());
      for (uint32_t k = 0; k < count; ++k) {
        if (kept.rank(ItemCode{item_codes[k]}) == KeptItems::kDropped) continue;
        const uint32_t rank = index_of(kept.rank(ItemCode{item_codes[k]}));
        tids_of_item[rank].insert(tid_codes[k]);
        items_of_tid[tid_codes[k]].insert(rank);
        ++rows_of_tid[tid_codes[k]];
      }
    }
  }
  PackedRows packed;
  ExecutionOptions options;
  EncodedRelation relation;
  KeptItems kept;
  std::map<uint32_t, std::set<uint32_t>> tids_of_item;
  std::map<uint32_t, std::set<uint32_t>> items_of_tid;
  std::map<uint32_t, uint32_t> rows_of_tid;
};

template <typename Check>
void for_all_shapes(Check check) {
  for (const Shape& shape : shapes(kSeed))
    for (const uint64_t min_rows : {1, 4}) {
      SCOPED_TRACE(shape.name + ", at least " + std::to_string(min_rows) + " rows, seed " + std::to_string(kSeed));
      MemoryMeter meter;
      check(shape.rows, ItemFilter{.min_rows = min_rows, .include = {}, .exclude = {}}, meter);
      EXPECT_EQ(meter.current(), 0u);
    }
}

TEST(Tidlists, HoldTheTidsOfEveryItem) {
  for_all_shapes([](const std::vector<TidItem>& rows, const ItemFilter& filter, MemoryMeter& meter) {
    Encoded data(rows, filter, meter);
    Tidlists lists = scatter_tidlists(data.relation, data.kept, data.options);
    ASSERT_EQ(lists.length.size(), data.kept.size);
    ASSERT_EQ(lists.begin.size(), size_t{data.kept.size} + 1);
    EXPECT_EQ(lists.begin[data.kept.size], data.kept.occurrences);
    for (uint32_t item = 0; item < data.kept.size; ++item)
      EXPECT_EQ(lists.length[item], data.relation.item_rows(data.kept.code(Rank{item}))) << "duplicates are still in";
    sort_lists(lists, data.relation.tid_slots(), data.options);
    for (uint32_t item = 0; item < data.kept.size; ++item) {
      const auto list = lists.list(item);
      const std::set<uint32_t>& expected = data.tids_of_item[item];
      EXPECT_TRUE(std::equal(list.begin(), list.end(), expected.begin(), expected.end())) << "item " << item;
    }
  });
}

TEST(BitMatrix, HasABitForEveryTidOfEveryItem) {
  for_all_shapes([](const std::vector<TidItem>& rows, const ItemFilter& filter, MemoryMeter& meter) {
    Encoded data(rows, filter, meter);
    const size_t before = meter.current();
    const BitMatrix matrix = fill_bit_matrix(data.relation, data.kept, data.options);
    EXPECT_EQ(meter.current() - before, bit_matrix_bytes(data.kept.size, data.relation.tid_slots()));
    EXPECT_EQ(matrix.words % 8, 0u);
    ASSERT_GE(matrix.words * 64, data.relation.tid_slots());
    for (uint32_t item = 0; item < data.kept.size; ++item) {
      EXPECT_EQ(reinterpret_cast<uintptr_t>(matrix.row(item)) % 64, 0u);
      const std::set<uint32_t>& expected = data.tids_of_item[item];
      EXPECT_EQ(matrix.support[item], expected.size());
      for (uint32_t tid = 0; tid < matrix.words * 64; ++tid)
        ASSERT_EQ((matrix.row(item)[tid / 64] >> (tid % 64) & 1) != 0, expected.contains(tid))
            << "item " << item << ", tid " << tid;
    }
  });
}

TEST(TransactionBits, HaveABitForEveryItemOfEveryTid) {
  for_all_shapes([](const std::vector<TidItem>& rows, const ItemFilter& filter, MemoryMeter& meter) {
    Encoded data(rows, filter, meter);
    const size_t before = meter.current();
    const TransactionBits form = fill_transaction_bits(data.relation, data.kept, data.options);
    EXPECT_LE(meter.current() - before,
              transaction_bits_bytes(data.kept.size, data.relation.tid_slots(), data.kept.occurrences) + 8);
    EXPECT_EQ(form.words % 8, 0u);
    ASSERT_GE(form.words * 64, data.kept.size);
    for (uint32_t tid = 0; tid < data.relation.tid_slots(); ++tid) {
      const std::set<uint32_t>& expected = data.items_of_tid[tid];
      for (uint32_t item = 0; item < form.words * 64; ++item)
        ASSERT_EQ((form.bits[tid * form.words + item / 64] >> (item % 64) & 1) != 0, expected.contains(item));
    }
    for (uint32_t item = 0; item < data.kept.size; ++item) {
      const auto list = form.lists.list(item);
      const std::set<uint32_t>& expected = data.tids_of_item[item];
      EXPECT_EQ(list.size(), expected.size()) << "without duplicates";
      EXPECT_EQ(std::set(list.begin(), list.end()), expected);
    }
  });
}

TEST(TransactionLengths, CountRowsOfKeptItems) {
  for_all_shapes([](const std::vector<TidItem>& rows, const ItemFilter& filter, MemoryMeter& meter) {
    Encoded data(rows, filter, meter);
    const TransactionLengths lengths = transaction_lengths(data.relation, data.kept, data.options);
    ASSERT_EQ(lengths.length.size(), data.relation.tid_slots());
    uint64_t instances = 0;
    for (uint32_t tid = 0; tid < data.relation.tid_slots(); ++tid) {
      const uint64_t length = data.rows_of_tid[tid];
      EXPECT_EQ(lengths.length[tid], length);
      if (length > 1) instances += length * (length - 1) / 2;
    }
    EXPECT_EQ(lengths.pair_instances, instances);
    EXPECT_LE(least_pair_instances(data.relation, data.kept), instances);
  });
}

// More rows than one thread takes, and each tid in every block: threads count apart, and the counts are added.
TEST(TransactionLengths, InNoOrderOnSeveralThreads) {
  Random random(kSeed + 2);
  constexpr int64_t kItems = 50;
  const PackedRows packed(random_rows(random, 900000, 700, kItems), kSeed);
  for (const std::optional<int64_t> left_items : {std::optional<int64_t>(), std::optional<int64_t>(20)}) {
    MemoryMeter meter;
    const ExecutionOptions options{.threads = 3, .memory = &meter, .cancel = {}};
    const EncodedRelation relation(packed.chunks(), {}, options);
    const KeptItems kept = keep_items(relation, {.include = {}, .exclude = {{3, 30}}, .left_items = left_items}, options);
    std::vector<uint64_t> rows(relation.tid_slots());
    std::vector<uint64_t> leading(relation.tid_slots());
    std::vector<uint32_t> tids(kChunkRows), items(kChunkRows);
    for (size_t block = 0; block < relation.blocks(); ++block) {
      const uint32_t count = relation.decode(block, tids.data(), items.data());
      for (uint32_t k = 0; k < count; ++k) {
        const Rank rank = kept.rank(ItemCode{items[k]});
        rows[tids[k]] += rank != KeptItems::kDropped;
        leading[tids[k]] += index_of(rank) < kept.pairs.leading;
      }
    }
    const TransactionLengths lengths = transaction_lengths(relation, kept, options);
    uint64_t instances = 0;
    for (uint32_t tid = 0; tid < relation.tid_slots(); ++tid) {
      ASSERT_EQ(lengths.length[tid], rows[tid]) << "tid " << tid << ", seed " << kSeed;
      instances += left_items ? leading[tid] * (rows[tid] - leading[tid]) : rows[tid] * (rows[tid] - 1) / 2;
    }
    EXPECT_EQ(lengths.pair_instances, instances);
    EXPECT_LE(least_pair_instances(relation, kept), instances);
    EXPECT_EQ(PairInstances::can_count(relation, kept, options), !left_items);
    if (left_items) continue;
    EXPECT_GT(least_pair_instances(relation, kept), instances / 2) << "the lengths are alike";
    PairInstances counted(relation, options);
    for (size_t block = 0; block < relation.blocks(); ++block) {
      const uint32_t count = relation.decode(block, tids.data(), items.data());
      uint32_t sent = 0;
      for (uint32_t k = 0; k < count; ++k)
        if (kept.rank(ItemCode{items[k]}) != KeptItems::kDropped) tids[sent++] = tids[k];
      counted.add(static_cast<int>(block % 2), tids.data(), sent);  // the third thread gets nothing
    }
    EXPECT_EQ(counted.sum(), instances);
  }
}

TEST(TransactionLengths, EquallyLongOnesHaveTheLeastInstances) {
  std::vector<TidItem> rows;
  for (int64_t tid = 0; tid < 7; ++tid)
    for (int64_t item = 0; item < 5 + (tid < 3); ++item) rows.push_back({tid, item});
  MemoryMeter meter;
  const Encoded data(rows, {}, meter);
  EXPECT_EQ(least_pair_instances(data.relation, data.kept), 4 * 10 + 3 * 15);
}

TEST(Transactions, TailsAreTheLaterItemsOfEveryOccurrence) {
  for_all_shapes([](const std::vector<TidItem>& rows, const ItemFilter& filter, MemoryMeter& meter) {
    Encoded data(rows, filter, meter);
    const TransactionLengths lengths = transaction_lengths(data.relation, data.kept, data.options);
    const Transactions form = link_transactions(data.relation, data.kept, lengths, data.options);
    ASSERT_EQ(form.support.size(), data.kept.size);
    ASSERT_TRUE(std::holds_alternative<Buffer<uint16_t>>(form.items));
    const Buffer<uint16_t>& items = std::get<Buffer<uint16_t>>(form.items);
    for (uint32_t item = 0; item < data.kept.size; ++item) {
      EXPECT_EQ(form.support[item], data.tids_of_item[item].size());
      // A tail does not know its transaction: compare tails as a multiset.
      std::multiset<std::vector<uint32_t>> found, expected;
      for (const Tail& tail : form.tails_of(item)) {
        ASSERT_LE(size_t{tail.begin} + tail.length, items.size());
        found.emplace(items.begin() + tail.begin, items.begin() + tail.begin + tail.length);
      }
      for (const uint32_t tid : data.tids_of_item[item]) {
        const std::set<uint32_t>& all = data.items_of_tid[tid];
        expected.emplace(all.upper_bound(item), all.end());
      }
      EXPECT_EQ(found, expected) << "item " << item;
    }
  });
}

// The chooser's number is the measured peak, within a row of counters.
TEST(Transactions, PeakIsWhatTheChooserIsTold) {
  Random random(kSeed + 1);
  MemoryMeter meter;
  Encoded data(random_rows(random, 50000, 6000, 400), {}, meter);
  const TransactionLengths lengths = transaction_lengths(data.relation, data.kept, data.options);
  const size_t before = meter.current();
  const Transactions form = link_transactions(data.relation, data.kept, lengths, data.options);
  const uint64_t told =
      transactions_bytes(data.kept.size, data.relation.tid_slots(), data.kept.occurrences, data.kept.occurrences);
  EXPECT_LE(meter.peak() - before, told + 64);
  EXPECT_GE((meter.peak() - before) * 2, told);
}

}  // namespace
}  // namespace batmap::test
