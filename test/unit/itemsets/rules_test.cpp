// Association rules against an oracle that splits every frequent itemset in all ways and counts each side in
// all transactions. Then bad parameters, cancelling, truncation.
#include "itemsets/rules/rules.h"

#include <gtest/gtest.h>

#include <cmath>
#include <tuple>

#include "test/unit/shared/countdown.h"
#include "test/unit/shared/itemsets.h"
#include "test/unit/shared/shapes.h"

namespace batmap::test {
namespace {

struct Rule {
  std::vector<int64_t> lhs;
  std::vector<int64_t> rhs;
  uint64_t support;
  uint64_t lhs_support;
  uint64_t rhs_support;
  auto operator<=>(const Rule&) const = default;
};

std::vector<Rule> rules_of(const std::vector<TidItem>& relation, const RuleQuery& query, bool* truncated = nullptr,
                           int threads = 1) {
  MemoryMeter meter;
  const PackedRows packed(relation);
  RuleRun run(packed.chunks(), {}, query, {.threads = threads, .memory = &meter, .cancel = {}});
  std::vector<Rule> rules;
  RuleBatch batch(meter);
  while (run.next(batch))
    for (const RuleRow& row : batch.rows) {
      const int64_t* const items = batch.items.begin() + row.begin;
      const int64_t* const rhs = items + row.lhs_length;
      rules.push_back({{items, rhs}, {rhs, rhs + row.rhs_length}, row.support, row.lhs_support, row.rhs_support});
    }
  EXPECT_EQ(run.results(), rules.size());
  if (truncated != nullptr) *truncated = run.truncation().cause != Truncation::kNone;
  return rules;
}

uint64_t count(const std::map<int64_t, std::set<int64_t>>& transactions, const std::vector<int64_t>& items) {
  uint64_t found = 0;
  for (const auto& [tid, held] : transactions)
    found += std::all_of(items.begin(), items.end(), [&, &held = held](int64_t item) { return held.contains(item); });
  return found;
}

bool side_is_wanted(const std::vector<int64_t>& side, const std::optional<std::vector<int64_t>>& include,
                    const std::optional<std::vector<int64_t>>& exclude) {
  const auto has = [&](const std::vector<int64_t>& list) {
    return std::any_of(side.begin(), side.end(),
                       [&](int64_t item) { return std::count(list.begin(), list.end(), item) > 0; });
  };
  return (!include || has(*include)) && !(exclude && has(*exclude));
}

std::vector<Rule> expected_rules(const std::vector<TidItem>& relation, const RuleQuery& query) {
  std::map<int64_t, std::set<int64_t>> transactions;
  for (const TidItem& pair : relation) transactions[pair.tid].insert(pair.item);
  std::vector<Rule> rules;
  for (const ItemsetRow& row : ItemsetOracle(relation).answer(query.itemsets))
    for (size_t subset = 1; subset + 1 < size_t{1} << row.items.size(); ++subset) {
      Rule rule{{}, {}, row.support, 0, 0};
      for (size_t k = 0; k < row.items.size(); ++k) (subset >> k & 1 ? rule.rhs : rule.lhs).push_back(row.items[k]);
      rule.lhs_support = count(transactions, rule.lhs);
      rule.rhs_support = count(transactions, rule.rhs);
      const auto n = [](uint64_t number) { return static_cast<long double>(number); };
      if (static_cast<int64_t>(rule.rhs.size()) > query.max_rhs) continue;
      if (query.max_lhs && static_cast<int64_t>(rule.lhs.size()) > *query.max_lhs) continue;
      if (query.min_confidence && n(rule.support) < *query.min_confidence * n(rule.lhs_support) - 1e-9L) continue;
      if (query.min_lift &&
          n(rule.support) * n(transactions.size()) < *query.min_lift * n(rule.lhs_support) * n(rule.rhs_support) - 1e-9L)
        continue;
      if (!side_is_wanted(rule.lhs, query.lhs_include, query.lhs_exclude)) continue;
      if (!side_is_wanted(rule.rhs, query.rhs_include, query.rhs_exclude)) continue;
      rules.push_back(std::move(rule));
    }
  std::sort(rules.begin(), rules.end());
  return rules;
}

TEST(Rules, AnswersLikeTheOracle) {
  Random random(kSeed);
  size_t rules = 0;
  for (int round = 0; round < 400; ++round) {
    const int64_t items = 1 + random.signed_below(7);
    const std::vector<TidItem> relation = random_grid(random, 1 + random.signed_below(25), items, 20 + random.below(70));
    RuleQuery query;
    query.itemsets.min_count = 1 + random.signed_below(5);
    if (random.chance(50)) query.min_confidence = static_cast<double>(random.below(21)) / 20;
    if (random.chance(30)) query.min_lift = static_cast<double>(random.below(30)) / 16;
    if (random.chance(30)) query.max_lhs = 1 + random.signed_below(3);
    query.max_rhs = 1 + random.signed_below(3);
    const auto list = [&] { return std::vector<int64_t>{random.signed_below(7), random.signed_below(7)}; };
    if (random.chance(20)) query.itemsets.exclude = list();
    if (random.chance(20)) query.lhs_include = list();
    if (random.chance(20)) query.lhs_exclude = list();
    if (random.chance(20)) query.rhs_include = list();
    if (random.chance(20)) query.rhs_exclude = list();
    std::vector<Rule> found = rules_of(relation, query, nullptr, 1 + round % 3);
    std::sort(found.begin(), found.end());
    rules += found.size();
    ASSERT_TRUE(found == expected_rules(relation, query)) << "round " << round << ", seed " << kSeed;
  }
  EXPECT_GT(rules, 5000u);
}

TEST(Rules, BoundsThatAreMetExactlyHold) {
  // 7 of the 10 transactions with 1 also have 2.
  std::vector<TidItem> relation;
  for (int64_t tid = 0; tid < 10; ++tid) {
    relation.push_back({tid, 1});
    if (tid < 7) relation.push_back({tid, 2});
  }
  RuleQuery query;
  query.itemsets.min_count = 1;
  query.min_confidence = 0.7;
  EXPECT_EQ(rules_of(relation, query).size(), 2u);
  query.min_confidence = 0.70001;
  EXPECT_EQ(rules_of(relation, query).size(), 1u);
}

TEST(Rules, StopAtMaxResults) {
  Random random(kSeed + 1);
  const std::vector<TidItem> relation = random_grid(random, 20, 8, 90);
  RuleQuery query;
  query.itemsets.min_count = 1;
  query.max_rhs = 3;
  const std::vector<Rule> all = rules_of(relation, query);
  for (const size_t max_results : {size_t{1}, size_t{7}, all.size() - 1, all.size()}) {
    query.max_results = static_cast<int64_t>(max_results);
    bool truncated = false;
    const std::vector<Rule> found = rules_of(relation, query, &truncated);
    EXPECT_EQ(truncated, max_results < all.size());
    EXPECT_TRUE(std::equal(found.begin(), found.end(), all.begin(), all.begin() + static_cast<ptrdiff_t>(max_results)));
  }
}

TEST(Rules, BestAreTheFirstOfAllSorted) {
  Random random(kSeed + 3);
  for (int round = 0; round < 60; ++round) {
    const std::vector<TidItem> relation = random_grid(random, 4 + random.signed_below(20), 6, 60);
    RuleQuery query;
    query.itemsets.min_count = 1 + random.signed_below(3);
    query.max_rhs = 1 + random.signed_below(3);
    query.measure = random.chance(50) ? PairMeasure::kLift : PairMeasure::kPhi;
    std::vector<Rule> all = expected_rules(relation, query);
    std::map<int64_t, int> tids;
    for (const TidItem& pair : relation) ++tids[pair.tid];
    const auto score = [&](const Rule& rule) {
      return pair_measure(query.measure, {static_cast<double>(rule.support), static_cast<double>(rule.lhs_support),
                                          static_cast<double>(rule.rhs_support), static_cast<double>(tids.size())});
    };
    std::erase_if(all, [&](const Rule& rule) { return std::isnan(score(rule)); });
    const auto order = [&](const Rule& rule) {
      return std::tuple(-score(rule), -static_cast<int64_t>(rule.support), rule.lhs.size() + rule.rhs.size(), rule.lhs,
                        rule.rhs);
    };
    std::sort(all.begin(), all.end(), [&](const Rule& a, const Rule& b) { return order(a) < order(b); });
    const size_t k = 1 + random.below(60);
    query.top_k = static_cast<int64_t>(k);
    all.resize(std::min(k, all.size()));
    ASSERT_TRUE(rules_of(relation, query) == all) << "round " << round << ", seed " << kSeed;
    query.max_results = 3;
    const bool more = all.size() > 3;
    all.resize(std::min<size_t>(3, all.size()));
    bool truncated = false;
    ASSERT_TRUE(rules_of(relation, query, &truncated) == all);
    ASSERT_EQ(truncated, more);
  }
}

TEST(Rules, OrderDoesNotDependOnThreads) {
  Random random(kSeed + 4);
  const std::vector<TidItem> relation = random_grid(random, 60, 18, 80);
  for (const bool best : {false, true}) {
    RuleQuery query;
    query.itemsets.min_count = 22;
    query.max_rhs = 3;
    query.min_confidence = 0.7;
    if (best) query.top_k = 20000;
    const std::vector<Rule> all = rules_of(relation, query);
    EXPECT_TRUE(best ? all.size() == 20000 : all.size() > 20000) << all.size();
    for (const int threads : {2, 3, 5}) EXPECT_TRUE(rules_of(relation, query, nullptr, threads) == all) << threads;
    for (const size_t max_results : {size_t{1}, size_t{10000}, all.size()}) {
      query.max_results = static_cast<int64_t>(max_results);
      for (const int threads : {1, 2, 3, 5}) {
        bool truncated = false;
        const std::vector<Rule> found = rules_of(relation, query, &truncated, threads);
        EXPECT_TRUE(std::ranges::equal(found, std::span(all).first(max_results)))
            << max_results << ", " << threads << " threads";
        EXPECT_EQ(truncated, max_results < all.size());
      }
    }
  }
}

TEST(Rules, AnItemsetIsSplitInParts) {
  // All subsets of 12 items, up to 4,094 rules for each: tasks begin in the middle of itemsets.
  std::vector<TidItem> relation;
  for (int64_t item = 0; item < 12; ++item) relation.push_back({0, item});
  RuleQuery query;
  query.itemsets.min_count = 1;
  query.max_rhs = 11;
  std::vector<Rule> all = rules_of(relation, query, nullptr, 3);
  EXPECT_EQ(all.size(),
            531441u - 2 * 4096 + 1);  // 3^12 ways to give each item a side or none, less those with an empty side
  size_t itemsets = 0;
  const auto items = [](const Rule& rule) {
    std::vector<int64_t> both;
    std::ranges::merge(rule.lhs, rule.rhs, std::back_inserter(both));
    return both;
  };
  for (size_t k = 0; k < all.size(); ++k) {
    if (k == 0 || items(all[k]) != items(all[k - 1]))
      ++itemsets;
    else
      ASSERT_TRUE(std::tuple(all[k - 1].rhs.size(), all[k - 1].rhs) < std::tuple(all[k].rhs.size(), all[k].rhs)) << k;
  }
  EXPECT_EQ(itemsets, 4096u - 1 - 12);
  query.max_lhs = 8;
  query.max_rhs = 5;
  std::erase_if(all, [](const Rule& rule) { return rule.lhs.size() > 8 || rule.rhs.size() > 5; });
  EXPECT_TRUE(rules_of(relation, query, nullptr, 2) == all);
}

TEST(Rules, MemoryStaysInTheBudget) {
  std::vector<TidItem> relation;
  for (int64_t item = 0; item < 14; ++item) relation.push_back({0, item});
  const PackedRows packed(relation);
  RuleQuery query;
  query.itemsets.min_count = 1;
  query.max_rhs = 13;
  MemoryMeter meter(size_t{40} << 20);  // a tenth of what all rules take
  RuleRun run(packed.chunks(), {}, query, {.threads = 3, .memory = &meter, .cancel = {}});
  RuleBatch batch(meter);
  while (run.next(batch)) ASSERT_LE(batch.rows.size(), 2048u);
  EXPECT_EQ(run.results(), 4782969u - 2 * 16384 + 1);
  query.top_k = 1'000'000;
  MemoryMeter small(size_t{16} << 20);
  RuleRun best(packed.chunks(), {}, query, {.threads = 3, .memory = &small, .cancel = {}});
  RuleBatch rules(small);
  try {
    while (best.next(rules)) {
    }
    FAIL() << "more than fits";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kMemoryLimit);
  }
}

// How many rules `query` gives before its time is up, which it must be.
uint64_t rules_in_time(const PackedRows& packed, RuleQuery query, int threads, int64_t timeout_ms) {
  query.timeout_ms = timeout_ms;
  MemoryMeter meter;
  RuleRun run(packed.chunks(), {}, query, {.threads = threads, .memory = &meter, .cancel = {}});
  RuleBatch batch(meter);
  uint64_t rows = 0;
  while (run.next(batch)) {
    rows += batch.rows.size();
    EXPECT_LE(batch.rows.size(), 2048u);
  }
  EXPECT_EQ(run.truncation().cause, Truncation::kTimeout);
  EXPECT_EQ(run.results(), rows);
  return rows;
}

TEST(Rules, StopWhenTimeIsUp) {
  // 2^40 itemsets, before whose last no rule is known; then 2^16, each of which can be split in very many ways.
  for (const int items : {40, 16}) {
    std::vector<TidItem> relation;
    for (int64_t tid = 0; tid < 2; ++tid)
      for (int64_t item = 0; item < items; ++item) relation.push_back({tid, item});
    const PackedRows packed(relation);
    for (const auto& [threads, best] : {std::pair(1, false), {1, true}, {2, false}, {3, true}, {5, false}}) {
      RuleQuery query;
      query.itemsets.min_count = 2;
      query.max_rhs = 40;
      if (best) query.top_k = 10;
      const bool rules_due = items == 16 && !best;
      int64_t timeout_ms = 100;
      uint64_t rows = rules_in_time(packed, query, threads, timeout_ms);
      // A busy machine needs longer for the itemsets; no machine needs a minute.
      while (rules_due && rows == 0 && timeout_ms < 60'000) {
        timeout_ms *= 2;
        rows = rules_in_time(packed, query, threads, timeout_ms);
      }
      EXPECT_EQ(rows > 0, rules_due) << items;
    }
  }
}

TEST(Rules, CanBeCancelled) {
  Random random(kSeed + 2);
  const PackedRows packed(random_grid(random, 30, 16, 95));
  RuleQuery query;
  query.itemsets.min_count = 2;
  query.max_rhs = 8;
  int cancelled = 0;
  for (int64_t polls = 0; polls < 60; polls += 3) {
    Countdown countdown{polls};
    MemoryMeter meter;
    try {
      RuleRun run(packed.chunks(), {}, query,
                  {.threads = 1 + static_cast<int>(polls % 4), .memory = &meter, .cancel = countdown.token()});
      RuleBatch batch(meter);
      while (run.next(batch)) {
      }
    } catch (const Error& error) {
      ASSERT_EQ(error.code(), ErrorCode::kCancelled);
      ++cancelled;
    }
    ASSERT_EQ(meter.current(), 0u);
  }
  EXPECT_EQ(cancelled, 20);
}

TEST(Rules, RefuseBadParameters) {
  const auto refused = [](auto change) {
    RuleQuery query;
    query.itemsets.min_count = 1;
    change(query);
    try {
      query.check();
    } catch (const Error& error) {
      return error.code() == ErrorCode::kInvalidParameter;
    }
    return false;
  };
  EXPECT_FALSE(refused([](RuleQuery&) {}));
  EXPECT_TRUE(refused([](RuleQuery& q) { q.itemsets.min_count.reset(); }));
  EXPECT_TRUE(refused([](RuleQuery& q) { q.min_confidence = 1.01; }));
  EXPECT_TRUE(refused([](RuleQuery& q) { q.min_confidence = -0.1; }));
  EXPECT_TRUE(refused([](RuleQuery& q) { q.min_lift = -1; }));
  EXPECT_TRUE(refused([](RuleQuery& q) { q.max_lhs = 0; }));
  EXPECT_TRUE(refused([](RuleQuery& q) { q.max_rhs = 0; }));
  EXPECT_TRUE(refused([](RuleQuery& q) { q.max_results = 0; }));
  EXPECT_TRUE(refused([](RuleQuery& q) { q.top_k = 0; }));
  EXPECT_TRUE(refused([](RuleQuery& q) { q.timeout_ms = 0; }));
}

}  // namespace
}  // namespace batmap::test
