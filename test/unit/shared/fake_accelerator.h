// An accelerator without a device, to test what the engine makes of its answers. It counts in plain loops. Any
// of its calls can be made to decline, run out of memory, fail, stall or find no device.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "accel/device_episodes.h"
#include "accel/offload.h"
#include "core/error.h"
#include "core/options.h"
#include "set/set_decode.h"

namespace batmap {

struct DevicePairs {
  DevicePairJob job;
  std::mutex mutex;
  std::map<uint32_t, std::set<uint32_t>> transactions;
  // Sets: as they were announced, and their planes
  uint32_t width = 0;
  std::vector<uint64_t> cardinality;
  std::vector<uint32_t> stash_begin;
  std::vector<uint64_t> stash;
  std::vector<unsigned char> planes;
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> counts;
  std::vector<uint32_t> supports;
};

struct DeviceEpisodes {
  struct Axis {
    DeviceEventAxis axis;
    std::vector<uint32_t> begin;
    std::vector<int64_t> list_times;
    std::vector<int64_t> times;
    std::vector<uint32_t> symbols;
  };
  DeviceEpisodeJob job;
  std::vector<Axis> axes;
  std::mutex mutex;
};

/// How the next calls end. One state for all: the tests of one process run one after the other.
struct FakeAccelerator {
  enum Call {
    kDevices,
    kPrepare,
    kOpen,
    kAddRows,
    kAddSets,
    kAddPlanes,
    kBuild,
    kCountRows,
    kPairCalls,
    kOpenEpisodes = kPairCalls,
    kSendEvents,
    kCountEpisodes,
    kCountList,
    kCalls
  };

  uint32_t device_count = 1;
  AcceleratorStatus answer[kCalls] = {};  // what a call returns after `after` successful calls of its kind
  int after[kCalls] = {};
  std::atomic<int> calls[kCalls] = {};
  std::atomic<int> open = 0;  // jobs that are not closed yet
  bool stalls = false;
  int delay_ms = 0;  // before a call fails
  std::atomic<uint64_t> sent_list_times = 0;
  std::atomic<uint64_t> pinned_bytes = 0;
  std::optional<DeviceEpisodeMethod> episode_method;  // of the last batch
  DeviceRates rates{.context_ms = 0,
                    .upload_bytes = 1e6,
                    .download_bytes = 1e6,
                    .and_bits = 1e9,
                    .increments = 1e9,
                    .grouped_rows = 1e9,
                    .launch_ms = 0};

  static FakeAccelerator& state() {
    static FakeAccelerator fake;
    return fake;
  }
  void reset() {
    device_count = 1;
    stalls = false;
    delay_ms = 0;
    sent_list_times = 0;
    for (int call = 0; call < kCalls; ++call) {
      answer[call] = AcceleratorStatus::kOk;
      after[call] = 0;
      calls[call] = 0;
    }
    rates.context_ms = 0;
    rates.increments = rates.grouped_rows = 1e9;
  }

  static AcceleratorStatus say(Call call, AcceleratorMessage* why) {
    FakeAccelerator& fake = state();
    const int before = fake.calls[call]++;
    const AcceleratorStatus status = before >= fake.after[call] ? fake.answer[call] : AcceleratorStatus::kOk;
    if (status != AcceleratorStatus::kOk) std::this_thread::sleep_for(std::chrono::milliseconds(fake.delay_ms));
    if (status != AcceleratorStatus::kOk)
      std::snprintf(why->text, sizeof why->text, "fake answer %d", static_cast<int>(call));
    return status;
  }

  static const AcceleratorApi* api() {
    static const AcceleratorApi table = [] {
      AcceleratorApi api{};
      api.abi = kAcceleratorAbi;
      api.size = sizeof api;
      api.devices = [](DeviceTraits* traits, uint32_t* count, AcceleratorMessage* why) {
        *count = 0;
        if (const AcceleratorStatus status = say(kDevices, why); status != AcceleratorStatus::kOk) return status;
        for (; *count < state().device_count; ++*count) traits[*count] = traits_of(static_cast<int32_t>(*count));
        return AcceleratorStatus::kOk;
      };
      api.prepare = [](int32_t device, DeviceTraits* traits, AcceleratorMessage* why) {
        *traits = traits_of(device);
        traits->ready = 1;
        return say(kPrepare, why);
      };
      api.open_pairs = [](const DevicePairJob* job, DevicePairs** pairs, AcceleratorMessage* why) {
        const AcceleratorStatus status = say(kOpen, why);
        if (status == AcceleratorStatus::kOk) {
          *pairs = new DevicePairs;
          (*pairs)->job = *job;
          ++state().open;
        }
        return status;
      };
      api.add_rows = [](DevicePairs* pairs, const uint32_t* tids, const uint32_t* items, size_t rows,
                        AcceleratorMessage* why) {
        const std::lock_guard lock(pairs->mutex);
        for (size_t i = 0; i < rows; ++i) pairs->transactions[tids[i]].insert(items[i]);
        return say(kAddRows, why);
      };
      api.add_sets = [](DevicePairs* pairs, const DeviceSets* sets, AcceleratorMessage* why) {
        pairs->width = sets->width;
        pairs->cardinality.assign(sets->cardinality, sets->cardinality + sets->sets);
        pairs->stash_begin.assign(sets->stash_begin, sets->stash_begin + sets->sets + 1);
        pairs->stash.assign(sets->stash, sets->stash + pairs->stash_begin.back());
        uint64_t bytes = 0;
        for (const uint64_t size : pairs->cardinality) bytes += plane_bytes(*pairs, size);
        pairs->planes.resize(bytes);
        return say(kAddSets, why);
      };
      api.add_planes = [](DevicePairs* pairs, uint64_t offset, const PlanePiece* pieces, size_t count,
                          AcceleratorMessage* why) {
        const std::lock_guard lock(pairs->mutex);
        for (size_t i = 0; i < count; offset += pieces[i++].bytes)
          std::copy_n(pieces[i].data, pieces[i].bytes, &pairs->planes.at(offset));
        return say(kAddPlanes, why);
      };
      api.build = [](DevicePairs* pairs, uint32_t* supports, AcceleratorMessage* why) {
        std::fill_n(supports, pairs->job.items, 0);
        const auto elements = elements_of(*pairs);
        for (auto a = elements.begin(); a != elements.end(); ++a) {
          ++supports[a->second];
          for (auto b = std::next(a); b != elements.end() && b->first == a->first; ++b)
            ++pairs->counts[{a->second, b->second}];
        }
        for (const auto& [tid, items] : pairs->transactions)
          for (auto a = items.begin(); a != items.end(); ++a) {
            ++supports[*a];
            for (auto b = std::next(a); b != items.end(); ++b)
              if (*a < pairs->job.leading && *b >= pairs->job.first_column) ++pairs->counts[{*a, *b}];
          }
        pairs->supports.assign(supports, supports + pairs->job.items);
        return say(kBuild, why);
      };
      api.count_rows = [](DevicePairs* pairs, uint32_t first, uint32_t last, uint32_t threshold, const DevicePairSink* sink,
                          AcceleratorMessage* why) {
        while (state().stalls) {
          if (pairs->job.stop(pairs->job.stop_arg)) return AcceleratorStatus::kCancelled;
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        if (const AcceleratorStatus status = say(kCountRows, why); status != AcceleratorStatus::kOk) return status;
        std::vector<DevicePair> found;
        for (const auto& [pair, count] : pairs->counts)
          if (pair.first >= first && pair.first < last && count >= threshold)
            found.push_back({pair.first, pair.second, count});
        DevicePair* const room = sink->room(sink->arg, found.size());
        if (room == nullptr && !found.empty()) return AcceleratorStatus::kOutOfMemory;
        std::copy(found.begin(), found.end(), room);
        return AcceleratorStatus::kOk;
      };
      api.count_list = [](DevicePairs* pairs, const uint32_t* a, const uint32_t* b, size_t size, uint32_t* counts,
                          AcceleratorMessage* why) {
        while (state().stalls) {
          if (pairs->job.stop(pairs->job.stop_arg)) return AcceleratorStatus::kCancelled;
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        if (const AcceleratorStatus status = say(kCountList, why); status != AcceleratorStatus::kOk) return status;
        for (size_t i = 0; i < size; ++i) {
          const auto found = pairs->counts.find({std::min(a[i], b[i]), std::max(a[i], b[i])});
          counts[i] = a[i] == b[i]                   ? pairs->supports[a[i]]
                      : found == pairs->counts.end() ? 0
                                                     : static_cast<uint32_t>(found->second);
        }
        return AcceleratorStatus::kOk;
      };
      api.pin = [](int32_t, void* memory, size_t bytes, AcceleratorMessage*) {
        const std::lock_guard lock(pinned_mutex());
        pinned()[memory] = bytes;
        state().pinned_bytes += bytes;
        return AcceleratorStatus::kOk;
      };
      api.unpin = [](void* memory) {
        const std::lock_guard lock(pinned_mutex());
        state().pinned_bytes -= pinned().at(memory);
        pinned().erase(memory);
      };
      api.close_pairs = [](DevicePairs* pairs) {
        --state().open;
        delete pairs;
      };
      api.episodes = episodes();
      return api;
    }();
    return &table;
  }

 private:
  static std::mutex& pinned_mutex() {
    static std::mutex mutex;
    return mutex;
  }
  static std::map<void*, uint64_t>& pinned() {
    static std::map<void*, uint64_t> memory;
    return memory;
  }

  static uint64_t plane_bytes(const DevicePairs& sets, uint64_t cardinality) {
    return batmap_shape(cardinality, static_cast<int>(sets.width)).bytes();
  }

  /// The elements of all sets, each with the rank of its set, in order.
  static std::vector<std::pair<uint64_t, uint32_t>> elements_of(const DevicePairs& sets) {
    std::vector<std::pair<uint64_t, uint32_t>> elements;
    const unsigned char* planes = sets.planes.data();
    for (uint32_t set = 0; set < sets.cardinality.size(); ++set) {
      const std::vector<std::byte> value = value_of(sets, set, planes);
      for_each_element(SetView::open(value), {}, [&](uint64_t x) { elements.push_back({x, set}); });
      planes += plane_bytes(sets, sets.cardinality[set]);
    }
    std::sort(elements.begin(), elements.end());
    return elements;
  }

  /// The stored value that has these planes (set/FORMAT.md).
  static std::vector<std::byte> value_of(const DevicePairs& sets, uint32_t set, const unsigned char* its_planes) {
    const uint32_t stash = sets.stash_begin[set + 1] - sets.stash_begin[set];
    const size_t front = kSetHeaderBytes + kStashHeaderBytes + 8 * stash;
    const size_t planes = plane_bytes(sets, sets.cardinality[set]);
    std::vector<std::byte> value(front + planes);
    const auto codes = static_cast<uint64_t>(kPreparedVersion << 4 | static_cast<int>(Container::kBatmap));
    store_le<uint64_t>(value.data(), sets.cardinality[set] << 16 | uint64_t{sets.width} << 8 | codes);
    store_le<uint64_t>(value.data() + kSetHeaderBytes, stash);
    for (uint32_t i = 0; i < stash; ++i)
      store_le<uint64_t>(value.data() + kSetHeaderBytes + kStashHeaderBytes + 8 * i, sets.stash[sets.stash_begin[set] + i]);
    std::copy_n(reinterpret_cast<const std::byte*>(its_planes), planes, value.data() + front);
    return value;
  }

  static const DeviceEpisodeApi* episodes() {
    static const DeviceEpisodeApi table = [] {
      DeviceEpisodeApi api{};
      api.size = sizeof api;
      api.open = [](const DeviceEpisodeJob* job, DeviceEpisodes** opened, AcceleratorMessage* why) {
        const AcceleratorStatus status = say(kOpenEpisodes, why);
        if (status == AcceleratorStatus::kOk) {
          *opened = new DeviceEpisodes;
          (*opened)->job = *job;
          for (uint64_t k = 0; k < job->axis_count; ++k) {
            const DeviceEventAxis& axis = job->axes[k];
            (*opened)->axes.push_back({axis,
                                       {axis.begin, axis.begin + axis.symbol_count + 1},
                                       std::vector<int64_t>(axis.events),
                                       std::vector<int64_t>(axis.events),
                                       std::vector<uint32_t>(axis.events)});
          }
          ++state().open;
        }
        return status;
      };
      api.send = [](DeviceEpisodes* opened, uint64_t axis, DeviceEventArray array, uint64_t first, const void* values,
                    uint64_t size, AcceleratorMessage* why) {
        const std::lock_guard lock(opened->mutex);
        DeviceEpisodes::Axis& to = opened->axes[axis];
        if (array == DeviceEventArray::kListTimes) state().sent_list_times += size;
        if (array == DeviceEventArray::kSymbols)
          std::copy_n(static_cast<const uint32_t*>(values), size, to.symbols.begin() + static_cast<ptrdiff_t>(first));
        else
          std::copy_n(
              static_cast<const int64_t*>(values), size,
              (array == DeviceEventArray::kTimes ? to.times : to.list_times).begin() + static_cast<ptrdiff_t>(first));
        return say(kSendEvents, why);
      };
      api.count = [](DeviceEpisodes* opened, const DeviceEpisodeBatch* batch, uint64_t* counts, AcceleratorMessage* why) {
        while (state().stalls) {
          if (opened->job.stop(opened->job.stop_arg)) return AcceleratorStatus::kCancelled;
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        state().episode_method = batch->method;
        count_in_loops(*opened, *batch, counts);
        return say(kCountEpisodes, why);  // a device that fails may have written counts before
      };
      api.close = [](DeviceEpisodes* opened) {
        --state().open;
        delete opened;
      };
      return api;
    }();
    return &table;
  }

  /// Counts from the lists alone, without the engine: symbol by symbol the latest start for
  /// each end, then the greedy choice.
  static void count_in_loops(const DeviceEpisodes& opened, const DeviceEpisodeBatch& batch, uint64_t* counts) {
    for (const DeviceEpisodes::Axis& axis : opened.axes)
      for (uint64_t k = 0; k < batch.size; ++k) {
        std::map<int64_t, int64_t> starts;  // by end
        for (uint64_t position = 0; position < batch.length; ++position) {
          const uint32_t symbol = batch.symbols[k * batch.length + position];
          std::map<int64_t, int64_t> longer;
          for (uint32_t at = axis.begin[symbol]; at < axis.begin[symbol + 1]; ++at) {
            const int64_t time = axis.list_times[at];
            if (position == 0) longer[time] = time;
            if (position == 0) continue;
            const DeviceGap& gap = batch.gaps[k * (batch.length - 1) + position - 1];
            const int64_t reach = axis.axis.reach;
            const auto behind = starts.lower_bound(time - std::min(gap.low, reach));
            if (behind == starts.begin() || std::prev(behind)->first < time - std::min(gap.high, reach)) continue;
            longer[time] = std::prev(behind)->second;
          }
          starts = std::move(longer);
        }
        int64_t last_end = -1;
        for (const auto& [end, start] : starts)
          if (start > last_end) last_end = end, ++counts[k];
      }
  }

  static DeviceTraits traits_of(int32_t index) {
    DeviceTraits traits{};
    traits.index = index;
    traits.major = 9;
    traits.memory_bytes = uint64_t{64} << 30;
    traits.multiprocessors = 132;
    std::snprintf(traits.name, sizeof traits.name, "fake");
    std::snprintf(traits.bit_kernel, sizeof traits.bit_kernel, "loops");
    traits.rates = state().rates;
    return traits;
  }
};

}  // namespace batmap
