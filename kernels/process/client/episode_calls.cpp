// Jobs that count episodes. See calls.h.
#include "process/client/calls.h"

#include <algorithm>
#include <cstring>

#include "process/client/call.h"

namespace batmap::process::client {

namespace {

AcceleratorStatus open_episodes(const DeviceEpisodeJob* about, DeviceEpisodes** episodes, AcceleratorMessage* why) {
  return guarded(why, [&] {
    auto job = new_job(about->stop, about->stop_arg);
    Call call(*job, Op::kOpenEpisodes);
    call.args()[0] = about->axis_count;
    call.args()[1] = about->has_order != 0;
    call.args()[2] = static_cast<uint64_t>(about->device);
    call.args()[3] = about->memory_limit;
    uint64_t bytes = about->axis_count * 4 * sizeof(int64_t);
    for (uint64_t k = 0; k < about->axis_count; ++k)
      bytes += ArrayWriter::bytes_of<uint32_t>(uint64_t{about->axes[k].symbol_count} + 1);
    ArrayWriter to(call.room(bytes));
    for (uint64_t k = 0; k < about->axis_count; ++k) {
      const DeviceEventAxis& axis = about->axes[k];
      const int64_t words[] = {static_cast<int64_t>(axis.events), axis.symbol_count, axis.last_time, axis.reach};
      to.add(words, 4);
    }
    for (uint64_t k = 0; k < about->axis_count; ++k) to.add(about->axes[k].begin, uint64_t{about->axes[k].symbol_count} + 1);
    job->number = call.run().values[0];
    *episodes = keep<DeviceEpisodes>(job);
  });
}

AcceleratorStatus send_events(DeviceEpisodes* episodes, uint64_t axis, DeviceEventArray array, uint64_t first,
                              const void* values, uint64_t size, AcceleratorMessage* why) {
  return guarded(why, [&] {
    const size_t width = array == DeviceEventArray::kSymbols ? sizeof(uint32_t) : sizeof(int64_t);
    const uint64_t at_once = kAreaBytes / width;
    for (uint64_t from = 0; from < size; from += at_once) {
      const uint64_t now = std::min(at_once, size - from);
      Call call(job_of(episodes), Op::kSendEvents);
      call.args()[0] = axis;
      call.args()[1] = static_cast<uint64_t>(array);
      call.args()[2] = first + from;
      call.args()[3] = now;
      std::memcpy(call.room(now * width), static_cast<const std::byte*>(values) + from * width, now * width);
      call.run();
    }
  });
}

AcceleratorStatus count_episodes(DeviceEpisodes* episodes, const DeviceEpisodeBatch* batch, uint64_t* counts,
                                 AcceleratorMessage* why) {
  return guarded(why, [&] {
    Call call(job_of(episodes), Op::kCountEpisodes);
    call.args()[0] = batch->length;
    call.args()[1] = batch->size;
    call.args()[2] = static_cast<uint64_t>(batch->method);
    const uint64_t symbols = batch->size * batch->length;
    const uint64_t gaps = batch->size * (batch->length - 1);
    ArrayWriter to(call.room(ArrayWriter::bytes_of<uint32_t>(symbols) + ArrayWriter::bytes_of<DeviceGap>(gaps)));
    to.add(batch->symbols, symbols);
    to.add(batch->gaps, gaps);
    call.run();
    for (const uint64_t count : call.answer<uint64_t>(batch->size)) *counts++ += count;
  });
}

double kernel_ms(const DeviceEpisodes* episodes) {
  double ms = 0;
  guarded(nullptr, [&] {
    Call call(job_of(episodes), Op::kKernelMs);
    std::memcpy(&ms, call.run().values, sizeof ms);
  });
  return ms;
}

void close_episodes(DeviceEpisodes* episodes) { close(reinterpret_cast<RemoteJob*>(episodes), Op::kCloseEpisodes); }

}  // namespace

const DeviceEpisodeApi* episode_calls() {
  static constexpr DeviceEpisodeApi api = {sizeof(DeviceEpisodeApi), open_episodes, send_events,
                                           count_episodes,           kernel_ms,     close_episodes};
  return &api;
}

}  // namespace batmap::process::client
