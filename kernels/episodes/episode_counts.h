// Counts of serial episodes in one block of bytes: the value of the SQL type batmap_episode_counts. It has a tree of
// episodes with their supports, and the totals of the rows. Counts of disjoint sets of streams add up, episode by episode, if
// they are of the same gaps and the same rule.
//
//   offset  0  uint8   version     1: events are integers
//           1  uint8   counting    0: occurrences that do not overlap; 1: streams
//           2  uint8   same_time   1: events of one time can form a step
//           3  uint8   unit        of the ticks: a number of whoever makes the value, at most 2
//           4  uint32  events
//           8  uint64  bytes       of this value, header included
//          16  uint64  behind      bytes of values that follow and are not added yet; 0 in a finished value
//          24  uint64  rows        at most 2^62 - 1, as the next two
//          32  uint64  streams
//          40  uint64  duration    ticks between the first and the last row of each stream, added up; at most 2^62 - 1
//          48  uint64  episodes    each with a support of at least 1
//          56  uint64  event_bytes bytes of the events
//          64  uint32  gaps        1 to 65,535, all different
//          68  uint32  zero
//          72  gaps, each as int64 low and int64 high
//              events, ascending; then the tree of the episodes (core/counted_tree.h). A code is the position of an event
//              among those of the value times the kinds of gaps, plus the gap before it (0 for the first event; behind the
//              gaps: the same time). The codes of a path come in any order. Counts are supports
//
// Each event is in an episode. None is longer than 65,535 events.
//
// The state of an aggregate is a finished value, then other values behind it, then room, as in core/summed_values.h.
// Source: ours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/counted_tree.h"
#include "core/memory.h"
#include "core/options.h"
#include "core/poll.h"
#include "core/summed_values.h"
#include "episodes/episode.h"

namespace batmap {

inline constexpr size_t kEpisodeCountsHeaderBytes = 72;
inline constexpr size_t kMaxEpisodeGaps = 65535;

/// @throws Error{kTooLarge} if counts cannot be of so many gaps
void check_number_of_gaps(size_t gaps);

struct EpisodeCountsHeader {
  uint8_t version;
  uint8_t counting;
  uint8_t same_time;
  uint8_t unit;
  uint32_t events;
  uint64_t bytes;
  uint64_t behind;
  uint64_t rows;
  uint64_t streams;
  uint64_t duration;
  uint64_t episodes;
  uint64_t event_bytes;
  uint32_t gaps;
  uint32_t zero;

  /// Bytes of all values, without the room.
  size_t used() const { return bytes + behind; }
  EpisodeCounting rule() const { return static_cast<EpisodeCounting>(counting); }
  /// Two events of an episode have one of these between them.
  uint32_t gap_kinds() const { return gaps + same_time; }
};
static_assert(sizeof(EpisodeCountsHeader) == kEpisodeCountsHeaderBytes);

inline EpisodeCountsHeader episode_counts_header(const std::byte* bytes) { return header_of<EpisodeCountsHeader>(bytes); }

/// What is counted: values of the same shape add up.
struct EpisodeShape {
  std::vector<Gap> gaps;  // one or more, all different
  EpisodeCounting counting = EpisodeCounting::kNonOverlapped;
  bool same_time = false;
  uint8_t unit = 0;

  uint32_t gap_kinds() const { return static_cast<uint32_t>(gaps.size()) + same_time; }
  bool operator==(const EpisodeShape&) const = default;
};

struct EpisodeTotals {
  uint64_t rows = 0;
  uint64_t streams = 0;
  uint64_t duration = 0;

  bool operator==(const EpisodeTotals&) const = default;
};

/// Of a finished value. @throws std::bad_alloc
EpisodeShape episode_counts_shape(const std::byte* value);

/// The events of a finished value, ascending. @throws Error{kMemoryLimit, kCancelled}
Buffer<int64_t> episode_counts_events(const std::byte* value, const ExecutionOptions& options);

/// The tree of a finished value.
TreeNodes episode_counts_nodes(const std::byte* value);

/// Episodes as paths of codes. Memory: 4 bytes an event of each, and 24 an episode.
class EpisodePaths {
 public:
  struct Path {
    uint64_t begin;  // in the codes
    uint64_t support;
    size_t length;
  };

  explicit EpisodePaths(const ExecutionOptions& options)
      : cancel_(options.cancel), codes_(*options.memory), paths_(*options.memory) {}

  /// @throws Error{kMemoryLimit}
  void add(std::span<const uint32_t> codes, uint64_t support);
  /// Puts them in the order of a tree: each before those that begin with it. @throws Error{kCancelled}
  void sort();

  size_t size() const { return paths_.size(); }
  std::span<Path> paths() { return {paths_.begin(), paths_.size()}; }
  std::span<const Path> paths() const { return paths_.span(); }
  std::span<uint32_t> codes(const Path& path) { return {codes_.begin() + path.begin, path.length}; }
  std::span<const uint32_t> codes(const Path& path) const { return {codes_.begin() + path.begin, path.length}; }
  void shrink(size_t size) { paths_.shrink(size); }

 private:
  CancelToken cancel_;
  GrowingBuffer<uint32_t> codes_;
  GrowingBuffer<Path> paths_;
};

/// Appends episodes as a finished value, and leaves out the events that they do not have.
/// @param paths   of positions among the events, in the order of a tree
/// @param events  ascending
/// @throws Error{kTooLarge} if there are too many events, gaps or rows; Error{kMemoryLimit, kCancelled}
void write_episodes(const EpisodePaths& paths, std::span<const int64_t> events, const EpisodeShape& shape,
                    const EpisodeTotals& totals, GrowingBuffer<std::byte>& out, const ExecutionOptions& options);

/// Appends the sum of one or more values or states to `out`, as a finished value: the episodes of all of them.
/// @throws Error{kInvalidParameter} if their shapes differ; Error{kTooLarge} if a total is too large;
///         Error{kMemoryLimit, kCancelled}
void add_episode_counts(std::span<const std::byte* const> values, GrowingBuffer<std::byte>& out,
                        const ExecutionOptions& options);

/// Appends the counts of two finished values of the same rows, as a finished value with the totals of the first.
/// @return whether both have the same totals and no episode in common; if not, a support may exceed the totals, and what is appended
/// is no value
/// @throws Error{kInvalidParameter} if their shapes differ; Error{kMemoryLimit, kCancelled}
bool complete_episode_counts(const std::byte* counts, const std::byte* more, GrowingBuffer<std::byte>& out,
                             const ExecutionOptions& options);

/// Appends the episodes of a sum that one of its values does not have, with the supports and the totals of the sum, as a finished
/// value. All are finished. @param value  one of those that were added up @throws Error{kMemoryLimit, kCancelled}
void missing_episode_counts(const std::byte* sum, const std::byte* value, GrowingBuffer<std::byte>& out,
                            const ExecutionOptions& options);

/// Copies `other`, a value or a state, behind a state, which must have room for used() bytes of it.
void episode_counts_append(std::byte* state, const std::byte* other);

/// Whether a header is consistent with itself and with the size, room included. Constant time.
/// @param first  at least the header
/// @param size   of the whole value
bool is_episode_counts(std::span<const std::byte> first, size_t size);

/// Checks untrusted bytes in full. Memory: 1 byte an event, and 4 for each event of the longest episode.
/// @throws Error{kInvalidData} unless they are a finished value; Error{kMemoryLimit, kCancelled}
void validate_episode_counts(std::span<const std::byte> bytes, const ExecutionOptions& options);

}  // namespace batmap
