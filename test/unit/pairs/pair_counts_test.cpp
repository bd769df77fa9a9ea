// Pair counts: built from relations, added, queried and checked, against a map of pairs. Malformed bytes,
// large numbers, cancellation, lack of memory.
#include "pairs/counts/pair_counts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"
#include "pairs/counts/pair_counts_build.h"
#include "pairs/counts/pair_counts_run.h"
#include "relation/flat_relation.h"
#include "test/unit/shared/golden.h"
#include "test/unit/shared/oracle.h"
#include "test/unit/shared/shapes.h"

namespace batmap::test {
namespace {

using Bytes = std::vector<std::byte>;

/// The content of a value in the plainest form.
struct Counts {
  std::map<std::pair<int64_t, int64_t>, uint64_t> pairs;
  std::map<int64_t, uint64_t> items;
  uint64_t total = 0;

  Counts& operator+=(const Counts& other) {
    for (const auto& [pair, count] : other.pairs) pairs[pair] += count;
    for (const auto& [item, support] : other.items) items[item] += support;
    total += other.total;
    return *this;
  }
  bool operator==(const Counts&) const = default;
};

Counts oracle_counts(const std::vector<TidItem>& rows) {
  std::map<int64_t, std::set<int64_t>> transactions;
  for (const TidItem& pair : rows) transactions[pair.tid].insert(pair.item);
  Counts counts;
  counts.total = transactions.size();
  for (const auto& [tid, items] : transactions)
    for (auto a = items.begin(); a != items.end(); ++a) {
      ++counts.items[*a];
      for (auto b = std::next(a); b != items.end(); ++b) ++counts.pairs[{*a, *b}];
    }
  return counts;
}

Bytes copied(const GrowingBuffer<std::byte>& buffer) { return {buffer.begin(), buffer.end()}; }

bool refused(const Bytes& bytes) {
  MemoryMeter meter;
  try {
    validate_pair_counts(bytes, {1, &meter, {}});
    return false;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidData);
    return true;
  }
}

Bytes counted(const std::vector<TidItem>& rows, int threads = 1, uint64_t total = 0) {
  MemoryMeter meter;
  GrowingBuffer<std::byte> out(meter);
  const PackedRows packed(rows);
  count_pairs_of(packed.chunks(), total, {}, out, {threads, &meter, {}});
  return copied(out);
}

Bytes written(const Counts& counts) {
  MemoryMeter meter;
  PairCountsWriter writer({1, &meter, {}});
  for (const auto& [item, support] : counts.items) {
    writer.add_item(item, support);
    for (auto pair = counts.pairs.lower_bound({item, INT64_MIN}); pair != counts.pairs.end() && pair->first.first == item;
         ++pair)
      writer.add_pair(static_cast<uint32_t>(std::distance(counts.items.begin(), counts.items.find(pair->first.second))),
                      pair->second);
  }
  GrowingBuffer<std::byte> out(meter);
  writer.finish(counts.total, out);
  return copied(out);
}

Bytes sum(const std::vector<Bytes>& values) {
  MemoryMeter meter;
  std::vector<const std::byte*> pointers;
  for (const Bytes& value : values) pointers.push_back(value.data());
  GrowingBuffer<std::byte> out(meter);
  add_pair_counts(pointers, out, {1, &meter, {}});
  return copied(out);
}

/// Reads a value, and checks every guarantee about a finished one.
Counts read(const Bytes& bytes) {
  EXPECT_FALSE(refused(bytes));
  const PairCountsHeader header = pair_counts_header(bytes.data());
  EXPECT_EQ(header.bytes, bytes.size());
  EXPECT_EQ(header.behind, 0u);
  Counts counts;
  counts.total = header.total;
  std::vector<int64_t> values;
  for (PairCountsItems items(bytes.data()); items.next();) {
    EXPECT_EQ(items.index(), values.size());
    values.push_back(items.item());
    counts.items[items.item()] = items.support();
  }
  EXPECT_EQ(values.size(), header.items);
  for (PairCountsItems items(bytes.data()); items.next();)
    for (PairCountsRow row = items.row(); row.next();) counts.pairs[{items.item(), values.at(row.index())}] = row.count();
  EXPECT_EQ(counts.pairs.size(), header.pairs);
  return counts;
}

std::vector<PairRow> answers(const Bytes& counts, const PairQuery& query, RunRecord* record = nullptr, int threads = 1) {
  MemoryMeter meter;
  PairCountsRun run(counts.data(), query, {threads, &meter, {}});
  std::vector<PairRow> all;
  for (PairBatch batch; run.next(batch);) all.insert(all.end(), batch.begin(), batch.end());
  if (record != nullptr) *record = run.record();
  return all;
}

std::vector<PairRow> by_items(std::vector<PairRow> rows) {
  std::sort(rows.begin(), rows.end(), [](const PairRow& x, const PairRow& y) {
    return std::pair(x.item_a, x.item_b) < std::pair(y.item_a, y.item_b);
  });
  return rows;
}

TEST(PairCounts, CountsWhatTheOracleCounts) {
  for (const Shape& shape : shapes(kSeed)) {
    const Counts expected = oracle_counts(shape.rows);
    for (const int threads : {1, 3}) {
      const Bytes bytes = counted(shape.rows, threads);
      EXPECT_EQ(read(bytes), expected) << shape.name << ", " << threads << " threads, seed " << kSeed;
      EXPECT_EQ(bytes, written(expected)) << shape.name << ": equal counts have equal bytes";
    }
  }
}

TEST(PairCounts, TransactionsWithoutItemsAreCounted) {
  EXPECT_EQ(read(counted({}, 1, 7)).total, 7u);
  EXPECT_EQ(read(counted({{1, 5}, {2, 5}}, 1, 7)).total, 7u);
  EXPECT_EQ(read(counted({{1, 5}, {2, 5}}, 1, 1)).total, 2u) << "never fewer than there are";
  EXPECT_EQ(counted({}).size(), kPairCountsHeaderBytes);
}

TEST(PairCounts, AddingIsCountingTogether) {
  std::vector<std::pair<Counts, Bytes>> all;
  for (const Shape& shape : shapes(kSeed)) all.emplace_back(oracle_counts(shape.rows), counted(shape.rows));
  for (size_t left = 0; left < all.size(); ++left)
    for (size_t right = 0; right <= left; ++right) {
      Counts expected = all[left].first;
      expected += all[right].first;
      const Bytes both = sum({all[left].second, all[right].second});
      ASSERT_EQ(both, written(expected)) << "shapes " << left << " and " << right << ", seed " << kSeed;
      ASSERT_EQ(both, sum({all[right].second, all[left].second}));
    }
}

TEST(PairCounts, PartsOfARelationAddUpToTheWhole) {
  for (const Shape& shape : shapes(kSeed + 1))
    for (const size_t parts : {1, 2, 3, 8, 65}) {
      std::vector<std::vector<TidItem>> rows(parts);
      for (const TidItem& pair : shape.rows) rows[static_cast<uint64_t>(pair.tid) % parts].push_back(pair);
      std::vector<Bytes> values;
      for (const std::vector<TidItem>& part : rows) values.push_back(counted(part));
      ASSERT_EQ(sum(values), counted(shape.rows)) << shape.name << ", " << parts << " parts, seed " << kSeed;
    }
}

TEST(PairCounts, StatesAreAddedWithAllThatLiesBehind) {
  Random random(kSeed);
  Counts expected;
  Bytes state;
  std::vector<Bytes> states;
  for (int i = 0; i < 300; ++i) {
    const std::vector<TidItem> rows = random_rows(random, random.below(30), 6, 40);
    expected += oracle_counts(rows);
    const Bytes value = counted(rows);
    if (state.empty()) {
      state = value;
      continue;
    }
    // A state may be appended to another one, too.
    const size_t used = state.size();
    state.resize(used + value.size());
    pair_counts_append(state.data(), value.data());
    EXPECT_EQ(pair_counts_header(state.data()).used(), state.size());
    EXPECT_TRUE(refused(state)) << "a state is no value";
    if (i % 50 == 0) states.push_back(std::exchange(state, {}));
  }
  Bytes all = states[0];
  for (size_t k = 1; k < states.size(); ++k) {
    const size_t used = all.size();
    all.resize(used + states[k].size());
    pair_counts_append(all.data(), states[k].data());
  }
  EXPECT_EQ(sum({all, state}), written(expected));
  EXPECT_EQ(sum({sum({all}), sum({state})}), written(expected));
}

// 2^31, 2^32, 2^53 and the maximum, by doubling one value.
TEST(PairCounts, LargeCountsAreExact) {
  const std::vector<TidItem> rows = {{1, 10}, {1, 20}, {1, 30}, {2, 10}, {2, 20}, {3, -5}};
  Bytes bytes = counted(rows);
  const Counts one = oracle_counts(rows);
  uint64_t times = 1;
  for (int doubled = 1; doubled <= 61; ++doubled) {
    bytes = sum({bytes, bytes});
    times *= 2;
    const Counts counts = read(bytes);
    ASSERT_EQ(counts.total, 3 * times);
    for (const auto& [pair, count] : one.pairs) ASSERT_EQ(counts.pairs.at(pair), count * times);
    ASSERT_EQ(pair_count(bytes.data(), 20, 10), 2 * times);
    ASSERT_EQ(pair_count(bytes.data(), -5, -5), times);

    PairQuery query;
    query.min_count = static_cast<int64_t>(2 * times);
    std::vector<PairRow> found = answers(bytes, query);
    ASSERT_EQ(found.size(), 1u) << "at the threshold, times " << times;
    EXPECT_TRUE(same_row(found[0], {10, 20, 2 * times, 2 * times, 2 * times}));
    ++*query.min_count;
    EXPECT_TRUE(answers(bytes, query).empty()) << "one above";
    for (const auto& [top_k, per_item] : {std::pair{2, 0}, {0, 1}, {3, 1}}) {
      PairQuery best;
      if (top_k > 0) best.top_k = top_k;
      if (per_item > 0) best.per_item_top_k = per_item;
      found = answers(bytes, best);
      ASSERT_EQ(found.size(), 2u);
      EXPECT_TRUE(same_row(found[0], {10, 20, 2 * times, 2 * times, 2 * times}));
      EXPECT_TRUE(same_row(found[1], {10, 30, times, 2 * times, times}));
    }
    query = {};
    query.min_support = 0.5;
    EXPECT_EQ(answers(bytes, query).size(), 1u);
  }
  try {
    sum({bytes, bytes});
    FAIL() << "3 x 2^62 transactions are too many";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kTooLarge);
  }
}

TEST(PairCounts, ASingleCountIsFound) {
  for (const Shape& shape : shapes(kSeed + 2)) {
    const Counts expected = oracle_counts(shape.rows);
    const Bytes bytes = counted(shape.rows);
    std::set<int64_t> items = {INT64_MIN, INT64_MAX, -1, 0, 1};
    for (const auto& [item, support] : expected.items) {
      if (items.size() < 40) items.insert(item);
      if (items.size() < 40 && item < INT64_MAX) items.insert(item + 1);
    }
    for (const int64_t a : items)
      for (const int64_t b : items) {
        uint64_t count = 0;
        if (a == b)
          count = expected.items.contains(a) ? expected.items.at(a) : 0;
        else if (const auto pair = expected.pairs.find(std::minmax(a, b)); pair != expected.pairs.end())
          count = pair->second;
        ASSERT_EQ(pair_count(bytes.data(), a, b), count) << shape.name << ": " << a << ", " << b;
      }
  }
}

std::vector<PairQuery> queries() {
  std::vector<PairQuery> all;
  const auto add = [&](auto set) {
    PairQuery query;
    set(query);
    all.push_back(query);
  };
  for (const int64_t count : {1, 2, 5, 1000}) add([&](PairQuery& q) { q.min_count = count; });
  for (const double fraction : {0.01, 0.07, 0.5, 1.0}) add([&](PairQuery& q) { q.min_support = fraction; });
  for (const int64_t k : {1, 7, 100000}) {
    add([&](PairQuery& q) { q.top_k = k; });
    add([&](PairQuery& q) { q.per_item_top_k = k; });
    add([&](PairQuery& q) { q.top_k = 5, q.per_item_top_k = k, q.min_count = 2; });
  }
  add([](PairQuery& q) { q.min_count = 2, q.include = {{3, 4, 17}}; });
  add([](PairQuery& q) { q.min_count = 1, q.exclude = {{0, 1, 5}}; });
  add([](PairQuery& q) { q.min_count = 1, q.include = {{1, 2, 3}}, q.exclude = {{3}}; });
  add([](PairQuery& q) { q.top_k = 4, q.include = {{2, 5}}; });
  add([](PairQuery& q) { q.min_count = 1, q.include.emplace(); });
  return all;
}

// The answers are the rows of pair_run.h over the same relation, by rising items.
TEST(PairCountsRun, AnswersAsTheRelationDoes) {
  for (const Shape& shape : shapes(kSeed + 3)) {
    const Oracle oracle(shape.rows);
    const Bytes bytes = counted(shape.rows);
    for (const PairQuery& query : queries()) {
      const OracleAnswer expected = oracle.answer(query);
      for (const int threads : {1, 3}) {
        RunRecord record;
        const std::vector<PairRow> found = answers(bytes, query, &record, threads);
        const std::vector<PairRow> rows = query.top_k ? expected.rows : by_items(expected.rows);
        EXPECT_EQ(difference(found, rows), "") << shape.name << ", " << describe(query) << ", seed " << kSeed;
        EXPECT_EQ(record.transactions, expected.total);
        EXPECT_EQ(query.min_count_among(record.transactions), expected.threshold);
        EXPECT_EQ(record.results, rows.size());
        EXPECT_FALSE(record.truncated());
      }
    }
  }
}

TEST(PairCountsRun, CutsOffAtMaxResults) {
  const Bytes bytes = counted({{1, 1}, {1, 2}, {1, 3}, {2, 1}, {2, 2}});
  for (const int64_t max_results : {1, 2, 3, 4}) {
    PairQuery query;
    query.min_count = 1;
    query.max_results = max_results;
    RunRecord record;
    EXPECT_EQ(answers(bytes, query, &record).size(), static_cast<size_t>(std::min<int64_t>(max_results, 3)));
    EXPECT_EQ(record.truncated(), max_results < 3);
  }
}

TEST(PairCountsRun, ChecksTheQuestion) {
  const Bytes bytes = counted({});
  MemoryMeter meter;
  EXPECT_THROW(PairCountsRun(bytes.data(), {}, {1, &meter, {}}), Error);
}

TEST(PairCounts, MalformedBytesAreRefused) {
  const Bytes good = counted({{1, 10}, {1, 20}, {1, 300}, {2, 10}, {2, 20}, {3, -5}});
  ASSERT_FALSE(refused(good));
  for (size_t size = 0; size < good.size(); ++size)
    EXPECT_TRUE(refused({good.begin(), good.begin() + static_cast<ptrdiff_t>(size)}));
  Bytes longer = good;
  longer.push_back(std::byte{0});
  EXPECT_TRUE(refused(longer));
  // Flip each bit: the bytes are refused, or have other counts that are consistent.
  for (size_t bit = 0; bit < good.size() * 8; ++bit) {
    Bytes changed = good;
    changed[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    if (refused(changed)) continue;
    EXPECT_FALSE(read(changed) == read(good)) << "bit " << bit;
  }
  const auto with = [&](auto change) {
    Bytes bytes = good;
    PairCountsHeader header = pair_counts_header(bytes.data());
    change(header);
    std::memcpy(bytes.data(), &header, sizeof header);
    return bytes;
  };
  EXPECT_TRUE(refused(with([](PairCountsHeader& h) { h.version = 3; })));
  EXPECT_TRUE(refused(with([](PairCountsHeader& h) { h.items = UINT32_MAX; })));
  EXPECT_TRUE(refused(with([](PairCountsHeader& h) { h.bytes = UINT64_MAX; })));
  EXPECT_TRUE(refused(with([](PairCountsHeader& h) { h.behind = 1; })));
  EXPECT_TRUE(refused(with([](PairCountsHeader& h) { h.total = uint64_t{1} << 63; })));
  EXPECT_TRUE(refused(with([](PairCountsHeader& h) { h.total = 1; }))) << "an item in more transactions than there are";
  EXPECT_TRUE(refused(with([](PairCountsHeader& h) { ++h.pairs; })));
  EXPECT_TRUE(refused(with([](PairCountsHeader& h) { h.item_bytes = UINT64_MAX; })));
  EXPECT_TRUE(refused(with([](PairCountsHeader& h) { ++h.item_bytes; })));
  EXPECT_FALSE(refused(with([](PairCountsHeader& h) { h.total = INT64_MAX; })));
}

// The check that every function makes before it reads; values and room may lie behind.
TEST(PairCounts, SoundHeadersAreToldFromOthers) {
  Bytes value = counted({{1, 10}, {1, 20}, {1, 300}, {2, 10}});
  const size_t used = value.size();
  value.resize(used + 100);
  for (size_t size = 0; size <= value.size(); ++size)
    EXPECT_EQ(is_pair_counts(std::span(value).first(size), size), size >= used) << size;
  EXPECT_TRUE(is_pair_counts(std::span(value).first(kPairCountsHeaderBytes), used)) << "the header alone is looked at";
  const auto sound = [&](auto change) {
    Bytes bytes = value;
    PairCountsHeader header = pair_counts_header(bytes.data());
    change(header);
    std::memcpy(bytes.data(), &header, sizeof header);
    return is_pair_counts(bytes, bytes.size());
  };
  EXPECT_TRUE(sound([](PairCountsHeader& h) { h.behind = 100; }));
  EXPECT_FALSE(sound([](PairCountsHeader& h) { h.behind = 101; }));
  EXPECT_FALSE(sound([](PairCountsHeader& h) { h.behind = UINT64_MAX; }));
  EXPECT_FALSE(sound([](PairCountsHeader& h) { h.version = 3; }));
  EXPECT_FALSE(sound([](PairCountsHeader& h) { h.zero[0] = 1; }));
  EXPECT_FALSE(sound([](PairCountsHeader& h) { h.items = UINT32_MAX; }));
  EXPECT_FALSE(sound([](PairCountsHeader& h) { h.bytes = UINT64_MAX; }));
  EXPECT_FALSE(sound([](PairCountsHeader& h) { h.bytes = kPairCountsHeaderBytes - 1; }));
  EXPECT_FALSE(sound([](PairCountsHeader& h) { h.total = uint64_t{1} << 63; }));
  EXPECT_FALSE(sound([](PairCountsHeader& h) { h.item_bytes = h.bytes; }));
}

// ---- items that are texts

/// Texts that ascend like the numbers 0, 1, 2, ...
std::vector<std::string> ascending_texts(size_t count) {
  std::vector<std::string> texts;
  for (size_t k = 0; k < count; ++k) texts.push_back(std::to_string(100000 + k) + std::string(k % 7 * 30, 'x'));
  return texts;
}

/// @param texts  what the items are numbers of; those without a row are left out
Bytes counted_texts(std::vector<TidItem> rows, const std::vector<std::string>& texts, int threads = 1) {
  std::set<int64_t> occurs;
  for (const TidItem& row : rows) occurs.insert(row.item);
  std::vector<std::string_view> views;
  for (const int64_t item : occurs) views.push_back(texts[static_cast<size_t>(item)]);
  for (TidItem& row : rows) row.item = std::distance(occurs.begin(), occurs.find(row.item));
  MemoryMeter meter;
  GrowingBuffer<std::byte> out(meter);
  const PackedRows packed(rows);
  count_pairs_of(packed.chunks(), 0, {}, out, {threads, &meter, {}}, views);
  return copied(out);
}

/// Reads a value of text items, which it calls by their numbers among `texts`.
Counts read_texts_as_numbers(const Bytes& bytes, const std::vector<std::string>& texts) {
  const Counts by_position = read(bytes);
  std::vector<int64_t> number;
  for (PairCountsItems items(bytes.data()); items.next();)
    number.push_back(std::lower_bound(texts.begin(), texts.end(), items.text()) - texts.begin());
  Counts counts;
  counts.total = by_position.total;
  for (const auto& [item, support] : by_position.items) counts.items[number.at(static_cast<size_t>(item))] = support;
  for (const auto& [pair, count] : by_position.pairs)
    counts.pairs[{number.at(static_cast<size_t>(pair.first)), number.at(static_cast<size_t>(pair.second))}] = count;
  return counts;
}

TEST(TextCounts, AreCountedAsNumbersAre) {
  Random random(kSeed + 20);
  const std::vector<std::string> texts = ascending_texts(500);
  for (const size_t rows : {0, 1, 900, 20000}) {
    const std::vector<TidItem> relation = random_rows(random, rows, rows / 8 + 1, rows / 50 + 2);
    for (const int threads : {1, 3}) {
      const Bytes bytes = counted_texts(relation, texts, threads);
      EXPECT_EQ(pair_counts_header(bytes.data()).has_texts(), rows > 0);
      const Counts expected = oracle_counts(relation);
      ASSERT_EQ(read_texts_as_numbers(bytes, texts), expected) << rows << " rows";
      const auto text = [&](int64_t item) { return std::string_view(texts[static_cast<size_t>(item)]); };
      int asked = 0;
      for (const auto& [pair, count] : expected.pairs)
        if (++asked < 50) {
          EXPECT_EQ(pair_count(bytes.data(), text(pair.second), text(pair.first)), count);
        }
      for (const auto& [item, support] : expected.items)
        if (++asked < 100) {
          EXPECT_EQ(pair_count(bytes.data(), text(item), text(item)), support);
        }
      for (const char* none : {"", "1000000", "zzz"})
        EXPECT_EQ(pair_count(bytes.data(), std::string_view(none), "100000"), 0u);
    }
  }
}

TEST(TextCounts, PartsWithOtherTextsAddUp) {
  Random random(kSeed + 21);
  const std::vector<std::string> texts = ascending_texts(300);
  for (const size_t parts : {1, 2, 3, 17}) {
    std::vector<Bytes> values;
    Counts expected;
    std::vector<TidItem> all;
    for (size_t part = 0; part < parts; ++part) {
      std::vector<TidItem> rows = random_rows(random, random.below(600) + 1, 40, 60);
      for (TidItem& row : rows) row.item += static_cast<int64_t>(part * 11), row.tid += static_cast<int64_t>(part * 100);
      values.push_back(counted_texts(rows, texts));
      expected += oracle_counts(rows);
      all.insert(all.end(), rows.begin(), rows.end());
    }
    const Bytes total = sum(values);
    EXPECT_EQ(read_texts_as_numbers(total, texts), expected);
    EXPECT_EQ(total, counted_texts(all, texts)) << "equal counts have equal bytes";
    std::reverse(values.begin(), values.end());
    EXPECT_EQ(sum(values), total);
    // The same as a state: one value behind the other.
    Bytes state = values[0];
    for (size_t part = 1; part < parts; ++part) {
      const size_t used = state.size();
      state.resize(used + values[part].size());
      pair_counts_append(state.data(), values[part].data());
    }
    EXPECT_TRUE(is_pair_counts(state, state.size()));
    EXPECT_EQ(sum({state}), total);
  }
}

TEST(TextCounts, DoNotMixWithIntegers) {
  const Bytes texts = counted_texts({{1, 0}, {1, 1}}, ascending_texts(2));
  EXPECT_THROW(sum({texts, counted({{1, 7}})}), Error);
  EXPECT_THROW(sum({counted({{1, 7}}), counted({}), texts}), Error);
  const Bytes baskets = counted({}, 1, 5);  // five transactions without an item
  EXPECT_EQ(pair_counts_header(sum({texts, baskets}).data()).total, 6u);
  EXPECT_EQ(sum({baskets, texts}), sum({texts, baskets}));
}

TEST(TextCounts, MalformedBytesAreRefused) {
  const std::vector<std::string> texts = ascending_texts(5);
  const Bytes good = counted_texts({{1, 0}, {1, 1}, {1, 4}, {2, 0}, {2, 1}, {3, 2}}, texts);
  ASSERT_FALSE(refused(good));
  for (size_t size = 0; size < good.size(); ++size)
    EXPECT_TRUE(refused({good.begin(), good.begin() + static_cast<ptrdiff_t>(size)}));
  const auto texts_of = [](const Bytes& bytes) {
    std::vector<std::string> found;
    for (PairCountsItems items(bytes.data()); items.next();) found.emplace_back(items.text());
    return found;
  };
  for (size_t bit = 0; bit < good.size() * 8; ++bit) {
    Bytes changed = good;
    changed[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    if (refused(changed)) continue;
    EXPECT_FALSE(read(changed) == read(good) && texts_of(changed) == texts_of(good)) << "bit " << bit;
  }
}

TEST(PairCounts, ItemsAtBothEndsOfTheRange) {
  const std::vector<TidItem> rows = {{1, INT64_MIN}, {1, INT64_MAX}, {1, 0}, {2, INT64_MIN}, {2, INT64_MAX}};
  const Bytes bytes = counted(rows);
  EXPECT_EQ(read(bytes), oracle_counts(rows));
  EXPECT_EQ(pair_count(bytes.data(), INT64_MAX, INT64_MIN), 2u);
  // One above the maximum: the distance of the second item, which is the longest number, is increased by one.
  Bytes beyond = counted({{1, INT64_MIN}, {1, INT64_MAX}});
  bool found = false;
  for (size_t at = kPairCountsHeaderBytes; at < beyond.size() && !found; ++at) {
    if (beyond[at] != std::byte{0xfe}) continue;
    beyond[at] = std::byte{0xff};
    found = true;
  }
  ASSERT_TRUE(found);
  EXPECT_TRUE(refused(beyond));
}

TEST(PairCounts, PairsOfWideItemsStaySmall) {
  Random random(kSeed + 4);
  std::vector<TidItem> rows = random_grid(random, 300, 200, 30);
  for (TidItem& pair : rows) pair.item = scattered_key(pair.item);
  const Bytes bytes = counted(rows);
  EXPECT_LE(bytes.size(), pair_counts_header(bytes.data()).pairs * 3 + 200 * 15);
}

TEST(PairCounts, CancelledAndOutOfMemory) {
  Random random(kSeed + 5);
  const std::vector<TidItem> rows = random_grid(random, 400, 600, 50);
  const PackedRows packed(rows);
  const Bytes bytes = counted(rows);
  const std::byte* const both[2] = {bytes.data(), bytes.data()};
  PairQuery query;
  query.min_count = 1;
  const auto everything = [&](const ExecutionOptions& options) {
    GrowingBuffer<std::byte> out(*options.memory);
    count_pairs_of(packed.chunks(), 0, {}, out, options);
    add_pair_counts(both, out, options);
    validate_pair_counts(bytes, options);
    PairCountsRun run(bytes.data(), query, options);
    for (PairBatch batch; run.next(batch);) {
    }
  };
  struct Countdown {
    int left;
    int asked = 0;
  };
  const auto poll = [](void* arg) {
    auto& countdown = *static_cast<Countdown*>(arg);
    return ++countdown.asked > countdown.left;
  };
  Countdown all{INT32_MAX};
  MemoryMeter meter;
  everything({1, &meter, {poll, &all}});
  EXPECT_GE(all.asked, 10) << "it is polled";
  for (int left = 0; left < all.asked; left += 1 + all.asked / 50) {
    Countdown countdown{left};
    try {
      everything({1, &meter, {poll, &countdown}});
      FAIL() << "not cancelled after " << left << " questions";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kCancelled);
    }
  }
  EXPECT_EQ(meter.current(), 0u);
  const size_t peak = meter.peak();
  for (size_t limit = 0; limit < peak; limit += peak / 40) {
    MemoryMeter small(limit);
    try {
      everything({1, &small, {}});
      EXPECT_GT(limit, peak / 2) << "another method may do with less";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kMemoryLimit);
    }
    EXPECT_EQ(small.current(), 0u);
  }
}

// Stored values must stay readable, and equal counts must be stored in the same way: values as they are in tables.
TEST(PairCounts, BytesAreThoseOfTheGoldenFiles) {
  const std::vector<TidItem> rows = {{1, -5}, {1, 3}, {1, 700}, {2, 3}, {2, 700}, {3, 3}, {4, 100000}};
  const Bytes integers = golden_bytes("small_pair_counts");
  EXPECT_FALSE(refused(integers));
  Counts expected = oracle_counts(rows);
  expected.total = 6;  // two transactions have no items
  EXPECT_EQ(read(integers), expected);
  EXPECT_EQ(hex_of(counted(rows, 1, 6)), hex_of(integers));

  const std::vector<TidItem> names = {{1, 0}, {1, 1}, {1, 2}, {2, 1}, {2, 2}, {3, 1}};
  const std::vector<std::string> texts = {"", "bread", "milk"};
  const Bytes named = golden_bytes("small_text_pair_counts");
  EXPECT_FALSE(refused(named));
  EXPECT_EQ(read_texts_as_numbers(named, texts), oracle_counts(names));
  EXPECT_EQ(pair_count(named.data(), "milk", "bread"), 2u);
  EXPECT_EQ(hex_of(counted_texts(names, texts)), hex_of(named));
}

}  // namespace
}  // namespace batmap::test
