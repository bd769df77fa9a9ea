// Runs that fail at every place where they can: out of memory, or cancelled.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>

#include "core/error.h"
#include "core/memory.h"
#include "core/options.h"
#include "test/unit/shared/countdown.h"

namespace batmap::test {

/// Checks its answer itself, and throws what the engine throws.
using FailingRun = std::function<void(const ExecutionOptions&)>;

/// Repeats a run with a memory limit that grows by `step` bytes until it suffices. Every refusal is one of memory, and gives all back.
/// @param least_failures  so many refusals must come at least
inline void run_out_of_memory_everywhere(int threads, size_t step, int least_failures, const FailingRun& run) {
  int failures = 0;
  bool done = false;
  for (size_t limit = 0; !done; limit += step) {
    ASSERT_LT(limit, size_t{64} << 20) << "no limit is enough";
    MemoryMeter meter(limit);
    try {
      run({.threads = threads, .memory = &meter, .cancel = {}});
      done = true;
    } catch (const Error& error) {
      ++failures;
      ASSERT_EQ(error.code(), ErrorCode::kMemoryLimit) << error.what();
    }
    ASSERT_EQ(meter.current(), 0u) << "limit " << limit;
    ASSERT_LE(meter.peak(), limit);
  }
  EXPECT_GE(failures, least_failures);
}

/// Repeats a run that is cancelled after ever more polls until it ends by itself. Every cancelled one gives its memory back.
/// @param least_polls  the run must poll so often at least
inline void cancel_everywhere(int threads, int64_t least_polls, const FailingRun& run) {
  bool done = false;
  for (int64_t polls = 0; !done; polls += 1 + polls / 8) {
    ASSERT_LT(polls, 4000) << "polls without end";
    MemoryMeter meter;
    Countdown countdown{{polls}};
    try {
      run({.threads = threads, .memory = &meter, .cancel = countdown.token()});
      done = true;
      EXPECT_GE(polls, least_polls) << "hardly ever polled";
    } catch (const Error& error) {
      ASSERT_EQ(error.code(), ErrorCode::kCancelled) << error.what();
    }
    ASSERT_EQ(meter.current(), 0u) << "after poll " << polls;
  }
}

}  // namespace batmap::test
