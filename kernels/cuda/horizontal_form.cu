// The form of method `horizontal`: occurrences sorted by transaction and item, without duplicates; and for every
// occurrence of a leading item, item by item, the range of its partners in that transaction. A thread block takes
// one item at a time and counts its partners in shared memory, so that increments stay on the multiprocessor and no
// matrix of counts exists. Columns that do not fit there take several passes. Cost: two sorts of the occurrences;
// one increment a pair instance. Source: ours, the item-by-item walk of pairs/counters/horizontal_counter.cpp.
#include <algorithm>
#include <vector>

#include "cuda/sorted_keys.h"

namespace batmap::cuda {

namespace {

constexpr int kThreads = 256;
constexpr uint32_t kColumnsAPass = 48 * 1024;  // counters: 192 KiB of shared memory, if a device has it
// Increments that are queued between two looks at the stop token.
constexpr uint64_t kIncrementsAtOnce = uint64_t{1} << 30;

struct Tail {
  uint32_t begin;
  uint32_t end;
};

/// Rows may lie in memory that another process can still write to: no key is above the largest of the job.
__global__ void make_keys(const uint32_t* tids, const uint32_t* items, size_t rows, uint32_t max_tid, uint32_t max_item,
                          int item_bits, uint64_t* keys) {
  for (size_t i = blockIdx.x * size_t{kThreads} + threadIdx.x; i < rows; i += size_t{gridDim.x} * kThreads)
    keys[i] = static_cast<uint64_t>(min(tids[i], max_tid)) << item_bits | min(items[i], max_item);
}

/// Takes sorted keys apart. @param end_of_tid  [tid slots] end of each transaction
__global__ void split_keys(const uint64_t* keys, uint32_t size, int item_bits, uint32_t* items, uint32_t* indexes,
                           uint32_t* end_of_tid, uint32_t* supports) {
  const uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= size) return;
  const uint64_t key = keys[i];
  const auto item = static_cast<uint32_t>(key & ((uint64_t{1} << item_bits) - 1));
  items[i] = item;
  indexes[i] = i;
  if (i + 1 == size || keys[i + 1] >> item_bits != key >> item_bits) end_of_tid[key >> item_bits] = i + 1;
  atomicAdd(supports + item, 1);
}

/// @param indexes  indexes of the occurrences in `keys`, item by item
__global__ void find_tails(const uint64_t* keys, const uint32_t* indexes, uint32_t size, int item_bits,
                           const uint32_t* end_of_tid, const uint32_t* items, uint32_t first_column,
                           const uint32_t* tail_items, Tail* tails, unsigned long long* increments) {
  const uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= size) return;
  const uint32_t end = end_of_tid[keys[indexes[i]] >> item_bits];
  uint32_t begin = indexes[i] + 1;
  if (first_column > 0) {  // find the first column of a rectangle: items of a transaction ascend
    uint32_t length = end - begin;
    while (length > 0) {
      const uint32_t half = length / 2;
      if (items[begin + half] < first_column) {
        begin += half + 1;
        length -= half + 1;
      } else {
        length = half;
      }
    }
  }
  tails[i] = {begin, end};
  atomicAdd(increments + tail_items[i], static_cast<unsigned long long>(end - begin));
}

struct HorizontalJob {
  const uint32_t* items;        // by transaction
  const Tail* tails;            // by item
  const uint32_t* tails_begin;  // [items + 1]
  uint32_t* next_item;          // the next item that a thread block takes
  uint32_t end_item;
  uint32_t pass_column;  // columns [pass_column, pass_column + pass_columns)
  uint32_t pass_columns;
  int lanes;  // threads that walk one tail together: a power of two
  WantedOnDevice wanted;
  FoundPairs found;
};

__global__ void __launch_bounds__(kThreads) count_items(const HorizontalJob job) {
  extern __shared__ uint32_t counters[];
  __shared__ uint32_t taken;
  for (uint32_t c = threadIdx.x; c < job.pass_columns; c += kThreads) counters[c] = 0;
  for (;;) {
    if (threadIdx.x == 0) taken = atomicAdd(job.next_item, 1);
    __syncthreads();
    const uint32_t item = taken;
    if (item >= job.end_item) return;
    const uint32_t first = job.tails_begin[item];
    const uint32_t count = job.tails_begin[item + 1] - first;
    const uint32_t lane = threadIdx.x % job.lanes;
    if (count >= job.wanted.threshold) {
      for (uint32_t k = threadIdx.x / job.lanes; k < count; k += kThreads / job.lanes) {
        const Tail tail = job.tails[first + k];
        for (uint32_t at = tail.begin + lane; at < tail.end; at += job.lanes) {
          const uint32_t column = job.items[at] - job.pass_column;
          if (column < job.pass_columns) atomicAdd(counters + column, 1);
        }
      }
    }
    __syncthreads();
    if (count >= job.wanted.threshold) {
      for (uint32_t from = 0; from < job.pass_columns; from += kThreads) {
        const uint32_t c = from + threadIdx.x;
        uint32_t support = 0;
        if (c < job.pass_columns) {
          support = counters[c];
          if (support > 0) counters[c] = 0;
        }
        append_pair(job.found, support >= job.wanted.threshold, item, job.pass_column + c, support);
      }
    }
    __syncthreads();
  }
}

unsigned blocks_for(uint64_t size) { return static_cast<unsigned>((size + kThreads - 1) / kThreads); }

class HorizontalForm final : public PairForm {
 public:
  HorizontalForm(const DevicePairJob& job, Lane& lane)
      : budget_(lane.budget),
        items_(job.items),
        leading_(job.leading),
        first_column_(job.first_column),
        tid_slots_(job.tid_slots),
        item_bits_(bits_for(job.items)),
        keys_(lane.budget, job.rows) {
    if (job.rows >= UINT32_MAX) throw DeviceError{AcceleratorStatus::kDeclined, "too many rows for method horizontal"};
    int device = 0;
    check(cudaGetDevice(&device), "asking for the current device");
    multiprocessors_ = multiprocessor_count();
    check(cudaDeviceGetAttribute(&shared_bytes_, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
          "asking for shared memory");
  }

  void add(const uint32_t* tids, const uint32_t* items, size_t rows, cudaStream_t stream) override {
    require_room(keys_.size(), rows_, rows);
    const auto blocks = static_cast<unsigned>(std::min<size_t>(blocks_for(rows), 4096));
    make_keys<<<blocks, kThreads, 0, stream>>>(tids, items, rows, tid_slots_ - 1, items_ - 1, item_bits_,
                                               keys_.data() + rows_);
    check_launch("make_keys");
    rows_ += rows;
  }

  void build(uint32_t* supports, Lane& lane) override {
    const cudaStream_t stream = lane.stream;
    const uint32_t size = sort_unique(keys_, rows_, item_bits_ + bits_for(tid_slots_), budget_, lane);
    // Find what follows each occurrence, item by item.
    by_transaction_ = DeviceArray<uint32_t>(budget_, size);
    DeviceArray<uint32_t> counted(budget_, items_);
    check(cudaMemsetAsync(counted.data(), 0, counted.bytes(), stream), "clearing supports");
    DeviceArray<uint32_t> item_keys(budget_, size);
    DeviceArray<uint32_t> indexes(budget_, size);
    DeviceArray<uint32_t> other_indexes(budget_, size);
    DeviceArray<uint32_t> end_of_tid(budget_, tid_slots_);
    if (size > 0) {
      split_keys<<<blocks_for(size), kThreads, 0, stream>>>(keys_.data(), size, item_bits_, by_transaction_.data(),
                                                            indexes.data(), end_of_tid.data(), counted.data());
      check_launch("split_keys");
      const auto sort = [&](void* temp, size_t& bytes) {
        return cub::DeviceRadixSort::SortPairs(temp, bytes, by_transaction_.data(), item_keys.data(), indexes.data(),
                                               other_indexes.data(), static_cast<int64_t>(size), 0, item_bits_, stream);
      };
      with_scratch(lane, sort, "sorting occurrences");
    }
    // Another process may be able to write to `supports`: what sizes depend on is read from memory of this one.
    std::vector<uint32_t> own(items_);
    check(cudaMemcpyAsync(own.data(), counted.data(), own.size() * sizeof(uint32_t), cudaMemcpyDeviceToHost, stream),
          "reading supports");
    lane.wait();
    std::copy(own.begin(), own.end(), supports);
    tails_begin_.resize(size_t{items_} + 1);
    uint32_t begin = 0;
    for (uint32_t item = 0; item < items_; ++item) {
      tails_begin_[item] = begin;
      begin += own[item];
    }
    tails_begin_[items_] = begin;
    const uint32_t tails = tails_begin_[leading_];
    tails_ = DeviceArray<Tail>(budget_, tails);
    begin_on_device_ = DeviceArray<uint32_t>(budget_, tails_begin_.size());
    increments_.resize(leading_);
    DeviceArray<unsigned long long> increments(budget_, leading_);
    check(cudaMemsetAsync(increments.data(), 0, increments.bytes(), stream), "clearing increments");
    check(cudaMemcpyAsync(begin_on_device_.data(), tails_begin_.data(), begin_on_device_.bytes(), cudaMemcpyHostToDevice,
                          stream),
          "copying offsets");
    if (tails > 0) {
      find_tails<<<blocks_for(tails), kThreads, 0, stream>>>(keys_.data(), other_indexes.data(), tails, item_bits_,
                                                             end_of_tid.data(), by_transaction_.data(), first_column_,
                                                             item_keys.data(), tails_.data(), increments.data());
      check_launch("find_tails");
    }
    check(cudaMemcpyAsync(increments_.data(), increments.data(), increments.bytes(), cudaMemcpyDeviceToHost, stream),
          "reading increments");
    lane.wait();
    keys_.reset();
    const double average = tid_slots_ == 0 ? 1 : static_cast<double>(size) / tid_slots_ / 2;
    while (lanes_ < 32 && lanes_ < average) lanes_ *= 2;
  }

  void count(const WantedOnDevice& wanted, const FoundPairs& found, Lane& lane) override {
    auto* const next = static_cast<uint32_t*>(lane.scratch(sizeof(uint32_t)));
    const uint32_t columns = items_ - first_column_;
    const auto room = static_cast<uint32_t>(shared_bytes_) / 4 - 1024;
    const uint32_t passes = (columns + std::min(kColumnsAPass, room) - 1) / std::min(kColumnsAPass, room);
    const uint32_t pass_columns = (columns + passes - 1) / passes;
    const int shared = static_cast<int>(pass_columns * sizeof(uint32_t));
    allow_shared_memory<count_items>();
    int blocks_each = 0;
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks_each, count_items, kThreads, static_cast<size_t>(shared)),
          "asking for occupancy");
    for (uint32_t from = wanted.first_row; from < wanted.last_row;) {
      // Take as many items as some milliseconds allow.
      uint32_t to = from;
      uint64_t increments = 0;
      while (to < wanted.last_row && (to == from || increments < kIncrementsAtOnce)) {
        increments += increments_[to] + pass_columns;
        ++to;
      }
      for (uint32_t pass = 0; pass < passes; ++pass) {
        check(cudaMemcpyAsync(next, &from, sizeof from, cudaMemcpyHostToDevice, lane.stream), "copying an offset");
        const uint32_t column = first_column_ + pass * pass_columns;
        const HorizontalJob job{by_transaction_.data(),
                                tails_.data(),
                                begin_on_device_.data(),
                                next,
                                to,
                                column,
                                std::min(pass_columns, items_ - column),
                                lanes_,
                                wanted,
                                found};
        const auto blocks = static_cast<unsigned>(std::min<uint64_t>(to - from, uint64_t{multiprocessors_} * blocks_each));
        count_items<<<blocks, kThreads, static_cast<size_t>(shared), lane.stream>>>(job);
        check_launch("count_items");
        lane.wait();
      }
      from = to;
    }
  }

  void count_list(const uint32_t*, const uint32_t*, size_t, bool, uint32_t*, cudaStream_t) override {
    throw DeviceError{AcceleratorStatus::kDeclined, "method horizontal counts all pairs or none"};
  }

 private:
  DeviceBudget& budget_;
  uint32_t items_;
  uint32_t leading_;
  uint32_t first_column_;
  uint32_t tid_slots_;
  int item_bits_;
  uint32_t multiprocessors_ = 1;
  int shared_bytes_ = 48 << 10;
  int lanes_ = 1;
  uint64_t rows_ = 0;
  DeviceArray<uint64_t> keys_;
  DeviceArray<uint32_t> by_transaction_;  // items, transaction by transaction
  DeviceArray<Tail> tails_;
  DeviceArray<uint32_t> begin_on_device_;
  std::vector<unsigned long long> increments_;  // [leading] increments of each item
  std::vector<uint32_t> tails_begin_;
};

}  // namespace

std::unique_ptr<PairForm> make_horizontal_form(const DevicePairJob& job, Lane& lane) {
  return std::make_unique<HorizontalForm>(job, lane);
}

}  // namespace batmap::cuda
