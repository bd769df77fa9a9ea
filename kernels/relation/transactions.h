// The horizontal form, which horizontal counting walks: the kept items of every transaction, ascending by rank
// and without duplicates; and for each occurrence of a leading item, where its partners in that transaction
// begin. Memory: 2 bytes an occurrence for up to 65,536 items, else 4, and 8 bytes an occurrence of a leading
// item. Source: the cross-linked lists are ours; the horizontal layout is that of the Apriori family.
#pragma once

#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "core/options.h"
#include "relation/encoded_relation.h"
#include "relation/kept_items.h"

namespace batmap {

/// The partners of one occurrence in its transaction: the later items, or, in a rectangle, the columns.
struct Tail {
  uint32_t begin;
  uint32_t length;
};

struct Transactions {
  // [occurrences] item ranks, transaction by transaction. In a rectangle, columns only, as rank - first_column
  std::variant<Buffer<uint16_t>, Buffer<uint32_t>> items;
  Buffer<uint64_t> tails_begin;  // [items + 1]
  Buffer<uint32_t> support;      // [items] exact: duplicates are gone
  Buffer<Tail> tails;            // [rows of leading items] by rank; the first support[i] of item i are used

  std::span<const Tail> tails_of(uint32_t item) const { return {tails.data() + tails_begin[item], support[item]}; }
};

/// The number of kept items of every tid code, duplicates included, and a bound that follows from it.
struct TransactionLengths {
  Buffer<uint32_t> length;  // [tid slots]
  // Sum over all transactions of (length choose 2), or, in a rectangle, of leading items x other items.
  // Exact, or an upper bound if rows repeat.
  uint64_t pair_instances = 0;
};

/// @throws Error{kMemoryLimit, kCancelled}, std::bad_alloc
TransactionLengths transaction_lengths(const EncodedRelation& relation, const KeptItems& kept,
                                       const ExecutionOptions& options);

/// No relation has fewer: as if all transactions were equally long. 0 for a rectangle.
uint64_t least_pair_instances(const EncodedRelation& relation, const KeptItems& kept);

/// Counts the pair instances of a triangle while its rows are visited for another purpose.
class PairInstances {
 public:
  /// Are there few enough tids for lengths of each thread?
  static bool can_count(const EncodedRelation& relation, const KeptItems& kept, const ExecutionOptions& options);

  /// @param options  whose threads visit the rows; must outlive the object
  PairInstances(const EncodedRelation& relation, const ExecutionOptions& options);
  /// Rows of kept items. Workers may call it at once. @throws Error{kMemoryLimit}, std::bad_alloc
  void add(int worker, const uint32_t* tids, uint32_t rows);
  /// @throws Error{kCancelled}
  uint64_t sum();

 private:
  const ExecutionOptions& options_;
  uint32_t tid_slots_;
  std::vector<Buffer<uint32_t>> lengths_;  // [threads][tid slots], empty where a worker had no rows
};

/// Cost: three scattered writes an occurrence. These stay in cache if rows arrive by tid, or nearly so.
/// @throws Error{kMemoryLimit, kCancelled}, std::bad_alloc
Transactions link_transactions(const EncodedRelation& relation, const KeptItems& kept, const TransactionLengths& lengths,
                               const ExecutionOptions& options);

/// Peak bytes of link_transactions(), for the chooser. @param tails  rows of leading items
uint64_t transactions_bytes(uint64_t items, uint64_t tid_slots, uint64_t occurrences, uint64_t tails);

}  // namespace batmap
