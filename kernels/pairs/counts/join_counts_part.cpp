// Counts a rectangle of pairs by rank, and writes it down. See join_counts_part.h.
#include "pairs/counts/join_counts_part.h"

#include <algorithm>
#include <span>

#include "core/error.h"
#include "pairs/counts/candidate_pairs.h"
#include "pairs/counts/counted_pairs.h"
#include "pairs/counts/pair_counts.h"

namespace batmap {

namespace {

/// Candidates by the ranks of their items in the joined relation.
class CandidateRanks {
 public:
  CandidateRanks(const std::byte* value, const JoinedRelation& joined, const ExecutionOptions& options)
      : pairs_(value, options), index_of_rank_(*options.memory, joined.values.size()), ranks_(*options.memory) {
    std::fill(index_of_rank_.begin(), index_of_rank_.end(), kNone);
    const int64_t* const begin = joined.values.begin();
    const int64_t* const middle = begin + joined.left_items;
    for (PairCountsItems items(value); items.next();) {
      if (items.index() % CandidatePairs::kPolled == 0) options.cancel.throw_if_requested();
      const int64_t* const first = items.is_right() ? middle : begin;
      const int64_t* const last = items.is_right() ? joined.values.end() : middle;
      const int64_t* const found = std::lower_bound(first, last, items.item());
      if (found == last || *found != items.item()) continue;
      index_of_rank_[static_cast<size_t>(found - begin)] = items.index();
      ranks_.push_back(found - begin);
    }
  }

  std::span<const int64_t> ranks() const { return ranks_.span(); }  // ascending, as the items are
  /// @param a, c  ranks of candidates' items
  bool contains(uint32_t a, uint32_t c) { return pairs_.count(index_of_rank_[a], index_of_rank_[c]) != nullptr; }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  CandidatePairs pairs_;
  Buffer<uint32_t> index_of_rank_;
  GrowingBuffer<int64_t> ranks_;
};

}  // namespace

void JoinPartQuery::check() const {
  if (candidates != nullptr && min_count)
    throw Error(ErrorCode::kInvalidParameter, "candidates exclude a threshold",
                "The candidates say which pairs are counted. Leave min_count away.");
  PairQuery pairs;
  pairs.min_count = min_count.value_or(1);
  pairs.check();
}

RunRecord count_join_of_part(JoinedRelation joined, const JoinPartQuery& query, GrowingBuffer<std::byte>& out,
                             const ExecutionOptions& options) {
  query.check();
  std::optional<CandidateRanks> candidates;
  PairQuery pairs;
  pairs.min_count = query.min_count.value_or(1);
  pairs.left_items = joined.left_items;
  pairs.supports = false;
  pairs.kernels = query.kernels;
  pairs.device = query.device;
  if (query.candidates != nullptr) pairs.only = candidates.emplace(query.candidates, joined, options).ranks();
  PairRun run(joined.log, joined.item_rank.span(), pairs, options);
  GrowingBuffer<PairCount> found(*options.memory);
  Buffer<uint32_t> index_of_rank(*options.memory, joined.values.size(), Fill::kZero);  // at first: whether it is in a pair
  PairBatch batch;
  while (run.next(batch)) {
    for (const ItemPair& pair : batch.pairs()) {
      const auto a = static_cast<uint32_t>(pair.item_a);
      const auto c = static_cast<uint32_t>(pair.item_b);
      if (candidates && !candidates->contains(a, c)) continue;
      found.push_back({a, c, pair.support});
      index_of_rank[a] = index_of_rank[c] = 1;
    }
  }
  Buffer<uint32_t> rank_of_index(*options.memory, index_of_rank.size());
  uint32_t items = 0;
  uint32_t left_items = 0;
  for (uint32_t rank = 0; rank < index_of_rank.size(); ++rank) {
    if (rank % CandidatePairs::kPolled == 0) options.cancel.throw_if_requested();
    if (index_of_rank[rank] == 0) continue;
    left_items += rank < joined.left_items;
    rank_of_index[items] = rank;
    index_of_rank[rank] = items++;
  }
  for (size_t k = 0; k < found.size(); ++k) {
    if (k % CandidatePairs::kPolled == 0) options.cancel.throw_if_requested();
    found[k].a = index_of_rank[found[k].a];
    found[k].b = index_of_rank[found[k].b];
  }
  const CountedPairs rows({&found, 1}, items, options);
  PairCountsWriter writer(options, left_items);
  for (uint32_t index = 0; index < items; ++index) {
    writer.add_item(joined.values[rank_of_index[index]], 0);
    rows.write_row(index, writer);
  }
  writer.finish(run.record().transactions, out);
  return run.record();
}

}  // namespace batmap
