// Jobs that search itemsets. See calls.h.
#include <cstring>

#include "process/client/calls.h"

#include "process/client/call.h"

namespace batmap::process::client {

namespace {

AcceleratorStatus open_itemsets(const DeviceItemsetJob* about, DeviceItemsets** itemsets, AcceleratorMessage* why) {
  return guarded(why, [&] {
    auto job = new_job(about->stop, about->stop_arg);
    Call call(*job, Op::kOpenItemsets);
    const uint64_t words = uint64_t{about->items} * about->words;
    uint64_t* const args = call.args();
    args[0] = about->items;
    args[1] = about->words;
    args[2] = about->plane_count;
    args[3] = about->has_bitmaps;
    args[4] = static_cast<uint64_t>(about->device);
    args[5] = about->memory_limit;
    ArrayWriter to(call.room(about->plane_count * sizeof(DevicePlane) + words * sizeof(uint64_t)));
    to.add(about->planes, about->plane_count);
    to.add(about->rows, words);
    job->number = call.run().values[0];
    *itemsets = keep<DeviceItemsets>(job);
  });
}

AcceleratorStatus extend(DeviceItemsets* itemsets, const DeviceExtension* step, const DeviceItemsetSink* sink,
                         uint64_t* candidates, AcceleratorMessage* why) {
  return guarded(why, [&] {
    Call call(job_of(itemsets), Op::kExtend);
    std::memcpy(call.room(sizeof *step), step, sizeof *step);
    *candidates = call.run().values[0];
    hand_over(call.answer<JoinedItemset>(), *sink);
  });
}

AcceleratorStatus count_joined(DeviceItemsets* itemsets, JoinedItemset* candidates, size_t size, AcceleratorMessage* why) {
  return guarded(why, [&] {
    Call call(job_of(itemsets), Op::kCountJoined);
    call.args()[0] = size;
    ArrayWriter(call.room(size * sizeof *candidates)).add(candidates, size);
    call.run();
    for (const uint32_t support : call.answer<uint32_t>(size)) candidates++->support = support;
  });
}

AcceleratorStatus push(DeviceItemsets* itemsets, const JoinedItemset* kept, size_t size, AcceleratorMessage* why) {
  return guarded(why, [&] {
    Call call(job_of(itemsets), Op::kPush);
    call.args()[0] = size;
    ArrayWriter(call.room(size * sizeof *kept)).add(kept, size);
    call.run();
  });
}

/// A call whose failure the next one reports.
void tell(DeviceItemsets* itemsets, Op op) {
  guarded(nullptr, [&] { Call(job_of(itemsets), op).run(); });
}
void pop(DeviceItemsets* itemsets) { tell(itemsets, Op::kPop); }
void drop_lower(DeviceItemsets* itemsets) { tell(itemsets, Op::kDropLower); }

uint64_t room(DeviceItemsets* itemsets) {
  uint64_t bytes = 0;
  guarded(nullptr, [&] { bytes = Call(job_of(itemsets), Op::kRoom).run().values[0]; });
  return bytes;
}

void itemset_times(DeviceItemsets* itemsets, DeviceItemsetTimes* times) {
  *times = {};
  guarded(nullptr, [&] {
    Call call(job_of(itemsets), Op::kItemsetTimes);
    call.run();
    *times = call.answer<DeviceItemsetTimes>(1)[0];
  });
}

void close_itemsets(DeviceItemsets* itemsets) { close(reinterpret_cast<RemoteJob*>(itemsets), Op::kCloseItemsets); }

}  // namespace

const DeviceItemsetApi* itemset_calls() {
  static constexpr DeviceItemsetApi api = {open_itemsets, extend, count_joined,  push,          pop,
                                           drop_lower,    room,   itemset_times, close_itemsets};
  return &api;
}

}  // namespace batmap::process::client
