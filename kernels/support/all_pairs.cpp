// Choosing and running one of the ways. See all_pairs.h.
#include "support/all_pairs.h"

#include <algorithm>
#include <cstdio>
#include <numeric>

#include "core/stopwatch.h"
#include "relation/pair_log.h"
#include "set/set_decode.h"
#include "support/choose.h"
#include "support/set_pair_counter.h"

namespace batmap {

struct AllPairsRun::Input {
  SetCollection sets;
  std::vector<uint32_t> order;    // of the sets that are counted, by rising cardinality, then by id
  std::vector<uint32_t> name_of;  // [sets] place in the order of ids: what a set is called, so that equal ids stay apart
};

namespace {

// Nanoseconds, one thread, AVX2: bench/set_bench.cpp.
constexpr double kComparedByte = 0.02;
constexpr double kComparison = 30;
constexpr double kBoundElement = 3;    // looking for the largest
constexpr double kPlacedElement = 10;  // read out of its set into bit rows
constexpr double kCodedElement = 60;   // read out of its set, logged and coded
constexpr uint64_t kBytesARow = 32;    // of a relation while it is counted

constexpr const char* kWayNames[kAllPairsWays] = {"tiles", "positional", "relation"};

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

PairMeasure AllPairsRun::measure() const { return query_.min_jaccard ? PairMeasure::kJaccard : PairMeasure::kSupport; }

PairSelection AllPairsRun::selection() const {
  return {.threshold = report_.threshold,
          .min_jaccard = query_.min_jaccard.value_or(0),
          .top_k = query_.top_k,
          .per_item_top_k = query_.per_item_top_k,
          .max_results = query_.max_results,
          .ranking = {.measure = measure()}};
}

AllPairsRun::AllPairsRun(SetCollection sets, const AllPairsQuery& query, const ExecutionOptions& options)
    : query_(query), options_(options) {
  query_.check();
  const Stopwatch watch;
  prepare(std::move(sets));
  report_.group_ms = watch.milliseconds();
}

void AllPairsRun::prepare(SetCollection given) {
  report_.items = given.size();
  report_.threshold = static_cast<uint64_t>(query_.min_count.value_or(1));
  report_.method = kWayNames[0];
  report_.reason = "nothing to count";

  Input input{std::move(given), {}, {}};
  const SetCollection& sets = input.sets;
  std::vector<uint32_t> by_id(sets.size());
  std::iota(by_id.begin(), by_id.end(), 0);
  std::stable_sort(by_id.begin(), by_id.end(), [&](uint32_t x, uint32_t y) { return sets.id(x) < sets.id(y); });
  input.name_of.resize(sets.size());
  for (uint32_t name = 0; name < by_id.size(); ++name) {
    const SetView& set = sets[by_id[name]];
    ids_.push_back(sets.id(by_id[name]));
    input.name_of[by_id[name]] = name;
    if (set.cardinality() > UINT32_MAX)
      throw Error(ErrorCode::kTooLarge, "a set of " + std::to_string(set.cardinality()) + " elements is too large here",
                  "All pairs are counted over sets of at most 4294967295 elements.");
    if (set.cardinality() < report_.threshold) continue;
    input.order.push_back(by_id[name]);
    report_.occurrences += set.cardinality();
  }
  std::stable_sort(input.order.begin(), input.order.end(),
                   [&](uint32_t x, uint32_t y) { return sets[x].cardinality() < sets[y].cardinality(); });
  report_.items_kept = input.order.size();
  if (input.order.size() < 2) return;

  uint64_t element_bound = 0;
  const AllPairsWay way = choose(input, element_bound);
  report_.method = kWayNames[static_cast<size_t>(way)];
  if (way == AllPairsWay::kRelation) {
    count_relation(std::move(input));
    return;
  }
  Buffer<int64_t> values(*options_.memory, input.order.size());
  for (size_t rank = 0; rank < input.order.size(); ++rank) values[rank] = input.name_of[input.order[rank]];
  std::unique_ptr<PairCounter> counter;
  if (way == AllPairsWay::kTiles) {
    report_.kernel = query_.kernels.sets->name;
    counter =
        count_set_tiles(std::move(input.sets), input.order, query_.min_jaccard.value_or(0), *query_.kernels.sets, options_);
  } else {
    report_.kernel = query_.kernels.bits->name;
    TransactionBits form = transaction_bits_of_sets(sets, input.order, element_bound, *query_.kernels.sets, options_);
    const auto count = static_cast<uint32_t>(input.order.size());
    input.sets = SetCollection(*options_.memory);
    counter = count_positionally(std::move(form), {.leading = count}, *query_.kernels.bits, options_);
  }
  answers_.emplace(std::move(counter), std::move(values), selection(), options_);
}

/// Tiles are known to the byte. The other two depend on how the elements are spread, so they are looked at only where
/// tiles take longer than looking, and the relation, whose sizes are known only when it is there, last.
AllPairsWay AllPairsRun::choose(const Input& input, uint64_t& element_bound) {
  const auto sets = static_cast<double>(input.order.size());
  const auto elements = static_cast<double>(report_.occurrences);
  const auto threads = static_cast<double>(options_.threads);
  double bytes = 0;
  double row_words = 0;
  for (size_t rank = 0; rank < input.order.size(); ++rank) {
    const SetView& set = input.sets[input.order[rank]];
    bytes += compared_bytes(set);
    row_words += static_cast<double>(set.cardinality()) * static_cast<double>((input.order.size() - rank) / 64 + 1);
  }
  // Of n (n - 1) / 2 pairs every set is in n - 1; both sides are read.
  const double tiles = (sets - 1) * (bytes * kComparedByte + sets / 2 * kComparison) / threads / 1e6;
  const double relation = 2 * elements * kCodedElement / 1e6;  // and as much again for counting
  double positional = 0;
  const bool look = query_.way ? *query_.way == AllPairsWay::kPositional : tiles > elements * kBoundElement / 1e6;
  if (look) {
    for (const uint32_t set : input.order) {
      options_.cancel.throw_if_requested();
      const SetView& view = input.sets[set];
      element_bound =
          std::max(element_bound, view.container() == Container::kBitmap ? view.universe()
                                                                         : set_max(view, options_.cancel).value_or(0) + 1);
    }
    positional = (elements * kPlacedElement + row_words / query_.kernels.bits->row_words_per_ns) / threads / 1e6;
  }
  const uint64_t left = options_.memory->available();
  const bool positional_fits =
      look && element_bound < UINT32_MAX && element_bound < left / 8 &&
      transaction_bits_of_sets_bytes(input.order.size(), element_bound, report_.occurrences, options_) < left;
  const bool relation_fits = report_.occurrences < left / kBytesARow;

  AllPairsWay way = AllPairsWay::kTiles;
  if (query_.way) {
    way = *query_.way;
  } else if (positional_fits && positional < tiles && positional < relation) {
    way = AllPairsWay::kPositional;
  } else if (relation_fits && relation < tiles) {
    way = AllPairsWay::kRelation;
  }
  char text[200];
  std::snprintf(text, sizeof text, "%sestimates: tiles %.3g ms, positional %s, relation %.3g ms%s",
                query_.way ? "asked for; " : "", tiles,
                !look              ? "not looked at"
                : !positional_fits ? "does not fit"
                                   : (std::to_string(static_cast<int64_t>(positional) + 1) + " ms").c_str(),
                relation, relation_fits ? "" : " (does not fit)");
  report_.reason = text;
  return way;
}

void AllPairsRun::count_relation(Input input) {
  PairLog log(*options_.memory);
  for (const uint32_t set : input.order) {
    SetReader reader(input.sets[set], *query_.kernels.sets);
    uint64_t chunk[kChunkElements];
    while (const size_t count = reader.next(chunk)) {
      options_.cancel.throw_if_requested();
      for (size_t i = 0; i < count; ++i) log.append(static_cast<int64_t>(chunk[i]), input.name_of[set]);
    }
  }
  log.seal();
  input.sets = SetCollection(*options_.memory);
  PairQuery pairs;
  pairs.min_count = static_cast<int64_t>(report_.threshold);
  pairs.kernels = query_.kernels;
  pairs.min_jaccard = query_.min_jaccard;
  if (query_.top_k || query_.per_item_top_k) pairs.measure = measure();
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
    report_.tasks = relation_run_->report().tasks;
    report_.tasks_done = relation_run_->report().tasks_done;
    report_.truncated = relation_run_->report().truncated;
  } else if (answers_) {
    more = answers_->next(batch);
    report_.results = answers_->results();
    report_.tasks = answers_->tasks();
    report_.tasks_done = answers_->tasks_done();
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
