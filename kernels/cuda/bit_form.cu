// The form of method `bitmap`: rows are scattered into the tiled bit matrix as they arrive, by one atomic OR
// each. So there is no memory but the matrix and the rows in flight. A duplicate sets the same bit.
#include <algorithm>
#include <vector>

#include "cuda/bit_tiles.h"
#include "cuda/pair_form.h"

namespace batmap::cuda {

namespace {

constexpr int kThreads = 256;
constexpr uint32_t kMinTilesAtOnce = 256;   // about as many as run at the same time
constexpr uint32_t kTilesAtOnce = 1 << 18;  // 2 MB of tile list
// Tiles are counted in strips of so many blocks of columns, so that the blocks read at one time stay in the L2 cache.
constexpr uint32_t kColumnBlocks = 16;

/// Rows may lie in memory that another process can still write to: whatever is there stays inside the matrix.
__global__ void scatter_bits(const uint32_t* tids, const uint32_t* items, size_t rows, TiledBits bits) {
  for (size_t i = blockIdx.x * size_t{kThreads} + threadIdx.x; i < rows; i += size_t{gridDim.x} * kThreads) {
    const uint32_t tid = min(tids[i], bits.tid_slots - 1);
    atomicOr(reinterpret_cast<uint32_t*>(bits.bytes) + bits.word(min(items[i], bits.items - 1), tid), 1u << (tid % 32));
  }
}

/// The pieces of a row that a lane of a warp visits. Calls visit(byte offset from the start of the row's blocks).
template <typename Visit>
__device__ void visit_row(const TiledBits& bits, uint32_t item, Visit visit) {
  const uint32_t lane = threadIdx.x % 32;
  const uint32_t row = item % kBlockItems;
  for (uint32_t piece = lane; piece < bits.tid_blocks() * (kRowBytes / 16); piece += 32)
    visit(static_cast<uint64_t>(piece / 8) * kBlockBytes + TiledBits::piece_offset(row, piece % 8));
}

__global__ void count_bits(TiledBits bits, uint32_t* supports) {
  const auto item = static_cast<uint32_t>((blockIdx.x * uint64_t{kThreads} + threadIdx.x) / 32);
  if (item >= bits.items) return;
  const unsigned char* const rows = bits.block(item / kBlockItems, 0);
  uint32_t count = 0;
  visit_row(bits, item, [&](uint64_t at) {
    const uint4 piece = *reinterpret_cast<const uint4*>(rows + at);
    count += __popc(piece.x) + __popc(piece.y) + __popc(piece.z) + __popc(piece.w);
  });
  count = warp_sum(count);
  if (threadIdx.x % 32 == 0) supports[item] = count;
}

__global__ void count_bit_pairs(TiledBits bits, const uint32_t* a, const uint32_t* b, size_t size, uint32_t* counts) {
  for (size_t pair = (blockIdx.x * size_t{kThreads} + threadIdx.x) / 32; pair < size;
       pair += size_t{gridDim.x} * kThreads / 32) {
    // Pieces of the two rows lie at different offsets.
    const uint32_t item_a = min(a[pair], bits.items - 1);
    const uint32_t item_b = min(b[pair], bits.items - 1);
    const uint32_t row_a = item_a % kBlockItems;
    const uint32_t row_b = item_b % kBlockItems;
    const unsigned char* const rows_a = bits.block(item_a / kBlockItems, 0);
    const unsigned char* const rows_b = bits.block(item_b / kBlockItems, 0);
    uint32_t count = 0;
    for (uint32_t piece = threadIdx.x % 32; piece < bits.tid_blocks() * (kRowBytes / 16); piece += 32) {
      const uint64_t block = static_cast<uint64_t>(piece / 8) * kBlockBytes;
      const uint4 x = *reinterpret_cast<const uint4*>(rows_a + block + TiledBits::piece_offset(row_a, piece % 8));
      const uint4 y = *reinterpret_cast<const uint4*>(rows_b + block + TiledBits::piece_offset(row_b, piece % 8));
      count += __popc(x.x & y.x) + __popc(x.y & y.y) + __popc(x.z & y.z) + __popc(x.w & y.w);
    }
    count = warp_sum(count);
    if (threadIdx.x % 32 == 0) counts[pair] = count;
  }
}

class BitForm final : public PairForm {
 public:
  BitForm(const DevicePairJob& job, const BitTileKernel& kernel, Lane& lane)
      : kernel_(kernel), first_column_(job.first_column), bits_{nullptr, job.items, job.tid_slots} {
    matrix_ = DeviceArray<unsigned char>(lane.budget, bits_.size_bytes());
    bits_.bytes = matrix_.data();
    check(cudaMemsetAsync(matrix_.data(), 0, matrix_.bytes(), lane.stream), "clearing the bit matrix");
  }

  void add(const uint32_t* tids, const uint32_t* items, size_t rows, cudaStream_t stream) override {
    const auto blocks = static_cast<unsigned>(std::min<size_t>((rows + kThreads - 1) / kThreads, 4096));
    scatter_bits<<<blocks, kThreads, 0, stream>>>(tids, items, rows, bits_);
    check_launch("scatter_bits");
  }

  void build(uint32_t* supports, Lane& lane) override {
    const size_t bytes = bits_.items * sizeof(uint32_t);
    auto* const counted = static_cast<uint32_t*>(lane.scratch(bytes));
    const auto blocks = static_cast<unsigned>((uint64_t{bits_.items} * 32 + kThreads - 1) / kThreads);
    count_bits<<<blocks, kThreads, 0, lane.stream>>>(bits_, counted);
    check_launch("count_bits");
    check(cudaMemcpyAsync(supports, counted, bytes, cudaMemcpyDeviceToHost, lane.stream), "reading supports");
    lane.wait();
  }

  void count(const WantedOnDevice& wanted, const FoundPairs& found, Lane& lane) override {
    const uint32_t first_row = wanted.first_row / kBlockItems;
    const uint32_t last_row = (wanted.last_row + kBlockItems - 1) / kBlockItems;
    const uint32_t columns = bits_.item_blocks();
    const uint64_t tids = std::max<uint64_t>(bits_.tid_slots, 1);
    const auto at_once =
        static_cast<uint32_t>(std::clamp<uint64_t>(kernel_.tile_tids_at_once / tids, kMinTilesAtOnce, kTilesAtOnce));
    std::vector<uint2> tiles;
    const auto flush = [&] {
      if (tiles.empty()) return;
      const size_t bytes = tiles.size() * sizeof(uint2);
      auto* const on_device = static_cast<uint2*>(lane.scratch(bytes));
      check(cudaMemcpyAsync(on_device, tiles.data(), bytes, cudaMemcpyHostToDevice, lane.stream), "copying tiles");
      kernel_.launch({bits_, on_device, static_cast<uint32_t>(tiles.size()), wanted, found}, lane.stream);
      lane.wait();
      tiles.clear();
    };
    for (uint32_t group = first_column_ / kBlockItems / kColumnBlocks * kColumnBlocks; group < columns;
         group += kColumnBlocks) {
      for (uint32_t row = first_row; row < last_row; ++row) {
        const uint32_t from = std::max({group, row, first_column_ / kBlockItems});
        for (uint32_t column = from; column < std::min(group + kColumnBlocks, columns); ++column) {
          tiles.push_back({row, column});
          if (tiles.size() == at_once) flush();
        }
      }
    }
    flush();
  }

  size_t pairs_at_once() const override { return pairs_that_read(uint64_t{2} * bits_.tid_blocks() * kRowBytes); }

  void count_list(const uint32_t* a, const uint32_t* b, size_t size, bool, uint32_t* counts, cudaStream_t stream) override {
    const auto blocks = static_cast<unsigned>(std::min<size_t>((size * 32 + kThreads - 1) / kThreads, 1 << 16));
    count_bit_pairs<<<blocks, kThreads, 0, stream>>>(bits_, a, b, size, counts);
    check_launch("count_bit_pairs");
  }

 private:
  const BitTileKernel& kernel_;
  uint32_t first_column_;
  TiledBits bits_;
  DeviceArray<unsigned char> matrix_;
};

}  // namespace

std::unique_ptr<PairForm> make_bit_form(const DevicePairJob& job, int major, int minor, const char* bit_kernel, Lane& lane) {
  return std::make_unique<BitForm>(job, bit_tile_kernel(major, minor, bit_kernel), lane);
}

}  // namespace batmap::cuda
