// The horizontal form as bits, next to the tidlists: one bit row per tid code, one bit per kept item, and for each
// item the list of its tids without duplicates. tids x items / 8 bytes, and 4 an occurrence. Of a rectangle: bits of its
// columns only, lists of its leading items only.
// Rows are padded with zeros to a multiple of 512 bits and start on 64-byte boundaries.
#pragma once

#include <cstdint>
#include <span>

#include "core/options.h"
#include "relation/tidlists.h"

namespace batmap {

struct TransactionBits {
  Buffer<uint64_t> bits;   // [tid slots * words]
  size_t words = 0;        // 64-bit words a row; a multiple of 8
  uint32_t first_bit = 0;  // rank of the item of a row's first bit: a multiple of 64, at most the first column
  Tidlists lists;          // without duplicates, in no order; or, of a rectangle, sorted. Of a column: its length only
};

/// Cost: two scattered writes an occurrence. @throws Error{kMemoryLimit, kCancelled}, std::bad_alloc
TransactionBits fill_transaction_bits(const EncodedRelation& relation, const KeptItems& kept,
                                      const ExecutionOptions& options);

/// An empty form of items with exactly these lengths: bits zero, lists allocated and empty.
/// @throws Error{kMemoryLimit}, std::bad_alloc
TransactionBits allocate_transaction_bits(std::span<const uint32_t> lengths, uint64_t tid_slots, MemoryMeter& meter);

/// The first bit of a row: see TransactionBits.
inline uint64_t first_transaction_bit(uint64_t first_column) { return first_column / 64 * 64; }

/// Bytes of the form, for the chooser. @param listed  rows of the items that have lists
uint64_t transaction_bits_bytes(uint64_t items, uint64_t tid_slots, uint64_t listed, uint64_t first_column = 0);

}  // namespace batmap
