// Every method of counting episodes, with one thread and with several, against an oracle that lists all
// occurrences. Then the bound on the frontier, the chooser, cancelling, and the memory limit.
#include "episodes/episode_counter.h"

#include <gtest/gtest.h>

#include <atomic>

#include "episodes/automaton.h"
#include "episodes/mapconcat.h"
#include "episodes/tracking.h"
#include "test/unit/shared/episodes.h"

namespace batmap::test {
namespace {

/// Patterns of one length, as symbols of the streams.
struct PatternBatch {
  std::vector<uint32_t> symbols;
  std::vector<Gap> gaps;
  std::vector<Pattern> patterns;

  void add(const EventStreams& streams, const Pattern& pattern) {
    std::vector<uint32_t> own;
    for (const int64_t event : pattern.events)
      if (const auto symbol = streams.symbol_of(event)) own.push_back(*symbol);
    if (own.size() < pattern.events.size()) return;  // one of the events does not occur
    symbols.insert(symbols.end(), own.begin(), own.end());
    gaps.insert(gaps.end(), pattern.gaps.begin(), pattern.gaps.end());
    patterns.push_back(pattern);
  }
  EpisodeBatch view(size_t length) const { return {symbols.data(), gaps.data(), length, patterns.size()}; }
};

std::vector<uint64_t> counts_of(EpisodeMethod method, const EventStreams& streams, const EpisodeBatch& batch,
                                const ExecutionOptions& options) {
  std::vector<uint64_t> counts(batch.size);
  for (const EventAxis& axis : streams.axes()) count_episodes(method, axis.view(), batch, counts, options);
  return counts;
}

void expect_all_alike(const std::vector<Event>& events, const std::vector<Pattern>& patterns, size_t length) {
  MemoryMeter meter;
  const ExecutionOptions one{.threads = 1, .memory = &meter, .cancel = {}};
  int64_t reach = 0;
  for (const Pattern& pattern : patterns)
    for (const Gap& gap : pattern.gaps) reach = std::max(reach, gap.high);
  for (const EpisodeCounting counting : kEpisodeCountings) {
    SCOPED_TRACE(kEpisodeCountingNames[static_cast<size_t>(counting)]);
    const EventStreams streams = streams_of_events(events, reach, one, counting);
    PatternBatch batch;
    for (const Pattern& pattern : patterns) batch.add(streams, pattern);
    std::vector<uint64_t> expected;
    for (const Pattern& pattern : batch.patterns) expected.push_back(oracle_support(events, pattern, counting));
    for (size_t k = 0; k < kEpisodeMethods; ++k)
      for (const int threads : {1, 2, 3}) {
        const ExecutionOptions options{.threads = threads, .memory = &meter, .cancel = {}};
        EXPECT_EQ(counts_of(static_cast<EpisodeMethod>(k), streams, batch.view(length), options), expected)
            << kEpisodeMethodNames[k] << ", " << threads << " threads";
      }
    for (size_t k = 0; k < expected.size(); ++k) {
      uint64_t all = 0;
      for (const EventAxis& axis : streams.axes()) all += track_all(axis.view(), batch.view(length)[k], one);
      EXPECT_EQ(all, expected[k]) << "without a bound on the frontier";
    }
  }
  EXPECT_EQ(meter.current(), 0u);
}

TEST(EpisodeCounter, CountsSmallStreamsLikeTheOracle) {
  RecordProperty("seed", std::to_string(kSeed));
  Random random(kSeed);
  for (int round = 0; round < 1000; ++round) {
    SCOPED_TRACE(testing::Message() << "round " << round);
    const uint64_t span = 1 + random.below(60);
    const uint64_t symbols = 1 + random.below(4);
    const std::vector<Event> events =
        random_events(random, random.below(26), span, symbols, random.chance(25) ? 1 + random.below(4) : 1);
    const size_t length = 1 + random.below(4);
    std::vector<Pattern> patterns;
    for (int k = 0; k < 4; ++k) patterns.push_back(random_pattern(random, length, symbols, span));
    if (random.chance(50))
      for (Pattern& pattern : patterns) join_steps(random, pattern);
    expect_all_alike(events, patterns, length);
    if (HasFailure()) return;
  }
}

TEST(EpisodeCounter, TwoOccurrencesByHand) {
  // The gaps of EP Fig. 3. The occurrences are (10, 18, 30) and (45, 52, 65); 5 and 70 are too far from
  // their neighbours, 20 is too near.
  const std::vector<Event> events = {{5, 0}, {10, 0}, {18, 1}, {20, 2}, {30, 2}, {45, 0}, {52, 1}, {65, 2}, {70, 2}};
  const Pattern pattern{{0, 1, 2}, {{5, 10}, {10, 15}}};
  expect_all_alike(events, {pattern}, 3);
  EXPECT_EQ(oracle_support(events, pattern), 2u);
}

TEST(EpisodeCounter, TiesAndRepetitions) {
  const auto support = [](const std::vector<Event>& events, const Pattern& pattern) {
    expect_all_alike(events, {pattern}, pattern.events.size());
    return oracle_support(events, pattern);
  };
  EXPECT_EQ(support({{1, 0}, {1, 1}}, {{0, 1}, {{0, 5}}}), 0u);          // events at one time do not follow each other
  EXPECT_EQ(support({{1, 0}, {2, 0}}, {{0, 0}, {{0, 5}}}), 1u);          // A -> A
  EXPECT_EQ(support({{1, 0}, {2, 0}, {3, 0}}, {{0, 0}, {{0, 5}}}), 1u);  // 2 is in both occurrences
  EXPECT_EQ(support({{1, 0}, {2, 0}, {3, 1}}, {{0, 0, 1}, {{0, 5}, {0, 5}}}), 1u);
  EXPECT_EQ(support({{1, 0}, {2, 1}, {2, 0}, {3, 1}}, {{0, 1}, {{0, 5}}}), 1u);  // the second starts when the first ends
  EXPECT_EQ(support({{1, 0}, {1, 0}, {2, 0}}, {{0}, {}}), 2u);                   // repeated rows are one event
  EXPECT_EQ(support({{0, 0}, {7, 1}}, {{0, 1}, {{7, 7}}}), 0u);                  // empty gap
  EXPECT_EQ(support({{0, 0}, {7, 1}}, {{0, 1}, {{6, 7}}}), 1u);
  EXPECT_EQ(support({{0, 0}, {7, 1}}, {{0, 1}, {{7, 8}}}), 0u);
  // (0 1) -> 2: both at one time, then 2
  EXPECT_EQ(support({{1, 1}, {1, 0}, {2, 2}, {5, 0}, {6, 1}, {7, 2}}, {{0, 1, 2}, {kSameTime, {0, 5}}}), 1u);
  // 2 -> (0 1)
  EXPECT_EQ(support({{1, 2}, {3, 1}, {4, 0}, {5, 1}, {5, 0}}, {{2, 0, 1}, {{0, 9}, kSameTime}}), 1u);
  EXPECT_EQ(support({{1, 2}, {3, 1}, {4, 0}, {5, 1}, {5, 0}}, {{2, 0, 1}, {{0, 3}, kSameTime}}), 0u);
}

TEST(EpisodeCounter, FarTimesAndManyStreams) {
  constexpr int64_t kFar = int64_t{1} << 60;
  std::vector<Event> events;
  for (int64_t stream = 0; stream < 40; ++stream) {
    events.push_back({-kFar / 2, 0, stream});
    events.push_back({kFar / 2 + stream, 1, stream});
  }
  for (const Gap gap : {Gap{0, Gap::kUnbounded}, Gap{kFar, kFar + 10}, Gap{0, kFar - 1}, Gap{kFar + 100, Gap::kUnbounded}})
    expect_all_alike(events, {{{0, 1}, {gap}}}, 2);
  MemoryMeter meter;
  const ExecutionOptions options{.threads = 1, .memory = &meter, .cancel = {}};
  EXPECT_GT(streams_of_events(events, Gap::kUnbounded, options).axes().size(), 1u);
  try {
    streams_of_events({{INT64_MIN, 0}, {INT64_MAX, 1}}, 5, options);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kTooLarge);
  }
}

/// Streams long enough for blocks, segments and searches; the oracle would take too long.
TEST(EpisodeCounter, MethodsAgreeOnLongStreams) {
  Random random(kSeed + 1);
  MemoryMeter meter;
  const ExecutionOptions one{.threads = 1, .memory = &meter, .cancel = {}};
  for (int round = 0; round < 6; ++round) {
    const bool by_streams = round >= 4;  // of a thousand events each
    SCOPED_TRACE(testing::Message() << "round " << round);
    std::vector<Event> events;
    for (size_t k = 0; k < 200'000; ++k)  // symbol 0 in every second event, 1 in every fourth, ...
      events.push_back({static_cast<int64_t>(k / (1 + random.below(2))) * 3,
                        std::min<int64_t>(std::countr_zero(random.bits() | 1u << 12), 12),
                        by_streams ? static_cast<int64_t>(k / 1000) : 0});
    const EventStreams streams =
        streams_of_events(events, 2000, one, by_streams ? EpisodeCounting::kStreams : EpisodeCounting::kNonOverlapped);
    for (const size_t length : {2u, 4u}) {
      PatternBatch batch;
      for (int k = 0; k < 12; ++k) {
        Pattern pattern;
        for (size_t position = 0; position < length; ++position) {
          pattern.events.push_back(random.signed_below(9));
          if (position > 0)
            pattern.gaps.push_back({random.signed_below(30), 30 + random.signed_below(by_streams ? 90 : 1000)});
        }
        if (k % 3 == 0) join_steps(random, pattern);
        batch.add(streams, pattern);
      }
      const std::vector<uint64_t> expected = counts_of(EpisodeMethod::kAutomaton, streams, batch.view(length), one);
      EXPECT_GT(*std::max_element(expected.begin(), expected.end()), 0u);
      for (size_t k = 0; k < kEpisodeMethods; ++k)
        for (const int threads : {1, 4}) {
          const ExecutionOptions options{.threads = threads, .memory = &meter, .cancel = {}};
          EXPECT_EQ(counts_of(static_cast<EpisodeMethod>(k), streams, batch.view(length), options), expected)
              << kEpisodeMethodNames[k];
        }
    }
  }
}

TEST(Frontier, ThreeWaysToExtendGiveTheSame) {
  Random random(kSeed + 2);
  for (int round = 0; round < 2000; ++round) {
    std::set<int64_t> ends;
    std::set<int64_t> list;
    for (uint64_t k = random.below(40); k > 0; --k) ends.insert(100 + random.signed_below(200));
    for (uint64_t k = random.below(40); k > 0; --k) list.insert(100 + random.signed_below(200));
    const std::vector<int64_t> from(ends.begin(), ends.end());
    std::vector<int64_t> starts;
    for (size_t k = 0; k < from.size(); ++k) starts.push_back(from[k] - 50 + static_cast<int64_t>(k / 2));
    std::sort(starts.begin(), starts.end());
    const std::vector<int64_t> to(list.begin(), list.end());
    const int64_t low = random.signed_below(10);
    const Gap gap = random.chance(10) ? kSameTime : Gap{low, low + 1 + random.signed_below(20)};
    const FrontierView frontier{from.data(), starts.data(), from.size()};
    using Entries = std::vector<std::pair<int64_t, int64_t>>;
    Entries expected;
    for (const int64_t u : to)
      for (size_t k = from.size(); k-- > 0;)
        if (u - from[k] > gap.low && u - from[k] <= gap.high) {
          expected.push_back({u, starts[k]});
          break;
        }
    Entries merged;
    extend_merging(frontier, to, gap, [&](int64_t end, int64_t start) { merged.push_back({end, start}); });
    Entries by_entry;
    extend_searching_list(frontier, to, gap, [&](int64_t end, int64_t start) { by_entry.push_back({end, start}); });
    Entries by_event;
    extend_searching_frontier(frontier, to, gap, [&](int64_t end, int64_t start) { by_event.push_back({end, start}); });
    ASSERT_EQ(merged, expected);
    ASSERT_EQ(by_entry, expected);
    ASSERT_EQ(by_event, expected);
  }
}

TEST(EpisodeCounter, ChoosesByEpisodesAndThreads) {
  const auto choice = [](uint64_t episodes, uint64_t list, int threads) {
    return choose_episode_method({.episodes = episodes,
                                  .length = 9,
                                  .events = 64 * list,
                                  .list_events = 9 * list * episodes,
                                  .unforeseen = list * episodes,
                                  .threads = threads});
  };
  for (const uint64_t list : {100u, 10'000u, 1'000'000u}) {
    EXPECT_EQ(choice(1, list, 1), EpisodeMethod::kTracking);
    EXPECT_EQ(choice(1000, list, 8), EpisodeMethod::kTracking);  // there are episodes for all threads
  }
  EXPECT_EQ(choice(1, 100, 8), EpisodeMethod::kTracking);  // to start threads takes longer
  EXPECT_EQ(choice(1, 1'000'000, 8), EpisodeMethod::kCountScanWrite);
}

TEST(EpisodeCounter, SamplesWhatNoProcessorForesees) {
  MemoryMeter meter;
  const ExecutionOptions options{.threads = 1, .memory = &meter, .cancel = {}};
  Random random(kSeed + 5);
  std::vector<Event> events;
  for (int64_t k = 0; k < 100'000; ++k) {  // 1 follows each 0, and 2 follows every other one
    events.push_back({10 * k, 0});
    events.push_back({10 * k + 1, 1});
    events.push_back({10 * k + (random.chance(50) ? 1 : 5), 2});
  }
  const EventStreams streams = streams_of_events(events, 2, options);
  const EventAxisView view = streams.axes()[0].view();
  const auto share = [&](std::vector<uint32_t> symbols, Gap gap) {
    const EpisodeJob job = describe_job(view, {symbols.data(), &gap, 2, 1}, 1);
    EXPECT_EQ(job.list_events, 200'000u);
    return static_cast<double>(job.unforeseen) / static_cast<double>(job.list_events);
  };
  EXPECT_EQ(share({0, 1}, {0, 2}), 0);
  EXPECT_EQ(share({1, 0}, {0, 2}), 0);
  EXPECT_NEAR(share({0, 2}, {0, 2}), 0.5, 0.1);
}

TEST(EpisodeCounter, StopsWhenCancelled) {
  Random random(kSeed + 3);
  MemoryMeter meter;
  const ExecutionOptions one{.threads = 1, .memory = &meter, .cancel = {}};
  const std::vector<Event> events = random_events(random, 300'000, 1'000'000, 2);
  {
    const EventStreams streams = streams_of_events(events, Gap::kUnbounded, one);
    PatternBatch batch;
    for (int k = 0; k < 8; ++k) batch.add(streams, {{0, 1, 0, 1}, {{0, 9}, {k, 20 + k}, {0, 9}}});
    for (size_t k = 0; k < kEpisodeMethods; ++k)
      for (const int threads : {1, 3}) {
        std::atomic<int> polls{6};
        const CancelToken cancel{[](void* left) { return static_cast<std::atomic<int>*>(left)->fetch_sub(1) <= 0; }, &polls};
        const ExecutionOptions options{.threads = threads, .memory = &meter, .cancel = cancel};
        try {
          counts_of(static_cast<EpisodeMethod>(k), streams, batch.view(4), options);
          ADD_FAILURE() << kEpisodeMethodNames[k] << " does not ask";
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), ErrorCode::kCancelled);
        }
      }
  }
  EXPECT_EQ(meter.current(), 0u);
}

TEST(EpisodeCounter, StaysWithinItsMemory) {
  Random random(kSeed + 4);
  const std::vector<Event> events = random_events(random, 100'000, 1'000'000, 2);
  size_t failed = 0;
  for (size_t limit = size_t{1} << 18; limit < size_t{1} << 24; limit *= 2)
    for (size_t k = 0; k < kEpisodeMethods; ++k) {
      MemoryMeter meter(limit);
      const ExecutionOptions options{.threads = 2, .memory = &meter, .cancel = {}};
      try {
        const EventStreams streams = streams_of_events(events, 100, options);
        PatternBatch batch;
        batch.add(streams, {{0, 1, 0}, {{0, 9}, {0, 9}}});
        counts_of(static_cast<EpisodeMethod>(k), streams, batch.view(3), options);
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::kMemoryLimit);
        ++failed;
      }
      EXPECT_EQ(meter.current(), 0u);
    }
  EXPECT_GT(failed, 0u);
}

}  // namespace
}  // namespace batmap::test
