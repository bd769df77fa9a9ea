// Kept counts: chunks, changes, merges and differences, against counting the rows that there are. Counts that do not fit, a
// cancelled run, lack of memory.
#include "pairs/counts/kept_counts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "core/error.h"
#include "pairs/counts/pair_counts.h"
#include "pairs/counts/pair_counts_build.h"
#include "pairs/counts/pair_counts_run.h"
#include "relation/flat_relation.h"
#include "test/unit/shared/oracle.h"
#include "test/unit/shared/shapes.h"

namespace batmap::test {
namespace {

using Bytes = std::vector<std::byte>;
using Rows = std::vector<TidItem>;

Bytes copied(const GrowingBuffer<std::byte>& buffer) { return {buffer.begin(), buffer.end()}; }

Bytes counted(const Rows& rows, std::span<const std::string_view> texts = {}) {
  MemoryMeter meter;
  GrowingBuffer<std::byte> out(meter);
  const PackedRows packed(rows);
  count_pairs_of(packed.chunks(), 0, {}, out, {1, &meter, {}}, texts);
  return copied(out);
}

Bytes supports_of(Rows rows, std::span<const std::string_view> texts = {}) {
  const auto key = [](const TidItem& row) { return std::pair(row.tid, row.item); };
  std::ranges::sort(rows, {}, key);
  rows.erase(std::unique(rows.begin(), rows.end(), [&](auto& x, auto& y) { return key(x) == key(y); }), rows.end());
  MemoryMeter meter;
  GrowingBuffer<std::byte> out(meter);
  count_supports_of(rows, out, {1, &meter, {}}, texts);
  return copied(out);
}

Bytes difference(const Bytes& x, const Bytes& y) {
  MemoryMeter meter;
  GrowingBuffer<std::byte> out(meter);
  subtract_pair_counts(x.data(), y.data(), out, {1, &meter, {}});
  return copied(out);
}

std::string refusal(const Bytes& x, const Bytes& y) {
  try {
    difference(x, y);
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidParameter);
    return error.what();
  }
}

/// What a table of counts holds.
struct Stored {
  Bytes supports;
  std::vector<std::pair<int64_t, Bytes>> chunks;

  std::vector<StoredChunk> views() const {
    std::vector<StoredChunk> all;
    for (const auto& [low, bytes] : chunks) all.push_back({{low, {}}, bytes.data()});
    return all;
  }
};

CountsChange change_of(const Bytes& before, const Bytes& after) {
  return {before.data(), after.data(), before.data(), after.data()};
}

/// Merges a change into the chunks, as the extension does.
Stored merged(const Stored& stored, const Bytes& before, const Bytes& after) {
  MemoryMeter meter;
  const auto counts = KeptCounts::make(stored.supports.empty() ? nullptr : stored.supports.data(), change_of(before, after),
                                       false, {1, &meter, {}});
  Stored next;
  GrowingBuffer<std::byte> supports(meter);
  counts->write_supports(supports);
  next.supports = copied(supports);
  std::vector<StoredChunk> chunks = stored.views();
  if (chunks.empty() || chunks[0].low.number != INT64_MIN) chunks.insert(chunks.begin(), {{INT64_MIN, {}}, nullptr});
  for (size_t k = 0; k < chunks.size(); ++k) {
    const CountsKey* const high = k + 1 < chunks.size() ? &chunks[k + 1].low : nullptr;
    GrowingBuffer<std::byte> out(meter);
    std::vector<MadeChunk> made;
    counts->merge(chunks[k], high, out, made);
    if (!counts->changes(chunks[k].low, high)) {
      // A chunk that the change does not touch stays as it is.
      EXPECT_LE(made.size(), 1u);
      EXPECT_EQ(made.empty(), chunks[k].value == nullptr);
      if (!made.empty()) {
        EXPECT_EQ(made[0].bytes, pair_counts_header(chunks[k].value).bytes);
        EXPECT_EQ(std::memcmp(out.begin(), chunks[k].value, made[0].bytes), 0);
      }
    }
    for (const MadeChunk& chunk : made) {
      const std::byte* const begin = out.begin() + chunk.begin;
      validate_pair_counts({begin, chunk.bytes}, {1, &meter, {}});
      EXPECT_LE(pair_counts_header(begin).pairs, 2 * kPairsAChunk);
      next.chunks.emplace_back(chunk.low.number, Bytes(begin, begin + chunk.bytes));
    }
  }
  return next;
}

Bytes all_of(const Stored& stored, const Bytes& before, const Bytes& after, bool mirrored) {
  MemoryMeter meter;
  GrowingBuffer<std::byte> out(meter);
  KeptCounts::make(stored.supports.data(), change_of(before, after), false, {1, &meter, {}})
      ->write_all(stored.views(), out, mirrored);
  return copied(out);
}

/// The answers of a run, in order.
std::vector<ItemPair> answers(PairCountsRun& run) {
  std::vector<ItemPair> found;
  PairBatch batch;
  while (run.next(batch)) found.insert(found.end(), batch.pairs().begin(), batch.pairs().end());
  return found;
}

/// A question over chunks and changes is answered as one over the counts that they make.
void expect_same_answers(const Stored& stored, const Bytes& before, const Bytes& after, const Bytes& expected, int threads) {
  std::vector<PairQuery> queries(6);
  for (PairQuery& query : queries) query.min_count = 1;
  queries[1].min_count = 5;
  queries[2].top_k = 7;
  queries[3].min_count = 2;
  queries[3].exclude = std::vector<int64_t>{-900, 0, 3};
  queries[4].include = std::vector<int64_t>{-897, 5000};
  queries[5].partners = true;
  queries[5].per_item_top_k = 3;
  queries[5].measure = PairMeasure::kConfidence;
  queries[5].exclude = std::vector<int64_t>{30};
  for (size_t k = 0; k < queries.size(); ++k) {
    MemoryMeter meter;
    const ExecutionOptions options{threads, &meter, {}};
    const auto counts = KeptCounts::make(stored.supports.data(), change_of(before, after), false, options);
    const std::vector<StoredChunk> chunks = stored.views();
    PairCountsRun over_chunks(*counts, chunks, queries[k], options);
    PairCountsRun over_value(expected.data(), queries[k], options);
    const auto numbers = [](const ItemPair& pair) { return std::tuple(pair.item_a, pair.item_b, pair.support); };
    EXPECT_TRUE(std::ranges::equal(answers(over_chunks), answers(over_value), {}, numbers, numbers)) << "question " << k;
    EXPECT_EQ(over_chunks.record().transactions, over_value.record().transactions);
    EXPECT_EQ(over_chunks.record().items, over_value.record().items);
    EXPECT_EQ(over_chunks.record().items_kept, over_value.record().items_kept);
  }
}

/// The counts of the pairs with one of the items, of those items, and of their partners.
Bytes selected_of(const Bytes& counts, const std::set<int64_t>& items) {
  MemoryMeter meter;
  std::vector<int64_t> values;
  std::vector<uint64_t> supports;
  for (PairCountsItems item(counts.data()); item.next();) values.push_back(item.item()), supports.push_back(item.support());
  std::set<int64_t> kept;
  for (const int64_t value : values)
    if (items.contains(value)) kept.insert(value);
  for (PairCountsItems item(counts.data()); item.next();)
    for (PairCountsRow row = item.row(); row.next();)
      if (items.contains(item.item()) || items.contains(values[row.index()]))
        kept.insert({item.item(), values[row.index()]});
  const std::vector<int64_t> order(kept.begin(), kept.end());
  PairCountsWriter writer({1, &meter, {}});
  for (PairCountsItems item(counts.data()); item.next();) {
    if (!kept.contains(item.item())) continue;
    writer.add_item(item.item(), item.support());
    for (PairCountsRow row = item.row(); row.next();)
      if (items.contains(item.item()) || items.contains(values[row.index()]))
        writer.add_pair(static_cast<uint32_t>(std::ranges::lower_bound(order, values[row.index()]) - order.begin()),
                        row.count());
  }
  GrowingBuffer<std::byte> out(meter);
  writer.finish(pair_counts_header(counts.data()).total, out);
  return copied(out);
}

Rows rows_of(const std::set<std::pair<int64_t, int64_t>>& table, const std::set<int64_t>& tids) {
  Rows rows;
  for (const auto& [tid, item] : table)
    if (tids.contains(tid)) rows.push_back({tid, item});
  return rows;
}

Rows rows_of(const std::set<std::pair<int64_t, int64_t>>& table) {
  Rows rows;
  for (const auto& [tid, item] : table) rows.push_back({tid, item});
  return rows;
}

TEST(KeptCounts, StayThoseOfTheRows) {
  Random random(kSeed);
  std::set<std::pair<int64_t, int64_t>> table;
  // One wide transaction, so that there are several chunks.
  for (int64_t item = 0; item < 530; ++item) table.insert({0, item * 3 - 900});
  const Bytes none = counted({});
  Stored stored = merged({}, none, counted(rows_of(table)));
  EXPECT_GT(stored.chunks.size(), 2u);
  for (int round = 0; round < 9; ++round) {
    const auto at_merge = table;
    std::set<int64_t> tids;
    const size_t changes = round % 4 == 0 ? 0 : random.below(200);
    for (size_t k = 0; k < changes; ++k) {
      const auto tid = static_cast<int64_t>(random.below(30));
      tids.insert(tid);
      const auto item = static_cast<int64_t>(random.below(1500)) - 1000;
      if (!table.erase({tid, item})) table.insert({tid, item});
    }
    if (round == 5) {
      for (int64_t tid = 0; tid < 30; ++tid) tids.insert(tid);
      table.clear();
    }
    const Bytes before = counted(rows_of(at_merge, tids));
    const Bytes after = counted(rows_of(table, tids));
    const Bytes expected = counted(rows_of(table));
    ASSERT_EQ(all_of(stored, before, after, false), expected) << "round " << round << ", seed " << kSeed;
    ASSERT_EQ(all_of(stored, before, after, true), expected) << "round " << round << ", mirrored";
    expect_same_answers(stored, before, after, expected, 1 + round % 2 * 3);
    for (const std::set<int64_t>& items : {std::set<int64_t>{}, {-900}, {-897, 0, 1, 3, 5000}, {int64_t{-1000}, 600, 597}}) {
      // Only their chunks are read, and only supports of the transactions without them.
      std::set<size_t> places;
      std::vector<CountsKey> keys;
      for (const int64_t item : items) {
        keys.push_back({item, {}});
        size_t place = SIZE_MAX;
        for (size_t k = 0; k < stored.chunks.size(); ++k)
          if (stored.chunks[k].first <= item) place = k;
        if (place != SIZE_MAX) places.insert(place);
      }
      std::vector<StoredChunk> chunks;
      for (const size_t place : places) chunks.push_back(stored.views()[place]);
      std::set<int64_t> with_item;
      for (const auto& [tid, item] : at_merge)
        if (items.contains(item)) with_item.insert(tid);
      for (const auto& [tid, item] : table)
        if (items.contains(item)) with_item.insert(tid);
      std::erase_if(with_item, [&](int64_t tid) { return !tids.contains(tid); });
      const Bytes supports_before = supports_of(rows_of(at_merge, tids));
      const Bytes supports_after = supports_of(rows_of(table, tids));
      const Bytes pairs_before = counted(rows_of(at_merge, with_item));
      const Bytes pairs_after = counted(rows_of(table, with_item));
      MemoryMeter meter;
      GrowingBuffer<std::byte> out(meter);
      KeptCounts::make(stored.supports.data(),
                       {supports_before.data(), supports_after.data(), pairs_before.data(), pairs_after.data()}, false,
                       {1, &meter, {}})
          ->write_selected(chunks, keys, out);
      ASSERT_EQ(copied(out), selected_of(expected, items)) << "round " << round;
    }
    stored = merged(stored, before, after);
    ASSERT_EQ(all_of(stored, none, none, false), expected) << "round " << round << ", merged";
    ASSERT_EQ(all_of(stored, none, none, true), expected) << "round " << round << ", merged, mirrored";
    expect_same_answers(stored, none, none, expected, 1);
  }
  EXPECT_GT(stored.chunks.size(), 0u);
}

TEST(KeptCounts, CutsCoverAllItems) {
  Rows rows;
  for (int64_t item = 0; item < 100; ++item) rows.push_back({1, item});
  const Bytes counts = counted(rows);
  MemoryMeter meter;
  const auto kept = KeptCounts::make(nullptr, change_of(counted({}), counts), false, {1, &meter, {}});
  EXPECT_TRUE(kept->cuts(UINT64_MAX).empty());
  const std::vector<CountsKey> cuts = kept->cuts(1000);
  ASSERT_EQ(cuts.size(), 9u);
  for (size_t k = 0; k < cuts.size(); ++k) EXPECT_EQ(cuts[k].number, static_cast<int64_t>(k + 1) * 10);
  EXPECT_EQ(kept->cuts(1).size(), 99u) << "a part has at least one item";
}

TEST(KeptCounts, ADifferenceIsWhatIsLeft) {
  for (const Shape& shape : shapes(kSeed + 1)) {
    const Bytes all = counted(shape.rows);
    EXPECT_EQ(difference(all, counted({})), all) << shape.name;
    EXPECT_EQ(difference(all, all), counted({})) << shape.name;
    Rows some;
    Rows rest;
    for (const TidItem& row : shape.rows) (row.tid % 3 == 0 ? some : rest).push_back(row);
    EXPECT_EQ(difference(all, counted(some)), counted(rest)) << shape.name << ", seed " << kSeed;
  }
}

TEST(KeptCounts, ADifferenceOfTextsIsOne) {
  const std::vector<std::string_view> texts = {"", "a", "b", "näher"};
  const std::vector<std::string_view> fewer = {"a", "b"};
  const Bytes all = counted({{1, 0}, {1, 1}, {2, 1}, {2, 2}, {3, 3}, {3, 1}}, texts);
  const Bytes part = counted({{2, 0}, {2, 1}}, fewer);
  const std::vector<std::string_view> left = {"", "a", "näher"};
  EXPECT_EQ(difference(all, part), counted({{1, 0}, {1, 1}, {3, 2}, {3, 1}}, left));
  EXPECT_EQ(difference(all, all), counted({}));
  EXPECT_EQ(refusal(part, all), "the number of transactions would be -2");
}

TEST(KeptCounts, NoCountIsNegative) {
  const Bytes pair = counted({{1, 1}, {1, 2}, {2, 1}, {3, 2}});
  EXPECT_EQ(refusal(counted({{1, 1}, {2, 1}, {3, 2}, {4, 2}, {5, 9}}), pair), "the count of the pair (1, 2) would be -1");
  EXPECT_EQ(refusal(counted({{1, 1}, {2, 2}, {3, 2}}), pair), "the support of item 1 would be -1 of 0");
  EXPECT_EQ(refusal(counted({{1, 1}}), counted({{1, 1}, {2, 1}})), "the number of transactions would be -1");
  EXPECT_EQ(refusal(counted({{1, 1}, {2, 2}, {3, 2}}), counted({{1, 7}})), "the support of item 7 would be -1 of 2");
  // A pair that is left needs its items.
  EXPECT_EQ(refusal(counted({{1, 1}, {1, 2}, {2, 3}}), counted({{1, 1}})),
            "the count of the pair (1, 2) would be 1, above the support of an item");
  const std::vector<std::string_view> texts = {"a", "b"};
  EXPECT_EQ(refusal(pair, counted({{1, 0}}, texts)), kMixedCounts);
  const std::string long_text(100, 'x');
  const std::vector<std::string_view> long_texts = {long_text};
  EXPECT_EQ(refusal(counted({{1, 0}, {2, 1}}, texts), counted({{1, 0}}, long_texts)),
            "the support of item \"" + std::string(60, 'x') + "...\" would be -1 of 1");
}

TEST(KeptCounts, SupportsAloneAreCounted) {
  for (const Shape& shape : shapes(kSeed + 2)) {
    const Bytes all = counted(shape.rows);
    MemoryMeter meter;
    GrowingBuffer<std::byte> out(meter);
    KeptCounts::make(all.data(), {}, false, {1, &meter, {}})->write_supports(out);
    EXPECT_EQ(supports_of(shape.rows), copied(out)) << shape.name;
  }
}

TEST(KeptCounts, AChunkOfAnotherTableIsRefused) {
  const Bytes here = counted({{1, 1}, {1, 2}});
  const Bytes there = counted({{1, 1}, {1, 3}});
  MemoryMeter meter;
  GrowingBuffer<std::byte> out(meter);
  const StoredChunk chunk{{INT64_MIN, {}}, there.data()};
  const auto kept = KeptCounts::make(here.data(), {}, false, {1, &meter, {}});
  EXPECT_THROW(kept->write_all({&chunk, 1}, out), Error);
  EXPECT_THROW(kept->write_all({&chunk, 1}, out, true), Error);
  const CountsKey item{1, {}};
  EXPECT_THROW(kept->write_selected({&chunk, 1}, {&item, 1}, out), Error);
}

/// Items 1 and 2, which always occur together.
Bytes pair_of(uint64_t count, uint64_t support) {
  MemoryMeter meter;
  GrowingBuffer<std::byte> out(meter);
  PairCountsWriter writer({1, &meter, {}});
  writer.add_item(1, support);
  writer.add_pair(1, count);
  writer.add_item(2, support);
  writer.finish(support, out);
  return copied(out);
}

TEST(KeptCounts, CountsNearTheLimitDoNotOverflow) {
  MemoryMeter meter;
  const Bytes full = pair_of(INT64_MAX, INT64_MAX);
  const Bytes five = pair_of(5, 5);
  const StoredChunk chunk{{INT64_MIN, {}}, full.data()};
  const CountsKey item{1, {}};
  CountsChange change{five.data(), five.data(), five.data(), five.data()};
  const auto counts = KeptCounts::make(full.data(), change, false, {1, &meter, {}});
  GrowingBuffer<std::byte> all(meter), some(meter);
  counts->write_all({&chunk, 1}, all);
  EXPECT_EQ(copied(all), full);
  counts->write_selected({&chunk, 1}, {&item, 1}, some);
  EXPECT_EQ(copied(some), full);
  // One transaction more, and chunks whose counts are too large for the supports.
  change.supports_before = change.pairs_before = nullptr;
  EXPECT_THROW(KeptCounts::make(full.data(), change, false, {1, &meter, {}}), Error);
  for (const CountsChange& after : {change, CountsChange()}) {
    const auto small = KeptCounts::make(five.data(), after, false, {1, &meter, {}});
    EXPECT_THROW(small->write_all({&chunk, 1}, all), Error);
    EXPECT_THROW(small->write_selected({&chunk, 1}, {&item, 1}, some), Error);
  }
}

TEST(KeptCounts, StopWhenCancelledAndWithoutMemory) {
  Rows rows;
  for (int64_t item = 0; item < 600; ++item) rows.push_back({1, item});
  const Bytes counts = counted(rows);
  MemoryMeter meter;
  const StoredChunk chunk{{INT64_MIN, {}}, counts.data()};
  GrowingBuffer<std::byte> out(meter);
  const CancelToken stop{[](void*) { return true; }, nullptr};
  try {
    KeptCounts::make(counts.data(), {}, false, {1, &meter, stop})->write_all({&chunk, 1}, out);
    FAIL() << "a cancelled run went on";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kCancelled);
  }
  MemoryMeter small(100000);
  GrowingBuffer<std::byte> nothing(small);
  try {
    subtract_pair_counts(counts.data(), counted({}).data(), nothing, {1, &small, {}});
    FAIL() << "it cannot do with 100 kB";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kMemoryLimit);
  }
}

}  // namespace
}  // namespace batmap::test
