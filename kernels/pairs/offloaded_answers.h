// Answers that devices may count. A run asks for devices here, and continues here without them. All counters
// answer in one order (pair_answers.h): so after an error of a device the CPU counts from the start, and the
// answers that were handed over already are skipped. Source: ours.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "accel/device_session.h"
#include "core/run_record.h"
#include "pairs/pair_answers.h"

namespace batmap {

class OffloadedAnswers {
 public:
  explicit OffloadedAnswers(DeviceUse use) : session_(std::move(use)) {}

  /// How the given devices would count the job. Called again when their rates have been measured.
  using Choose = std::function<DeviceChoice(std::span<const DeviceTraits> devices)>;
  /// Makes the counter. nullptr: the caller will count in another way. May throw DeviceFailure.
  using Count = std::function<std::unique_ptr<PairCounter>(std::span<const DeviceTraits> devices, DeviceMethod method)>;

  /// Makes a counter on devices if they are to count. Call start() next.
  /// @param cpu_ms  expected time of the CPU
  /// @param record  device, reason and notice are set
  /// @return nullptr: the CPU is to count
  /// @throws Error; under DeviceMode::kRequire also instead of returning nullptr
  std::unique_ptr<PairCounter> offload(double cpu_ms, const Choose& choose, const Count& count, RunRecord& record);

  /// Starts counting. The parameters are those of PairAnswers.
  void start(std::unique_ptr<PairCounter> counter, Buffer<int64_t> values, const PairSelection& selection,
             ExecutionOptions options, NextBlock next = {});

  const DeviceSession& session() const { return session_; }
  bool on_devices() const { return answers_ && !session_.devices().empty(); }
  /// See PairAnswers. 0 before start().
  uint64_t max_bytes(uint64_t pairs) const { return answers_ ? answers_->max_bytes(pairs) : 0; }
  /// Ends the answers and gives back their memory.
  void stop() { answers_.reset(); }

  /// See PairAnswers::next(). Without start() there are no answers.
  /// @param restart  called when devices have failed; it must call start() with a counter of the CPU
  bool next(PairBatch& batch, RunRecord& record, const std::function<void()>& restart);

 private:
  DeviceSession session_;
  uint64_t skip_ = 0;  // answers that devices gave before they failed, still to be skipped
  std::optional<PairAnswers> answers_;
};

}  // namespace batmap
