// The recursion over rows, and its start at a root. See bit_row_search.h.
#include "itemsets/search/bit_row_search.h"

#include "itemsets/forms/leaf_order.h"

namespace batmap {

void BitRowSearch::search(const std::vector<Candidate>& candidates, size_t branches, uint32_t length, bool plain) {
  std::vector<Candidate> children;
  for (size_t k = 0; k < branches; ++k) {
    const Candidate candidate = candidates[k];
    const uint32_t min_count = bounds_.threshold();
    if (!bounds_.reaches(length + 1, candidate.support)) continue;
    const size_t perfect = visitor_.perfect();
    children.clear();
    const bool goes_on = length + 1 < max_length_ && k + 1 < candidates.size();
    if (goes_on) {
      rows_.extend_row(static_cast<uint32_t>(k), min_count, plain ? 0 : candidate.support, found_);
      for (const JoinedItemset& found : found_) {
        const Rank rank = candidates[found.other].rank;
        if (!plain && found.support == candidate.support)
          visitor_.push_perfect(rank);
        else
          children.push_back({rank, found.support});
      }
    }
    visitor_.visit(candidate.rank, length + 1, candidate.support);
    if (!children.empty()) search(children, children.size(), length + 1, plain || children.size() <= kLeafItems);
    if (goes_on) rows_.pop();
    visitor_.shrink_perfect(perfect);
  }
}

void search_bit_rows(const SearchRoot& root, uint32_t leading, const SearchBounds& bounds, uint32_t max_length,
                     RowLevels& rows, ItemsetVisitor& visitor) {
  for (const Rank rank : root.perfect) visitor.push_perfect(rank);
  visitor.visit_perfect(root.transactions);
  std::vector<BitRowSearch::Candidate> candidates;
  for (uint32_t k = 0; k < root.items.size(); ++k)
    candidates.push_back({root.rank_of(RootItem{k}), root.support_of(RootItem{k})});
  BitRowSearch search(rows, bounds, max_length, visitor);
  search.search(candidates, leading, 0, root.is_leaf());
}

}  // namespace batmap
