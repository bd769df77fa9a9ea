// Offers the count to devices, and starts again without them. See offloaded_answers.h.
#include "pairs/offloaded_answers.h"

#include <algorithm>

#include "pairs/counters/device_counter.h"

namespace batmap {

std::unique_ptr<PairCounter> OffloadedAnswers::offload(double cpu_ms, const Choose& choose, const Count& count,
                                                       RunRecord& record) {
  if (!session_.is_possible()) return nullptr;
  DeviceChoice choice;
  std::unique_ptr<PairCounter> counter;
  const auto ask = [&](std::span<const DeviceTraits> devices) {
    choice = choose(devices);
    return DeviceVerdict{choice.method.has_value(), choice.reason};
  };
  const auto begin = [&](std::span<const DeviceTraits> devices) {
    counter = count(devices, *choice.method);
    return counter != nullptr;
  };
  session_.offer(cpu_ms, ask, begin);
  record.reason += session_.reason();
  record.notice = session_.notice();
  record.device = session_.device();
  return counter;
}

void OffloadedAnswers::start(std::unique_ptr<PairCounter> counter, Buffer<int64_t> values, const PairSelection& selection,
                             ExecutionOptions options, NextBlock next) {
  options.threads = std::max(options.threads, threads_for_devices(session_.devices().size()));
  answers_.emplace(std::move(counter), std::move(values), selection, options, std::move(next));
}

bool OffloadedAnswers::next(PairBatch& batch, RunRecord& record, const std::function<void()>& restart) {
  batch = {};
  if (!answers_) return false;
  bool more = false;
  const auto count = [&] { more = answers_->next(batch); };
  bool is_done = false;
  if (on_devices()) {
    is_done = session_.go_on(count);
    if (!is_done) {
      skip_ = record.results;
      answers_.reset();
      record.notice = session_.notice();
      record.device = session_.device();
      restart();
    }
  }
  if (!is_done) {
    count();
    const uint64_t skipped = std::min<uint64_t>(skip_, batch.size());
    batch = batch.part(skipped, batch.size() - skipped);
    skip_ -= skipped;
  }
  record.results = answers_->results();
  record.tasks = answers_->tasks();
  record.tasks_done = answers_->tasks_done();
  record.truncation = answers_->truncation();
  return more;
}

}  // namespace batmap
