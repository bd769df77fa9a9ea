// Cost model of a search on a device. See itemset_policy.h.
#include "accel/itemset_policy.h"

#include <algorithm>
#include <cstdio>

namespace batmap {

namespace {

// bench/device_itemsets.cpp, on an H100.
constexpr double kJoinedBytes = 30;  // bytes of rows ANDed and counted in a nanosecond by a multiprocessor
constexpr double kMadeBytes = 8;     // bytes of rows made
constexpr double kSentBytes = 8;     // bytes a nanosecond, from memory that is not pinned
constexpr double kFilledBit = 2.3;   // ns of the host
constexpr double kJoin = 0.1;        // ns, of any length
constexpr double kItemset = 100;     // ns of the host
constexpr double kOpening = 1.5;     // ms
constexpr double kStep = 0.05;       // ms
// A device must be so much faster in what it does: what is joined is an estimate.
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

RowSearchChoice choose_row_search(DeviceMode mode, const RowSearchSizes& sizes, const DeviceTraits& device, double cpu_ms) {
  RowSearchChoice choice;
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
  choice.on_device = estimate.fits && (mode != DeviceMode::kAuto || is_faster);
  return choice;
}

}  // namespace batmap
