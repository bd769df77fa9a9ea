// The bit matrix on a device: one row for each item, one bit for each tid. It is cut into blocks of 128 items x
// 1,024 tids (16 KiB), which lie block after block along the tids. In a block a row has 128 bytes. The index of
// each of its 16-byte pieces is XORed with the low three bits of the row's index. This is the 128-byte swizzle
// that `wgmma` reads, and it keeps the other kernels free of bank conflicts in shared memory. Memory: items x
// tids / 8 bytes, both rounded up. Counting needs no order of the tids but that it is the same in every row.
#pragma once

#include <cstdint>

namespace batmap::cuda {

inline constexpr uint32_t kBlockItems = 128;
inline constexpr uint32_t kBlockTids = 1024;
inline constexpr uint32_t kRowBytes = kBlockTids / 8;
inline constexpr uint32_t kBlockBytes = kBlockItems * kRowBytes;
inline constexpr uint32_t kStepTids = 256;  // tids that a tensor core takes at once

struct TiledBits {
  unsigned char* bytes;
  uint32_t items;
  uint32_t tid_slots;

  __host__ __device__ uint32_t item_blocks() const { return (items + kBlockItems - 1) / kBlockItems; }
  __host__ __device__ uint32_t tid_blocks() const {
    const uint32_t blocks = tid_slots / kBlockTids + (tid_slots % kBlockTids != 0);
    return blocks == 0 ? 1 : blocks;
  }
  __host__ __device__ uint64_t size_bytes() const {
    return static_cast<uint64_t>(item_blocks()) * tid_blocks() * kBlockBytes;
  }
  /// How many steps of the last block hold tids.
  __host__ __device__ uint32_t last_steps() const {
    const uint32_t tids = tid_slots - (tid_blocks() - 1) * kBlockTids;
    return tids == 0 ? 1 : (tids + kStepTids - 1) / kStepTids;
  }
  __host__ __device__ const unsigned char* block(uint32_t item_block, uint32_t tid_block) const {
    return bytes + (static_cast<uint64_t>(item_block) * tid_blocks() + tid_block) * kBlockBytes;
  }
  /// Byte offset in a block of piece `piece` (0 .. 7) of a row: 128 tids.
  __host__ __device__ static uint32_t piece_offset(uint32_t row, uint32_t piece) {
    return row * kRowBytes + ((piece ^ (row & 7)) << 4);
  }
  /// Index of the 32-bit word that has a bit, from the start of the matrix.
  __host__ __device__ uint64_t word(uint32_t item, uint32_t tid) const {
    const uint64_t at = (static_cast<uint64_t>(item / kBlockItems) * tid_blocks() + tid / kBlockTids) * kBlockBytes +
                        piece_offset(item % kBlockItems, tid % kBlockTids / 128) + tid % 128 / 32 * 4;
    return at / 4;
  }
};

}  // namespace batmap::cuda
