// Who may use the devices now. A few sessions work at once; the others wait in line. A session keeps its turn from
// call to call for a while, so that a short job runs through, and then goes to the end of the line if somebody waits.
// A session that has a turn but does not use it (an open cursor) loses it. So no session starves, and the memory
// that running jobs need is bounded by the number of turns. Source: ours.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <vector>

namespace batmap::process {

class Turns {
 public:
  using Clock = std::chrono::steady_clock;

  /// The place of one session. It outlives its calls.
  class Place {
    friend class Turns;
    bool has_turn_ = false;
    bool is_in_line_ = false;
    int calls_ = 0;    // running now
    int waiting_ = 0;  // calls that wait
    Clock::time_point since_;
    Clock::time_point last_used_;
  };

  /// @param at_once  sessions that work at once
  /// @param quantum  how long a session keeps its turn while others wait
  /// @param idle     after so long without a call a session loses its turn to one that waits
  Turns(int at_once, Clock::duration quantum, Clock::duration idle) : free_(at_once), quantum_(quantum), idle_(idle) {}
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;

  /// Begins a call; waits for a turn. @param stop  asked some hundred times a second
  /// @return false: `stop` returned true, and no call has begun
  bool enter(Place& place, const std::function<bool()>& stop);
  /// Ends a call.
  void leave(Place& place);
  struct Use {
    uint32_t running;  // sessions that have a call running
    uint32_t waiting;  // sessions that wait for a turn
  };
  Use use();
  /// The session has no job any more: its turn is free at once.
  void give_up(Place& place);

 private:
  class Waiting;

  bool is_over(const Place& place) const { return !line_.empty() && Clock::now() - place.since_ >= quantum_; }
  void release(Place& place);
  void hand_out();

  std::mutex mutex_;
  std::condition_variable changed_;
  int free_;
  Clock::duration quantum_;
  Clock::duration idle_;
  std::deque<Place*> line_;
  std::vector<Place*> holders_;
};

}  // namespace batmap::process
