// Episode counts of rows, and answers from them: the frequent episodes of a part, the counts of given ones in a part, and the
// choice of answers from counts that were added up. So episodes of streams in several parts are found in two rounds: an episode
// that is frequent in the whole is frequent in at least one part. Source: Savasere, Omiecinski & Navathe (1995), for episodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/options.h"
#include "core/run_record.h"
#include "core/truncation.h"
#include "episodes/episode_counts.h"
#include "episodes/episode_run.h"

namespace batmap {

/// The shape of the counts that a query gives. @param unit  see episode_counts.h
EpisodeShape shape_of(const EpisodeQuery& query, uint8_t unit);

/// Appends all answers of a run as a finished value. Memory: 4 bytes an event of each, and 24 an episode.
/// @param shape  of its query @throws Error, std::bad_alloc
void write_episode_counts(EpisodeRun& run, const EpisodeShape& shape, GrowingBuffer<std::byte>& out,
                          const ExecutionOptions& options);

/// Counts given episodes. Appends a finished value with those that occur, and the totals of all rows. Memory: the axes of the
/// rows with events of the candidates, and 16 bytes an event of each candidate, or 32 if a stream comes in pieces.
/// @param log         consumed; events are integers
/// @param candidates  a finished value, whose shape says what is counted
/// @throws Error, std::bad_alloc
RunRecord count_episodes_of_part(EventLog log, const std::byte* candidates, GrowingBuffer<std::byte>& out,
                                 const ExecutionOptions& options);

/// The frequent episodes of stored counts: the answers of an EpisodeRun, in its order.
class StoredEpisodes {
 public:
  /// @param value  a finished value @param query  its gaps and its rule are those of the value; it has no timeout
  /// @throws Error{kInvalidParameter, kMemoryLimit, kCancelled}, std::bad_alloc
  StoredEpisodes(const std::byte* value, const EpisodeQuery& query, const ExecutionOptions& options);

  /// The next answer; empty at the end.
  std::optional<EpisodeRun::Row> next();

  int64_t event(uint32_t step) const { return events_[step / gap_kinds_]; }
  size_t gap(uint32_t step) const { return step % gap_kinds_; }
  const RunRecord& record() const { return record_; }

 private:
  Buffer<int64_t> events_;
  uint32_t gap_kinds_;
  EpisodePaths answers_;
  size_t row_ = 0;
  AnswerLimit limit_;
  RunRecord record_;
};

}  // namespace batmap
