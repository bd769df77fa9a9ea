// Turns the answers of a run into pair counts. See pair_counts_part.h.
#include "pairs/counts/pair_counts_part.h"

#include <algorithm>
#include <span>
#include <utility>

#include "core/error.h"
#include "core/polled.h"
#include "pairs/counts/candidate_pairs.h"
#include "pairs/counts/counted_pairs.h"
#include "pairs/counts/pair_counts.h"
#include "relation/key_codes.h"

namespace batmap {

namespace {

constexpr uint32_t kPolled = CandidatePairs::kPolled;

/// The places of items in an ascending list.
class ItemIndex {
 public:
  /// @param items  at least one
  ItemIndex(std::span<const int64_t> items, const ExecutionOptions& options)
      : codes_(options, items.front(), static_cast<uint64_t>(items.back()) - static_cast<uint64_t>(items.front()),
               items.size()) {
    const auto each = [&](auto take) {
      for (uint32_t index = 0; index < items.size(); ++index) {
        if (index % kPolled == 0) options.cancel.throw_if_requested();
        take(index);
      }
    };
    if (!codes_.direct()) each([&](uint32_t index) { codes_.insert(items[index]); });
    index_of_code_ = Buffer<uint32_t>(*options.memory, codes_.size());
    each([&](uint32_t index) { index_of_code_[codes_.find(items[index])] = index; });
  }

  /// The places of the items of a pair, the smaller one first.
  std::pair<uint32_t, uint32_t> of(const ItemPair& pair) const { return std::minmax(of(pair.item_a), of(pair.item_b)); }

 private:
  uint32_t of(int64_t item) const { return index_of_code_[codes_.find(item)]; }

  KeyCodes codes_;
  Buffer<uint32_t> index_of_code_;
};

/// The items of a value, and what is counted of them.
class CandidateItems {
 public:
  CandidateItems(const std::byte* value, const ExecutionOptions& options)
      : values_(*options.memory, pair_counts_header(value).items), supports_(*options.memory, values_.size(), Fill::kZero) {
    for (PairCountsItems items(value); items.next();) {
      if (items.index() % kPolled == 0) options.cancel.throw_if_requested();
      values_[items.index()] = items.item();
    }
  }

  std::span<const int64_t> values() const { return values_.span(); }
  uint64_t& support(uint32_t index) { return supports_[index]; }

 private:
  Buffer<int64_t> values_;     // ascending
  Buffer<uint64_t> supports_;  // by index
};

/// The run hands over each item with itself before all pairs.
bool is_item(const ItemPair& pair) { return pair.item_a == pair.item_b; }

void count_candidates(PairRun& run, const std::byte* candidates, CandidateItems& items, PairCountsWriter& writer,
                      const ExecutionOptions& options) {
  CandidatePairs pairs(candidates, options);
  std::optional<ItemIndex> index_of;
  PairBatch batch;
  while (run.next(batch)) {
    if (!index_of) index_of.emplace(items.values(), options);
    for (const ItemPair& pair : batch.pairs()) {
      const auto [a, b] = index_of->of(pair);
      if (is_item(pair))
        items.support(a) = pair.support;
      else if (uint64_t* const count = pairs.count(a, b))
        *count = pair.support;
    }
  }
  // Items that do not occur are not in the result.
  Buffer<uint32_t> index_in_result(*options.memory, items.values().size());
  uint32_t found = 0;
  for (uint32_t index = 0; index < index_in_result.size(); ++index) {
    if (index % kPolled == 0) options.cancel.throw_if_requested();
    index_in_result[index] = found;
    found += items.support(index) > 0;
  }
  for (PairCountsItems item(candidates); item.next();) {
    if (items.support(item.index()) == 0) continue;
    writer.add_item(item.item(), items.support(item.index()));
    for (PairCountsRow row = item.row(); row.next();)
      if (const uint64_t count = *pairs.count(item.index(), row.index()); count > 0)
        writer.add_pair(index_in_result[row.index()], count);
  }
}

struct ItemSupport {
  int64_t item;
  uint64_t support;
};

void sort_items(GrowingBuffer<ItemSupport>& items, const ExecutionOptions& options) {
  std::sort(items.begin(), items.end(),
            polled(options.cancel, [](const ItemSupport& x, const ItemSupport& y) { return x.item < y.item; }));
}

void count_all(PairRun& run, PairCountsWriter& writer, const ExecutionOptions& options) {
  GrowingBuffer<ItemSupport> items(*options.memory);
  GrowingBuffer<PairCount> pairs(*options.memory);
  std::optional<ItemIndex> index_of;
  PairBatch batch;
  while (run.next(batch)) {
    for (const ItemPair& pair : batch.pairs()) {
      if (is_item(pair)) {
        items.push_back({pair.item_a, pair.support});
        continue;
      }
      if (!index_of) {
        sort_items(items, options);
        Buffer<int64_t> values(*options.memory, items.size());
        for (size_t k = 0; k < items.size(); ++k) values[k] = items[k].item;
        index_of.emplace(values.span(), options);
      }
      const auto [a, b] = index_of->of(pair);
      pairs.push_back({a, b, pair.support});
    }
  }
  if (!index_of) sort_items(items, options);
  const CountedPairs rows({&pairs, 1}, items.size(), options);
  for (uint32_t index = 0; index < items.size(); ++index) {
    writer.add_item(items[index].item, items[index].support);
    rows.write_row(index, writer);
  }
}

}  // namespace

void PairPartQuery::check() const {
  if (candidates != nullptr && (min_count || min_support || include || exclude))
    throw Error(ErrorCode::kInvalidParameter, "candidates exclude a threshold, include and exclude",
                "The candidates say which pairs are counted. Leave the others away.");
}

RunRecord count_pairs_of_part(const RowLog& rows, const PairPartQuery& query, GrowingBuffer<std::byte>& out,
                              const ExecutionOptions& options) {
  query.check();
  PairQuery pairs;
  pairs.min_count = query.min_count;
  pairs.min_support = query.min_support;
  if (!pairs.min_count && !pairs.min_support) pairs.min_count = 1;
  pairs.include = query.include;
  pairs.exclude = query.exclude;
  pairs.diagonal = true;
  pairs.supports = false;
  pairs.kernels = query.kernels;
  pairs.device = query.device;
  PairCountsWriter writer(options);
  std::optional<CandidateItems> items;
  if (query.candidates != nullptr) pairs.only = items.emplace(query.candidates, options).values();
  PairRun run(rows, {}, pairs, options);
  if (items)
    count_candidates(run, query.candidates, *items, writer, options);
  else
    count_all(run, writer, options);
  writer.finish(run.record().transactions, out);
  return run.record();
}

}  // namespace batmap
