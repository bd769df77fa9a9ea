// How many transactions contain which items, as the statistics of the planner tell: for estimates of answers.
//
// The most common values of the item column have the share of the rows that pg_statistic gives; all others are
// taken to be equally frequent. Filters of the query are taken to change the number of rows and of values, but
// not the shares. An item is taken to occur in a transaction but once. Elements of arrays have statistics of their own.
#pragma once

#include <span>

#include "measures/expected_answers.h"

#include "extension/server/pg.h"

namespace batmap::pg {

/// Flat: owns no memory. Items of almost the same support are in one class.
struct ItemSupports {
  static constexpr int kMaxClasses = 128;

  SupportClass classes[kMaxClasses];
  int count;
  double rows;
  double transactions;

  std::span<const SupportClass> items() const { return {classes, static_cast<size_t>(count)}; }
  /// The number of items with at least this support.
  double frequent(double min_count) const;
  /// The share of the rows that these have.
  double frequent_share(double min_count) const;
  /// Pairs of rows with one tid, if the lengths of transactions vary as with random rows.
  double pair_instances() const { return rows * rows / transactions / 2; }
};

/// @param tids, items  lists of expressions over relations of `root`
/// @param rows         of the relation whose columns they are
ItemSupports item_supports(PlannerInfo* root, List* tids, List* items, double rows);

/// The elements of arrays that unnest() gives, of which the statistics know the most common ones and how many an array has.
/// Those that are not known are taken to be half as frequent as the least frequent known one.
/// @param item          the call of unnest(), or a column of it in FROM
/// @param transactions  the number of arrays
/// @return whether there are such statistics
bool element_supports(PlannerInfo* root, Node* item, double transactions, ItemSupports& supports);

}  // namespace batmap::pg
