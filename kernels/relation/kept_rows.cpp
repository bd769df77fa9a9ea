// Ranges of ranks for threads. See kept_rows.h.
#include "relation/kept_rows.h"

namespace batmap {

std::vector<uint32_t> split_ranks(const EncodedRelation& relation, const KeptItems& kept, size_t parts) {
  std::vector<uint32_t> begin{0};
  uint64_t seen = 0;
  for (uint32_t rank = 0; rank < kept.size; ++rank) {
    if (rank % 64 == 0 && seen * parts >= kept.occurrences * begin.size() && rank > 0) begin.push_back(rank);
    seen += relation.item_rows(kept.code_of_rank[rank]);
  }
  begin.push_back(kept.size);
  return begin;
}

}  // namespace batmap
