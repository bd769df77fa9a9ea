// The form of method `lists`: the tids of each item, in the order of a hash (list_counts.h). Cost: a sort of the rows.
// Source: ours.
#include <algorithm>
#include <vector>

#include "cuda/list_counts.h"
#include "cuda/sorted_keys.h"

namespace batmap::cuda {

namespace {

constexpr int kThreads = 256;
constexpr uint32_t kHashesARange = 2;                   // of a list, in the mean
constexpr uint32_t kLongList = 64;                      // hashes; lists of this mean are long
constexpr uint32_t kVeryLongList = 1 << 20;             // all are, if there is one
constexpr uint64_t kLookUpsAtOnce = uint64_t{1} << 34;  // some ten milliseconds

/// The finalizer of MurmurHash3: one to one.
__device__ inline uint32_t hash_of(uint32_t x) {
  x ^= x >> 16;
  x *= 0x85ebca6bu;
  x ^= x >> 13;
  x *= 0xc2b2ae35u;
  return x ^ x >> 16;
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
  const uint32_t range = list.range_of(static_cast<uint32_t>(keys[i]));
  const bool is_first = i == list.begin;
  for (uint32_t r = is_first ? 0 : list.range_of(static_cast<uint32_t>(keys[i - 1])) + 1; r <= range; ++r) own[r] = i;
  if (i + 1 < list.begin + list.size) return;
  for (uint32_t r = range + 1; r <= 1u << list.bits; ++r) own[r] = i + 1;
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
    multiprocessors_ = multiprocessor_count();
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
    return std::clamp<uint64_t>(kLookUpsAtOnce / std::max(longest_, 1u), kFewestPairs, kMostPairs);
  }

  void count_list(const uint32_t* a, const uint32_t* b, size_t size, bool has_runs, uint32_t* counts,
                  cudaStream_t stream) override {
    const Lists lists{lists_.data(), items_, hashes_.data(), ranges_.data()};
    if (!has_long_lists_)
      count_short_lists(lists, a, b, size, counts, stream);
    else if (has_runs)
      count_runs_of_lists(lists, a, b, size, counts, multiprocessors_, stream);
    else
      count_long_lists(lists, a, b, size, counts, stream);
  }

 private:
  DeviceBudget& budget_;
  uint32_t items_;
  uint32_t multiprocessors_ = 1;
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
