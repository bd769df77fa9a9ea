// The levels, and the walk over them. See breadth_first.h.
#include "itemsets/search/breadth_first.h"

#include <algorithm>

#include "core/stopwatch.h"
#include "itemsets/forms/leaf_order.h"

namespace batmap {

namespace {

// Candidates are counted in batches, so that the times of making and of counting them can be measured apart.
constexpr size_t kCandidatesAtOnce = 4096;

/// @param bitmap  of an itemset; the highest bit of the first word is item 0
void add_to_bitmap(uint64_t* bitmap, RootItem item) {
  bitmap[index_of(item) / 64] |= uint64_t{1} << (63 - index_of(item) % 64);
}

}  // namespace

BreadthFirst::BreadthFirst(const SearchRoot& root, const SearchBounds& bounds, uint32_t max_length, ItemsetLookup lookup,
                           RowLevels& rows, ItemsetVisitor& visitor, SearchLevels& log, const ExecutionOptions& options)
    : root_(root),
      bounds_(bounds),
      max_length_(max_length),
      lookup_(lookup),
      visitor_(visitor),
      log_(log),
      options_(options),
      poll_(options.cancel),
      rows_(rows),
      bitmap_words_(lookup == ItemsetLookup::kBitmaps && !rows.joins_levels() ? (root.items.size() + 63) / 64 : 0),
      is_perfect_(root.items.size(), false) {}

void BreadthFirst::search(uint32_t leading) {
  log_.clear();
  first_level(leading);
  if (lookup_ == ItemsetLookup::kBitmaps && rows_.joins_levels())
    extend_pieces(0, 1, true);
  else
    while (levels_.size() < max_length_ && next_level()) {
    }

  for (const Rank rank : root_.perfect) visitor_.push_perfect(rank);
  visitor_.visit_perfect(root_.transactions);
  for (size_t index = 0; index < leading; ++index) root_.is_leaf() ? write_plain(0, index) : write(0, index);
}

/// Includes the items that begin no itemset: they are last items of other itemsets.
void BreadthFirst::first_level(uint32_t leading) {
  leading_ = leading;
  levels_.emplace_back(*options_.memory);
  for (uint32_t k = 0; k < root_.items.size(); ++k) add(levels_[0], RootItem{k}, root_.support_of(RootItem{k}), 0);
  if (levels_[0].size() > 0) log_.add(1, {levels_[0].size(), levels_[0].size(), 0, 0});
}

void BreadthFirst::add(Level& level, RootItem item, uint32_t support, uint32_t parent) {
  level.item.push_back(item);
  level.support.push_back(support);
  level.parent.push_back(parent);
  poll_.after(1 + bitmap_words_);
  if (bitmap_words_ == 0) return;
  const uint64_t* const before = levels_.size() < 2 ? nullptr : levels_[levels_.size() - 2].bitmaps.begin();
  uint64_t* const bitmap = level.bitmaps.room(bitmap_words_);
  if (before == nullptr)
    std::fill_n(bitmap, bitmap_words_, 0u);
  else
    std::copy_n(before + parent * bitmap_words_, bitmap_words_, bitmap);
  add_to_bitmap(bitmap, item);
  level.bitmaps.add(bitmap_words_);
}

/// @return whether the new level has any itemset
bool BreadthFirst::next_level() {
  const Stopwatch watch;
  const size_t length = levels_.size();  // of the itemsets that are joined
  levels_.emplace_back(*options_.memory);
  Level& from = levels_[length - 1];
  Level& to = levels_[length];
  uint64_t counted = 0;
  std::vector<JoinedItemset> candidates;
  GrowingBuffer<JoinedItemset> kept(*options_.memory);
  double counting_ms = 0;
  const auto count = [&] {
    const Stopwatch counting;
    counted += candidates.size();
    count_candidates(candidates, kept);
    counting_ms += counting.milliseconds();
  };
  std::vector<RootItem> itemset;
  for (size_t k = 0; k < from.size(); ++k) {
    if (length == 1 && k >= leading_) break;
    itemset.clear();
    for (size_t j = k + 1; j < from.size() && (length == 1 || from.parent[j] == from.parent[k]); ++j) {
      if (itemset.empty()) {
        itemset = itemset_at(length - 1, k);
        itemset.push_back(kNoRootItem);
      }
      itemset.back() = from.item[j];
      poll_.after(1);
      if (length > 1 && !subsets_are_frequent(itemset)) continue;
      candidates.push_back({static_cast<uint32_t>(k), static_cast<uint32_t>(j), 0});
      if (candidates.size() == kCandidatesAtOnce) count();
    }
  }
  count();
  size_t index = 0;
  for (size_t k = 0; k < from.size(); ++k) {
    from.children.push_back(static_cast<uint32_t>(index));
    for (; index < kept.size() && kept[index].parent == k; ++index)
      add(to, from.item[kept[index].other], kept[index].support, kept[index].parent);
  }
  from.children.push_back(static_cast<uint32_t>(index));
  if (to.size() > 0 && levels_.size() < max_length_) {
    const Stopwatch counting;
    rows_.push(kept.span());
    rows_.drop_lower();
    counting_ms += counting.milliseconds();
  }
  if (counted > 0) log_.add(length + 1, {counted, to.size(), watch.milliseconds() - counting_ms, counting_ms});
  return to.size() != 0;
}

void BreadthFirst::count_candidates(std::vector<JoinedItemset>& candidates, GrowingBuffer<JoinedItemset>& kept) {
  if (candidates.empty()) return;
  rows_.count(candidates);
  const uint32_t min_count = bounds_.threshold();
  for (const JoinedItemset& candidate : candidates)
    if (candidate.support >= min_count) kept.push_back(candidate);
  candidates.clear();
}

/// Extends the itemsets of `length` items from index `base` of their level on; their rows are the top level.
/// @param is_whole  these are all frequent itemsets of this length
void BreadthFirst::extend_pieces(size_t base, size_t length, bool is_whole) {
  if (length >= max_length_) return;
  if (levels_.size() == length) levels_.emplace_back(*options_.memory);
  levels_[length - 1].children.shrink(base);  // the end of the piece before is the beginning of this one
  const size_t size = levels_[length - 1].size() - base;
  const size_t parents = length == 1 ? leading_ : size;
  std::vector<uint32_t> candidates(parents);  // [parents] later itemsets of the same parent
  {
    const Level& from = levels_[length - 1];
    for (size_t k = size, end = size; k-- > 0;) {
      if (k + 1 < size && length > 1 && from.parent[base + k] != from.parent[base + k + 1]) end = k + 1;
      if (k < parents) candidates[k] = static_cast<uint32_t>(end - k - 1);
    }
  }
  GrowingBuffer<JoinedItemset> found(*options_.memory);
  for (size_t first = 0, last = 0; first < parents; first = last) {
    // Use half of the room, so that some is left for the levels to come. One parent may need more.
    const uint64_t max_candidates = length + 1 < max_length_ ? rows_.room_rows() / 2 : UINT64_MAX;
    uint64_t sum = 0;
    while (last < parents && (last == first || sum + candidates[last] <= max_candidates)) sum += candidates[last++];
    const Stopwatch watch;
    found.shrink(0);
    const bool goes_on = sum > 0 && length + 1 < max_length_;
    uint64_t counted = 0;
    if (sum > 0)
      counted = rows_.extend_rows({.first = static_cast<uint32_t>(first),
                                   .last = static_cast<uint32_t>(last),
                                   .min_count = bounds_.threshold(),
                                   .prune = is_whole && length > 1,
                                   .leading = leading_,
                                   .push = goes_on},
                                  found);
    Level& from = levels_[length - 1];
    Level& to = levels_[length];
    const size_t begin = to.size();
    size_t index = 0;
    for (size_t k = first; k < last; ++k) {
      from.children.push_back(static_cast<uint32_t>(to.size()));
      for (; index < found.size() && found[index].parent == k; ++index)
        add(to, from.item[base + found[index].other], found[index].support, static_cast<uint32_t>(base + k));
    }
    if (counted > 0) log_.add(length + 1, {counted, found.size(), 0, watch.milliseconds()});  // rows_ joined them, too
    if (!goes_on) continue;
    const bool was_last = is_whole && last == parents;
    if (was_last) rows_.drop_lower();
    if (to.size() > begin) extend_pieces(begin, length + 1, was_last && first == 0);
    rows_.pop();
  }
  Level& from = levels_[length - 1];
  while (from.children.size() <= from.size()) from.children.push_back(static_cast<uint32_t>(levels_[length].size()));
}

std::vector<RootItem> BreadthFirst::itemset_at(size_t level, size_t index) const {
  std::vector<RootItem> itemset(level + 1);
  for (size_t k = level + 1; k-- > 0; index = levels_[k].parent[index]) itemset[k] = levels_[k].item[index];
  return itemset;
}

/// Looks up the subsets of one item less, except the two parents, which are frequent.
bool BreadthFirst::subsets_are_frequent(const std::vector<RootItem>& itemset) const {
  for (size_t without = 0; without + 2 < itemset.size(); ++without) {
    if (without == 0 && index_of(itemset[1]) >= leading_) continue;  // never counted: no wanted itemset begins so
    if (!is_frequent(itemset, without)) return false;
  }
  return true;
}

bool BreadthFirst::is_frequent(const std::vector<RootItem>& itemset, size_t without) const {
  const size_t length = itemset.size() - 1;
  const Level& level = levels_[length - 1];
  poll_.after(16 * itemset.size());
  if (lookup_ == ItemsetLookup::kBitmaps) {
    std::vector<uint64_t> wanted(bitmap_words_, 0);
    for (size_t k = 0; k < itemset.size(); ++k)
      if (k != without) add_to_bitmap(wanted.data(), itemset[k]);
    // The lexicographical order of itemsets of one length is the descending order of their bitmaps.
    size_t low = 0;
    size_t high = level.size();
    while (low < high) {
      const size_t middle = (low + high) / 2;
      const uint64_t* const bitmap = level.bitmaps.begin() + middle * bitmap_words_;
      const auto [own, other] = std::mismatch(wanted.begin(), wanted.end(), bitmap);
      if (own == wanted.end()) return true;
      if (*other > *own)
        low = middle + 1;
      else
        high = middle;
    }
    return false;
  }
  size_t begin = 0;
  size_t end = levels_[0].size();
  for (size_t k = 0, depth = 0; k < itemset.size(); ++k) {
    if (k == without) continue;
    const RootItem* const items = levels_[depth].item.begin();
    const RootItem* const found = std::lower_bound(items + begin, items + end, itemset[k]);
    if (found == items + end || *found != itemset[k]) return false;
    if (++depth == length) return true;
    const auto index = static_cast<size_t>(found - items);
    begin = levels_[depth - 1].children[index];
    end = levels_[depth - 1].children[index + 1];
  }
  return true;
}

/// Calls visit(index in the next level) for each child whose last item is not a perfect extension.
template <typename Visit>
void BreadthFirst::visit_children(size_t level, size_t index, Visit visit) const {
  if (level + 1 >= levels_.size()) return;
  const Level& next = levels_[level + 1];
  if (next.size() == 0) return;
  for (size_t child = levels_[level].children[index]; child < levels_[level].children[index + 1]; ++child)
    if (!is_perfect_[index_of(next.item[child])]) visit(child);
}

void BreadthFirst::write(size_t level, size_t index) {
  const uint32_t support = levels_[level].support[index];
  if (support < bounds_.threshold()) return;
  std::vector<RootItem> perfect;
  size_t candidates = 0;
  visit_children(level, index, [&](size_t child) {
    const RootItem item = levels_[level + 1].item[child];
    if (levels_[level + 1].support[child] == support)
      perfect.push_back(item);
    else
      ++candidates;
  });
  for (const RootItem item : perfect) {
    visitor_.push_perfect(root_.rank_of(item));
    is_perfect_[index_of(item)] = true;
  }
  visitor_.visit(root_.rank_of(levels_[level].item[index]), static_cast<uint32_t>(level) + 1, support);
  poll_.after(64);
  visit_children(level, index, [&](size_t child) {
    candidates <= static_cast<size_t>(kLeafItems) ? write_plain(level + 1, child) : write(level + 1, child);
  });
  for (const RootItem item : perfect) is_perfect_[index_of(item)] = false;
  visitor_.shrink_perfect(visitor_.perfect() - perfect.size());
}

void BreadthFirst::write_plain(size_t level, size_t index) {
  const uint32_t support = levels_[level].support[index];
  if (support < bounds_.threshold()) return;
  visitor_.visit(root_.rank_of(levels_[level].item[index]), static_cast<uint32_t>(level) + 1, support);
  visit_children(level, index, [&](size_t child) { write_plain(level + 1, child); });
}

}  // namespace batmap
