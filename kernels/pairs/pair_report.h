// The report of a run over pairs. Source: ours.
#pragma once

#include <cstdint>
#include <string>

#include "core/truncation.h"

namespace batmap {

/// What a run did; complete when next() has returned false.
struct PairReport {
  std::string method;
  std::string kernel;          // empty if no bits were counted
  std::string device = "cpu";  // or the names of the GPUs
  std::string notice;          // a message for the user: a device failed
  std::string reason;
  uint64_t transactions = 0;
  uint64_t items = 0;
  uint64_t items_kept = 0;
  uint64_t occurrences = 0;     // rows of kept items
  uint64_t pair_instances = 0;  // sum over transactions of (number of kept items choose 2)
  uint64_t results = 0;
  uint64_t tasks = 0;  // tasks of the count, as far as known
  uint64_t tasks_done = 0;
  uint64_t file_bytes = 0;  // bytes of rows in temporary files
  Truncation truncation;
  double group_ms = 0;
  double count_ms = 0;  // time in next(), all calls together

  bool truncated() const { return truncation.cause != Truncation::kNone; }
};

}  // namespace batmap
