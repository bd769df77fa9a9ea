// Sums of products over the rows of a pair, which the engine adds up (pair_sums.h): count, sum and avg of an expression
// of one side, or of a product of one of each, of integers and numerics; with FILTER; also with count(DISTINCT key).
//
//   SELECT a.item, b.item, sum(a.quantity * b.price), avg(b.price), count(*) FILTER (WHERE b.is_new) ...
//
// The expression of each side becomes a column of its input, a factor. Groups are those of the query, however many values
// the factors have. Where factors are no numbers that the engine can add (NaN, numerics of different or large scales,
// products that their type may not hold) the plain plan answers.
#pragma once

#include <cstdint>

#include "extension/plan/query/join_project_query.h"

#include "extension/server/pg.h"

namespace batmap::pg {

/// What becomes of the sum of the products of an aggregate, and of their number.
enum class SumResult : int {
  kCount,    // the sum, as int8
  kKeys,     // the number of keys, as int8
  kInt8,     // the sum
  kNumeric,  // the sum, with the scale of both factors
  kAverage,  // the sum / the number
};

/// An aggregate, as plain ints, so that a plan can hold it.
struct SumSpec {
  SumResult result;
  int factors[2];  // positions in the factors of each side; -1: 1
  int bytes;       // of the integer type that must hold each product; 0: any
};

constexpr int kSumNumbers = sizeof(SumSpec) / sizeof(int);

/// Adds an aggregate to a query that sums. @return whether the node can compute it
bool add_sum(PlannerInfo* root, JoinProjectQuery& query, Aggref* aggregate);

/// Is it count(*), of all rows of a pair?
bool counts_all_rows(const JoinProjectQuery& query, Node* expression);

/// Gives a self-join one list of factors, that of the left side.
void share_factors(JoinProjectQuery& query);

/// Does a block have aggregates that are worth being summed, although the node could count?
bool may_sum(const PlannerInfo* root, const JoinProjectQuery& query, bool counts);

}  // namespace batmap::pg
