// Levels, and the walk over them. See breadth_first.h.
#include "itemsets/breadth_first.h"

#include <algorithm>

#include "core/stopwatch.h"
#include "itemsets/leaf_order.h"

namespace batmap {

namespace {
constexpr size_t kCountedTogether =
    4096;  // candidates, about: so that what they cost and what counting costs are told apart
}  // namespace

BreadthFirst::BreadthFirst(const SearchRoot& root, const SearchBounds& bounds, uint32_t most, ItemsetLookup lookup,
                           const AndPopcountKernel& kernel, ItemsetVisitor& visitor, SearchLevels& log,
                           const ExecutionOptions& options)
    : root_(root),
      bounds_(bounds),
      most_(most),
      lookup_(lookup),
      visitor_(visitor),
      log_(log),
      options_(options),
      poll_(options.cancel),
      bits_(root, kernel, options),
      bitmap_words_(lookup == ItemsetLookup::kBitmaps ? (root.items.size() + 63) / 64 : 0),
      rows_(*options.memory),
      both_(*options.memory, bits_.words()),
      is_perfect_(root.items.size(), false) {}

void BreadthFirst::search(uint32_t leading) {
  log_.clear();
  bool more = true;
  for (first_level(leading); more && levels_.size() < most_;) {
    SearchLevel level{};
    more = next_level(level);
    if (level.candidates > 0) log_.add(level);
  }
  rows_.reset();

  for (const uint32_t rank : root_.perfect) visitor_.push_perfect(rank);
  visitor_.visit_perfect(root_.transactions);
  for (uint32_t item = 0; item < leading; ++item) root_.is_leaf() ? write_plain(0, item) : write(0, item);
}

/// Items that begin no itemset are there too, as last items of others.
void BreadthFirst::first_level(uint32_t leading) {
  leading_ = leading;
  levels_.emplace_back(*options_.memory);
  for (uint32_t item = 0; item < root_.items.size(); ++item) add(levels_[0], item, root_.support[item], 0, bits_.row(item));
  if (levels_[0].size() > 0) log_.add({levels_[0].size(), levels_[0].size(), 0, 0});
}

void BreadthFirst::add(Level& level, uint32_t item, uint32_t support, uint32_t parent, const uint64_t* row) {
  const uint64_t* const before = levels_.size() < 2 ? nullptr : levels_[levels_.size() - 2].bitmaps.begin();
  level.item.push_back(item);
  level.support.push_back(support);
  level.parent.push_back(parent);
  if (bitmap_words_ != 0) {
    uint64_t* const bitmap = level.bitmaps.room(bitmap_words_);
    if (before == nullptr)
      std::fill_n(bitmap, bitmap_words_, 0u);
    else
      std::copy_n(before + parent * bitmap_words_, bitmap_words_, bitmap);
    bitmap[item / 64] |= uint64_t{1} << (63 - item % 64);
    level.bitmaps.add(bitmap_words_);
  }
  std::copy_n(row, bits_.words(), rows_.room(bits_.words()));
  rows_.add(bits_.words());
}

/// @param log  of the level @return whether there is anything in it
bool BreadthFirst::next_level(SearchLevel& log) {
  const size_t length = levels_.size();  // of the itemsets that are joined
  const GrowingBuffer<uint64_t> rows = std::exchange(rows_, GrowingBuffer<uint64_t>(*options_.memory));
  levels_.emplace_back(*options_.memory);
  const Level& from = levels_[length - 1];
  const Level& to = levels_[length];
  const size_t first_parents = length == 1 ? leading_ : from.size();
  std::vector<Joined> candidates;
  for (size_t k = 0; k < first_parents;) {
    const Stopwatch watch;
    candidates.clear();
    for (; k < first_parents && candidates.size() < kCountedTogether; ++k) join(length, k, candidates);
    const double joined_ms = watch.milliseconds();
    count(length, candidates, rows.span());
    log.candidates += candidates.size();
    log.candidate_ms += joined_ms;
    log.counting_ms += watch.milliseconds() - joined_ms;
  }
  begin_children(length, from.size());
  log.frequent = to.size();
  return to.size() != 0;
}

/// The candidates that an itemset of the level before makes with its siblings.
void BreadthFirst::join(size_t length, size_t first, std::vector<Joined>& candidates) {
  const Level& from = levels_[length - 1];
  std::vector<uint32_t> itemset;
  for (size_t other = first + 1; other < from.size() && (length == 1 || from.parent[other] == from.parent[first]); ++other) {
    if (itemset.empty()) {
      itemset = itemset_at(length - 1, first);
      itemset.push_back(0);
    }
    itemset.back() = from.item[other];
    poll_.after(1);
    if (length > 1 && !subsets_are_frequent(itemset)) continue;
    candidates.push_back({static_cast<uint32_t>(first), static_cast<uint32_t>(other)});
  }
}

/// Adds the frequent ones to the last level. @param rows  of the level before
void BreadthFirst::count(size_t length, std::span<const Joined> candidates, std::span<const uint64_t> rows) {
  const size_t words = bits_.words();
  const uint32_t least = bounds_.least();
  for (const auto& [first, other] : candidates) {
    uint32_t support;
    bits_.count(rows.data() + first * words, rows.data() + other * words, 1, &support);
    poll_.after(words + 32);
    if (support < least) continue;
    begin_children(length, first);
    bits_.intersect(rows.data() + first * words, rows.data() + other * words, both_.data());
    add(levels_[length], levels_[length - 1].item[other], support, first, both_.data());
  }
}

/// Children of the itemset at `place` of the level before the last begin here, as do those of the ones before it that have
/// none.
void BreadthFirst::begin_children(size_t length, size_t place) {
  GrowingBuffer<uint32_t>& children = levels_[length - 1].children;
  while (children.size() <= place) children.push_back(static_cast<uint32_t>(levels_[length].size()));
}

std::vector<uint32_t> BreadthFirst::itemset_at(size_t level, size_t place) const {
  std::vector<uint32_t> itemset(level + 1);
  for (size_t k = level + 1; k-- > 0; place = levels_[k].parent[place]) itemset[k] = levels_[k].item[place];
  return itemset;
}

/// The subsets of one item less that are not parents of the itemset.
bool BreadthFirst::subsets_are_frequent(const std::vector<uint32_t>& itemset) const {
  for (size_t without = 0; without + 2 < itemset.size(); ++without) {
    if (without == 0 && itemset[1] >= leading_) continue;  // nobody has counted these
    if (!is_frequent(itemset, without)) return false;
  }
  return true;
}

bool BreadthFirst::is_frequent(const std::vector<uint32_t>& itemset, size_t without) const {
  const size_t length = itemset.size() - 1;
  const Level& level = levels_[length - 1];
  poll_.after(16 * itemset.size());
  if (lookup_ == ItemsetLookup::kBitmaps) {
    std::vector<uint64_t> wanted(bitmap_words_, 0);
    for (size_t k = 0; k < itemset.size(); ++k)
      if (k != without) wanted[itemset[k] / 64] |= uint64_t{1} << (63 - itemset[k] % 64);
    // Lexicographical order of itemsets of one length is the falling order of their bitmaps.
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
    const uint32_t* const items = levels_[depth].item.begin();
    const uint32_t* const found = std::lower_bound(items + begin, items + end, itemset[k]);
    if (found == items + end || *found != itemset[k]) return false;
    if (++depth == length) return true;
    const auto place = static_cast<size_t>(found - items);
    begin = levels_[depth - 1].children[place];
    end = levels_[depth - 1].children[place + 1];
  }
  return true;
}

/// Calls visit(place in the next level) for the children that are not perfect extensions.
template <typename Visit>
void BreadthFirst::visit_children(size_t level, size_t place, Visit visit) const {
  if (level + 1 >= levels_.size()) return;
  const Level& next = levels_[level + 1];
  if (next.size() == 0) return;
  for (size_t child = levels_[level].children[place]; child < levels_[level].children[place + 1]; ++child)
    if (!is_perfect_[next.item[child]]) visit(child);
}

void BreadthFirst::write(size_t level, size_t place) {
  const uint32_t support = levels_[level].support[place];
  if (support < bounds_.least()) return;
  std::vector<uint32_t> perfect;
  size_t candidates = 0;
  visit_children(level, place, [&](size_t child) {
    const uint32_t item = levels_[level + 1].item[child];
    if (levels_[level + 1].support[child] == support)
      perfect.push_back(item);
    else
      ++candidates;
  });
  for (const uint32_t item : perfect) {
    visitor_.push_perfect(root_.items[item]);
    is_perfect_[item] = true;
  }
  visitor_.visit(root_.items[levels_[level].item[place]], static_cast<uint32_t>(level) + 1, support);
  poll_.after(64);
  visit_children(level, place, [&](size_t child) {
    candidates <= static_cast<size_t>(kLeafItems) ? write_plain(level + 1, child) : write(level + 1, child);
  });
  for (const uint32_t item : perfect) is_perfect_[item] = false;
  visitor_.shrink_perfect(visitor_.perfect() - perfect.size());
}

void BreadthFirst::write_plain(size_t level, size_t place) {
  const uint32_t support = levels_[level].support[place];
  if (support < bounds_.least()) return;
  visitor_.visit(root_.items[levels_[level].item[place]], static_cast<uint32_t>(level) + 1, support);
  visit_children(level, place, [&](size_t child) { write_plain(level + 1, child); });
}

}  // namespace batmap
