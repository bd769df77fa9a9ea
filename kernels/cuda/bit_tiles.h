// Counting tiles of 128 x 128 pairs over bit rows: the tiles of a call, and the kernels. A kernel walks over the
// tids of two blocks of items, keeps 16,384 counts in registers and appends those at or above the threshold, so
// the matrix of counts never exists. Cost: 2^14 x tids bit operations a tile; 32 KiB are read for 1,024 tids.
#pragma once

#include <cuda_runtime.h>

#include "cuda/found_pairs.h"
#include "cuda/tiled_bits.h"

namespace batmap::cuda {

struct BitTiles {
  TiledBits bits;
  const uint2* tiles;  // [tile_count] {block of rows, block of columns}
  uint32_t tile_count;
  WantedOnDevice wanted;
  FoundPairs found;
};

/// One kernel for tiles.
struct BitTileKernel {
  const char* name;
  bool (*runs_on)(int major, int minor);
  uint64_t tile_tids_at_once;  // tiles x tids that take some ten milliseconds on the smaller GPUs with this kernel
  /// Queues the kernel. @throws DeviceError
  void (*launch)(const BitTiles& tiles, cudaStream_t stream);
};

extern const BitTileKernel kWgmmaTiles;   // sm_90a: binary wgmma
extern const BitTileKernel kMmaTiles;     // sm_80 and later: binary mma.sync
extern const BitTileKernel kPopcntTiles;  // any: AND and POPC

/// The fastest kernel for a device. @param name  a kernel by name; null: any
const BitTileKernel& bit_tile_kernel(int major, int minor, const char* name = nullptr);

}  // namespace batmap::cuda
