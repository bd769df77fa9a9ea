// Planner support of the table functions: their cost and their rows. The cost of a call is that of reading the query
// in its text, as the planner expects it, and of counting; it comes before the first row. The rows follow from the
// statistics of the item column, the thresholds among the arguments, and the assumption that items occur
// independently of each other (measures/expected_answers.h). If the text is not known while the planner works, or
// it is wrong, the constants of the function in the catalog stand.
#pragma once

#include "extension/input/inner_estimate.h"
#include "extension/streams/table_input.h"

#include "extension/server/pg.h"

namespace batmap::pg {

/// What the planner asks for about a call, as far as it is known.
struct CallEstimate {
  bool has_cost;  // `cost` is known
  Cost cost;      // of all that happens before the first row
  bool has_rows;  // `rows` is known
  double rows;
};

/// A call whose queries have been planned.
struct PlannedCall {
  static constexpr int kMaxQueries = 2;

  PlannerInfo* root;
  List* arguments;  // all of them
  int first;        // the number of the first one after the input
  InnerEstimate inputs[kMaxQueries];

  /// The value of an argument, from 0 after the queries. @return nullptr: it is NULL, or unknown while the planner works
  const Const* value(int index) const;
  /// An int8, int4 or float8. @return `otherwise` if it is NULL or unknown
  double number(int index, double otherwise) const;
  bool has(int index) const { return value(index) != nullptr; }
  /// The smallest count of an answer, by one of two arguments.
  double min_count(int count_index, int share_index) const;
  /// The itemsets in the rows of the only query; adds the cost of counting them. @param most  the search ends after so many
  LengthCounts itemsets(double min_count, int max_length, double most, CallEstimate& estimate) const;
  /// The share of the pairs or itemsets of `length` items that have an item of an array argument.
  /// @param items  the number of all items
  double share_with(int array_index, double items, double length) const;
};

/// Where the arguments are, and what follows from them. A function with several forms has one of these: the arguments
/// that it tells of are the same in all of them.
struct SupportedCall {
  static constexpr int kNone = -1;

  int first;        // arguments before those that follow the input, without a type of items; the others count from there
  int queries;      // the last arguments of the input; 0: the input is no query
  int top_k;        // an argument that limits the rows; kNone: there is none
  int max_results;  // another one
  QueryArguments places = {};     // of the queries
  bool first_item_first = false;  // the columns of the first query are (item, tid)
  /// Sets the rows, and adds the cost of counting. Called if `has_items` of all inputs. nullptr: the rows are unknown.
  void (*expect)(const PlannedCall& call, CallEstimate& estimate) = nullptr;
  bool needs_items = true;  // false: `expect` is called without `has_items`, too
};

/// Is the first argument of the call that is no type of items a query, and not a relation?
bool first_input_is_text(const Node* request);

/// Answers the requests of the planner for rows and cost. @return as a support function
Node* support_call(Node* request, const SupportedCall& call);

}  // namespace batmap::pg
