// Tiles by the binary tensor-core products of Hopper: wgmma m64n128k256, AND + popcount. Two warpgroups count
// 64 rows each; a ninth warp brings the blocks by bulk copies, three stages deep. Two thread blocks share a
// multiprocessor, so that one counts while the other begins or ends. See bit_tiles.h. Source: ours; the
// hardware's limit is 15.4 x 10^15 binary operations a second on an H100.
#include "cuda/bit_tiles.h"
#include "cuda/device_memory.h"

namespace batmap::cuda {

namespace {

constexpr int kConsumers = 256;
constexpr int kThreads = kConsumers + 32;
constexpr uint32_t kStages = 3;
constexpr uint32_t kStageBytes = 2 * kBlockBytes;
constexpr uint32_t kSharedBytes = kStages * kStageBytes + 1024;  // with room to align the start to 1,024
constexpr int kAccumulators = 64;

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

__device__ uint32_t shared_address(const void* at) { return static_cast<uint32_t>(__cvta_generic_to_shared(at)); }

__device__ void barrier_init(uint64_t* barrier, uint32_t arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals));
}
__device__ void barrier_expect(uint64_t* barrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes)
               : "memory");
}
__device__ void barrier_arrive(uint64_t* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}
__device__ void barrier_wait(uint64_t* barrier, uint32_t phase) {
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "again:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@done bra passed;\n"
      "bra again;\n"
      "passed:\n"
      "}\n" ::"r"(shared_address(barrier)),
      "r"(phase)
      : "memory");
}
__device__ void copy_block(void* to, const void* from, uint64_t* barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(shared_address(to)),
      "l"(from), "r"(kBlockBytes), "r"(shared_address(barrier))
      : "memory");
}

/// Describes a matrix in shared memory: rows of 128 bytes, 128-byte swizzle, groups of 8 rows 1,024 bytes apart.
__device__ uint64_t matrix_descriptor(const void* at) {
  constexpr uint64_t kLeading = uint64_t{1} << 16;  // not used by swizzled rows
  constexpr uint64_t kStride = uint64_t{1024 >> 4} << 32;
  constexpr uint64_t kSwizzle128 = uint64_t{1} << 62;
  return ((shared_address(at) & 0x3ffff) >> 4) | kLeading | kStride | kSwizzle128;
}

__device__ void multiply(int32_t (&d)[kAccumulators], uint64_t a, uint64_t b) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n128k256.s32.b1.b1.and.popc "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, %64, %65, 1;\n"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]), "+r"(d[4]), "+r"(d[5]), "+r"(d[6]), "+r"(d[7]), "+r"(d[8]),
        "+r"(d[9]), "+r"(d[10]), "+r"(d[11]), "+r"(d[12]), "+r"(d[13]), "+r"(d[14]), "+r"(d[15]), "+r"(d[16]), "+r"(d[17]),
        "+r"(d[18]), "+r"(d[19]), "+r"(d[20]), "+r"(d[21]), "+r"(d[22]), "+r"(d[23]), "+r"(d[24]), "+r"(d[25]), "+r"(d[26]),
        "+r"(d[27]), "+r"(d[28]), "+r"(d[29]), "+r"(d[30]), "+r"(d[31]), "+r"(d[32]), "+r"(d[33]), "+r"(d[34]), "+r"(d[35]),
        "+r"(d[36]), "+r"(d[37]), "+r"(d[38]), "+r"(d[39]), "+r"(d[40]), "+r"(d[41]), "+r"(d[42]), "+r"(d[43]), "+r"(d[44]),
        "+r"(d[45]), "+r"(d[46]), "+r"(d[47]), "+r"(d[48]), "+r"(d[49]), "+r"(d[50]), "+r"(d[51]), "+r"(d[52]), "+r"(d[53]),
        "+r"(d[54]), "+r"(d[55]), "+r"(d[56]), "+r"(d[57]), "+r"(d[58]), "+r"(d[59]), "+r"(d[60]), "+r"(d[61]), "+r"(d[62]),
        "+r"(d[63])
      : "l"(a), "l"(b));
}

#endif

__global__ void __launch_bounds__(kThreads, 2) count_wgmma_tiles(const BitTiles job) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ unsigned char unaligned[];
  __shared__ uint64_t full[kStages];
  __shared__ uint64_t empty[kStages];
  unsigned char* const stages = unaligned + (1024 - (shared_address(unaligned) & 1023)) % 1024;
  const uint2 tile = job.tiles[blockIdx.x];
  const bool diagonal = tile.x == tile.y;  // one block is both sides
  const uint32_t tid_blocks = job.bits.tid_blocks();

  if (threadIdx.x == 0) {
    for (uint32_t stage = 0; stage < kStages; ++stage) {
      barrier_init(full + stage, 1);
      barrier_init(empty + stage, 2);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();

  if (threadIdx.x >= kConsumers) {
    if (threadIdx.x != kConsumers) return;
    for (uint32_t block = 0; block < tid_blocks; ++block) {
      const uint32_t stage = block % kStages;
      if (block >= kStages) barrier_wait(empty + stage, (block / kStages - 1) & 1);
      unsigned char* const rows = stages + stage * kStageBytes;
      barrier_expect(full + stage, diagonal ? kBlockBytes : kStageBytes);
      copy_block(rows, job.bits.block(tile.x, block), full + stage);
      if (!diagonal) copy_block(rows + kBlockBytes, job.bits.block(tile.y, block), full + stage);
    }
    return;
  }

  int32_t counts[kAccumulators];
#pragma unroll
  for (int i = 0; i < kAccumulators; ++i) counts[i] = 0;
  const uint32_t group = threadIdx.x / 128;
  const auto await_block = [&](uint32_t block, uint64_t& a, uint64_t& b) {
    const unsigned char* const rows = stages + block % kStages * kStageBytes;
    a = matrix_descriptor(rows + group * 64 * kRowBytes);
    b = matrix_descriptor(diagonal ? rows : rows + kBlockBytes);
    barrier_wait(full + block % kStages, block / kStages & 1);
  };
  uint64_t a;
  uint64_t b;
  for (uint32_t block = 0; block + 1 < tid_blocks; ++block) {
    await_block(block, a, b);
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
    for (uint32_t step = 0; step < kBlockTids / kStepTids; ++step) multiply(counts, a + step * 2, b + step * 2);
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    // Four warpgroups share the tensor cores: while one waits, the products of the others are computed.
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    if (threadIdx.x % 128 == 0) barrier_arrive(empty + block % kStages);
  }
  // The last block may have fewer steps.
  await_block(tid_blocks - 1, a, b);
  for (uint32_t step = 0; step < job.bits.last_steps(); ++step) {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    multiply(counts, a + step * 2, b + step * 2);
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  }
#pragma unroll
  for (int i = 0; i < kAccumulators; ++i) asm volatile("" : "+r"(counts[i])::"memory");

  const int32_t threshold = static_cast<int32_t>(min(job.wanted.threshold, 0x7fffffffu));
  int32_t largest = 0;
#pragma unroll
  for (int i = 0; i < kAccumulators; ++i) largest = max(largest, counts[i]);
  if (!__any_sync(0xffffffffu, largest >= threshold)) return;
  const uint32_t lane = threadIdx.x % 32;
  const uint32_t first_row = tile.x * kBlockItems + threadIdx.x / 32 * 16 + lane / 4;
  const uint32_t first_column = tile.y * kBlockItems + lane % 4 * 2;
#pragma unroll
  for (int i = 0; i < kAccumulators; ++i) {
    const uint32_t row = first_row + (i >> 1 & 1) * 8;
    const uint32_t column = first_column + (i >> 2) * 8 + (i & 1);
    append_pair(job.found, counts[i] >= threshold && job.wanted.has(row, column), row, column,
                static_cast<uint32_t>(counts[i]));
  }
#endif
}

void launch(const BitTiles& tiles, cudaStream_t stream) {
  check(cudaFuncSetAttribute(count_wgmma_tiles, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes),
        "raising the shared memory of a kernel");
  count_wgmma_tiles<<<tiles.tile_count, kThreads, kSharedBytes, stream>>>(tiles);
  check_launch("count_wgmma_tiles");
}

}  // namespace

const BitTileKernel kWgmmaTiles = {"wgmma", [](int major, int minor) { return major == 9 && minor == 0; }, uint64_t{1} << 31,
                                   launch};

}  // namespace batmap::cuda
