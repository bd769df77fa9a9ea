// Estimates from sizes, without counting. See pair_forecast.h.
#include "pairs/pair_forecast.h"

#include <algorithm>
#include <cmath>

#include "measures/expected_answers.h"
#include "pairs/build_counter.h"

namespace batmap {

namespace {

/// Groups items of about the same support: exact below 64, 16 classes for each doubling above.
std::vector<SupportClass> classes_of(std::span<const uint64_t> supports) {
  constexpr double kExact = 64;
  constexpr double kPerDoubling = 16;
  std::vector<SupportClass> classes;
  for (const uint64_t support : supports) {
    const auto value = static_cast<double>(support);
    const double position = value < kExact ? value : kExact + std::floor(std::log2(value / kExact) * kPerDoubling);
    const auto at = static_cast<size_t>(position);
    if (at >= classes.size()) classes.resize(at + 1);
    classes[at].items += 1;
    classes[at].support += (value - classes[at].support) / classes[at].items;
  }
  std::erase_if(classes, [](const SupportClass& entry) { return entry.items == 0; });
  return classes;
}

}  // namespace

double expected_pairs(std::span<const uint64_t> supports, uint64_t transactions, uint64_t threshold) {
  return expected_pairs(classes_of(supports), static_cast<double>(transactions), static_cast<double>(threshold));
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
