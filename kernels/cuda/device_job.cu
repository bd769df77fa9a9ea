// The steps of a job. See device_job.h.
#include "cuda/device_job.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include <cub/device/device_radix_sort.cuh>

#include "cuda/pinned_block.h"

namespace batmap {

using namespace cuda;

namespace {

constexpr size_t kStagedRows = PinnedBlock::kBytes / 8;
constexpr size_t kMaxStagings = PinnedBlock::kMaxOfJob;  // bench/device_pairs.cpp, part staging
constexpr uint64_t kFirstRoom = uint64_t{1} << 20;  // pairs that a lane has room for at first, if there are so many: 40 MB
constexpr int kThreads = 256;
// While one lane is in its kernel, the others send and receive. Those that count rows have room for the answers.
constexpr int kLanes = 2;
constexpr int kLanesOfLists = 4;

/// Turns sorted keys and counts into pairs.
__global__ void unpack_pairs(const uint64_t* keys, const uint32_t* counts, uint64_t size, int column_bits,
                             DevicePair* pairs) {
  const uint64_t i = blockIdx.x * uint64_t{kThreads} + threadIdx.x;
  if (i >= size) return;
  const uint64_t key = keys[i];
  pairs[i] = {static_cast<uint32_t>(key >> column_bits), static_cast<uint32_t>(key & ((uint64_t{1} << column_bits) - 1)),
              counts[i]};
}

/// Looks pairs up in the counts of all pairs.
__global__ void look_up(CountTriangle all, const uint32_t* supports, const uint32_t* a, const uint32_t* b, size_t size,
                        uint32_t* counts) {
  const size_t i = blockIdx.x * size_t{kThreads} + threadIdx.x;
  if (i >= size) return;
  // The list may come from memory that another process can still write to: whatever is there names a pair.
  const auto last = static_cast<uint32_t>(all.items - 1);
  const uint32_t low = min(min(a[i], b[i]), last);
  const uint32_t high = min(max(a[i], b[i]), last);
  counts[i] = low == high ? supports[low] : all.of(low, high);
}

/// Do pairs with the same b follow each other? A sample decides. The list may come from memory that another process can still write
/// to: then it is counted more slowly.
bool has_runs(const uint32_t* b, size_t size) {
  constexpr size_t kSampled = 64;
  if (size < 2) return false;
  size_t equal = 0;
  for (size_t k = 0; k < kSampled; ++k) {
    const size_t at = k * (size - 1) / kSampled;
    equal += b[at] == b[at + 1];
  }
  return 2 * equal >= kSampled;
}

}  // namespace

/// A pinned buffer in which rows wait until there are enough of them to be sent.
struct DevicePairs::Staging {
  PinnedBlock block;
  size_t used = 0;

  uint32_t* tids() { return reinterpret_cast<uint32_t*>(block.data()); }
  uint32_t* items() { return tids() + kStagedRows; }
};

/// A staging buffer of one job. One thread at a time fills it. Then it is sent, and is free again
/// when all devices have the rows.
struct DevicePairs::Slot {
  explicit Slot(std::vector<Event> events) : sent(std::move(events)) {}
  /// Do all devices have the rows that were in it?
  bool is_empty() const;
  void wait_until_empty();

  Staging staging;
  std::vector<Event> sent;  // [devices]
  bool is_on_its_way = false;
};

class DevicePairs::CountingLane {
 public:
  /// @param max_pairs  of the whole job
  CountingLane(Device& device, const StopToken& stop, DeviceBudget& of_job, int column_bits, uint64_t max_pairs)
      : device(device),
        lane(stop, of_job),
        size_(lane.budget, 1),
        column_bits_(column_bits),
        first_room_(std::clamp<uint64_t>(max_pairs, 1, kFirstRoom)) {}

  /// @return the milliseconds of the kernels
  double count(PairForm& form, const WantedOnDevice& wanted, int key_bits, const DevicePairSink& sink) {
    double ms = 0;
    unsigned long long size = 0;
    if (capacity_ == 0) make_room(first_room_);
    for (;;) {
      check(cudaMemsetAsync(size_.data(), 0, sizeof size, lane.stream), "clearing a counter");
      start_.record(lane.stream);
      form.count(wanted, {size_.data(), capacity_, keys_[0].data(), counts_[0].data(), column_bits_, {}}, lane);
      end_.record(lane.stream);
      check(cudaMemcpyAsync(&size, size_.data(), sizeof size, cudaMemcpyDeviceToHost, lane.stream), "reading a counter");
      lane.wait();
      ms += end_.since(start_);
      if (size <= capacity_) break;
      make_room(size);
    }
    DevicePair* const out = sink.room(sink.arg, size);
    if (out == nullptr && size > 0) throw DeviceError{AcceleratorStatus::kOutOfMemory, "no room for the answers"};
    if (size > 0) hand_over(size, key_bits, out);
    return ms;
  }

  Device& device;
  Lane lane;

 private:
  void make_room(uint64_t size) {
    capacity_ = 0;  // until all of the memory is there
    for (int i = 0; i < 2; ++i) {
      keys_[i].reset();
      counts_[i].reset();
    }
    pairs_.reset();
    for (int i = 0; i < 2; ++i) {
      keys_[i] = DeviceArray<uint64_t>(lane.budget, size);
      counts_[i] = DeviceArray<uint32_t>(lane.budget, size);
    }
    pairs_ = DeviceArray<DevicePair>(lane.budget, size);
    capacity_ = size;
  }

  /// Sorts the pairs by (a, b) and copies them to `out`.
  void hand_over(uint64_t size, int key_bits, DevicePair* out) {
    cub::DoubleBuffer<uint64_t> keys(keys_[0].data(), keys_[1].data());
    cub::DoubleBuffer<uint32_t> counts(counts_[0].data(), counts_[1].data());
    size_t bytes = 0;
    const auto items = static_cast<int64_t>(size);
    check(cub::DeviceRadixSort::SortPairs(nullptr, bytes, keys, counts, items, 0, key_bits, lane.stream), "sorting pairs");
    void* const scratch = lane.scratch(std::max<size_t>(bytes, 1));
    check(cub::DeviceRadixSort::SortPairs(scratch, bytes, keys, counts, items, 0, key_bits, lane.stream), "sorting pairs");
    unpack_pairs<<<static_cast<unsigned>((size + kThreads - 1) / kThreads), kThreads, 0, lane.stream>>>(
        keys.Current(), counts.Current(), size, column_bits_, pairs_.data());
    check_launch("unpack_pairs");
    check(cudaMemcpyAsync(out, pairs_.data(), size * sizeof(DevicePair), cudaMemcpyDeviceToHost, lane.stream),
          "reading pairs");
    lane.wait();
  }

  DeviceArray<unsigned long long> size_;
  int column_bits_;
  Event start_;
  Event end_;
  uint64_t first_room_;
  uint64_t capacity_ = 0;  // pairs
  DeviceArray<uint64_t> keys_[2];
  DeviceArray<uint32_t> counts_[2];
  DeviceArray<DevicePair> pairs_;
};

/// What a job has on one device. Members are destroyed with the device current. The lanes go first, and wait for what they
/// have queued; so the form is no longer read when it goes.
class DevicePairs::Device {
 public:
  Device(int32_t index, const DevicePairJob& job, const StopToken& stop, const char* bit_kernel)
      : index(index), upload(stop, job.memory_limit) {
    if (job.method == DeviceMethod::kBatmap) return;
    int major = 0;
    int minor = 0;
    check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, index), "asking for the compute capability");
    check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, index), "asking for the compute capability");
    form = job.method == DeviceMethod::kBitmap  ? make_bit_form(job, major, minor, bit_kernel, upload)
           : job.method == DeviceMethod::kLists ? make_list_form(job, upload)
                                                : make_horizontal_form(job, upload);
    const size_t rows = std::min<uint64_t>(kStagedRows, std::max<uint64_t>(job.rows, 1));
    tids = DeviceArray<uint32_t>(upload.budget, rows);
    items = DeviceArray<uint32_t>(upload.budget, rows);
  }

  int32_t index;
  Lane upload;
  std::unique_ptr<PairForm> form;
  DeviceArray<uint32_t> tids;  // rows between staging and the form, one buffer after the other
  DeviceArray<uint32_t> items;
  DeviceArray<uint32_t> all_counts;  // of all pairs (CountTriangle), if they were counted at once
  DeviceArray<uint32_t> supports;    // the same
  std::vector<std::unique_ptr<CountingLane>> lanes;
};

class DevicePairs::Borrowed {
 public:
  explicit Borrowed(DevicePairs& job) : job_(job) {
    std::unique_lock lock(job.lanes_mutex_);
    while (job.free_lanes_.empty()) {
      job.stop_.throw_if_requested();
      job.lane_free_.wait_for(lock, std::chrono::milliseconds(5));
    }
    lane_ = job.free_lanes_.back();
    job.free_lanes_.pop_back();
  }
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;
  ~Borrowed() {
    const std::lock_guard lock(job_.lanes_mutex_);
    // The back, which is taken next, has been free for longest; so the devices take turns.
    job_.free_lanes_.insert(job_.free_lanes_.begin(), lane_);
    job_.lane_free_.notify_one();
  }
  CountingLane& operator*() { return *lane_; }

 private:
  DevicePairs& job_;
  CountingLane* lane_;
};

bool DevicePairs::Slot::is_empty() const {
  return std::all_of(sent.begin(), sent.end(), [](const Event& event) { return event.has_happened(); });
}

void DevicePairs::Slot::wait_until_empty() {
  if (!is_on_its_way) return;  // has_happened() calls the driver, which serves one thread at a time
  for (const Event& event : sent) event.wait();
  is_on_its_way = false;
}

DevicePairs::DevicePairs(const DevicePairJob& job, const char* bit_kernel) : job_(job), stop_{job.stop, job.stop_arg} {
  for (std::vector<Slot*>* slots : {&open_slots_, &sent_slots_}) slots->reserve(kMaxStagings);  // handing back cannot fail
  for (uint32_t i = 0; i < job.device_count; ++i) {
    use_device(job.devices[i]);
    devices_.push_back(std::make_unique<Device>(job.devices[i], job_, stop_, bit_kernel));
  }
}

DevicePairs::~DevicePairs() {
  for (std::unique_ptr<Device>& device : devices_) {
    cudaSetDevice(device->index);
    device.reset();  // waits for its streams
  }
}

/// Takes an open slot, so that few are ever partly full. If there is none, takes the oldest sent one if it has
/// arrived, else a new one. If there may be no more, takes the oldest sent one even so.
DevicePairs::Slot& DevicePairs::claim_slot() {
  std::unique_lock lock(slots_mutex_);
  const auto take_from = [](std::vector<Slot*>& slots, std::vector<Slot*>::iterator at) -> Slot& {
    Slot& slot = **at;
    slots.erase(at);
    return slot;
  };
  for (;;) {
    stop_.throw_if_requested();
    if (!open_slots_.empty()) return take_from(open_slots_, open_slots_.end() - 1);
    const bool has_sent = !sent_slots_.empty();
    if (has_sent && (slot_count_ == kMaxStagings || sent_slots_.front()->is_empty()))
      return take_from(sent_slots_, sent_slots_.begin());
    if (slot_count_ < kMaxStagings) break;
    slot_free_.wait_for(lock, std::chrono::milliseconds(5));
  }
  ++slot_count_;
  lock.unlock();
  try {
    auto slot = std::make_unique<Slot>(events());
    lock.lock();
    slots_.push_back(std::move(slot));
    return *slots_.back();
  } catch (...) {
    if (!lock.owns_lock()) lock.lock();
    --slot_count_;
    throw;
  }
}

/// A slot with room, for the life of the object. A slot that could not be sent stays full, so the next
/// thread that takes it fails, too.
class DevicePairs::Filling {
 public:
  explicit Filling(DevicePairs& job) : job_(job), slot_(job.claim_slot()) {}
  Filling(const Filling&) = delete;
  Filling& operator=(const Filling&) = delete;
  ~Filling() {
    const std::lock_guard lock(job_.slots_mutex_);
    (is_sent_ ? job_.sent_slots_ : job_.open_slots_).push_back(&slot_);
    job_.slot_free_.notify_one();
  }

  /// @return for how many of the rows there was room
  size_t add(const uint32_t* tids, const uint32_t* items, size_t rows) {
    slot_.wait_until_empty();
    Staging& staging = slot_.staging;
    const size_t now = std::min(rows, kStagedRows - staging.used);
    std::memcpy(staging.tids() + staging.used, tids, now * sizeof(uint32_t));
    std::memcpy(staging.items() + staging.used, items, now * sizeof(uint32_t));
    staging.used += now;
    if (staging.used == kStagedRows) {
      job_.send(slot_);
      is_sent_ = true;
    }
    return now;
  }

 private:
  DevicePairs& job_;
  Slot& slot_;
  bool is_sent_ = false;
};

void DevicePairs::add_rows(const uint32_t* tids, const uint32_t* items, size_t rows) {
  if (is_pinned(tids, rows * sizeof *tids) && is_pinned(items, rows * sizeof *items)) return send_pinned(tids, items, rows);
  for (size_t done = 0; done < rows;) done += Filling(*this).add(tids + done, items + done, rows - done);
}

/// Sends rows from where they lie, and waits until they have left it.
void DevicePairs::send_pinned(const uint32_t* tids, const uint32_t* items, size_t rows) {
  std::vector<Event> sent = events();
  for (size_t done = 0; done < rows; done += kStagedRows) {
    stop_.throw_if_requested();
    const std::lock_guard lock(sending_mutex_);
    queue(tids + done, items + done, std::min(rows - done, kStagedRows), sent);
  }
  for (const Event& event : sent) event.wait();
}

void DevicePairs::send(Slot& slot) {
  const std::lock_guard lock(sending_mutex_);
  Staging& staging = slot.staging;
  queue(staging.tids(), staging.items(), staging.used, slot.sent);
  staging.used = 0;
  slot.is_on_its_way = true;
}

/// Queues rows from pinned memory on all devices. Needs the sending mutex. @param sent  [devices] recorded when they have left it
void DevicePairs::queue(const uint32_t* tids, const uint32_t* items, size_t rows, std::vector<Event>& sent) {
  for (size_t i = 0; i < devices_.size(); ++i) {
    Device& device = *devices_[i];
    use_device(device.index);
    const size_t bytes = rows * sizeof(uint32_t);
    const cudaStream_t stream = device.upload.stream;
    check(cudaMemcpyAsync(device.tids.data(), tids, bytes, cudaMemcpyHostToDevice, stream), "sending rows");
    check(cudaMemcpyAsync(device.items.data(), items, bytes, cudaMemcpyHostToDevice, stream), "sending rows");
    sent[i].record(stream);
    device.form->add(device.tids.data(), device.items.data(), rows, stream);
  }
}

/// An event for each device.
std::vector<Event> DevicePairs::events() const {
  std::vector<Event> events;
  for (const std::unique_ptr<Device>& device : devices_) {
    use_device(device->index);
    events.emplace_back();
  }
  return events;
}

void DevicePairs::add_sets(const DeviceSets& sets) {
  for (std::unique_ptr<Device>& device : devices_) {
    use_device(device->index);
    device->form = make_batmap_form(job_, sets, device->upload);
  }
}

void DevicePairs::add_planes(uint64_t offset, const PlanePiece* pieces, size_t count) {
  for (std::unique_ptr<Device>& device : devices_) {
    use_device(device->index);
    device->form->add_planes(offset, pieces, count, device->upload);
  }
}

/// Counts all pairs, if that is wanted, and needed or takes no more than half of the memory that is free.
void DevicePairs::count_all(Device& device, const uint32_t* supports) {
  if (job_.counts_all == 0 || job_.method == DeviceMethod::kLists || job_.leading != job_.items || job_.first_column > 0)
    return;
  const bool is_needed = job_.method == DeviceMethod::kHorizontal;  // else pairs can be counted one by one
  Lane& lane = device.upload;
  const uint64_t all = CountTriangle::size(job_.items);
  if (!is_needed) {
    size_t free = 0;
    size_t total = 0;
    check(cudaMemGetInfo(&free, &total), "asking for free memory");
    if ((all + job_.items) * sizeof(uint32_t) > std::min<uint64_t>(lane.budget.left(), free) / 2) return;
  }
  try {
    device.supports = DeviceArray<uint32_t>(lane.budget, job_.items);
    device.all_counts = DeviceArray<uint32_t>(lane.budget, all);
  } catch (const DeviceError& error) {
    if (is_needed || error.status != AcceleratorStatus::kOutOfMemory) throw;
    device.supports.reset();  // another job was faster
    return;
  }
  check(cudaMemcpyAsync(device.supports.data(), supports, device.supports.bytes(), cudaMemcpyHostToDevice, lane.stream),
        "sending supports");
  check(cudaMemsetAsync(device.all_counts.data(), 0, device.all_counts.bytes(), lane.stream), "clearing counts");
  device.form->count({job_.items, 0, job_.items, 0, 1}, {.triangle = {device.all_counts.data(), job_.items}}, lane);
  lane.wait();
}

void DevicePairs::build(uint32_t* supports) {
  const auto start = std::chrono::steady_clock::now();
  for (Slot* slot : open_slots_)
    if (slot->staging.used > 0) send(*slot);
  for (std::unique_ptr<Device>& device : devices_) {
    use_device(device->index);
    device->form->build(supports, device->upload);
    device->tids.reset();
    device->items.reset();
    count_all(*device, supports);
  }
  // All rows have arrived.
  open_slots_.clear();
  sent_slots_.clear();
  slots_.clear();
  slot_count_ = 0;
  const int lanes = job_.method == DeviceMethod::kLists ? kLanesOfLists : kLanes;
  for (int lane = 0; lane < lanes; ++lane) {
    for (std::unique_ptr<Device>& device : devices_) {
      use_device(device->index);
      device->lanes.push_back(std::make_unique<CountingLane>(*device, stop_, device->upload.budget, bits_for(job_.items),
                                                             uint64_t{job_.leading} * job_.items));
      free_lanes_.push_back(device->lanes.back().get());
    }
  }
  build_ms_ = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

void DevicePairs::count_rows(uint32_t first, uint32_t last, uint32_t threshold, const DevicePairSink& sink) {
  Borrowed lane(*this);
  use_device((*lane).device.index);
  const int key_bits = bits_for(job_.items) + bits_for(job_.leading);
  const double ms =
      (*lane).count(*(*lane).device.form, {job_.items, first, last, job_.first_column, threshold}, key_bits, sink);
  const std::lock_guard lock(lanes_mutex_);
  count_ms_ += ms;
}

void DevicePairs::count_list(const uint32_t* a, const uint32_t* b, size_t size, uint32_t* counts) {
  Borrowed borrowed(*this);
  CountingLane& counting = *borrowed;
  const size_t at_once = std::min(size, counting.device.form->pairs_at_once());
  use_device(counting.device.index);
  Lane& lane = counting.lane;
  auto* const arrays = static_cast<uint32_t*>(lane.scratch(3 * at_once * sizeof(uint32_t)));
  double ms = 0;
  Event start;
  Event end;
  for (size_t from = 0; from < size; from += at_once) {
    const size_t now = std::min(at_once, size - from);
    const size_t bytes = now * sizeof(uint32_t);
    check(cudaMemcpyAsync(arrays, a + from, bytes, cudaMemcpyHostToDevice, lane.stream), "sending pairs");
    check(cudaMemcpyAsync(arrays + now, b + from, bytes, cudaMemcpyHostToDevice, lane.stream), "sending pairs");
    start.record(lane.stream);
    Device& device = counting.device;
    if (device.all_counts.size() > 0) {
      look_up<<<static_cast<unsigned>((now + kThreads - 1) / kThreads), kThreads, 0, lane.stream>>>(
          {device.all_counts.data(), job_.items}, device.supports.data(), arrays, arrays + now, now, arrays + 2 * now);
      check_launch("look_up");
    } else {
      device.form->count_list(arrays, arrays + now, now, has_runs(b + from, now), arrays + 2 * now, lane.stream);
    }
    end.record(lane.stream);
    check(cudaMemcpyAsync(counts + from, arrays + 2 * now, bytes, cudaMemcpyDeviceToHost, lane.stream), "reading counts");
    lane.wait();
    ms += end.since(start);
  }
  const std::lock_guard lock(lanes_mutex_);
  count_ms_ += ms;
}

double DevicePairs::count_ms() const {
  const std::lock_guard lock(lanes_mutex_);
  return count_ms_;
}

}  // namespace batmap
