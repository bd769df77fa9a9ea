// The horizontal form as bits, with tidlists: for each tid code a row with one bit per kept item, and for
// each item the list of its tids without duplicates. A rectangle has bits for its columns only, and lists for
// its leading items only. Rows start on 64-byte boundaries and are padded with zeros to a multiple of 512
// bits. Memory: tids x items / 8 bytes, and 4 bytes an occurrence. Source: ours.
#pragma once

#include <cstdint>
#include <span>

#include "core/options.h"
#include "relation/tidlists.h"

namespace batmap {

struct TransactionBits {
  Buffer<uint64_t> bits;  // [tid slots * words]
  size_t words = 0;       // 64-bit words a row; a multiple of 8
  // rank of the item of a row's first bit: a multiple of 64, at most the first column
  uint32_t first_bit = 0;
  // without duplicates and in no order. Of a rectangle: sorted lists of leading items, and only lengths of columns
  Tidlists lists;
};

/// Cost: two scattered writes an occurrence. @throws Error{kMemoryLimit, kCancelled}, std::bad_alloc
TransactionBits fill_transaction_bits(const EncodedRelation& relation, const KeptItems& kept,
                                      const ExecutionOptions& options);

/// An empty form for items with exactly these lengths: all bits zero, lists with room and no tids.
/// @throws Error{kMemoryLimit}, std::bad_alloc
TransactionBits allocate_transaction_bits(std::span<const uint32_t> lengths, uint64_t tid_slots, MemoryMeter& meter);

/// TransactionBits::first_bit of a form with this first column.
inline uint64_t first_transaction_bit(uint64_t first_column) { return first_column / 64 * 64; }

/// Bytes that the form takes, for the chooser. @param listed  rows of the items that have lists
uint64_t transaction_bits_bytes(uint64_t items, uint64_t tid_slots, uint64_t listed, uint64_t first_column = 0);

}  // namespace batmap
