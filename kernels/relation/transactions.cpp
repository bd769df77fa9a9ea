// Tidlists first, then every list is dealt out to its transactions in rank order: items come out sorted, and a
// duplicate row finds its own item in front of it. See transactions.h.
#include "relation/transactions.h"

#include "relation/tidlists.h"

namespace batmap {

namespace {

template <typename Item>
void deal(Tidlists& lists, const TransactionLengths& lengths, const ExecutionOptions& options, Transactions& out) {
  MemoryMeter& meter = *options.memory;
  const auto item_count = static_cast<uint32_t>(lists.length.size());
  Buffer<Item> items(meter, lists.tids.size());
  Buffer<Tail> tails(meter, lists.tids.size());
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
  for (uint32_t item = 0; item < item_count; ++item) {
    poll(lists.length[item] + 1);
    Tail* tail = tails.data() + lists.begin[item];
    const Tail* const first = tail;
    for (const uint32_t tid : lists.list(item)) {
      uint32_t& cursor = end[tid];
      if (cursor > begin[tid] && items[cursor - 1] == item) continue;  // the same row again
      items[cursor++] = static_cast<Item>(item);
      *tail++ = {cursor, tid};
    }
    out.support[item] = static_cast<uint32_t>(tail - first);
  }
  // The length of a tail is known once its transaction is complete: replace the tid by it.
  for (uint32_t item = 0; item < item_count; ++item) {
    poll(out.support[item] + 1);
    Tail* tail = tails.data() + lists.begin[item];
    for (Tail* const last = tail + out.support[item]; tail < last; ++tail) tail->length = end[tail->length] - tail->begin;
  }
  out.items = std::move(items);
  out.tails = std::move(tails);
}

}  // namespace

TransactionLengths transaction_lengths(const EncodedRelation& relation, const KeptItems& kept,
                                       const ExecutionOptions& options) {
  TransactionLengths lengths;
  lengths.length = Buffer<uint32_t>(*options.memory, relation.tid_slots(), Fill::kZero);
  uint32_t tids[kChunkRows];
  uint32_t items[kChunkRows];
  for (size_t block = 0; block < relation.blocks(); ++block) {
    options.cancel.throw_if_requested();
    const uint32_t rows = relation.decode(block, tids, items);
    for (uint32_t k = 0; k < rows; ++k) lengths.length[tids[k]] += kept.rank_of_code[items[k]] != KeptItems::kDropped;
  }
  for (const uint32_t length : lengths.length) lengths.pair_instances += uint64_t{length} * (length - 1) / 2;
  return lengths;
}

Transactions link_transactions(const EncodedRelation& relation, const KeptItems& kept, const TransactionLengths& lengths,
                               const ExecutionOptions& options) {
  Tidlists lists = scatter_tidlists(relation, kept, options);
  Transactions transactions;
  transactions.support = Buffer<uint32_t>(*options.memory, kept.size);
  if (kept.size <= 0x10000)
    deal<uint16_t>(lists, lengths, options, transactions);
  else
    deal<uint32_t>(lists, lengths, options, transactions);
  transactions.tails_begin = std::move(lists.begin);
  return transactions;
}

uint64_t transactions_bytes(uint64_t items, uint64_t tid_slots, uint64_t occurrences) {
  const uint64_t item_bytes = items <= 0x10000 ? 2 : 4;
  return occurrences * (sizeof(uint32_t) + item_bytes + sizeof(Tail)) + tid_slots * 8 + items * 16;
}

}  // namespace batmap
