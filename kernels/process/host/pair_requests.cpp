// Requests of jobs that count pairs. See host.h.
#include "process/host/host.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

#include "set/set_format.h"

namespace batmap::process::host {

/// The rows lie in the channel. The caller holds the job.
void Host::add_rows(Channel& channel, const Request& request, Job& job, Reply& reply) {
  const uint64_t rows = request.args[0];
  const DevicePairJob& about = job.pairs;
  require(rows <= kAreaRows && about.method != DeviceMethod::kBatmap && !job.is_complete, "rows");
  require(request.has_file == 0 && job.rows.fetch_add(rows) + rows <= about.rows, "more rows than were announced");
  const auto* const tids = reinterpret_cast<const uint32_t*>(channel.area());
  const uint32_t* const items = tids + kAreaRows;
  require(rows == 0 || (about.tid_slots > 0 && are_at_most(about.tid_slots - 1, {tids, rows}) &&
                        are_at_most(about.items - 1, {items, rows})),
          "a row is outside of the job");
  note_bytes(channel, about.devices[0], rows * 2 * sizeof(uint32_t));
  reply.status = api_->add_rows(static_cast<DevicePairs*>(job.handle), tids, items, rows, &reply.why);
}

void Host::call_pairs(Channel& channel, const Request& request, Arrays arrays, Reply& reply) {
  if (request.op == Op::kOpenPairs) {
    DevicePairJob given = *arrays.next<DevicePairJob>(1);
    require(given.items > 0 && given.items <= kMaxItems && given.leading <= given.items && given.first_column < given.items,
            "items");
    require(given.method == DeviceMethod::kBitmap || given.method == DeviceMethod::kHorizontal ||
                given.method == DeviceMethod::kBatmap || given.method == DeviceMethod::kLists,
            "no such method");
    require(given.device_count > 0 && given.device_count <= kMaxDevices, "devices");
    for (uint32_t i = 0; i < given.device_count; ++i) {
      require_device(given.devices[i]);
      require(std::find(given.devices, given.devices + i, given.devices[i]) == given.devices + i, "a device twice");
    }
    given.stop = Job::stop;
    open(channel, JobKind::kPairs, reply, [&](Job& job) {
      given.stop_arg = &job;
      job.pairs = given;
      DevicePairs* pairs = nullptr;
      const AcceleratorStatus status = api_->open_pairs(&given, &pairs, &reply.why);
      job.handle = pairs;
      return status;
    });
    return;
  }
  if (request.op == Op::kClosePairs) return close(channel, request.job, JobKind::kPairs);
  const std::shared_ptr<Job> job = job_of(channel, request.job, JobKind::kPairs);
  if (request.op == Op::kPairTimes) {
    const std::shared_lock lock(job->mutex);
    double times[2] = {};
    if (job->handle != nullptr && api_->times != nullptr)
      api_->times(static_cast<DevicePairs*>(job->handle), &times[0], &times[1]);
    std::memcpy(reply.values, times, sizeof times);
    return;
  }
  const Running running(*this, channel, job, true);
  if (!running.has_turn()) {
    reply.status = AcceleratorStatus::kCancelled;
    return;
  }
  std::shared_lock shared(job->mutex, std::defer_lock);
  std::unique_lock alone(job->mutex, std::defer_lock);
  if (request.op == Op::kAddSets || request.op == Op::kBuild)
    alone.lock();
  else
    shared.lock();
  require(job->handle != nullptr, "the job is closed");
  auto* const pairs = static_cast<DevicePairs*>(job->handle);
  const DevicePairJob& about = job->pairs;
  const bool is_of_sets = about.method == DeviceMethod::kBatmap;
  switch (request.op) {
    case Op::kAddRows: add_rows(channel, request, *job, reply); return;
    case Op::kAddSets: {
      const uint64_t sets = request.args[0];
      const uint64_t width = request.args[1];
      const uint64_t stashed = request.args[2];
      require(is_of_sets && !job->is_complete && !job->has_sets && sets == about.items && width <= uint64_t{kMaxWidth},
              "sets");
      // The session can still write to what it sent: sizes are checked and used in memory of this process.
      const auto* const sent_cardinality = arrays.next<uint64_t>(sets);
      const std::vector<uint64_t> cardinality(sent_cardinality, sent_cardinality + sets);
      const auto* const sent_begin = arrays.next<uint32_t>(sets + 1);
      const std::vector<uint32_t> stash_begin(sent_begin, sent_begin + sets + 1);
      const auto* const stash = arrays.next<uint64_t>(stashed);
      require(stash_begin[0] == 0 && stash_begin[sets] == stashed, "stash");
      uint64_t plane_bytes = 0;
      for (uint64_t i = 0; i < sets; ++i) {
        require(cardinality[i] <= std::min(uint64_t{UINT32_MAX}, universe_of(static_cast<int>(width))) &&
                    (i == 0 || cardinality[i] >= cardinality[i - 1]) &&
                    container_for(cardinality[i], static_cast<int>(width)) == Container::kBatmap,
                "a set is no batmap");
        require(stash_begin[i + 1] >= stash_begin[i] && stash_begin[i + 1] <= stashed, "stash");
        for (uint32_t k = stash_begin[i]; k < stash_begin[i + 1]; ++k)
          require(stash[k] < uint64_t{1} << width && (k == stash_begin[i] || stash[k] > stash[k - 1]), "stash");
        plane_bytes += batmap_shape(cardinality[i], static_cast<int>(width)).bytes();  // below 2^38
        require(plane_bytes <= kMaxPlaneBytes, "more planes than any device has room for");
      }
      const DeviceSets given{static_cast<uint32_t>(sets), static_cast<uint32_t>(width), cardinality.data(),
                             stash_begin.data(), stash};
      reply.status = api_->add_sets(pairs, &given, &reply.why);
      job->has_sets = reply.status == AcceleratorStatus::kOk;
      job->plane_bytes = plane_bytes;
      return;
    }
    case Op::kAddPlanes: {
      const uint64_t offset = request.args[0];
      const uint64_t bytes = request.bytes;
      require(request.has_file == 0 && job->has_sets && !job->is_complete, "planes");
      require(offset <= job->plane_bytes && bytes <= job->plane_bytes - offset, "planes outside of the sets");
      note_bytes(channel, about.devices[0], bytes);
      const PlanePiece piece{reinterpret_cast<const unsigned char*>(channel.area()), bytes};
      reply.status = api_->add_planes(pairs, offset, &piece, 1, &reply.why);
      const std::lock_guard lock(job->sent_mutex);
      if (reply.status == AcceleratorStatus::kOk) job->planes.add(offset, bytes);
      return;
    }
    case Op::kBuild: {
      require(!job->is_complete && job->has_sets == is_of_sets && job->planes.has(0, job->plane_bytes), "nothing to build");
      if (request.args[0] > 0) add_rows(channel, request, *job, reply);
      job->is_complete = true;
      if (reply.status != AcceleratorStatus::kOk) return;
      const uint64_t bytes = uint64_t{about.items} * sizeof(uint32_t);
      auto* const supports = reinterpret_cast<uint32_t*>(channel.answer(bytes));
      if (supports == nullptr) throw std::bad_alloc();
      reply.status = api_->build(pairs, supports, &reply.why);
      job->is_built = reply.status == AcceleratorStatus::kOk;
      reply.bytes = bytes;
      return;
    }
    case Op::kCountRows: {
      const auto [first, last, threshold] = std::array{request.args[0], request.args[1], request.args[2]};
      require(job->is_built && about.method != DeviceMethod::kLists && first % 128 == 0 && first <= last &&
                  last <= about.leading && (last % 128 == 0 || last == about.leading) && threshold <= UINT32_MAX,
              "a range of rows");
      Answers<DevicePair> found{channel};
      const DevicePairSink sink{Answers<DevicePair>::room, &found};
      reply.status = api_->count_rows(pairs, static_cast<uint32_t>(first), static_cast<uint32_t>(last),
                                      static_cast<uint32_t>(threshold), &sink, &reply.why);
      reply.bytes = found.size * sizeof(DevicePair);
      return;
    }
    case Op::kCountList: {
      const uint64_t size = request.args[0];
      require(job->is_built && (about.method != DeviceMethod::kHorizontal || about.counts_all != 0) &&
                  api_->count_list != nullptr,
              "no list is counted");
      const auto* const a = arrays.next<uint32_t>(size);
      const auto* const b = arrays.next<uint32_t>(size);
      require(are_at_most(about.items - 1, {a, size}) && are_at_most(about.items - 1, {b, size}),
              "a pair is outside of the job");
      if (request.has_file == 0) note_bytes(channel, about.devices[0], request.bytes);
      auto* const counts = reinterpret_cast<uint32_t*>(channel.answer(size * sizeof(uint32_t)));
      if (counts == nullptr) throw std::bad_alloc();
      reply.status = api_->count_list(pairs, a, b, size, counts, &reply.why);
      reply.bytes = size * sizeof(uint32_t);
      return;
    }
    default: throw BadRequest{"no such operation"};
  }
}

}  // namespace batmap::process::host
