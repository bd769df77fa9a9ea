// The steps of a pair-support run. See pair_run.h.
#include "pairs/pair_run.h"

#include <algorithm>
#include <cstdio>
#include <ranges>
#include <utility>

#include "core/parameters.h"
#include "core/stopwatch.h"
#include "pairs/counters/device_counter.h"
#include "relation/repeated_rows.h"

namespace batmap {

void PairQuery::check() const {
  require_one_threshold(min_count, "min_support", min_support,
                        "Give the threshold either as a number of transactions or as a fraction of them.");
  if (!min_count && !min_support && !top_k && !per_item_top_k)
    throw Error(ErrorCode::kInvalidParameter, "a threshold is missing",
                "Give min_count or min_support, or ask for the best pairs with top_k or per_item_top_k.");
  require_at_least("min_count", min_count, 1);
  require_fraction("min_support", min_support,
                   "min_support is a fraction of the transactions; min_count takes a number of them.");
  require_at_least("top_k", top_k, 1);
  require_at_least(partners ? "top_k" : "per_item_top_k", per_item_top_k, 1);
  require_at_least("max_results", max_results, 1);
  if (distinct_only && (top_k || per_item_top_k))
    throw Error(ErrorCode::kInvalidParameter, "distinct_only and the best pairs exclude each other",
                "The best pairs are found by their supports: leave distinct_only away.");
}

std::optional<PairMethod> parse_pair_method(const std::string& name) {
  return parse_name_or_auto<PairMethod>("method", name, std::views::transform(kPairMethodNames, &PairMethodName::name));
}

PairRun::PairRun(std::vector<ChunkView> chunks, std::span<const uint32_t> item_rank, const PairQuery& query,
                 const ExecutionOptions& options)
    : query_(query), options_(options), answers_(query.device) {
  query_.check();
  const Stopwatch watch;
  group(std::move(chunks), item_rank);
  record_.group_ms = watch.milliseconds();
}

PairRun::PairRun(const RowLog& log, std::span<const uint32_t> item_rank, const PairQuery& query,
                 const ExecutionOptions& options)
    : query_(query), options_(options), answers_(query.device) {
  query_.check();
  const Stopwatch watch;
  if (log.partitions() == nullptr)
    group(log.chunks(), item_rank);
  else
    group_spilled(*log.partitions(), item_rank);
  record_.group_ms = watch.milliseconds() - record_.count_ms;
}

/// @return whether anything can be an answer
bool PairRun::begin(uint64_t transactions, uint64_t items, uint64_t most_item_rows) {
  record_.transactions = transactions;
  record_.items = items;
  record_.most_item_rows = most_item_rows;
  min_count_ = query_.min_count_among(transactions);
  // The name of a forced method is reported even if nothing is run, so that reports stay comparable.
  record_.method = query_.method ? pair_method_name(*query_.method) : "auto";
  record_.reason = "nothing to count";
  return query_.bag || min_count_ <= transactions;
}

/// Whether a repeated row matters. If one common row is enough, and no pair is counted further, it does not.
bool PairRun::counts_rows() const { return query_.bag && !(query_.distinct_only && min_count_ == 1); }

/// @param weighted  rows are counted: a pair may have more rows than each of its items
ItemFilter PairRun::filter(bool weighted) const {
  return {.min_rows = weighted ? 1 : min_count_,
          .include = query_.include,
          .exclude = query_.exclude,
          .only = query_.only,
          .left_items = query_.left_items,
          .enough = query_.distinct_only ? static_cast<uint32_t>(min_count_) : UINT32_MAX};
}

/// @param leading  ranks below this are of items that `include` has, or of all
PairSelection PairRun::selection(uint32_t leading) const {
  std::function<bool(uint32_t)> has_partners;
  if (query_.partners) has_partners = [leading](uint32_t rank) { return rank < leading; };
  return {.min_count = min_count_,
          .min_jaccard = query_.min_jaccard.value_or(0),
          .top_k = query_.top_k,
          .per_item_top_k = query_.per_item_top_k,
          .has_partners = std::move(has_partners),
          .max_results = query_.max_results,
          .ranking = {.measure = query_.measure.value_or(PairMeasure::kSupport),
                      .total = static_cast<double>(record_.transactions)},
          .ties = query_.ties,
          .supports = query_.supports,
          .order = order_,
          .distinct_only = query_.distinct_only,
          .diagonal = query_.diagonal};
}

/// What the items are handed over as, by rank. Says which of a pair comes first.
/// @param item  the item of a rank
Buffer<int64_t> PairRun::values_of(uint32_t items, const std::function<int64_t(uint32_t rank)>& item) {
  if (query_.left_items) order_ = item(0) < *query_.left_items ? PairOrder::kByRank : PairOrder::kTurned;
  Buffer<int64_t> values(*options_.memory, items);
  for (uint32_t rank = 0; rank < items; ++rank)
    values[rank] = query_.item_values.empty() ? item(rank) : query_.item_values[static_cast<size_t>(item(rank))];
  return values;
}

namespace {

/// From then on the job has the true number of pair instances.
void count_lengths(const EncodedRelation& relation, const KeptItems& kept, const ExecutionOptions& options, PairJob& job,
                   std::optional<TransactionLengths>& lengths) {
  if (lengths) return;
  lengths = transaction_lengths(relation, kept, options);
  job.pair_instances = lengths->pair_instances;
  job.memory_bytes = options.memory->available();
}

}  // namespace

void PairRun::group(std::vector<ChunkView> chunks, std::span<const uint32_t> item_rank) {
  const EncodedRelation relation(chunks, item_rank, options_);
  if (!begin(relation.transactions(), relation.items(), relation.most_item_rows())) return;

  const bool weighted = counts_rows() && has_repeated_rows(relation, options_);
  const KeptItems kept = keep_items(relation, filter(weighted), options_);
  record_.items_kept = kept.size;
  record_.occurrences = kept.occurrences;
  if (kept.size == 0) return;
  if (query_.left_items && (kept.pairs.leading == 0 || kept.pairs.leading == kept.size)) return;
  Buffer<int64_t> values = values_of(kept.size, [&](uint32_t rank) { return relation.item_value(kept.code(Rank{rank})); });

  if (weighted) {
    const TransactionLengths lengths = transaction_lengths(relation, kept, options_);
    record_.pair_instances = max_pairs_ = lengths.pair_instances;
    refuse_without_device("rows repeat, so that rows are counted, which no GPU does");
    record_.method = pair_method_name(PairMethod::kHorizontal);
    record_.reason = "rows repeat, so that rows are counted";
    answers_.start(count_weighted(relation, kept, lengths, min_count_, options_), std::move(values),
                   selection(kept.pairs.leading), options_);
    return;
  }
  std::optional<TransactionLengths> lengths;
  PairJob job = describe_job(relation, kept, least_pair_instances(relation, kept), query_.kernels, options_);
  record_.reason.clear();
  std::unique_ptr<PairCounter> counter = count_on_a_device(relation, kept, job, lengths);
  if (!counter) count_lengths(relation, kept, options_, job, lengths);
  record_.pair_instances = max_pairs_ = job.pair_instances;
  const PairChoice choice = counter || query_.method ? choose_pair_method(job) : choose_with_patience(job, options_);
  const PairMethod method = query_.method.value_or(choice.method);
  record_.reason = (query_.method ? "asked for; " : "") + choice.reason + record_.reason;
  restart_bytes_ = counter ? choice.estimates[static_cast<size_t>(method)].bytes : 0;
  if (counter) {
    chunks_ = std::move(chunks);
    item_rank_ = item_rank;
  } else {
    record_.method = pair_method_name(method);
    record_.kernel = query_.kernels.name(method);
    counter = build_counter(relation, kept, *lengths, method, query_.kernels, options_);
  }
  count_kept(counter->supports());
  answers_.start(std::move(counter), std::move(values), selection(kept.pairs.leading), options_);
}

namespace {

/// The device's method with the same name as the CPU's.
std::optional<DeviceMethod> device_method(PairMethod method) {
  switch (method) {
    case PairMethod::kBitmap: return DeviceMethod::kBitmap;
    case PairMethod::kHorizontal: return DeviceMethod::kHorizontal;
    case PairMethod::kPositional:
    case PairMethod::kBatmap:
    case PairMethod::kMerge: break;
  }
  return std::nullopt;
}

}  // namespace

void PairRun::refuse_without_device(const char* why) const {
  if (answers_.session().is_required()) throw Error(ErrorCode::kNoDevice, why);
}

/// The choice needs the number of pair instances, and so the lengths of the transactions. But the costs of bit rows on a device do
/// not grow with that number: if they win with the least one, they win with every other. Then the instances are counted while rows
/// are sent.
/// @param job      with the least number of pair instances; gets the true one if a device counts
/// @param lengths  empty; set if the choice needed them
/// @return nullptr: the CPU is to count
std::unique_ptr<PairCounter> PairRun::count_on_a_device(const EncodedRelation& relation, const KeptItems& kept, PairJob& job,
                                                        std::optional<TransactionLengths>& lengths) {
  const DeviceUse& use = query_.device;
  const DeviceSession& session = answers_.session();
  if (query_.method && !device_method(*query_.method)) {
    if (session.is_required())
      throw Error(ErrorCode::kInvalidParameter, std::string("method \"") + record_.method + "\" does not run on a GPU",
                  "Methods that do: bitmap, horizontal.");
    return nullptr;
  }
  if (!session.is_possible()) return nullptr;
  const std::optional<DeviceMethod> wanted = query_.method ? device_method(*query_.method) : std::nullopt;
  const auto cpu_ms = [&] {
    const PairChoice choice = choose_pair_method(job);
    return choice.estimates[static_cast<size_t>(query_.method.value_or(choice.method))].milliseconds;
  };
  const auto choose = [&](std::span<const DeviceTraits> devices) {
    const DeviceSizes sizes{.items = kept.size,
                            .leading = kept.pairs.leading,
                            .first_column = kept.pairs.first_column,
                            .tid_slots = relation.tid_slots(),
                            .rows = kept.occurrences,
                            .pair_instances = job.pair_instances,
                            .memory_limit = use.memory_limit,
                            .threads = options_.threads};
    return choose_device(use.mode, sizes, devices, cpu_ms(), wanted);
  };
  if (!session.has_loaded() || !PairInstances::can_count(relation, kept, options_))
    count_lengths(relation, kept, options_, job, lengths);
  return answers_.offload(
      cpu_ms(),
      [&](std::span<const DeviceTraits> devices) {
        DeviceChoice choice = choose(devices);
        if (lengths || choice.method == DeviceMethod::kBitmap) return choice;
        count_lengths(relation, kept, options_, job, lengths);
        return choose(devices);
      },
      [&](std::span<const DeviceTraits> devices, DeviceMethod method) {
        std::unique_ptr<PairCounter> counter = count_on_devices(*use.offload, devices, method, use.memory_limit, relation,
                                                                kept, options_, lengths ? nullptr : &job.pair_instances);
        const bool bits = method == DeviceMethod::kBitmap;
        record_.method = pair_method_name(bits ? PairMethod::kBitmap : PairMethod::kHorizontal);
        record_.kernel = bits ? devices[0].bit_kernel : "";
        return counter;
      },
      record_);
}

void PairRun::group_spilled(const RowPartitions& rows, std::span<const uint32_t> item_rank) {
  answers_.session().refuse_files();
  spilled_.emplace(rows, item_rank, options_);
  if (!begin(spilled_->transactions(), spilled_->items(), spilled_->most_item_rows())) return;

  const bool weighted = counts_rows() && spilled_->has_repeated_rows();
  spilled_->keep(filter(weighted), query_.method, query_.kernels, weighted ? std::optional(min_count_) : std::nullopt);
  const KeptItems& kept = spilled_->kept();
  record_.items_kept = kept.size;
  record_.occurrences = kept.occurrences;
  if ((kept.pairs.leading == 0 && !query_.diagonal) || kept.pairs.first_column == kept.size) return;
  Buffer<int64_t> values = values_of(kept.size, [&](uint32_t rank) { return spilled_->item_value(rank); });

  const Stopwatch watch;
  std::unique_ptr<PairCounter> counter = next_block();
  PairSelection wanted = selection(kept.pairs.leading);
  if (wanted.ties) wanted.top_k.reset();  // without top_k all pairs are answers, since blocks are counted only once
  answers_.start(std::move(counter), std::move(values), wanted, options_, [this] { return next_block(); });
  record_.count_ms = watch.milliseconds();
}

std::unique_ptr<PairCounter> PairRun::next_block() {
  std::unique_ptr<PairCounter> counter = spilled_->next_block();
  if (counter && !counter->supports().empty()) count_kept(counter->supports());
  record_.pair_instances = spilled_->pair_instances();
  record_.file_bytes = spilled_->file_bytes() + spilled_->run_bytes();
  record_.method.clear();
  record_.kernel.clear();
  for (const PairMethod method : spilled_->methods()) {
    record_.method += (record_.method.empty() ? "" : ", ") + std::string(pair_method_name(method));
    if (const std::string kernel = query_.kernels.name(method); !kernel.empty()) record_.kernel = kernel;
  }
  const char* const why = spilled_->weighted() ? "rows repeat, so that rows are counted; "
                          : query_.method      ? "asked for; "
                                               : "";
  record_.reason = why + rows_in_files(spilled_->file_bytes(), spilled_->loads());
  if (spilled_->run_bytes() > 0) {
    char text[100];
    std::snprintf(text, sizeof text, "; their counts in %.0f MB of files", static_cast<double>(spilled_->run_bytes()) / 1e6);
    record_.reason += text;
  }
  return counter;
}

void PairRun::count_kept(std::span<const uint32_t> supports) {
  record_.items_kept =
      static_cast<uint64_t>(std::count_if(supports.begin(), supports.end(), [&](uint32_t s) { return s >= min_count_; }));
}

bool PairRun::may_run_out() const {
  // The memory of later blocks is not known before they are counted.
  if (spilled_) return true;
  const uint64_t bytes = answers_.max_bytes(max_pairs_) + restart_bytes_;
  return bytes > options_.memory->available();
}

void PairRun::count_all() {
  SpooledPairs all(*options_.files);
  PairBatch batch;
  while (next(batch)) all.append(batch);
  answers_.stop();
  spilled_.reset();
  chunks_ = {};
  spooled_ = all;
}

bool PairRun::next(PairBatch& batch) {
  if (spooled_) return spooled_->next(batch);
  const Stopwatch watch;
  const bool more = answers_.next(batch, record_, [this] { group(std::move(chunks_), item_rank_); });
  record_.count_ms += watch.milliseconds();
  return more;
}

}  // namespace batmap
