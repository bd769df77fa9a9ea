// Pairs within a window against an oracle that compares every two events, by both ways of counting. Then the k best,
// truncation, bad parameters, cancelling and memory.
#include "episodes/window_pairs.h"

#include <gtest/gtest.h>

#include <atomic>

#include "test/unit/shared/episodes.h"
#include "test/unit/shared/fake_files.h"

namespace batmap::test {
namespace {

using Pair = std::tuple<int64_t, int64_t, uint64_t>;

std::vector<Pair> answers_of(const std::vector<Event>& events, const WindowPairQuery& query, const ExecutionOptions& options,
                             RunRecord* record = nullptr) {
  WindowPairRun run(log_of(events, options), {}, query, options);
  std::vector<Pair> answers;
  while (const std::optional<WindowPair> pair = run.next())
    answers.push_back({run.item(pair->a), run.item(pair->b), pair->support});
  if (record != nullptr) *record = run.record();
  return answers;
}

bool has(const std::optional<std::vector<int64_t>>& list, int64_t item) {
  return list && std::find(list->begin(), list->end(), item) != list->end();
}

std::vector<Pair> expected_answers(std::vector<Event> events, const WindowPairQuery& query) {
  const auto key = [](const Event& event) { return std::tuple(event.stream, event.time, event.event); };
  std::sort(events.begin(), events.end(), [&](const Event& x, const Event& y) { return key(x) < key(y); });
  events.erase(std::unique(events.begin(), events.end(), [&](const Event& x, const Event& y) { return key(x) == key(y); }),
               events.end());
  std::set<int64_t> all_streams;
  std::map<std::pair<int64_t, int64_t>, uint64_t> pairs;
  std::map<std::pair<int64_t, int64_t>, std::set<int64_t>> streams;
  for (const Event& x : events) {
    all_streams.insert(x.stream);
    for (const Event& y : events) {
      if (x.stream != y.stream || x.event >= y.event || has(query.exclude, x.event) || has(query.exclude, y.event)) continue;
      if (query.include && !has(query.include, x.event) && !has(query.include, y.event)) continue;
      __extension__ const __int128 distance = static_cast<__int128>(x.time) - y.time;
      if (distance > query.window || -distance > query.window) continue;
      ++pairs[{x.event, y.event}];
      streams[{x.event, y.event}].insert(x.stream);
    }
  }
  uint64_t min_count = static_cast<uint64_t>(query.min_count.value_or(1));
  if (query.min_support)
    min_count = static_cast<uint64_t>(std::ceil(*query.min_support * static_cast<double>(all_streams.size()) - 1e-9));
  std::vector<Pair> answers;
  for (const auto& [items, count] : pairs) {
    const uint64_t support = query.counting == WindowCounting::kStreams ? streams[items].size() : count;
    if (support >= min_count) answers.push_back({items.first, items.second, support});
  }
  if (query.top_k) {
    std::stable_sort(answers.begin(), answers.end(),
                     [](const Pair& x, const Pair& y) { return std::get<2>(x) > std::get<2>(y); });
    if (answers.size() > static_cast<size_t>(*query.top_k)) answers.resize(static_cast<size_t>(*query.top_k));
  }
  return answers;
}

TEST(WindowPairs, FindsWhatTheOracleFinds) {
  RecordProperty("seed", std::to_string(kSeed));
  Random random(kSeed);
  size_t found = 0;
  for (int round = 0; round < 1500; ++round) {
    SCOPED_TRACE(testing::Message() << "round " << round);
    const uint64_t span = 1 + random.below(100);
    const std::vector<Event> events =
        random_events(random, random.below(120), span, 1 + random.below(12), 1 + random.below(6));
    WindowPairQuery query;
    query.window = random.chance(10) ? Gap::kUnbounded : random.chance(20) ? 0 : random.signed_below(span);
    query.counting = random.chance(50) ? WindowCounting::kStreams : WindowCounting::kOccurrences;
    query.min_count = 1 + random.signed_below(4);
    if (query.counting == WindowCounting::kStreams && random.chance(20)) {
      query.min_count.reset();
      query.min_support = random.chance(50) ? 0.5 : 1.0;
    }
    if (random.chance(30)) query.include = {random.signed_below(12), random.signed_below(12), 77};
    if (random.chance(20)) query.exclude = {random.signed_below(12), 77};
    if (random.chance(30)) query.top_k = 1 + random.signed_below(12);
    const std::vector<Pair> expected = expected_answers(events, query);
    found += expected.size();
    MemoryMeter meter;
    for (const int threads : {1, 3}) {
      if (threads > 1 && round % 8 != 0) continue;  // to start threads takes longer than the work
      ASSERT_EQ(answers_of(events, query, {.threads = threads, .memory = &meter, .cancel = {}}), expected)
          << threads << " threads";
    }
    EXPECT_EQ(meter.current(), 0u);
  }
  EXPECT_GT(found, 5000u);
}

/// Events beyond the work memory are counted part by part, with the same answers in the same order.
TEST(WindowPairs, EventsInFilesGiveTheSameAnswers) {
  Random random(kSeed + 5);
  MemoryMeter meter;
  size_t found = 0;
  for (int round = 0; round < 80; ++round) {
    SCOPED_TRACE(testing::Message() << "round " << round);
    std::vector<Event> events = random_events(random, 3000, 2000, 60, 200);
    const bool is_single = round % 3 == 1;
    for (Event& event : events)  // one stream is larger than a part
      if (is_single || random.chance(20)) event.stream = is_single ? 0 : 77;
    WindowPairQuery query;
    query.window = random.signed_below(is_single ? 20 : 200);
    if (random.chance(20)) query.window = random.chance(30) ? Gap::kUnbounded : random.signed_below(2000);
    query.counting = random.chance(50) ? WindowCounting::kStreams : WindowCounting::kOccurrences;
    query.min_count = 2 + random.signed_below(6);
    if (is_single && query.counting == WindowCounting::kStreams) query.min_count = 1;
    if (random.chance(30)) query.include = {random.signed_below(60), random.signed_below(60), 77};
    if (random.chance(20)) query.exclude = {random.signed_below(60), 77};
    if (random.chance(30)) query.top_k = 1 + random.signed_below(100);
    const std::vector<Pair> expected = answers_of(events, query, {.threads = 1, .memory = &meter, .cancel = {}});
    found += expected.size();
    FakeFiles files;
    RunRecord record;
    const ExecutionOptions in_files{.threads = round % 3 == 0 ? 3 : 1,
                                    .memory = &meter,
                                    .cancel = {},
                                    .files = &files,
                                    .work_bytes = size_t{1} << (12 + random.below(4))};
    ASSERT_EQ(answers_of(events, query, in_files, &record), expected);
    EXPECT_NE(record.reason.find("MB of files, counted in"), std::string::npos) << record.reason;
    EXPECT_GT(record.file_bytes, 0u);
    FakeFiles full(1000);
    ExecutionOptions without_room = in_files;
    without_room.files = &full;
    EXPECT_THROW(answers_of(events, query, without_room), FileFailed);
  }
  EXPECT_GT(found, 5000u);
  EXPECT_EQ(meter.current(), 0u);
}

/// A stream in pieces: a window that reaches over all of it needs two of them in memory.
TEST(WindowPairs, AStreamInFilesIsCountedWithinMemory) {
  Random random(kSeed + 6);
  const std::vector<Event> events = random_events(random, 200'000, 4'000'000, 4);
  WindowPairQuery query;
  query.counting = WindowCounting::kOccurrences;
  query.min_count = 1;
  query.include = {0, 1, 2, 3};  // so lists are merged
  for (const int64_t window : {int64_t{1'000'000}, Gap::kUnbounded}) {
    query.window = window;
    std::vector<std::vector<Pair>> answers;
    const auto peak = [&](TempFiles* files) {
      MemoryMeter meter;
      const ExecutionOptions options{
          .threads = 1, .memory = &meter, .cancel = {}, .files = files, .work_bytes = size_t{1} << 20};
      answers.push_back(answers_of(events, query, options));
      return meter.peak();
    };
    FakeFiles files;
    EXPECT_LT(peak(&files), size_t{2} << 20);
    EXPECT_GT(peak(nullptr), size_t{5} << 20);
    EXPECT_EQ(answers[0], answers[1]);
    EXPECT_EQ(answers[0].size(), 6u);
  }
}

TEST(WindowPairs, ByHand) {
  MemoryMeter meter;
  const ExecutionOptions options{.threads = 1, .memory = &meter, .cancel = {}};
  WindowPairQuery query;
  query.window = 5;
  query.min_count = 1;
  // Item 1 at 0 and 10, item 2 at 5 and 6, twice: (0, 5), (10, 5), (10, 6) are within 5 of each other.
  const std::vector<Event> events = {{0, 1}, {10, 1}, {5, 2}, {6, 2}, {6, 2}, {16, 3}};
  EXPECT_EQ(answers_of(events, query, options), (std::vector<Pair>{{1, 2, 1}}));
  query.counting = WindowCounting::kOccurrences;
  EXPECT_EQ(answers_of(events, query, options), (std::vector<Pair>{{1, 2, 3}}));
  query.window = 0;
  EXPECT_EQ(answers_of({{7, 4}, {7, 3}, {7, 4}}, query, options), (std::vector<Pair>{{3, 4, 1}}));
  EXPECT_EQ(answers_of({}, query, options), std::vector<Pair>{});
  EXPECT_EQ(answers_of({{7, 4}}, query, options), std::vector<Pair>{});
}

/// Streams that take several axes, and windows up to the largest.
TEST(WindowPairs, FarTimesAndManyStreams) {
  constexpr int64_t kFar = int64_t{1} << 60;
  std::vector<Event> events;
  for (int64_t stream = 1; stream <= 40; ++stream) {
    events.push_back({-kFar / 2, 0, stream});
    events.push_back({kFar / 2 + stream, 1, stream});
    events.push_back({kFar / 2 + stream, 2, stream});
  }
  for (const WindowCounting counting : {WindowCounting::kStreams, WindowCounting::kOccurrences})
    for (const int64_t window : {int64_t{0}, kFar, kFar + 20, Gap::kUnbounded})
      for (const bool with_include : {false, true}) {
        WindowPairQuery query;
        query.window = window;
        query.counting = counting;
        query.min_count = 2;
        if (with_include) query.include = {1};
        MemoryMeter meter;
        EXPECT_EQ(answers_of(events, query, {.threads = 2, .memory = &meter, .cancel = {}}),
                  expected_answers(events, query));
      }
}

/// Many items, so many batches: all rows, and the k best of them.
TEST(WindowPairs, BatchesAndBest) {
  Random random(kSeed + 1);
  std::vector<Event> events;
  for (int64_t k = 0; k < 60'000; ++k)
    events.push_back({k, static_cast<int64_t>(std::min(random.below(70'000), random.below(70'000))), k / 600});
  WindowPairQuery query;
  query.window = 4;
  query.min_count = 1;
  query.counting = WindowCounting::kOccurrences;
  MemoryMeter meter;
  RunRecord record;
  const std::vector<Pair> one = answers_of(events, query, {.threads = 1, .memory = &meter, .cancel = {}}, &record);
  EXPECT_GT(one.size(), 200'000u);
  EXPECT_TRUE(std::is_sorted(one.begin(), one.end()));
  uint64_t sum = 0;
  for (const Pair& pair : one) sum += std::get<2>(pair);
  uint64_t expected_sum = 0;
  for (size_t k = 0; k < events.size(); ++k)
    for (size_t other = k + 1; other < std::min(k + 5, events.size()); ++other)
      expected_sum += events[k].stream == events[other].stream && events[k].event != events[other].event;
  EXPECT_EQ(sum, expected_sum);
  EXPECT_EQ(record.results, one.size());
  EXPECT_EQ(record.tasks_done, record.tasks);
  EXPECT_EQ(answers_of(events, query, {.threads = 3, .memory = &meter, .cancel = {}}), one);
  std::vector<Pair> best = one;
  std::stable_sort(best.begin(), best.end(), [](const Pair& x, const Pair& y) { return std::get<2>(x) > std::get<2>(y); });
  best.resize(500);
  query.top_k = 500;
  EXPECT_EQ(answers_of(events, query, {.threads = 2, .memory = &meter, .cancel = {}}), best);
  query.top_k.reset();
  query.max_results = 17;
  EXPECT_EQ(answers_of(events, query, {.threads = 2, .memory = &meter, .cancel = {}}, &record),
            std::vector<Pair>(one.begin(), one.begin() + 17));
  EXPECT_EQ(record.truncation.cause, Truncation::kMaxResults);
  EXPECT_EQ(meter.current(), 0u);
}

TEST(WindowPairs, RefusesBadParameters) {
  const auto refused = [](auto change, const std::string& text) {
    WindowPairQuery query;
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
  refused([](WindowPairQuery& q) { q.window = -1; }, "within must be at least 0, not -1");
  refused([](WindowPairQuery& q) { q.min_support = 0.5; }, "exclude each other");
  refused([](WindowPairQuery& q) { q.min_count.reset(); }, "threshold is missing");
  refused([](WindowPairQuery& q) { q.min_count = 0; }, "min_count must be at least 1, not 0");
  refused([](WindowPairQuery& q) { q.min_count.reset(), q.min_support = 1.5; }, "min_support must be above 0");
  refused([](WindowPairQuery& q) { q.min_count.reset(), q.min_support = 1, q.counting = WindowCounting::kOccurrences; },
          "min_support does not go with counting \"occurrences\"");
  refused([](WindowPairQuery& q) { q.top_k = 0; }, "top_k must be at least 1");
  refused([](WindowPairQuery& q) { q.max_results = 0; }, "max_results must be at least 1");
  refused([](WindowPairQuery& q) { q.timeout_ms = 0; }, "timeout must be above 0");
  EXPECT_THROW(parse_window_counting("pairs"), Error);
  EXPECT_EQ(parse_window_counting("streams"), WindowCounting::kStreams);
  EXPECT_EQ(parse_window_counting("occurrences"), WindowCounting::kOccurrences);
}

TEST(WindowPairs, StopsWhenCancelledOrLate) {
  Random random(kSeed + 2);
  const std::vector<Event> events = random_events(random, 300'000, 1'000'000, 1000);
  for (const WindowCounting counting : {WindowCounting::kStreams, WindowCounting::kOccurrences})
    for (const bool with_include : {false, true}) {
      WindowPairQuery query;
      query.window = 100'000;
      query.min_count = 1;
      query.counting = counting;
      if (with_include) query.include = {999};
      for (const int polls : {0, 30, 60}) {
        MemoryMeter meter;
        std::atomic<int> left{polls};
        const CancelToken cancel{[](void* arg) { return static_cast<std::atomic<int>*>(arg)->fetch_sub(1) <= 0; }, &left};
        EXPECT_THROW(answers_of(events, query, {.threads = 2, .memory = &meter, .cancel = cancel}), Error);
        EXPECT_EQ(meter.current(), 0u);
      }
    }
  WindowPairQuery query;
  query.window = 1'000'000;
  query.min_count = 1;
  query.counting = WindowCounting::kOccurrences;
  query.timeout_ms = 20;
  MemoryMeter meter;
  RunRecord record;
  answers_of(events, query, {.threads = 1, .memory = &meter, .cancel = {}}, &record);
  EXPECT_EQ(record.truncation.cause, Truncation::kTimeout);
}

TEST(WindowPairs, StaysWithinItsMemory) {
  Random random(kSeed + 3);
  const std::vector<Event> events = random_events(random, 20'000, 100'000, 2000);
  WindowPairQuery query;
  query.window = 50;
  query.min_count = 1;
  size_t failed = 0;
  size_t done = 0;
  for (size_t limit = size_t{1} << 18; limit < size_t{1} << 25; limit *= 2) {
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
