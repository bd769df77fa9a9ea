// RowLevels by calls of the accelerator module. See device_levels.h.
#include "itemsets/search/device_levels.h"

#include <exception>
#include <span>
#include <vector>

namespace batmap {

namespace {

/// The buffer that a device writes its itemsets to. An exception must not cross the module's C ABI, so it is kept here.
struct Room {
  GrowingBuffer<JoinedItemset>& out;
  std::exception_ptr failure;

  static JoinedItemset* give(void* arg, size_t itemsets) {
    auto& room = *static_cast<Room*>(arg);
    try {
      JoinedItemset* const at = room.out.room(itemsets);
      room.out.add(itemsets);
      return at;
    } catch (...) {
      room.failure = std::current_exception();
      return nullptr;
    }
  }
};

class DeviceLevels final : public RowLevels {
 public:
  DeviceLevels(const AcceleratorApi& api, const DeviceLevelJob& job, const WeightedBits& bits,
               const ExecutionOptions& options)
      : api_(*api.itemsets), row_bytes_(bits.words() * sizeof(uint64_t)), found_(*options.memory) {
    std::vector<DevicePlane> planes;
    for (const WeightedBits::Plane& plane : bits.planes())
      planes.push_back({plane.first, plane.words, static_cast<uint32_t>(plane.shift)});
    const DeviceItemsetJob opened{.items = static_cast<uint32_t>(bits.items()),
                                  .words = bits.words(),
                                  .rows = bits.row(0),
                                  .planes = planes.data(),
                                  .plane_count = static_cast<uint32_t>(planes.size()),
                                  .has_bitmaps = job.prunes,
                                  .device = job.device,
                                  .memory_limit = job.memory_limit,
                                  .stop = [](void* token) { return static_cast<const CancelToken*>(token)->requested(); },
                                  .stop_arg = const_cast<CancelToken*>(&options.cancel)};
    AcceleratorMessage why{};
    expect_done(api_.open(&opened, &itemsets_, &why), why);
  }
  DeviceLevels(const DeviceLevels&) = delete;
  DeviceLevels& operator=(const DeviceLevels&) = delete;
  ~DeviceLevels() override { api_.close(itemsets_); }

  void count(std::span<JoinedItemset> candidates) override {
    AcceleratorMessage why{};
    expect_done(api_.count(itemsets_, candidates.data(), candidates.size(), &why), why);
  }
  void push(std::span<const JoinedItemset> kept) override {
    AcceleratorMessage why{};
    expect_done(api_.push(itemsets_, kept.data(), kept.size(), &why), why);
  }
  void pop() override { api_.pop(itemsets_); }
  void drop_lower() override { api_.drop_lower(itemsets_); }

  void extend_row(uint32_t row, uint32_t min_count, uint32_t fold_support, std::vector<JoinedItemset>& found) override {
    found_.shrink(0);
    extend({.first = row,
            .last = row + 1,
            .min_count = min_count,
            .prune = 0,
            .leading = 0,
            .fold_support = fold_support,
            .push = 1},
           found_);
    found.assign(found_.begin(), found_.end());
  }

  bool joins_levels() const override { return true; }
  uint64_t extend_rows(const Step& step, GrowingBuffer<JoinedItemset>& found) override {
    return extend({.first = step.first,
                   .last = step.last,
                   .min_count = step.min_count,
                   .prune = step.prune,
                   .leading = step.leading,
                   .fold_support = 0,
                   .push = step.push},
                  found);
  }
  uint64_t room_rows() override { return row_bytes_ == 0 ? UINT64_MAX : api_.room(itemsets_) / row_bytes_; }

 private:
  uint64_t extend(const DeviceExtension& step, GrowingBuffer<JoinedItemset>& found) {
    Room room{found, nullptr};
    const DeviceItemsetSink sink{Room::give, &room};
    uint64_t candidates = 0;
    AcceleratorMessage why{};
    const AcceleratorStatus status = api_.extend(itemsets_, &step, &sink, &candidates, &why);
    if (room.failure) std::rethrow_exception(room.failure);
    expect_done(status, why);
    return candidates;
  }

  const DeviceItemsetApi& api_;
  size_t row_bytes_;
  GrowingBuffer<JoinedItemset> found_;
  DeviceItemsets* itemsets_ = nullptr;
};

}  // namespace

std::unique_ptr<RowLevels> rows_on_device(const AcceleratorApi& api, const DeviceLevelJob& job, const WeightedBits& bits,
                                          const ExecutionOptions& options) {
  if (api.itemsets == nullptr) throw DeviceFailure{AcceleratorStatus::kDeclined, "the module does not search for itemsets"};
  return std::make_unique<DeviceLevels>(api, job, bits, options);
}

}  // namespace batmap
