// Cost model of pair support. See choose.h.
#include "pairs/choose.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "bits/bit_row_sum.h"
#include "pairs/counters/pair_counter.h"
#include "relation/bit_matrix.h"
#include "relation/transaction_bits.h"
#include "relation/transactions.h"
#include "set/set_intersect.h"

namespace batmap {

namespace {

// Nanoseconds of one thread, from bench/support_bench.cpp; those of marks and united words were set by hand to fit
// bench/existence_bench.cpp, those of answers to fit bench/join_shapes.h.
constexpr double kIncrement = 0.75;       // one counter of `horizontal`
constexpr double kScannedCounter = 0.12;  // scanning a row of counters for results
constexpr double kMark = 0.5;             // one partner of an item that is only found (existence_counter.cpp)
constexpr double kScannedMark = 0.06;     // scanning its marks
constexpr double kUnitedWords = 1.5;      // words of bit rows that are united in the time of adding one
constexpr double kTail = 4.0;             // starting on the tail of a transaction
constexpr double kLinkOccurrence = 12.0;  // building the horizontal form
constexpr double kListBit = 6.0;          // building bit rows and lists
// A form of more bytes does not lie in the cache of its core. What is added then:
constexpr double kNearBytes = 4 << 20;
constexpr double kFarOccurrence = 6.0;  // of the horizontal form
/// Of bit rows, for each bit that is set, and for each row that is read, until its first word is there.
struct Distance {
  double bit;
  double row;
};
constexpr Distance kInCache{8.0, 5.0};     // by hand, to fit relations of 3 and 10 million rows; 260 MB of cache
constexpr Distance kInMemory{16.0, 50.0};  // bench/join_shapes.h, 32 MB of cache
constexpr uint64_t kCacheShare = 2;        // the other part is for others
constexpr double kSlicedPair = 0.2;        // comparing a bit-sliced counter with the threshold
constexpr double kSlicedAnswer = 2.0;      // what an answer takes longer than one of `horizontal`
constexpr double kFoundAnswer = 1.5;       // the same where pairs are only found
constexpr double kSetBit = 3.0;            // building the bit matrix
constexpr double kClearWord = 0.8;         // memory that the process touches first
constexpr double kPairOverhead = 8.0;      // a pair in a bitmap tile
constexpr double kPlacedElement = 60.0;    // building a batmap
constexpr double kPlaneWord = 0.12;        // comparing 64 slots of one plane; after about kPlanesRead planes a block ends
constexpr double kMergedElement = 4.0;
constexpr double kThread = 25'000;        // starting and joining a thread
constexpr double kListElement = 5.0;      // building a tidlist
constexpr double kFoundByTask = 1 << 16;  // pairs, not nanoseconds
// All pairs of a tile, or of a row, have enough in common later than an average pair has: by this factor, the
// logarithm of their number.
constexpr double kAllOfATile = 7;
constexpr double kAllOfARow = 8;

double pairs_of(const PairJob& job) {
  const auto leading = static_cast<double>(job.leading);
  if (job.first_column > 0) return leading * static_cast<double>(job.items - job.first_column);
  return leading * (static_cast<double>(job.items) - (leading + 1) / 2);
}

/// Average rows of an item on each side of the pairs.
struct AverageRows {
  double leading;
  double column;
};

AverageRows average_rows(const PairJob& job) {
  const auto over = [](uint64_t rows, uint64_t items) {
    return items == 0 ? 0 : static_cast<double>(rows) / static_cast<double>(items);
  };
  if (job.first_column == 0) return {over(job.occurrences, job.items), over(job.occurrences, job.items)};
  return {over(job.leading_occurrences, job.leading),
          over(job.occurrences - job.leading_occurrences, job.items - job.first_column)};
}

/// The share of its transactions after which an average pair has `times` x `enough` in common.
double share_until_enough(const PairJob& job, const AverageRows& rows, double times) {
  if (job.enough == UINT32_MAX) return 1;
  const double common = rows.leading * rows.column / std::max(static_cast<double>(job.tid_slots), 1.0);
  return std::min(times * static_cast<double>(job.enough) / std::max(common, 1e-9), 1.0);
}

/// The share of pairs that have `least` transactions in common, if the common ones fell on the pairs at random (Poisson).
/// @param average  of all pairs
double share_with(double least, double average) {
  if (average >= least) return 1;
  if (average > 100) return 0;  // the share falls steeply there
  double term = std::exp(-average);
  double fewer = 0;
  for (double common = 0; common < least && term > 0; ++common) {
    fewer += term;
    term *= average / (common + 1);
  }
  return std::max(1 - fewer, 0.0);
}

}  // namespace

const char* pair_method_name(PairMethod method) { return kPairMethodNames[static_cast<size_t>(method)].name; }

PairEstimate estimate_pairs(PairMethod method, const PairJob& job) {
  const auto items = static_cast<double>(job.items);
  const auto occurrences = static_cast<double>(job.occurrences);
  const double pairs = pairs_of(job);
  const bool rectangle = job.first_column > 0;
  const bool finds = job.enough == 1;
  const double share = items == 0 ? 0 : rectangle ? 1 : pairs / std::max(items * (items - 1) / 2, 1.0);
  const AverageRows rows = average_rows(job);
  const auto threads = static_cast<uint64_t>(std::max(job.threads, 1));
  // The results of a task, and half as much again while their buffer grows.
  const uint64_t found = threads * static_cast<uint64_t>(std::min(pairs, kFoundByTask)) * sizeof(PairCount) * 3 / 2;
  double build = 0;
  double count = 0;
  PairEstimate estimate;
  switch (method) {
    case PairMethod::kHorizontal: {
      const double instances = static_cast<double>(job.pair_instances) * share * share_until_enough(job, rows, kAllOfARow);
      const double tails = rectangle ? static_cast<double>(job.leading_occurrences) : occurrences * share;
      estimate.bytes = transactions_bytes(job.items, job.tid_slots, job.occurrences,
                                          rectangle ? job.leading_occurrences : job.occurrences);
      build = occurrences * (kLinkOccurrence + (static_cast<double>(estimate.bytes) > kNearBytes ? kFarOccurrence : 0));
      const double scanned = std::min(pairs, instances * 8);
      if (finds) {
        // A tail is marked item by item, or united word by word.
        const double words =
            tails * share_until_enough(job, rows, kAllOfARow) * (items - static_cast<double>(job.first_column)) / 64;
        count = std::min(instances * kMark, words / (job.positional_words_per_ns * kUnitedWords)) + scanned * kScannedMark;
      } else {
        count = instances * kIncrement + scanned * kScannedCounter;
      }
      count += tails * kTail;
      estimate.bytes += threads * (job.items - job.first_column) * 4 + found;
      break;
    }
    case PairMethod::kPositional: {
      const double words =
          static_cast<double>(job.row_words) * (finds ? share_until_enough(job, rows, kAllOfARow) / kUnitedWords : 1);
      const uint64_t listed = rectangle ? job.leading_occurrences : job.occurrences;
      estimate.bytes =
          transaction_bits_bytes(job.items, job.tid_slots, listed, job.first_column) + threads * sizeof(BitRowSum) + found;
      const auto bytes = static_cast<double>(transaction_bits_bytes(job.items, job.tid_slots, 0, job.first_column));
      build = occurrences * kListBit + bytes / 8 * kClearWord;
      const double answers = pairs * share_with(static_cast<double>(job.min_count),
                                                static_cast<double>(job.pair_instances) * share / std::max(pairs, 1.0));
      count = words / job.positional_words_per_ns + pairs * (finds ? kScannedMark : kSlicedPair) +
              answers * (finds ? kFoundAnswer : kSlicedAnswer);
      if (bytes > kNearBytes) {
        const Distance far = bytes > static_cast<double>(job.cache_bytes / kCacheShare) ? kInMemory : kInCache;
        build += (occurrences - (rectangle ? static_cast<double>(listed) : 0)) * far.bit;
        count += static_cast<double>(listed) * share * (finds ? share_until_enough(job, rows, kAllOfARow) : 1) * far.row;
      }
      break;
    }
    case PairMethod::kBitmap: {
      const double words = static_cast<double>(bit_matrix_bytes(1, job.tid_slots)) / 8;
      build = occurrences * kSetBit + items * words * kClearWord;
      count = pairs * (words * share_until_enough(job, rows, kAllOfATile) / job.bitmap_words_per_ns + kPairOverhead);
      estimate.bytes = bit_matrix_bytes(job.items, job.tid_slots) + threads * (uint64_t{4} << 20) + found;
      break;
    }
    case PairMethod::kBatmap: {
      // As if all items of a side had equally many rows. A comparison reads the larger batmap.
      const auto shape_of = [&](double average) {
        return batmap_shape(std::min(static_cast<uint64_t>(std::ceil(average)), job.tid_slots),
                            batmap_counter_width(job.tid_slots));
      };
      const BatmapShape shape = shape_of(rows.leading);
      const BatmapShape column_shape = shape_of(rows.column);
      const auto& larger = std::max(shape, column_shape, [](auto& x, auto& y) { return x.slots() < y.slots(); });
      const double planes = static_cast<double>(std::min<uint64_t>(larger.planes(), kPlanesRead));
      build = occurrences * (kListElement + kPlacedElement);
      count = pairs *
              (static_cast<double>(kTables * larger.slots()) / 64 * planes * kPlaneWord * share_until_enough(job, rows, 1) +
               kPairOverhead);
      estimate.bytes = job.occurrences * 4 + job.first_column * shape.bytes() +
                       (job.items - job.first_column) * column_shape.bytes() + job.items * 28 +
                       threads * std::min<uint64_t>(job.items, 64) * job.items * 2 * sizeof(PairCount);
      break;
    }
    case PairMethod::kMerge: {
      build = occurrences * kListElement;
      count = pairs * ((rows.leading + rows.column) * kMergedElement * share_until_enough(job, rows, 1) + kPairOverhead);
      estimate.bytes = job.occurrences * 4 + job.items * 12 + found;
      break;
    }
  }
  // Only as many threads as gain more than their start costs.
  const double working = std::clamp(std::sqrt(count / kThread), 1.0, static_cast<double>(threads));
  estimate.milliseconds = (build + count / working + (working - 1) * kThread) / 1e6;
  estimate.fits = estimate.bytes <= job.memory_bytes && (method != PairMethod::kHorizontal || job.occurrences < UINT32_MAX);
  return estimate;
}

PairChoice choose_pair_method(const PairJob& job) {
  std::array<PairEstimate, kPairMethods> estimates;
  for (const PairMethodName& entry : kPairMethodNames)
    estimates[static_cast<size_t>(entry.method)] = estimate_pairs(entry.method, job);
  return choose_among(estimates);
}

PairChoice choose_among(const std::array<PairEstimate, kPairMethods>& estimates) {
  PairChoice choice{.estimates = estimates, .reason = {}};
  bool found = false;
  for (const PairMethodName& entry : kPairMethodNames) {
    const PairEstimate& estimate = choice.estimates[static_cast<size_t>(entry.method)];
    const PairEstimate& best = choice.estimates[static_cast<size_t>(choice.method)];
    if (estimate.fits ? !found || estimate.milliseconds < best.milliseconds : !found && estimate.bytes < best.bytes) {
      choice.method = entry.method;
      found = estimate.fits;
    }
  }
  for (const PairMethodName& entry : kPairMethodNames) {
    const PairEstimate& estimate = choice.estimates[static_cast<size_t>(entry.method)];
    char text[96];
    std::snprintf(text, sizeof text, "%s%s %.*f ms%s", choice.reason.empty() ? "estimates: " : ", ", entry.name,
                  estimate.milliseconds < 10 ? 1 : 0, estimate.milliseconds, estimate.fits ? "" : " (does not fit)");
    choice.reason += text;
  }
  return choice;
}

}  // namespace batmap
