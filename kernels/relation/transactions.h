// The horizontal form: the kept items of every transaction, ascending by rank and without duplicates, and for
// each occurrence of an item the place where the later items of that transaction start. What horizontal counting
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

/// Where the later items of one occurrence's transaction lie.
struct Tail {
  uint32_t begin;
  uint32_t length;
};

struct Transactions {
  std::variant<Buffer<uint16_t>, Buffer<uint32_t>> items;  // [occurrences] item ranks, transaction by transaction
  Buffer<uint64_t> tails_begin;                            // [items + 1]
  Buffer<uint32_t> support;                                // [items] exact: duplicates are gone
  Buffer<Tail> tails;                                      // [occurrences] by item rank; support[i] used for item i

  std::span<const Tail> tails_of(uint32_t item) const { return {tails.data() + tails_begin[item], support[item]}; }
};

/// Kept items per tid code, duplicates included, and what follows from it.
struct TransactionLengths {
  Buffer<uint32_t> length;      // [tid slots]
  uint64_t pair_instances = 0;  // sum over transactions of (length choose 2): an upper bound where rows repeat
};

/// @throws Error{kMemoryLimit, kCancelled}, std::bad_alloc
TransactionLengths transaction_lengths(const EncodedRelation& relation, const KeptItems& kept,
                                       const ExecutionOptions& options);

/// Cost: two scattered writes an occurrence.
/// @throws Error{kMemoryLimit, kCancelled}, std::bad_alloc
Transactions link_transactions(const EncodedRelation& relation, const KeptItems& kept, const TransactionLengths& lengths,
                               const ExecutionOptions& options);

/// Peak bytes of link_transactions, for the chooser.
uint64_t transactions_bytes(uint64_t items, uint64_t tid_slots, uint64_t occurrences);

}  // namespace batmap
