// Filters and ranks items. See kept_items.h.
#include "relation/kept_items.h"

#include <algorithm>
#include <span>
#include <unordered_set>

#include "core/polled.h"

namespace batmap {

namespace {

struct Candidate {
  uint64_t rows;
  ItemCode code;
};

/// Sorts candidates, which come in order of their codes, by rows, then by code. Many that have few rows are counted, not compared.
void sort_by_rows(std::span<Candidate> candidates, const ExecutionOptions& options) {
  uint64_t most = 0;
  for (const Candidate& candidate : candidates) most = std::max(most, candidate.rows);
  if (most >= candidates.size()) {
    std::sort(candidates.begin(), candidates.end(), polled(options.cancel, [](const Candidate& a, const Candidate& b) {
                return a.rows < b.rows || (a.rows == b.rows && a.code < b.code);
              }));
    return;
  }
  Buffer<uint32_t> next(*options.memory, most + 2, Fill::kZero);
  for (const Candidate& candidate : candidates) ++next[candidate.rows + 1];
  for (size_t rows = 1; rows < next.size(); ++rows) next[rows] += next[rows - 1];
  Buffer<Candidate> sorted(*options.memory, candidates.size());
  in_parts(candidates.size(), options.cancel, [&](size_t from, size_t to) {
    for (const Candidate& candidate : candidates.subspan(from, to - from)) sorted[next[candidate.rows]++] = candidate;
  });
  std::copy(sorted.begin(), sorted.end(), candidates.begin());
}

/// Sorts by rows, then by value. Codes mostly have the order of the values: so sort by code first, and by
/// value only where the result is not in order.
template <typename Items>
void sort_candidates(const Items& relation, Candidate* begin, Candidate* end, const ExecutionOptions& options) {
  const CancelToken& cancel = options.cancel;
  sort_by_rows({begin, end}, options);
  const auto by_value = polled(cancel, [&](const Candidate& a, const Candidate& b) {
    return relation.item_value(a.code) < relation.item_value(b.code);
  });
  while (begin != end) {
    const uint64_t rows = begin->rows;
    Candidate* const same_end = std::find_if(begin, end, [rows](const Candidate& other) { return other.rows != rows; });
    if (!std::is_sorted(begin, same_end, by_value)) std::sort(begin, same_end, by_value);
    begin = same_end;
  }
}

/// Moves the candidates for which `is_leading` holds to the front; all keep their order. @return the end of these
template <typename IsLeading>
Candidate* move_to_front(GrowingBuffer<Candidate>& candidates, IsLeading is_leading, MemoryMeter& meter) {
  Buffer<Candidate> others(meter, candidates.size());
  Candidate* to = candidates.begin();
  size_t behind = 0;
  for (const Candidate& candidate : candidates)
    if (is_leading(candidate))
      *to++ = candidate;
    else
      others[behind++] = candidate;
  std::copy_n(others.data(), behind, to);
  return to;
}

/// @param Items  item_codes(), item_rows(code), item_value(code)
template <typename Items>
KeptItems keep(const Items& relation, const ItemFilter& filter, const ExecutionOptions& options) {
  MemoryMeter& meter = *options.memory;
  using Values = std::unordered_set<int64_t>;
  const Values excluded = filter.exclude ? Values(filter.exclude->begin(), filter.exclude->end()) : Values();
  const Values included = filter.include ? Values(filter.include->begin(), filter.include->end()) : Values();

  const uint32_t codes = relation.item_codes();
  KeptItems kept;
  kept.rank_of_code = Buffer<Rank>(meter, codes);
  std::fill(kept.rank_of_code.begin(), kept.rank_of_code.end(), KeptItems::kDropped);

  GrowingBuffer<Candidate> candidates(meter);
  auto is_left = [&](ItemCode code) { return relation.item_value(code) < *filter.left_items; };
  uint64_t left = 0;
  uint64_t left_rows = 0;
  for (uint32_t index = 0; index < codes; ++index) {
    const ItemCode code{index};
    if (relation.item_rows(code) == 0 || relation.item_rows(code) < filter.min_rows) continue;
    if (!excluded.empty() && excluded.contains(relation.item_value(code))) continue;
    if (filter.only && !std::ranges::binary_search(*filter.only, relation.item_value(code))) continue;
    candidates.push_back({relation.item_rows(code), code});
    kept.occurrences += relation.item_rows(code);
    if (filter.left_items && is_left(code)) ++left, left_rows += relation.item_rows(code);
  }
  const bool left_leads = left_rows * (candidates.size() - left) <= (kept.occurrences - left_rows) * left;
  auto is_leading = [&](const Candidate& candidate) {
    return filter.left_items ? is_left(candidate.code) == left_leads
                             : included.contains(relation.item_value(candidate.code));
  };
  Candidate* middle = candidates.end();
  if (filter.include || filter.left_items) middle = move_to_front(candidates, is_leading, meter);
  sort_candidates(relation, candidates.begin(), middle, options);
  sort_candidates(relation, middle, candidates.end(), options);

  kept.size = static_cast<uint32_t>(candidates.size());
  kept.pairs.leading = static_cast<uint32_t>(middle - candidates.begin());
  if (filter.left_items) kept.pairs.first_column = kept.pairs.leading;
  kept.pairs.min_count = static_cast<uint32_t>(std::clamp<uint64_t>(filter.min_rows, 1, UINT32_MAX));
  kept.pairs.enough = filter.enough;
  kept.code_of_rank = Buffer<ItemCode>(meter, kept.size);
  for (uint32_t rank = 0; rank < kept.size; ++rank) {
    kept.code_of_rank[rank] = candidates[rank].code;
    kept.rank_of_code[index_of(candidates[rank].code)] = Rank{rank};
  }
  return kept;
}

}  // namespace

KeptItems keep_items(const EncodedRelation& relation, const ItemFilter& filter, const ExecutionOptions& options) {
  return keep(relation, filter, options);
}

KeptItems keep_items(const ItemTotals& totals, const ItemFilter& filter, const ExecutionOptions& options) {
  return keep(totals, filter, options);
}

KeptItems keep_items_of_partition(const EncodedRelation& partition, const ItemTotals& totals, const KeptItems& kept,
                                  Buffer<Rank>& global_rank, const ExecutionOptions& options) {
  MemoryMeter& meter = *options.memory;
  struct Found {
    Rank rank;      // in `kept`
    ItemCode code;  // in the partition
  };
  GrowingBuffer<Found> found(meter);
  KeptItems own;
  for (uint32_t index = 0; index < partition.item_codes(); ++index) {
    const ItemCode code{index};
    if (partition.item_rows(code) == 0) continue;
    const Rank rank = kept.rank(totals.item_code(partition.item_value(code)));
    if (rank == KeptItems::kDropped) continue;
    found.push_back({rank, code});
    own.occurrences += partition.item_rows(code);
    own.pairs.leading += index_of(rank) < kept.pairs.leading;
  }
  if (kept.pairs.rectangle()) {
    if (own.pairs.leading == found.size()) own.pairs.leading = 0;  // no columns
    own.pairs.first_column = own.pairs.leading;
  }
  // Larger counts add up over the partitions.
  if (kept.pairs.enough == 1) own.pairs.enough = 1;
  std::sort(found.begin(), found.end(), [](const Found& x, const Found& y) { return x.rank < y.rank; });
  own.size = static_cast<uint32_t>(found.size());
  own.rank_of_code = Buffer<Rank>(meter, partition.item_codes());
  std::fill(own.rank_of_code.begin(), own.rank_of_code.end(), KeptItems::kDropped);
  own.code_of_rank = Buffer<ItemCode>(meter, own.size);
  global_rank = Buffer<Rank>(meter, own.size);
  for (uint32_t rank = 0; rank < own.size; ++rank) {
    own.rank_of_code[index_of(found[rank].code)] = Rank{rank};
    own.code_of_rank[rank] = found[rank].code;
    global_rank[rank] = found[rank].rank;
  }
  return own;
}

}  // namespace batmap
