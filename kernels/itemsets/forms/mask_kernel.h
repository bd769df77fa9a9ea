// Counting in transactions of at most 64 items, which are masks of 64 bits with weights.
//
// A node of the search with few candidates left is counted at once. Its transactions, projected to the k
// candidates, are counted into a table of 2^k entries. Then each entry is added to all its subsets (k 2^(k-1)
// additions), and the table holds the supports of all subsets. Source: the transform is Yates' (1937), textbook
// as "sum over supersets"; small conditional databases as arrays indexed by masks are from Borgelt's fpgrowth
// and eclat (2012, 4.5); the combination is ours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/poll.h"

namespace batmap {

/// Transactions as masks. Each mask stands for as many equal transactions as its weight. Not owned.
struct WeightedMasks {
  const uint64_t* masks;
  const uint32_t* weights;
  size_t size;
};

inline constexpr uint32_t kMaskItems = 64;

struct MaskKernel {
  const char* name;
  uint32_t needs;  // CpuFeature mask
  /// indexes[k] = the bits of masks[k] at the positions set in `items`, packed. @param items  at most 8 bits set
  void (*pack)(const uint64_t* masks, size_t size, uint64_t items, uint8_t* indexes);
  /// table[the bits of a mask at the positions set in `items`, packed] += its weight, for each mask that contains `with`.
  void (*project)(const WeightedMasks& transactions, uint64_t with, uint64_t items, uint32_t* table);
  /// Each entry of table[2^items] becomes the sum of the entries whose index contains its bits.
  /// @param table  32-byte aligned, with room for at least 8 entries, zero beyond 2^items
  void (*sum_supersets)(uint32_t* table, int items);
  /// out[k] = rows[k] AND with, supports[k] = the bits set in it, for `count` rows of `words` words each.
  void (*intersect)(const uint64_t* rows, size_t count, size_t words, const uint64_t* with, uint64_t* out,
                    uint32_t* supports);
};

/// Fastest first; the last ("scalar") runs everywhere.
std::span<const MaskKernel> mask_kernels();
/// The fastest kernel of this machine that needs no more than the named instruction set: "avx512" allows "avx2".
/// @param name  of an instruction set (bits/and_popcount.h), or "auto"
const MaskKernel& select_mask_kernel(std::string_view name);

}  // namespace batmap
