// Requests of jobs that search itemsets. See host.h.
#include "process/host/host.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

namespace batmap::process::host {

namespace {

/// Receives itemsets from the module into memory that no session can write to. There is also room for them in the answer.
struct OwnItemsets {
  Channel& channel;
  std::unique_ptr<JoinedItemset[]> data;
  size_t size = 0;
  std::byte* answer = nullptr;

  static JoinedItemset* room(void* arg, size_t size) {
    auto& own = *static_cast<OwnItemsets*>(arg);
    own.data.reset(new (std::nothrow) JoinedItemset[size]);
    own.size = size;
    own.answer = own.channel.answer(size * sizeof(JoinedItemset));
    return own.answer != nullptr ? own.data.get() : nullptr;
  }
};

/// The level that an extension with `push` has made. It has rows if two of its itemsets have one parent, because only those can
/// be joined.
ItemsetLevel pushed_level(const OwnItemsets& found, uint32_t fold_support) {
  ItemsetLevel level{.size = 0, .is_extendable = true, .has_rows = false};
  uint64_t parent = UINT64_MAX;
  for (size_t i = 0; i < found.size; ++i) {
    if (found.data[i].support == fold_support) continue;
    ++level.size;
    level.has_rows |= found.data[i].parent == parent;
    parent = found.data[i].parent;
  }
  return level;
}

}  // namespace

void Host::call_itemsets(Channel& channel, const Request& request, Arrays arrays, Reply& reply) {
  const DeviceItemsetApi& api = *api_->itemsets;
  if (request.op == Op::kOpenItemsets) {
    const auto [items, words, planes] = std::array{request.args[0], request.args[1], request.args[2]};
    require_device(static_cast<int64_t>(request.args[4]));
    require(items > 0 && items <= kMaxItems && words % 8 == 0 && words > 0 && words <= UINT32_MAX && planes <= 32, "items");
    const auto* const given_planes = arrays.next<DevicePlane>(planes);
    const std::vector<DevicePlane> own_planes(given_planes, given_planes + planes);
    for (const DevicePlane& plane : own_planes)
      require(plane.first <= words && plane.words <= words - plane.first && plane.shift < 32, "a plane");
    DeviceItemsetJob about{};
    about.items = static_cast<uint32_t>(items);
    about.words = words;
    about.rows = arrays.next<uint64_t>(items * words);
    about.planes = own_planes.data();
    about.plane_count = static_cast<uint32_t>(planes);
    about.has_bitmaps = request.args[3] != 0 ? 1 : 0;
    about.device = static_cast<int32_t>(request.args[4]);
    about.memory_limit = request.args[5];
    about.stop = Job::stop;
    open(channel, JobKind::kItemsets, reply, [&](Job& job) {
      about.stop_arg = &job;
      job.levels.push_back({items, true, true});
      DeviceItemsets* itemsets = nullptr;
      const AcceleratorStatus status = api.open(&about, &itemsets, &reply.why);
      job.handle = itemsets;
      return status;
    });
    return;
  }
  if (request.op == Op::kCloseItemsets) return close(channel, request.job, JobKind::kItemsets);
  const std::shared_ptr<Job> job = job_of(channel, request.job, JobKind::kItemsets);
  const bool is_work = request.op == Op::kExtend || request.op == Op::kCountJoined || request.op == Op::kPush;
  const Running running(*this, channel, job, is_work);
  if (is_work && !running.has_turn()) {
    reply.status = AcceleratorStatus::kCancelled;
    return;
  }
  const std::unique_lock alone(job->mutex);
  require(job->handle != nullptr && !job->levels.empty(), "the job is closed");
  auto* const itemsets = static_cast<DeviceItemsets*>(job->handle);
  const ItemsetLevel top = job->levels.back();
  switch (request.op) {
    case Op::kExtend: {
      const DeviceExtension step = *arrays.next<DeviceExtension>(1);
      require(top.is_extendable && step.first <= step.last && step.last <= top.size, "a range of parents");
      uint64_t candidates = 0;
      if (step.push == 0) {
        Answers<JoinedItemset> found{channel};
        const DeviceItemsetSink sink{Answers<JoinedItemset>::room, &found};
        reply.status = api.extend(itemsets, &step, &sink, &candidates, &reply.why);
        reply.bytes = found.size * sizeof(JoinedItemset);
      } else {  // the module reads the found itemsets a second time
        OwnItemsets found{channel, {}};
        job->levels.reserve(job->levels.size() + 1);
        const DeviceItemsetSink sink{OwnItemsets::room, &found};
        reply.status = api.extend(itemsets, &step, &sink, &candidates, &reply.why);
        if (reply.status != AcceleratorStatus::kOk) return;
        job->levels.push_back(pushed_level(found, step.fold_support));
        reply.bytes = found.size * sizeof(JoinedItemset);
        std::copy_n(found.data.get(), found.size, reinterpret_cast<JoinedItemset*>(found.answer));
      }
      reply.values[0] = candidates;
      return;
    }
    case Op::kCountJoined:
    case Op::kPush: {
      const uint64_t size = request.args[0];
      const auto* const given = arrays.next<JoinedItemset>(size);
      std::vector<JoinedItemset> joined(given, given + size);
      require(size == 0 || top.has_rows, "a level without rows");
      for (uint64_t i = 0; i < size; ++i) {
        require(joined[i].parent < joined[i].other && joined[i].other < top.size, "an itemset outside of the level");
        require(i == 0 || request.op != Op::kPush || joined[i].parent >= joined[i - 1].parent, "itemsets out of order");
      }
      if (request.op == Op::kPush) {
        reply.status = api.push(itemsets, joined.data(), size, &reply.why);
        if (reply.status == AcceleratorStatus::kOk) job->levels.push_back({size, false, size > 0});
        return;
      }
      auto* const supports = reinterpret_cast<uint32_t*>(channel.answer(size * sizeof(uint32_t)));
      if (supports == nullptr) throw std::bad_alloc();
      reply.status = api.count(itemsets, joined.data(), size, &reply.why);
      for (uint64_t i = 0; i < size; ++i) supports[i] = joined[i].support;
      reply.bytes = size * sizeof(uint32_t);
      return;
    }
    case Op::kPop:
      require(job->levels.size() > 1, "no level is left");
      job->levels.pop_back();
      return api.pop(itemsets);
    case Op::kDropLower:
      for (size_t k = 0; k + 1 < job->levels.size(); ++k) job->levels[k].has_rows = job->levels[k].is_extendable = false;
      return api.drop_lower(itemsets);
    case Op::kRoom: reply.values[0] = api.room(itemsets); return;
    case Op::kItemsetTimes: {
      DeviceItemsetTimes times{};
      api.times(itemsets, &times);
      std::memcpy(channel.answer(sizeof times), &times, sizeof times);
      reply.bytes = sizeof times;
      return;
    }
    default: throw BadRequest{"no such operation"};
  }
}

}  // namespace batmap::process::host
