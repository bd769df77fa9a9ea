// Discovery against an oracle that extends every frequent pattern by every event and gap, and counts by listing
// occurrences. Then given episodes, occurrences, the best k, truncation, bad parameters, cancelling and memory.
#include "episodes/episode_run.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <thread>

#include "test/unit/shared/episodes.h"
#include "test/unit/shared/fake_files.h"

namespace batmap::test {
namespace {

struct Answer {
  Pattern pattern;
  uint64_t support;
  bool operator==(const Answer&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Answer& answer) {
  for (size_t k = 0; k < answer.pattern.events.size(); ++k) {
    if (k > 0) out << " (" << answer.pattern.gaps[k - 1].low << "," << answer.pattern.gaps[k - 1].high << "] ";
    out << answer.pattern.events[k];
  }
  return out << " x " << answer.support;
}

std::vector<Answer> answers_of(const std::vector<Event>& events, const EpisodeQuery& query, const ExecutionOptions& options,
                               Truncation* truncated = nullptr, RunRecord* record = nullptr) {
  EpisodeRun run(log_of(events, options), {}, query, options);
  std::vector<Answer> answers;
  while (const std::optional<EpisodeRun::Row> row = run.next()) {
    Answer& answer = answers.emplace_back(Answer{{}, row->support});
    for (size_t k = 0; k < row->steps.size(); ++k) {
      answer.pattern.events.push_back(run.event(row->steps[k]));
      const size_t gap = run.gap(row->steps[k]);
      if (k > 0) answer.pattern.gaps.push_back(gap < query.gaps.size() ? query.gaps[gap] : kSameTime);
    }
  }
  if (truncated != nullptr) *truncated = run.record().truncation;
  if (record != nullptr) *record = run.record();
  return answers;
}

/// In order of length, then step by step of event and gap (by the gap's position in the query).
std::vector<Answer> expected_answers(std::vector<Event> events, const EpisodeQuery& query) {
  if (query.exclude)
    std::erase_if(events, [&](const Event& event) {
      return std::count(query.exclude->begin(), query.exclude->end(), event.event) > 0;
    });
  std::set<int64_t> symbols;
  for (const Event& event : events) symbols.insert(event.event);
  const uint64_t min_count = static_cast<uint64_t>(query.min_count.value_or(1));
  std::vector<Gap> gaps = query.gaps;
  if (query.same_time) gaps.push_back(kSameTime);
  std::vector<Answer> all;
  std::vector<Answer> level;
  for (const int64_t symbol : symbols)
    if (const Pattern pattern{{symbol}, {}}; oracle_support(events, pattern, query.counting) >= min_count)
      level.push_back({pattern, oracle_support(events, pattern, query.counting)});
  while (!level.empty()) {
    all.insert(all.end(), level.begin(), level.end());
    if (query.max_length && level[0].pattern.events.size() == static_cast<size_t>(*query.max_length)) break;
    std::vector<Answer> longer;
    for (const Answer& answer : level)
      for (const int64_t symbol : symbols)
        for (const Gap& gap : gaps) {
          Pattern pattern = answer.pattern;
          if (gap == kSameTime && symbol <= pattern.events.back()) continue;
          pattern.events.push_back(symbol);
          pattern.gaps.push_back(gap);
          if (const uint64_t support = oracle_support(events, pattern, query.counting); support >= min_count)
            longer.push_back({pattern, support});
        }
    level = std::move(longer);
  }
  std::erase_if(all, [&](const Answer& answer) {
    if (query.min_length && answer.pattern.events.size() < static_cast<size_t>(*query.min_length)) return true;
    return query.include && std::none_of(answer.pattern.events.begin(), answer.pattern.events.end(), [&](int64_t event) {
             return std::count(query.include->begin(), query.include->end(), event) > 0;
           });
  });
  if (query.top_k) {
    std::stable_sort(all.begin(), all.end(), [](const Answer& x, const Answer& y) { return x.support > y.support; });
    if (all.size() > static_cast<size_t>(*query.top_k)) all.resize(static_cast<size_t>(*query.top_k));
  }
  return all;
}

TEST(EpisodeRun, FindsWhatTheOracleFinds) {
  RecordProperty("seed", std::to_string(kSeed));
  Random random(kSeed);
  size_t found = 0;
  for (int round = 0; round < 600; ++round) {
    SCOPED_TRACE(testing::Message() << "round " << round);
    const uint64_t span = 10 + random.below(90);
    std::vector<Event> events =
        random_events(random, random.below(60), span, 1 + random.below(5), random.chance(30) ? 3 : 1);
    EpisodeQuery query;
    for (uint64_t k = 1 + random.below(3); k > 0; --k) {
      Gap gap = random_gap(random, span / 4);
      if (gap.high == Gap::kUnbounded && random.chance(70)) gap.high = gap.low + 8;
      query.gaps.push_back(gap);
    }
    query.min_count = 2 + random.signed_below(4);
    query.max_length = 1 + random.signed_below(4);
    if (random.chance(20)) query.min_length = 1 + random.signed_below(static_cast<uint64_t>(*query.max_length));
    if (random.chance(20)) query.include = {random.signed_below(5), 77};
    if (random.chance(20)) query.exclude = {random.signed_below(5), 77};
    if (random.chance(20)) query.top_k = 1 + random.signed_below(12);
    query.same_time = random.chance(30);
    if (random.chance(30)) {
      query.counting = EpisodeCounting::kStreams;
      const uint64_t streams = 2 + random.below(6);
      for (Event& event : events) event.stream = random.signed_below(streams);
    }
    const std::vector<Answer> expected = expected_answers(events, query);
    found += expected.size();
    MemoryMeter meter;
    for (const int threads : {1, 3})
      for (size_t method = 0; method <= kEpisodeMethods; ++method) {
        if (threads > 1 && round % 8 != 0) continue;  // to start threads takes longer than the work
        query.method.reset();
        if (method < kEpisodeMethods) query.method = static_cast<EpisodeMethod>(method);
        if (method == 1 || method == 2) continue;  // both are tracking in blocks: see episode_counter_test.cpp
        const ExecutionOptions options{.threads = threads, .memory = &meter, .cancel = {}};
        ASSERT_EQ(answers_of(events, query, options), expected) << "method " << method << ", " << threads << " threads";
      }
    EXPECT_EQ(meter.current(), 0u);
  }
  EXPECT_GT(found, 5000u);
}

/// Enough events for both ways of counting extensions: a walk if the gap is short, merges if it is long.
TEST(EpisodeRun, MethodsAgreeOnLongStreams) {
  Random random(kSeed + 1);
  MemoryMeter meter;
  for (const int64_t high : {4, 60, 3000}) {
    SCOPED_TRACE(testing::Message() << "gap up to " << high);
    std::vector<Event> events;
    for (int64_t k = 0; k < 20'000; ++k)
      events.push_back({k * 2 + random.signed_below(3), random.signed_below(1 + random.below(12)), 0});
    EpisodeQuery query;
    query.gaps = {{0, high}, {high / 2, 2 * high}};
    query.min_count = 300;
    query.max_length = 3;
    if (high == 60) {  // a step of two events in every fourth time, in streams of 50 events
      query.counting = EpisodeCounting::kStreams;
      query.same_time = true;
      query.min_count = 100;
      for (size_t k = 0; k < events.size(); ++k) {
        events[k].stream = static_cast<int64_t>(k / 50);
        if (k % 4 == 1) events[k].time = events[k - 1].time;
      }
    }
    std::vector<std::vector<Answer>> answers;
    for (const int threads : {1, 4})
      for (const std::optional<EpisodeMethod> method :
           {std::optional<EpisodeMethod>{}, std::optional(EpisodeMethod::kTracking),
            std::optional(EpisodeMethod::kAutomaton)}) {
        query.method = method;
        answers.push_back(answers_of(events, query, {.threads = threads, .memory = &meter, .cancel = {}}));
        EXPECT_EQ(answers.back(), answers[0]);
      }
    EXPECT_GT(answers[0].size(), 100u);
  }
}

/// Events beyond the work memory are counted part by part: the same answers, levels and occurrences in the same order.
TEST(EpisodeRun, EventsInFilesGiveTheSameAnswers) {
  Random random(kSeed + 8);
  MemoryMeter meter;
  size_t found = 0;
  uint64_t found_given = 0;
  for (int round = 0; round < 48; ++round) {
    SCOPED_TRACE(testing::Message() << "round " << round);
    std::vector<Event> events = random_events(random, 3000, 2000, 12, 200);
    const int shape = round % 4;
    if (shape == 0)  // streams with sparse numbers, one of which is larger than a part
      for (Event& event : events) event.stream = random.chance(20) ? 77 : event.stream * 7'919'000'000'007;
    if (shape >= 2)  // one stream, or two; in pieces
      for (Event& event : events) event.stream = shape == 2 ? 0 : 5 + random.chance(30);
    EpisodeQuery query;
    query.gaps = {{0, 40}, {40, 400}};
    if (shape >= 2) {
      query.gaps = {{0, 3}, {2, 8 + random.signed_below(60)}};
      if (random.chance(30)) query.gaps.push_back({random.signed_below(120), Gap::kUnbounded});
      if (random.chance(30)) query.gaps[0] = {0, 1 + random.signed_below(1500)};
    }
    query.min_count = 20 + random.signed_below(60);
    if (shape >= 2) query.min_count = 1 + random.signed_below(60);
    if (random.chance(30)) query.include = {random.signed_below(12), 77};
    if (random.chance(30)) query.exclude = {random.signed_below(12), 77};
    if (random.chance(30)) query.top_k = 1 + random.signed_below(60);
    query.same_time = random.chance(50);
    query.counting = kEpisodeCountings[static_cast<size_t>(round / 4) % 2];
    if (shape >= 2 && query.counting == EpisodeCounting::kStreams) query.min_count = 1 + random.below(shape);
    query.max_length = 3;
    if (random.chance(30)) {
      query.method = static_cast<EpisodeMethod>(random.below(kEpisodeMethods));
      query.max_length = 2;
    }
    FakeFiles files;
    const ExecutionOptions in_memory{.threads = 1, .memory = &meter, .cancel = {}};
    const ExecutionOptions in_files{.threads = round % 3 == 0 ? 3 : 1,
                                    .memory = &meter,
                                    .cancel = {},
                                    .files = &files,
                                    .work_bytes = size_t{1} << (12 + random.below(3))};
    RunRecord expected_record;
    RunRecord record;
    const std::vector<Answer> expected = answers_of(events, query, in_memory, nullptr, &expected_record);
    ASSERT_EQ(answers_of(events, query, in_files, nullptr, &record), expected);
    EXPECT_NE(record.reason.find("MB of files, counted in"), std::string::npos) << record.reason;
    EXPECT_GT(record.file_bytes, 0u);
    EXPECT_EQ(expected_record.file_bytes, 0u);
    EXPECT_EQ(record.transactions, expected_record.transactions);
    EXPECT_EQ(record.items, expected_record.items);
    ASSERT_EQ(record.levels.size(), expected_record.levels.size());
    for (size_t k = 0; k < record.levels.size(); ++k) {
      EXPECT_EQ(record.levels[k].candidates, expected_record.levels[k].candidates);
      EXPECT_EQ(record.levels[k].frequent, expected_record.levels[k].frequent);
    }
    found += expected.size();

    GivenEpisodes given{.events = {1, 2, 3, 4, 2, 1, 99, 1, 1}, .length = 3, .gaps = {{0, 300}}, .method = {}, .device = {}};
    if (shape >= 2) given.gaps = {{random.signed_below(4), 5 + random.signed_below(random.chance(50) ? 40 : 4000)}};
    given.counting = query.counting;
    given.method = query.method;
    const auto counted = [&](const ExecutionOptions& options) {
      return count_given(streams_of(log_of(events, options), {}, given, options), given, options, record);
    };
    const std::vector<uint64_t> counts = counted(in_memory);
    EXPECT_EQ(counted(in_files), counts);
    EXPECT_NE(record.reason.find("MB of files"), std::string::npos) << record.reason;
    given.events.resize(3);
    const auto shown = [&](const ExecutionOptions& options) {
      std::vector<std::tuple<int64_t, int64_t, int64_t>> all;
      const GrowingBuffer<FoundOccurrence> found_here =
          find_occurrences(streams_of(log_of(events, options), {}, given, options), given, options, record);
      for (const FoundOccurrence& one : found_here.span()) all.emplace_back(one.stream, one.starts_at, one.ends_at);
      return all;
    };
    EXPECT_EQ(shown(in_files), shown(in_memory));
    EXPECT_EQ(shown(in_files).size(), counts[0]);
    const GivenEpisodes one{.events = {1, 2, 99},
                            .length = 1,
                            .gaps = {{0, 1}},
                            .counting = query.counting,
                            .method = query.method,
                            .device = {}};
    const auto singles = [&](const ExecutionOptions& options) {
      return count_given(streams_of(log_of(events, options), {}, one, options), one, options, record);
    };
    EXPECT_EQ(singles(in_files), singles(in_memory));
    found_given += counts[0];
  }
  EXPECT_GT(found, 500u);
  EXPECT_GT(found_given, 500u);
  EXPECT_EQ(meter.current(), 0u);
}

TEST(EpisodeRun, EventsInFilesAreCountedWithinMemory) {
  Random random(kSeed + 9);
  const std::vector<Event> events = random_events(random, 400'000, 100'000, 200, 4000);
  EpisodeQuery query;
  query.gaps = {{0, 50}};
  query.min_count = 200;
  const auto peak = [&](TempFiles* files) {
    MemoryMeter meter;
    const ExecutionOptions options{
        .threads = 2, .memory = &meter, .cancel = {}, .files = files, .work_bytes = size_t{1} << 20};
    answers_of(events, query, options);
    return meter.peak();
  };
  FakeFiles files;
  EXPECT_LT(peak(&files), size_t{3} << 19);
  EXPECT_GT(peak(nullptr), size_t{10} << 20);
}

/// What is carried from piece to piece, for episodes that are longer than the prefixes a tracker keeps.
TEST(EpisodeRun, LongEpisodesOverPiecesOfAStream) {
  Random random(kSeed + 12);
  MemoryMeter meter;
  uint64_t found = 0;
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE(testing::Message() << "round " << round);
    std::vector<Event> events = random_events(random, 4000, 2000 + random.below(8000), 2);
    GivenEpisodes given{.events = {}, .length = 30 + random.below(20), .gaps = {}, .method = {}, .device = {}};
    for (size_t k = 0; k < 4 * given.length; ++k) given.events.push_back(random.signed_below(2));
    std::copy_n(given.events.begin(), 20, given.events.begin() + static_cast<ptrdiff_t>(given.length));  // a shared prefix
    for (size_t k = 1; k < given.length; ++k)
      given.gaps.push_back({random.chance(70) ? 0 : random.signed_below(9),
                            random.chance(50) ? Gap::kUnbounded : 9 + random.signed_below(random.chance(50) ? 9 : 900)});
    given.counting = kEpisodeCountings[static_cast<size_t>(round) % 2];
    if (random.chance(50)) given.method = EpisodeMethod::kTracking;
    RunRecord record;
    const auto counted = [&](const ExecutionOptions& options) {
      return count_given(streams_of(log_of(events, options), {}, given, options), given, options, record);
    };
    const std::vector<uint64_t> expected = counted({.threads = 1, .memory = &meter, .cancel = {}});
    FakeFiles files;
    ASSERT_EQ(counted({.threads = 1 + round % 3,
                       .memory = &meter,
                       .cancel = {},
                       .files = &files,
                       .work_bytes = size_t{1} << (12 + random.below(3))}),
              expected);
    EXPECT_GT(record.file_bytes, 0u);
    for (const uint64_t count : expected) found += count;
  }
  EXPECT_GT(found, 1000u);
  EXPECT_EQ(meter.current(), 0u);
}

/// A stream in pieces: neither its length nor the upper end of a gap decides on the memory.
TEST(EpisodeRun, AStreamInFilesIsCountedWithinMemory) {
  Random random(kSeed + 10);
  const std::vector<Event> events = random_events(random, 400'000, 4'000'000, 50);
  EpisodeQuery query;
  query.gaps = {{0, 50}, {9, Gap::kUnbounded}};
  query.min_count = 30;
  query.max_length = 2;
  std::vector<std::vector<Answer>> answers;
  const auto peak = [&](TempFiles* files) {
    MemoryMeter meter;
    const ExecutionOptions options{
        .threads = 2, .memory = &meter, .cancel = {}, .files = files, .work_bytes = size_t{1} << 20};
    answers.push_back(answers_of(events, query, options));
    return meter.peak();
  };
  FakeFiles files;
  EXPECT_LT(peak(&files), size_t{3} << 19);
  EXPECT_GT(peak(nullptr), size_t{10} << 20);
  EXPECT_EQ(answers[0], answers[1]);
  EXPECT_GT(answers[0].size(), 1000u);
}

TEST(EpisodeRun, RateIsOverAllStreams) {
  // Two streams of 30 and 70 ticks: the duration is 100.
  std::vector<Event> events;
  for (int64_t k = 0; k <= 30; k += 10) events.push_back({k, 1, 0});
  for (int64_t k = 0; k <= 70; k += 10) events.push_back({k, 2, 1});
  MemoryMeter meter;
  const auto longest = [&](double rate) {
    EpisodeQuery query;
    query.gaps = {{0, 10}};
    query.min_rate = rate;
    query.ticks_a_unit = 10;
    const ExecutionOptions options{.threads = 1, .memory = &meter, .cancel = {}};
    EXPECT_EQ(EpisodeRun(log_of(events, options), {}, query, options).streams().totals().duration, 100u);
    return query.min_count_within(100);
  };
  EXPECT_EQ(longest(0.1), 1u);
  EXPECT_EQ(longest(0.3), 3u);
  EXPECT_EQ(longest(0.31), 4u);
  EXPECT_EQ(longest(0.7), 7u);
  EXPECT_EQ(longest(1e300), uint64_t{1} << 63);
}

TEST(EpisodeRun, CountsGivenEpisodesAndShowsThem) {
  Random random(kSeed + 2);
  for (int round = 0; round < 300; ++round) {
    const std::vector<Event> events = random_events(random, 40, 60, 4, 1 + random.below(3));
    GivenEpisodes given;
    given.length = 1 + random.below(3);
    std::vector<Pattern> patterns;
    const Gap one = random_gap(random, 60);
    const bool same = given.length == 1 || random.chance(50);
    for (size_t k = 0; k + 1 < given.length && !same; ++k) given.gaps.push_back(random_gap(random, 60));
    if (same) given.gaps = {one};
    for (int k = 0; k < 5; ++k) {
      Pattern pattern;
      for (size_t position = 0; position < given.length; ++position) {
        pattern.events.push_back(random.signed_below(6));  // some never occur
        if (position > 0) pattern.gaps.push_back(same ? one : given.gaps[position - 1]);
      }
      patterns.push_back(pattern);
      given.events.insert(given.events.end(), pattern.events.begin(), pattern.events.end());
    }
    given.check();
    MemoryMeter meter;
    const ExecutionOptions options{.threads = 2, .memory = &meter, .cancel = {}};
    RunRecord record;
    const auto count = [&] {
      return count_given(streams_of(log_of(events, options), {}, given, options), given, options, record);
    };
    const std::vector<uint64_t> counts = count();
    given.counting = EpisodeCounting::kStreams;
    const std::vector<uint64_t> streams_with = count();
    given.counting = EpisodeCounting::kNonOverlapped;
    for (size_t k = 0; k < patterns.size(); ++k) {
      ASSERT_EQ(streams_with[k], oracle_support(events, patterns[k], EpisodeCounting::kStreams)) << "round " << round;
      ASSERT_EQ(counts[k], oracle_support(events, patterns[k])) << "round " << round;
      GivenEpisodes single = given;
      single.events = patterns[k].events;
      single.counting = kEpisodeCountings[static_cast<size_t>(round) % 2];
      const bool by_streams = single.counting == EpisodeCounting::kStreams;
      const EventStreams streams = streams_of(log_of(events, options), {}, single, options);
      const GrowingBuffer<FoundOccurrence> found = find_occurrences(streams, single, options, record);
      ASSERT_EQ(found.size(), by_streams ? streams_with[k] : counts[k]);
      std::map<int64_t, std::vector<Event>> of_stream;
      for (const Event& event : events) of_stream[event.stream].push_back(event);
      for (size_t at = 0; at < found.size(); ++at) {
        std::vector<std::pair<int64_t, int64_t>> all;
        list_occurrences(of_stream[found[at].stream], patterns[k], 0, 0, 0, all);
        EXPECT_NE(std::find(all.begin(), all.end(), std::pair(found[at].starts_at, found[at].ends_at)), all.end());
        if (by_streams) {  // the first of its stream
          for (const auto& [start, end] : all) EXPECT_GE(end, found[at].ends_at);
        }
        if (at > 0 && found[at].stream == found[at - 1].stream) {
          EXPECT_FALSE(by_streams);
          EXPECT_GT(found[at].starts_at, found[at - 1].ends_at);
        }
      }
    }
  }
}

TEST(EpisodeRun, CountsGivenSteps) {
  Random random(kSeed + 6);
  MemoryMeter meter;
  const ExecutionOptions options{.threads = 1, .memory = &meter, .cancel = {}};
  RunRecord record;
  uint64_t found = 0;
  for (int round = 0; round < 200; ++round) {
    const std::vector<Event> events = random_events(random, 60, 20, 5, 1 + random.below(3));
    GivenEpisodes given{.events = {}, .length = 3, .gaps = {{0, 9}}, .steps = {1, 1, 2}, .method = {}, .device = {}};
    if (random.chance(50)) given.steps = {1, 2, 2};
    for (const int64_t event : {0, 1, 2}) given.events.push_back((event + random.signed_below(2) * 3) % 5);
    const size_t in_set = given.steps[1] == 1 ? 0 : 1;  // the first event of the set
    int64_t* const set = given.events.data() + in_set;
    given.check();
    if (random.chance(50)) std::swap(set[0], set[1]);  // a set has no order
    for (const EpisodeCounting counting : kEpisodeCountings) {
      given.counting = counting;
      given.method = static_cast<EpisodeMethod>(random.below(kEpisodeMethods));
      const auto count = [&] {
        return count_given(streams_of(log_of(events, options), {}, given, options), given, options, record);
      };
      if (set[0] == set[1]) {
        EXPECT_THROW(count(), Error);
        continue;
      }
      Pattern pattern{given.events, {{0, 9}, {0, 9}}};
      pattern.gaps[in_set] = kSameTime;
      const uint64_t expected = oracle_support(events, pattern, counting);
      ASSERT_EQ(count(), std::vector<uint64_t>{expected}) << "round " << round;
      ASSERT_EQ(find_occurrences(streams_of(log_of(events, options), {}, given, options), given, options, record).size(),
                expected);
      found += expected;
    }
  }
  EXPECT_GT(found, 100u);
  EXPECT_EQ(meter.current(), 0u);
}

TEST(EpisodeRun, AGivenEpisodeOfAnyLengthNeedsLittleMemory) {
  std::vector<Event> events;
  for (int64_t t = 0; t < 30'000; ++t) events.push_back({t, t % 3});
  const auto peak = [&](size_t length, Gap gap, size_t expected) {
    MemoryMeter meter;
    const ExecutionOptions options{.threads = 1, .memory = &meter, .cancel = {}};
    RunRecord record;
    GivenEpisodes given{.events = {}, .length = length, .gaps = {gap}, .steps = {}, .method = {}, .device = {}};
    for (size_t k = 0; k < length; ++k) given.events.push_back(static_cast<int64_t>(k % 3));
    EXPECT_EQ(find_occurrences(streams_of(log_of(events, options), {}, given, options), given, options, record).size(),
              expected);
    return meter.peak();
  };
  // An occurrence ends at a multiple of three, and the next one starts three ticks later.
  const size_t bound = peak(40, {0, 1}, 30'000 / 42);
  EXPECT_LT(peak(400, {0, 1}, 30'000 / 402), bound + bound / 10);
  EXPECT_LT(peak(300'000, {0, 0}, 0), bound + 300'000 * (sizeof(int64_t) + sizeof(Gap)) * 3);
}

/// The purchases of PrefixSpan's paper, as sets of one time: a(abc)(ac)d(cf), (ad)c(bc)(ae), (ef)(ab)(df)cb, eg(af)cbc.
TEST(EpisodeRun, FindsTheSequencesOfPrefixSpan) {
  const std::vector<std::vector<const char*>> sequences = {
      {"a", "abc", "ac", "d", "cf"}, {"ad", "c", "bc", "ae"}, {"ef", "ab", "df", "c", "b"}, {"e", "g", "af", "c", "b", "c"}};
  std::vector<Event> events;
  for (size_t stream = 0; stream < sequences.size(); ++stream)
    for (size_t time = 0; time < sequences[stream].size(); ++time)
      for (const char* at = sequences[stream][time]; *at != 0; ++at)
        events.push_back({static_cast<int64_t>(time), *at, static_cast<int64_t>(stream) + 1});
  EpisodeQuery query;
  query.gaps = {{0, Gap::kUnbounded}};
  query.min_count = 2;
  query.counting = EpisodeCounting::kStreams;
  query.same_time = true;
  MemoryMeter meter;
  std::map<std::string, uint64_t> found;
  for (const Answer& answer : answers_of(events, query, {.threads = 2, .memory = &meter, .cancel = {}})) {
    std::string text(1, static_cast<char>(answer.pattern.events[0]));
    for (size_t k = 0; k < answer.pattern.gaps.size(); ++k) {
      if (answer.pattern.gaps[k] != kSameTime) text += ' ';
      text += static_cast<char>(answer.pattern.events[k + 1]);
    }
    EXPECT_TRUE(found.emplace(text, answer.support).second) << text << " twice";
  }
  EXPECT_EQ(found.size(), 53u);  // table 2 of the paper has them by prefix
  EXPECT_EQ(found["a"], 4u);
  EXPECT_EQ(found["g"], 0u);
  EXPECT_EQ(found["a bc a"], 2u);
  EXPECT_EQ(found["ab d c"], 2u);
  EXPECT_EQ(found["ab f"], 2u);
  EXPECT_EQ(found["a c"], 4u);
  EXPECT_EQ(found["e f c b"], 2u);
}

TEST(EpisodeRun, CutsOffByNumberAndTime) {
  Random random(kSeed + 3);
  const std::vector<Event> events = random_events(random, 20'000, 10'000, 30);
  MemoryMeter meter;
  const ExecutionOptions options{.threads = 2, .memory = &meter, .cancel = {}};
  EpisodeQuery query;
  query.gaps = {{0, 10}};
  query.min_count = 100;
  query.max_length = 2;
  const std::vector<Answer> all = answers_of(events, query, options);
  ASSERT_GT(all.size(), 50u);
  Truncation truncated;
  query.max_results = static_cast<int64_t>(all.size());
  EXPECT_EQ(answers_of(events, query, options, &truncated), all);
  EXPECT_EQ(truncated.cause, Truncation::kNone);
  query.max_results = 40;
  EXPECT_EQ(answers_of(events, query, options, &truncated), std::vector<Answer>(all.begin(), all.begin() + 40));
  EXPECT_EQ(truncated.cause, Truncation::kMaxResults);

  query.max_results.reset();
  query.max_length.reset();
  query.min_count = 1;
  query.timeout_ms = 50;
  const std::vector<Answer> some = answers_of(events, query, options, &truncated);
  EXPECT_EQ(truncated.cause, Truncation::kTimeout);
  EXPECT_GE(some.size(), 30u);  // the single events
  EXPECT_EQ(meter.current(), 0u);
}

TEST(EpisodeRun, RefusesBadParameters) {
  const auto refused = [](auto change, const std::string& text) {
    EpisodeQuery query;
    query.gaps = {{0, 5}};
    query.min_count = 1;
    change(query);
    try {
      query.check();
      ADD_FAILURE() << "accepted: " << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidParameter);
      EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
    }
  };
  refused([](EpisodeQuery& q) { q.min_rate = 1; }, "exclude each other");
  refused([](EpisodeQuery& q) { q.min_count.reset(); }, "threshold is missing");
  refused([](EpisodeQuery& q) { q.min_count = 0; }, "min_count must be at least 1, not 0");
  refused([](EpisodeQuery& q) { q.min_count.reset(), q.min_rate = 0; }, "min_rate must be above 0");
  refused([](EpisodeQuery& q) { q.min_count.reset(), q.min_rate = NAN; }, "min_rate must be above 0");
  refused([](EpisodeQuery& q) { q.max_length = 0; }, "max_length must be at least 1");
  refused([](EpisodeQuery& q) { q.min_length = 3, q.max_length = 2; }, "min_length 3 is above max_length 2");
  refused([](EpisodeQuery& q) { q.top_k = 0; }, "top_k must be at least 1");
  refused([](EpisodeQuery& q) { q.max_results = 0; }, "max_results must be at least 1");
  refused([](EpisodeQuery& q) { q.timeout_ms = 0; }, "timeout must be above 0, not 0 ms");
  refused([](EpisodeQuery& q) { q.gaps.clear(); }, "gaps must not be empty");
  refused([](EpisodeQuery& q) { q.gaps = {{-1, 5}}; }, "the low end of a gap must be at least 0, not -1");
  refused([](EpisodeQuery& q) { q.gaps = {{6, 5}}; }, "the high end of a gap must be at least its low end 6, not 5");
  EXPECT_THROW(parse_episode_method("gpu"), Error);
  EXPECT_EQ(parse_episode_method("auto"), std::nullopt);
  EXPECT_EQ(parse_episode_method("atomic"), EpisodeMethod::kAtomic);
  refused([](EpisodeQuery& q) { q.min_count.reset(), q.min_rate = 1, q.counting = EpisodeCounting::kStreams; },
          "min_rate does not go with counting \"streams\"");
  EXPECT_THROW(parse_episode_counting("minimal"), Error);
  EXPECT_EQ(parse_episode_counting("non_overlapped"), EpisodeCounting::kNonOverlapped);
  EXPECT_EQ(parse_episode_counting("streams"), EpisodeCounting::kStreams);
  GivenEpisodes given{.events = {1, 2, 3}, .length = 3, .gaps = {{0, 1}, {0, 1}, {0, 1}}, .method = {}, .device = {}};
  EXPECT_THROW(given.check(), Error);
  given.gaps = {{0, 1}};
  for (const std::vector<int64_t>& steps :
       std::vector<std::vector<int64_t>>{{1, 1}, {2, 2, 2}, {1, 3, 3}, {1, 2, 1}, {0, 1, 2}}) {
    given.steps = steps;
    EXPECT_THROW(given.check(), Error) << testing::PrintToString(steps);
  }
  given.steps = {1, 1, 2};
  given.check();
  given.gaps = {{0, 1}, {0, 1}};
  EXPECT_THROW(given.check(), Error);
}

TEST(EpisodeRun, StopsWhenCancelledInFiles) {
  Random random(kSeed + 10);
  const std::vector<Event> events = random_events(random, 50'000, 100'000, 40, 500);
  EpisodeQuery query;
  query.gaps = {{0, 500}};
  query.min_count = 1;
  for (const int polls : {0, 30, 300, 3000}) {
    MemoryMeter meter;
    FakeFiles files;
    std::atomic<int> left{polls};
    const CancelToken cancel{[](void* arg) { return static_cast<std::atomic<int>*>(arg)->fetch_sub(1) <= 0; }, &left};
    try {
      answers_of(events, query,
                 {.threads = 2, .memory = &meter, .cancel = cancel, .files = &files, .work_bytes = size_t{1} << 17});
      FAIL() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kCancelled);
    }
    EXPECT_EQ(meter.current(), 0u);
  }
}

TEST(EpisodeRun, StopsWhenCancelled) {
  Random random(kSeed + 4);
  const std::vector<Event> events = random_events(random, 50'000, 100'000, 40);
  EpisodeQuery query;
  query.gaps = {{0, 50}};
  query.min_count = 1;
  for (const int polls : {0, 3, 30, 300}) {
    MemoryMeter meter;
    std::atomic<int> left{polls};
    const CancelToken cancel{[](void* arg) { return static_cast<std::atomic<int>*>(arg)->fetch_sub(1) <= 0; }, &left};
    try {
      answers_of(events, query, {.threads = 2, .memory = &meter, .cancel = cancel});
      FAIL() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kCancelled);
    }
    EXPECT_EQ(meter.current(), 0u);
  }
}

TEST(EpisodeRun, StaysWithinItsMemory) {
  Random random(kSeed + 5);
  const std::vector<Event> events = random_events(random, 20'000, 100'000, 10);
  EpisodeQuery query;
  query.gaps = {{0, 50}};
  query.min_count = 1;
  query.max_length = 4;
  size_t failed = 0;
  size_t done = 0;
  for (size_t limit = size_t{1} << 19; limit < size_t{1} << 25; limit *= 2) {
    MemoryMeter meter(limit);
    try {
      answers_of(events, query, {.threads = 2, .memory = &meter, .cancel = {}});
      ++done;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kMemoryLimit);
      ++failed;
    }
    EXPECT_EQ(meter.current(), 0u);
  }
  EXPECT_GT(failed, 0u);
  EXPECT_GT(done, 0u);
}

}  // namespace
}  // namespace batmap::test
