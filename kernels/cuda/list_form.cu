// The form of method `lists`: the tids of each item, in the order of a hash. To count a pair, some threads walk through the
// shorter list and look its hashes up in the longer one, which has a table of where each range of hashes begins. Both lists
// are in one order and hashes are spread evenly, so neighbouring threads read neighbouring words: in effect the lists are
// merged. Cost: a sort of the rows; then one look-up for each row of the shorter list. Source: ours; hashes with a table of
// ranges are interpolation search with the guess written down.
#include <algorithm>
#include <vector>

#include "cuda/sorted_keys.h"

namespace batmap::cuda {

namespace {

constexpr int kThreads = 256;
constexpr uint32_t kHashesARange = 2;                   // of a list, in the mean
constexpr uint32_t kLongList = 64;                      // hashes; from this mean on a whole warp counts a pair
constexpr uint32_t kVeryLongList = 1 << 20;             // a whole warp, if there is one
constexpr uint32_t kStepsOneByOne = 8;                  // in a range
constexpr uint64_t kLookUpsAtOnce = uint64_t{1} << 34;  // some ten milliseconds

/// The list of an item.
struct List {
  uint32_t begin;  // of its hashes
  uint32_t size;
  uint32_t ranges;  // of its table, which has one entry more than ranges
  uint32_t bits;    // of a hash, that name its range
};

/// The finalizer of MurmurHash3: one to one.
__device__ inline uint32_t hash_of(uint32_t x) {
  x ^= x >> 16;
  x *= 0x85ebca6bu;
  x ^= x >> 13;
  x *= 0xc2b2ae35u;
  return x ^ x >> 16;
}

__device__ inline uint32_t range_of(const List& list, uint32_t hash) {
  return static_cast<uint32_t>(static_cast<uint64_t>(hash) >> (32 - list.bits));
}

/// Rows may lie in memory that another process can still write to: no item is above the largest of the job.
__global__ void make_keys(const uint32_t* tids, const uint32_t* items, size_t rows, uint32_t max_item, uint64_t* keys) {
  for (size_t i = blockIdx.x * size_t{kThreads} + threadIdx.x; i < rows; i += size_t{gridDim.x} * kThreads)
    keys[i] = static_cast<uint64_t>(min(items[i], max_item)) << 32 | hash_of(tids[i]);
}

/// Takes sorted keys apart. @param begin, size  [items] of each list; sizes are 0 before
__global__ void split_keys(const uint64_t* keys, uint32_t rows, uint32_t* hashes, uint32_t* begin, uint32_t* size) {
  const uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= rows) return;
  const auto item = static_cast<uint32_t>(keys[i] >> 32);
  hashes[i] = static_cast<uint32_t>(keys[i]);
  if (i == 0 || keys[i - 1] >> 32 != item) begin[item] = i;
  atomicAdd(size + item, 1);
}

/// Writes where the ranges between a hash and the one before it begin; behind the last one, the end of the list.
__global__ void find_ranges(const uint64_t* keys, uint32_t rows, const List* lists, uint32_t* ranges) {
  const uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= rows) return;
  const List list = lists[keys[i] >> 32];
  uint32_t* const own = ranges + list.ranges;
  const uint32_t range = range_of(list, static_cast<uint32_t>(keys[i]));
  const bool is_first = i == list.begin;
  for (uint32_t r = is_first ? 0 : range_of(list, static_cast<uint32_t>(keys[i - 1])) + 1; r <= range; ++r) own[r] = i;
  if (i + 1 < list.begin + list.size) return;
  for (uint32_t r = range + 1; r <= 1u << list.bits; ++r) own[r] = i + 1;
}

/// Is a hash in [at, end)? Most ranges are short. Those of tids that were chosen for it may be long.
__device__ inline bool has(const uint32_t* hashes, uint32_t at, uint32_t end, uint32_t hash) {
  for (uint32_t step = 0; at < end && hashes[at] < hash; ++step, ++at) {
    if (step < kStepsOneByOne) continue;
    uint32_t last = end;
    while (at < last) {
      const uint32_t middle = at + (last - at) / 2;
      if (hashes[middle] < hash)
        at = middle + 1;
      else
        last = middle;
    }
    break;
  }
  return at < end && hashes[at] == hash;
}

/// @tparam kLanes  threads that count a pair together
template <uint32_t kLanes>
__global__ void __launch_bounds__(kThreads)
    count_list_pairs(const List* lists, uint32_t items, const uint32_t* hashes, const uint32_t* ranges, const uint32_t* a,
                     const uint32_t* b, size_t size, uint32_t* counts) {
  constexpr uint32_t kPairsABlock = kThreads / kLanes;
  const uint32_t lane = threadIdx.x % kLanes;
  // Whole warps take part to the end, because they add up their counts.
  for (size_t first = blockIdx.x * size_t{kPairsABlock}; first < size; first += size_t{gridDim.x} * kPairsABlock) {
    const size_t pair = first + threadIdx.x / kLanes;
    uint32_t count = 0;
    if (pair < size) {
      List small = lists[min(a[pair], items - 1)];
      List large = lists[min(b[pair], items - 1)];
      if (small.size > large.size) {
        const List other = small;
        small = large;
        large = other;
      }
      const uint32_t* const own = ranges + large.ranges;
      for (uint32_t i = lane; i < small.size; i += kLanes) {
        const uint32_t hash = hashes[small.begin + i];
        const uint32_t range = range_of(large, hash);
        const uint32_t end = own[range + 1];
        count += has(hashes, own[range], end, hash);
      }
    }
    for (uint32_t offset = kLanes / 2; offset > 0; offset /= 2) count += __shfl_down_sync(0xffffffffu, count, offset);
    if (lane == 0 && pair < size) counts[pair] = count;
  }
}

unsigned blocks_for(uint64_t size) { return static_cast<unsigned>((size + kThreads - 1) / kThreads); }

/// The bits of a hash that name the ranges of a list.
uint32_t range_bits(uint32_t size) {
  uint32_t bits = 0;
  while (size >> bits > kHashesARange) ++bits;
  return bits;
}

class ListForm final : public PairForm {
 public:
  ListForm(const DevicePairJob& job, Lane& lane) : budget_(lane.budget), items_(job.items), keys_(lane.budget, job.rows) {
    if (job.rows >= UINT32_MAX) throw DeviceError{AcceleratorStatus::kDeclined, "too many rows for method lists"};
  }

  void add(const uint32_t* tids, const uint32_t* items, size_t rows, cudaStream_t stream) override {
    require_room(keys_.size(), rows_, rows);
    const auto blocks = static_cast<unsigned>(std::min<size_t>(blocks_for(rows), 4096));
    make_keys<<<blocks, kThreads, 0, stream>>>(tids, items, rows, items_ - 1, keys_.data() + rows_);
    check_launch("make_keys");
    rows_ += rows;
  }

  void build(uint32_t* supports, Lane& lane) override {
    const cudaStream_t stream = lane.stream;
    const uint32_t size = sort_unique(keys_, rows_, 32 + bits_for(items_), budget_, lane);
    hashes_ = DeviceArray<uint32_t>(budget_, size);
    DeviceArray<uint32_t> places(budget_, 2 * size_t{items_});  // begins, then sizes
    check(cudaMemsetAsync(places.data(), 0, places.bytes(), stream), "clearing lists");
    if (size > 0) {
      split_keys<<<blocks_for(size), kThreads, 0, stream>>>(keys_.data(), size, hashes_.data(), places.data(),
                                                            places.data() + items_);
      check_launch("split_keys");
    }
    // Another process may be able to write to `supports`: what sizes depend on is read from memory of this one.
    std::vector<uint32_t> own(2 * size_t{items_});
    check(cudaMemcpyAsync(own.data(), places.data(), places.bytes(), cudaMemcpyDeviceToHost, stream), "reading supports");
    lane.wait();
    std::copy(own.begin() + items_, own.end(), supports);
    std::vector<List> lists(items_);
    uint64_t ranges = 0;
    for (uint32_t item = 0; item < items_; ++item) {
      const uint32_t rows = own[size_t{items_} + item];
      longest_ = std::max(longest_, rows);
      lists[item] = {own[item], rows, static_cast<uint32_t>(ranges), range_bits(rows)};
      if (rows > 0) ranges += (uint64_t{1} << lists[item].bits) + 1;
    }
    if (ranges > UINT32_MAX) throw DeviceError{AcceleratorStatus::kDeclined, "too many lists for method lists"};
    lists_ = DeviceArray<List>(budget_, items_);
    ranges_ = DeviceArray<uint32_t>(budget_, ranges);
    check(cudaMemcpyAsync(lists_.data(), lists.data(), lists_.bytes(), cudaMemcpyHostToDevice, stream), "copying lists");
    if (size > 0) {
      find_ranges<<<blocks_for(size), kThreads, 0, stream>>>(keys_.data(), size, lists_.data(), ranges_.data());
      check_launch("find_ranges");
    }
    lane.wait();
    keys_.reset();
    has_long_lists_ = size / items_ >= kLongList || longest_ >= kVeryLongList;
  }

  void count(const WantedOnDevice&, const FoundPairs&, Lane&) override {
    throw DeviceError{AcceleratorStatus::kDeclined, "method lists counts given pairs only"};
  }

  size_t pairs_at_once() const override {
    return std::clamp<uint64_t>(kLookUpsAtOnce / std::max(longest_, 1u), 128, PairForm::pairs_at_once());
  }

  void count_list(const uint32_t* a, const uint32_t* b, size_t size, uint32_t* counts, cudaStream_t stream) override {
    if (has_long_lists_)
      launch<32>(a, b, size, counts, stream);
    else
      launch<8>(a, b, size, counts, stream);
  }

 private:
  template <uint32_t kLanes>
  void launch(const uint32_t* a, const uint32_t* b, size_t size, uint32_t* counts, cudaStream_t stream) const {
    const auto blocks = static_cast<unsigned>(std::min<size_t>((size * kLanes + kThreads - 1) / kThreads, 1 << 16));
    count_list_pairs<kLanes>
        <<<blocks, kThreads, 0, stream>>>(lists_.data(), items_, hashes_.data(), ranges_.data(), a, b, size, counts);
    check_launch("count_list_pairs");
  }

  DeviceBudget& budget_;
  uint32_t items_;
  uint64_t rows_ = 0;
  uint32_t longest_ = 0;
  bool has_long_lists_ = false;
  DeviceArray<uint64_t> keys_;
  DeviceArray<uint32_t> hashes_;
  DeviceArray<uint32_t> ranges_;
  DeviceArray<List> lists_;
};

}  // namespace

std::unique_ptr<PairForm> make_list_form(const DevicePairJob& job, Lane& lane) {
  return std::make_unique<ListForm>(job, lane);
}

}  // namespace batmap::cuda
