// A row whose bit is already set is a duplicate and is not listed again. See transaction_bits.h.
#include "relation/transaction_bits.h"

namespace batmap {

namespace {
uint64_t row_words(uint64_t items) { return (items + 511) / 512 * 8; }
}  // namespace

TransactionBits fill_transaction_bits(const EncodedRelation& relation, const KeptItems& kept,
                                      const ExecutionOptions& options) {
  TransactionBits form;
  form.words = row_words(kept.size);
  form.bits = Buffer<uint64_t>(*options.memory, relation.tid_slots() * form.words, Fill::kZero);
  form.lists = allocate_tidlists(relation, kept, *options.memory);

  uint32_t tids[kChunkRows];
  uint32_t items[kChunkRows];
  uint64_t* const bits = form.bits.data();
  for (size_t block = 0; block < relation.blocks(); ++block) {
    options.cancel.throw_if_requested();
    const uint32_t rows = relation.decode(block, tids, items);
    for (uint32_t k = 0; k < rows; ++k) {
      const uint32_t item = kept.rank_of_code[items[k]];
      if (item == KeptItems::kDropped) continue;
      uint64_t& word = bits[tids[k] * form.words + (item >> 6)];
      const uint64_t bit = uint64_t{1} << (item & 63);
      if (word & bit) continue;
      word |= bit;
      form.lists.append(item, tids[k]);
    }
  }
  return form;
}

uint64_t transaction_bits_bytes(uint64_t items, uint64_t tid_slots, uint64_t occurrences) {
  return tid_slots * row_words(items) * 8 + occurrences * 4 + items * 12;
}

}  // namespace batmap
