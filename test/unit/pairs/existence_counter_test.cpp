// Pairs that are found without counts, against sets: in lists, in bit rows, and in both if some lists are long; triangles
// and rectangles, over relations that are each awkward in another way. Then cancellation and too little memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "pairs/counters/pair_counter.h"
#include "test/unit/shared/countdown.h"
#include "test/unit/shared/shapes.h"

namespace batmap::test {
namespace {

using Pairs = std::vector<std::pair<uint32_t, uint32_t>>;

enum class Form { kLists, kBitRows };

/// Rows (tid, item); items below left_items, if given, are paired with the others only.
struct Relation {
  std::string name;
  std::vector<TidItem> rows;
  std::optional<int64_t> left_items;
};

std::vector<Relation> relations(uint64_t seed) {
  Random random(seed);
  std::vector<Relation> all;
  for (const Shape& shape : shapes(seed))
    for (const std::optional<int64_t>& left : {std::optional<int64_t>(), std::optional<int64_t>(8)})
      all.push_back({shape.name, shape.rows, left});
  const auto join = [&](const std::string& name, int64_t left, std::vector<TidItem> rows) {
    if (rows.size() < 4'000) all.push_back({name + ", a triangle", rows, std::nullopt});
    all.push_back({name, std::move(rows), left});
  };
  for (const int64_t columns : {1, 63, 64, 65, 511, 512, 513, 4096, 4097}) {
    std::vector<TidItem> rows = random_grid(random, 40, 30, 60);
    for (const TidItem& pair : random_grid(random, 40, columns, 3)) rows.push_back({pair.tid, pair.item + 30});
    for (int64_t column = 0; column < columns; ++column) rows.push_back({7, 30 + column});  // all columns at once
    join(std::to_string(columns) + " columns", 30, std::move(rows));
  }
  {
    std::vector<TidItem> rows = random_rows(random, 3000, 1500, 900);
    for (const TidItem& pair : random_rows(random, 3000, 1500, 20000)) rows.push_back({pair.tid, pair.item + 900});
    join("few marks among many columns", 900, std::move(rows));
  }
  {
    // Some transactions have most columns, most have few: bit rows and lists in one relation, and more long lists than
    // may become bit rows.
    std::vector<TidItem> rows = random_rows(random, 600, 200, 50);
    for (int64_t tid = 0; tid < 200; ++tid) {
      const uint64_t length = tid % 20 == 0 ? 400 : tid % 2 == 0 ? 20 : 2;
      for (uint64_t k = 0; k < length; ++k) rows.push_back({tid, 50 + random.signed_below(900)});
    }
    join("long and short lists", 150, std::move(rows));
  }
  for (const int64_t columns : {509, 4093, 4605}) {  // and three others: whole lines of a row
    // The first transactions have all columns but the one with the highest rank, which comes when many are united.
    std::vector<TidItem> rows;
    for (int64_t item = 0; item < 3; ++item)
      for (const int64_t tid : {0, 1, 2, 3, 4, 5, 6, 7, 10}) rows.push_back({tid, item});
    for (int64_t tid = 0; tid < 10; ++tid)
      for (int64_t column = 0; column + 1 < columns; ++column) rows.push_back({tid, column + 3});
    for (int64_t tid = 10; tid < 30; ++tid) rows.push_back({tid, columns + 2});
    join("the last of " + std::to_string(columns) + " columns comes last", 3, std::move(rows));
  }
  {
    std::vector<TidItem> rows = random_grid(random, 100, 20, 50);
    for (const TidItem& pair : random_grid(random, 100, 400, 30)) rows.push_back({pair.tid, pair.item + 20});
    join("full after some transactions", 20, std::move(rows));
  }
  {
    std::vector<TidItem> rows = random_rows(random, 60, 400, 40);
    for (const TidItem& pair : random_rows(random, 80'000, 300, 70'000)) rows.push_back({pair.tid, pair.item + 40});
    all.push_back({"more than 65,536 columns", std::move(rows), 40});
  }
  return all;
}

/// What a counter finds, by find() and by count().
struct Outcome {
  Pairs found;
  Pairs counted;
  std::vector<uint32_t> supports;
};

/// The coded relation and what is kept of it.
struct Coded {
  Coded(const Relation& relation, const ExecutionOptions& options)
      : packed(relation.rows, kSeed),
        encoded(packed.chunks(), {}, options),
        kept(keep_items(encoded,
                        {.min_rows = 1, .include = {}, .exclude = {}, .left_items = relation.left_items, .enough = 1},
                        options)) {}
  bool has_pairs() const { return kept.pairs.leading > 0 && (!kept.pairs.rectangle() || kept.pairs.leading < kept.size); }

  PackedRows packed;
  EncodedRelation encoded;
  KeptItems kept;
};

Outcome outcome(const Relation& relation, Form form, MemoryMeter& meter, const CancelToken& cancel = {}, int threads = 1) {
  const ExecutionOptions options{.threads = threads, .memory = &meter, .cancel = cancel};
  const Coded coded(relation, options);
  const KeptItems& kept = coded.kept;
  Outcome result;
  if (!coded.has_pairs()) return result;
  const TransactionLengths lengths = transaction_lengths(coded.encoded, kept, options);
  const std::unique_ptr<PairCounter> counter =
      form == Form::kLists ? find_in_lists(link_transactions(coded.encoded, kept, lengths, options), kept.pairs, options)
                           : find_in_bit_rows(fill_transaction_bits(coded.encoded, kept, options), kept.pairs,
                                              lengths.pair_instances, options);
  for (size_t task = 0; task < counter->tasks(); ++task) {
    const int worker = static_cast<int>(task % static_cast<size_t>(threads));
    FoundPairs found(meter);
    EXPECT_TRUE(counter->find(task, worker, found));
    EXPECT_LE(found.columns.size(), counter->max_results());
    size_t k = 0;
    for (const FoundPairs::Row& row : found.rows)
      for (; k < row.end; ++k) result.found.emplace_back(row.a, found.columns[k]);
    EXPECT_EQ(k, found.columns.size());
    GrowingBuffer<PairCount> counts(meter);
    counter->count(task, worker, 1, counts);
    for (const PairCount& pair : counts.span()) {
      result.counted.emplace_back(pair.a, pair.b);
      EXPECT_EQ(pair.count, 1u);
    }
  }
  result.supports.assign(counter->supports().begin(), counter->supports().end());
  return result;
}

/// The same from sets.
Outcome reference(const Relation& relation) {
  MemoryMeter meter;
  const Coded coded(relation, {.threads = 1, .memory = &meter, .cancel = {}});
  const KeptItems& kept = coded.kept;
  Outcome result;
  if (!coded.has_pairs()) return result;
  std::map<int64_t, uint32_t> rank_of;
  for (uint32_t rank = 0; rank < kept.size; ++rank) rank_of[coded.encoded.item_value(kept.code(Rank{rank}))] = rank;
  std::map<int64_t, std::set<uint32_t>> transactions;
  for (const TidItem& row : relation.rows) transactions[row.tid].insert(rank_of.at(row.item));
  result.supports.resize(kept.size);
  for (const auto& [tid, ranks] : transactions)
    for (const uint32_t a : ranks) {
      ++result.supports[a];
      if (a >= kept.pairs.leading) continue;
      for (auto b = ranks.lower_bound(kept.pairs.first_after(a)); b != ranks.end(); ++b) result.found.emplace_back(a, *b);
    }
  std::sort(result.found.begin(), result.found.end());
  result.found.erase(std::unique(result.found.begin(), result.found.end()), result.found.end());
  result.counted = result.found;
  return result;
}

class ExistenceCounter : public testing::TestWithParam<Form> {};

TEST_P(ExistenceCounter, FindsThePairsOfALoop) {
  size_t pairs = 0;
  for (const Relation& relation : relations(kSeed)) {
    const Outcome expected = reference(relation);
    for (const int threads : {1, 3}) {
      SCOPED_TRACE(relation.name + (relation.left_items ? ", two sides" : "") + ", seed " + std::to_string(kSeed));
      MemoryMeter meter;
      const Outcome result = outcome(relation, GetParam(), meter, {}, threads);
      ASSERT_EQ(result.found, expected.found);
      ASSERT_EQ(result.counted, expected.counted);
      ASSERT_EQ(result.supports, expected.supports);
      ASSERT_EQ(meter.current(), 0u);
    }
    pairs += expected.found.size();
  }
  EXPECT_GT(pairs, 100'000u);
}

/// The relations with lists of both kinds, and with rows that become full.
std::vector<Relation> some_relations() {
  std::vector<Relation> some;
  for (Relation& relation : relations(kSeed + 1))
    if (relation.name == "long and short lists" || relation.name == "full after some transactions")
      some.push_back(std::move(relation));
  return some;
}

TEST_P(ExistenceCounter, CanBeCancelledAtAnyPoll) {
  for (const Relation& relation : some_relations()) {
    MemoryMeter meter;
    const Pairs expected = reference(relation).found;
    int cancelled = 0;
    for (int64_t polls = 0;; polls += 29) {
      Countdown countdown{polls};
      try {
        ASSERT_EQ(outcome(relation, GetParam(), meter, countdown.token()).found, expected);
        break;
      } catch (const Error& error) {
        ASSERT_EQ(error.code(), ErrorCode::kCancelled);
        ++cancelled;
      }
      ASSERT_EQ(meter.current(), 0u);
    }
    EXPECT_GT(cancelled, 2) << relation.name;
  }
}

TEST_P(ExistenceCounter, CanRunOutOfMemoryAtAnyCharge) {
  for (const Relation& relation : some_relations()) {
    MemoryMeter all;
    const Pairs expected = outcome(relation, GetParam(), all, {}, 2).found;
    int failures = 0;
    for (size_t limit = 0;; limit += all.peak() / 100 + 64) {
      MemoryMeter meter(limit);
      try {
        ASSERT_EQ(outcome(relation, GetParam(), meter, {}, 2).found, expected);
        break;
      } catch (const Error& error) {
        ASSERT_EQ(error.code(), ErrorCode::kMemoryLimit);
        ++failures;
      }
      ASSERT_EQ(meter.current(), 0u);
    }
    EXPECT_GT(failures, 30) << relation.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, ExistenceCounter, testing::Values(Form::kLists, Form::kBitRows),
                         [](const testing::TestParamInfo<Form>& form) {
                           return std::string(form.param == Form::kLists ? "lists" : "bit_rows");
                         });

}  // namespace
}  // namespace batmap::test
