// Fills bit rows and lists together: a row whose bit is set already is a duplicate and is not listed.
// See transaction_bits.h.
#include "relation/transaction_bits.h"

#include <algorithm>
#include <atomic>
#include <new>

#include "bits/and_popcount.h"
#include "core/thread_team.h"
#include "relation/kept_rows.h"

namespace batmap {

namespace {

constexpr uint32_t kNoTid = UINT32_MAX;

/// Sets the bits and lists the tids of one part, each where its list begins. For a duplicate row, kNoTid fills the
/// slot at the end of the part's list, and the length of the list decreases.
void fill_part(const TidParts& parts, size_t part, const KeptItems& kept, RowOffsets& offsets, MemoryMeter& meter,
               TransactionBits& form) {
  Buffer<uint32_t> offset(meter, kept.size);
  std::ranges::copy(offsets.of_part(part), offset.begin());
  uint32_t* const next = offset.data();
  uint64_t* const bits = form.bits.data();
  uint32_t* const listed = form.lists.tids.data();
  const size_t words = form.words;
  const uint32_t leading = kept.pairs.leading;
  if (kept.pairs.rectangle())
    visit_kept_rows(parts, part, kept, [&](const uint32_t* tids, const uint32_t* items, uint32_t rows) {
      for (uint32_t k = 0; k < rows; ++k) {
        if (items[k] < leading) {
          listed[next[items[k]]++] = tids[k];
          continue;
        }
        uint64_t& word = bits[tids[k] * words + ((items[k] - form.first_bit) >> 6)];
        const uint64_t bit = uint64_t{1} << (items[k] & 63);
        next[items[k]] += (word & bit) == 0;
        word |= bit;
      }
    });
  else
    visit_kept_rows(parts, part, kept, [&](const uint32_t* tids, const uint32_t* items, uint32_t rows) {
      for (uint32_t k = 0; k < rows; ++k) {
        uint64_t& word = bits[tids[k] * words + (items[k] >> 6)];
        const uint64_t bit = uint64_t{1} << (items[k] & 63);
        if (word & bit) continue;
        word |= bit;
        listed[next[items[k]]++] = tids[k];
      }
    });
  for (uint32_t item = 0; item < kept.size; ++item) {
    const uint32_t end = offsets.of_part(part + 1)[item];
    if (next[item] == end) continue;
    std::atomic_ref(form.lists.length[item]).fetch_sub(end - next[item], std::memory_order_relaxed);
    if (!kept.pairs.rectangle()) std::fill(listed + next[item], listed + end, kNoTid);
  }
}

}  // namespace

TransactionBits fill_transaction_bits(const EncodedRelation& relation, const KeptItems& kept,
                                      const ExecutionOptions& options) {
  TransactionBits form;
  form.first_bit = static_cast<uint32_t>(first_transaction_bit(kept.pairs.first_column));
  form.words = row_words(kept.size - form.first_bit);
  form.bits = Buffer<uint64_t>(*options.memory, relation.tid_slots() * form.words, Fill::kZero);
  form.lists = allocate_tidlists(relation, kept, *options.memory, kept.pairs.rectangle() ? kept.pairs.leading : kept.size);

  const size_t max_parts = std::min(threads_for_rows(kept.occurrences, options), RowOffsets::max_parts(kept));
  const TidParts parts(relation, max_parts, options);
  RowOffsets offsets(parts, kept, options);
  for (uint32_t item = 0; item < kept.size; ++item)
    form.lists.length[item] = static_cast<uint32_t>(relation.item_rows(kept.code(Rank{item})));
  parallel_for(options, parts.size(),
               [&](size_t part, int) { fill_part(parts, part, kept, offsets, *options.memory, form); });
  if (kept.pairs.rectangle()) {
    sort_lists(form.lists, relation.tid_slots(), options, kept.pairs.leading);
    return form;
  }
  for (uint32_t item = 0; item < kept.size; ++item) {
    const std::span<uint32_t> room =
        form.lists.tids.span().subspan(form.lists.begin[item], form.lists.begin[item + 1] - form.lists.begin[item]);
    if (form.lists.length[item] < room.size()) static_cast<void>(std::ranges::remove(room, kNoTid));
  }
  return form;
}

TransactionBits allocate_transaction_bits(std::span<const uint32_t> lengths, uint64_t tid_slots, MemoryMeter& meter) {
  TransactionBits form;
  form.words = row_words(lengths.size());
  if (tid_slots > SIZE_MAX / sizeof(uint64_t) / std::max<size_t>(form.words, 1)) throw std::bad_alloc();
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
