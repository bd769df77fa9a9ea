// The rows of kept items, visited by several threads at once: each thread walks all blocks (decoding is cheap) and
// sees the rows of its own range of item ranks, in order of arrival. What is indexed by item, and 64-bit words indexed
// by item rank / 64, is then written by one thread only and needs no locks. Source: ours.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/thread_team.h"
#include "relation/encoded_relation.h"
#include "relation/kept_items.h"

namespace batmap {

/// First ranks of `parts` ranges of about equal occurrences, each a multiple of 64, and the end.
std::vector<uint32_t> split_ranks(const EncodedRelation& relation, const KeptItems& kept, size_t parts);

/// Calls visit(tid code, item rank) for every row of a kept item. @throws Error{kCancelled}
template <typename Visit>
void visit_kept_rows(const EncodedRelation& relation, const KeptItems& kept, const ExecutionOptions& options, Visit visit) {
  constexpr uint64_t kRowsWorthAThread = 1 << 18;
  const uint64_t parts =
      std::clamp<uint64_t>(kept.occurrences / kRowsWorthAThread, 1, static_cast<uint64_t>(options.threads));
  const std::vector<uint32_t> begin = split_ranks(relation, kept, parts);
  parallel_for(options, begin.size() - 1, [&](size_t part, int) {
    const uint32_t first = begin[part];
    const uint32_t size = begin[part + 1] - first;
    uint32_t tids[kChunkRows];
    uint32_t items[kChunkRows];
    for (size_t block = 0; block < relation.blocks(); ++block) {
      options.cancel.throw_if_requested();
      const uint32_t rows = relation.decode(block, tids, items);
      for (uint32_t k = 0; k < rows; ++k) {
        const uint32_t item = kept.rank_of_code[items[k]];
        if (item - first < size) visit(tids[k], item);  // dropped items are beyond every range
      }
    }
  });
}

}  // namespace batmap
