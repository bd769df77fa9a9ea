// The CPU time of short calls in one thread: the least of several samples, after one that is not counted.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <limits>

namespace batmap::bench {

inline double thread_ns() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e9 * static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec);
}

/// What the calls return is added up here, so that the compiler keeps them.
inline uint64_t sink;

/// The least time of one of `count` calls work(0), work(1), ..
template <typename Work>
double least_ns(int samples, size_t count, Work work) {
  double least = std::numeric_limits<double>::max();
  for (int sample = -1; sample < samples; ++sample) {
    const double start = thread_ns();
    for (size_t i = 0; i < count; ++i) sink += work(i);
    if (sample >= 0) least = std::min(least, (thread_ns() - start) / static_cast<double>(count));
  }
  return least;
}

}  // namespace batmap::bench
