// Counting in transactions of at most 64 items, which are masks of 64 bits with weights.
//
// A node of the search with few candidates left is counted at once: its transactions, projected to the k candidates, are
// counted into a table of 2^k places, and adding each place to all its subsets (k 2^(k-1) additions) turns the table into
// the supports of all subsets. Source: the transform is Yates' (1937), textbook as "sum over supersets"; that small
// conditional databases are arrays indexed by masks is from Borgelt's fpgrowth and eclat (2012, 4.5); together ours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/poll.h"

namespace batmap {

/// Transactions as masks, each as often as its weight says. Not owned.
struct WeightedMasks {
  const uint64_t* masks;
  const uint32_t* weights;
  size_t size;
};

inline constexpr uint32_t kMaskItems = 64;

struct MaskKernel {
  const char* name;
  uint32_t needs;  // CpuFeature mask
  /// places[k] = the bits of masks[k] at the places of `items`, packed. @param items  at most 8
  void (*pack)(const uint64_t* masks, size_t size, uint64_t items, uint8_t* places);
  /// table[the bits of mask at the places of `items`, packed] += weight, for the masks that have the bits `with`.
  void (*project)(const WeightedMasks& transactions, uint64_t with, uint64_t items, uint32_t* table);
  /// Every place of table[2^items] becomes the sum of the places whose index has at least its bits.
  /// @param table  32-byte aligned, with room for 8 places at least, zero where beyond 2^items
  void (*sum_supersets)(uint32_t* table, int items);
};

/// Fastest first; the last ("scalar") runs everywhere.
std::span<const MaskKernel> mask_kernels();
/// The fastest that this machine has and that is no faster than the instruction set named: "avx512" allows "avx2".
/// @param name  of an instruction set (bits/and_popcount.h), or "auto"
const MaskKernel& select_mask_kernel(std::string_view name);

}  // namespace batmap
