// A row whose bit is already set is a duplicate and is not listed again. See transaction_bits.h.
#include "relation/transaction_bits.h"

#include "relation/kept_rows.h"

namespace batmap {

namespace {
uint64_t row_words(uint64_t items) { return (items + 511) / 512 * 8; }
}  // namespace

TransactionBits fill_transaction_bits(const EncodedRelation& relation, const KeptItems& kept,
                                      const ExecutionOptions& options) {
  TransactionBits form;
  form.first_bit = static_cast<uint32_t>(first_transaction_bit(kept.pairs.first_column));
  form.words = row_words(kept.size - form.first_bit);
  form.bits = Buffer<uint64_t>(*options.memory, relation.tid_slots() * form.words, Fill::kZero);
  form.lists = allocate_tidlists(relation, kept, *options.memory, kept.pairs.rectangle() ? kept.pairs.leading : kept.size);

  uint64_t* const bits = form.bits.data();
  if (kept.pairs.rectangle()) {
    visit_kept_rows(relation, kept, options, [&](uint32_t tid, uint32_t item) {
      if (item < kept.pairs.leading) {
        form.lists.append(item, tid);
        return;
      }
      uint64_t& word = bits[tid * form.words + ((item - form.first_bit) >> 6)];
      const uint64_t bit = uint64_t{1} << (item & 63);
      form.lists.length[item] += (word & bit) == 0;
      word |= bit;
    });
    sort_lists(form.lists, options, kept.pairs.leading);
    return form;
  }
  visit_kept_rows(relation, kept, options, [&](uint32_t tid, uint32_t item) {
    uint64_t& word = bits[tid * form.words + (item >> 6)];
    const uint64_t bit = uint64_t{1} << (item & 63);
    if (word & bit) return;
    word |= bit;
    form.lists.append(item, tid);
  });
  return form;
}

TransactionBits allocate_transaction_bits(std::span<const uint32_t> lengths, uint64_t tid_slots, MemoryMeter& meter) {
  TransactionBits form;
  form.words = row_words(lengths.size());
  form.bits = Buffer<uint64_t>(meter, tid_slots * form.words, Fill::kZero);
  form.lists.begin = Buffer<uint64_t>(meter, lengths.size() + 1);
  form.lists.length = Buffer<uint32_t>(meter, lengths.size(), Fill::kZero);
  uint64_t occurrences = 0;
  for (size_t item = 0; item < lengths.size(); ++item) {
    form.lists.begin[item] = occurrences;
    occurrences += lengths[item];
  }
  form.lists.begin[lengths.size()] = occurrences;
  form.lists.tids = Buffer<uint32_t>(meter, occurrences);
  return form;
}

uint64_t transaction_bits_bytes(uint64_t items, uint64_t tid_slots, uint64_t listed, uint64_t first_column) {
  return tid_slots * row_words(items - first_transaction_bit(first_column)) * 8 + listed * 4 + items * 12;
}

}  // namespace batmap
