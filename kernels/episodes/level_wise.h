// Finds the frequent episodes, level by level (one level for each length). Source: EP II-C for the
// levels; counting by prefixes is ours.
//
// Every gap of an episode is one of the given gaps. Candidates of length N come from the frequent episodes of length N - 1: an
// episode whose suffix is the prefix of another is joined with it, because no episode is more frequent than its prefix or its
// suffix. Where events of one time form steps, kSameTime is one more gap, and only a larger symbol may follow it: so each set of
// events is found once.
//
// Candidates with one prefix are counted together from its frontier (frontier.h), in the cheaper of two ways. One is a walk over
// the events that the frontier reaches, which counts the extensions by all symbols at once. The other is a merge for each
// candidate. Frontiers are made anew at each level and shared by episodes with the same prefix; each thread keeps one for each
// symbol of one episode. If a method is forced, candidates are counted in batches (episode_counter.h). A device, too, counts
// batches, and shares prefixes in its own ways. Each level asks whether a device is expected to be faster.
//
// Events in files are counted part by part, and the counts of each candidate are added. A part is loaded once for as many
// candidates as may have a counter in memory. If a stream comes in pieces, each counter has the time up to which occurrences of
// its candidate are blocked (counting_rule.h), and each prefix the entries that are carried (tracking.h).
//
// Cost of a level: for each prefix the events that it reaches, or those of its candidates' last symbols.
// Memory: for each frequent episode of two levels, 4 bytes a symbol and 8 for the support. With events in files 8 bytes a
// candidate that is counted at once; with pieces 16, and 16 for each symbol of a prefix.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/options.h"
#include "episodes/device_tracker.h"
#include "episodes/episode_counter.h"
#include "episodes/event_streams.h"

namespace batmap {

/// The frequent episodes of one length, in order of their steps. A step is a symbol with the gap before it:
/// symbol x gaps + gap, where the gap of the first symbol is 0.
struct EpisodeLevel {
  explicit EpisodeLevel(MemoryMeter& meter) : steps(meter), supports(meter) {}
  size_t size() const { return supports.size(); }
  std::span<const uint32_t> operator[](size_t k) const { return {steps.begin() + k * length, length}; }

  size_t length = 0;
  GrowingBuffer<uint32_t> steps;  // [size x length]
  GrowingBuffer<uint64_t> supports;
  uint64_t candidates = 0;
  double ms = 0;
};

class LevelWise {
 public:
  /// @param gaps     the last one may be kSameTime
  /// @param method   empty: by prefixes
  /// @param device   asked at each level; nullptr: none
  /// @param options  must outlive the object, as must streams, gaps and device
  /// @throws Error{kTooLarge} for more than 2^32 - 1 symbols x gaps
  LevelWise(const EventStreams& streams, const std::vector<Gap>& gaps, uint64_t min_count,
            std::optional<EpisodeMethod> method, EpisodeDevice* device, const ExecutionOptions& options);

  /// Finds the next level, with one more symbol; the first has one. @return whether it has any episode
  /// @throws Error, std::bad_alloc
  bool next();
  const EpisodeLevel& level() const { return level_; }

 private:
  struct Candidates;

  EpisodeLevel first_level() const;
  EpisodeLevel by_prefixes() const;
  EpisodeLevel by_prefixes_in_files() const;
  /// What comes before a prefix, among those that are counted at once.
  struct Counted {
    uint64_t candidates = 0;
    uint64_t prefixes = 0;  // that have candidates
  };
  size_t prefixes_at_once(size_t from, GrowingBuffer<Counted>& before) const;
  size_t batch_of_forced_method() const;
  template <typename Count>
  EpisodeLevel by_batches(size_t batch_size, Count count) const;
  bool by_device(EpisodeLevel& found) const;
  double estimate_level(EpisodeSizes& sizes) const;
  Candidates candidates_of(size_t prefix) const;
  size_t count_candidates(size_t prefix, const Candidates& candidates) const;

  const EventStreams& streams_;
  const std::vector<Gap>& gaps_;
  uint64_t min_count_;
  std::optional<EpisodeMethod> method_;
  EpisodeDevice* device_;
  const ExecutionOptions& options_;
  EpisodeLevel level_;
};

}  // namespace batmap
