// The horizontal form: the kept items of every transaction, ascending by rank and without duplicates, and for
// each occurrence of a leading item the place where its partners in that transaction start. What horizontal counting
// walks. 2 bytes an occurrence for up to 65,536 items, else 4; 8 more for the places.
// Source: the cross-linked lists are ours; the horizontal layout is the Apriori family's.
#pragma once

#include <cstdint>
#include <span>
#include <variant>

#include "core/options.h"
#include "relation/encoded_relation.h"
#include "relation/kept_items.h"

namespace batmap {

/// Where the partners in one occurrence's transaction lie: the later items, or, of a rectangle, the columns.
struct Tail {
  uint32_t begin;
  uint32_t length;
};

struct Transactions {
  // [occurrences] item ranks, transaction by transaction; those of a rectangle's columns counted from the first of them
  std::variant<Buffer<uint16_t>, Buffer<uint32_t>> items;
  Buffer<uint64_t> tails_begin;  // [items + 1]
  Buffer<uint32_t> support;      // [items] exact: duplicates are gone
  Buffer<Tail> tails;            // [rows of leading items] by rank; support[i] used for item i

  std::span<const Tail> tails_of(uint32_t item) const { return {tails.data() + tails_begin[item], support[item]}; }
};

/// Kept items per tid code, duplicates included, and what follows from it.
struct TransactionLengths {
  Buffer<uint32_t> length;  // [tid slots]
  // Sum over transactions of (length choose 2), or, of a rectangle, of leading items times the others: an upper bound
  // where rows repeat.
  uint64_t pair_instances = 0;
};

/// @throws Error{kMemoryLimit, kCancelled}, std::bad_alloc
TransactionLengths transaction_lengths(const EncodedRelation& relation, const KeptItems& kept,
                                       const ExecutionOptions& options);

/// Cost: three scattered writes an occurrence, which stay in cache where rows arrive by tid, or nearly so.
/// @throws Error{kMemoryLimit, kCancelled}, std::bad_alloc
Transactions link_transactions(const EncodedRelation& relation, const KeptItems& kept, const TransactionLengths& lengths,
                               const ExecutionOptions& options);

/// Peak bytes of link_transactions, for the chooser. @param tails  rows of leading items
uint64_t transactions_bytes(uint64_t items, uint64_t tid_slots, uint64_t occurrences, uint64_t tails);

}  // namespace batmap
