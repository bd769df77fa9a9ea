// Chooses one of the ways and runs it. See all_pairs.h.
#include "pairs/all_pairs.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <numeric>
#include <span>
#include <string>
#include <utility>

#include "core/parameters.h"
#include "core/polled.h"
#include "core/stopwatch.h"
#include "core/thread_team.h"
#include "pairs/choose.h"
#include "pairs/counters/device_counter.h"
#include "pairs/counters/set_pair_counter.h"
#include "relation/row_log.h"
#include "set/set_decode.h"
#include "set/set_intersect.h"

namespace batmap {

struct AllPairsRun::Input {
  SetCollection sets;
  std::vector<uint32_t> order;  // the sets that are counted, by rising cardinality, then by id
  // [sets] position in the order of ids: the name of a set, so that sets with equal ids stay apart
  std::vector<uint32_t> name_of;
  int width = 0;  // that compact sets are prepared for, where they are compared
};

/// Expected milliseconds of each way, and whether it fits into memory.
struct AllPairsRun::Costs {
  double tiles = 0;
  double positional = 0;
  double relation = 0;
  double prefix = 0;
  double counted_rows = 0;  // of `positional`, without what it finds
  double row_words = 0;     // see PairJob
  double prepare_ms = 0;    // of `tiles`: compact sets become batmaps
  bool looked = false;      // the elements were looked at; if not, only tiles are known well
  bool tiles_fit = true;
  bool positional_fits = false;
  bool relation_fits = false;
  bool relation_may_spill = false;
  bool prefix_fits = false;    // and its cost is known
  uint64_t element_bound = 0;  // set if looked

  double of(AllPairsWay way) const {
    switch (way) {
      case AllPairsWay::kTiles: return tiles;
      case AllPairsWay::kPositional: return positional;
      case AllPairsWay::kRelation: return relation;
      case AllPairsWay::kPrefix: return prefix;
    }
    return tiles;
  }
  /// The cheapest way that fits. If none does, the relation in files or, without files, tiles.
  AllPairsWay best(bool with_relation) const {
    AllPairsWay best = with_relation && relation_may_spill ? AllPairsWay::kRelation : AllPairsWay::kTiles;
    bool any_fits = false;
    const auto consider = [&](AllPairsWay way, bool fits) {
      if (!fits || (any_fits && of(way) >= of(best))) return;
      best = way;
      any_fits = true;
    };
    consider(AllPairsWay::kTiles, tiles_fit);
    consider(AllPairsWay::kRelation, with_relation && relation_fits);
    consider(AllPairsWay::kPositional, positional_fits);
    consider(AllPairsWay::kPrefix, prefix_fits);
    return best;
  }
};

namespace {

// Nanoseconds of one thread with AVX2, from bench/set_bench.cpp.
constexpr double kComparedByte = 0.02;
constexpr double kComparison = 30;
constexpr double kPreparedElement = 60;  // to decode and place an element; an estimate
constexpr double kBoundElement = 3;      // to look for the largest element
constexpr double kDecodedElement = 8;    // to decode an element into bit rows: bits/
constexpr double kRowWord = 1;           // to clear a word
constexpr int kClearingThreads = 3;      // more do not clear memory faster: bench/gpu/sets.sql
// The same for rows larger than the caches, and the words of such rows that are added in a nanosecond.
constexpr uint64_t kFarBytes = uint64_t{64} << 20;
constexpr double kFarElement = 40;
constexpr double kFarWordsPerNs = 0.5;
constexpr double kCodedElement = 60;   // to decode, log and code an element
constexpr double kRankedElement = 60;  // to decode, rank and index an element: bench/similarity_join.cpp
constexpr double kFoundPair = 4;       // a pair with enough common elements, which is then tested for its Jaccard index
// The elements are ranked if the other ways take so many times as long: if that is of no use, little is lost.
constexpr double kRankingPays = 4;
constexpr uint64_t kBytesARow = 32;  // memory of a relation while it is counted

constexpr const char* kWayNames[kAllPairsWays] = {"tiles", "positional", "relation", "prefix"};  // [AllPairsWay]

/// All sets. @param id_of  the id of a set
template <typename IdOf>
std::vector<uint32_t> by_rising_id(size_t sets, const CancelToken& cancel, IdOf id_of) {
  std::vector<uint32_t> sorted(sets);
  std::iota(sorted.begin(), sorted.end(), 0);
  std::stable_sort(sorted.begin(), sorted.end(),
                   polled(cancel, [&](uint32_t x, uint32_t y) { return id_of(x) < id_of(y); }));
  return sorted;
}

/// A number that is larger than every element.
uint64_t element_bound(const SetCollection& sets, std::span<const uint32_t> order, const ExecutionOptions& options) {
  constexpr size_t kSetsATask = 64;
  std::vector<uint64_t> bounds((order.size() + kSetsATask - 1) / kSetsATask);
  parallel_for(options, bounds.size(), [&](size_t task, int) {
    for (size_t k = task * kSetsATask; k < std::min((task + 1) * kSetsATask, order.size()); ++k) {
      const SetView& set = sets[order[k]];
      const uint64_t bound =
          set.container() == Container::kBitmap ? set.bits() : set_max(set, options.cancel).value_or(0) + 1;
      bounds[task] = std::max(bounds[task], bound);
    }
  });
  return *std::ranges::max_element(bounds);
}

}  // namespace

std::optional<AllPairsWay> all_pairs_way(std::string_view name) {
  return parse_name_or_auto<AllPairsWay>("method", name, kWayNames);
}

void AllPairsQuery::check() const {
  if (!min_count && !min_jaccard && !top_k && !per_item_top_k)
    throw Error(ErrorCode::kInvalidParameter, "a threshold is missing",
                "Give min_count or min_jaccard, or ask for the best pairs with top_k or per_item_top_k.");
  require_fraction("min_jaccard", min_jaccard, "min_jaccard is a fraction; min_count takes a number of common elements.");
  PairQuery counts;  // has the checks of the other parameters
  counts.min_count = min_count.value_or(1);
  counts.top_k = top_k;
  counts.per_item_top_k = per_item_top_k;
  counts.max_results = max_results;
  counts.check();
}

PairMeasure AllPairsRun::measure() const { return query_.min_jaccard ? PairMeasure::kJaccard : PairMeasure::kSupport; }

PairSelection AllPairsRun::selection() const {
  return {.min_count = min_count_,
          .min_jaccard = query_.min_jaccard.value_or(0),
          .top_k = query_.top_k,
          .per_item_top_k = query_.per_item_top_k,
          .max_results = query_.max_results,
          .ranking = {.measure = measure()}};
}

AllPairsRun::AllPairsRun(const AllPairsQuery& query, const ExecutionOptions& options)
    : query_(query),
      options_(options),
      min_count_(static_cast<uint64_t>(query.min_count.value_or(1))),
      answers_(query.device) {
  query_.check();
  record_.answers = AnswerKind::kSetPairs;
}

AllPairsRun::AllPairsRun(SetCollection sets, const AllPairsQuery& query, const ExecutionOptions& options)
    : AllPairsRun(query, options) {
  const Stopwatch watch;
  prepare(std::move(sets));
  record_.group_ms = watch.milliseconds();
}

AllPairsRun::AllPairsRun(CollectedSets sets, const AllPairsQuery& query, const ExecutionOptions& options)
    : AllPairsRun(query, options) {
  const Stopwatch watch;
  if (sets.are_rows())
    prepare_rows(std::move(sets));
  else
    prepare(sets.take_sets());
  record_.group_ms = watch.milliseconds();
}

AllPairsRun::~AllPairsRun() = default;

/// The sets are rows (element, number) already.
void AllPairsRun::prepare_rows(CollectedSets given) {
  const std::span<const int64_t> ids = given.ids();
  const std::vector<uint32_t> by_id = by_rising_id(given.size(), options_.cancel, [&](uint32_t set) { return ids[set]; });
  name_of_number_ = Buffer<uint32_t>(*options_.memory, given.size());
  for (uint32_t name = 0; name < by_id.size(); ++name) {
    ids_.push_back(ids[by_id[name]]);
    name_of_number_[by_id[name]] = name;
  }
  record_.items = given.size();
  log_ = given.take_rows();
  record_.occurrences = log_->rows();
  record_.reason = "the sets are too large for memory";
  start_relation();
  record_.items_kept = relation_run_->record().items_kept;
  record_.file_bytes = relation_run_->record().file_bytes;
}

void AllPairsRun::prepare(SetCollection given) {
  record_.items = given.size();
  record_.method = kWayNames[0];
  record_.reason = "nothing to count";

  input_ = std::make_unique<Input>(Input{std::move(given), {}, {}, 0});
  const SetCollection& sets = input_->sets;
  std::vector<uint32_t>& order = input_->order;
  const std::vector<uint32_t> by_id = by_rising_id(sets.size(), options_.cancel, [&](uint32_t set) { return sets.id(set); });
  input_->name_of.resize(sets.size());
  for (uint32_t name = 0; name < by_id.size(); ++name) {
    const SetView& set = sets[by_id[name]];
    ids_.push_back(sets.id(by_id[name]));
    input_->name_of[by_id[name]] = name;
    if (set.cardinality() > UINT32_MAX)
      throw Error(ErrorCode::kTooLarge, "a set of " + std::to_string(set.cardinality()) + " elements is too large here",
                  "All pairs are counted over sets of at most 4294967295 elements.");
    if (set.cardinality() < min_count_) continue;
    order.push_back(by_id[name]);
    record_.occurrences += set.cardinality();
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t x, uint32_t y) { return sets[x].cardinality() < sets[y].cardinality(); });
  record_.items_kept = order.size();
  if (order.size() < 2) return;

  input_->width = common_width(sets, order);
  Costs costs = estimate();
  look_at_elements(costs);
  AllPairsWay way = choose(costs);
  if (way != AllPairsWay::kPrefix) prefix_.reset();
  if (!count_on_devices(costs, way)) count(way, costs.element_bound);
}

/// Tiles are known to the byte. The other ways depend on how the elements are spread. So the elements are
/// looked at only if tiles take longer than looking, or if devices are asked for. Some of the sets tell how often pairs
/// share an element. Frequent elements make the relation slow, because their pairs grow with the square; and they let most
/// pairs have something in common, which is not yet enough for a Jaccard index.
AllPairsRun::Costs AllPairsRun::estimate() const {
  const std::vector<uint32_t>& order = input_->order;
  const auto sets = static_cast<double>(order.size());
  const auto elements = static_cast<double>(record_.occurrences);
  const auto threads = static_cast<double>(options_.threads);
  Costs costs;
  double bytes = 0;
  double to_prepare = 0;  // elements
  double prepared_bytes = 0;
  double row_words = 0;
  for (size_t rank = 0; rank < order.size(); ++rank) {
    const SetView& set = input_->sets[order[rank]];
    bytes += compared_bytes(set, input_->width);
    if (set.is_compact()) prepared_bytes += compared_bytes(set, input_->width);
    if (set.is_compact() && container_for(set.cardinality(), input_->width) == Container::kBatmap)
      to_prepare += static_cast<double>(set.cardinality());
    row_words += static_cast<double>(set.cardinality()) * static_cast<double>((order.size() - rank) / 64 + 1);
  }
  costs.row_words = row_words;
  costs.prepare_ms = to_prepare * kPreparedElement / threads / 1e6;
  // Each set is in n - 1 pairs. Both sets of a pair are read.
  costs.tiles = (sets - 1) * (bytes * kComparedByte + sets / 2 * kComparison) / threads / 1e6 + costs.prepare_ms;
  const bool device_wanted = query_.device.offload != nullptr &&
                             (query_.device.mode == DeviceMode::kCuda || query_.device.mode == DeviceMode::kRequire);
  costs.looked = query_.way ? *query_.way != AllPairsWay::kTiles
                            : device_wanted || costs.tiles > elements * kBoundElement / threads / 1e6;
  if (costs.looked) {
    costs.element_bound = element_bound(input_->sets, order, options_);
    const uint64_t row_bytes = transaction_bits_bytes(order.size(), costs.element_bound, 0);
    const bool is_far = row_bytes > kFarBytes;
    const double words_per_ns = query_.kernels.bits->row_words_per_ns;
    const double clearing_ms =
        static_cast<double>(row_bytes) / 8 * kRowWord / std::min(options_.threads, kClearingThreads) / 1e6;
    costs.counted_rows = clearing_ms + (elements * (is_far ? kFarElement : kDecodedElement) +
                                        row_words / (is_far ? std::min(kFarWordsPerNs, words_per_ns) : words_per_ns)) /
                                           threads / 1e6;
  }
  const uint64_t left = options_.memory->available();
  costs.tiles_fit = prepared_bytes < static_cast<double>(left);
  costs.relation_may_spill = options_.files != nullptr;
  costs.positional_fits =
      costs.looked && costs.element_bound < UINT32_MAX && costs.element_bound < left / 8 &&
      transaction_bits_of_sets_bytes(order.size(), costs.element_bound, record_.occurrences, options_) < left;
  costs.relation_fits = record_.occurrences < left / kBytesARow;
  if (costs.looked) {
    set_counting_costs(costs, std::min(static_cast<double>(costs.element_bound), elements), sampled_pair_instances());
  } else {
    costs.relation = 2 * elements * kCodedElement / 1e6;  // counting takes at least as long again
  }
  return costs;
}

/// The number of pairs of sets that share an element, once for each element, from a part of the sets.
double AllPairsRun::sampled_pair_instances() const {
  constexpr uint64_t kSampledPart = 16;
  constexpr uint64_t kSampledElements = 1 << 16;
  const std::vector<uint32_t>& order = input_->order;
  const size_t step = std::max(kSampledPart, record_.occurrences / kSampledElements);
  GrowingBuffer<uint64_t> elements(*options_.memory);
  uint64_t sampled = 0;
  for (size_t rank = step / 2; rank < order.size(); rank += step, ++sampled) {
    SetReader reader(input_->sets[order[rank]], *query_.kernels.sets, options_.cancel);
    while (const size_t count = reader.next(elements.room(kChunkElements))) elements.add(count);
  }
  std::sort(elements.begin(), elements.end(), polled(options_.cancel, std::less<>()));
  double instances = 0;
  for (size_t first = 0, end = 0; first < elements.size(); first = end) {
    while (end < elements.size() && elements[end] == elements[first]) ++end;
    const auto frequency = static_cast<double>(end - first);
    instances += frequency * (frequency - 1) / 2;
  }
  const auto pairs = [](double sets) { return std::max(sets * (sets - 1) / 2, 1.0); };
  return instances * pairs(static_cast<double>(order.size())) / pairs(static_cast<double>(sampled));
}

/// The costs of the ways that count elements, each of which finds all pairs with min_count common elements.
/// @param tid_slots  number of distinct elements
void AllPairsRun::set_counting_costs(Costs& costs, double tid_slots, double pair_instances) const {
  PairJob job;
  job.items = job.leading = input_->order.size();
  job.tid_slots = static_cast<uint64_t>(tid_slots);
  job.occurrences = job.leading_occurrences = record_.occurrences;
  job.pair_instances = static_cast<uint64_t>(std::min(pair_instances, 0x1p62));
  job.min_count = min_count_;
  job.row_words = static_cast<uint64_t>(std::min(costs.row_words, 0x1p62));
  job.bitmap_words_per_ns = query_.kernels.bits->words_per_ns;
  job.positional_words_per_ns = query_.kernels.bits->row_words_per_ns;
  job.threads = options_.threads;
  job.memory_bytes = options_.memory->available();
  const PairChoice choice = choose_pair_method(job);
  const auto sets = static_cast<double>(job.items);
  const double found = std::min(sets * (sets - 1) / 2, pair_instances / static_cast<double>(min_count_));
  const double found_ms = found * kFoundPair / options_.threads / 1e6;
  costs.relation = static_cast<double>(record_.occurrences) * kCodedElement / 1e6 +
                   choice.estimates[static_cast<size_t>(choice.method)].milliseconds + found_ms;
  costs.positional = costs.counted_rows + found_ms;
}

/// Ranks the elements and makes the index of prefixes, if that takes much less time than the best of the other ways. How many
/// sets have each element is known then.
void AllPairsRun::look_at_elements(Costs& costs) {
  const auto elements = static_cast<double>(record_.occurrences);
  const double build_ms = elements * kRankedElement / 1e6;
  if (query_.way ? *query_.way != AllPairsWay::kPrefix
                 : !costs.looked || costs.of(costs.best(true)) < kRankingPays * build_ms)
    return;
  const uint64_t bytes =
      prefix_counter_bytes(input_->order.size(), record_.occurrences, costs.element_bound, options_.threads);
  if (!query_.way && bytes > options_.memory->available()) return;
  RankedSets ranked = rank_elements(input_->sets, input_->order, costs.element_bound, *query_.kernels.sets, options_);
  set_counting_costs(costs, static_cast<double>(ranked.frequencies.size()), ranked.pair_instances());
  prefix_ = std::make_unique<PrefixCounter>(std::move(ranked), min_count_, query_.min_jaccard.value_or(0), options_);
  if (query_.way) return;  // an estimate may take as long as counting
  costs.prefix = build_ms + prefix_->expected_ms() / options_.threads;
  costs.prefix_fits = true;
}

AllPairsWay AllPairsRun::choose(const Costs& costs) {
  // Each element up to the largest takes a row, and rows are counted in 32 bits.
  const bool is_too_large = query_.way == AllPairsWay::kPositional && !costs.positional_fits;
  char text[200];
  std::snprintf(text, sizeof text, "%sestimates: tiles %.3g ms, positional %s, relation %.3g ms%s, prefix %s",
                is_too_large ? "elements too large for positional; "
                : query_.way ? "asked for; "
                             : "",
                costs.tiles,
                !costs.looked            ? "not looked at"
                : !costs.positional_fits ? "does not fit"
                                         : (std::to_string(static_cast<int64_t>(costs.positional) + 1) + " ms").c_str(),
                costs.relation, costs.relation_fits ? "" : " (does not fit)",
                costs.prefix_fits    ? (std::to_string(static_cast<int64_t>(costs.prefix) + 1) + " ms").c_str()
                : prefix_ != nullptr ? "not estimated"
                                     : "not tried");
  record_.reason = text;
  return is_too_large ? AllPairsWay::kRelation : query_.way.value_or(costs.best(true));
}

/// @param way  the CPU's way; set to kRelation if devices are to count the rows of the relation
/// @return whether devices count the sets themselves
bool AllPairsRun::count_on_devices(const Costs& costs, AllPairsWay& way) {
  const auto elements = static_cast<double>(record_.occurrences);
  const DeviceUse& use = query_.device;
  DeviceSizes sizes{.items = input_->order.size(),
                    .leading = input_->order.size(),
                    .memory_limit = use.memory_limit,
                    .threads = options_.threads};
  if (query_.way.value_or(AllPairsWay::kTiles) == AllPairsWay::kTiles) {
    const BatmapSizes batmaps = batmap_sizes(input_->sets, input_->order, input_->width);
    sizes.batmap_bytes = batmaps.bytes;
    sizes.batmap_words = batmaps.words;
    sizes.prepare_ms = costs.prepare_ms;
  }
  if (costs.looked && costs.relation_fits && query_.way.value_or(AllPairsWay::kRelation) == AllPairsWay::kRelation) {
    sizes.tid_slots = std::min(costs.element_bound, record_.occurrences);
    sizes.rows = record_.occurrences;
    // As if all elements were in equally many sets.
    sizes.pair_instances =
        static_cast<uint64_t>(std::min(elements * elements / static_cast<double>(sizes.tid_slots) / 2, 1e18));
    sizes.host_ms = elements * kCodedElement / 1e6;
  }
  std::unique_ptr<PairCounter> counter = answers_.offload(
      costs.of(way),
      [&](std::span<const DeviceTraits> devices) {
        return choose_device(use.mode, sizes, devices, costs.of(way), std::nullopt);
      },
      [&](std::span<const DeviceTraits> devices, DeviceMethod method) -> std::unique_ptr<PairCounter> {
        if (method != DeviceMethod::kBatmap) {
          way = AllPairsWay::kRelation;
          return nullptr;
        }
        input_->sets.prepare(input_->order, input_->width, options_);
        return count_sets_on_devices(*use.offload, devices, use.memory_limit, input_->sets, input_->order, options_);
      },
      record_);
  if (!counter) return false;
  record_.method = kWayNames[static_cast<size_t>(AllPairsWay::kTiles)];
  resume_ = {costs.best(false), costs.element_bound};
  start(std::move(counter));
  return true;
}

void AllPairsRun::count(AllPairsWay way, uint64_t element_bound) {
  record_.method = kWayNames[static_cast<size_t>(way)];
  const std::vector<uint32_t>& order = input_->order;
  switch (way) {
    case AllPairsWay::kTiles:
      record_.kernel = query_.kernels.sets->name;
      input_->sets.prepare(order, input_->width, options_);
      start(count_set_tiles(std::move(input_->sets), order, query_.min_jaccard.value_or(0), *query_.kernels.sets, options_));
      break;
    case AllPairsWay::kPositional: {
      record_.kernel = query_.kernels.bits->name;
      TransactionBits form = transaction_bits_of_sets(input_->sets, order, element_bound, *query_.kernels.sets, options_);
      input_->sets = SetCollection(*options_.memory);
      const auto count = static_cast<uint32_t>(order.size());
      const uint64_t max_instances = record_.occurrences * count / 2;  // as if every element were in every set
      start(count_positionally(std::move(form), {.leading = count}, max_instances, *query_.kernels.bits, options_));
      break;
    }
    case AllPairsWay::kRelation: count_relation(); break;
    case AllPairsWay::kPrefix:
      record_.kernel.clear();
      if (!prefix_)
        prefix_ = std::make_unique<PrefixCounter>(
            rank_elements(input_->sets, order, element_bound, *query_.kernels.sets, options_), min_count_,
            query_.min_jaccard.value_or(0), options_);
      input_->sets = SetCollection(*options_.memory);
      start(std::move(prefix_));
      break;
  }
  input_.reset();
}

void AllPairsRun::start(std::unique_ptr<PairCounter> counter) {
  Buffer<int64_t> values(*options_.memory, input_->order.size());
  for (size_t rank = 0; rank < values.size(); ++rank) values[rank] = input_->name_of[input_->order[rank]];
  answers_.start(std::move(counter), std::move(values), selection(), options_);
}

void AllPairsRun::count_relation() {
  log_ = std::make_unique<RowLog>(options_);
  for (const uint32_t set : input_->order) {
    SetReader reader(input_->sets[set], *query_.kernels.sets);
    uint64_t chunk[kChunkElements];
    while (const size_t count = reader.next(chunk)) {
      options_.cancel.throw_if_requested();
      for (size_t i = 0; i < count; ++i) log_->append(static_cast<int64_t>(chunk[i]), input_->name_of[set]);
    }
  }
  log_->seal();
  input_->sets = SetCollection(*options_.memory);
  start_relation();
}

void AllPairsRun::start_relation() {
  PairQuery pairs;
  pairs.min_count = static_cast<int64_t>(min_count_);
  pairs.kernels = query_.kernels;
  pairs.device = query_.device;
  pairs.min_jaccard = query_.min_jaccard;
  if (query_.top_k || query_.per_item_top_k) pairs.measure = measure();
  pairs.top_k = query_.top_k;
  pairs.per_item_top_k = query_.per_item_top_k;
  pairs.max_results = query_.max_results;
  relation_run_.emplace(*log_, name_of_number_.span(), pairs, options_);
  const RunRecord& record = relation_run_->record();
  record_.reason += "; " + record.reason;
  record_.transactions = record.transactions;
  record_.pair_instances = record.pair_instances;
  follow_relation();
}

/// Copies what may change while a relation is counted.
void AllPairsRun::follow_relation() {
  const RunRecord& record = relation_run_->record();
  record_.method = record.method;
  record_.kernel = record.kernel;
  record_.device = record.device;
  if (!record.notice.empty()) record_.notice = record.notice;
  record_.results = record.results;
  record_.tasks = record.tasks;
  record_.tasks_done = record.tasks_done;
  record_.truncation = record.truncation;
  if (!relation_run_->needs_rows() && log_ && log_->partitions() == nullptr) log_.reset();
}

bool AllPairsRun::next(PairBatch& batch) {
  const Stopwatch watch;
  bool more = false;
  if (relation_run_) {
    more = relation_run_->next(batch);
    follow_relation();
  } else {
    more = answers_.next(batch, record_, [this] { count(resume_.way, resume_.element_bound); });
  }
  named_.clear();
  for (const ItemPair& pair : batch.pairs())
    named_.push_back({ids_[static_cast<size_t>(pair.item_a)], ids_[static_cast<size_t>(pair.item_b)], pair.support});
  batch = PairBatch(named_, batch.supports());
  record_.count_ms += watch.milliseconds();
  return more;
}

}  // namespace batmap
