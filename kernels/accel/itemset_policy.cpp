// Cost model of an itemset search on a device. See itemset_policy.h.
#include "accel/itemset_policy.h"

#include <algorithm>
#include <cmath>
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

// A device is asked under kAuto only from so many occurrences on: fewer are searched in milliseconds.
constexpr uint64_t kMinOccurrences = 50'000;
constexpr uint64_t kMinToLoad = 1'000'000;  // where the process has not loaded the driver yet
// For the algorithm auto, more than kUnmergedShare of the transactions must also be distinct, and more than kDenseShare
// of their cells set. Else the depth-first search is faster than bit rows.
constexpr double kUnmergedShare = 0.8;
constexpr double kDenseShare = 0.04;
// A sample may take kSampleFree ns, plus this share of the expected time of the faster side.
constexpr double kSampleShare = 0.08;
constexpr double kSampleFree = 50'000;
constexpr double kClear = 2.5;  // no sample is needed if one side is expected to be so many times as fast

// What the CPU takes, in ns: bench/device_itemsets.cpp. The two for rows are factors on the kernel's time for a row.
constexpr double kHostRow = 1.4;
constexpr double kHostBranchRow = 0.6;  // for the transactions of one branch, which are in cache
constexpr double kHostJoin = 20;        // a join; for pbi, tbi and dfs in each plane
constexpr double kHostTail = 3.5;       // a later item in a transaction of a branch
constexpr double kHostKeptTail = 6;     // a later item that is frequent there, in addition
constexpr double kHostPair = 8;         // a candidate of two items
constexpr double kHostCandidate = 600;  // a longer candidate: its subsets are looked up
constexpr double kHostItemset = 100;    // an itemset that is kept
constexpr double kHostRoot = 4;         // an occurrence of the root: each thread reads all of them
constexpr double kHostThreads = 0.9;    // with t threads the parallel part runs t^0.9 times as fast

/// The bit rows of a job.
struct BitRows {
  double share;   // of the transactions: the distinct ones
  double planes;  // one for each bit of the average weight; a plane has all distinct transactions
  double words;   // of a row, in all planes

  explicit BitRows(const ItemsetJob& job) {
    const double distinct = std::max(1.0, static_cast<double>(job.distinct_transactions));
    share = std::min(1.0, distinct / static_cast<double>(job.transactions));
    planes = 1 - std::log2(share);
    words = std::ceil(distinct / 512) * 8 * planes;
  }
};

/// Milliseconds to make and prune the candidates of pbi and tbi.
double candidates_ms(const SearchOutline& outline) {
  return (outline.pairs * kHostPair + (outline.joins - outline.pairs) * kHostCandidate) / 1e6;
}

}  // namespace

bool may_pay_on_a_device(const ItemsetJob& job, bool has_loaded) {
  if (job.occurrences < (has_loaded ? kMinOccurrences : kMinToLoad)) return false;
  if (job.algorithm != ItemsetAlgorithm::kAuto) return true;
  const auto distinct = static_cast<double>(job.distinct_transactions);
  return distinct > static_cast<double>(job.transactions) * kUnmergedShare &&
         static_cast<double>(job.occurrences) > distinct * static_cast<double>(job.items) * kDenseShare;
}

double estimate_search_here(const ItemsetJob& job, const SearchOutline& outline) {
  const BitRows rows(job);
  const double word_ns = 1 / job.row_words_per_ns;
  const double join_ns = rows.words * word_ns * kHostRow + rows.planes * kHostJoin;
  if (job.algorithm == ItemsetAlgorithm::kDfs) return outline.joins * join_ns / 1e6;
  if (job.algorithm != ItemsetAlgorithm::kAuto)
    return candidates_ms(outline) + (outline.joins * join_ns + outline.itemsets * (join_ns + kHostItemset)) / 1e6;
  const double kept = outline.pairs == 0 ? 0 : std::min(1.0, outline.itemsets / outline.pairs);
  const double all_ns = outline.branch_joins * rows.words * word_ns * kHostBranchRow + outline.joins * kHostJoin +
                        outline.tails * (kHostTail + kHostKeptTail * kept);
  const double root_ns = std::min(all_ns, static_cast<double>(job.occurrences) * kHostRoot);
  const int threads = std::clamp(static_cast<int>(job.leading), 1, std::max(job.threads, 1));
  return (root_ns + (all_ns - root_ns) / std::pow(threads, kHostThreads)) / 1e6;
}

RowSearchSizes row_search_sizes(const ItemsetJob& job, const SearchOutline& outline) {
  const BitRows rows(job);
  return {.joins = outline.joins,
          .itemsets = outline.itemsets,
          .steps = job.algorithm == ItemsetAlgorithm::kDfs ? outline.extended : 4.0 * outline.longest,
          .host_ms = job.algorithm == ItemsetAlgorithm::kTbi ? candidates_ms(outline) : 0,
          .items = job.items,
          .row_bytes = static_cast<uint64_t>(rows.words) * sizeof(uint64_t),
          .occurrences = static_cast<uint64_t>(static_cast<double>(job.occurrences) * rows.share),
          .memory_limit = job.memory_limit};
}

bool should_sample_on(const ItemsetJob& job, const SearchOutline& known, double sample_ns, const DeviceTraits& device) {
  const RowSearchSizes sizes = row_search_sizes(job, known);
  const double cpu_ms = estimate_search_here(job, known);
  const double gpu_ms = estimate_row_search(sizes, device).milliseconds;
  const double here = cpu_ms - sizes.host_ms;
  const double there = gpu_ms - sizes.host_ms;
  // The pairs alone may make it clear, as longer itemsets mostly shift the balance one way. pbi and tbi do the
  // same work on both sides, so longer itemsets favour the device. dfs waits for the device at each of them,
  // so they favour the CPU. For auto, longer itemsets do not favour the device: the CPU's search has fewer
  // transactions on its way down. So where very many itemsets are long, a choice from the pairs may be wrong.
  const bool is_dfs = job.algorithm == ItemsetAlgorithm::kDfs;
  const bool is_clear = is_dfs ? there > kClear * here : here > kClear * there;
  return !is_clear && sample_ns <= kSampleFree + kSampleShare * std::min(cpu_ms, gpu_ms) * 1e6;
}

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
