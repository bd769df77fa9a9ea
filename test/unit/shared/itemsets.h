// Itemsets for tests: an oracle that answers queries by counting every subset of the items, which is too simple
// to be wrong (for relations of up to some 14 items); the answers of a run as rows; random queries and
// relations; and what reference data have.
#pragma once

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "itemsets/answers/itemset_sink.h"
#include "itemsets/answers/itemset_visitor.h"
#include "itemsets/itemset_run.h"
#include "relation/chunk.h"
#include "test/unit/shared/oracle.h"
#include "test/unit/shared/shapes.h"

namespace batmap::test {

inline ItemsetQuery question(int64_t min_count, ItemsetAlgorithm algorithm = ItemsetAlgorithm::kAuto) {
  ItemsetQuery query;
  query.min_count = min_count;
  query.algorithm = algorithm;
  return query;
}

/// Number of candidates and of frequent itemsets, for each length.
inline std::vector<std::pair<uint64_t, uint64_t>> levels_of(const ItemsetRun& run) {
  SearchLevel levels[64];
  const size_t known = run.levels().copy(levels, 64);
  std::vector<std::pair<uint64_t, uint64_t>> counts;
  for (size_t k = 0; k < known; ++k) counts.emplace_back(levels[k].candidates, levels[k].frequent);
  return counts;
}

/// How many itemsets of each length a data set has at a threshold, from fimi/expected.tsv of a
/// folder. Empty if it cannot be read.
using ReferenceCounts = std::map<std::pair<std::string, int64_t>, std::map<uint64_t, uint64_t>>;
inline ReferenceCounts reference_counts(const std::string& folder) {
  ReferenceCounts expected;
  std::ifstream file(folder + "/fimi/expected.tsv");
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::istringstream fields(line);
    std::string name, length;
    int64_t transactions, min_count;
    uint64_t count;
    if (!(fields >> name >> transactions >> min_count >> length >> count)) return {};
    if (length != "all") expected[{name, min_count}][std::stoull(length)] = count;
  }
  return expected;
}

struct ItemsetRow {
  std::vector<int64_t> items;  // ascending
  uint64_t support;
  bool operator==(const ItemsetRow&) const = default;
  auto operator<=>(const ItemsetRow&) const = default;
};

/// Collects the rows that steps stand for.
class RowSink final : public ItemsetSink {
 public:
  explicit RowSink(const ItemsetRun& run) : run_(run) {}
  void take(std::span<const ItemsetStep> steps) override {
    for (const ItemsetStep& step : steps) {
      prefix_.resize(step.length - 1);
      prefix_.push_back(run_.value(step.item));
      if (step.support == 0) continue;
      rows.push_back({prefix_, step.support});
      std::sort(rows.back().items.begin(), rows.back().items.end());
    }
  }
  std::vector<ItemsetRow> rows;

 private:
  const ItemsetRun& run_;
  std::vector<int64_t> prefix_;
};

/// Collects the rows that visits stand for: each itemset with every subset of the perfect extensions.
class RowVisitor final : public ItemsetVisitor {
 public:
  explicit RowVisitor(const ItemsetRun& run) : run_(run) {}
  void visit(Rank item, uint32_t length, uint32_t support) override {
    prefix_.resize(length - 1);
    prefix_.push_back(run_.value(item));
    if (support != 0) add_subsets(prefix_, perfect_.size(), support);
  }
  void visit_perfect(uint32_t support) override {
    add_subsets({}, perfect_.size(), support);
    rows.pop_back();  // the empty itemset
  }
  std::vector<ItemsetRow> rows;

 private:
  void push(Rank item) override { perfect_.push_back(run_.value(item)); }
  void shrink(size_t height) override { perfect_.resize(height); }
  void add_subsets(std::vector<int64_t> items, size_t extensions, uint32_t support) {
    if (extensions > 0) {
      std::vector<int64_t> longer = items;
      longer.push_back(perfect_[extensions - 1]);
      add_subsets(std::move(longer), extensions - 1, support);
      return add_subsets(std::move(items), extensions - 1, support);
    }
    std::sort(items.begin(), items.end());
    rows.push_back({std::move(items), support});
  }

  const ItemsetRun& run_;
  std::vector<int64_t> prefix_;
  std::vector<int64_t> perfect_;
};

class ItemsetOracle {
 public:
  explicit ItemsetOracle(const std::vector<TidItem>& relation) {
    for (const TidItem& pair : relation) {
      transactions_[pair.tid].insert(pair.item);
      items_.insert(pair.item);
    }
  }

  uint64_t total() const { return transactions_.size(); }

  /// All answers, ascending; the k best in their order.
  std::vector<ItemsetRow> answer(const ItemsetQuery& query) const {
    uint64_t min_count = 1;
    if (query.min_count) min_count = static_cast<uint64_t>(*query.min_count);
    if (query.min_support) min_count = oracle_count_of_fraction(*query.min_support, total());
    std::set<int64_t> kept = items_;
    if (query.exclude)
      for (const int64_t item : *query.exclude) kept.erase(item);
    const std::vector<int64_t> items(kept.begin(), kept.end());

    std::vector<uint64_t> support(size_t{1} << items.size(), 0);
    for (const auto& [tid, held] : transactions_) {
      size_t mask = 0;
      for (size_t k = 0; k < items.size(); ++k) mask |= size_t{held.contains(items[k])} << k;
      for (size_t subset = mask;; subset = (subset - 1) & mask) {
        ++support[subset];
        if (subset == 0) break;
      }
    }
    std::vector<ItemsetRow> rows;
    for (size_t subset = 1; subset < support.size(); ++subset) {
      if (support[subset] < min_count) continue;
      bool wanted = true;
      for (size_t k = 0; k < items.size(); ++k) {
        const size_t bit = size_t{1} << k;
        const uint64_t other = support[subset ^ bit];
        const bool is_superset = (subset & bit) == 0;
        if (query.target == ItemsetTarget::kClosed && is_superset && other == support[subset]) wanted = false;
        if (query.target == ItemsetTarget::kMaximal && is_superset && other >= min_count) wanted = false;
        if (query.target == ItemsetTarget::kGenerators && !is_superset && other == support[subset]) wanted = false;
      }
      ItemsetRow row{{}, support[subset]};
      bool included = !query.include;
      for (size_t k = 0; k < items.size(); ++k)
        if (subset >> k & 1) {
          row.items.push_back(items[k]);
          included = included || std::count(query.include->begin(), query.include->end(), items[k]) != 0;
        }
      const auto length = static_cast<int64_t>(row.items.size());
      if (!wanted || !included || length < query.min_length.value_or(1) || length > query.max_length.value_or(length))
        continue;
      if (query.max_support && oracle_count_of_fraction(*query.max_support, total()) < row.support) continue;
      if (query.max_support && oracle_count_of_fraction(*query.max_support, total()) == row.support &&
          oracle_above(*query.max_support, row.support))
        continue;
      rows.push_back(std::move(row));
    }
    std::sort(rows.begin(), rows.end());
    if (query.top_k) {
      std::sort(rows.begin(), rows.end(), [](const ItemsetRow& x, const ItemsetRow& y) {
        if (x.support != y.support) return x.support > y.support;
        if (x.items.size() != y.items.size()) return x.items.size() < y.items.size();
        return x.items < y.items;
      });
      if (rows.size() > static_cast<uint64_t>(*query.top_k)) rows.resize(static_cast<size_t>(*query.top_k));
    }
    return rows;
  }

 private:
  /// Is count, the ceiling of fraction * total, larger than the product? It is not if the ceiling of the 1,000-fold
  /// product is 1,000 * count.
  bool oracle_above(double fraction, uint64_t count) const {
    return oracle_count_of_fraction(fraction, total() * 1000) != count * 1000;
  }

  std::map<int64_t, std::set<int64_t>> transactions_;
  std::set<int64_t> items_;
};

inline std::string describe(const ItemsetRow& row) {
  std::string text = "{";
  for (const int64_t item : row.items) text += " " + std::to_string(item);
  return text + " } " + std::to_string(row.support);
}

/// Empty if both are the same sequence; if not, where they differ first.
inline std::string difference(const std::vector<ItemsetRow>& found, const std::vector<ItemsetRow>& expected) {
  for (size_t i = 0; i < found.size() && i < expected.size(); ++i)
    if (!(found[i] == expected[i]))
      return "row " + std::to_string(i) + ": found " + describe(found[i]) + ", expected " + describe(expected[i]);
  if (found.size() == expected.size()) return {};
  return std::to_string(found.size()) + " rows found, " + std::to_string(expected.size()) + " expected";
}

inline std::string describe_query(const ItemsetQuery& query) {
  std::string text = "algorithm " + std::to_string(static_cast<int>(query.algorithm)) + ", target " +
                     std::to_string(static_cast<int>(query.target));
  const auto add = [&](const char* name, const auto& value) {
    if (value) text += std::string(", ") + name + " " + std::to_string(*value);
  };
  add("min_count", query.min_count);
  add("min_support", query.min_support);
  add("max_support", query.max_support);
  add("min_length", query.min_length);
  add("max_length", query.max_length);
  add("top_k", query.top_k);
  if (query.include) text += ", include " + std::to_string(query.include->size());
  if (query.exclude) text += ", exclude " + std::to_string(query.exclude->size());
  return text;
}

/// A query with random options.
inline ItemsetQuery draw_query(Random& random, int64_t items) {
  ItemsetQuery query;
  query.target = static_cast<ItemsetTarget>(random.below(4));
  if (random.chance(20))
    query.min_support = static_cast<double>(1 + random.below(40)) / 100;
  else if (random.chance(90))
    query.min_count = 1 + random.signed_below(6);
  if (random.chance(20) || (!query.min_count && !query.min_support)) query.top_k = 1 + random.signed_below(40);
  if (random.chance(20)) query.min_length = 1 + random.signed_below(3);
  if (random.chance(20)) query.max_length = query.min_length.value_or(1) + random.signed_below(4);
  if (random.chance(15)) query.max_support = static_cast<double>(10 + random.below(90)) / 100;
  const auto list = [&] {
    std::vector<int64_t> values;
    for (uint64_t k = random.below(4); k > 0; --k) values.push_back(random.signed_below(static_cast<uint64_t>(items) + 1));
    return values;
  };
  if (random.chance(20)) query.include = list();
  if (random.chance(20)) query.exclude = list();
  if (random.chance(50)) query.algorithm = static_cast<ItemsetAlgorithm>(random.below(kItemsetAlgorithms));
  query.bits = find_and_popcount(random.chance(50) ? "auto" : "scalar");
  const std::span<const MaskKernel> kernels = mask_kernels();
  query.kernel = &select_mask_kernel(kernels[random.below(kernels.size())].name);
  return query;
}

/// A relation of few items: some items in all transactions, some repeated rows, some equal transactions.
inline std::vector<TidItem> draw_relation(Random& random, int64_t items) {
  std::vector<TidItem> rows;
  const uint64_t percent = 10 + random.below(85);
  const int64_t tids = 1 + random.signed_below(40);
  for (int64_t tid = 0; tid < tids; ++tid) {
    const size_t begin = rows.size();
    for (int64_t item = 0; item < items; ++item)
      if (random.chance(item % 4 == 3 ? 97 : percent)) rows.push_back({tid, item});
    for (uint64_t copies = random.chance(30) ? random.below(4) : 0; copies > 0; --copies, ++tid)
      for (size_t k = begin, end = rows.size(); k < end && rows[k].tid == rows[begin].tid; ++k)
        rows.push_back({tid + 1, rows[k].item});
    if (random.chance(10) && !rows.empty()) rows.push_back(rows[random.below(rows.size())]);
  }
  return rows;
}

}  // namespace batmap::test
