// Sets one bit for each row of the relation. See bit_matrix.h.
#include "relation/bit_matrix.h"

#include <bit>

#include "bits/and_popcount.h"
#include "core/thread_team.h"
#include "relation/kept_rows.h"

namespace batmap {

BitMatrix fill_bit_matrix(const EncodedRelation& relation, const KeptItems& kept, const ExecutionOptions& options) {
  MemoryMeter& meter = *options.memory;
  BitMatrix matrix;
  matrix.words = row_words(relation.tid_slots());
  matrix.bits = Buffer<uint64_t>(meter, size_t{kept.size} * matrix.words, Fill::kZero);
  matrix.support = Buffer<uint32_t>(meter, kept.size);

  uint64_t* const bits = matrix.bits.data();
  const size_t words = matrix.words;
  const TidParts parts(relation, threads_for_rows(kept.occurrences, options), options);
  parallel_for(options, parts.size(), [&](size_t part, int) {
    visit_kept_rows(parts, part, kept, [&](const uint32_t* tids, const uint32_t* items, uint32_t rows) {
      for (uint32_t k = 0; k < rows; ++k) bits[items[k] * words + (tids[k] >> 6)] |= uint64_t{1} << (tids[k] & 63);
    });
  });
  parallel_for(options, kept.size, [&](size_t item, int) {
    uint64_t support = 0;
    for (size_t word = 0; word < matrix.words; ++word)
      support += static_cast<uint64_t>(std::popcount(matrix.row(item)[word]));
    matrix.support[item] = static_cast<uint32_t>(support);
  });
  return matrix;
}

uint64_t bit_matrix_bytes(uint64_t items, uint64_t tid_slots) { return items * (row_words(tid_slots) * 8 + 4); }

}  // namespace batmap
