// What the counts of episodes keep from one piece of a stream to the next (event_parts.h): up to when occurrences are blocked
// (counting_rule.h) and, for those that track, the entries that are carried (tracking.h).
#pragma once

#include <algorithm>
#include <span>

#include "core/memory.h"
#include "episodes/episode.h"
#include "episodes/event_streams.h"

namespace batmap {

/// A value for each of some episodes or prefixes, while the parts of the streams are counted in order.
template <typename Value>
class BetweenPieces {
 public:
  /// @param nothing  the value before the first piece of a stream
  BetweenPieces(const EventStreams& streams, size_t size, Value nothing, MemoryMeter& meter)
      : values_(meter, streams.has_pieces() ? size : 0), nothing_(nothing) {}

  /// @return empty for a part that has whole streams, whose counts keep nothing
  std::span<Value> of(const EventPart& part) {
    if (!part.is_piece) return {};
    if (!part.continues) std::fill(values_.begin(), values_.end(), nothing_);
    return values_.span();
  }

 private:
  Buffer<Value> values_;
  Value nothing_;
};

}  // namespace batmap
