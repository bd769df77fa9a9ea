// The vertical form as bits: one row per kept item, one bit per tid code. Rows start on 64-byte boundaries
// and are padded with zeros to a multiple of 512 bits. Memory: items x tids / 8 bytes. Source: standard.
#pragma once

#include <cstdint>

#include "core/options.h"
#include "relation/encoded_relation.h"
#include "relation/kept_items.h"

namespace batmap {

struct BitMatrix {
  Buffer<uint64_t> bits;     // [items * words]
  size_t words = 0;          // 64-bit words a row; a multiple of 8
  Buffer<uint32_t> support;  // [items] bits set in each row: the exact support, duplicates count once

  const uint64_t* row(size_t item) const { return bits.data() + item * words; }
};

/// Cost: one read-modify-write an occurrence. These stay in cache if rows arrive by tid or by item.
/// @throws Error{kMemoryLimit, kCancelled}, std::bad_alloc
BitMatrix fill_bit_matrix(const EncodedRelation& relation, const KeptItems& kept, const ExecutionOptions& options);

/// Bytes that the matrix takes, for the chooser.
uint64_t bit_matrix_bytes(uint64_t items, uint64_t tid_slots);

}  // namespace batmap
