// Counting by state machines, in one pass over the stream in order of time. Each episode keeps a list for each of its
// symbols but the last. The list has the events that end an occurrence of the prefix up to this symbol, and that came
// after the last complete occurrence. Source: EP III-A.
//
// An event of symbol k joins its list if the list before has an event within the gap. An event of the last symbol
// then completes an occurrence, and all lists are cleared. So each occurrence is completed as early as possible,
// and their number is the largest. Events that are too old for every later event leave at the front of a list.
// If streams are counted, the rest of the stream is skipped then.
//
// Cost: a step for each event and each position that its symbol has in an episode; one look at each other event.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "core/options.h"
#include "episodes/event_axis.h"

namespace batmap {

/// The machine of one episode.
class EpisodeMachine {
 public:
  /// @param view, episode  must outlive the object
  EpisodeMachine(const EventAxisView& view, EpisodeView episode, const ExecutionOptions& options);

  /// Forgets everything. From now on, occurrences start later than `time`.
  void start_after(int64_t time) {
    after_ = time;
    for (Waiting& list : lists_) list.clear();
  }

  /// The next occurrence starts later than this.
  int64_t after() const { return after_; }

  /// Takes an event of the symbol at this position of the episode. @return whether it completes an occurrence
  bool step(size_t position, int64_t time) {
    if (position == 0) {
      if (time <= after_) return false;
    } else {
      Waiting& before = lists_[position - 1];
      const Gap gap = gaps_[position - 1];
      while (before.first < before.times.size() && before.times[before.first] < time - gap.high) ++before.first;
      if (before.first == before.times.size()) {
        before.clear();
        return false;
      }
      if (before.times[before.first] >= time - gap.low) return false;
    }
    if (position < lists_.size()) {
      lists_[position].times.push_back(time);
      return false;
    }
    start_after(stream_ends_.empty() ? time : *std::lower_bound(stream_ends_.begin(), stream_ends_.end(), time));
    return true;
  }

  /// Takes an event of a symbol at each position that the symbol has, later positions first.
  /// @return whether the event completes an occurrence
  bool step_symbol(uint32_t symbol, int64_t time) {
    for (size_t position = symbols_.size(); position-- > 0;)
      if (symbols_[position] == symbol && step(position, time)) return true;
    return false;
  }

 private:
  struct Waiting {
    explicit Waiting(MemoryMeter& meter) : times(meter) {}
    void clear() {
      times.shrink(0);
      first = 0;
    }
    GrowingBuffer<int64_t> times;
    size_t first = 0;  // the times before this index are too old
  };

  std::span<const uint32_t> symbols_;
  std::span<const int64_t> stream_ends_;  // if streams are counted
  std::vector<Gap> gaps_;                 // cut to the reach of the stream
  std::vector<Waiting> lists_;            // [length - 1]
  int64_t after_ = -1;
};

/// Counts the episodes [first, last) of a batch in one pass.
/// @param counts      [last - first] added to
/// @param blocked_to  [last - first] see with_rule() of counting_rule.h; nullptr: nothing is blocked
void count_by_automaton(const EventAxisView& view, const EpisodeBatch& batch, size_t first, size_t last, uint64_t* counts,
                        int64_t* blocked_to, const ExecutionOptions& options);

}  // namespace batmap
