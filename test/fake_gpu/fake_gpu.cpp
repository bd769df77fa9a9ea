// The fake accelerator as a module, for servers that have no GPU (test/t). The file that BATMAP_FAKE_GPU names says how
// calls go; it is read at each call:
//
//   (empty)      they count
//   fail         counting ends as after an error of the device
//   memory       opening a job finds too little memory
//   stall        counting lasts until the run is to stop
//   hang         counting lasts, and never asks whether the run is to stop
//   crash        counting ends the process
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "test/unit/shared/fake_itemsets.h"

namespace batmap {
namespace {

std::string order() {
  std::string word;
  if (const char* const path = std::getenv("BATMAP_FAKE_GPU"); path != nullptr) std::ifstream(path) >> word;
  return word;
}

/// What the order makes of a call that counts. @return kOk: it counts
AcceleratorStatus obey(bool (*stop)(void*), void* stop_arg, AcceleratorMessage* why) {
  for (;;) {
    const std::string word = order();
    if (word == "crash") _exit(1);
    if (word == "fail") {
      std::snprintf(why->text, sizeof why->text, "the fake device is broken");
      return AcceleratorStatus::kFailed;
    }
    if (word != "stall" && word != "hang") return AcceleratorStatus::kOk;
    if (word == "stall" && stop(stop_arg)) return AcceleratorStatus::kCancelled;
    usleep(1000);
  }
}

AcceleratorStatus obey_at_open(AcceleratorMessage* why) {
  if (order() != "memory") return AcceleratorStatus::kOk;
  std::snprintf(why->text, sizeof why->text, "the fake device is full");
  return AcceleratorStatus::kOutOfMemory;
}

DeviceEpisodeApi episodes;
DeviceItemsetApi itemsets;

AcceleratorApi make_api() {
  AcceleratorApi api = *FakeItemsets::accelerator();
  episodes = *api.episodes;
  itemsets = *api.itemsets;
  api.episodes = &episodes;
  api.itemsets = &itemsets;
  api.open_pairs = [](const DevicePairJob* job, DevicePairs** pairs, AcceleratorMessage* why) {
    const AcceleratorStatus status = obey_at_open(why);
    return status == AcceleratorStatus::kOk ? FakeAccelerator::api()->open_pairs(job, pairs, why) : status;
  };
  api.count_rows = [](DevicePairs* pairs, uint32_t first, uint32_t last, uint32_t threshold, const DevicePairSink* sink,
                      AcceleratorMessage* why) {
    const AcceleratorStatus status = obey(pairs->job.stop, pairs->job.stop_arg, why);
    return status == AcceleratorStatus::kOk ? FakeAccelerator::api()->count_rows(pairs, first, last, threshold, sink, why)
                                            : status;
  };
  api.count_list = [](DevicePairs* pairs, const uint32_t* a, const uint32_t* b, size_t size, uint32_t* counts,
                      AcceleratorMessage* why) {
    const AcceleratorStatus status = obey(pairs->job.stop, pairs->job.stop_arg, why);
    return status == AcceleratorStatus::kOk ? FakeAccelerator::api()->count_list(pairs, a, b, size, counts, why) : status;
  };
  episodes.count = [](DeviceEpisodes* opened, const DeviceEpisodeBatch* batch, uint64_t* counts, AcceleratorMessage* why) {
    const AcceleratorStatus status = obey(opened->job.stop, opened->job.stop_arg, why);
    return status == AcceleratorStatus::kOk ? FakeAccelerator::api()->episodes->count(opened, batch, counts, why) : status;
  };
  itemsets.extend = [](DeviceItemsets* search, const DeviceExtension* step, const DeviceItemsetSink* sink,
                       uint64_t* candidates, AcceleratorMessage* why) {
    const AcceleratorStatus status = obey(search->job.stop, search->job.stop_arg, why);
    return status == AcceleratorStatus::kOk
               ? FakeItemsets::accelerator()->itemsets->extend(search, step, sink, candidates, why)
               : status;
  };
  api.memory_used = [](int32_t) { return static_cast<uint64_t>(FakeAccelerator::state().open) << 20; };
  return api;
}

}  // namespace
}  // namespace batmap

extern "C" __attribute__((visibility("default"))) const batmap::AcceleratorApi* batmap_accelerator() {
  static const batmap::AcceleratorApi api = batmap::make_api();
  return &api;
}
