// Tidlists first, then every list is dealt out to its transactions in rank order: items come out sorted, and a
// duplicate row finds its own item in front of it. See transactions.h.
#include "relation/transactions.h"

#include <algorithm>

#include "relation/tidlists.h"

namespace batmap {

namespace {

template <typename Item>
void deal(Tidlists& lists, const TransactionLengths& lengths, const WantedPairs& pairs, const ExecutionOptions& options,
          Transactions& out) {
  MemoryMeter& meter = *options.memory;
  const auto item_count = static_cast<uint32_t>(lists.length.size());
  Buffer<Item> items(meter, lists.tids.size());
  Buffer<Tail> tails(meter, lists.begin[pairs.leading]);
  Buffer<uint32_t> begin(meter, lengths.length.size());
  Buffer<uint32_t> end(meter, lengths.length.size());
  uint32_t at = 0;
  for (size_t tid = 0; tid < begin.size(); ++tid) {
    begin[tid] = end[tid] = at;
    at += lengths.length[tid];
  }
  uint64_t polled = 0;
  auto poll = [&](uint64_t work) {
    if ((polled += work) < 1u << 16) return;
    polled = 0;
    options.cancel.throw_if_requested();
  };
  // Calls dealt(tid, place behind it) for each row of the item that is not the same again.
  const uint32_t first_column = pairs.first_column;
  auto deal_item = [&](uint32_t item, uint32_t name, auto dealt) {
    poll(lists.length[item] + 1);
    for (const uint32_t tid : lists.list(item)) {
      uint32_t& cursor = end[tid];
      if (cursor > begin[tid] && items[cursor - 1] == name) continue;
      items[cursor++] = static_cast<Item>(name);
      dealt(tid, cursor);
    }
  };
  for (uint32_t item = 0; item < pairs.leading; ++item) {
    Tail* tail = tails.data() + lists.begin[item];
    const Tail* const first = tail;
    deal_item(item, item, [&](uint32_t tid, uint32_t cursor) { *tail++ = {cursor, tid}; });
    out.support[item] = static_cast<uint32_t>(tail - first);
  }
  if (pairs.rectangle()) std::ranges::copy(end, begin.begin());  // where the columns begin
  for (uint32_t item = pairs.leading; item < item_count; ++item) {
    uint32_t support = 0;
    deal_item(item, item - first_column, [&](uint32_t, uint32_t) { ++support; });
    out.support[item] = support;
  }
  // The length of a tail is known once its transaction is complete: replace the tid by it.
  for (uint32_t item = 0; item < pairs.leading; ++item) {
    poll(out.support[item] + 1);
    Tail* tail = tails.data() + lists.begin[item];
    for (Tail* const last = tail + out.support[item]; tail < last; ++tail) {
      const uint32_t tid = tail->length;
      if (pairs.rectangle()) tail->begin = begin[tid];
      tail->length = end[tid] - tail->begin;
    }
  }
  out.items = std::move(items);
  out.tails = std::move(tails);
}

}  // namespace

TransactionLengths transaction_lengths(const EncodedRelation& relation, const KeptItems& kept,
                                       const ExecutionOptions& options) {
  TransactionLengths lengths;
  lengths.length = Buffer<uint32_t>(*options.memory, relation.tid_slots(), Fill::kZero);
  Buffer<uint32_t> leading;  // of a rectangle: of these, those of leading items
  if (kept.pairs.rectangle()) leading = Buffer<uint32_t>(*options.memory, relation.tid_slots(), Fill::kZero);
  uint32_t* const length = lengths.length.data();
  const uint32_t* const rank = kept.rank_of_code.data();
  uint32_t tids[kChunkRows];
  uint32_t items[kChunkRows];
  for (size_t block = 0; block < relation.blocks(); ++block) {
    options.cancel.throw_if_requested();
    const uint32_t rows = relation.decode(block, tids, items);
    for (uint32_t k = 0; k < rows; ++k) length[tids[k]] += rank[items[k]] != KeptItems::kDropped;
    if (leading.empty()) continue;
    for (uint32_t k = 0; k < rows; ++k) leading[tids[k]] += rank[items[k]] < kept.pairs.leading;
  }
  for (uint32_t tid = 0; tid < relation.tid_slots(); ++tid)
    lengths.pair_instances += leading.empty() ? uint64_t{length[tid]} * (length[tid] - 1) / 2
                                              : uint64_t{leading[tid]} * (length[tid] - leading[tid]);
  return lengths;
}

Transactions link_transactions(const EncodedRelation& relation, const KeptItems& kept, const TransactionLengths& lengths,
                               const ExecutionOptions& options) {
  Tidlists lists = scatter_tidlists(relation, kept, options);
  Transactions transactions;
  transactions.support = Buffer<uint32_t>(*options.memory, kept.size);
  if (kept.size <= 0x10000)
    deal<uint16_t>(lists, lengths, kept.pairs, options, transactions);
  else
    deal<uint32_t>(lists, lengths, kept.pairs, options, transactions);
  transactions.tails_begin = std::move(lists.begin);
  return transactions;
}

uint64_t transactions_bytes(uint64_t items, uint64_t tid_slots, uint64_t occurrences, uint64_t tails) {
  const uint64_t item_bytes = items <= 0x10000 ? 2 : 4;
  return occurrences * (sizeof(uint32_t) + item_bytes) + tails * sizeof(Tail) + tid_slots * 8 + items * 16;
}

}  // namespace batmap
