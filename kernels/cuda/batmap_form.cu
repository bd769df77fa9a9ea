// The form of method `batmap`: sets as bit-plane batmaps, compared slot by slot in tiles of 64 x 64 pairs. Sets are in
// order of size, so neighbours have tables of one range, and each side of a tile has one range; the larger tables fold
// over the smaller. The planes of 128 slots of both sides lie in shared memory, while those of the next 128 slots are
// copied there. A thread counts 4 x 4 pairs, plane after plane. Where there are very many planes, the last ones are
// read only if a slot may still match. Elements in a stash are looked up in the other set. Cost: slots / 32 x planes
// three-input operations a pair. Source: Amossen & Pagh 2011, III-B to III-D, on the layout of set/FORMAT.md.
#include <algorithm>
#include <vector>

#include "cuda/pair_form.h"
#include "cuda/pinned_block.h"
#include "cuda/sorted_search.h"
#include "set/permutation.h"

namespace batmap::cuda {

namespace {

constexpr int kThreads = 256;
constexpr uint32_t kTileSets = 64;
constexpr int kSide = 4;                              // pairs of a thread in each direction
constexpr uint32_t kStagedKeys = 20;                  // key planes that are copied to shared memory: 90 KB of it
constexpr uint32_t kLookAfterKeys = 8;                // key planes after which a warp leaves a pair if nothing matches
constexpr uint32_t kPieces = 4;                       // of 128 slots, in a plane of a block
constexpr uint64_t kWordsAtOnce = uint64_t{1} << 35;  // words of planes compared between two looks at the stop token
constexpr uint32_t kMaxStash = 1024;                  // elements: one thread looks all of them up. Real sets have a few

/// A set on the device.
struct DeviceSet {
  const uint32_t* planes;  // groups of three blocks of key_bits + 2 planes of 16 words
  uint32_t range_bits;
  uint32_t key_bits;
};

struct BatmapSets {
  const DeviceSet* sets;
  const uint32_t* stash_begin;
  const uint64_t* stash;
  int width;

  __device__ uint32_t stash_size(uint32_t set) const { return stash_begin[set + 1] - stash_begin[set]; }
  __device__ bool in_stash(uint32_t set, uint64_t x) const {
    const uint32_t end = stash_begin[set + 1];
    const uint32_t at = first_not_below(stash, stash_begin[set], end, x);
    return at < end && stash[at] == x;
  }
  template <int kTable>
  __device__ bool in_table(const DeviceSet& set, uint64_t x) const {
    const uint64_t image = image_of<kTable>(x, width);
    const uint64_t position = image & ((uint64_t{1} << set.range_bits) - 1);
    const uint32_t block_words = (set.key_bits + 2) * 16;
    const uint32_t* const word = set.planes + (position / 512 * 3 + kTable) * block_words + position % 512 / 32;
    uint64_t key = 0;
    for (uint32_t k = 0; k < set.key_bits; ++k) key |= static_cast<uint64_t>(word[(k + 1) * 16] >> position % 32 & 1) << k;
    return (word[0] >> position % 32 & 1) != 0 && key == image >> set.range_bits;
  }
  __device__ bool holds(uint32_t set, uint64_t x) const {
    const DeviceSet s = sets[set];
    return in_table<0>(s, x) || in_table<1>(s, x) || in_table<2>(s, x) || in_stash(set, x);
  }
  /// Common elements that a comparison of the tables misses: those in the stash of either set.
  __device__ uint32_t by_stash(uint32_t a, uint32_t b) const {
    uint32_t common = 0;
    for (uint32_t i = stash_begin[a]; i < stash_begin[a + 1]; ++i) common += holds(b, stash[i]);
    for (uint32_t i = stash_begin[b]; i < stash_begin[b + 1]; ++i) common += holds(a, stash[i]) && !in_stash(a, stash[i]);
    return common;
  }
};

/// Sets [row, row + rows) against [column, column + columns). The sets of one side have one shape.
struct BatmapTile {
  uint32_t row;
  uint32_t rows;
  uint32_t column;
  uint32_t columns;
};

struct BatmapTiles {
  BatmapSets sets;
  const BatmapTile* tiles;
  uint32_t staged;  // key planes that there is room for
  WantedOnDevice wanted;
  FoundPairs found;
};

/// m AND NOT (a XOR b)
__device__ uint32_t match(uint32_t m, uint32_t a, uint32_t b) { return m & ~(a ^ b); }
__device__ uint4 match(uint4 m, uint4 a, uint4 b) {
  return {match(m.x, a.x, b.x), match(m.y, a.y, b.y), match(m.z, a.z, b.z), match(m.w, a.w, b.w)};
}
__device__ uint4 both(uint4 a, uint4 b) { return {a.x & b.x, a.y & b.y, a.z & b.z, a.w & b.w}; }
__device__ uint4 and_either(uint4 m, uint4 a, uint4 b) {
  return {m.x & (a.x | b.x), m.y & (a.y | b.y), m.z & (a.z | b.z), m.w & (a.w | b.w)};
}
__device__ uint32_t ones(uint4 v) { return __popc(v.x) + __popc(v.y) + __popc(v.z) + __popc(v.w); }
__device__ bool any(uint4 v) { return (v.x | v.y | v.z | v.w) != 0; }

__device__ void copy_piece(uint4* to, const uint4* from, bool is_there) {
#if __CUDA_ARCH__ >= 800
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(to));
  const int bytes = is_there ? 16 : 0;  // the other bytes become zero
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(from), "r"(bytes) : "memory");
#else
  *to = is_there ? *from : uint4{};
#endif
}
__device__ void end_of_copies() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
/// Waits for all copies but those of the last group.
__device__ void wait_for_copies() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group 1;" ::: "memory");
#endif
}

__host__ __device__ constexpr uint32_t stage_pieces(uint32_t staged) { return (staged + 2) * 2 * kTileSets; }

__global__ void __launch_bounds__(kThreads, 2) count_batmap_tiles(const BatmapTiles job) {
  // Two stages. Each has, for 128 slots: [valid, staged key planes, indicator][rows, columns][sets].
  extern __shared__ uint4 stages[];
  __shared__ const uint4* planes_of[2 * kTileSets];
  const BatmapTile tile = job.tiles[blockIdx.x];
  const DeviceSet small = job.sets.sets[tile.row];  // shapes of the tile; rows are the smaller sets
  const DeviceSet large = job.sets.sets[tile.column];
  const uint32_t folded = large.range_bits - small.range_bits;
  const uint32_t keys = large.key_bits;
  const uint32_t staged = min(keys, job.staged);
  const uint32_t small_groups = 1u << (small.range_bits - 9);
  const uint32_t pieces = (3u << (large.range_bits - 9)) * kPieces;
  const uint32_t small_block = (small.key_bits + 2) * kPieces;
  const uint32_t large_block = (keys + 2) * kPieces;
  const uint32_t thread_row = threadIdx.x / 16 * kSide;
  const uint32_t thread_column = threadIdx.x % 16;  // and every 16th from there: neighbours read neighbours

  if (threadIdx.x < 2 * kTileSets) {
    const bool row = threadIdx.x < kTileSets;
    const uint32_t set = threadIdx.x % kTileSets;
    const bool is_there = set < (row ? tile.rows : tile.columns);
    const uint32_t at = (row ? tile.row : tile.column) + (is_there ? set : 0);
    planes_of[threadIdx.x] = is_there ? reinterpret_cast<const uint4*>(job.sets.sets[at].planes) : nullptr;
  }
  __syncthreads();
  const auto in_small = [&](uint32_t piece) {
    const uint32_t block = piece / kPieces;
    return ((block / 3 & (small_groups - 1)) * 3 + block % 3) * small_block + piece % kPieces;
  };
  const auto in_large = [&](uint32_t piece) { return piece / kPieces * large_block + piece % kPieces; };
  const auto load = [&](uint32_t piece) {
    if (piece < pieces) {
      uint4* const stage = stages + piece % 2 * stage_pieces(job.staged);
      const uint32_t fold = piece / kPieces / 3 >> (small.range_bits - 9);
      for (uint32_t i = threadIdx.x; i < stage_pieces(staged); i += kThreads) {
        const uint32_t set = i % (2 * kTileSets);
        const uint32_t plane = i / (2 * kTileSets);  // 0: valid; staged + 1: indicator
        const uint4* from = planes_of[set];
        const bool is_there = from != nullptr;
        if (!is_there) {
          stage[i] = {};
        } else if (set >= kTileSets) {
          copy_piece(stage + i, from + in_large(piece) + (plane > staged ? keys + 1 : plane) * kPieces, true);
        } else {
          from += in_small(piece);
          if (plane > 0 || folded == 0) {
            copy_piece(stage + i,
                       from + (plane == 0       ? 0
                               : plane > staged ? small.key_bits + 1
                                                : folded + plane) *
                                  kPieces,
                       true);
          } else {  // a slot that folds elsewhere counts as empty
            uint4 valid = from[0];
            for (uint32_t k = 0; k < folded; ++k) {
              const uint32_t bit = 0 - (fold >> k & 1);
              valid = match(valid, from[(k + 1) * kPieces], {bit, bit, bit, bit});
            }
            stage[i] = valid;
          }
        }
      }
    }
    end_of_copies();
  };

  uint32_t counts[kSide][kSide] = {};
  load(0);
  for (uint32_t piece = 0; piece < pieces; ++piece) {
    load(piece + 1);
    wait_for_copies();
    __syncthreads();
    {
      const uint4* const stage = stages + piece % 2 * stage_pieces(job.staged);
      uint4 found[kSide][kSide];
      const auto take_plane = [&](uint32_t plane, auto combine) {
        uint4 r[kSide];
#pragma unroll
        for (int i = 0; i < kSide; ++i) r[i] = stage[plane * 2 * kTileSets + thread_row + i];
#pragma unroll
        for (int j = 0; j < kSide; ++j) {
          const uint4 c = stage[(plane * 2 + 1) * kTileSets + thread_column + 16 * j];
#pragma unroll
          for (int i = 0; i < kSide; ++i) found[i][j] = combine(found[i][j], r[i], c);
        }
      };
      take_plane(0, [](uint4, uint4 r, uint4 c) { return both(r, c); });
      for (uint32_t plane = 1; plane <= staged; ++plane)
        take_plane(plane, [](uint4 f, uint4 r, uint4 c) { return match(f, r, c); });
      take_plane(staged + 1, [](uint4 f, uint4 r, uint4 c) { return and_either(f, r, c); });
      if (keys > staged) {
#pragma unroll
        for (int i = 0; i < kSide; ++i) {
#pragma unroll
          for (int j = 0; j < kSide; ++j) {
            const uint32_t row = thread_row + i;
            const uint32_t column = thread_column + 16 * j;
            if (!any(found[i][j])) continue;
            const uint4* const r = planes_of[row] + in_small(piece);
            const uint4* const c = planes_of[kTileSets + column] + in_large(piece);
            for (uint32_t k = staged; k < keys; ++k)
              found[i][j] = match(found[i][j], r[(folded + k + 1) * kPieces], c[(k + 1) * kPieces]);
          }
        }
      }
#pragma unroll
      for (int i = 0; i < kSide; ++i)
#pragma unroll
        for (int j = 0; j < kSide; ++j) counts[i][j] += ones(found[i][j]);
    }
    __syncthreads();  // all threads have read the stage
  }
#pragma unroll
  for (int i = 0; i < kSide; ++i) {
#pragma unroll
    for (int j = 0; j < kSide; ++j) {
      const uint32_t row = thread_row + i;
      const uint32_t column = thread_column + 16 * j;
      const uint32_t a = tile.row + row;
      const uint32_t b = tile.column + column;
      uint32_t count = counts[i][j];
      const bool wanted = row < tile.rows && column < tile.columns && job.wanted.has(a, b);
      if (wanted && (job.sets.stash_size(a) | job.sets.stash_size(b)) != 0) count += job.sets.by_stash(a, b);
      append_pair(job.found, wanted && count >= job.wanted.threshold, a, b, count);
    }
  }
}

/// One warp a pair, two blocks of 16 words at a time. Pairs with one set in common are to be neighbours: its planes are then
/// read once. The list may lie in memory that another process can still write to: whatever is there names a set.
__global__ void count_batmap_pairs(BatmapSets sets, uint32_t max_set, const uint32_t* a, const uint32_t* b, size_t size,
                                   uint32_t* counts) {
  const uint32_t lane = threadIdx.x % 32;
  for (size_t pair = (blockIdx.x * size_t{kThreads} + threadIdx.x) / 32; pair < size;
       pair += size_t{gridDim.x} * kThreads / 32) {
    // Sets are in order of size.
    const uint32_t x = min(min(a[pair], b[pair]), max_set);
    const uint32_t y = min(max(a[pair], b[pair]), max_set);
    const DeviceSet small = sets.sets[x];
    const DeviceSet large = sets.sets[y];
    const uint32_t folded = large.range_bits - small.range_bits;
    const uint32_t small_groups = 1u << (small.range_bits - 9);
    const uint32_t blocks = 3u << (large.range_bits - 9);
    uint32_t count = 0;
    for (uint32_t block = lane / 16; block < (blocks + 1) / 2 * 2; block += 2) {
      const bool inside = block < blocks;
      const uint32_t group = inside ? block / 3 : 0;
      const uint32_t fold = group >> (small.range_bits - 9);
      const uint32_t* const s =
          small.planes + ((group & (small_groups - 1)) * 3 + block % 3) * ((small.key_bits + 2) * 16) + lane % 16;
      const uint32_t* const l = large.planes + (inside ? block : 0) * ((large.key_bits + 2) * 16) + lane % 16;
      uint32_t found = inside ? s[0] & l[0] : 0;
      for (uint32_t k = 0; k < folded; ++k) found = match(found, s[(k + 1) * 16], 0 - (fold >> k & 1));
      for (uint32_t k = 0; k < large.key_bits; ++k) {
        if (k == kLookAfterKeys && !__any_sync(0xffffffffu, found != 0)) break;
        found = match(found, s[(folded + k + 1) * 16], l[(k + 1) * 16]);
      }
      if (found != 0) found &= s[(small.key_bits + 1) * 16] | l[(large.key_bits + 1) * 16];
      count += __popc(found);
    }
    count = warp_sum(count);
    if (lane == 0) {
      if ((sets.stash_size(x) | sets.stash_size(y)) != 0) count += sets.by_stash(x, y);
      counts[pair] = count;
    }
  }
}

class BatmapForm final : public PairForm {
 public:
  BatmapForm(const DevicePairJob& job, const DeviceSets& given, Lane& lane)
      : items_(given.sets), first_column_(job.first_column), width_(static_cast<int>(given.width)), supports_(given.sets) {
    const uint32_t stashed = given.stash_begin[given.sets];
    std::vector<DeviceSet> sets(items_);
    std::vector<uint64_t> begin(items_ + 1);
    for (uint32_t set = 0; set < items_; ++set) {
      sets[set].range_bits = range_bits(given.cardinality[set]);
      sets[set].key_bits = given.width - sets[set].range_bits;
      begin[set + 1] = begin[set] + (uint64_t{3} << (sets[set].range_bits - 9)) * (sets[set].key_bits + 2) * 16;
      max_keys_ = std::max(max_keys_, sets[set].key_bits);
      supports_[set] = static_cast<uint32_t>(given.cardinality[set]);
      if (given.stash_begin[set + 1] - given.stash_begin[set] > kMaxStash)
        throw DeviceError{AcceleratorStatus::kDeclined, "a set has too many elements outside of its tables"};
      // A side of a tile ends after kTileSets sets, where the shape changes, and at the last leading set.
      if (set == 0 || set - groups_.back() == kTileSets || sets[set].range_bits != range_bits_.back() ||
          set == job.leading) {
        groups_.push_back(set);
      }
      range_bits_.push_back(sets[set].range_bits);
    }
    groups_.push_back(items_);
    planes_ = DeviceArray<uint32_t>(lane.budget, begin[items_]);
    for (uint32_t set = 0; set < items_; ++set) sets[set].planes = planes_.data() + begin[set];
    sets_ = DeviceArray<DeviceSet>(lane.budget, items_);
    stash_begin_ = DeviceArray<uint32_t>(lane.budget, items_ + 1);
    stash_ = DeviceArray<uint64_t>(lane.budget, stashed);
    const auto send = [&](void* to, const void* from, size_t bytes) {
      check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, lane.stream), "copying sets");
    };
    send(sets_.data(), sets.data(), sets_.bytes());
    send(stash_begin_.data(), given.stash_begin, stash_begin_.bytes());
    if (stashed > 0) send(stash_.data(), given.stash, stash_.bytes());
    lane.wait();
  }

  void add_planes(uint64_t offset, const PlanePiece* pieces, size_t count, Lane& lane) override {
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; ++i) bytes += pieces[i].bytes;
    if (offset > planes_.bytes() || bytes > planes_.bytes() - offset)
      throw DeviceError{AcceleratorStatus::kDeclined, "planes outside of the sets"};
    StagedCopy copy(reinterpret_cast<std::byte*>(planes_.data()) + offset, lane.stop, lane.stream);
    for (size_t i = 0; i < count; ++i) copy.add(pieces[i].data, pieces[i].bytes);
    copy.finish();
  }

  void build(uint32_t* supports, Lane&) override { std::copy(supports_.begin(), supports_.end(), supports); }

  void count(const WantedOnDevice& wanted, const FoundPairs& found, Lane& lane) override {
    const auto room = static_cast<uint32_t>(allow_shared_memory<count_batmap_tiles>() / (2 * sizeof(uint4)));
    const uint32_t staged = std::min({max_keys_, kStagedKeys, room / (2 * kTileSets) - 2});
    const size_t shared = 2 * stage_pieces(staged) * sizeof(uint4);
    const size_t fewest_tiles = 2 * multiprocessor_count();  // run at the same time
    std::vector<BatmapTile> tiles;
    uint64_t words = 0;
    const auto flush = [&] {
      if (tiles.empty()) return;
      const size_t bytes = tiles.size() * sizeof(BatmapTile);
      auto* const on_device = static_cast<BatmapTile*>(lane.scratch(bytes));
      check(cudaMemcpyAsync(on_device, tiles.data(), bytes, cudaMemcpyHostToDevice, lane.stream), "copying tiles");
      count_batmap_tiles<<<static_cast<unsigned>(tiles.size()), kThreads, shared, lane.stream>>>(
          {view(), on_device, staged, wanted, found});
      check_launch("count_batmap_tiles");
      lane.wait();
      tiles.clear();
      words = 0;
    };
    for (size_t row = 0; row + 1 < groups_.size(); ++row) {
      if (groups_[row + 1] <= wanted.first_row || groups_[row] >= wanted.last_row) continue;
      for (size_t column = row; column + 1 < groups_.size(); ++column) {
        if (groups_[column + 1] <= first_column_) continue;
        tiles.push_back(
            {groups_[row], groups_[row + 1] - groups_[row], groups_[column], groups_[column + 1] - groups_[column]});
        const uint32_t range = range_bits_[groups_[column]];
        words +=
            (uint64_t{3} << range) / 32 * std::min<uint64_t>(width_ - range + 2, kStagedKeys + 2) * kTileSets * kTileSets;
        if (words >= kWordsAtOnce && tiles.size() >= fewest_tiles) flush();
      }
    }
    flush();
  }

  size_t pairs_at_once() const override {
    const uint32_t range = range_bits_.back();
    const uint64_t bytes = (uint64_t{3} << range) / 8 * (width_ - range + 2);  // of the largest set
    return pairs_that_read(2 * bytes);
  }

  void count_list(const uint32_t* a, const uint32_t* b, size_t size, bool, uint32_t* counts, cudaStream_t stream) override {
    const auto blocks = static_cast<unsigned>(std::min<size_t>((size * 32 + kThreads - 1) / kThreads, 1 << 16));
    count_batmap_pairs<<<blocks, kThreads, 0, stream>>>(view(), items_ - 1, a, b, size, counts);
    check_launch("count_batmap_pairs");
  }

 private:
  /// The smallest power of two that is at least twice the cardinality and at least a block (set/set_format.h).
  static uint32_t range_bits(uint64_t cardinality) {
    uint32_t bits = 9;
    while (uint64_t{1} << bits < 2 * cardinality) ++bits;
    return bits;
  }
  BatmapSets view() const { return {sets_.data(), stash_begin_.data(), stash_.data(), width_}; }

  uint32_t items_;
  uint32_t first_column_;
  int width_;
  uint32_t max_keys_ = 0;
  std::vector<uint32_t> supports_;
  std::vector<uint32_t> range_bits_;  // [sets]
  std::vector<uint32_t> groups_;      // first set of each side of a tile, then the end
  DeviceArray<uint32_t> planes_;
  DeviceArray<DeviceSet> sets_;
  DeviceArray<uint32_t> stash_begin_;
  DeviceArray<uint64_t> stash_;
};

}  // namespace

std::unique_ptr<PairForm> make_batmap_form(const DevicePairJob& job, const DeviceSets& sets, Lane& lane) {
  return std::make_unique<BatmapForm>(job, sets, lane);
}

}  // namespace batmap::cuda
