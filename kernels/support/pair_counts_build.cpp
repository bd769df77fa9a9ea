// Counting everything, and putting it in order of the items. See pair_counts_build.h.
#include "support/pair_counts_build.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <tuple>
#include <utility>

#include "core/polled.h"
#include "core/thread_team.h"
#include "support/pair_counts.h"

namespace batmap {

namespace {

/// The pairs that were counted, by places: the ranks of the items by value.
struct CountedPairs {
  CountedPairs(PairCounter& counter, std::span<const uint32_t> place_of_rank, const ExecutionOptions& options);

  Buffer<size_t> row_begin;   // [items + 1]
  Buffer<uint64_t> partners;  // by row, then ascending: place of the partner << 32 | count
};

CountedPairs::CountedPairs(PairCounter& counter, std::span<const uint32_t> place_of_rank, const ExecutionOptions& options)
    : row_begin(*options.memory, place_of_rank.size() + 1, Fill::kZero) {
  std::vector<GrowingBuffer<PairCount>> found;
  for (int worker = 0; worker < options.threads; ++worker) found.emplace_back(*options.memory);
  parallel_for(options, counter.tasks(), [&](size_t task, int worker) {
    GrowingBuffer<PairCount>& pairs = found[static_cast<size_t>(worker)];
    const size_t first = pairs.size();
    counter.count(task, worker, 1, pairs);
    for (PairCount* pair = pairs.begin() + first; pair < pairs.end(); ++pair)
      std::tie(pair->a, pair->b) = std::minmax({place_of_rank[pair->a], place_of_rank[pair->b]});
  });

  const size_t items = place_of_rank.size();
  size_t count = 0;
  for (const GrowingBuffer<PairCount>& pairs : found) {
    options.cancel.throw_if_requested();
    count += pairs.size();
    for (const PairCount& pair : pairs.span()) ++row_begin[pair.a + 1];
  }
  std::partial_sum(row_begin.begin(), row_begin.end(), row_begin.begin());
  partners = Buffer<uint64_t>(*options.memory, count);
  for (GrowingBuffer<PairCount>& pairs : found) {
    for (size_t k = 0; k < pairs.size(); ++k) {
      if ((k & 0xffff) == 0) options.cancel.throw_if_requested();
      partners[row_begin[pairs[k].a]++] = uint64_t{pairs[k].b} << 32 | pairs[k].count;
    }
    pairs.reset();
  }
  // What were beginnings are ends now.
  std::move_backward(row_begin.begin(), row_begin.end() - 1, row_begin.end());
  row_begin[0] = 0;
  constexpr size_t kRowsATask = 256;
  parallel_for(options, (items + kRowsATask - 1) / kRowsATask, [&](size_t task, int) {
    for (size_t row = task * kRowsATask; row < std::min((task + 1) * kRowsATask, items); ++row)
      std::sort(partners.begin() + row_begin[row], partners.begin() + row_begin[row + 1],
                polled(options.cancel, std::less<uint64_t>()));
  });
}

}  // namespace

void count_pairs_of(std::vector<ChunkView> chunks, uint64_t total, const PairKernels& kernels, GrowingBuffer<std::byte>& out,
                    const ExecutionOptions& options) {
  PairCountsWriter writer(options);
  const EncodedRelation relation(std::move(chunks), {}, options);
  if (relation.rows() > 0) {
    const KeptItems kept = keep_items(relation, {}, options);
    const TransactionLengths lengths = transaction_lengths(relation, kept, options);
    const PairMethod method = choose_pair_method(describe_job(relation, kept, lengths, kernels, options)).method;
    const std::unique_ptr<PairCounter> counter = build_counter(relation, kept, lengths, method, kernels, options);

    auto value = [&](uint32_t rank) { return relation.item_value(kept.code_of_rank[rank]); };
    Buffer<uint32_t> rank_of_place(*options.memory, kept.size);
    std::iota(rank_of_place.begin(), rank_of_place.end(), 0);
    std::sort(rank_of_place.begin(), rank_of_place.end(),
              polled(options.cancel, [&](uint32_t x, uint32_t y) { return value(x) < value(y); }));
    Buffer<uint32_t> place_of_rank(*options.memory, kept.size);
    for (uint32_t place = 0; place < kept.size; ++place) place_of_rank[rank_of_place[place]] = place;

    const CountedPairs pairs(*counter, place_of_rank.span(), options);
    for (uint32_t place = 0; place < kept.size; ++place) {
      writer.add_item(value(rank_of_place[place]), counter->supports()[rank_of_place[place]]);
      for (size_t k = pairs.row_begin[place]; k < pairs.row_begin[place + 1]; ++k)
        writer.add_pair(static_cast<uint32_t>(pairs.partners[k] >> 32), static_cast<uint32_t>(pairs.partners[k]));
    }
  }
  writer.finish(std::max<uint64_t>(total, relation.transactions()), out);
}

}  // namespace batmap
