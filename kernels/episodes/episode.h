// Serial episodes with gaps, as plain arrays that any counter can take, also a device.
//
// An episode A -(low, high]-> B -(low, high]-> C occurs where low < t_B - t_A <= high, and so on. Its support is the
// size of a largest set of occurrences that do not overlap: each starts later than the one before has ended. Source:
// D. Patnaik et al., "Accelerator-Oriented Algorithm Transformation for Temporal Data Mining" (EP), section II-C.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

namespace batmap {

/// What the support of an episode is: a largest number of occurrences that do not overlap, or the number of streams in
/// which it occurs.
enum class EpisodeCounting { kNonOverlapped, kStreams };
inline constexpr const char* kEpisodeCountingNames[] = {"non_overlapped", "streams"};

/// Half-open: low < distance <= high, in ticks of the stream. Empty where high <= low.
struct Gap {
  int64_t low;
  int64_t high;

  static constexpr int64_t kUnbounded = std::numeric_limits<int64_t>::max();

  bool operator==(const Gap&) const = default;
};

/// Between two events of one step: both have the same time. All other gaps are open at 0 or later.
inline constexpr Gap kSameTime{-1, 0};

/// Symbols [length] and the gaps between them [length - 1]; length >= 1. Events with kSameTime between them form a step:
/// they are different, and their symbols ascend.
struct EpisodeView {
  std::span<const uint32_t> symbols;
  const Gap* gaps;

  size_t length() const { return symbols.size(); }
  uint32_t last() const { return symbols.back(); }
};

/// Episodes of one length, one after the other. Some methods count neighbours with the same prefix faster.
struct EpisodeBatch {
  const uint32_t* symbols;  // [size x length]
  const Gap* gaps;          // [size x (length - 1)]
  size_t length;
  size_t size;

  EpisodeView operator[](size_t k) const { return {{symbols + k * length, length}, gaps + k * (length - 1)}; }
};

/// The times of the first event and of the last one.
struct Occurrence {
  int64_t start;
  int64_t end;

  bool operator==(const Occurrence&) const = default;
};
inline constexpr Occurrence kNoOccurrence{-1, -1};

}  // namespace batmap
