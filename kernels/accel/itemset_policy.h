// Whether a device searches for itemsets over bit rows: pure functions of what is known of the job, the expected work
// of the search, and the device's rates. The CPU's time is estimated here, too: for bit rows, and for the depth-first
// search that the algorithm auto is on the CPU. Source: ours; Losiak 2009, section 7, asks to look at the input first.
#pragma once

#include <cstddef>
#include <cstdint>

#include "accel/accelerator.h"
#include "accel/device_policy.h"

namespace batmap {

/// Which algorithm searches. auto is a depth-first search that changes its form on the CPU, and pbi on a device. The others
/// are the algorithms of two papers, over bit rows on both.
enum class ItemsetAlgorithm { kAuto, kPbi, kTbi, kDfs };
inline constexpr size_t kItemsetAlgorithms = 4;

/// What is known of a search before it begins.
struct ItemsetJob {
  ItemsetAlgorithm algorithm = ItemsetAlgorithm::kAuto;
  uint64_t transactions = 0;
  uint64_t distinct_transactions = 0;
  uint64_t occurrences = 0;  // rows of kept items
  uint64_t items = 0;
  uint64_t leading = 0;         // itemsets begin with one of the first so many items
  uint64_t memory_limit = 0;    // bytes on the device; 0: all it has
  double row_words_per_ns = 1;  // words of bit rows that a thread of the CPU ANDs and counts in a nanosecond
  int threads = 1;
};

/// The work of the whole search, as far as it is known.
struct SearchOutline {
  double pairs = 0;         // pairs of items
  double joins = 0;         // pairs of itemsets that share all but their last items; pairs of items included
  double branch_joins = 0;  // the same, each weighted by the share of the transactions that its first item has
  double tails = 0;         // later items in the transactions of each first item, if items were independent
  double itemsets = 0;      // frequent itemsets of two items or more
  double extended = 0;      // frequent itemsets with a later sibling
  uint32_t longest = 1;
  bool is_complete = false;  // false: there may be many more
};

/// May a device pay under kAuto? False for jobs that are too small to ask.
/// @param has_loaded  whether the module is loaded already
bool may_pay_on_a_device(const ItemsetJob& job, bool has_loaded);

/// Milliseconds of the CPU.
double estimate_search_here(const ItemsetJob& job, const SearchOutline& outline);

/// The work of a search over bit rows.
struct RowSearchSizes {
  double joins = 0;     // pairs of rows that are ANDed and counted
  double itemsets = 0;  // frequent itemsets: each gets a row
  double steps = 0;     // times that the host waits for the device
  double host_ms = 0;   // host time that either side needs, such as making candidates
  uint64_t items = 0;
  uint64_t row_bytes = 0;
  uint64_t occurrences = 0;   // bits set in the items' rows
  uint64_t memory_limit = 0;  // bytes on the device; 0: all it has
};

RowSearchSizes row_search_sizes(const ItemsetJob& job, const SearchOutline& outline);

struct RowSearchEstimate {
  double milliseconds = 0;  // includes making and sending the rows, and the context if there is none yet
  bool fits = false;        // the rows of the items and those of one parent's level fit
};
RowSearchEstimate estimate_row_search(const RowSearchSizes& sizes, const DeviceTraits& device);

/// Should a sample of the search go on that has found `known` in `sample_ns` nanoseconds? It should stay cheap beside the
/// search itself, and it can end once one side is clearly faster.
bool should_sample_on(const ItemsetJob& job, const SearchOutline& known, double sample_ns, const DeviceTraits& device);

/// @param cpu_ms  used under kAuto only; under kCuda and kRequire a search that fits goes to the device
DeviceVerdict choose_row_search(DeviceMode mode, const RowSearchSizes& sizes, const DeviceTraits& device, double cpu_ms);

}  // namespace batmap
