// The inner loops of the set engine: a table of implementations, each with the CPU features that it needs. The
// default is the first that this machine can run; the setting batmap.cpu_kernel forces one by name (the names are
// those of bits/and_popcount.h). Tests and benchmarks loop over the table. set_kernel_body.h has the loops, once
// for all. Source: Amossen & Pagh 2011 II for the compare and its folding; bit planes and the early end are ours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "compact/compact_kernel.h"
#include "set/set_view.h"

namespace batmap {

/// The planes of two batmaps of equal width; `small` has no more slots than `large`.
struct PlanePair {
  const std::byte* small;
  const std::byte* large;
  BatmapShape small_shape;
  BatmapShape large_shape;
};

struct SetKernel {
  const char* name;
  uint32_t needs;  // CpuFeature mask

  /// Counts common elements that are in the tables of both, in groups [first, last) of the large one. A slot
  /// counts if the keys agree and at least one of the two indicators is set.
  uint64_t (*count_planes)(const PlanePair& pair, uint64_t first, uint64_t last);

  /// Counts the bits set in both. @param bytes  a multiple of 8
  uint64_t (*count_bitmaps)(const std::byte* a, const std::byte* b, size_t bytes);

  /// Common elements of two ascending arrays of 32-bit elements. Fastest if `a` is the shorter one.
  uint64_t (*count_arrays)(const std::byte* a, size_t a_count, const std::byte* b, size_t b_count);

  /// Reads the images pi(x) (key and position together) of the slots of a block whose bit in
  /// `plane` is set, by position.
  /// @param position  of the block's first slot
  /// @param plane     64 bytes; a subset of the valid plane
  /// @param out       room for 512
  /// @return how many
  size_t (*read_images)(const std::byte* block, BatmapShape shape, uint64_t position, const std::byte* plane, uint64_t* out);

  /// Replaces each image by the x for which pi_table(x) is this image.
  void (*invert_images)(uint64_t* images, size_t count, int table, int width);

  /// Transposes 512 slot words, slot p at [p % 32][p / 32], into 32 planes of 512 bits, and back.
  void (*transpose_slots)(uint32_t* slots);

  /// The loops over blocks of compact sets.
  const CompactKernel* compact;
};

/// All kernels that were compiled in, fastest first. The last one ("scalar") runs everywhere.
std::span<const SetKernel> set_kernels();

/// The fastest kernel that this machine can run.
const SetKernel& best_set_kernel();

/// The kernel of this name; "auto" is the best.
/// @return nullptr: no such kernel, or this machine cannot run it
const SetKernel* find_set_kernel(std::string_view name);

extern const SetKernel kSetKernelScalar;
#if defined(__x86_64__)
extern const SetKernel kSetKernelAvx2;
extern const SetKernel kSetKernelAvx512;
#elif defined(__aarch64__)
extern const SetKernel kSetKernelNeon;
#endif

}  // namespace batmap
