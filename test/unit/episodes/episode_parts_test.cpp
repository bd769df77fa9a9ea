// Episode counts of parts: two rounds over parts of the streams, added up, against one run over all rows; what a value lacks
// of a sum; the golden file; bytes that are changed; cancellation and lack of memory.
#include "episodes/episode_parts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "core/error.h"
#include "test/unit/shared/episodes.h"
#include "test/unit/shared/failing_run.h"
#include "test/unit/shared/fake_files.h"
#include "test/unit/shared/golden.h"

namespace batmap::test {
namespace {

using EpisodeBytes = std::vector<std::byte>;
/// Events and gap numbers of an episode (the first has no gap), and its support.
using CodedEpisode = std::pair<std::vector<std::pair<int64_t, size_t>>, uint64_t>;

EpisodeBytes bytes_in(const GrowingBuffer<std::byte>& buffer) { return {buffer.begin(), buffer.end()}; }

template <typename Run>
std::vector<CodedEpisode> pulled_from(Run& run) {
  std::vector<CodedEpisode> all;
  while (const std::optional<EpisodeRun::Row> row = run.next()) {
    CodedEpisode& episode = all.emplace_back();
    episode.second = row->support;
    for (size_t k = 0; k < row->steps.size(); ++k)
      episode.first.push_back({run.event(row->steps[k]), k == 0 ? 0 : run.gap(row->steps[k])});
  }
  return all;
}

EpisodeBytes counts_found(const std::vector<Event>& events, const EpisodeQuery& query, const ExecutionOptions& options) {
  EpisodeRun run(log_of(events, options), {}, query, options);
  GrowingBuffer<std::byte> out(*options.memory);
  write_episode_counts(run, shape_of(query, 2), out, options);
  validate_episode_counts(out.span(), options);
  EXPECT_TRUE(is_episode_counts(out.span(), out.size()));
  return bytes_in(out);
}

EpisodeBytes counted_again(const std::vector<Event>& events, const EpisodeBytes& candidates,
                           const ExecutionOptions& options) {
  GrowingBuffer<std::byte> out(*options.memory);
  const RunRecord record = count_episodes_of_part(log_of(events, options), candidates.data(), out, options);
  validate_episode_counts(out.span(), options);
  EXPECT_EQ(record.results, episode_counts_header(out.begin()).episodes);
  return bytes_in(out);
}

EpisodeBytes added_up(const std::vector<EpisodeBytes>& values, const ExecutionOptions& options) {
  std::vector<const std::byte*> pointers;
  for (const EpisodeBytes& value : values) pointers.push_back(value.data());
  GrowingBuffer<std::byte> out(*options.memory);
  add_episode_counts(pointers, out, options);
  validate_episode_counts(out.span(), options);
  return bytes_in(out);
}

EpisodeBytes lacking(const EpisodeBytes& sum, const EpisodeBytes& value, const ExecutionOptions& options) {
  GrowingBuffer<std::byte> out(*options.memory);
  missing_episode_counts(sum.data(), value.data(), out, options);
  validate_episode_counts(out.span(), options);
  return bytes_in(out);
}

EpisodeBytes completed_by(const EpisodeBytes& counts, const EpisodeBytes& more, const ExecutionOptions& options) {
  GrowingBuffer<std::byte> out(*options.memory);
  EXPECT_TRUE(complete_episode_counts(counts.data(), more.data(), out, options));
  validate_episode_counts(out.span(), options);
  return bytes_in(out);
}

std::vector<CodedEpisode> stored_answers(const EpisodeBytes& counts, const EpisodeQuery& query,
                                         const ExecutionOptions& options) {
  StoredEpisodes stored(counts.data(), query, options);
  return pulled_from(stored);
}

EpisodeQuery some_query(Random& random, uint64_t span) {
  EpisodeQuery query;
  for (uint64_t k = 1 + random.below(3); k > 0; --k) {
    Gap gap = random_gap(random, span / 4);
    if (gap.high == Gap::kUnbounded && random.chance(70)) gap.high = gap.low + 8;
    if (std::ranges::find(query.gaps, gap) == query.gaps.end()) query.gaps.push_back(gap);
  }
  query.min_count = 2 + random.signed_below(6);
  query.max_length = 1 + random.signed_below(4);
  query.same_time = random.chance(30);
  if (random.chance(40)) query.counting = EpisodeCounting::kStreams;
  return query;
}

/// The streams of a part.
std::vector<Event> events_of_part(const std::vector<Event>& events, int64_t part, int64_t parts) {
  std::vector<Event> own;
  for (const Event& event : events)
    if (event.stream % parts == part) own.push_back(event);
  return own;
}

TEST(EpisodeParts, TwoRoundsGiveTheAnswersOfTheWhole) {
  RecordProperty("seed", std::to_string(kSeed));
  Random random(kSeed);
  MemoryMeter meter;
  uint64_t answers = 0;
  uint64_t recounted = 0;
  uint64_t in_more_than_memory = 0;
  for (int round = 0; round < 300; ++round) {
    SCOPED_TRACE(testing::Message() << "round " << round << ", seed " << kSeed);
    const ExecutionOptions options{.threads = round % 16 == 0 ? 3 : 1, .memory = &meter, .cancel = {}};
    const uint64_t span = 10 + random.below(90);
    std::vector<Event> events = random_events(random, random.below(120), span, 1 + random.below(5), 2 + random.below(9));
    for (Event& event : events) ++event.stream;  // a log without stream 0 has streams
    EpisodeQuery query = some_query(random, span);
    constexpr int64_t kParts = 3;
    // The shares of the threshold, less 1 each, are below it in all.
    EpisodeQuery of_part = query;
    of_part.min_count = (*query.min_count - 1) / kParts + 1;
    std::vector<EpisodeBytes> found;
    for (int64_t part = 0; part < kParts; ++part)
      found.push_back(counts_found(events_of_part(events, part, kParts), of_part, options));
    const EpisodeBytes candidates = added_up(found, options);
    std::vector<EpisodeBytes> all;
    std::vector<EpisodeBytes> others;
    for (int64_t part = 0; part < kParts; ++part) {
      const std::vector<Event> own = events_of_part(events, part, kParts);
      all.push_back(counted_again(own, candidates, options));
      others.push_back(counted_again(own, lacking(candidates, found[static_cast<size_t>(part)], options), options));
      FakeFiles files;
      ExecutionOptions in_files = options;
      in_files.files = &files;
      in_files.work_bytes = 2048;  // a part of its own for every stream
      ASSERT_EQ(counted_again(own, candidates, in_files), all.back());
      ASSERT_EQ(counts_found(own, of_part, in_files), found[static_cast<size_t>(part)]);
      in_more_than_memory += files.bytes() > 0;
      recounted += episode_counts_header(others.back().data()).episodes;
    }
    const EpisodeBytes counts = added_up(all, options);
    std::vector<EpisodeBytes> completed;
    for (size_t part = 0; part < others.size(); ++part)
      completed.push_back(completed_by(found[part], others[part], options));
    ASSERT_EQ(added_up(completed, options), counts) << "a part counts what it lacks";
    EXPECT_EQ(episode_counts_header(counts.data()).rows, events.size());

    for (const bool limited : {false, true}) {
      if (limited) {
        query.min_length = 1 + random.signed_below(static_cast<uint64_t>(*query.max_length));
        if (random.chance(40)) query.include = {random.signed_below(5), 77};
        if (random.chance(40)) query.exclude = {77, random.signed_below(5)};
        if (random.chance(40)) query.top_k = 1 + random.signed_below(12);
        if (random.chance(20)) query.max_results = 1 + random.signed_below(12);
      }
      EpisodeRun run(log_of(events, options), {}, query, options);
      const std::vector<CodedEpisode> expected = pulled_from(run);
      ASSERT_EQ(stored_answers(counts, query, options), expected);
      answers += expected.size();
    }
  }
  EXPECT_GT(answers, 5000u);
  EXPECT_GT(recounted, 500u) << "most rounds need the second one";
  EXPECT_GT(in_more_than_memory, 50u);
  EXPECT_EQ(meter.current(), 0u);
}

TEST(EpisodeParts, ARateIsOverAllParts) {
  MemoryMeter meter;
  const ExecutionOptions options{1, &meter, {}};
  EpisodeQuery query;
  query.gaps = {{0, 5}};
  query.min_count = 1;
  const EpisodeBytes counts = added_up({counts_found({{0, 1, 1}, {3, 2, 1}, {100, 7, 1}}, query, options),
                                        counts_found({{10, 1, 2}, {12, 2, 2}, {14, 1, 2}}, query, options)},
                                       options);
  EXPECT_EQ(episode_counts_header(counts.data()).duration, 104u);
  query.min_count.reset();
  query.min_rate = 2.0 / 104;
  EXPECT_EQ(stored_answers(counts, query, options).size(), 3u) << "1 and 2, and 2 behind 1";
  query.min_rate = 2.01 / 104;
  EXPECT_EQ(stored_answers(counts, query, options).size(), 1u);
}

TEST(EpisodeParts, CountsOfOtherShapesAreNotAdded) {
  MemoryMeter meter;
  const ExecutionOptions options{1, &meter, {}};
  const std::vector<Event> events = {{0, 1, 1}, {3, 2, 1}};
  EpisodeQuery query;
  query.gaps = {{0, 5}};
  query.min_count = 1;
  const EpisodeBytes counts = counts_found(events, query, options);
  std::vector<EpisodeQuery> others(3, query);
  others[0].gaps = {{0, 6}};
  others[1].same_time = true;
  others[2].counting = EpisodeCounting::kStreams;
  for (const EpisodeQuery& other : others) {
    try {
      added_up({counts, counts_found(events, other, options)}, options);
      FAIL() << "added";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidParameter);
    }
  }
}

/// Two streams; gaps of two kinds and the same time.
EpisodeBytes small_counts(const ExecutionOptions& options) {
  EpisodeQuery query;
  query.gaps = {{0, 5}, {5, Gap::kUnbounded}};
  query.min_count = 2;
  query.same_time = true;
  return counts_found({{0, -2, 1}, {0, 300, 1}, {2, 4, 1}, {9, 300, 1}, {0, -2, 2}, {0, 300, 2}, {3, 4, 2}, {30, 4, 2}},
                      query, options);
}

TEST(EpisodeParts, BytesAreThoseOfTheGoldenFile) {
  MemoryMeter meter;
  const EpisodeBytes counts = small_counts({1, &meter, {}});
  EXPECT_EQ(counts, golden_bytes("small_episode_counts")) << hex_of(counts);
}

/// What a changed value still is must be read and written without loss.
TEST(EpisodeParts, ChangedBytesAreRefusedOrAnotherValue) {
  MemoryMeter meter;
  const ExecutionOptions options{1, &meter, {}};
  const EpisodeBytes counts = small_counts(options);
  for (size_t size = 0; size < counts.size(); ++size)
    EXPECT_THROW(validate_episode_counts({counts.data(), size}, options), Error) << size;
  int accepted = 0;
  int refused = 0;
  for (size_t at = 0; at < counts.size(); ++at)
    for (int value = 0; value < 256; ++value) {
      EpisodeBytes changed = counts;
      changed[at] = static_cast<std::byte>(value);
      if (changed == counts) continue;
      try {
        validate_episode_counts(changed, options);
      } catch (const Error& error) {
        ASSERT_EQ(error.code(), ErrorCode::kInvalidData);
        ++refused;
        continue;
      }
      ++accepted;
      ASSERT_TRUE(is_episode_counts(changed, changed.size()));
      EpisodePaths paths(options);
      for (TreeNodes nodes = episode_counts_nodes(changed.data()); nodes.next();)
        if (nodes.count() > 0) paths.add(nodes.path(), nodes.count());
      const EpisodeCountsHeader header = episode_counts_header(changed.data());
      const Buffer<int64_t> events = episode_counts_events(changed.data(), options);
      GrowingBuffer<std::byte> out(meter);
      write_episodes(paths, events.span(), episode_counts_shape(changed.data()),
                     {header.rows, header.streams, header.duration}, out, options);
      ASSERT_EQ(bytes_in(out), changed) << "byte " << at << " = " << value;
      EpisodeQuery query;
      query.gaps = episode_counts_shape(changed.data()).gaps;
      query.min_count = 1;
      ASSERT_EQ(stored_answers(changed, query, options).size(), header.episodes);
    }
  EXPECT_GT(accepted, 100);
  EXPECT_GT(refused, 5000);
}

TEST(EpisodeParts, CancelledAndOutOfMemory) {
  Random random(kSeed + 1);
  std::vector<Event> events = random_events(random, 4000, 1000, 40, 8);
  for (Event& event : events) ++event.stream;
  EpisodeQuery query;
  query.gaps = {{0, 40}, {40, 80}};
  query.min_count = 10;
  query.max_length = 2;
  MemoryMeter meter;
  const EpisodeBytes counts = counts_found(events, query, {1, &meter, {}});
  query.min_count = 1;
  const EpisodeBytes more = counts_found(events_of_part(events, 1, 2), query, {1, &meter, {}});
  ASSERT_GT(episode_counts_header(more.data()).episodes, 1000u);
  const FailingRun run = [&](const ExecutionOptions& options) {
    validate_episode_counts(counts, options);
    const EpisodeBytes sum = added_up({counts, more}, options);
    lacking(sum, counts, options);
    GrowingBuffer<std::byte> out(*options.memory);
    complete_episode_counts(sum.data(), more.data(), out, options);
    stored_answers(sum, query, options);
    counted_again(events, counts, options);
  };
  run_out_of_memory_everywhere(1, 30011, 10, run);
  cancel_everywhere(1, 5, run);
}

}  // namespace
}  // namespace batmap::test
