// An accelerator without a device, for testing what the engine makes of one's answers: it counts in plain loops, and can
// decline, run out of memory, fail, stall or have no device, at any of its calls.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "accel/accelerator.h"
#include "set/set_decode.h"

namespace batmap {

struct DevicePairs {
  DevicePairJob job;
  std::mutex mutex;
  std::map<uint32_t, std::set<uint32_t>> transactions;
  std::vector<std::pair<uint64_t, uint32_t>> elements;  // of sets: element, rank
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> counts;
};

/// How the next calls end. One for all: tests of one process run one after the other.
struct FakeAccelerator {
  enum Call { kDevices, kPrepare, kOpen, kAddRows, kAddSets, kBuild, kCountRows, kCalls };

  uint32_t device_count = 1;
  AcceleratorStatus answer[kCalls] = {};  // what a call ends with once `after` of its kind have been well
  int after[kCalls] = {};
  std::atomic<int> calls[kCalls] = {};
  int open = 0;  // jobs that have not been closed
  bool stalls = false;
  int delay_ms = 0;  // before a call ends badly
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
    for (int call = 0; call < kCalls; ++call) {
      answer[call] = AcceleratorStatus::kOk;
      after[call] = 0;
      calls[call] = 0;
    }
    rates.context_ms = 0;
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
        for (uint32_t set = 0; set < sets->sets; ++set)
          for_each_element(value_of(*sets, set), {}, [&](uint64_t x) { pairs->elements.push_back({x, set}); });
        std::sort(pairs->elements.begin(), pairs->elements.end());
        return say(kAddSets, why);
      };
      api.build = [](DevicePairs* pairs, uint32_t* supports, AcceleratorMessage* why) {
        std::fill_n(supports, pairs->job.items, 0);
        for (auto a = pairs->elements.begin(); a != pairs->elements.end(); ++a) {
          ++supports[a->second];
          for (auto b = std::next(a); b != pairs->elements.end() && b->first == a->first; ++b)
            ++pairs->counts[{a->second, b->second}];
        }
        for (const auto& [tid, items] : pairs->transactions)
          for (auto a = items.begin(); a != items.end(); ++a) {
            ++supports[*a];
            for (auto b = std::next(a); b != items.end(); ++b)
              if (*a < pairs->job.leading && *b >= pairs->job.first_column) ++pairs->counts[{*a, *b}];
          }
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
      api.close_pairs = [](DevicePairs* pairs) {
        --state().open;
        delete pairs;
      };
      return api;
    }();
    return &table;
  }

 private:
  /// The stored value at whose end the planes lie.
  static SetView value_of(const DeviceSets& sets, uint32_t set) {
    const size_t front = kSetHeaderBytes + kStashHeaderBytes + 8 * (sets.stash_begin[set + 1] - sets.stash_begin[set]);
    const size_t planes = batmap_shape(sets.cardinality[set], static_cast<int>(sets.width)).bytes();
    return SetView::open({reinterpret_cast<const std::byte*>(sets.planes[set]) - front, front + planes});
  }

  static DeviceTraits traits_of(int32_t index) {
    DeviceTraits traits{};
    traits.index = index;
    traits.major = 9;
    traits.memory_bytes = uint64_t{64} << 30;
    traits.multiprocessors = 1;
    std::snprintf(traits.name, sizeof traits.name, "fake");
    std::snprintf(traits.bit_kernel, sizeof traits.bit_kernel, "loops");
    traits.rates = state().rates;
    return traits;
  }
};

}  // namespace batmap
