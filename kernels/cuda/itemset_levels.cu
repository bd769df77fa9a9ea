// Joins, prunes, counts and packs. See itemset_levels.h.
#include "cuda/itemset_levels.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <cub/device/device_select.cuh>

#include "cuda/found_pairs.h"
#include "cuda/guarded.h"

namespace batmap {

using namespace cuda;

namespace {

using RowLayout = DeviceItemsets::RowLayout;

constexpr int kThreads = 256;
constexpr int kTogether = 8;  // candidates that are counted by one group of threads
constexpr uint32_t kPruned = UINT32_MAX;
constexpr uint32_t kMaxAtOnce = uint32_t{1} << 22;  // candidates
constexpr uint32_t kMinAtOnce = 4096;
// Bytes of rows that are read or written between two looks at the stop token: about ten milliseconds.
constexpr double kBytesAtOnce = 2e10;
constexpr uint32_t kReadAtOnce = uint32_t{1} << 20;  // itemsets that are read back between two looks at the stop token
constexpr uint32_t kFew = 4096;  // itemsets that are copied back with their number, before the number is known
static_assert((kFew + 1) * sizeof(JoinedItemset) <= PinnedBlock::kBytes);
constexpr uint32_t kWideRow = 1024;  // vectors of a row: from here on a block counts a group, below it a warp
constexpr uint32_t kMinInSlice = 8;  // vectors of a slice for each thread
constexpr uint32_t kBlocksEach = 8;  // blocks for each multiprocessor; with fewer, rows are cut into slices

struct IsCandidate {
  __device__ bool operator()(const JoinedItemset& candidate) const { return candidate.parent != kPruned; }
};

struct IsFrequent {
  uint32_t min_count;
  __device__ bool operator()(const JoinedItemset& candidate) const { return candidate.support >= min_count; }
};

struct HasRow {
  uint32_t fold_support;
  __device__ bool operator()(const JoinedItemset& kept) const { return kept.support != fold_support; }
};

/// Makes candidates [from, from + size) of a level. @param begin  [parents + 1]
__global__ void join(const uint64_t* begin, uint32_t first, uint32_t last, uint64_t from, uint32_t size,
                     JoinedItemset* candidates) {
  const uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= size) return;
  const uint64_t number = from + i;
  uint32_t low = first;  // the last parent whose candidates begin at `number` or before it
  uint32_t high = last;
  while (high - low > 1) {
    const uint32_t middle = low + (high - low) / 2;
    if (begin[middle] <= number)
      low = middle;
    else
      high = middle;
  }
  candidates[i] = {low, low + 1 + static_cast<uint32_t>(number - begin[low]), 0};
}

__device__ bool is_in_level(const uint64_t* bitmaps, uint32_t words, uint32_t size, const uint64_t* parent, uint32_t without,
                            uint32_t with) {
  // The lexicographical order of itemsets of one length is the descending order of their bitmaps.
  uint32_t low = 0;
  uint32_t high = size;
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    const uint64_t* const bitmap = bitmaps + static_cast<uint64_t>(middle) * words;
    uint64_t wanted = 0;
    uint64_t other = 0;
    for (uint32_t w = 0; w < words && wanted == other; ++w) {
      wanted = parent[w];
      if (w == without / 64) wanted &= ~(uint64_t{1} << (63 - without % 64));
      if (w == with / 64) wanted |= uint64_t{1} << (63 - with % 64);
      other = bitmap[w];
    }
    if (wanted == other) return true;
    if (other > wanted)
      low = middle + 1;
    else
      high = middle;
  }
  return false;
}

/// Marks candidates that have an infrequent subset. The two subsets that lack one of the last two items are the parents.
__global__ void prune(JoinedItemset* candidates, uint32_t size, const uint64_t* bitmaps, uint32_t words, uint32_t level_size,
                      const uint32_t* items, uint32_t leading) {
  const uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= size) return;
  const JoinedItemset candidate = candidates[i];
  const uint64_t* const parent = bitmaps + static_cast<uint64_t>(candidate.parent) * words;
  const uint32_t last = items[candidate.parent];
  const uint32_t with = items[candidate.other];
  uint32_t first = 0;
  uint32_t index = 0;  // in the parent
  for (uint32_t w = 0; w <= last / 64; ++w) {
    for (uint64_t rest = parent[w]; rest != 0; ++index) {
      const auto bit = static_cast<uint32_t>(__clzll(static_cast<long long>(rest)));
      rest &= ~(uint64_t{1} << (63 - bit));
      const uint32_t item = w * 64 + bit;
      if (index == 0) {
        first = item;
        continue;
      }
      // A subset without the first item begins with the second. It was counted only if the second item leads.
      const bool first_may_go = index == 1 && item < leading;
      if ((first_may_go && !is_in_level(bitmaps, words, level_size, parent, first, with)) ||
          (item != last && !is_in_level(bitmaps, words, level_size, parent, item, with))) {
        candidates[i].parent = kPruned;
        return;
      }
    }
  }
}

__device__ uint32_t common_bits(const uint4& x, const uint4& y) {
  return __popc(x.x & y.x) + __popc(x.y & y.y) + __popc(x.z & y.z) + __popc(x.w & y.w);
}

/// Counts candidates, eight by a group of threads; each blockIdx.y counts one slice of the rows. With several
/// slices, supports must be zero before.
template <int kGroup>
__global__ void __launch_bounds__(kThreads) count_candidates(const uint4* rows, const __grid_constant__ RowLayout layout,
                                                             JoinedItemset* candidates, uint32_t size, uint32_t slice) {
  const uint32_t group = (blockIdx.x * kThreads + threadIdx.x) / kGroup;
  const uint64_t first = uint64_t{group} * kTogether;
  if (first >= size) return;
  const uint32_t lane = threadIdx.x % kGroup;
  const uint32_t begin = blockIdx.y * slice;
  const uint32_t end = min(begin + slice, layout.vectors);

  uint32_t parents[kTogether];
  const uint4* others[kTogether];
  bool one_parent = true;
  for (int i = 0; i < kTogether; ++i) {
    const JoinedItemset candidate = candidates[min(first + i, static_cast<uint64_t>(size) - 1)];
    parents[i] = candidate.parent;
    others[i] = rows + static_cast<uint64_t>(candidate.other) * layout.vectors;
    one_parent = one_parent && candidate.parent == parents[0];
  }
  uint32_t supports[kTogether] = {};
  const uint4* const parent = rows + static_cast<uint64_t>(parents[0]) * layout.vectors;
  for (uint32_t p = 0; p < layout.planes; ++p) {
    const uint32_t from = max(begin, layout.plane[p].begin);
    const uint32_t to = min(end, layout.plane[p].end);
    uint32_t counts[kTogether] = {};
    if (one_parent) {
      for (uint32_t v = from + lane; v < to; v += kGroup) {
        const uint4 x = parent[v];
#pragma unroll
        for (int i = 0; i < kTogether; ++i) counts[i] += common_bits(x, others[i][v]);
      }
    } else {
#pragma unroll
      for (int i = 0; i < kTogether; ++i) {
        const uint4* const own = rows + static_cast<uint64_t>(parents[i]) * layout.vectors;
        for (uint32_t v = from + lane; v < to; v += kGroup) counts[i] += common_bits(own[v], others[i][v]);
      }
    }
#pragma unroll
    for (int i = 0; i < kTogether; ++i) supports[i] += counts[i] << layout.plane[p].shift;
  }

  constexpr int kWarps = kGroup / 32;
  __shared__ uint32_t sums[kTogether][kWarps];
#pragma unroll
  for (int i = 0; i < kTogether; ++i) supports[i] = warp_sum(supports[i]);
  if constexpr (kWarps > 1) {
    if (threadIdx.x % 32 == 0)
      for (int i = 0; i < kTogether; ++i) sums[i][threadIdx.x / 32] = supports[i];
    __syncthreads();
    if (lane < kTogether) {
      uint32_t sum = 0;
      for (int warp = 0; warp < kWarps; ++warp) sum += sums[lane][warp];
      if (first + lane < size) {
        uint32_t* const to = &candidates[first + lane].support;
        gridDim.y == 1 ? static_cast<void>(*to = sum) : static_cast<void>(atomicAdd(to, sum));
      }
    }
  } else if (lane == 0) {
    for (int i = 0; i < kTogether && first + i < size; ++i) {
      uint32_t* const to = &candidates[first + i].support;
      gridDim.y == 1 ? static_cast<void>(*to = supports[i]) : static_cast<void>(atomicAdd(to, supports[i]));
    }
  }
}

/// Makes rows [from, to) of a level. @param kept  [to]
template <int kGroup>
__global__ void intersect_rows(const uint4* rows, uint32_t vectors, const JoinedItemset* kept, uint32_t from, uint32_t to,
                               uint4* out) {
  const uint32_t row = from + (blockIdx.x * kThreads + threadIdx.x) / kGroup;
  if (row >= to) return;
  const uint4* const x = rows + static_cast<uint64_t>(kept[row].parent) * vectors;
  const uint4* const y = rows + static_cast<uint64_t>(kept[row].other) * vectors;
  uint4* const both = out + static_cast<uint64_t>(row) * vectors;
  for (uint32_t v = threadIdx.x % kGroup; v < vectors; v += kGroup) {
    const uint4 a = x[v];
    const uint4 b = y[v];
    both[v] = make_uint4(a.x & b.x, a.y & b.y, a.z & b.z, a.w & b.w);
  }
}

__global__ void describe_level(const JoinedItemset* kept, uint32_t size, const uint32_t* items_before,
                               const uint64_t* bitmaps_before, uint32_t words, uint32_t* items, uint64_t* bitmaps) {
  const uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= size) return;
  const JoinedItemset itemset = kept[i];
  const uint32_t item = items_before[itemset.other];
  items[i] = item;
  if (words == 0) return;
  const uint64_t* const before = bitmaps_before + static_cast<uint64_t>(itemset.parent) * words;
  uint64_t* const bitmap = bitmaps + static_cast<uint64_t>(i) * words;
  for (uint32_t w = 0; w < words; ++w) bitmap[w] = before[w];
  bitmap[item / 64] |= uint64_t{1} << (63 - item % 64);
}

__global__ void describe_items(uint32_t size, uint32_t words, uint32_t* items, uint64_t* bitmaps) {
  const uint32_t item = blockIdx.x * kThreads + threadIdx.x;
  if (item >= size) return;
  items[item] = item;
  for (uint32_t w = 0; w < words; ++w) bitmaps[static_cast<uint64_t>(item) * words + w] = 0;
  if (words != 0) bitmaps[static_cast<uint64_t>(item) * words + item / 64] = uint64_t{1} << (63 - item % 64);
}

unsigned blocks_for(uint64_t threads) { return static_cast<unsigned>((threads + kThreads - 1) / kThreads); }

double ms_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

/// How many candidates of a level come before those of each itemset. An itemset is joined with all
/// later ones of the same parent.
std::vector<uint64_t> candidates_before(const std::vector<uint32_t>& parents) {
  const size_t size = parents.size();
  std::vector<uint64_t> begin(size + 1);
  uint64_t sum = 0;
  for (size_t first = 0, last = 0; first < size; first = last) {
    while (last < size && parents[last] == parents[first]) ++last;
    for (size_t index = first; index < last; ++index) {
      begin[index] = sum;
      sum += last - index - 1;
    }
  }
  begin[size] = sum;
  return begin;
}

}  // namespace

DeviceItemsets::DeviceItemsets(const DeviceItemsetJob& job)
    : device_((use_device(job.device), job.device)),
      budget_(job.memory_limit, stream_),
      stop_{job.stop, job.stop_arg},
      bitmap_words_(job.has_bitmaps != 0 ? (job.items + 63) / 64 : 0) {
  if (job.words / 2 >= UINT32_MAX || job.plane_count > 32)
    throw DeviceError{AcceleratorStatus::kDeclined, "rows of more than 500 billion columns"};
  multiprocessors_ = multiprocessor_count();
  layout_.vectors = static_cast<uint32_t>(job.words / 2);
  layout_.planes = job.plane_count;
  for (uint32_t p = 0; p < job.plane_count; ++p) {
    const DevicePlane& plane = job.planes[p];
    layout_.plane[p] = {static_cast<uint32_t>(plane.first / 2), static_cast<uint32_t>((plane.first + plane.words) / 2),
                        plane.shift};
  }
  selected_ = DeviceArray<uint32_t>(budget_, 1);
  Level& items = next_level(job.items);
  items.begin = candidates_before(std::vector<uint32_t>(job.items, 0));
  reserve(items.begin_on_device, items.begin.size());
  reserve(items.rows, size_t{job.items} * layout_.vectors);
  const auto start = std::chrono::steady_clock::now();
  check(cudaMemcpyAsync(items.rows.data(), job.rows, size_t{job.items} * job.words * sizeof(uint64_t),
                        cudaMemcpyHostToDevice, stream_),
        "sending rows");
  check(cudaMemcpyAsync(items.begin_on_device.data(), items.begin.data(), items.begin.size() * sizeof(uint64_t),
                        cudaMemcpyHostToDevice, stream_),
        "sending a level");
  if (job.items > 0) {
    describe_items<<<blocks_for(job.items), kThreads, 0, stream_>>>(job.items, bitmap_words_, items.items.data(),
                                                                    items.bitmaps.data());
    check_launch("describe_items");
  }
  stop_.wait(stream_);
  times_.transfer += ms_since(start);
  ++depth_;
}

DeviceItemsets::~DeviceItemsets() {
  cudaSetDevice(device_);
  cudaStreamSynchronize(stream_);  // nothing may be in flight when its memory is freed
}

void DeviceItemsets::use() {
  use_device(device_);
  stop_.throw_if_requested();
}

/// Makes an array at least so large; its contents are lost. Where memory is short, frees levels that are not in use first.
template <typename T>
void DeviceItemsets::reserve(DeviceArray<T>& array, size_t size) {
  if (array.size() >= size) return;
  array.reset();
  try {
    array = DeviceArray<T>(budget_, size);
  } catch (const DeviceError& error) {
    if (error.status != AcceleratorStatus::kOutOfMemory || levels_.size() <= depth_ + 1) throw;
    levels_.resize(depth_ + 1);
    array = DeviceArray<T>(budget_, size);
  }
}

/// Adds the time of rows that were queued. The stream must have been waited for.
void DeviceItemsets::settle() {
  if (is_timed_) times_.counting += events_[4].since(events_[3]);
  is_timed_ = false;
}

uint32_t DeviceItemsets::candidates_at_once() const {
  const double row_bytes = 16.0 * std::max(layout_.vectors, 1u);
  return static_cast<uint32_t>(std::clamp(kBytesAtOnce / row_bytes, double{kMinAtOnce}, double{kMaxAtOnce}));
}

uint32_t DeviceItemsets::read_count() {
  auto* const count = reinterpret_cast<uint32_t*>(pinned_.data());
  check(cudaMemcpyAsync(count, selected_.data(), sizeof *count, cudaMemcpyDeviceToHost, stream_), "reading a count");
  stop_.wait(stream_);
  return *count;
}

/// Queues a selection of itemsets; selected_ becomes their number.
template <typename Select>
void DeviceItemsets::select(const JoinedItemset* from, uint32_t size, JoinedItemset* to, Select wanted) {
  size_t bytes = 0;
  const auto items = static_cast<int64_t>(size);
  check(cub::DeviceSelect::If(nullptr, bytes, from, to, selected_.data(), items, wanted, stream_), "packing itemsets");
  reserve(scratch_, std::max<size_t>(bytes, 1));
  check(cub::DeviceSelect::If(scratch_.data(), bytes, from, to, selected_.data(), items, wanted, stream_),
        "packing itemsets");
}

/// Queues the counting of candidates. Their supports must be zero.
void DeviceItemsets::count_on_device(const Level& level, JoinedItemset* candidates, uint32_t size) {
  if (size == 0) return;
  const bool is_wide = layout_.vectors >= kWideRow;
  const uint32_t group = is_wide ? kThreads : 32;
  const unsigned blocks = blocks_for((uint64_t{size} + kTogether - 1) / kTogether * group);
  const uint32_t max_slices = std::max(1u, layout_.vectors / (group * kMinInSlice));
  const uint32_t slices = std::min(max_slices, (kBlocksEach * multiprocessors_ + blocks - 1) / blocks);
  const uint32_t slice = std::max(1u, (layout_.vectors + slices - 1) / slices);
  const dim3 grid(blocks, slices);
  if (is_wide)
    count_candidates<kThreads><<<grid, kThreads, 0, stream_>>>(level.rows.data(), layout_, candidates, size, slice);
  else
    count_candidates<32><<<grid, kThreads, 0, stream_>>>(level.rows.data(), layout_, candidates, size, slice);
  check_launch("count_candidates");
}

/// Prepares the level above the top, without rows. It becomes the top when depth_ grows.
DeviceItemsets::Level& DeviceItemsets::next_level(uint32_t size) {
  if (levels_.size() == depth_) levels_.emplace_back();
  Level& level = levels_[depth_];
  level.size = size;
  level.begin.clear();
  reserve(level.items, size);
  reserve(level.bitmaps, size_t{size} * bitmap_words_);
  return level;
}

/// Queues the making of rows, in pieces. @param kept  [to.size] on the device
void DeviceItemsets::make_rows(const Level& from, const JoinedItemset* kept, Level& to) {
  reserve(to.rows, size_t{to.size} * layout_.vectors);
  const bool is_wide = layout_.vectors >= kWideRow;
  const uint32_t group = is_wide ? kThreads : 32;
  const uint32_t at_once = candidates_at_once();
  for (uint32_t first = 0; first < to.size; first += std::min(at_once, to.size - first)) {
    if (first > 0) stop_.wait(stream_);
    const uint32_t last = first + std::min(at_once, to.size - first);
    const unsigned blocks = blocks_for(uint64_t{last - first} * group);
    if (is_wide)
      intersect_rows<kThreads>
          <<<blocks, kThreads, 0, stream_>>>(from.rows.data(), layout_.vectors, kept, first, last, to.rows.data());
    else
      intersect_rows<32>
          <<<blocks, kThreads, 0, stream_>>>(from.rows.data(), layout_.vectors, kept, first, last, to.rows.data());
    check_launch("intersect_rows");
  }
}

uint64_t DeviceItemsets::extend(const DeviceExtension& step, const DeviceItemsetSink& sink) {
  use();
  const size_t below = depth_ - 1;  // levels_ may grow
  const uint64_t first = levels_[below].begin[step.first];
  const uint64_t last = levels_[below].begin[step.last];
  auto at_once = static_cast<uint32_t>(std::min<uint64_t>(last - first, candidates_at_once()));
  if (at_once > kMinAtOnce) {  // candidates in flight leave most of the memory to rows
    const uint64_t some = room() / (16 * sizeof(JoinedItemset));
    at_once = std::min(at_once, std::max(kMinAtOnce, static_cast<uint32_t>(std::min<uint64_t>(some, kMaxAtOnce))));
  }
  reserve(candidates_[0], at_once);
  reserve(candidates_[1], at_once);
  const bool is_short = last - first <= kFew;
  uint64_t counted = 0;
  uint64_t found = 0;
  for (uint64_t from = first; from < last; from += at_once) {
    const Level& level = levels_[below];
    auto size = static_cast<uint32_t>(std::min<uint64_t>(at_once, last - from));
    events_[0].record(stream_);
    join<<<blocks_for(size), kThreads, 0, stream_>>>(level.begin_on_device.data(), step.first, step.last, from, size,
                                                     candidates_[0].data());
    check_launch("join");
    JoinedItemset* candidates = candidates_[0].data();
    if (step.prune != 0 && bitmap_words_ != 0) {
      prune<<<blocks_for(size), kThreads, 0, stream_>>>(candidates, size, level.bitmaps.data(), bitmap_words_, level.size,
                                                        level.items.data(), step.leading);
      check_launch("prune");
      select(candidates, size, candidates_[1].data(), IsCandidate{});
      size = read_count();
      candidates = candidates_[1].data();
    }
    events_[1].record(stream_);
    count_on_device(level, candidates, size);
    if (found + size > kept_.size()) {
      DeviceArray<JoinedItemset> larger(budget_, std::max<size_t>(found + size, 2 * kept_.size()));
      if (found > 0)
        check(cudaMemcpyAsync(larger.data(), kept_.data(), found * sizeof(JoinedItemset), cudaMemcpyDeviceToDevice, stream_),
              "moving itemsets");
      stop_.wait(stream_);
      kept_ = std::move(larger);
    }
    counted += size;
    if (size > 0) {
      select(candidates, size, kept_.data() + found, IsFrequent{step.min_count});
      events_[2].record(stream_);
      if (is_short)
        check(cudaMemcpyAsync(few(), kept_.data(), size * sizeof(JoinedItemset), cudaMemcpyDeviceToHost, stream_),
              "reading itemsets");
      found += read_count();
    } else {
      events_[2].record(stream_);
      stop_.wait(stream_);
    }
    settle();
    times_.candidates += events_[1].since(events_[0]);
    times_.counting += events_[2].since(events_[1]);
  }
  if (found >= UINT32_MAX) throw DeviceError{AcceleratorStatus::kDeclined, "more than 4 billion itemsets in one level"};

  JoinedItemset* const out = sink.room(sink.arg, found);
  if (out == nullptr && found > 0) throw DeviceError{AcceleratorStatus::kOutOfMemory, "no room for the itemsets"};
  const auto start = std::chrono::steady_clock::now();
  if (is_short) {
    std::copy_n(few(), found, out);
  } else {
    for (uint64_t from = 0; from < found; from += kReadAtOnce) {
      const uint64_t now = std::min<uint64_t>(found - from, kReadAtOnce);
      check(cudaMemcpyAsync(out + from, kept_.data() + from, now * sizeof(JoinedItemset), cudaMemcpyDeviceToHost, stream_),
            "reading itemsets");
      stop_.wait(stream_);
    }
  }
  times_.transfer += ms_since(start);
  if (step.push == 0) return counted;

  // The next join needs only the indexes of the parents. Rows are made only if something will be joined.
  std::vector<uint32_t> parents;
  for (uint64_t i = 0; i < found; ++i) {
    if (i % kReadAtOnce == 0) stop_.throw_if_requested();
    if (out[i].support != step.fold_support) parents.push_back(out[i].parent);
  }
  std::vector<uint64_t> begin = candidates_before(parents);
  const auto size = static_cast<uint32_t>(parents.size());
  events_[3].record(stream_);
  const JoinedItemset* kept = kept_.data();
  if (size != found) {
    reserve(candidates_[1], found);
    select(kept, static_cast<uint32_t>(found), candidates_[1].data(), HasRow{step.fold_support});
    kept = candidates_[1].data();
  }
  Level& to = next_level(size);
  const Level& from = levels_[below];
  if (begin.back() > 0) {
    reserve(to.begin_on_device, begin.size());
    check(cudaMemcpyAsync(to.begin_on_device.data(), begin.data(), begin.size() * sizeof(uint64_t), cudaMemcpyHostToDevice,
                          stream_),
          "sending a level");
    describe_level<<<blocks_for(size), kThreads, 0, stream_>>>(kept, size, from.items.data(), from.bitmaps.data(),
                                                               bitmap_words_, to.items.data(), to.bitmaps.data());
    check_launch("describe_level");
    make_rows(from, kept, to);
    events_[4].record(stream_);
    is_timed_ = true;
  }
  to.begin = std::move(begin);
  ++depth_;
  return counted;
}

void DeviceItemsets::count(JoinedItemset* candidates, size_t size) {
  use();
  const uint32_t max_now = candidates_at_once();
  for (size_t from = 0; from < size; from += max_now) {
    const auto now = static_cast<uint32_t>(std::min<size_t>(max_now, size - from));
    const size_t bytes = now * sizeof(JoinedItemset);
    reserve(candidates_[0], now);
    const auto start = std::chrono::steady_clock::now();
    for (size_t i = from; i < from + now; ++i) candidates[i].support = 0;
    check(cudaMemcpyAsync(candidates_[0].data(), candidates + from, bytes, cudaMemcpyHostToDevice, stream_),
          "sending candidates");
    events_[0].record(stream_);
    count_on_device(top(), candidates_[0].data(), now);
    events_[1].record(stream_);
    check(cudaMemcpyAsync(candidates + from, candidates_[0].data(), bytes, cudaMemcpyDeviceToHost, stream_),
          "reading supports");
    stop_.wait(stream_);
    const double ms = events_[1].since(events_[0]);
    times_.counting += ms;
    times_.transfer += std::max(0.0, ms_since(start) - ms);
  }
}

void DeviceItemsets::push(const JoinedItemset* kept, size_t size) {
  use();
  if (kept_.size() < size) {
    kept_.reset();
    kept_ = DeviceArray<JoinedItemset>(budget_, size);
  }
  const auto start = std::chrono::steady_clock::now();
  if (size > 0)
    check(cudaMemcpyAsync(kept_.data(), kept, size * sizeof(JoinedItemset), cudaMemcpyHostToDevice, stream_),
          "sending itemsets");
  stop_.wait(stream_);
  times_.transfer += ms_since(start);
  const size_t below = depth_ - 1;
  if (levels_.size() == depth_) levels_.emplace_back();
  Level& to = levels_[depth_];
  to.size = static_cast<uint32_t>(size);
  to.begin.clear();
  events_[0].record(stream_);
  make_rows(levels_[below], kept_.data(), to);
  events_[1].record(stream_);
  stop_.wait(stream_);
  times_.counting += events_[1].since(events_[0]);
  ++depth_;
}

DeviceItemsetTimes DeviceItemsets::times() {
  cudaSetDevice(device_);
  stop_.wait(stream_);
  settle();
  return times_;
}

void DeviceItemsets::pop() { --depth_; }

void DeviceItemsets::drop_lower() {
  cudaSetDevice(device_);
  for (size_t level = 0; level + 1 < depth_; ++level) levels_[level].rows.reset();
}

uint64_t DeviceItemsets::room() {
  cudaSetDevice(device_);
  levels_.resize(depth_);
  size_t free = 0;
  size_t all = 0;
  check(cudaMemGetInfo(&free, &all), "asking for free memory");
  return std::min<uint64_t>(free, budget_.left());
}

namespace {

AcceleratorStatus open(const DeviceItemsetJob* job, DeviceItemsets** itemsets, AcceleratorMessage* why) {
  return guarded(why, [&] { *itemsets = new DeviceItemsets(*job); });
}
AcceleratorStatus extend(DeviceItemsets* itemsets, const DeviceExtension* step, const DeviceItemsetSink* sink,
                         uint64_t* candidates, AcceleratorMessage* why) {
  return guarded(why, [&] { *candidates = itemsets->extend(*step, *sink); });
}
AcceleratorStatus count(DeviceItemsets* itemsets, JoinedItemset* candidates, size_t size, AcceleratorMessage* why) {
  return guarded(why, [&] { itemsets->count(candidates, size); });
}
AcceleratorStatus push(DeviceItemsets* itemsets, const JoinedItemset* kept, size_t size, AcceleratorMessage* why) {
  return guarded(why, [&] { itemsets->push(kept, size); });
}
void pop(DeviceItemsets* itemsets) { itemsets->pop(); }
void drop_lower(DeviceItemsets* itemsets) { itemsets->drop_lower(); }
uint64_t room(DeviceItemsets* itemsets) {
  uint64_t bytes = 0;
  guarded(nullptr, [&] { bytes = itemsets->room(); });
  return bytes;
}
void times(DeviceItemsets* itemsets, DeviceItemsetTimes* times) {
  *times = {};
  guarded(nullptr, [&] { *times = itemsets->times(); });
}
void close(DeviceItemsets* itemsets) { delete itemsets; }

}  // namespace

const DeviceItemsetApi kItemsetApi = {open, extend, count, push, pop, drop_lower, room, times, close};

}  // namespace batmap
