// Requests of jobs that count episodes. See host.h.
#include "process/host/host.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <utility>
#include <vector>

namespace batmap::process::host {

namespace {
constexpr int64_t kMaxTime = int64_t{1} << 62;  // sums of two do not overflow
}  // namespace

void Host::call_episodes(Channel& channel, const Request& request, Arrays arrays, Reply& reply) {
  const DeviceEpisodeApi& api = *api_->episodes;
  if (request.op == Op::kOpenEpisodes) {
    const uint64_t axes = request.args[0];
    require_device(static_cast<int64_t>(request.args[2]));
    const auto* const words = arrays.next<std::array<int64_t, 4>>(axes);
    std::vector<DeviceEventAxis> given;
    std::vector<Axis> kept;
    for (uint64_t k = 0; k < axes; ++k) {
      const auto [events, symbols, last_time, reach] = words[k];
      require(events >= 0 && events <= int64_t{UINT32_MAX} && symbols >= 0 && symbols < int64_t{UINT32_MAX} &&
                  last_time >= 0 && last_time < kMaxTime && reach >= 0 && reach < kMaxTime,
              "an axis");
      const auto* const begin = arrays.next<uint32_t>(static_cast<uint64_t>(symbols) + 1);
      // Copied first: what is checked must not change any more.
      kept.push_back({static_cast<uint64_t>(events),
                      static_cast<uint32_t>(symbols),
                      last_time,
                      std::vector<uint32_t>(begin, begin + symbols + 1),
                      {},
                      {},
                      {}});
      const std::vector<uint32_t>& copy = kept.back().begin;
      require(copy.front() == 0 && copy.back() == events && std::is_sorted(copy.begin(), copy.end()), "lists of an axis");
      given.push_back({static_cast<uint64_t>(events), static_cast<uint32_t>(symbols), nullptr, last_time, reach});
    }
    for (uint64_t k = 0; k < axes; ++k) given[k].begin = kept[k].begin.data();
    DeviceEpisodeJob about{};
    about.axes = given.data();
    about.axis_count = axes;
    about.has_order = request.args[1] != 0 ? 1 : 0;
    about.device = static_cast<int32_t>(request.args[2]);
    about.memory_limit = request.args[3];
    about.stop = Job::stop;
    open(channel, JobKind::kEpisodes, reply, [&](Job& job) {
      about.stop_arg = &job;
      job.axes = std::move(kept);
      job.has_order = about.has_order != 0;
      DeviceEpisodes* episodes = nullptr;
      const AcceleratorStatus status = api.open(&about, &episodes, &reply.why);
      job.handle = episodes;
      return status;
    });
    return;
  }
  if (request.op == Op::kCloseEpisodes) return close(channel, request.job, JobKind::kEpisodes);
  const std::shared_ptr<Job> job = job_of(channel, request.job, JobKind::kEpisodes);
  const bool is_sending = request.op == Op::kSendEvents;
  std::optional<Running> running;
  if (request.op != Op::kKernelMs) {
    running.emplace(*this, channel, job, true);
    if (!running->has_turn()) {
      reply.status = AcceleratorStatus::kCancelled;
      return;
    }
  }
  std::shared_lock shared(job->mutex, std::defer_lock);
  std::unique_lock alone(job->mutex, std::defer_lock);
  if (is_sending)
    shared.lock();
  else
    alone.lock();
  require(job->handle != nullptr, "the job is closed");
  auto* const episodes = static_cast<DeviceEpisodes*>(job->handle);
  if (request.op == Op::kKernelMs) {
    const double ms = api.kernel_ms == nullptr ? 0 : api.kernel_ms(episodes);
    std::memcpy(reply.values, &ms, sizeof ms);
    return;
  }
  if (is_sending) {
    const auto [number, array, first, size] = std::array{request.args[0], request.args[1], request.args[2], request.args[3]};
    require(number < job->axes.size(), "no such axis");
    Axis& axis = job->axes[number];
    require(first <= axis.events && size <= axis.events - first, "events outside of the axis");
    const auto kind = static_cast<DeviceEventArray>(array);
    const void* values = nullptr;
    SentParts* sent = nullptr;
    if (array == static_cast<uint64_t>(DeviceEventArray::kSymbols)) {
      const auto* const symbols = arrays.next<uint32_t>(size);
      require(std::all_of(symbols, symbols + size, [&](uint32_t symbol) { return symbol < axis.symbol_count; }), "a symbol");
      values = symbols;
      sent = &axis.symbols;
    } else {
      require(array <= static_cast<uint64_t>(DeviceEventArray::kTimes), "no such array");
      const auto* const times = arrays.next<int64_t>(size);
      require(std::all_of(times, times + size, [&](int64_t time) { return time >= 0 && time <= axis.last_time; }), "a time");
      values = times;
      sent = kind == DeviceEventArray::kTimes ? &axis.times : &axis.lists;
    }
    require(kind == DeviceEventArray::kListTimes || job->has_order, "the order was not announced");
    reply.status = api.send(episodes, number, kind, first, values, size, &reply.why);
    const std::lock_guard lock(job->sent_mutex);
    if (reply.status == AcceleratorStatus::kOk) sent->add(first, size);
    return;
  }
  require(request.op == Op::kCountEpisodes, "no such operation");
  const auto [length, size, method] = std::array{request.args[0], request.args[1], request.args[2]};
  require(length > 0 && length < UINT32_MAX && size < UINT32_MAX &&
              method <= static_cast<uint64_t>(DeviceEpisodeMethod::kMapConcat),
          "a batch");
  const auto* const symbols = arrays.next<uint32_t>(size * length);
  const auto* const gaps = arrays.next<DeviceGap>(size * (length - 1));
  // The module reads them again and again: what is checked must not change any more.
  const std::vector<uint32_t> own_symbols(symbols, symbols + size * length);
  const std::vector<DeviceGap> own_gaps(gaps, gaps + size * (length - 1));
  for (const Axis& axis : job->axes) {
    for (const uint32_t symbol : own_symbols)
      require(symbol < axis.symbol_count && axis.lists.has(axis.begin[symbol], axis.begin[symbol + 1]),
              "a list was not sent");
    require(!job->has_order || (axis.times.has(0, axis.events) && axis.symbols.has(0, axis.events)),
            "the order was not sent");
  }
  for (const DeviceGap& gap : own_gaps) require(gap.low >= 0 && gap.low <= gap.high, "a gap");
  auto* const counts = reinterpret_cast<uint64_t*>(channel.answer(size * sizeof(uint64_t)));
  if (counts == nullptr) throw std::bad_alloc();
  std::fill_n(counts, size, 0);
  const DeviceEpisodeBatch batch{own_symbols.data(), own_gaps.data(), length, size,
                                 static_cast<DeviceEpisodeMethod>(method)};
  reply.status = api.count(episodes, &batch, counts, &reply.why);
  reply.bytes = size * sizeof(uint64_t);
}

}  // namespace batmap::process::host
