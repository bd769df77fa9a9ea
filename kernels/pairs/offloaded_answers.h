// Answers that devices may count. This is where a run asks for devices, and where it goes on without them: all counters
// answer in one order (pair_answers.h), so after an error the CPU counts from the start, and what has been handed over is
// left out.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "accel/device_policy.h"
#include "accel/offload.h"
#include "pairs/pair_answers.h"
#include "pairs/pair_report.h"

namespace batmap {

class OffloadedAnswers {
 public:
  /// How some devices would count the job. Asked again once their rates are measured ones.
  using Choose = std::function<DeviceChoice(std::span<const DeviceTraits> devices)>;
  /// The counter; nullptr: after all, the caller knows another way than devices. May throw DeviceFailure.
  using Count = std::function<std::unique_ptr<PairCounter>(std::span<const DeviceTraits> devices, DeviceMethod method)>;

  /// A counter on devices, if they are to count; start() is to come next.
  /// @param cpu_ms  what the CPU would take
  /// @param report  device, reason and notice are told
  /// @return nullptr: the CPU is to count @throws Error, under DeviceMode::kRequire also instead of nullptr
  std::unique_ptr<PairCounter> offload(const DeviceUse& use, double cpu_ms, const Choose& choose, const Count& count,
                                       PairReport& report);

  /// The arguments are those of PairAnswers.
  void start(std::unique_ptr<PairCounter> counter, Buffer<int64_t> values, const PairSelection& selection,
             ExecutionOptions options, NextBlock next = {});

  bool on_devices() const { return device_threads_ > 0; }
  /// See PairAnswers. Nothing has been started: none.
  uint64_t most_bytes(uint64_t pairs) const { return answers_ ? answers_->most_bytes(pairs) : 0; }
  /// There are no more answers; their memory is given back.
  void stop();

  /// See PairAnswers::next(). Nothing has been started: there are no answers.
  /// @param restart  has the CPU count: calls start()
  bool next(std::vector<PairRow>& batch, PairReport& report, const std::function<void()>& restart);

 private:
  DeviceUse use_;
  int device_threads_ = 0;  // more than none: devices count
  uint64_t skip_ = 0;       // answers that they had given before they failed
  std::optional<PairAnswers> answers_;
};

}  // namespace batmap
