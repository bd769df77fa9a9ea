// Jobs that count pairs. Rows are collected in channels; sets and lists are sent an area at a time. See calls.h.
#include "process/client/calls.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "process/client/call.h"

namespace batmap::process::client {

namespace {

AcceleratorStatus open_pairs(const DevicePairJob* about, DevicePairs** pairs, AcceleratorMessage* why) {
  return guarded(why, [&] {
    auto job = new_job(about->stop, about->stop_arg);
    job->items = about->items;
    job->rows = about->rows;
    Call call(*job, Op::kOpenPairs);
    DevicePairJob sent = *about;
    sent.stop = nullptr;
    sent.stop_arg = nullptr;
    std::memcpy(call.room(sizeof sent), &sent, sizeof sent);
    job->number = call.run().values[0];
    *pairs = keep<DevicePairs>(job);
  });
}

AcceleratorStatus add_rows(DevicePairs* pairs, const uint32_t* tids, const uint32_t* items, size_t rows,
                           AcceleratorMessage* why) {
  return guarded(why, [&] {
    RemoteJob& job = job_of(pairs);
    throw_if_failed(job);
    while (rows > 0) {
      Call call(job.link, Op::kAddRows, &job, true);
      Channel& channel = call.channel();
      auto* const to = reinterpret_cast<uint32_t*>(channel.area());
      const size_t now = std::min(rows, kAreaRows - channel.rows);
      std::memcpy(to + channel.rows, tids, now * sizeof *tids);
      std::memcpy(to + kAreaRows + channel.rows, items, now * sizeof *items);
      tids += now;
      items += now;
      rows -= now;
      channel.rows += now;
      if (channel.filling == nullptr) {
        channel.filling = job.self;
        job.link->tie(job);
      }
      if (channel.rows == kAreaRows) call.leave_rows();
    }
    throw_if_failed(job);
  });
}

AcceleratorStatus add_sets(DevicePairs* pairs, const DeviceSets* sets, AcceleratorMessage* why) {
  return guarded(why, [&] {
    Call call(job_of(pairs), Op::kAddSets);
    const uint64_t size = sets->sets;
    const uint64_t stashed = sets->stash_begin[size];
    const uint64_t bytes = ArrayWriter::bytes_of<uint64_t>(size) + ArrayWriter::bytes_of<uint32_t>(size + 1) +
                           ArrayWriter::bytes_of<uint64_t>(stashed);
    call.args()[0] = size;
    call.args()[1] = sets->width;
    call.args()[2] = stashed;
    ArrayWriter to(call.room(bytes));
    to.add(sets->cardinality, size);
    to.add(sets->stash_begin, size + 1);
    to.add(sets->stash, stashed);
    call.run();
  });
}

/// Fills one area after the other.
AcceleratorStatus add_planes(DevicePairs* pairs, uint64_t offset, const PlanePiece* pieces, size_t count,
                             AcceleratorMessage* why) {
  return guarded(why, [&] {
    size_t at = 0;      // piece
    uint64_t done = 0;  // bytes of it
    while (at < count) {
      Call call(job_of(pairs), Op::kAddPlanes);
      call.args()[0] = offset;
      std::byte* const area = call.channel().area();
      uint64_t used = 0;
      while (at < count && used < kAreaBytes) {
        const uint64_t now = std::min(pieces[at].bytes - done, kAreaBytes - used);
        std::memcpy(area + used, pieces[at].data + done, now);
        used += now;
        done += now;
        if (done == pieces[at].bytes) ++at, done = 0;
      }
      call.room(used);
      call.run();
      offset += used;
    }
  });
}

/// Sends what waits in channels, all at once, and waits until it has arrived. The rows of one channel travel with the request.
AcceleratorStatus build(DevicePairs* pairs, uint32_t* supports, AcceleratorMessage* why) {
  return guarded(why, [&] {
    RemoteJob& job = job_of(pairs);
    std::optional<Call> call;
    while (std::unique_ptr<Channel> channel = job.link->borrow_with_rows(job)) {
      const bool is_waiting = channel->filling != nullptr;
      if (is_waiting && !call) {
        call.emplace(job, Op::kBuild, std::move(channel));
        call->args()[0] = call->take_rows();
        continue;
      }
      Call other(job, Op::kAddRows, std::move(channel));
      if (is_waiting)
        other.leave_rows();
      else
        other.catch_up();
    }
    throw_if_failed(job);
    if (!call) call.emplace(job, Op::kBuild);
    call->run();
    std::ranges::copy(call->answer<uint32_t>(job.items), supports);
  });
}

AcceleratorStatus count_rows(DevicePairs* pairs, uint32_t first, uint32_t last, uint32_t threshold,
                             const DevicePairSink* sink, AcceleratorMessage* why) {
  return guarded(why, [&] {
    Call call(job_of(pairs), Op::kCountRows);
    call.args()[0] = first;
    call.args()[1] = last;
    call.args()[2] = threshold;
    call.run();
    hand_over(call.answer<DevicePair>(), *sink);
  });
}

AcceleratorStatus count_list(DevicePairs* pairs, const uint32_t* a, const uint32_t* b, size_t size, uint32_t* counts,
                             AcceleratorMessage* why) {
  constexpr size_t kAtOnce = kAreaBytes / 2 / sizeof(uint32_t);  // both arrays fit into the area
  return guarded(why, [&] {
    for (size_t from = 0; from < size; from += kAtOnce) {
      const size_t now = std::min(kAtOnce, size - from);
      Call call(job_of(pairs), Op::kCountList);
      call.args()[0] = now;
      ArrayWriter to(call.room(2 * ArrayWriter::bytes_of<uint32_t>(now)));
      to.add(a + from, now);
      to.add(b + from, now);
      call.run();
      std::ranges::copy(call.answer<uint32_t>(now), counts + from);
    }
  });
}

void pair_times(const DevicePairs* pairs, double* build_ms, double* count_ms) {
  *build_ms = *count_ms = 0;
  guarded(nullptr, [&] {
    Call call(job_of(pairs), Op::kPairTimes);
    const Reply& reply = call.run();
    std::memcpy(build_ms, &reply.values[0], sizeof *build_ms);
    std::memcpy(count_ms, &reply.values[1], sizeof *count_ms);
  });
}

void close_pairs(DevicePairs* pairs) { close(reinterpret_cast<RemoteJob*>(pairs), Op::kClosePairs); }

}  // namespace

AcceleratorApi pair_calls() {
  AcceleratorApi api{};
  api.open_pairs = open_pairs;
  api.add_rows = add_rows;
  api.add_sets = add_sets;
  api.add_planes = add_planes;
  api.build = build;
  api.count_rows = count_rows;
  api.count_list = count_list;
  api.times = pair_times;
  api.close_pairs = close_pairs;
  return api;
}

}  // namespace batmap::process::client
