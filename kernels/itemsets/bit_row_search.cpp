// AND, count, pack, go on. See bit_row_search.h.
#include "itemsets/bit_row_search.h"

#include "itemsets/leaf_order.h"

namespace batmap {

void BitRowSearch::walk(const std::vector<Candidate>& candidates, const uint64_t* rows, size_t branches, uint32_t length,
                        bool plain) {
  const size_t words = bits_.words();
  std::vector<Candidate> children;
  std::vector<uint32_t> supports(candidates.size());
  Buffer<uint64_t> packed;
  for (size_t k = 0; k < branches; ++k) {
    const Candidate candidate = candidates[k];
    const uint32_t least = bounds_.least();
    if (!bounds_.reaches(length + 1, candidate.support)) continue;
    const size_t perfect = visitor_.perfect();
    children.clear();
    if (length + 1 < most_ && k + 1 < candidates.size()) {
      const size_t later = candidates.size() - k - 1;
      const uint64_t* const row = rows + k * words;
      bits_.count(row, row + words, later, supports.data());
      poll_.after(later * (words + 8));
      if (packed.empty()) packed = Buffer<uint64_t>(*options_.memory, later * words);
      for (size_t j = 0; j < later; ++j) {
        if (supports[j] < least) continue;
        const uint32_t rank = candidates[k + 1 + j].rank;
        if (!plain && supports[j] == candidate.support) {
          visitor_.push_perfect(rank);
          continue;
        }
        bits_.intersect(row, row + (j + 1) * words, packed.data() + children.size() * words);
        children.push_back({rank, supports[j]});
      }
    }
    visitor_.visit(candidate.rank, length + 1, candidate.support);
    if (!children.empty())
      walk(children, packed.data(), children.size(), length + 1, plain || children.size() <= kLeafItems);
    visitor_.shrink_perfect(perfect);
  }
}

void BitRowSearch::extend(size_t place, std::span<const size_t> places, const std::vector<Candidate>& candidates,
                          uint32_t length) {
  const size_t words = bits_.words();
  Buffer<uint64_t> packed(*options_.memory, places.size() * words);
  for (size_t k = 0; k < places.size(); ++k)
    bits_.intersect(bits_.row(place), bits_.row(places[k]), packed.data() + k * words);
  walk(candidates, packed.data(), candidates.size(), length, candidates.size() <= kLeafItems);
}

void search_bit_rows(const SearchRoot& root, uint32_t leading, const SearchBounds& bounds, uint32_t most,
                     const AndPopcountKernel& kernel, ItemsetVisitor& visitor, const ExecutionOptions& options) {
  for (const uint32_t rank : root.perfect) visitor.push_perfect(rank);
  visitor.visit_perfect(root.transactions);
  std::vector<BitRowSearch::Candidate> candidates;
  for (size_t k = 0; k < root.items.size(); ++k) candidates.push_back({root.items[k], root.support[k]});
  BitRowSearch search(WeightedBits(root, kernel, options), bounds, most, visitor, options);
  search.search(candidates, leading, 0, root.is_leaf());
}

}  // namespace batmap
