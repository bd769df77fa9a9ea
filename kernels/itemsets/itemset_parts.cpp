// The two rounds. See itemset_parts.h.
#include "itemsets/itemset_parts.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/poll.h"
#include "core/polled.h"
#include "core/stopwatch.h"
#include "itemsets/counts/candidate_counter.h"
#include "itemsets/counts/itemset_counts.h"
#include "itemsets/counts/itemset_sorter.h"
#include "itemsets/itemset_run.h"
#include "itemsets/itemset_stream.h"

namespace batmap {

namespace {

/// ceil(a * b / c) @param c  positive
uint64_t share_of(uint64_t a, uint64_t b, uint64_t c) {
  using Wide = unsigned __int128;
  return static_cast<uint64_t>((Wide{a} * b + c - 1) / c);
}

/// Calls visit(numbers, support) for each answer of a run. @param number_of  by rank of the run; the numbers come in its order
template <typename Visit>
void for_answers(ItemsetRun& run, std::span<const uint32_t> number_of, const ExecutionOptions& options, Visit visit) {
  ItemsetStream stream(run, options);
  std::vector<ItemsetStep> batch;
  std::vector<uint32_t> path;
  while (stream.next(batch)) {
    for (const ItemsetStep& step : batch) {
      path.resize(step.length - 1);
      path.push_back(number_of[index_of(step.item)]);
      if (step.support > 0) visit(std::span<const uint32_t>(path), step.support);
    }
  }
}

/// The item values that are kept, by rank.
Buffer<int64_t> values_of(const KeptItems& kept, const ItemTotals& totals, const ExecutionOptions& options) {
  Buffer<int64_t> values(*options.memory, kept.size);
  for (uint32_t rank = 0; rank < kept.size; ++rank) values[rank] = totals.item_value(kept.code(Rank{rank}));
  return values;
}

void sort_values(Buffer<int64_t>& values, const ExecutionOptions& options) {
  std::sort(values.begin(), values.end(), polled(options.cancel, std::less<int64_t>()));
}

/// The same question to a part: its share of the threshold, and the items that are kept in the whole.
/// @param kept_values  ascending
ItemsetQuery query_of_part(const ItemsetQuery& query, const RowParts& parts, size_t part, uint64_t min_count,
                           std::span<const int64_t> kept_values) {
  ItemsetQuery own = query;
  own.min_support.reset();
  own.min_count =
      static_cast<int64_t>(std::max<uint64_t>(share_of(min_count, parts.transactions_of(part), parts.transactions()), 1));
  own.only = kept_values;
  return own;
}

}  // namespace

ItemsetParts::ItemsetParts(const RowPartitions& rows, std::span<const uint32_t> item_rank, const ExecutionOptions& options)
    : options_(options), item_rank_(item_rank), parts_(rows, item_rank, options) {}

void ItemsetParts::find_in_part(size_t part, const ItemsetQuery& query, uint64_t min_count, const KeptItems& kept,
                                std::span<const int64_t> kept_values, GrowingBuffer<ItemsetStep>& candidates) const {
  const ItemsetQuery own = query_of_part(query, parts_, part, min_count, kept_values);
  std::optional<LoadedRows> loaded(std::in_place, parts_[part], options_);
  ItemsetRun run(loaded->chunks(), item_rank_, own, options_);
  loaded.reset();
  Buffer<uint32_t> rank_of_whole(*options_.memory, run.ranks());
  for (uint32_t rank = 0; rank < rank_of_whole.size(); ++rank)
    rank_of_whole[rank] = index_of(kept.rank(parts_.totals().item_code(run.value(Rank{rank}))));
  ItemsetSorter sorter(options_);
  for_answers(run, rank_of_whole.span(), options_,
              [&](std::span<const uint32_t> path, uint32_t support) { sorter.add(path, support); });
  sorter.sort();
  GrowingBuffer<ItemsetStep> found(*options_.memory);
  sorter.visit([&](uint32_t length, uint32_t rank, uint64_t support, size_t) {
    found.push_back({Rank{rank}, length, static_cast<uint32_t>(support)});
  });
  if (candidates.empty())
    candidates = std::move(found);
  else
    merge_trees(candidates, found.span(), options_);
}

KnownItemsets ItemsetParts::find(const ItemsetQuery& query, uint64_t min_count) {
  KnownItemsets known(*options_.memory);
  known.transactions = transactions();
  known.items = items();
  parts_.join_below(share_of(kMinPartCount, transactions(), min_count));

  // Closed and maximal itemsets are told by longer ones; generators by shorter ones, which may lack the included items.
  ItemsetQuery all;
  all.algorithm = query.algorithm;
  all.kernel = query.kernel;
  all.bits = query.bits;
  if (query.target == ItemsetTarget::kAll || query.target == ItemsetTarget::kGenerators) all.max_length = query.max_length;
  if (query.target != ItemsetTarget::kGenerators) all.include = query.include;
  const KeptItems kept =
      keep_items(parts_.totals(),
                 {.min_rows = min_count, .include = query.include, .exclude = query.exclude, .only = query.only}, options_);
  known.leading = kept.pairs.leading;
  occurrences_ = kept.occurrences;
  known.values = values_of(kept, parts_.totals(), options_);
  Buffer<int64_t> sorted(*options_.memory, kept.size);
  std::copy(known.values.begin(), known.values.end(), sorted.begin());
  sort_values(sorted, options_);

  GrowingBuffer<ItemsetStep> candidates(*options_.memory);
  for (size_t part = 0; part < parts_.size(); ++part) find_in_part(part, all, min_count, kept, sorted.span(), candidates);
  sorted.reset();
  candidates_ = candidates.size();

  const CandidateTree tree(candidates.span(), options_);
  Buffer<uint32_t> counts(*options_.memory, candidates.size(), Fill::kZero);
  if (parts_.size() == 1) {
    for (size_t node = 0; node < counts.size(); ++node) counts[node] = candidates[node].support;
  } else {
    for (size_t part = 0; part < parts_.size() && !candidates.empty(); ++part) {
      const LoadedRows loaded(parts_[part], options_);
      const EncodedRelation relation(loaded.chunks(), item_rank_, options_);
      count_candidates(tree, relation, parts_.totals(), kept, counts.span(), options_);
    }
  }
  for (size_t node = 0; node < candidates.size();) {
    if (node % 65536 == 0) options_.cancel.throw_if_requested();
    if (counts[node] < min_count) {
      node = tree.end(node);  // what is below has no more transactions
      continue;
    }
    known.steps.push_back({candidates[node].item, candidates[node].length, counts[node]});
    ++node;
  }
  return known;
}

ItemsetForecast forecast_of_parts(const RowPartitions& rows, std::span<const uint32_t> item_rank, const ItemsetQuery& query,
                                  double milliseconds, const ExecutionOptions& options, RunRecord& record) {
  const Stopwatch watch;
  RowParts parts(rows, item_rank, options);
  const uint64_t transactions = parts.transactions();
  const uint64_t min_count = query.min_count_among(transactions);
  record.answers = AnswerKind::kItemsets;
  record.transactions = transactions;
  record.items = parts.totals().items();
  record.most_item_rows = parts.totals().most_item_rows();
  record.file_bytes = parts.file_bytes();
  if (min_count > transactions) return {};
  parts.join_below(share_of(ItemsetParts::kMinPartCount, transactions, min_count));
  const KeptItems kept =
      keep_items(parts.totals(),
                 {.min_rows = min_count, .include = query.include, .exclude = query.exclude, .only = query.only}, options);
  record.items_kept = kept.size;
  record.occurrences = kept.occurrences;
  Buffer<int64_t> values = values_of(kept, parts.totals(), options);
  sort_values(values, options);

  const size_t samples = std::min(parts.size(), kSampledParts);
  ItemsetForecast mean;
  mean.is_of_a_sample = parts.size() > 1;
  double squares = 0;
  double errors = 0;
  for (size_t part = 0; part < samples; ++part) {
    const ItemsetQuery own = query_of_part(query, parts, part, min_count, values.span());
    std::optional<LoadedRows> loaded(std::in_place, parts[part], options);
    ItemsetRun run(loaded->chunks(), item_rank, own, options);
    loaded.reset();
    record.method = run.record().method;
    record.kernel = run.record().kernel;
    const ItemsetForecast one = run.forecast(milliseconds / static_cast<double>(samples));
    mean.itemsets += one.itemsets;
    mean.ways += one.ways;
    squares += one.itemsets * one.itemsets;
    errors += one.standard_error * one.standard_error;
  }
  const auto n = static_cast<double>(samples);
  mean.itemsets /= n;
  const double between = samples > 1 ? std::max(0.0, squares / n - mean.itemsets * mean.itemsets) / (n - 1) : 0;
  mean.standard_error = std::sqrt(std::max(between, errors / (n * n)));
  record.reason = rows_in_files(record.file_bytes, samples) + " of " + std::to_string(parts.size());
  record.group_ms = watch.milliseconds();
  return mean;
}

RunRecord count_itemsets_of_part(const RowLog& rows, const std::byte* candidates, GrowingBuffer<std::byte>& out,
                                 const ExecutionOptions& options) {
  const Stopwatch watch;
  RunRecord record;
  record.answers = AnswerKind::kItemsets;
  record.method = "candidates";
  const Buffer<int64_t> items = itemset_counts_items(candidates, options);
  // Rows in memory are one part, which is coded once.
  std::optional<RowParts> parts;
  std::optional<EncodedRelation> whole;
  std::optional<ItemTotals> only;
  if (rows.partitions() != nullptr) {
    parts.emplace(*rows.partitions(), std::span<const uint32_t>(), options);
  } else {
    KeyBounds bounds;
    if (rows.rows() == 0) bounds.add(0, 0);
    for (const ChunkView& chunk : rows.chunks()) bounds.add(chunk.item_base, chunk.item_range);
    whole.emplace(rows.chunks(), std::span<const uint32_t>(), options);
    only.emplace(bounds, rows.rows(), options);
    only->add(*whole);
  }
  const ItemTotals& totals = parts ? parts->totals() : *only;
  record.transactions = parts ? parts->transactions() : whole->transactions();
  record.items = totals.items();
  const KeptItems kept = keep_items(totals, {.include = {}, .exclude = {}, .only = items.span()}, options);
  record.items_kept = kept.size;
  record.occurrences = kept.occurrences;

  // The candidates by rank: rare items come first, so that the fewest transactions are handed on.
  constexpr uint32_t kNone = UINT32_MAX;
  Buffer<uint32_t> rank_of(*options.memory, items.size());
  std::fill(rank_of.begin(), rank_of.end(), kNone);
  for (uint32_t rank = 0; rank < kept.size; ++rank)
    rank_of[static_cast<size_t>(std::lower_bound(items.begin(), items.end(), totals.item_value(kept.code(Rank{rank}))) -
                                items.begin())] = rank;
  ItemsetSorter sorter(options);
  std::vector<uint32_t> path;
  Poll poll(options.cancel);
  for (TreeNodes nodes = itemset_counts_nodes(candidates); nodes.next();) {
    poll.after(8);
    if (nodes.count() == 0) continue;
    poll.after(8 * uint64_t{nodes.length()});
    path.clear();
    for (const uint32_t index : nodes.path()) path.push_back(rank_of[index]);
    if (std::ranges::find(path, kNone) != path.end()) path.clear();  // counted as the empty itemset: not at all
    sorter.add(path, nodes.count());
  }
  sorter.sort();
  GrowingBuffer<ItemsetStep> steps(*options.memory);
  Buffer<uint32_t> node_of(*options.memory, sorter.size());
  std::fill(node_of.begin(), node_of.end(), kNone);
  sorter.visit([&](uint32_t length, uint32_t rank, uint64_t, size_t index) {
    if (index != ItemsetSorter::kNone) node_of[index] = static_cast<uint32_t>(steps.size());
    steps.push_back({Rank{rank}, length, 0});
  });
  const CandidateTree tree(steps.span(), options);
  Buffer<uint32_t> counts(*options.memory, steps.size(), Fill::kZero);
  record.group_ms = watch.milliseconds();
  if (whole) count_candidates(tree, *whole, totals, kept, counts.span(), options);
  for (size_t part = 0; parts && part < parts->size(); ++part) {
    const LoadedRows loaded((*parts)[part], options);
    const EncodedRelation relation(loaded.chunks(), {}, options);
    count_candidates(tree, relation, totals, kept, counts.span(), options);
  }
  if (parts) record.file_bytes = parts->file_bytes();

  // In the order of the candidates again, without those that do not occur, and without their items.
  size_t index = 0;
  ItemsetSorter occurring(options);  // sorted already
  for (TreeNodes nodes = itemset_counts_nodes(candidates); nodes.next();) {
    poll.after(8);
    if (nodes.count() == 0) continue;
    const uint32_t node = node_of[index++];
    if (node != kNone && counts[node] > 0) occurring.add(nodes.path(), counts[node]);
  }
  record.results = occurring.size();
  write_itemsets(occurring, items.span(), record.transactions, out, options);
  return record;
}

void write_itemset_counts(ItemsetRun& run, GrowingBuffer<std::byte>& out, const ExecutionOptions& options) {
  Buffer<int64_t> items(*options.memory, run.ranks());
  for (uint32_t rank = 0; rank < items.size(); ++rank) items[rank] = run.value(Rank{rank});
  std::sort(items.begin(), items.end(), polled(options.cancel, std::less<int64_t>()));
  Buffer<uint32_t> position(*options.memory, items.size());
  for (uint32_t rank = 0; rank < items.size(); ++rank)
    position[rank] =
        static_cast<uint32_t>(std::lower_bound(items.begin(), items.end(), run.value(Rank{rank})) - items.begin());
  ItemsetSorter sorter(options);
  for_answers(run, position.span(), options,
              [&](std::span<const uint32_t> path, uint32_t support) { sorter.add(path, support); });
  sorter.sort();
  write_itemsets(sorter, items.span(), run.transactions(), out, options);
}

}  // namespace batmap
