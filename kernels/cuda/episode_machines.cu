// Machines, map and concatenate. See episode_machines.h.
#include "cuda/episode_machines.h"

#include <algorithm>

namespace batmap::cuda {

namespace {

constexpr uint32_t kStepsAPoll = 4096;
// Machines of one warp wait for each other. Where there are few machines, each has a warp of its own.
constexpr uint32_t kMinBlocks = 2048;
constexpr uint32_t kNone = UINT32_MAX;

__device__ __host__ inline size_t machine_times(size_t length, size_t ring) { return length + (length - 1) * ring; }

/// One machine. The states of neighbouring threads are interleaved word by word.
class Machine {
 public:
  /// @param state  of the first of `stride` machines; this is the one at `index`
  __device__ Machine(const EpisodeMachines& job, uint32_t episode, int64_t* state, uint32_t stride, uint32_t index)
      : job_(job),
        positions_(job.positions + size_t{episode} * job.length),
        times_(state + index),
        marks_(reinterpret_cast<uint32_t*>(state + machine_times(job.length, job.ring) * stride) + index),
        stride_(stride) {}

  /// Forgets everything. From now on, occurrences start later than `time`.
  __device__ void start_after(int64_t time) {
    for (uint32_t k = 0; k < job_.length; ++k) cursor(k) = first_after(list(k), 0, positions_[k].list_size, time);
    forget(time);
    seek(0);
  }

  /// Runs until an occurrence is complete. @return index of its end in the last list; kNone: none ends before `until`
  __device__ uint32_t next_end(int64_t until) {
    for (;;) {
      uint32_t position = 0;
      int64_t time = next(0);
      for (uint32_t k = 1; k < job_.length; ++k)
        if (const int64_t other = next(k); other < time) {
          time = other;
          position = k;
        }
      if (++steps_ % kStepsAPoll == 0 && *job_.stop != 0) is_stopped_ = true;
      if (time >= until || is_stopped_) return kNone;
      const uint32_t at = cursor(position);
      cursor(position) = at + 1;
      if (position == 0 ? time > after_ : follows(position, time)) {
        if (position + 1 == job_.length) {
          forget(time);
          return at;
        }
        wait(position, time);
      }
      seek(position);
    }
  }

  __device__ bool is_stopped() const { return is_stopped_; }

 private:
  __device__ const int64_t* list(uint32_t position) const { return job_.list_times + positions_[position].list_begin; }
  __device__ int64_t& next(uint32_t position) { return times_[size_t{position} * stride_]; }
  __device__ int64_t& waiting(uint32_t position, uint32_t k) {
    return times_[(size_t{job_.length} + size_t{position} * job_.ring + (k & (job_.ring - 1))) * stride_];
  }
  __device__ uint32_t& cursor(uint32_t position) { return marks_[size_t{position} * stride_]; }
  // The events that wait at a position are [first, behind). Both numbers only grow; a ring holds number k at k
  // modulo its size.
  __device__ uint32_t& first(uint32_t position) { return marks_[(size_t{job_.length} + 2 * position) * stride_]; }
  __device__ uint32_t& behind(uint32_t position) { return marks_[(size_t{job_.length} + 2 * position + 1) * stride_]; }

  __device__ void forget(int64_t time) {
    for (uint32_t k = 0; k + 1 < job_.length; ++k) {
      first(k) = behind(k) = 0;
      next(k + 1) = INT64_MAX;
    }
    after_ = time;
  }

  /// The first event that waits at a position and is not too old.
  __device__ uint32_t first_since(uint32_t position, int64_t time) {
    uint32_t k = first(position);
    while (k != behind(position) && waiting(position, k) < time) ++k;
    return first(position) = k;
  }

  __device__ bool follows(uint32_t position, int64_t time) {
    const uint32_t k = first_since(position - 1, time - positions_[position].high);
    return k != behind(position - 1) && waiting(position - 1, k) < time - positions_[position].low;
  }

  /// Goes to the next event that is far enough behind the first one that waits for it; to none if none waits.
  __device__ void seek(uint32_t position) {
    if (position > 0) {
      const uint32_t k = first(position - 1);
      if (k == behind(position - 1)) {
        next(position) = INT64_MAX;
        return;
      }
      cursor(position) = first_after_nearby(list(position), cursor(position), positions_[position].list_size,
                                            waiting(position - 1, k) + positions_[position].low);
    }
    const uint32_t at = cursor(position);
    next(position) = at < positions_[position].list_size ? list(position)[at] : INT64_MAX;
  }

  __device__ void wait(uint32_t position, int64_t time) {
    const int64_t low = positions_[position + 1].low;
    const int64_t high = positions_[position + 1].high;
    if (high <= low) return;
    const uint32_t k = first_since(position, time - high);
    uint32_t to = behind(position);
    if (to - k >= 2 && time - waiting(position, to - 2) <= high - low) --to;
    waiting(position, to) = time;
    behind(position) = to + 1;
    if (to == k) seek(position + 1);
  }

  const EpisodeMachines& job_;
  const EpisodeNode* positions_;
  int64_t* times_;   // [length] times of the next events, or INT64_MAX; [length - 1][ring] times that wait
  uint32_t* marks_;  // [length] cursors, [length - 1] first and behind
  uint32_t stride_;
  int64_t after_ = -1;
  uint32_t steps_ = 0;
  bool is_stopped_ = false;
};

/// Ends up to this time make no difference to a segment.
__device__ int64_t far_back(const EpisodeMachines& job, uint32_t segment) {
  return max(segment * job.segment_ticks - 1 - job.reach, int64_t{-1});
}

__global__ void __launch_bounds__(kMachineThreads) map(EpisodeMachines job) {
  extern __shared__ int64_t shared[];
  const uint32_t index = blockIdx.x * blockDim.x + threadIdx.x;
  const uint32_t machines = job.episodes * job.segments;
  if (index >= machines) return;
  const uint32_t episode = index / job.segments;
  const uint32_t segment = index % job.segments;
  Machine machine = job.state == nullptr ? Machine(job, episode, shared, blockDim.x, threadIdx.x)
                                         : Machine(job, episode, job.state, machines, index);
  const EpisodeNode& last = job.positions[size_t{episode} * job.length + job.length - 1];
  const int64_t* const ends = job.list_times + last.list_begin;
  const int64_t begin = segment * job.segment_ticks;
  const int64_t end = segment + 1 == job.segments ? INT64_MAX : begin + job.segment_ticks;
  const int64_t before = far_back(job, segment);
  const bool is_cut = job.segments > 1;
  uint32_t* const rank = is_cut ? job.rank + job.first_end[episode] : nullptr;

  // If this machine completes an occurrence before its segment begins, then no end that is far back is the last
  // one, and nobody uses its path. Other machines can still continue as it does.
  machine.start_after(before);
  MachinePath first{before, kNone, 0};
  for (uint32_t at; (at = machine.next_end(end)) != kNone;) {
    if (ends[at] < begin) continue;
    first = {ends[at], at, first.count + 1};
    if (is_cut) rank[at] = first.count;
  }
  job.segment_path[index] = first;
  if (!is_cut) return;
  uint32_t from = first_after(ends, 0, last.list_size, before);
  for (; from < last.list_size && ends[from] < begin && !machine.is_stopped(); ++from) {
    machine.start_after(ends[from]);
    MachinePath path{ends[from], from, 0};
    for (uint32_t at; (at = machine.next_end(end)) != kNone;) {
      if (ends[at] < begin) break;  // then this end is not the last one
      path = {ends[at], at, path.count + 1};
      if (rank[at] == 0) continue;
      path = {first.last_end, first.last, path.count + first.count - rank[at]};
      break;
    }
    job.end_path[job.first_end[episode] + from] = path;
  }
}

__global__ void go_through_segments(EpisodeMachines job) {
  const uint32_t episode = blockIdx.x * blockDim.x + threadIdx.x;
  if (episode >= job.episodes) return;
  const MachinePath* const all = job.segment_path + size_t{episode} * job.segments;
  MachinePath last = all[0];
  uint32_t count = last.count;
  for (uint32_t segment = 1; segment < job.segments; ++segment) {
    const bool is_near = last.count > 0 && last.last_end > far_back(job, segment);
    const MachinePath path = is_near ? job.end_path[job.first_end[episode] + last.last] : all[segment];
    count += path.count;
    if (path.count > 0) last = path;
  }
  job.counts[episode] = count;
}

}  // namespace

uint64_t max_waiting(uint32_t list_size, int64_t low, int64_t high) {
  if (high <= low) return 1;
  return std::clamp<uint64_t>(2 * static_cast<uint64_t>(high / (high - low + 1)) + 2, 1, std::max(list_size, 1u));
}

size_t machine_words(size_t length, uint64_t ring) { return machine_times(length, ring) + (3 * length - 2 + 1) / 2; }

void map_segments(const EpisodeMachines& machines, cudaStream_t stream) {
  const uint32_t all = machines.episodes * machines.segments;
  const uint32_t threads = std::clamp((all + kMinBlocks - 1) / kMinBlocks, 1u, uint32_t{kMachineThreads});
  const size_t bytes =
      machines.state != nullptr ? 0 : machine_words(machines.length, machines.ring) * sizeof(int64_t) * threads;
  allow_shared_memory<map>();
  map<<<(all + threads - 1) / threads, threads, bytes, stream>>>(machines);
  check_launch("map");
}

void concatenate(const EpisodeMachines& machines, cudaStream_t stream) {
  constexpr uint32_t kThreads = 32;
  go_through_segments<<<(machines.episodes + kThreads - 1) / kThreads, kThreads, 0, stream>>>(machines);
  check_launch("go_through_segments");
}

}  // namespace batmap::cuda
