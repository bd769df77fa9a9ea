// Estimates from sizes, without counting. See pair_forecast.h.
#include "pairs/pair_forecast.h"

#include <algorithm>
#include <cmath>

#include "pairs/build_counter.h"

namespace batmap {

namespace {

/// P(X >= least) for a hypergeometric X, approximated: normal if the mean is large, else Poisson.
double at_least(double mean, double variance, double min_count) {
  constexpr double kNormalFrom = 50;
  constexpr double kNegligible = 1e-12;
  if (min_count <= 0) return 1;
  if (mean <= 0) return 0;
  if (mean > kNormalFrom) return std::erfc((min_count - 0.5 - mean) / std::sqrt(2 * std::max(variance, 1e-9))) / 2;
  double sum = 0;
  if (mean < min_count) {
    double term = std::exp(min_count * std::log(mean) - mean - std::lgamma(min_count + 1));
    for (double k = min_count; term > sum * kNegligible; ++k, term *= mean / k) sum += term;
    return sum;
  }
  double term = std::exp((min_count - 1) * std::log(mean) - mean - std::lgamma(min_count));
  for (double k = min_count - 1; k >= 0 && term > sum * kNegligible; term *= k / mean, --k) sum += term;
  return 1 - sum;
}

struct Bucket {
  double items = 0;
  double support = 0;  // mean of the items
};

/// Groups items of about the same support: exact below 64, 16 buckets for each doubling above.
std::vector<Bucket> buckets_of(std::span<const uint64_t> supports) {
  constexpr double kExact = 64;
  constexpr double kPerDoubling = 16;
  std::vector<Bucket> buckets;
  for (const uint64_t support : supports) {
    const auto value = static_cast<double>(support);
    const double position = value < kExact ? value : kExact + std::floor(std::log2(value / kExact) * kPerDoubling);
    const auto at = static_cast<size_t>(position);
    if (at >= buckets.size()) buckets.resize(at + 1);
    buckets[at].items += 1;
    buckets[at].support += (value - buckets[at].support) / buckets[at].items;
  }
  std::erase_if(buckets, [](const Bucket& bucket) { return bucket.items == 0; });
  return buckets;
}

}  // namespace

double expected_pairs(std::span<const uint64_t> supports, uint64_t transactions, uint64_t threshold) {
  const std::vector<Bucket> buckets = buckets_of(supports);
  double pairs = 0;
  for (size_t i = 0; i < buckets.size(); ++i) {
    for (size_t j = i; j < buckets.size(); ++j) {
      const double total = static_cast<double>(transactions);
      const double mean = buckets[i].support * buckets[j].support / total;
      const double variance = mean * (1 - buckets[i].support / total) * (1 - buckets[j].support / total);
      const double number = i == j ? buckets[i].items * (buckets[i].items - 1) / 2 : buckets[i].items * buckets[j].items;
      if (number > 0) pairs += number * at_least(mean, variance, static_cast<double>(threshold));
    }
  }
  return pairs;
}

PairForecast forecast_pairs(std::vector<ChunkView> chunks, const PairQuery& query, const ExecutionOptions& options) {
  query.check();
  const EncodedRelation relation(std::move(chunks), {}, options);
  PairForecast forecast;
  forecast.rows_read = relation.rows();
  forecast.transactions = relation.transactions();
  forecast.items = relation.items();
  const uint64_t min_count = query.min_count_among(relation.transactions());
  const KeptItems kept =
      keep_items(relation, {.min_rows = min_count, .include = query.include, .exclude = query.exclude}, options);
  forecast.items_kept = kept.size;
  if (kept.size == 0) return forecast;
  const TransactionLengths lengths = transaction_lengths(relation, kept, options);
  forecast.pair_instances = lengths.pair_instances;
  forecast.choice = choose_pair_method(describe_job(relation, kept, lengths, query.kernels, options));
  Buffer<uint64_t> supports(*options.memory, kept.size);
  for (uint32_t rank = 0; rank < kept.size; ++rank) supports[rank] = relation.item_rows(kept.code(Rank{rank}));
  forecast.pairs = std::min(expected_pairs(supports.span(), forecast.transactions, min_count),
                            static_cast<double>(forecast.pair_instances / min_count));
  return forecast;
}

}  // namespace batmap
