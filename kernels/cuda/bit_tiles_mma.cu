// Tiles by the binary tensor-core products of Ampere and later: mma.sync m16n8k256, AND + popcount. Eight warps
// count 64 x 32 pairs each; asynchronous copies bring the blocks, three stages deep. See bit_tiles.h. Source: ours.
#include "cuda/bit_tiles.h"
#include "cuda/device_memory.h"

namespace batmap::cuda {

namespace {

constexpr int kThreads = 256;
constexpr uint32_t kStages = 3;
constexpr uint32_t kStageBytes = 2 * kBlockBytes;
constexpr uint32_t kSharedBytes = kStages * kStageBytes;
constexpr int kRowTiles = 4;     // of 16 rows, for one warp
constexpr int kColumnTiles = 4;  // of 8 columns, for one warp

#if __CUDA_ARCH__ >= 800

__device__ uint32_t shared_address(const void* at) { return static_cast<uint32_t>(__cvta_generic_to_shared(at)); }

__device__ void load_matrices(uint32_t (&r)[4], uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address));
}

__device__ void multiply(int32_t (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ void load_block(unsigned char* to, const unsigned char* from) {
  for (uint32_t at = threadIdx.x * 16; at < kBlockBytes; at += kThreads * 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to + at)), "l"(from + at) : "memory");
}

#endif

__global__ void __launch_bounds__(kThreads) count_mma_tiles(const BitTiles job) {
#if __CUDA_ARCH__ >= 800
  extern __shared__ __align__(128) unsigned char stages[];
  const uint2 tile = job.tiles[blockIdx.x];
  const bool diagonal = tile.x == tile.y;
  const uint32_t tid_blocks = job.bits.tid_blocks();
  const uint32_t lane = threadIdx.x % 32;
  const uint32_t warp_row = threadIdx.x / 32 / 4 * 64;
  const uint32_t warp_column = threadIdx.x / 32 % 4 * 32;

  const auto load_stage = [&](uint32_t block) {
    if (block < tid_blocks) {
      unsigned char* const rows = stages + block % kStages * kStageBytes;
      load_block(rows, job.bits.block(tile.x, block));
      if (!diagonal) load_block(rows + kBlockBytes, job.bits.block(tile.y, block));
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
  };
  for (uint32_t block = 0; block + 1 < kStages; ++block) load_stage(block);

  int32_t counts[kRowTiles][kColumnTiles][4] = {};
  // The row and piece of each matrix that this lane addresses: rows 0-7, rows 8-15, then the next piece of both.
  const uint32_t row_in_tile = lane % 16;
  const uint32_t piece_in_step = lane / 16;
  for (uint32_t block = 0; block < tid_blocks; ++block) {
    asm volatile("cp.async.wait_group %0;" ::"n"(kStages - 2) : "memory");
    __syncthreads();
    load_stage(block + kStages - 1);  // overwrites the stage that all threads have read
    const uint32_t rows = shared_address(stages + block % kStages * kStageBytes);
    const uint32_t columns = diagonal ? rows : rows + kBlockBytes;
    const uint32_t steps = block + 1 < tid_blocks ? kBlockTids / kStepTids : job.bits.last_steps();
    for (uint32_t step = 0; step < steps; ++step) {
      const uint32_t piece = step * 2 + piece_in_step;
      uint32_t a[kRowTiles][4];
#pragma unroll
      for (int i = 0; i < kRowTiles; ++i)
        load_matrices(a[i], rows + TiledBits::piece_offset(warp_row + i * 16 + row_in_tile, piece));
#pragma unroll
      for (int j = 0; j < kColumnTiles / 2; ++j) {
        uint32_t b[4];  // columns 0-7 and 8-15 of the first piece, then of the second
        load_matrices(b, columns + TiledBits::piece_offset(warp_column + j * 16 + row_in_tile, piece));
#pragma unroll
        for (int i = 0; i < kRowTiles; ++i) {
          multiply(counts[i][j * 2], a[i], b[0], b[2]);
          multiply(counts[i][j * 2 + 1], a[i], b[1], b[3]);
        }
      }
    }
  }

  const int32_t threshold = static_cast<int32_t>(min(job.wanted.threshold, 0x7fffffffu));
#pragma unroll
  for (int i = 0; i < kRowTiles; ++i) {
#pragma unroll
    for (int j = 0; j < kColumnTiles; ++j) {
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const uint32_t row = tile.x * kBlockItems + warp_row + i * 16 + lane / 4 + k / 2 * 8;
        const uint32_t column = tile.y * kBlockItems + warp_column + j * 8 + lane % 4 * 2 + k % 2;
        append_pair(job.found, counts[i][j][k] >= threshold && job.wanted.has(row, column), row, column,
                    static_cast<uint32_t>(counts[i][j][k]));
      }
    }
  }
#endif
}

void launch(const BitTiles& tiles, cudaStream_t stream) {
  check(cudaFuncSetAttribute(count_mma_tiles, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes),
        "raising the shared memory of a kernel");
  count_mma_tiles<<<tiles.tile_count, kThreads, kSharedBytes, stream>>>(tiles);
  check_launch("count_mma_tiles");
}

}  // namespace

const BitTileKernel kMmaTiles = {"mma", [](int major, int) { return major >= 8; }, uint64_t{1} << 29, launch};

}  // namespace batmap::cuda
