// The steps of a run. See itemset_run.h.
#include "itemsets/itemset_run.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "core/falling_threshold.h"
#include "core/parameters.h"
#include "core/poll.h"
#include "core/stopwatch.h"
#include "itemsets/answers/best_itemsets.h"
#include "itemsets/itemset_parts.h"
#include "itemsets/search/bit_row_search.h"
#include "itemsets/search/breadth_first.h"
#include "itemsets/search/depth_first.h"
#include "itemsets/search/device_levels.h"
#include "itemsets/search/itemset_targets.h"
#include "itemsets/search/search_sample.h"
#include "itemsets/search/target_search.h"

namespace batmap {

namespace {

constexpr uint64_t kMaxRounds = 100'000;                                                    // of random ways
constexpr const char* kAlgorithmNames[kItemsetAlgorithms] = {"auto", "pbi", "tbi", "dfs"};  // [ItemsetAlgorithm]
constexpr const char* kTargetNames[] = {"all", "closed", "maximal", "generators"};          // [ItemsetTarget]

uint32_t clamped(const std::optional<int64_t>& value, uint32_t otherwise) {
  return value ? static_cast<uint32_t>(std::min<int64_t>(*value, UINT32_MAX)) : otherwise;
}

/// After restart(), skips as many steps as were passed on before it, then passes on the rest.
class RestartedSink final : public ItemsetSink {
 public:
  explicit RestartedSink(ItemsetSink& sink) : sink_(sink) {}
  void restart() {
    skip_ = taken_;
    taken_ = 0;
  }
  void take(std::span<const ItemsetStep> steps) override {
    const uint64_t known = skip_ > taken_ ? std::min<uint64_t>(skip_ - taken_, steps.size()) : 0;
    taken_ += steps.size();
    if (known < steps.size()) sink_.take(steps.subspan(known));
  }

 private:
  ItemsetSink& sink_;
  uint64_t taken_ = 0;
  uint64_t skip_ = 0;
};

/// Passes steps to a visitor, one by one.
class StepVisits final : public ItemsetSink {
 public:
  explicit StepVisits(ItemsetVisitor& visitor) : visitor_(visitor) {}
  void take(std::span<const ItemsetStep> steps) override {
    for (const ItemsetStep& step : steps) visitor_.visit(step.item, step.length, step.support);
  }

 private:
  ItemsetVisitor& visitor_;
};

}  // namespace

void ItemsetQuery::check() const {
  require_one_threshold(min_count, "min_support", min_support,
                        "Give the threshold either as a number of transactions or as a fraction of them.");
  if (!min_count && !min_support && !top_k)
    throw Error(ErrorCode::kInvalidParameter, "a threshold is missing",
                "Give min_count or min_support, or ask for the best itemsets with top_k.");
  require_at_least("min_count", min_count, 1);
  require_fraction("min_support", min_support,
                   "min_support is a fraction of the transactions; min_count takes a number of them.");
  require_fraction("max_support", max_support, "max_support is a fraction of the transactions.");
  require_at_least("min_length", min_length, 1);
  require_at_least("max_length", max_length, 1);
  require_at_least("top_k", top_k, 1);
  require_at_least("max_results", max_results, 1);
  require_timeout(timeout_ms);
  if (min_length && max_length && *min_length > *max_length)
    throw Error(ErrorCode::kInvalidParameter,
                "min_length " + std::to_string(*min_length) + " is above max_length " + std::to_string(*max_length));
}

ItemsetAlgorithm parse_itemset_algorithm(const std::string& name) {
  return parse_name<ItemsetAlgorithm>("algorithm", name, kAlgorithmNames);
}

ItemsetTarget parse_itemset_target(const std::string& name) {
  return parse_name<ItemsetTarget>("target", name, kTargetNames);
}

ItemsetRun::ItemsetRun(const ItemsetQuery& query, const ExecutionOptions& options)
    : query_(query), options_(options), root_(*options.memory), session_(query.device, 1) {
  query_.check();
  record_.answers = AnswerKind::kItemsets;
  if (query_.kernel == nullptr) query_.kernel = &select_mask_kernel("auto");
  if (query_.bits == nullptr) query_.bits = &best_and_popcount();
  const bool on_masks = query_.algorithm == ItemsetAlgorithm::kAuto;
  record_.method = on_masks ? "depth first" : kAlgorithmNames[static_cast<size_t>(query_.algorithm)];
  record_.kernel = on_masks ? query_.kernel->name : query_.bits->name;
  lengths_ = {clamped(query_.min_length, 1), clamped(query_.max_length, UINT32_MAX)};
}

ItemsetRun::ItemsetRun(std::vector<ChunkView> chunks, std::span<const uint32_t> item_rank, const ItemsetQuery& query,
                       const ExecutionOptions& options)
    : ItemsetRun(query, options) {
  const Stopwatch watch;
  group(std::move(chunks), item_rank);
  record_.group_ms = watch.milliseconds();
}

ItemsetRun::ItemsetRun(const RowLog& log, std::span<const uint32_t> item_rank, const ItemsetQuery& query,
                       const ExecutionOptions& options)
    : ItemsetRun(query, options) {
  const Stopwatch watch;
  if (log.partitions() == nullptr)
    group(log.chunks(), item_rank);
  else
    group_parts(*log.partitions(), item_rank);
  record_.group_ms = watch.milliseconds();
}

ItemsetRun::ItemsetRun(const std::byte* counts, const ItemsetQuery& query, const ExecutionOptions& options)
    : ItemsetRun(query, options) {
  const Stopwatch watch;
  KnownItemsets known = known_itemsets(counts, query_, options_);
  if (begin(known.transactions, known.items)) set_known(std::move(known));
  site_.method = record_.method = "stored";
  site_.kernel = record_.kernel = "";
  record_.reason = "counts are read, not counted";
  record_.group_ms = watch.milliseconds();
}

/// @return whether anything can be an answer
bool ItemsetRun::begin(uint64_t transactions, uint64_t items) {
  record_.transactions = transactions;
  record_.items = items;
  min_count_ = query_.min_count_among(transactions);
  if (min_count_ > transactions) return false;
  bounds_.min_count = static_cast<uint32_t>(min_count_);
  if (query_.max_support) max_support_ = static_cast<uint32_t>(max_count_of_fraction(*query_.max_support, transactions));
  return true;
}

void ItemsetRun::group(std::vector<ChunkView> chunks, std::span<const uint32_t> item_rank) {
  const EncodedRelation relation(std::move(chunks), item_rank, options_);
  record_.most_item_rows = relation.most_item_rows();
  if (begin(relation.transactions(), relation.items())) {
    const ItemFilter filter{
        .min_rows = min_count_, .include = query_.include, .exclude = query_.exclude, .only = query_.only};
    const KeptItems kept = keep_items(relation, filter, options_);
    values_ = Buffer<int64_t>(*options_.memory, kept.size);
    for (uint32_t rank = 0; rank < kept.size; ++rank) values_[rank] = relation.item_value(kept.code(Rank{rank}));
    const bool is_chosen = query_.algorithm == ItemsetAlgorithm::kAuto && query_.target != ItemsetTarget::kAll;
    root_ = build_search_root(relation, kept, min_count_, !is_chosen, options_);
    record_.items_kept = root_.items.size() + root_.perfect.size();
    record_.occurrences = kept.occurrences;
    if (is_chosen && !root_.as_masks) occurrences_ = OccurrenceLists(root_.lists, root_.first_masked, options_);
    record_.distinct_transactions = root_.as_masks ? root_.masks.size() : root_.lists.transactions().size();
    const Stopwatch choosing;
    choose_device();
    record_.choice_ms = choosing.milliseconds();
  }
  record_.reason = std::to_string(record_.distinct_transactions) + " distinct transactions, threshold " +
                   std::to_string(min_count_) + (record_.reason.empty() ? "" : "; ") + record_.reason;
  site_.method = record_.method;
  site_.kernel = record_.kernel;
}

void ItemsetRun::group_parts(const RowPartitions& rows, std::span<const uint32_t> item_rank) {
  session_.refuse_files();
  ItemsetParts parts(rows, item_rank, options_);
  record_.most_item_rows = parts.most_item_rows();
  site_.method = record_.method;
  site_.kernel = record_.kernel;
  record_.file_bytes = parts.file_bytes();
  if (!begin(parts.transactions(), parts.items())) return;
  if (!query_.top_k) {
    set_known(parts.find(query_, min_count_));
  } else {
    // As in search_chosen(): the threshold falls until there are enough answers.
    const bool is_maximal = query_.target == ItemsetTarget::kMaximal;
    const uint64_t first = is_maximal ? min_count_ : parts.transactions();
    FallingThreshold threshold(static_cast<uint64_t>(*query_.top_k), first, min_count_);
    do {
      min_count_ = threshold.min_count();
      set_known(parts.find(query_, min_count_));
    } while (threshold.falls_after(count_best()));
  }
  record_.items_kept = known_->values.size();
  record_.occurrences = parts.occurrences();
  record_.reason = rows_in_files(record_.file_bytes, parts.parts(), "searched") + ", " + std::to_string(parts.candidates()) +
                   " candidates, threshold " + std::to_string(min_count_);
}

void ItemsetRun::set_known(KnownItemsets known) {
  known_.emplace(std::move(known));
  values_ = std::move(known_->values);
  root_.transactions = static_cast<uint32_t>(known_->transactions);
  root_.leading = root_.leading_ranks = known_->leading;
  bounds_.min_count = static_cast<uint32_t>(min_count_);
  record_.items_kept = values_.size();
}

ExecutionSite ItemsetRun::site() const {
  const std::lock_guard lock(site_mutex_);
  return site_;
}

RunRecord ItemsetRun::record() const {
  RunRecord record = record_;
  static_cast<ExecutionSite&>(record) = site();
  record.levels = levels_.record();
  return record;
}

ItemsetAlgorithm ItemsetRun::algorithm() const {
  return on_device() && query_.algorithm == ItemsetAlgorithm::kAuto ? ItemsetAlgorithm::kPbi : query_.algorithm;
}

/// Begins on a device, if one is to search.
void ItemsetRun::choose_device() {
  if (!session_.is_possible() || root_.items.empty()) return;
  if (query_.algorithm == ItemsetAlgorithm::kAuto && query_.target == ItemsetTarget::kGenerators && !query_.top_k) {
    // Generators come in the order of TargetSearch, which a device does not have.
    if (session_.is_required())
      throw Error(ErrorCode::kInvalidParameter, "algorithm \"auto\" does not look for generators on a GPU",
                  "Algorithms that do: pbi, tbi, dfs.");
    return;
  }
  const DeviceUse& use = session_.use();
  const ItemsetJob job{.algorithm = query_.algorithm,
                       .transactions = record_.transactions,
                       .distinct_transactions = record_.distinct_transactions,
                       .occurrences = record_.occurrences,
                       .items = root_.items.size(),
                       .leading = root_.leading,
                       .memory_limit = use.memory_limit,
                       .row_words_per_ns = query_.bits->row_words_per_ns,
                       .threads = options_.threads};
  if (use.mode == DeviceMode::kAuto) {
    if (query_.top_k || !may_pay_on_a_device(job, session_.has_loaded())) return;
    const bool is_auto = query_.algorithm == ItemsetAlgorithm::kAuto;
    if (is_auto && (query_.max_results || query_.timeout_ms)) return;  // pbi answers only at its end
    if (is_auto && query_.target != ItemsetTarget::kAll) return;
  }
  // A sample is made once: what the policy says does not depend on rates that a device measures when it wakes.
  std::optional<DeviceVerdict> verdict;
  const auto ask = [&](std::span<const DeviceTraits> devices) {
    if (verdict) return *verdict;
    const auto goes_on = [&](const SearchOutline& known, double sample_ns) {
      return should_sample_on(job, known, sample_ns, devices[0]);
    };
    SearchOutline outline;
    if (use.mode == DeviceMode::kAuto)
      outline = sample_search(root_, bounds_.threshold(), lengths_.max, goes_on, *query_.bits, options_);
    return *(verdict = choose_row_search(use.mode, row_search_sizes(job, outline), devices[0],
                                         estimate_search_here(job, outline)));
  };
  // The rows are sent when the search begins. Above, the occurrences have shown whether the module should be loaded.
  began_on_device_ = session_.offer(kWorthLoadingMs, ask, [](std::span<const DeviceTraits>) { return true; });
  if (verdict) record_.reason = verdict->reason;
  site_.notice = session_.notice();
  if (!began_on_device_) return;
  record_.method = kAlgorithmNames[static_cast<size_t>(algorithm())];
  record_.kernel = "popc";
  site_.device = session_.device();
}

std::unique_ptr<RowLevels> ItemsetRun::rows(const ExecutionOptions& options) const {
  WeightedBits bits(root_, *query_.bits, options);
  if (!on_device()) return std::make_unique<HostLevels>(std::move(bits), options);
  const DeviceLevelJob job{.device = session_.devices()[0].index,
                           .memory_limit = session_.use().memory_limit,
                           .prunes = algorithm() == ItemsetAlgorithm::kPbi};
  return rows_on_device(session_.api(), job, bits, options);
}

bool ItemsetRun::wanted(uint32_t length, uint32_t support) const {
  return length >= lengths_.min && length <= lengths_.max && support <= max_support_;
}

size_t ItemsetRun::branches() const {
  const bool independent = query_.target == ItemsetTarget::kAll || query_.target == ItemsetTarget::kClosed;
  return is_streamed() && independent && !root_.is_leaf() ? std::max<size_t>(1, root_.leading) : 1;
}

ItemsetRun::Searcher ItemsetRun::searcher(ItemsetVisitor& visitor, const ExecutionOptions& options) {
  const auto by_branch = [whole = branches() == 1, leading = root_.leading](auto search) {
    return [=](size_t branch) {
      const auto first = static_cast<uint32_t>(branch);
      search->search(RootItem{first}, RootItem{whole ? leading : first + 1});
    };
  };
  if (query_.target == ItemsetTarget::kAll)
    return by_branch(
        std::make_shared<DepthFirst>(root_, bounds_, lengths_.max, *query_.kernel, *query_.bits, visitor, options));
  const TargetSearchInput input{root_, occurrences_, bounds_, lengths_.max, *query_.kernel, *query_.bits, visitor, options};
  return by_branch(std::shared_ptr<TargetSearch>(make_target_search(query_.target, input)));
}

ItemsetRun::Searcher ItemsetRun::searcher(ItemsetSink& sink, const ExecutionOptions& options) {
  if (!is_streamed()) return [this, &sink, &options](size_t) { search_anywhere(sink, options); };
  const auto writer = std::make_shared<ItemsetWriter>(sink, lengths_, max_support_, bounds_, options);
  return [writer, search = searcher(*writer, options)](size_t branch) {
    search(branch);
    writer->flush();
  };
}

void ItemsetRun::restart() {
  bounds_.min_count = static_cast<uint32_t>(min_count_);
  bounds_.longest_tie = UINT32_MAX;
  levels_.clear();
}

void ItemsetRun::search(ItemsetSink& sink) {
  const Searcher search = searcher(sink, options_);
  for (size_t branch = 0; branch < branches(); ++branch) search(branch);
}

void ItemsetRun::search(ItemsetVisitor& visitor) {
  if (is_streamed() && lengths_.min <= 1 && lengths_.max == UINT32_MAX && max_support_ == UINT32_MAX) {
    const Searcher search = searcher(visitor, options_);
    for (size_t branch = 0; branch < branches(); ++branch) search(branch);
  } else {
    StepVisits steps(visitor);
    search(steps);
  }
}

/// Hands over the known itemsets that are frequent, as a search does.
/// @param leading  itemsets begin with one of the first so many ranks
void ItemsetRun::select_known(ItemsetSink& sink, const ItemsetLengths& lengths, uint32_t max_support, uint32_t leading,
                              const ExecutionOptions& options) {
  ItemsetWriter writer(sink, lengths, max_support, bounds_, options);
  Poll poll(options.cancel);
  std::vector<Rank> path;
  size_t written = 0;  // items of the path whose steps are written
  for (const ItemsetStep& step : known_->steps.span()) {
    poll.after(8);
    path.resize(step.length - 1);
    path.push_back(step.item);
    written = std::min<size_t>(written, step.length - 1);
    if (step.support == 0 || !bounds_.reaches(step.length, step.support) || step.length > lengths.max ||
        index_of(path.front()) >= leading)
      continue;
    for (; written + 1 < step.length; ++written) writer.visit(path[written], static_cast<uint32_t>(written + 1), 0);
    writer.visit(step.item, step.length, step.support);
    ++written;
  }
  writer.flush();
}

void ItemsetRun::search_papers(ItemsetSink& sink, const ItemsetLengths& lengths, uint32_t max_support, uint32_t leading,
                               const ExecutionOptions& options) {
  if (known_) return select_known(sink, lengths, max_support, leading, options);
  ItemsetWriter writer(sink, lengths, max_support, bounds_, options);
  const std::unique_ptr<RowLevels> levels = rows(options);
  if (algorithm() == ItemsetAlgorithm::kDfs) {
    search_bit_rows(root_, leading, bounds_, lengths.max, *levels, writer);
  } else {
    const ItemsetLookup lookup = algorithm() == ItemsetAlgorithm::kPbi ? ItemsetLookup::kBitmaps : ItemsetLookup::kTrie;
    BreadthFirst(root_, bounds_, lengths.max, lookup, *levels, writer, levels_, options).search(leading);
  }
  writer.flush();
}

void ItemsetRun::search_target(ItemsetSink& sink, const ExecutionOptions& options) {
  if (algorithm() == ItemsetAlgorithm::kAuto && !known_) {
    ItemsetWriter writer(sink, lengths_, max_support_, bounds_, options);
    const Searcher search = searcher(writer, options);
    search(0);
    return writer.flush();
  }
  if (query_.target == ItemsetTarget::kAll) return search_papers(sink, lengths_, max_support_, root_.leading, options);
  // Whether an itemset is closed or maximal depends on longer itemsets; for generators the shorter ones are enough.
  const bool shorter_ones_do = query_.target == ItemsetTarget::kGenerators;
  // Subsets of an answer may lack the included items; supersets have them.
  const auto all = static_cast<uint32_t>(known_ ? values_.size() : root_.items.size());
  const uint32_t leading = shorter_ones_do ? all : root_.leading;
  TargetSink chosen(query_.target, root_.transactions, options);
  search_papers(chosen, {1, shorter_ones_do ? lengths_.max : UINT32_MAX}, UINT32_MAX, leading, options);
  chosen.hand_over(sink, [this](Rank first, uint32_t length, uint32_t support) {
    return (index_of(first) < root_.leading_ranks || !root_.perfect.empty()) && wanted(length, support);
  });
}

/// Searches on the device, if there is one. After an error of the device, searches on the CPU from the start:
/// both give the answers in one order, so those already handed over are skipped.
void ItemsetRun::search_anywhere(ItemsetSink& sink, const ExecutionOptions& options) {
  if (!on_device()) return search_chosen(sink, options);
  RestartedSink out(sink);
  if (session_.go_on([&] { search_chosen(out, options); })) return;
  {
    const std::lock_guard lock(site_mutex_);
    const bool is_auto = algorithm() == ItemsetAlgorithm::kAuto;
    site_.method = is_auto ? "depth first" : kAlgorithmNames[static_cast<size_t>(algorithm())];
    site_.kernel = is_auto ? query_.kernel->name : query_.bits->name;
    site_.device = session_.device();
    site_.notice = session_.notice();
  }
  restart();
  out.restart();
  search_chosen(out, options);
}

void ItemsetRun::search_chosen(ItemsetSink& sink, const ExecutionOptions& options) {
  if (!query_.top_k) return search_target(sink, options);
  // Which itemsets are maximal depends on the threshold, so that target has the lowest one at once.
  const bool is_maximal = query_.target == ItemsetTarget::kMaximal;
  const auto k = static_cast<uint64_t>(*query_.top_k);
  FallingThreshold threshold(k, is_maximal ? min_count_ : root_.transactions, min_count_);
  SearchBounds unheeded;
  std::optional<BestItemsets> best;
  do {
    bounds_.min_count = static_cast<uint32_t>(threshold.min_count());
    best.emplace(k, values_.span(), is_maximal ? unheeded : bounds_, options);
    search_target(*best, options);
  } while (threshold.falls_after(best->size()));
  best->hand_over(sink);
  bounds_.min_count = static_cast<uint32_t>(min_count_);
  bounds_.longest_tie = UINT32_MAX;
}

/// The number of answers among the known itemsets, up to top_k.
uint64_t ItemsetRun::count_best() {
  SearchBounds unheeded;
  BestItemsets best(static_cast<uint64_t>(*query_.top_k), values_.span(), unheeded, options_);
  search_target(best, options_);
  return best.size();
}

GrowingBuffer<SpectrumRow> ItemsetRun::spectrum() {
  ItemsetSpectrum spectrum(*options_.memory);
  if (is_streamed()) {
    SpectrumVisitor visitor(spectrum, lengths_, max_support_);
    const Searcher search = searcher(visitor, options_);
    for (size_t branch = 0; branch < branches(); ++branch) search(branch);
  } else {
    SpectrumSink sink(spectrum);
    search(sink);
  }
  return spectrum.rows(options_.cancel);
}

ItemsetForecast ItemsetRun::forecast(double milliseconds) {
  struct Deadline {
    CancelToken cancel;
    double milliseconds;
    Stopwatch watch = {};
    bool is_over() const { return watch.milliseconds() >= milliseconds; }
  };
  const Deadline half{options_.cancel, milliseconds / 2};
  ExecutionOptions options = options_;
  options.cancel = {[](void* arg) {
                      const auto* const deadline = static_cast<const Deadline*>(arg);
                      return deadline->is_over() || deadline->cancel.requested();
                    },
                    const_cast<Deadline*>(&half)};
  try {
    ItemsetSpectrum spectrum(*options_.memory);
    SpectrumVisitor visitor(spectrum, lengths_, max_support_);
    DepthFirst(root_, bounds_, lengths_.max, *query_.kernel, *query_.bits, visitor, options)
        .search(RootItem{0}, RootItem{root_.leading});
    ItemsetForecast exact;
    for (const SpectrumRow& row : spectrum.rows(options_.cancel)) exact.itemsets += static_cast<double>(row.itemsets);
    return exact;
  } catch (const Error& error) {
    const bool too_many = error.code() == ErrorCode::kTooLarge;
    const bool too_slow = error.code() == ErrorCode::kCancelled && !options_.cancel.requested();
    if (!too_many && !too_slow) throw;
  }
  RandomWays ways(root_, bounds_.threshold(), lengths_, max_support_, options_);
  const Stopwatch watch;
  while (ways.rounds() < 2 || (ways.rounds() < kMaxRounds && watch.milliseconds() < milliseconds / 2)) ways.round();
  return ways.forecast();
}

}  // namespace batmap
