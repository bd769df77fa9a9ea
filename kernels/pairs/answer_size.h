// How many pairs have at least one transaction in common, without counting them: the sketch of Amossen, Campagna and
// Pagh ("Better size estimation for sparse matrix products", 2010, section 3).
//
// A pair (a, b) has the hash value h(a) + h(b) mod 2^64. If the k-th smallest value of all pairs is v, there are about
// k 2^64 / v of them. Only pairs with a value below the k-th smallest so far matter, and they are found without
// looking at the others: in a transaction whose items are sorted by h, the partners of an item lie together, and
// move in one direction from item to item. h is a polynomial of degree 3, so any four of its values are independent
// and any two pairs are: the standard error is 1 / sqrt(k), for all relations (section 4 of the paper).
//
// Beyond the paper: of a long transaction only those items are sorted that share a bucket of hash values with a
// partner; and if the pairs have a large support on average, a random part of the transactions may be enough. As a
// rule the next transaction brings as many new pairs as there are pairs that occurred once, divided by the number of
// transactions (Good 1953). So the number of pairs not seen has an upper bound, and the rest of the transactions is
// left out if that is 1 % of the pairs.
//
// Cost: 10 to 20 ns a row, 30 to 50 if rows come in no order of tids (bench/answer_size.cpp), and some ns for each
// occurrence of a sampled pair. Memory: 8 bytes an item; 8 bytes a row and 4 a transaction, of a part (tid_parts.h) for
// each thread, thus of all rows if they come in no order; 192 bytes for each sampled pair and thread.
//
// The transactions may come in several relations, one after the other: the sketch keeps only the sample.
#pragma once

#include <cstdint>
#include <memory>

#include "core/options.h"
#include "relation/encoded_relation.h"
#include "relation/kept_items.h"
#include "relation/transactions.h"

namespace batmap {

struct AnswerSizeQuery {
  uint32_t sample = 512;   // k; >= 3. If there are fewer pairs, the number is exact
  uint64_t min_count = 1;  // above 1: all transactions are looked at, and the supports of the sample are exact
  uint64_t seed = 1;       // of h
};

struct AnswerSize {
  double pairs = 0;           // with a support of at least 1
  double standard_error = 0;  // of `pairs`; 0: exact
  // Pairs drawn from all of these with equal probability, and those among them whose support is at least min_count
  uint64_t sampled = 0;
  uint64_t reached = 0;

  bool exact() const { return standard_error == 0; }
};

/// Estimates the number of wanted pairs (KeptItems::pairs) that occur. The answer is a function of the rows and the query.
/// @throws Error{kMemoryLimit, kCancelled}, std::bad_alloc
AnswerSize estimate_answer_size(const EncodedRelation& relation, const KeptItems& kept, const TransactionLengths& lengths,
                                const AnswerSizeQuery& query, const ExecutionOptions& options);

/// The same over the parts of a relation, which have no transaction in common.
class AnswerSizeSketch {
 public:
  virtual ~AnswerSizeSketch() = default;

  /// Looks at all transactions of a part. @param kept  of the part, but its ranks are those over all parts
  /// @throws Error{kMemoryLimit, kCancelled}, std::bad_alloc
  virtual void add(const EncodedRelation& part, const KeptItems& kept, const TransactionLengths& lengths) = 0;
  /// Of the parts so far: the same as of all their rows in one relation, if a whole relation would be looked at.
  virtual AnswerSize size() = 0;
};

/// @param items, pairs  those that are kept, over all parts
/// @param options       must outlive the sketch
/// @throws Error{kMemoryLimit, kCancelled}, std::bad_alloc
std::unique_ptr<AnswerSizeSketch> make_answer_size_sketch(uint32_t items, const WantedPairs& pairs,
                                                          const AnswerSizeQuery& query, const ExecutionOptions& options);

}  // namespace batmap
