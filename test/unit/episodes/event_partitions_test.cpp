// Events in files: all rows come back, each stream in one partition or in pieces that follow each other, and the partitions are
// small but for events of one time. Then the log that moves to files, and the axes that wait there.
#include "episodes/event_partitions.h"

#include <gtest/gtest.h>

#include <map>
#include <tuple>
#include <vector>

#include "test/unit/shared/episodes.h"
#include "test/unit/shared/fake_files.h"

namespace batmap::test {
namespace {

using Rows = std::vector<std::tuple<int64_t, int64_t, int64_t>>;

Rows sorted_rows(const std::vector<Event>& events) {
  Rows rows;
  for (const Event& event : events) rows.emplace_back(event.stream, event.time, event.event);
  std::sort(rows.begin(), rows.end());
  return rows;
}

TEST(EventPartitions, KeepStreamsTogether) {
  RecordProperty("seed", std::to_string(kSeed));
  Random random(kSeed);
  for (const uint64_t streams : {1, 3, 500, 100'000}) {
    SCOPED_TRACE(testing::Message() << streams << " streams");
    MemoryMeter meter;
    FakeFiles files;
    std::vector<Event> events = random_events(random, 60'000, 1'000'000, 300, streams);
    for (size_t k = 0; k < 1000; ++k)
      events[k] = {INT64_MIN + random.signed_below(9), INT64_MAX - random.signed_below(9), -7};
    EventPartitions partitions(files, meter);
    for (const Event& event : events) partitions.append({event.time, event.event, event.stream});
    partitions.seal();
    EXPECT_EQ(partitions.rows(), events.size());
    EXPECT_EQ(partitions.event_bounds().high, INT64_MAX);
    constexpr uint64_t kMaxRows = 700;
    std::map<int64_t, size_t> part_of;  // the first one of a stream
    std::vector<Event> found;
    size_t pieces = 0;
    const std::vector<EventPartition> parts = partitions.partitions(kMaxRows, {});
    for (size_t part = 0, first = 0; part < parts.size(); ++part) {
      const EventPartition& own = parts[part];
      if (!own.continues) first = part;
      const size_t before = found.size();
      visit_events(own, meter, {}, [&](const EventRow& row) {
        EXPECT_EQ(part_of.emplace(row.stream, first).first->second, first);
        EXPECT_TRUE(own.times.low <= row.time && row.time <= own.times.high);
        found.push_back({row.time, row.event, row.stream});
      });
      EXPECT_EQ(found.size() - before, own.rows);
      if (own.rows > kMaxRows) {
        EXPECT_EQ(own.streams.range(), 0u);
        EXPECT_EQ(own.times.range(), 0u);
      }
      pieces += own.is_piece;
      if (own.is_piece) {
        EXPECT_EQ(own.streams.range(), 0u);
      }
      if (own.continues) {
        EXPECT_TRUE(own.is_piece && parts[part - 1].is_piece);
        EXPECT_LT(parts[part - 1].times.high, own.times.low);
      }
    }
    EXPECT_GT(pieces, 1u);  // of the stream -7 at least
    EXPECT_EQ(sorted_rows(found), sorted_rows(events));
    EXPECT_EQ(meter.current(), 0u);
  }
}

/// Most events of a stream have one time, whether it is the first one, the last one, or between.
TEST(EventPartitions, CutsAroundATimeThatRepeats) {
  for (const int64_t repeated : {INT64_MIN, int64_t{-3}, int64_t{5000}, INT64_MAX}) {
    SCOPED_TRACE(testing::Message() << "at " << repeated);
    MemoryMeter meter;
    FakeFiles files;
    std::vector<Event> events;
    for (int64_t k = 0; k < 20'000; ++k) events.push_back({k % 10 == 0 ? k : repeated, k, 1});
    EventPartitions partitions(files, meter);
    for (const Event& event : events) partitions.append({event.time, event.event, event.stream});
    partitions.seal();
    std::vector<Event> found;
    for (const EventPartition& part : partitions.partitions(500, {})) {
      EXPECT_TRUE(part.rows <= 500 || part.times.range() == 0) << part.rows;
      visit_events(part, meter, {}, [&](const EventRow& row) { found.push_back({row.time, row.event, row.stream}); });
    }
    EXPECT_EQ(sorted_rows(found), sorted_rows(events));
  }
}

TEST(EventPartitions, CancelledAndWithoutRoom) {
  Random random(kSeed + 1);
  const std::vector<Event> events = random_events(random, 200'000, 1'000'000, 300, 5000);
  for (const int polls : {0, 5, 50, 200}) {
    int left = polls;
    const CancelToken cancel{[](void* arg) { return --*static_cast<int*>(arg) < 0; }, &left};
    MemoryMeter meter;
    FakeFiles files;
    const ExecutionOptions options{
        .threads = 1, .memory = &meter, .cancel = cancel, .files = &files, .work_bytes = size_t{1} << 18};
    EXPECT_THROW(streams_of_events(events, 100, options), Error) << polls;
    EXPECT_EQ(meter.current(), 0u);
  }
  for (const uint64_t room : {0, 100'000, 900'000}) {
    MemoryMeter meter;
    FakeFiles files(room);
    const ExecutionOptions options{
        .threads = 1, .memory = &meter, .cancel = {}, .files = &files, .work_bytes = size_t{1} << 18};
    EXPECT_THROW(streams_of_events(events, 100, options), FileFailed) << room;
    EXPECT_EQ(meter.current(), 0u);
  }
}

/// The axes of a part are those of its streams in memory.
TEST(EventPartitions, AxesComeBackFromFiles) {
  Random random(kSeed + 2);
  for (const EpisodeCounting counting : {EpisodeCounting::kNonOverlapped, EpisodeCounting::kStreams}) {
    MemoryMeter meter;
    FakeFiles files;
    std::vector<Event> events = random_events(random, 60'000, 1'000'000, 300, 2000);
    // Two streams that do not fit on one axis, and one that exceeds a part.
    events.push_back({0, 1, 3});
    events.push_back({(int64_t{1} << 61) - 1, 1, 3});
    events.push_back({0, 1, 4});
    events.push_back({(int64_t{1} << 61) - 1, 1, 4});
    for (int64_t k = 0; k < 5000; ++k) events.push_back({k * 3, k % 300, 5});
    const ExecutionOptions in_memory{.threads = 1, .memory = &meter, .cancel = {}};
    const ExecutionOptions in_files{
        .threads = 1, .memory = &meter, .cancel = {}, .files = &files, .work_bytes = size_t{1} << 17};
    const EventStreams expected = streams_of_events(events, 100, in_memory, counting);
    const EventStreams streams = streams_of_events(events, 100, in_files, counting);
    EXPECT_FALSE(expected.in_files());
    ASSERT_TRUE(streams.in_files());
    EXPECT_GT(streams.file_bytes(), 0u);
    EXPECT_EQ(streams.totals().rows, expected.totals().rows);
    EXPECT_EQ(streams.totals().streams, expected.totals().streams);
    EXPECT_EQ(streams.totals().events, expected.totals().events);
    EXPECT_EQ(streams.totals().duration, expected.totals().duration);
    EXPECT_EQ(streams.rows_kept(), expected.rows_kept());
    EXPECT_EQ(streams.events(), expected.events());
    ASSERT_EQ(streams.symbols(), expected.symbols());
    const auto rows_of = [&](const EventStreams& of, size_t& parts) {
      Rows rows;
      of.for_parts(1, 0, of.in_files() ? in_files : in_memory, [&](const EventPart& part) {
        ++parts;
        for (const EventAxis& axis : part.axes) {
          const EventAxisView view = axis.view();
          EXPECT_EQ(view.counts_streams(), counting == EpisodeCounting::kStreams);
          EXPECT_EQ(view.begin[view.symbol_count], view.events);
          for (size_t k = 0; k < view.events; ++k) {
            const EventAxis::Stretch& stretch = axis.stretch_of(view.times[k]);
            rows.emplace_back(stretch.stream, stretch.first + (view.times[k] - stretch.at), of.value(view.symbols[k]));
          }
        }
      });
      std::sort(rows.begin(), rows.end());
      return rows;
    };
    size_t parts = 0;
    size_t one = 0;
    EXPECT_EQ(rows_of(streams, parts), rows_of(expected, one));
    EXPECT_GT(parts, 20u);
    EXPECT_EQ(one, 1u);
  }
}

}  // namespace
}  // namespace batmap::test
