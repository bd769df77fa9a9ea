// Asks for devices, and starts again without them. See offloaded_answers.h.
#include "pairs/offloaded_answers.h"

#include <algorithm>

#include "pairs/counters/device_counter.h"

namespace batmap {

namespace {

std::string names_of(std::span<const DeviceTraits> devices) {
  std::string names;
  for (const DeviceTraits& device : devices) {
    if (!names.empty()) names += ", ";
    names += "cuda:" + std::to_string(device.index) + " " + device.name;
  }
  return names;
}

}  // namespace

std::unique_ptr<PairCounter> OffloadedAnswers::offload(const DeviceUse& use, double cpu_ms, const Choose& choose,
                                                       const Count& count, RunRecord& record) {
  if (use.offload == nullptr || use.mode == DeviceMode::kCpu) return nullptr;
  if (use.mode == DeviceMode::kAuto && !use.offload->has_loaded() && cpu_ms < kWorthLoadingMs) return nullptr;
  std::unique_ptr<PairCounter> counter;
  const bool done = use.offload->attempt(use.mode, record.notice, [&] {
    std::vector<DeviceTraits> devices = use.offload->usable_devices(use.only);
    DeviceChoice choice = choose(devices);
    if (choice.method && std::ranges::any_of(devices, [](const DeviceTraits& device) { return device.ready == 0; })) {
      use.offload->prepare(devices);  // now the rates are measured, and the contexts exist
      choice = choose(devices);
    }
    record.reason += "; " + choice.reason;
    if (!choice.method) {
      if (use.mode == DeviceMode::kRequire)
        throw DeviceFailure{AcceleratorStatus::kOutOfMemory, "the job does not fit: " + choice.reason};
      return;
    }
    counter = count(devices, *choice.method);
    if (!counter) return;
    use_ = use;
    device_threads_ = threads_for_devices(devices.size());
    record.device = names_of(devices);
  });
  return done ? std::move(counter) : nullptr;
}

void OffloadedAnswers::start(std::unique_ptr<PairCounter> counter, Buffer<int64_t> values, const PairSelection& selection,
                             ExecutionOptions options, NextBlock next) {
  options.threads = std::max(options.threads, device_threads_);
  answers_.emplace(std::move(counter), std::move(values), selection, options, std::move(next));
}

void OffloadedAnswers::stop() {
  answers_.reset();
  device_threads_ = 0;
}

bool OffloadedAnswers::next(std::vector<PairRow>& batch, RunRecord& record, const std::function<void()>& restart) {
  batch.clear();
  if (!answers_) return false;
  bool more = false;
  if (!on_devices() || !use_.offload->attempt(use_.mode, record.notice, [&] { more = answers_->next(batch); })) {
    if (on_devices()) {
      skip_ = record.results;
      answers_.reset();
      device_threads_ = 0;
      record.device = "cpu";
      restart();
    }
    more = answers_->next(batch);
    const uint64_t skipped = std::min<uint64_t>(skip_, batch.size());
    batch.erase(batch.begin(), batch.begin() + static_cast<ptrdiff_t>(skipped));
    skip_ -= skipped;
  }
  record.results = answers_->results();
  record.tasks = answers_->tasks();
  record.tasks_done = answers_->tasks_done();
  record.truncation = answers_->truncation();
  return more;
}

}  // namespace batmap
