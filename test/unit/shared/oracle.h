// Answers questions about pairs by code too simple to be wrong: sets of tids, a map of pairs, loops, integer
// arithmetic. For inputs of a few thousand rows; cost: the square of every transaction's length, times the
// cost of a map. Written from the documentation in kernels/pairs/pair_run.h, best_pairs.h, threshold.h and
// kernels/relation/kept_items.h.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "pairs/pair_run.h"
#include "relation/chunk.h"

namespace batmap::test {

/// The smallest count c >= 1 with c >= fraction * total; the fraction is read as its shortest decimal number.
inline uint64_t oracle_count_of_fraction(double fraction, uint64_t total) {
  char text[64];
  int digits = 1;
  do {
    std::snprintf(text, sizeof text, "%.*e", digits - 1, fraction);
    ++digits;
  } while (std::strtod(text, nullptr) != fraction);
  // "d.ddde-XX": the digits without the point are an integer; the value is integer * 10^(exponent -
  // digits behind the point).
  __extension__ using Wide = unsigned __int128;
  Wide numerator = 0;
  int exponent = 0;
  bool behind_point = false;
  for (const char* at = text; *at != '\0'; ++at) {
    if (*at == 'e') {
      exponent += std::atoi(at + 1);
      break;
    }
    if (*at == '.') {
      behind_point = true;
      continue;
    }
    numerator = numerator * 10 + static_cast<unsigned>(*at - '0');
    if (behind_point) --exponent;
  }
  numerator *= total;  // fits: below 10^17 * 2^64
  while (exponent > 0) {
    numerator *= 10;
    --exponent;
  }
  // Rounding up at each step gives the rounded-up quotient.
  for (; exponent < 0; ++exponent) numerator = numerator / 10 + (numerator % 10 != 0 ? 1 : 0);
  return numerator == 0 ? 1 : static_cast<uint64_t>(numerator);
}

struct OracleAnswer {
  std::vector<PairRow> rows;  // in the documented order
  uint64_t total = 0;         // distinct tids
  uint64_t items = 0;         // distinct items
  uint64_t threshold = 0;
  bool truncated = false;
};

/// Knows everything about one relation of (tid, item) rows, and answers any number of questions.
class Oracle {
 public:
  explicit Oracle(const std::vector<TidItem>& relation) {
    for (const TidItem& pair : relation) {
      transactions_[pair.tid].insert(pair.item);
      tids_of_item_[pair.item].insert(pair.tid);
      ++rows_of_item_[pair.item];
    }
    for (const auto& [tid, items] : transactions_)
      for (const int64_t a : items)
        for (auto b = items.upper_bound(a); b != items.end(); ++b) ++support_[{a, *b}];
  }

  OracleAnswer answer(const PairQuery& query) const;

 private:
  std::map<int64_t, std::set<int64_t>> transactions_;
  std::map<int64_t, std::set<int64_t>> tids_of_item_;
  std::map<int64_t, uint64_t> rows_of_item_;
  std::map<std::pair<int64_t, int64_t>, uint64_t> support_;
};

/// All pairs that `query` asks for, as rows in the documented order.
inline OracleAnswer Oracle::answer(const PairQuery& query) const {
  OracleAnswer answer;
  answer.total = transactions_.size();
  answer.items = tids_of_item_.size();
  answer.threshold = 1;
  if (query.min_count) answer.threshold = static_cast<uint64_t>(*query.min_count);
  if (query.min_support) answer.threshold = oracle_count_of_fraction(*query.min_support, answer.total);

  std::set<int64_t> included, excluded;
  if (query.include) included.insert(query.include->begin(), query.include->end());
  if (query.exclude) excluded.insert(query.exclude->begin(), query.exclude->end());

  for (const auto& [pair, count] : support_) {
    const auto [a, b] = pair;
    if (count < answer.threshold) continue;
    if (excluded.contains(a) || excluded.contains(b)) continue;
    if (query.include && !included.contains(a) && !included.contains(b)) continue;
    answer.rows.push_back({a, b, count, tids_of_item_.at(a).size(), tids_of_item_.at(b).size()});
  }

  if (query.per_item_top_k) {
    // The partners of each item, the best first: larger support, then the smaller partner.
    std::map<int64_t, std::set<std::tuple<int64_t, int64_t>>> partners;
    for (const PairRow& row : answer.rows) {
      partners[row.item_a].insert({-static_cast<int64_t>(row.support), row.item_b});
      partners[row.item_b].insert({-static_cast<int64_t>(row.support), row.item_a});
    }
    std::set<std::pair<int64_t, int64_t>> kept;
    for (const auto& [item, ordered] : partners) {
      int64_t left = *query.per_item_top_k;
      for (const auto& [negated, partner] : ordered) {
        if (left-- == 0) break;
        kept.insert({std::min(item, partner), std::max(item, partner)});
      }
    }
    std::erase_if(answer.rows, [&](const PairRow& row) { return !kept.contains({row.item_a, row.item_b}); });
  }

  if (query.top_k) {
    std::sort(answer.rows.begin(), answer.rows.end(), [](const PairRow& x, const PairRow& y) {
      if (x.support != y.support) return x.support > y.support;
      if (x.item_a != y.item_a) return x.item_a < y.item_a;
      return x.item_b < y.item_b;
    });
    if (answer.rows.size() > static_cast<uint64_t>(*query.top_k)) answer.rows.resize(static_cast<size_t>(*query.top_k));
  } else {
    // Items rank by: included first, then fewer rows (repeated rows count), then smaller value. Pairs are
    // ordered by (lower rank, higher rank).
    using Rank = std::tuple<int, uint64_t, int64_t>;
    const auto rank = [&](int64_t item) {
      return Rank{query.include && !included.contains(item) ? 1 : 0, rows_of_item_.at(item), item};
    };
    std::map<std::pair<Rank, Rank>, PairRow> ordered;
    for (const PairRow& row : answer.rows) ordered.emplace(std::minmax({rank(row.item_a), rank(row.item_b)}), row);
    answer.rows.clear();
    for (const auto& [ranks, row] : ordered) answer.rows.push_back(row);
  }

  if (query.max_results && answer.rows.size() > static_cast<uint64_t>(*query.max_results)) {
    answer.rows.resize(static_cast<size_t>(*query.max_results));
    answer.truncated = true;
  }
  return answer;
}

inline OracleAnswer oracle_pairs(const std::vector<TidItem>& relation, const PairQuery& query) {
  return Oracle(relation).answer(query);
}

inline bool same_row(const PairRow& x, const PairRow& y) {
  return x.item_a == y.item_a && x.item_b == y.item_b && x.support == y.support && x.support_a == y.support_a &&
         x.support_b == y.support_b;
}

inline std::string describe(const PairRow& row) {
  return "(" + std::to_string(row.item_a) + ", " + std::to_string(row.item_b) + ") support " + std::to_string(row.support) +
         " of " + std::to_string(row.support_a) + " and " + std::to_string(row.support_b);
}

/// Empty if both sequences are the same, else the first difference.
inline std::string difference(const std::vector<PairRow>& found, const std::vector<PairRow>& expected) {
  for (size_t i = 0; i < found.size() && i < expected.size(); ++i)
    if (!same_row(found[i], expected[i]))
      return "row " + std::to_string(i) + ": found " + describe(found[i]) + ", expected " + describe(expected[i]);
  if (found.size() == expected.size()) return {};
  return std::to_string(found.size()) + " rows found, " + std::to_string(expected.size()) + " expected";
}

inline std::string describe(const PairQuery& query) {
  std::string text;
  const auto add = [&](const char* name, const auto& value) {
    if (value) text += std::string(text.empty() ? "" : ", ") + name + " " + std::to_string(*value);
  };
  const auto add_list = [&](const char* name, const std::optional<std::vector<int64_t>>& list) {
    if (!list) return;
    text += std::string(text.empty() ? "" : ", ") + name + " {";
    for (const int64_t item : *list) text += " " + std::to_string(item);
    text += " }";
  };
  add("min_count", query.min_count);
  add("min_support", query.min_support);
  add("top_k", query.top_k);
  add("per_item_top_k", query.per_item_top_k);
  add_list("include", query.include);
  add_list("exclude", query.exclude);
  add("max_results", query.max_results);
  return text;
}

}  // namespace batmap::test
