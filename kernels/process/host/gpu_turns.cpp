// A line with a few turns. See gpu_turns.h.
#include "process/host/gpu_turns.h"

#include <algorithm>

namespace batmap::process {

/// Counts a call that waits, also if memory ends meanwhile.
class Turns::Waiting {
 public:
  explicit Waiting(Place& place) : place_(place) { ++place_.waiting_; }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;
  ~Waiting() { --place_.waiting_; }

 private:
  Place& place_;
};

bool Turns::enter(Place& place, const std::function<bool()>& stop) {
  std::unique_lock lock(mutex_);
  if (!place.has_turn_ || is_over(place)) {
    bool is_stopped = false;
    {
      const Waiting waiting(place);
      for (;;) {
        if (place.has_turn_ && is_over(place) && place.calls_ == 0) release(place);
        if (!place.has_turn_ && !place.is_in_line_) {
          line_.push_back(&place);
          place.is_in_line_ = true;
        }
        hand_out();
        if (place.has_turn_ && !is_over(place)) break;
        is_stopped = stop();
        if (is_stopped) break;
        changed_.wait_for(lock, std::chrono::milliseconds(3));
      }
    }
    if (is_stopped) {
      if (place.is_in_line_ && place.waiting_ == 0) {
        line_.erase(std::find(line_.begin(), line_.end(), &place));
        place.is_in_line_ = false;
      }
      return false;
    }
  }
  ++place.calls_;
  return true;
}

void Turns::leave(Place& place) {
  const std::lock_guard lock(mutex_);
  place.last_used_ = Clock::now();
  if (--place.calls_ == 0 && place.has_turn_ && is_over(place)) release(place);
  hand_out();
}

void Turns::give_up(Place& place) {
  const std::lock_guard lock(mutex_);
  if (place.has_turn_ && place.calls_ == 0) release(place);
  hand_out();
}

Turns::Use Turns::use() {
  const std::lock_guard lock(mutex_);
  const auto running = std::count_if(holders_.begin(), holders_.end(), [](const Place* place) { return place->calls_ > 0; });
  return {static_cast<uint32_t>(running), static_cast<uint32_t>(line_.size())};
}

void Turns::release(Place& place) {
  place.has_turn_ = false;
  holders_.erase(std::find(holders_.begin(), holders_.end(), &place));
  ++free_;
}

/// Gives turns to the first in line, with those of idle sessions.
void Turns::hand_out() {
  const Clock::time_point now = Clock::now();
  bool is_changed = false;
  while (!line_.empty()) {
    if (free_ == 0) {
      const auto idle = std::find_if(holders_.begin(), holders_.end(), [&](const Place* holder) {
        return holder->calls_ == 0 && holder->waiting_ == 0 && now - holder->last_used_ >= idle_;
      });
      if (idle == holders_.end()) break;
      release(**idle);
    }
    Place& next = *line_.front();
    holders_.push_back(&next);
    line_.pop_front();
    next.is_in_line_ = false;
    next.has_turn_ = true;
    next.since_ = next.last_used_ = now;
    --free_;
    is_changed = true;
  }
  if (is_changed) changed_.notify_all();
}

}  // namespace batmap::process
