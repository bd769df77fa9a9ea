// Tiles by AND and POPC of 32-bit words, for devices whose tensor cores have no AND of bits. A thread counts
// 8 x 8 pairs, whose rows and columns are 16 apart, 128 tids at a time. See bit_tiles.h.
#include <string_view>

#include "cuda/bit_tiles.h"
#include "cuda/device_memory.h"

namespace batmap::cuda {

namespace {

constexpr int kThreads = 256;
constexpr int kSide = 8;

__global__ void __launch_bounds__(kThreads) count_popcnt_tiles(const BitTiles job) {
  __shared__ __align__(16) unsigned char blocks[2][kBlockBytes];
  const uint2 tile = job.tiles[blockIdx.x];
  const uint32_t thread_row = threadIdx.x / 16;
  const uint32_t thread_column = threadIdx.x % 16;
  uint32_t counts[kSide][kSide] = {};
  for (uint32_t block = 0; block < job.bits.tid_blocks(); ++block) {
    const auto* const rows = reinterpret_cast<const uint4*>(job.bits.block(tile.x, block));
    const auto* const columns = reinterpret_cast<const uint4*>(job.bits.block(tile.y, block));
    __syncthreads();
    for (uint32_t at = threadIdx.x; at < kBlockBytes / 16; at += kThreads) {
      reinterpret_cast<uint4*>(blocks[0])[at] = rows[at];
      reinterpret_cast<uint4*>(blocks[1])[at] = columns[at];
    }
    __syncthreads();
    for (uint32_t piece = 0; piece < kRowBytes / 16; ++piece) {
      uint4 a[kSide];
#pragma unroll
      for (int i = 0; i < kSide; ++i)
        a[i] = *reinterpret_cast<const uint4*>(blocks[0] + TiledBits::piece_offset(thread_row + i * 16, piece));
#pragma unroll
      for (int j = 0; j < kSide; ++j) {
        const uint4 b = *reinterpret_cast<const uint4*>(blocks[1] + TiledBits::piece_offset(thread_column + j * 16, piece));
#pragma unroll
        for (int i = 0; i < kSide; ++i)
          counts[i][j] += __popc(a[i].x & b.x) + __popc(a[i].y & b.y) + __popc(a[i].z & b.z) + __popc(a[i].w & b.w);
      }
    }
  }
#pragma unroll
  for (int i = 0; i < kSide; ++i) {
#pragma unroll
    for (int j = 0; j < kSide; ++j) {
      const uint32_t row = tile.x * kBlockItems + thread_row + i * 16;
      const uint32_t column = tile.y * kBlockItems + thread_column + j * 16;
      append_pair(job.found, counts[i][j] >= job.wanted.threshold && job.wanted.has(row, column), row, column, counts[i][j]);
    }
  }
}

void launch(const BitTiles& tiles, cudaStream_t stream) {
  count_popcnt_tiles<<<tiles.tile_count, kThreads, 0, stream>>>(tiles);
  check_launch("count_popcnt_tiles");
}

}  // namespace

const BitTileKernel kPopcntTiles = {"popcnt", [](int, int) { return true; }, uint64_t{1} << 26, launch};

const BitTileKernel& bit_tile_kernel(int major, int minor, const char* name) {
  for (const BitTileKernel* kernel : {&kWgmmaTiles, &kMmaTiles, &kPopcntTiles}) {
    if (name != nullptr ? std::string_view(name) == kernel->name : kernel->runs_on(major, minor)) return *kernel;
  }
  return kPopcntTiles;
}

}  // namespace batmap::cuda
