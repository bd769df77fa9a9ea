// Counts all pairs, and orders them by item. See pair_counts_build.h.
#include "pairs/counts/pair_counts_build.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <tuple>
#include <utility>

#include "core/polled.h"
#include "core/thread_team.h"
#include "pairs/counts/counted_pairs.h"
#include "pairs/counts/pair_counts.h"

namespace batmap {

namespace {

/// All pairs of a counter.
CountedPairs counted_pairs(PairCounter& counter, std::span<const uint32_t> index_of_rank, const ExecutionOptions& options) {
  std::vector<GrowingBuffer<PairCount>> found;
  for (int worker = 0; worker < options.threads; ++worker) found.emplace_back(*options.memory);
  parallel_for(options, counter.tasks(), [&](size_t task, int worker) {
    GrowingBuffer<PairCount>& pairs = found[static_cast<size_t>(worker)];
    const size_t first = pairs.size();
    counter.count(task, worker, 1, pairs);
    for (PairCount* pair = pairs.begin() + first; pair < pairs.end(); ++pair)
      std::tie(pair->a, pair->b) = std::minmax({index_of_rank[pair->a], index_of_rank[pair->b]});
  });
  return {found, index_of_rank.size(), options};
}

constexpr uint64_t kFewRows = 1024;
constexpr uint64_t kFewInstances = 1 << 14;

/// For a small group, often a single transaction: sorts the pairs without building a form.
/// @return false if there are too many pairs to sort; then nothing is written
bool count_few(const std::vector<ChunkView>& chunks, PairCountsWriter& writer, uint64_t& transactions) {
  std::vector<TidItem> rows;
  for (const ChunkView& chunk : chunks) {
    rows.resize(rows.size() + chunk.rows);
    decode_chunk(chunk, rows.data() + rows.size() - chunk.rows);
  }
  auto key = [](const TidItem& row) { return std::tuple(row.tid, row.item); };
  std::ranges::sort(rows, {}, key);
  rows.erase(std::unique(rows.begin(), rows.end(), [&](const TidItem& x, const TidItem& y) { return key(x) == key(y); }),
             rows.end());

  std::vector<int64_t> items;
  for (const TidItem& row : rows) items.push_back(row.item);
  std::ranges::sort(items);
  items.erase(std::unique(items.begin(), items.end()), items.end());
  std::vector<uint32_t> indexes;
  for (const TidItem& row : rows)
    indexes.push_back(static_cast<uint32_t>(std::ranges::lower_bound(items, row.item) - items.begin()));

  std::vector<uint64_t> pairs;  // smaller index << 32 | larger index
  uint64_t seen = 0;
  for (size_t begin = 0, end; begin < rows.size(); begin = end, ++seen) {
    for (end = begin; end < rows.size() && rows[end].tid == rows[begin].tid; ++end)
      for (size_t k = begin; k < end; ++k) pairs.push_back(uint64_t{indexes[k]} << 32 | indexes[end]);
    if (pairs.size() > kFewInstances) return false;
  }
  transactions = seen;
  std::ranges::sort(pairs);
  std::vector<uint32_t> supports(items.size());
  for (const uint32_t index : indexes) ++supports[index];
  auto pair = pairs.begin();
  for (uint32_t index = 0; index < items.size(); ++index) {
    writer.add_item(items[index], supports[index]);
    while (pair != pairs.end() && *pair >> 32 == index) {
      const auto next = std::find_if(pair, pairs.end(), [&](uint64_t other) { return other != *pair; });
      writer.add_pair(static_cast<uint32_t>(*pair), static_cast<uint64_t>(next - pair));
      pair = next;
    }
  }
  return true;
}

/// @return the number of transactions
uint64_t count_many(std::vector<ChunkView> chunks, const PairKernels& kernels, PairCountsWriter& writer,
                    const ExecutionOptions& options) {
  const EncodedRelation relation(std::move(chunks), {}, options);
  const KeptItems kept = keep_items(relation, {}, options);
  const TransactionLengths lengths = transaction_lengths(relation, kept, options);
  const PairMethod method =
      choose_pair_method(describe_job(relation, kept, lengths.pair_instances, kernels, options)).method;
  const std::unique_ptr<PairCounter> counter = build_counter(relation, kept, lengths, method, kernels, options);

  auto value = [&](uint32_t rank) { return relation.item_value(kept.code(Rank{rank})); };
  Buffer<uint32_t> rank_of_index(*options.memory, kept.size);
  std::iota(rank_of_index.begin(), rank_of_index.end(), 0);
  std::sort(rank_of_index.begin(), rank_of_index.end(),
            polled(options.cancel, [&](uint32_t x, uint32_t y) { return value(x) < value(y); }));
  Buffer<uint32_t> index_of_rank(*options.memory, kept.size);
  for (uint32_t index = 0; index < kept.size; ++index) index_of_rank[rank_of_index[index]] = index;

  const CountedPairs pairs = counted_pairs(*counter, index_of_rank.span(), options);
  for (uint32_t index = 0; index < kept.size; ++index) {
    writer.add_item(value(rank_of_index[index]), counter->supports()[rank_of_index[index]]);
    pairs.write_row(index, writer);
  }
  return relation.transactions();
}

}  // namespace

void count_pairs_of(std::vector<ChunkView> chunks, uint64_t total, const PairKernels& kernels, GrowingBuffer<std::byte>& out,
                    const ExecutionOptions& options, std::span<const std::string_view> texts) {
  PairCountsWriter writer(options, texts);
  uint64_t rows = 0;
  for (const ChunkView& chunk : chunks) rows += chunk.rows;
  uint64_t transactions = 0;
  if (rows > kFewRows || !count_few(chunks, writer, transactions))
    transactions = count_many(std::move(chunks), kernels, writer, options);
  writer.finish(std::max(total, transactions), out);
}

}  // namespace batmap
