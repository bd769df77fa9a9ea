// Estimates from sizes, without counting. See pair_forecast.h.
#include "pairs/pair_forecast.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "measures/expected_answers.h"
#include "pairs/answer_size.h"
#include "pairs/build_counter.h"
#include "relation/row_parts.h"

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

namespace {

constexpr double kCountedMs = 20;  // a run that is expected to take no longer is counted
constexpr uint32_t kSample = 512;  // a standard error of 4.4 %
constexpr uint32_t kLargeSample = 16384;

/// With a threshold a larger one, since most pairs may be below it; but its occurrences, which cost some 20 ns each, must
/// not cost more than those of all pairs, which are counted in less than a nanosecond.
uint32_t sample_size(uint64_t min_count, uint64_t items_kept, uint64_t pair_instances) {
  constexpr double kShare = 200;
  if (min_count <= 1) return kSample;
  const auto items = static_cast<double>(items_kept);
  const double pairs = std::min(items * (items - 1) / 2, static_cast<double>(pair_instances));
  return static_cast<uint32_t>(std::clamp<double>(pairs / kShare, kSample, kLargeSample));
}

/// The number of answers, or nothing if memory may not suffice for them.
std::optional<uint64_t> count_pairs(std::vector<ChunkView> chunks, const PairQuery& query, const ExecutionOptions& options) {
  PairRun run(std::move(chunks), {}, query, options);
  if (run.may_run_out()) return std::nullopt;
  PairBatch batch;
  while (run.next(batch)) {
  }
  return run.record().results;
}

/// Sets the expected number of answers and its error, from those of the pairs that occur at all.
/// @param independent  answers to expect if items were independent
void scale(const AnswerSize& size, double independent, PairForecast& forecast) {
  constexpr double kEnough = 32;  // answers in the sample; fewer do no more than bound their number
  forecast.pairs = 0;
  forecast.standard_error = 0;
  if (size.sampled == 0) return;
  const auto reached = static_cast<double>(size.reached);
  const double each = size.pairs / static_cast<double>(size.sampled);  // pairs for one of the sample
  const double share = reached / static_cast<double>(size.sampled);
  forecast.pairs = each * reached;
  if (size.exact()) return;
  if (reached >= kEnough) {
    forecast.standard_error = std::hypot(size.standard_error * share, each * std::sqrt(reached * (1 - share)));
    return;
  }
  const double low = each * std::max(reached - 2 * std::sqrt(reached), 0.0);
  const double high = each * (reached + 2 * std::sqrt(reached) + 3);
  forecast.pairs = std::clamp(independent, low, high);
  forecast.standard_error = (high - low) / 4;
}

double most_pairs(const PairForecast& forecast, uint64_t min_count) {
  return static_cast<double>(forecast.pair_instances / min_count);
}

/// The expected number of answers if items were independent. @param Items  item_rows(code)
template <typename Items>
double independent_pairs(const Items& items, const KeptItems& kept, uint64_t min_count, const ExecutionOptions& options,
                         const PairForecast& forecast) {
  Buffer<uint64_t> supports(*options.memory, kept.size);
  for (uint32_t rank = 0; rank < kept.size; ++rank) supports[rank] = items.item_rows(kept.code(Rank{rank}));
  return std::min(expected_pairs(supports.span(), forecast.transactions, min_count), most_pairs(forecast, min_count));
}

/// Sets the expected number of answers. @param size  nothing: they are those of independent items
void expect_pairs(const std::optional<AnswerSize>& size, double independent, uint64_t min_count, PairForecast& forecast) {
  if (size) {
    scale(*size, independent, forecast);
    forecast.pairs = std::min(forecast.pairs, most_pairs(forecast, min_count));
  } else {
    forecast.pairs = independent;
    forecast.standard_error = std::numeric_limits<double>::infinity();
  }
}

/// Adds what a part takes: its time, and its memory if that is the most so far.
void add_part(const PairChoice& of_part, std::array<PairEstimate, kPairMethods>& all) {
  for (size_t method = 0; method < kPairMethods; ++method) {
    const PairEstimate& own = of_part.estimates[method];
    all[method].milliseconds += own.milliseconds;
    all[method].bytes = std::max(all[method].bytes, own.bytes);
    all[method].fits = all[method].fits && own.fits;
  }
}

}  // namespace

PairForecast forecast_pairs(std::vector<ChunkView> chunks, const PairQuery& query, const ExecutionOptions& options) {
  query.check();
  const EncodedRelation relation(chunks, {}, options);
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
  forecast.choice = choose_pair_method(describe_job(relation, kept, lengths.pair_instances, query.kernels, options));

  const PairEstimate& chosen = forecast.choice.estimates[static_cast<size_t>(forecast.choice.method)];
  if (chosen.fits && chosen.milliseconds <= kCountedMs) {
    if (const std::optional<uint64_t> pairs = count_pairs(std::move(chunks), query, options)) {
      forecast.pairs = static_cast<double>(*pairs);
      return forecast;
    }
  }
  const double independent = independent_pairs(relation, kept, min_count, options, forecast);
  const AnswerSizeQuery sample{.sample = sample_size(min_count, kept.size, forecast.pair_instances), .min_count = min_count};
  std::optional<AnswerSize> size;
  within_memory_limit([&] { size = estimate_answer_size(relation, kept, lengths, sample, options); });
  expect_pairs(size, independent, min_count, forecast);
  return forecast;
}

PairForecast forecast_pairs(const RowPartitions& rows, const PairQuery& query, const ExecutionOptions& options) {
  query.check();
  const RowParts parts(rows, {}, options);
  PairForecast forecast;
  forecast.rows_read = rows.rows();
  forecast.transactions = parts.transactions();
  forecast.items = parts.totals().items();
  forecast.file_bytes = parts.file_bytes();
  forecast.parts = parts.size();
  const uint64_t min_count = query.min_count_among(parts.transactions());
  const KeptItems kept =
      keep_items(parts.totals(), {.min_rows = min_count, .include = query.include, .exclude = query.exclude}, options);
  forecast.items_kept = kept.size;
  if (kept.size == 0) return forecast;

  // A transaction of n items has n (n - 1) / 2 pairs, and so n - 1 or more.
  const uint64_t least_pairs = kept.occurrences - std::min<uint64_t>(kept.occurrences, parts.transactions());
  const AnswerSizeQuery sample{.sample = sample_size(min_count, kept.size, least_pairs), .min_count = min_count};
  std::unique_ptr<AnswerSizeSketch> sketch;
  within_memory_limit([&] { sketch = make_answer_size_sketch(kept.size, kept.pairs, sample, options); });
  std::array<PairEstimate, kPairMethods> estimates;
  estimates.fill({.fits = true});
  const auto add = [&](size_t part) {
    const LoadedRows loaded(parts[part], options);
    const EncodedRelation relation(loaded.chunks(), {}, options);
    Buffer<Rank> global_rank;
    KeptItems own = keep_items_of_partition(relation, parts.totals(), kept, global_rank, options);
    if (own.size == 0) return;
    const TransactionLengths lengths = transaction_lengths(relation, own, options);
    const PairChoice choice =
        choose_pair_method(describe_job(relation, own, lengths.pair_instances, query.kernels, options));
    for (Rank& rank : own.rank_of_code)
      if (rank != KeptItems::kDropped) rank = global_rank[index_of(rank)];
    if (sketch) sketch->add(relation, own, lengths);
    forecast.pair_instances += lengths.pair_instances;
    add_part(choice, estimates);
  };
  for (size_t part = 0; part < parts.size(); ++part) {
    if (sketch && within_memory_limit([&] { add(part); })) continue;
    sketch.reset();
    add(part);
  }
  forecast.choice = choose_among(estimates);
  const double independent = independent_pairs(parts.totals(), kept, min_count, options, forecast);
  std::optional<AnswerSize> size;
  if (sketch) size = sketch->size();
  expect_pairs(size, independent, min_count, forecast);
  return forecast;
}

}  // namespace batmap
