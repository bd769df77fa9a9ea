// Choosing and running one of the two ways. See all_pairs.h.
#include "support/all_pairs.h"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <numeric>
#include <tuple>

#include "core/stopwatch.h"
#include "relation/pair_log.h"
#include "set/set_decode.h"
#include "set/set_intersect.h"
#include "support/tiles.h"

namespace batmap {

namespace {

// Nanoseconds, one thread, AVX2: bench/set_bench.cpp.
constexpr double kComparedByte = 0.02;
constexpr double kComparison = 30;
constexpr double kDecodedElement = 40;  // read out of its set, logged and coded
constexpr double kPlanesRead = 10;      // of a block, before nothing can match any more
constexpr uint64_t kBytesPerRow = 32;   // of a relation while it is counted

/// Bytes of a set that a comparison reads.
double compared_bytes(const SetView& set) {
  if (set.container() != Container::kBatmap) return static_cast<double>(set.bytes());
  const BatmapShape shape = set.shape();
  return static_cast<double>(kTables * shape.groups() * kPlaneBytes) *
         std::min(kPlanesRead, static_cast<double>(shape.planes()));
}

/// Pairs of stored sets, tile by tile.
class SetPairCounter final : public PairCounter {
 public:
  /// @param order  which sets are counted, by rising cardinality
  SetPairCounter(SetCollection sets, const std::vector<uint32_t>& order, double min_jaccard, const SetKernel& kernel,
                 const ExecutionOptions& options)
      : sets_(std::move(sets)),
        options_(options),
        kernel_(kernel),
        min_jaccard_(min_jaccard),
        views_(*options.memory, order.size()),
        supports_(*options.memory, order.size()) {
    for (size_t rank = 0; rank < order.size(); ++rank) {
      views_[rank] = sets_[order[rank]];
      supports_[rank] = static_cast<uint32_t>(views_[rank].cardinality());
    }
    const auto count = static_cast<uint32_t>(order.size());
    tiles_ = Tiles(count, count, [this](uint32_t rank) { return static_cast<uint64_t>(compared_bytes(views_[rank])); });
  }

  size_t tasks() const override { return tiles_.strips(); }
  std::span<const uint32_t> supports() const override { return supports_.span(); }

  void count(size_t task, int, uint32_t threshold, GrowingBuffer<PairCount>& out) override {
    tiles_.visit(task, options_.cancel, out, [&](uint32_t a, uint32_t b) -> uint32_t {
      // a is the smaller set: neither the intersection nor the Jaccard index can be more than it allows.
      if (supports_[a] < threshold || static_cast<double>(supports_[a]) / supports_[b] < min_jaccard_) return 0;
      const auto common = static_cast<uint32_t>(and_cardinality(views_[a], views_[b], kernel_));
      return common >= threshold ? common : 0;
    });
  }

 private:
  SetCollection sets_;
  const ExecutionOptions& options_;
  const SetKernel& kernel_;
  double min_jaccard_;
  Buffer<SetView> views_;      // by rank
  Buffer<uint32_t> supports_;  // by rank
  Tiles tiles_;
};

struct Estimate {
  double tiles_ms = 0;
  double relation_ms = 0;  // reading the sets only; counting comes on top
  uint64_t relation_bytes = 0;
};

Estimate estimate(const SetCollection& sets, const std::vector<uint32_t>& order, int threads) {
  double elements = 0;
  double bytes = 0;
  for (const uint32_t set : order) {
    elements += static_cast<double>(sets[set].cardinality());
    bytes += compared_bytes(sets[set]);
  }
  const auto count = static_cast<double>(order.size());
  Estimate found;
  // Of n (n - 1) / 2 pairs every set is in n - 1; what is read is both sides.
  found.tiles_ms = (count - 1) * (bytes * kComparedByte + count / 2 * kComparison) / threads / 1e6;
  found.relation_ms = elements * kDecodedElement / 1e6;
  found.relation_bytes = static_cast<uint64_t>(elements) * kBytesPerRow;
  return found;
}

}  // namespace

void AllPairsQuery::check() const {
  if (!min_count && !min_jaccard && !top_k && !per_item_top_k)
    throw Error(ErrorCode::kInvalidParameter, "a threshold is missing",
                "Give min_count or min_jaccard, or ask for the best pairs with top_k or per_item_top_k.");
  if (min_jaccard && !(*min_jaccard > 0 && *min_jaccard <= 1)) {
    char text[32];
    std::snprintf(text, sizeof text, "%g", *min_jaccard);
    throw Error(ErrorCode::kInvalidParameter, std::string("min_jaccard must be above 0 and at most 1, not ") + text);
  }
  PairQuery counts;  // for the checks of the others
  counts.min_count = min_count.value_or(1);
  counts.top_k = top_k;
  counts.per_item_top_k = per_item_top_k;
  counts.max_results = max_results;
  counts.check();
}

PairSelection AllPairsRun::selection() const {
  return {.threshold = static_cast<uint32_t>(report_.threshold),
          .min_jaccard = query_.min_jaccard.value_or(0),
          .top_k = query_.top_k,
          .per_item_top_k = query_.per_item_top_k,
          .max_results = query_.max_results,
          .measure = query_.min_jaccard ? PairMeasure::kJaccard : PairMeasure::kSupport};
}

AllPairsRun::AllPairsRun(SetCollection sets, const AllPairsQuery& query, const ExecutionOptions& options)
    : query_(query), options_(options) {
  query_.check();
  const Stopwatch watch;
  prepare(std::move(sets));
  report_.group_ms = watch.milliseconds();
}

void AllPairsRun::prepare(SetCollection sets) {
  report_.items = sets.size();
  report_.threshold = static_cast<uint64_t>(query_.min_count.value_or(1));
  report_.method = "tiles";
  report_.reason = "nothing to count";

  std::vector<uint32_t> by_id(sets.size());
  std::iota(by_id.begin(), by_id.end(), 0);
  std::stable_sort(by_id.begin(), by_id.end(), [&](uint32_t x, uint32_t y) { return sets.id(x) < sets.id(y); });
  // From here on a set is called by its place in the order of ids, so that equal ids stay apart.
  std::vector<uint32_t> order;
  std::vector<uint32_t> name_of(sets.size());
  for (uint32_t name = 0; name < by_id.size(); ++name) {
    const SetView& set = sets[by_id[name]];
    ids_.push_back(sets.id(by_id[name]));
    name_of[by_id[name]] = name;
    if (set.cardinality() > UINT32_MAX)
      throw Error(ErrorCode::kTooLarge, "a set of " + std::to_string(set.cardinality()) + " elements is too large here",
                  "All pairs are counted over sets of at most 4294967295 elements.");
    if (set.cardinality() < report_.threshold) continue;
    order.push_back(by_id[name]);
    report_.occurrences += set.cardinality();
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t x, uint32_t y) { return sets[x].cardinality() < sets[y].cardinality(); });
  report_.items_kept = order.size();
  if (order.size() < 2) return;

  const Estimate expected = estimate(sets, order, options_.threads);
  const bool fits = expected.relation_bytes < options_.memory->available();
  const bool by_tiles = query_.by_tiles.value_or(!fits || expected.tiles_ms < 2 * expected.relation_ms);
  char reason[160];
  std::snprintf(reason, sizeof reason, "%sestimates: comparing in tiles %.*f ms, taking the sets apart %.*f ms%s",
                query_.by_tiles ? "asked for; " : "", expected.tiles_ms < 10 ? 1 : 0, expected.tiles_ms,
                expected.relation_ms < 10 ? 1 : 0, expected.relation_ms, fits ? "" : " (does not fit)");
  report_.reason = reason;
  if (by_tiles)
    count_tiles(std::move(sets), order, name_of);
  else
    count_relation(std::move(sets), order, name_of);
}

void AllPairsRun::count_tiles(SetCollection sets, const std::vector<uint32_t>& order, const std::vector<uint32_t>& name_of) {
  report_.kernel = query_.set_kernel->name;
  Buffer<int64_t> values(*options_.memory, order.size());
  for (size_t rank = 0; rank < order.size(); ++rank) values[rank] = name_of[order[rank]];
  answers_.emplace(
      std::make_unique<SetPairCounter>(std::move(sets), order, query_.min_jaccard.value_or(0), *query_.set_kernel, options_),
      std::move(values), selection(), options_);
}

void AllPairsRun::count_relation(SetCollection sets, const std::vector<uint32_t>& order,
                                 const std::vector<uint32_t>& name_of) {
  PairLog log(*options_.memory);
  for (const uint32_t set : order) {
    SetReader reader(sets[set], *query_.set_kernel);
    uint64_t chunk[kChunkElements];
    while (const size_t count = reader.next(chunk)) {
      options_.cancel.throw_if_requested();
      for (size_t i = 0; i < count; ++i) log.append(static_cast<int64_t>(chunk[i]), name_of[set]);
    }
  }
  log.seal();
  sets = SetCollection(*options_.memory);
  PairQuery pairs;
  pairs.min_count = static_cast<int64_t>(report_.threshold);
  pairs.kernel = query_.kernel;
  pairs.set_kernel = query_.set_kernel;
  pairs.min_jaccard = query_.min_jaccard;
  pairs.measure = selection().measure;
  pairs.top_k = query_.top_k;
  pairs.per_item_top_k = query_.per_item_top_k;
  pairs.max_results = query_.max_results;
  relation_run_.emplace(log.chunks(), std::span<const uint32_t>(), pairs, options_);
  const PairReport& report = relation_run_->report();
  report_.method = report.method;
  report_.kernel = report.kernel;
  report_.reason += "; " + report.reason;
  report_.transactions = report.transactions;
  report_.pair_instances = report.pair_instances;
}

bool AllPairsRun::next(std::vector<PairRow>& batch) {
  batch.clear();
  const Stopwatch watch;
  bool more = false;
  if (relation_run_) {
    more = relation_run_->next(batch);
    report_.results = relation_run_->report().results;
    report_.truncated = relation_run_->report().truncated;
  } else if (answers_) {
    more = answers_->next(batch);
    report_.results = answers_->results();
    report_.truncated = answers_->truncated();
  }
  for (PairRow& row : batch) {
    row.item_a = ids_[static_cast<size_t>(row.item_a)];
    row.item_b = ids_[static_cast<size_t>(row.item_b)];
  }
  report_.count_ms += watch.milliseconds();
  return more;
}

}  // namespace batmap
