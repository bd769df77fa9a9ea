// Estimated numbers of pairs against those of an oracle, over the relations of the benchmark and at the edges.
#include "pairs/answer_size.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "bench/answer_size_inputs.h"
#include "test/unit/shared/countdown.h"
#include "test/unit/shared/shapes.h"

namespace batmap::test {
namespace {

struct Input {
  std::string name;
  std::vector<TidItem> rows;
  std::optional<int64_t> left_items = {};
  std::optional<std::vector<int64_t>> include = {};
};

/// The support of every wanted pair.
std::map<std::pair<int64_t, int64_t>, uint64_t> supports_of(const Input& input) {
  std::map<int64_t, std::set<int64_t>> transactions;
  for (const TidItem& row : input.rows) transactions[row.tid].insert(row.item);
  std::vector<std::pair<int64_t, int64_t>> occurrences;
  for (const auto& [tid, items] : transactions)
    for (auto a = items.begin(); a != items.end(); ++a)
      for (auto b = std::next(a); b != items.end(); ++b) {
        if (input.left_items && (*a >= *input.left_items || *b < *input.left_items)) continue;
        if (input.include && std::ranges::count(*input.include, *a) + std::ranges::count(*input.include, *b) == 0) continue;
        occurrences.emplace_back(*a, *b);
      }
  std::sort(occurrences.begin(), occurrences.end());
  std::map<std::pair<int64_t, int64_t>, uint64_t> supports;
  for (const auto& pair : occurrences) ++supports.emplace_hint(supports.end(), pair, 0)->second;
  return supports;
}

uint64_t frequent(const std::map<std::pair<int64_t, int64_t>, uint64_t>& supports, uint64_t min_count) {
  return static_cast<uint64_t>(std::ranges::count_if(supports, [&](const auto& pair) { return pair.second >= min_count; }));
}

AnswerSize estimate(const Input& input, const AnswerSizeQuery& query, const ExecutionOptions& options) {
  RowLog log(*options.memory);
  for (const TidItem& row : input.rows) log.append(row.tid, row.item);
  log.seal();
  const EncodedRelation relation(log.chunks(), {}, options);
  const KeptItems kept = keep_items(
      relation, {.min_rows = query.min_count, .include = input.include, .exclude = {}, .left_items = input.left_items},
      options);
  if (kept.size == 0) return {};
  return estimate_answer_size(relation, kept, transaction_lengths(relation, kept, options), query, options);
}

AnswerSize estimate(const Input& input, const AnswerSizeQuery& query = {}, int threads = 1) {
  MemoryMeter meter;
  return estimate(input, query, {threads, &meter, {}});
}

std::vector<Input> benchmark_inputs(double rows) {
  std::vector<Input> inputs;
  uint64_t seed = kSeed;
  for (const bench::SizeInput& input : bench::size_inputs(rows)) {
    inputs.push_back({input.name, {}});
    if (const int64_t left = bench::left_items_of(input); left > 0) inputs.back().left_items = left;
    bench::generate(input, ++seed, [&](int64_t tid, int64_t item) { inputs.back().rows.push_back({tid, item}); });
  }
  // In the places of three data sets: many short transactions of few items, each with one value of each attribute.
  Random random(kSeed);
  for (const int64_t attributes : {12, 23, 37}) {
    inputs.push_back({"attributes " + std::to_string(attributes), {}});
    for (int64_t tid = 0; tid < static_cast<int64_t>(rows) / attributes; ++tid)
      for (int64_t attribute = 0; attribute < attributes; ++attribute)
        inputs.back().rows.push_back({tid, attribute * 8 + random.signed_below(1 + random.below(8))});
  }
  return inputs;
}

TEST(AnswerSize, IsNearForTheBenchmarksRelations) {
  double errors = 0;
  size_t estimated = 0;
  const std::vector<Input> inputs = benchmark_inputs(4000);
  ASSERT_EQ(inputs.size(), 60u);
  for (const Input& input : inputs) {
    const auto pairs = static_cast<double>(supports_of(input).size());
    const AnswerSize size = estimate(input);
    EXPECT_NEAR(size.pairs, pairs, 3 * size.standard_error) << input.name;
    EXPECT_EQ(size.exact(), pairs < AnswerSizeQuery().sample) << input.name;
    errors += std::abs(size.pairs / pairs - 1);
    estimated += !size.exact();
    const AnswerSize threads = estimate(input, {}, 3);
    EXPECT_EQ(threads.pairs, size.pairs) << input.name;
    EXPECT_EQ(threads.reached, size.reached) << input.name;
  }
  EXPECT_GT(estimated, 50u);
  EXPECT_LE(errors / static_cast<double>(inputs.size()), 0.1);
}

TEST(AnswerSize, ErrorFallsWithTheSquareRootOfTheSample) {
  const std::vector<Input> inputs = benchmark_inputs(3000);
  for (const uint32_t sample : {16u, 64u, 1024u}) {
    double squares = 0;
    int runs = 0;
    for (size_t at = 0; at < inputs.size(); at += 7) {
      const auto pairs = static_cast<double>(supports_of(inputs[at]).size());
      for (uint64_t seed = 1; seed <= 20; ++seed) {
        const AnswerSize size = estimate(inputs[at], {.sample = sample, .seed = seed});
        if (size.exact()) continue;
        squares += std::pow(size.pairs / pairs - 1, 2);
        ++runs;
      }
    }
    EXPECT_LT(std::sqrt(squares / runs), 1.2 / std::sqrt(sample)) << sample << " of " << runs << " runs";
  }
}

TEST(AnswerSize, SampleHasTheSharesOfTheSupports) {
  Random random(kSeed);
  Input input{"skewed", {}};
  for (int64_t tid = 0; tid < 3000; ++tid)
    for (int64_t item = 0; item < 120; ++item)
      if (random.below(1000) < 10 + static_cast<uint64_t>(item)) input.rows.push_back({tid, item});
  const auto supports = supports_of(input);
  for (const uint64_t min_count : {2, 10, 20}) {
    const auto answers = static_cast<double>(frequent(supports, min_count));
    const AnswerSize size = estimate(input, {.sample = 1024, .min_count = min_count}, 2);
    const double share = static_cast<double>(size.reached) / static_cast<double>(size.sampled);
    EXPECT_NEAR(size.pairs * share, answers, 4 * answers / std::sqrt(static_cast<double>(size.reached))) << min_count;
    const AnswerSize all = estimate(input, {.sample = 100000, .min_count = min_count});
    EXPECT_TRUE(all.exact());
    EXPECT_EQ(static_cast<double>(all.reached), answers) << min_count;
  }
}

TEST(AnswerSize, FewPairsAreExactForAllShapes) {
  for (const Shape& shape : shapes(kSeed)) {
    Input input{shape.name, shape.rows};
    const AnswerSizeQuery query{.sample = 1 << 16};
    EXPECT_EQ(estimate(input, query).pairs, static_cast<double>(supports_of(input).size())) << shape.name;
    if (input.rows.empty()) continue;
    input.include = {input.rows.front().item, input.rows.back().item};
    EXPECT_EQ(estimate(input, query).pairs, static_cast<double>(supports_of(input).size())) << shape.name;
    input.include.reset();
    input.left_items = input.rows[input.rows.size() / 2].item;
    EXPECT_EQ(estimate(input, query).pairs, static_cast<double>(supports_of(input).size())) << shape.name;
  }
}

TEST(AnswerSize, Edges) {
  EXPECT_EQ(estimate({"empty", {}}).pairs, 0);
  EXPECT_EQ(estimate({"one row", {{1, 1}}}).pairs, 0);
  EXPECT_EQ(estimate({"one item", {{1, 1}, {2, 1}, {3, 1}}}).pairs, 0);
  EXPECT_EQ(estimate({"two items apart", {{1, 1}, {2, 2}}}).pairs, 0);
  EXPECT_EQ(estimate({"one pair", {{1, kMin}, {1, kMax}}}).pairs, 1);
  Input repeated{"repeated", {}};
  for (int k = 0; k < 5000; ++k) repeated.rows.insert(repeated.rows.end(), {{1, 1}, {1, 2}, {k, 1}});
  const AnswerSize twice = estimate(repeated, {.sample = 3, .min_count = 2});
  EXPECT_EQ(twice.pairs, 1);
  EXPECT_EQ(twice.reached, 0u);  // in one transaction, however many rows
  EXPECT_EQ(estimate({"few and repeated", {{1, 1}, {1, 2}, {1, 1}, {1, 2}}}, {.min_count = 2}).reached, 0u);
  EXPECT_EQ(estimate({"a b on one side only", {{1, 1}, {1, 2}, {2, 11}, {2, 12}}, 10}).pairs, 0);
  EXPECT_EQ(estimate({"a join", {{1, 1}, {1, 2}, {1, 11}, {2, 11}, {2, 2}, {2, 12}}, 10}).pairs, 3);

  Input long_one{"one transaction", {}};
  for (int64_t item = 0; item < 40000; ++item) long_one.rows.push_back({7, item});
  const AnswerSize size = estimate(long_one);
  EXPECT_NEAR(size.pairs, 40000.0 * 39999 / 2, 3 * size.standard_error);
  long_one.left_items = 100;
  const AnswerSize narrow = estimate(long_one);
  EXPECT_NEAR(narrow.pairs, 100.0 * 39900, 3 * narrow.standard_error);
}

TEST(AnswerSize, OrderOfTheRowsDoesNotMatter) {
  Random random(kSeed);
  Input input{"shuffled", random_grid(random, 2000, 80, 20)};
  const AnswerSize sorted = estimate(input);
  random.shuffle(input.rows);
  EXPECT_EQ(estimate(input).pairs, sorted.pairs);
  EXPECT_EQ(estimate(input, {}, 4).pairs, sorted.pairs);
}

TEST(AnswerSize, PartOfTheTransactionsIsEnoughIfAllPairsAreFrequent) {
  // All pairs have a support of about 1,000, or one of ten. The sample shows a twelfth of it, and would lack a part of these.
  Random random(kSeed);
  Input input{"dense", random_grid(random, 4000, 60, 50)};
  EXPECT_NEAR(estimate(input).pairs, 1770, 3 * estimate(input).standard_error);
  for (int64_t item = 60; item < 200; ++item)
    for (int64_t other = 0; other < 60; ++other)
      input.rows.insert(input.rows.end(), {{5000 + item * 60 + other, item}, {5000 + item * 60 + other, other}});
  const AnswerSize size = estimate(input);
  EXPECT_NEAR(size.pairs, static_cast<double>(supports_of(input).size()), 3 * size.standard_error);
}

// The transactions of the inputs of the benchmark, cut into three relations with codes of their own.
TEST(AnswerSize, PartsGiveTheAnswerOfTheWhole) {
  for (const Input& input : benchmark_inputs(4000)) {
    for (const uint64_t min_count : {1, 2}) {
      MemoryMeter meter;
      const ExecutionOptions options{2, &meter, {}};
      const RowLog log = log_of(input.rows, options);
      const EncodedRelation relation(log.chunks(), {}, options);
      KeyBounds bounds;
      for (const ChunkView& chunk : log.chunks()) bounds.add(chunk.item_base, chunk.item_range);
      std::vector<RowLog> logs;
      std::vector<std::optional<EncodedRelation>> parts(3);
      ItemTotals totals(bounds, input.rows.size(), options);
      for (size_t part = 0; part < parts.size(); ++part) {
        std::vector<TidItem> rows;
        std::ranges::copy_if(input.rows, std::back_inserter(rows),
                             [&](const TidItem& row) { return static_cast<uint64_t>(row.tid) * 7 % 3 == part; });
        logs.push_back(log_of(rows, options));
        parts[part].emplace(logs.back().chunks(), std::span<const uint32_t>(), options);
        totals.add(*parts[part]);
      }
      const ItemFilter filter{.min_rows = min_count, .include = {}, .exclude = {}, .left_items = input.left_items};
      const KeptItems kept = keep_items(totals, filter, options);
      const AnswerSizeQuery query{.sample = 256, .min_count = min_count};
      const std::unique_ptr<AnswerSizeSketch> sketch = make_answer_size_sketch(kept.size, kept.pairs, query, options);
      for (const std::optional<EncodedRelation>& part : parts) {
        Buffer<Rank> global_rank;
        KeptItems own = keep_items_of_partition(*part, totals, kept, global_rank, options);
        const TransactionLengths lengths = transaction_lengths(*part, own, options);
        for (Rank& rank : own.rank_of_code)
          if (rank != KeptItems::kDropped) rank = global_rank[index_of(rank)];
        sketch->add(*part, own, lengths);
      }
      const KeptItems whole = keep_items(relation, filter, options);
      const AnswerSize size = sketch->size();
      if (min_count == 1) {  // a part of the transactions of a whole relation may be enough
        EXPECT_NEAR(size.pairs, static_cast<double>(supports_of(input).size()), 4 * size.standard_error) << input.name;
        continue;
      }
      const AnswerSize expected =
          estimate_answer_size(relation, whole, transaction_lengths(relation, whole, options), query, options);
      EXPECT_EQ(size.pairs, expected.pairs) << input.name;
      EXPECT_EQ(size.reached, expected.reached) << input.name;
    }
  }
}

TEST(AnswerSize, StopsIfCancelled) {
  Random random(kSeed);
  Input input{"random", random_rows(random, 60000, 400, 5000)};
  for (int64_t tid = 0; tid < 100000; ++tid) input.rows.push_back({1, tid});
  MemoryMeter meter;
  int64_t polls = 0;
  for (int64_t left = 0;; left = left * 2 + 1, ++polls) {
    Countdown countdown{left};
    try {
      estimate(input, {}, {2, &meter, countdown.token()});
      break;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kCancelled);
      EXPECT_EQ(meter.current(), 0u);
    }
  }
  EXPECT_GT(polls, 5);
  EXPECT_EQ(meter.current(), 0u);
}

TEST(AnswerSize, KeepsToTheMemoryLimit) {
  Random random(kSeed);
  const Input input{"random", random_rows(random, 60000, 400, 5000)};
  MemoryMeter unlimited;
  const AnswerSize expected = estimate(input, {}, {1, &unlimited, {}});
  int refused = 0;
  for (size_t limit = unlimited.peak(); limit > 0; limit -= std::min(limit, unlimited.peak() / 37 + 1)) {
    MemoryMeter meter(limit);
    try {
      EXPECT_EQ(estimate(input, {}, {1, &meter, {}}).pairs, expected.pairs);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kMemoryLimit);
      ++refused;
    }
    EXPECT_EQ(meter.current(), 0u);
  }
  EXPECT_GT(refused, 30);
}

}  // namespace
}  // namespace batmap::test
