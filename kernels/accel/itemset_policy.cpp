// Cost model of an itemset search on a device. See itemset_policy.h.
#include "accel/itemset_policy.h"

#include <algorithm>
#include <cstdio>

namespace batmap {

namespace {

// From bench/device_itemsets.cpp, on an H100.
constexpr double kJoinedBytes = 30;  // bytes of rows that a multiprocessor ANDs and counts in a nanosecond
constexpr double kMadeBytes = 8;     // bytes of rows that a multiprocessor writes in a nanosecond
constexpr double kSentBytes = 8;     // bytes sent in a nanosecond, from memory that is not pinned
constexpr double kFilledBit = 2.3;   // ns of the host, for each bit set in the first level
constexpr double kJoin = 0.1;        // ns, for each join of whatever length
constexpr double kItemset = 100;     // ns of the host, for each itemset
constexpr double kOpening = 1.5;     // ms, once
constexpr double kStep = 0.05;       // ms, for each wait for the device
// The device must be faster by this factor in its own part: the number of joins is an estimate.
constexpr double kMargin = 1.1;
constexpr uint64_t kFixedBytes = uint64_t{640} << 20;  // candidates in flight, and the context

}  // namespace

RowSearchEstimate estimate_row_search(const RowSearchSizes& sizes, const DeviceTraits& device) {
  RowSearchEstimate estimate;
  const auto row_bytes = static_cast<double>(sizes.row_bytes);
  const double first_level = static_cast<double>(sizes.items) * row_bytes;
  const double multiprocessors = std::max(device.multiprocessors, 1);
  estimate.milliseconds = (device.ready == 0 ? device.rates.context_ms : 0) + kOpening + first_level / kSentBytes / 1e6 +
                          static_cast<double>(sizes.occurrences) * kFilledBit / 1e6 + sizes.steps * kStep + sizes.host_ms +
                          sizes.joins * (row_bytes / (kJoinedBytes * multiprocessors) + kJoin) / 1e6 +
                          sizes.itemsets * (row_bytes / (kMadeBytes * multiprocessors) + kItemset) / 1e6;
  const uint64_t room = sizes.memory_limit == 0 ? device.memory_bytes : std::min(sizes.memory_limit, device.memory_bytes);
  estimate.fits = 3 * sizes.items * sizes.row_bytes + (sizes.memory_limit == 0 ? kFixedBytes : 0) <= room;
  return estimate;
}

DeviceVerdict choose_row_search(DeviceMode mode, const RowSearchSizes& sizes, const DeviceTraits& device, double cpu_ms) {
  DeviceVerdict choice;
  if (mode == DeviceMode::kCpu) return choice;
  const RowSearchEstimate estimate = estimate_row_search(sizes, device);
  char text[96];
  if (mode == DeviceMode::kAuto)
    std::snprintf(text, sizeof text, "CPU %.1f ms, GPU %.1f ms%s", cpu_ms, estimate.milliseconds,
                  estimate.fits ? "" : " (does not fit)");
  else
    std::snprintf(text, sizeof text, "bit rows of %.0f MB on the GPU%s",
                  static_cast<double>(sizes.items * sizes.row_bytes) / 1e6, estimate.fits ? "" : " (do not fit)");
  choice.reason = text;
  const bool is_faster = (estimate.milliseconds - sizes.host_ms) * kMargin < cpu_ms - sizes.host_ms;
  choice.is_chosen = estimate.fits && (mode != DeviceMode::kAuto || is_faster);
  return choice;
}

}  // namespace batmap
