// The session of this process with the GPU process. See gpu_client.h.
#include "process/client/gpu_client.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>

#include "process/client/call.h"
#include "process/client/calls.h"

namespace batmap::process {

namespace {

using client::Call;
using client::guarded;
using client::Link;

std::mutex current_mutex;
std::shared_ptr<Link> current;
ProcessState greeting{};

AcceleratorStatus devices(DeviceTraits* traits, uint32_t* count, AcceleratorMessage* why) {
  *count = 0;
  return guarded(why, [&] {
    Call call(client::current_link(), Op::kDevices, nullptr);
    call.run();
    for (const DeviceTraits& device : call.answer<DeviceTraits>())
      if (*count < kMaxDevices) traits[(*count)++] = device;
  });
}

AcceleratorStatus prepare(int32_t device, DeviceTraits* traits, AcceleratorMessage* why) {
  return guarded(why, [&] {
    Call call(client::current_link(), Op::kPrepare, nullptr);
    call.args()[0] = static_cast<uint64_t>(device);
    call.run();
    *traits = call.answer<DeviceTraits>(1)[0];
  });
}

}  // namespace

std::shared_ptr<Link> client::current_link() {
  const std::lock_guard lock(current_mutex);
  if (current == nullptr) throw CallFailure{AcceleratorStatus::kFailed, "no session with the GPU process"};
  return current;
}

Connected connect(const ClientOptions& options, std::string& why) {
  auto link = std::make_shared<Link>(options);
  Reply reply;
  std::unique_ptr<client::Channel> channel = link->open_channel(reply);
  const ProcessState state{static_cast<int32_t>(reply.values[3]), reply.values[2] != 0};
  Connected connected = Connected::kYes;
  if (channel == nullptr) {
    switch (reply.status) {
      case AcceleratorStatus::kOk:
      case AcceleratorStatus::kCancelled: connected = Connected::kNobody; break;
      case AcceleratorStatus::kNoDevice: connected = Connected::kNoModule; break;
      default: connected = Connected::kRefused;
    }
    why = connected == Connected::kNobody ? "the GPU process does not run" : reply.why.text;
  }
  if (connected != Connected::kNobody && options.module_mark != 0 && reply.values[4] != 0 &&
      reply.values[4] != options.module_mark) {
    connected = Connected::kRefused;
    why = "the GPU process has another module";
  }
  const std::lock_guard lock(current_mutex);
  greeting = state;
  if (connected != Connected::kYes) return connected;
  link->key[0] = reply.values[0];
  link->key[1] = reply.values[1];
  link->channels = 1;
  link->idle.push_back(std::move(channel));
  current = std::move(link);
  return connected;
}

bool is_connected() {
  const std::lock_guard lock(current_mutex);
  return current != nullptr && !current->is_broken;
}

void disconnect() {
  const std::lock_guard lock(current_mutex);
  current.reset();
}

ProcessState last_greeting() {
  const std::lock_guard lock(current_mutex);
  return greeting;
}

bool ask_use(ProcessUse& use) {
  use = {};
  return guarded(nullptr, [&] {
           Call call(client::current_link(), Op::kStatus, nullptr);
           const Reply& reply = call.run();
           use.pid = last_greeting().pid;
           use.sessions = static_cast<uint32_t>(reply.values[0]);
           std::copy_n(reply.values + 1, kMaxDevices, use.memory_bytes);
           use.running = static_cast<uint32_t>(reply.values[1 + kMaxDevices]);
           use.waiting = static_cast<uint32_t>(reply.values[1 + kMaxDevices] >> 32);
         }) == AcceleratorStatus::kOk;
}

/// Budgets and pinned memory are the process's own: a session sets none.
const AcceleratorApi* client_api() {
  static const AcceleratorApi api = [] {
    AcceleratorApi table = client::pair_calls();
    table.abi = kAcceleratorAbi;
    table.size = sizeof table;
    table.devices = devices;
    table.prepare = prepare;
    table.episodes = client::episode_calls();
    table.itemsets = client::itemset_calls();
    return table;
  }();
  return &api;
}

}  // namespace batmap::process
