// Runs of pair support against the oracle: every method, every kernel of this machine, several numbers of
// threads, over many shapes of relations and all options. All must give the oracle's sequence, not only its
// set. Then failures: invalid parameters, too little memory, cancellation. (Failing allocations:
// pair_run_bad_alloc_test.cpp.)
#include "pairs/pair_run.h"

#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <numeric>
#include <ostream>

#include "test/unit/shared/failing_run.h"
#include "test/unit/shared/grid.h"
#include "test/unit/shared/oracle.h"
#include "test/unit/shared/shapes.h"

namespace batmap::test {
namespace {

struct Config {
  std::optional<PairMethod> method;
  const AndPopcountKernel* kernel;
  int threads;

  friend void PrintTo(const Config& config, std::ostream* out) { *out << config_name(config); }
  friend std::string config_name(const Config& config) {
    return std::string(config.method ? pair_method_name(*config.method) : "auto") + "_" + config.kernel->name + "_" +
           std::to_string(config.threads);
  }
};

std::vector<Config> configs() {
  std::vector<Config> all;
  std::vector<std::optional<PairMethod>> methods{std::nullopt};
  for (const PairMethodName& entry : kPairMethodNames) methods.push_back(entry.method);
  for (const std::optional<PairMethod>& method : methods)
    for (const AndPopcountKernel& kernel : and_popcount_kernels()) {
      if (find_and_popcount(kernel.name) == nullptr) continue;
      const bool counts_bits =
          !method || *method == PairMethod::kBitmap || *method == PairMethod::kBatmap || *method == PairMethod::kPositional;
      if (!counts_bits && &kernel != &best_and_popcount()) continue;
      for (const int threads : {1, 2, 4})
        if (full_grid() || (&kernel == &best_and_popcount() ? threads > 1 : threads == 1))
          all.push_back({method, &kernel, threads});
    }
  return all;
}

struct Found {
  std::vector<PairRow> rows;
  RunRecord record;
};

Found run(std::vector<ChunkView> chunks, std::span<const uint32_t> item_rank, const PairQuery& query,
          const ExecutionOptions& options) {
  PairRun pairs(std::move(chunks), item_rank, query, options);
  Found found;
  PairBatch batch{{}, {}};  // next() must overwrite it
  while (pairs.next(batch)) found.rows.insert(found.rows.end(), batch.begin(), batch.end());
  EXPECT_TRUE(batch.empty());
  EXPECT_FALSE(pairs.next(batch)) << "answers after the end";
  found.record = pairs.record();
  return found;
}

Found run(std::vector<ChunkView> chunks, const PairQuery& query, int threads = 1) {
  MemoryMeter meter;
  Found found = run(std::move(chunks), {}, query, {.threads = threads, .memory = &meter, .cancel = {}});
  EXPECT_EQ(meter.current(), 0u);
  return found;
}

/// Empty if a run gives the oracle's answer and a correct record, else a message.
std::string check(std::vector<ChunkView> chunks, const OracleAnswer& expected, PairQuery query, const Config& config) {
  query.method = config.method;
  query.kernels.bits = config.kernel;
  query.kernels.sets = find_set_kernel(config.kernel->name);
  const Found found = run(std::move(chunks), query, config.threads);
  std::string wrong = difference(found.rows, expected.rows);
  const auto compare = [&](const char* name, uint64_t is, uint64_t should) {
    if (is != should) wrong += std::string("; ") + name + " " + std::to_string(is) + ", not " + std::to_string(should);
  };
  compare("results", found.record.results, expected.rows.size());
  compare("truncated", found.record.truncated(), expected.truncated);
  compare("transactions", found.record.transactions, expected.total);
  compare("items", found.record.items, expected.items);
  compare("threshold", query.min_count_among(found.record.transactions), expected.threshold);
  if (config.method && found.record.method != pair_method_name(*config.method)) wrong += "; method " + found.record.method;
  const bool counted_bits =
      found.record.method == "bitmap" || found.record.method == "batmap" || found.record.method == "positional";
  if (!expected.rows.empty() && found.record.kernel != (counted_bits ? config.kernel->name : ""))
    wrong += "; method " + found.record.method + " with kernel " + found.record.kernel;
  if (found.record.reason.empty()) wrong += "; no reason";
  return wrong;
}

/// Queries about a relation. Lists name items that exist and one that does not.
std::vector<PairQuery> queries(const std::vector<TidItem>& relation) {
  const auto item = [&](size_t at) { return relation.empty() ? int64_t{3} : relation[at % relation.size()].item; };
  const std::vector<int64_t> few{item(0), item(7), item(0), 987654321};
  const std::vector<int64_t> others{item(3), item(11), -987654321};
  const std::vector<int64_t> overlapping{item(7), item(20)};
  std::vector<PairQuery> all;
  const auto add = [&](auto fill) {
    PairQuery query;
    fill(query);
    all.push_back(query);
  };
  for (const int64_t count : {1, 2, 3, 10}) add([&](PairQuery& q) { q.min_count = count; });
  add([](PairQuery& q) { q.min_count = std::numeric_limits<int64_t>::max(); });
  for (const double fraction : {1e-300, 0.01, 0.07, 0.3, 1.0}) add([&](PairQuery& q) { q.min_support = fraction; });
  for (const int64_t k : {1, 2, 7, 50}) add([&](PairQuery& q) { q.top_k = k; });
  add([](PairQuery& q) { q.top_k = std::numeric_limits<int64_t>::max(); });
  add([](PairQuery& q) { q.top_k = 5, q.min_count = 3; });
  add([](PairQuery& q) { q.top_k = 5, q.min_support = 0.1; });
  for (const int64_t k : {1, 2, 5}) add([&](PairQuery& q) { q.per_item_top_k = k; });
  add([](PairQuery& q) { q.per_item_top_k = std::numeric_limits<int64_t>::max(); });
  add([](PairQuery& q) { q.per_item_top_k = 2, q.min_count = 2; });
  add([](PairQuery& q) { q.per_item_top_k = 2, q.top_k = 9; });
  for (const int64_t max_results : {1, 2, 20}) add([&](PairQuery& q) { q.min_count = 1, q.max_results = max_results; });
  add([](PairQuery& q) { q.top_k = 8, q.max_results = 3; });
  add([](PairQuery& q) { q.per_item_top_k = 2, q.max_results = 4; });
  add([&](PairQuery& q) { q.min_count = 1, q.include = few; });
  add([&](PairQuery& q) { q.min_count = 1, q.exclude = others; });
  add([&](PairQuery& q) { q.min_count = 2, q.include = few, q.exclude = others; });
  add([&](PairQuery& q) { q.min_count = 1, q.include = few, q.exclude = overlapping; });
  add([&](PairQuery& q) { q.min_count = 1, q.include = std::vector<int64_t>{}; });
  add([&](PairQuery& q) { q.min_count = 1, q.exclude = std::vector<int64_t>{}; });
  add([&](PairQuery& q) { q.top_k = 4, q.include = few; });
  add([&](PairQuery& q) { q.per_item_top_k = 1, q.include = few, q.exclude = others; });
  add([&](PairQuery& q) { q.min_support = 0.02, q.exclude = others, q.max_results = 10; });
  return all;
}

class PairRunTest : public testing::TestWithParam<Config> {};

TEST_P(PairRunTest, AnswersLikeTheOracle) {
  int with_answers = 0;
  for (const Shape& shape : shapes(kSeed)) {
    const PackedRows packed(shape.rows);
    const PackedRows in_pieces(shape.rows, kSeed);
    const Oracle oracle(shape.rows);
    bool other = false;
    for (const PairQuery& query : queries(shape.rows)) {
      const OracleAnswer expected = oracle.answer(query);
      with_answers += !expected.rows.empty();
      const std::string wrong = check((other ? in_pieces : packed).chunks(), expected, query, GetParam());
      ASSERT_EQ(wrong, "") << shape.name << ", " << describe(query) << ", seed " << kSeed << (other ? ", in pieces" : "");
      other = !other;
    }
  }
  EXPECT_GT(with_answers, 500);
}

TEST_P(PairRunTest, AnswersDoNotDependOnTheOrderOfRows) {
  std::vector<Shape> all = shapes(kSeed + 1);
  Random random(kSeed);
  for (Shape& shape : all) {
    PairQuery query;
    query.min_count = 2;
    const OracleAnswer expected = oracle_pairs(shape.rows, query);
    random.shuffle(shape.rows);
    ASSERT_EQ(check(PackedRows(shape.rows).chunks(), expected, query, GetParam()), "") << shape.name << ", seed " << kSeed;
  }
}

// More rows than one chunk, more items than one tile, more tid words than one block of the cache.
TEST_P(PairRunTest, AnswersLikeTheOracleOverManyTransactions) {
  Random random(kSeed + 2);
  std::vector<TidItem> rows = random_rows(random, 40000, 30000, 70);
  for (int64_t tid = 0; tid < 30000; tid += 3) rows.push_back({tid, 1000});
  for (int64_t tid = 0; tid < 30000; tid += 5) rows.push_back({tid, 1001});
  const PackedRows packed(rows);
  const Oracle oracle(rows);
  for (const int64_t count : {1, 20}) {
    PairQuery query;
    query.min_count = count;
    ASSERT_EQ(check(packed.chunks(), oracle.answer(query), query, GetParam()), "") << "seed " << kSeed;
  }
}

TEST_P(PairRunTest, ItemRanksStandForItems) {
  Random random(kSeed + 4);
  const std::vector<TidItem> rows = random_rows(random, 1200, 150, 40);
  std::vector<TidItem> ranked = rows;
  std::vector<uint32_t> item_rank(45);  // no row has some of these
  std::iota(item_rank.begin(), item_rank.end(), 0u);
  random.shuffle(item_rank);
  for (TidItem& pair : ranked) pair.item = item_rank[static_cast<size_t>(pair.item)];
  const PackedRows packed(rows);
  const Oracle oracle(ranked);
  for (PairQuery query : queries(ranked)) {
    query.method = GetParam().method;
    query.kernels.bits = GetParam().kernel;
    MemoryMeter meter;
    const Found found =
        run(packed.chunks(), item_rank, query, {.threads = GetParam().threads, .memory = &meter, .cancel = {}});
    ASSERT_EQ(difference(found.rows, oracle.answer(query).rows), "") << describe(query) << ", seed " << kSeed;
  }
}

struct PollCounter {
  std::atomic<uint64_t> polls{0};
  uint64_t yes_from = std::numeric_limits<uint64_t>::max();
  std::atomic<bool> said_yes{false};

  CancelToken token() {
    return {[](void* arg) {
              auto* self = static_cast<PollCounter*>(arg);
              const bool yes = self->polls.fetch_add(1) + 1 >= self->yes_from;
              if (yes) self->said_yes = true;
              return yes;
            },
            this};
  }
};

// One relation has many small tasks, one has tasks long enough to be stopped half-way. One thread is
// cancelled at every poll. With several threads the n-th poll is another one in each run, so some are enough.
TEST_P(PairRunTest, CanBeCancelledAtEveryPoll) {
  Random random(kSeed + 5);
  for (const std::vector<TidItem>& rows : {random_rows(random, 9000, 2000, 70), random_grid(random, 2200, 34, 95)}) {
    const PackedRows packed(rows);
    for (const bool best : {false, true}) {
      PairQuery query;
      if (best)
        query.top_k = 10;
      else
        query.min_count = 2;
      query.method = GetParam().method;
      query.kernels.bits = GetParam().kernel;
      const Found expected = run(packed.chunks(), query);
      EXPECT_FALSE(expected.rows.empty());
      bool done = false;
      for (uint64_t n = 1; !done; n += GetParam().threads == 1 ? 1 : 1 + n / 16) {
        ASSERT_LT(n, 4000u) << "polls without end";
        MemoryMeter meter;
        PollCounter counter;
        counter.yes_from = n;
        try {
          const Found found =
              run(packed.chunks(), {}, query, {.threads = GetParam().threads, .memory = &meter, .cancel = counter.token()});
          done = true;
          EXPECT_EQ(difference(found.rows, expected.rows), "");
          EXPECT_FALSE(counter.said_yes) << "poll " << n << " said yes, yet the run went on to its end";
          EXPECT_GT(n, 4u) << "hardly ever polled";
        } catch (const Error& error) {
          ASSERT_EQ(error.code(), ErrorCode::kCancelled) << error.what();
        }
        ASSERT_EQ(meter.current(), 0u) << "after poll " << n;
      }
    }
  }
}

TEST_P(PairRunTest, CanRunOutOfMemoryAtEveryCharge) {
  Random random(kSeed + 6);
  std::vector<TidItem> rows = random_rows(random, 6000, 700, 90);
  for (TidItem& pair : rows) pair.item = scattered_key(pair.item);  // makes hash tables grow and codes be kept
  const PackedRows packed(rows);
  for (const int form : {0, 1, 2}) {
    PairQuery query;
    if (form == 0) query.min_count = 2;
    if (form == 1) query.top_k = 300;
    if (form == 2) query.per_item_top_k = 3;
    query.method = GetParam().method;
    query.kernels.bits = GetParam().kernel;
    const OracleAnswer expected = oracle_pairs(rows, query);
    // Every charge of the run is larger than the step, or fails together with the next one. Several threads
    // charge in another order each time, so the steps are larger.
    run_out_of_memory_everywhere(GetParam().threads, GetParam().threads == 1 ? 2048 : 8192, 10,
                                 [&](const ExecutionOptions& options) {
                                   EXPECT_EQ(difference(run(packed.chunks(), {}, query, options).rows, expected.rows), "");
                                 });
  }
}

// A run that is dropped half-way gives all memory back.
TEST_P(PairRunTest, MayBeDroppedAtAnyTime) {
  Random random(kSeed + 7);
  const PackedRows packed(random_rows(random, 30000, 3000, 400));
  PairQuery query;
  query.min_count = 1;
  query.method = GetParam().method;
  query.kernels.bits = GetParam().kernel;
  for (int batches = 0; batches < 4; ++batches) {
    MemoryMeter meter;
    {
      PairRun pairs(packed.chunks(), {}, query, {.threads = GetParam().threads, .memory = &meter, .cancel = {}});
      PairBatch batch;
      for (int i = 0; i < batches; ++i) EXPECT_TRUE(pairs.next(batch));
    }
    EXPECT_EQ(meter.current(), 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(Configs, PairRunTest, testing::ValuesIn(configs()),
                         [](const auto& config) { return config_name(config.param); });

// Where the chooser's estimate of memory says "fits", the run succeeds.
TEST(PairRun, ChoosesAMethodThatFits) {
  Random random(kSeed + 8);
  const std::vector<TidItem> rows = random_rows(random, 40000, 20000, 90);
  const PackedRows packed(rows);
  PairQuery query;
  query.min_count = 3;
  const OracleAnswer expected = oracle_pairs(rows, query);
  // The smallest limits with which each method succeeds.
  const auto succeeds = [&](std::optional<PairMethod> method, size_t limit) {
    query.method = method;
    MemoryMeter meter(limit);
    try {
      const Found found = run(packed.chunks(), {}, query, {.threads = 1, .memory = &meter, .cancel = {}});
      EXPECT_EQ(difference(found.rows, expected.rows), "");
      return true;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kMemoryLimit);
      return false;
    }
  };
  size_t least = SIZE_MAX;
  for (const PairMethodName& entry : kPairMethodNames) {
    size_t low = 0;
    size_t high = size_t{256} << 20;
    while (high - low > 4096) {
      const size_t middle = low + (high - low) / 2;
      (succeeds(entry.method, middle) ? high : low) = middle;
    }
    least = std::min(least, high);
  }
  // With half as much again or more, the chooser must find a method that fits.
  for (size_t limit = least + least / 2; limit < least * 8; limit += least / 4)
    EXPECT_TRUE(succeeds(std::nullopt, limit)) << "a method succeeds with " << least << " bytes, auto fails with " << limit;
}

// Ranks exceed 16 bits. Methods whose cost is the square of the items get a few leading items only.
TEST(PairRun, MoreThan65536Items) {
  Random random(kSeed + 9);
  std::vector<TidItem> rows;
  for (int64_t item = 0; item < 70000; ++item) rows.push_back({item / 35, (item * 31) % 70000});
  for (int i = 0; i < 2000; ++i) rows.push_back({random.signed_below(2000), random.signed_below(70000)});
  for (int64_t tid = 0; tid < 400; ++tid) rows.push_back({tid, 69999 - random.signed_below(3)});
  const PackedRows packed(rows);
  const Oracle oracle(rows);
  PairQuery some;
  some.min_count = 1;
  some.include = std::vector<int64_t>{69999, 69998, 0, 35000};
  const OracleAnswer few = oracle.answer(some);
  for (const Config& config : configs())
    if (config.threads == 2) {
      ASSERT_EQ(check(packed.chunks(), few, some, config), "") << config_name(config) << ", seed " << kSeed;
    }
  for (const int64_t count : {1, 2}) {
    PairQuery all;
    all.min_count = count;
    const OracleAnswer expected = oracle.answer(all);
    for (const std::optional<PairMethod> method : {std::optional<PairMethod>{}, std::optional(PairMethod::kHorizontal)}) {
      const Config config{method, &best_and_popcount(), 2};
      ASSERT_EQ(check(packed.chunks(), expected, all, config), "") << config_name(config) << ", seed " << kSeed;
    }
  }
}

TEST(PairRun, NoChunksNoAnswers) {
  PairQuery query;
  query.min_support = 0.5;
  const Found found = run({}, query);
  EXPECT_TRUE(found.rows.empty());
  EXPECT_EQ(found.record.transactions, 0u);
  EXPECT_FALSE(found.record.truncated());
}

TEST(PairRun, AsManyAnswersAsAllowedAreNotTruncated) {
  const std::vector<TidItem> rows{{1, 1}, {1, 2}, {1, 3}};
  const PackedRows packed(rows);
  PairQuery query;
  query.min_count = 1;
  for (const int64_t max_results : {2, 3, 4}) {
    query.max_results = max_results;
    const Found found = run(packed.chunks(), query);
    EXPECT_EQ(found.rows.size(), static_cast<size_t>(std::min<int64_t>(max_results, 3)));
    EXPECT_EQ(found.record.truncated(), max_results < 3);
  }
}

TEST(PairRun, ReportsWhatItDid) {
  // Items 1 and 2 are in four transactions, 3 in two, 4 in one; tids 1..5, the last with item 4
  // only. One row occurs twice.
  const std::vector<TidItem> rows{{1, 1}, {1, 2}, {2, 1}, {2, 2}, {3, 1}, {3, 2},
                                  {3, 3}, {4, 1}, {4, 2}, {4, 3}, {5, 4}, {1, 1}};
  PairQuery query;
  query.min_support = 0.4;  // two of five
  const Found found = run(PackedRows(rows).chunks(), query);
  EXPECT_EQ(found.record.transactions, 5u);
  EXPECT_EQ(found.record.items, 4u);
  EXPECT_EQ(found.record.items_kept, 3u);
  EXPECT_EQ(found.record.occurrences, 11u);  // rows of items 1, 2 and 3
  EXPECT_EQ(query.min_count_among(found.record.transactions), 2u);
  EXPECT_EQ(found.record.results, 3u);
  EXPECT_GE(found.record.pair_instances, 8u);  // 1 + 1 + 3 + 3; repeated rows may count
  EXPECT_LE(found.record.pair_instances, 10u);
  EXPECT_GE(found.record.group_ms, 0);
  EXPECT_GE(found.record.count_ms, 0);
}

// items_kept counts items that can be part of an answer, however often a row repeats.
TEST(PairRun, RepeatedRowsKeepNoItem) {
  const std::vector<TidItem> rows{{1, 1}, {1, 1}, {1, 1}, {2, 2}};
  PairQuery query;
  query.min_count = 2;
  EXPECT_EQ(run(PackedRows(rows).chunks(), query).record.items_kept, 0u);
}

struct Refused {
  const char* what;  // the message must contain it
  bool hinted;
  PairQuery query;
};

TEST(PairRun, RefusesParametersOutOfRange) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::vector<Refused> all;
  const auto add = [&](const char* what, bool hinted, auto fill) {
    PairQuery query;
    fill(query);
    all.push_back({what, hinted, query});
  };
  add("threshold", true, [](PairQuery&) {});
  add("threshold", true, [](PairQuery& q) { q.include = std::vector<int64_t>{1}, q.max_results = 5; });
  add("exclude each other", true, [](PairQuery& q) { q.min_count = 1, q.min_support = 0.5; });
  add("exclude each other", true, [](PairQuery& q) { q.min_count = 1, q.min_support = 0.5, q.top_k = 3; });
  for (const int64_t bad : {int64_t{0}, int64_t{-1}, std::numeric_limits<int64_t>::min()}) {
    add("min_count", false, [&](PairQuery& q) { q.min_count = bad; });
    add("top_k", false, [&](PairQuery& q) { q.top_k = bad; });
    add("per_item_top_k", false, [&](PairQuery& q) { q.per_item_top_k = bad; });
    add("max_results", false, [&](PairQuery& q) { q.min_count = 1, q.max_results = bad; });
  }
  for (const double bad : {0.0, -0.0, -0.1, 1.0000000000000002, 2.0, kNan, kInfinity, -kInfinity})
    add("min_support", true, [&](PairQuery& q) { q.min_support = bad; });

  const PackedRows packed({{1, 1}, {1, 2}});
  for (const Refused& refused : all) {
    try {
      run(packed.chunks(), refused.query);
      ADD_FAILURE() << "accepted: " << describe(refused.query);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidParameter) << describe(refused.query);
      EXPECT_NE(std::string(error.what()).find(refused.what), std::string::npos) << error.what();
      if (refused.hinted) {
        EXPECT_FALSE(error.hint().empty()) << error.what();
      }
    }
    EXPECT_THROW(refused.query.check(), Error);
  }
  PairQuery good;
  good.min_support = 1.0;
  EXPECT_NO_THROW(good.check());
}

TEST(PairRun, MethodsHaveNames) {
  EXPECT_EQ(parse_pair_method("auto"), std::nullopt);
  for (const PairMethodName& entry : kPairMethodNames) EXPECT_EQ(parse_pair_method(entry.name), entry.method);
  for (const char* bad : {"", "Auto", "bitmap ", "batmaps", "horizonta"}) {
    try {
      parse_pair_method(bad);
      ADD_FAILURE() << "accepted: " << bad;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidParameter);
      EXPECT_NE(error.hint().find("auto, horizontal"), std::string::npos) << error.hint();
    }
  }
}

/// With any limit: a run that says that memory suffices runs to its end.
TEST(PairRun, SaysWhetherMemoryMayRunOut) {
  Random random(71);
  std::vector<TidItem> rows;
  for (int k = 0; k < 60000; ++k)
    rows.push_back({random.signed_below(3000), static_cast<int64_t>(std::min(random.below(900), random.below(900)))});
  MemoryMeter input_meter;
  const RowLog log = log_of(rows, {.threads = 1, .memory = &input_meter, .cancel = {}});
  for (const bool bag : {false, true}) {
    for (const PairMethodName& entry : kPairMethodNames) {
      if (bag && entry.method != PairMethod::kHorizontal) continue;
      int enough = 0;
      int may_run_out = 0;
      for (size_t limit = size_t{256} << 10; limit < size_t{256} << 20; limit += limit / (full_grid() ? 8 : 2)) {
        MemoryMeter meter(limit);
        PairQuery query;
        query.min_count = 1;
        query.method = entry.method;
        query.bag = bag;
        std::optional<PairRun> run;
        try {
          run.emplace(log.chunks(), std::span<const uint32_t>(), query,
                      ExecutionOptions{.threads = 3, .memory = &meter, .cancel = {}});
        } catch (const Error& error) {
          ASSERT_EQ(error.code(), ErrorCode::kMemoryLimit);
          continue;
        }
        if (run->may_run_out()) {
          ++may_run_out;
          continue;
        }
        ++enough;
        PairBatch batch;
        while (run->next(batch)) {
        }
      }
      EXPECT_GT(enough, 0) << entry.name;
      EXPECT_GT(may_run_out, 0) << entry.name;
    }
  }
}

}  // namespace
}  // namespace batmap::test
