// Chooses devices by the settings; the SQL function batmap_devices(). See device_use.h.
#include "extension/server/device_use.h"

#include <pthread.h>
#include <span>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <vector>

#include "accel/loader.h"
#include "extension/server/backend.h"
#include "extension/server/boundary.h"
#include "extension/server/context_owned.h"
#include "extension/server/gpu_process.h"
#include "extension/server/settings.h"
#include "pairs/choose.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

/// Has the module a GPU process, or might it have one?
bool is_process_possible(const std::string& module) {
  return settings.gpu_process && IsUnderPostmaster && access(module.c_str(), R_OK) == 0 && has_gpu_program();
}

// What a session without devices waits before it looks for the process again: to look takes some tenths of a millisecond.
constexpr auto kNextLook = std::chrono::seconds(1);

}  // namespace

/// "$libdir" stands for the library folder of the server.
std::string accelerator_path() {
  constexpr char kLibdir[] = "$libdir";
  std::string path = settings.accelerator;
  if (path.rfind(kLibdir, 0) == 0) path = pkglib_path + path.substr(sizeof kLibdir - 1);
  const size_t name = path.find_last_of('/') + 1;
  if (path.find(DLSUFFIX, name) == std::string::npos) path += DLSUFFIX;
  return path;
}

Offload& backend_offload() {
  static const pthread_t session = pthread_self();
  static bool has_own = false;  // this session has loaded the module itself, or has tried to
  static std::chrono::steady_clock::time_point last_look;
  const auto load = [](std::string& why) -> const AcceleratorApi* {
    const std::string module = accelerator_path();
    if (is_process_possible(module)) {
      bool use_own = false;
      last_look = std::chrono::steady_clock::now();
      const AcceleratorApi* const api =
          find_gpu_process({module, true, pthread_equal(pthread_self(), session) != 0}, why, use_own);
      if (!use_own) return api;
    }
    has_own = true;
    const bool is_missing = module.find('/') != std::string::npos && access(module.c_str(), F_OK) != 0 && errno == ENOENT;
    if (!is_missing) return load_accelerator(module, why);
    why = kNoModule;
    why.append(": ").append(module).append(" does not exist");
    return nullptr;
  };
  const auto find = [](std::string& why) -> const AcceleratorApi* {
    const std::string module = accelerator_path();
    if (!is_process_possible(module)) return nullptr;
    bool use_own = false;
    const AcceleratorApi* const api = find_gpu_process({module, false, false}, why, use_own);
    if (api == nullptr || process::last_greeting().is_warm) return api;
    process::disconnect();
    return nullptr;
  };
  static Offload offload(load, {find, [] { return !has_own && std::chrono::steady_clock::now() - last_look >= kNextLook; }});
  return offload;
}

std::optional<process::ProcessUse> gpu_process_use() {
  process::ProcessUse use;
  if (process::is_connected() && process::ask_use(use)) return use;
  return std::nullopt;
}

std::optional<process::ProcessUse> awake_gpu_process_use() {
  if (!process::is_connected()) backend_offload().find();
  return gpu_process_use();
}

DeviceUse selected_devices() {
  static Offload none([](std::string& why) -> const AcceleratorApi* {
    why = "parallel workers use no GPU";
    return nullptr;
  });
  DeviceUse use;
  use.offload = IsParallelWorker() ? &none : &backend_offload();
  use.mode = static_cast<DeviceMode>(settings.device);
  use.memory_limit =
      settings.gpu_memory_limit_kb < 0 ? 0 : std::max<uint64_t>(uint64_t{1024} * settings.gpu_memory_limit_kb, 1);
  for (const char* at = settings.gpu_devices; *at != '\0';) {
    char* end;
    const long index = strtol(at, &end, 10);  // check_gpu_devices() has checked the list
    if (end == at) break;
    use.only.push_back(static_cast<int32_t>(index));
    at = *end == ',' ? end + 1 : end;
  }
  return use;
}

DeviceUse selected_devices(const char* mode) {
  DeviceUse use = selected_devices();
  const std::optional<DeviceMode> parsed = parse_device_mode(mode);
  if (!parsed)
    throw Error(ErrorCode::kInvalidParameter, "unknown device \"" + std::string(mode) + "\"",
                "Available values: auto, cpu, cuda, require.");
  use.mode = *parsed;
  return use;
}

}  // namespace batmap::pg

namespace {

using namespace batmap;
using namespace batmap::pg;

constexpr uint64_t kBreakEvenItems = 4000;
constexpr uint64_t kBreakEvenDensity = 20;  // one of 20 combinations of item and transaction occurs

/// The smallest number of rows, within 10 %, for which `devices` are chosen, for 4,000 items at a density of
/// 5 %. 0: never.
int64_t break_even_rows(std::span<const DeviceTraits> devices) {
  for (double rows = 1e4; rows < 1e10; rows *= 1.1) {
    DeviceSizes sizes;
    sizes.items = sizes.leading = kBreakEvenItems;
    sizes.rows = static_cast<uint64_t>(rows);
    sizes.tid_slots = sizes.rows * kBreakEvenDensity / kBreakEvenItems;
    const uint64_t length = kBreakEvenItems / kBreakEvenDensity;
    sizes.pair_instances = sizes.tid_slots * length * (length - 1) / 2;
    sizes.threads = thread_count();
    PairJob job;
    job.items = job.leading = kBreakEvenItems;
    job.tid_slots = sizes.tid_slots;
    job.occurrences = job.leading_occurrences = sizes.rows;
    job.pair_instances = sizes.pair_instances;
    job.row_words = sizes.rows * kBreakEvenItems / 128;
    job.bitmap_words_per_ns = selected_kernels().bits->words_per_ns;
    job.positional_words_per_ns = selected_kernels().bits->row_words_per_ns;
    job.threads = thread_count();
    const PairChoice choice = choose_pair_method(job);
    const double cpu_ms = choice.estimates[static_cast<size_t>(choice.method)].milliseconds;
    if (choose_device(DeviceMode::kAuto, sizes, devices, cpu_ms, std::nullopt).method) return static_cast<int64_t>(rows);
  }
  return 0;
}

struct DeviceList {
  std::vector<DeviceTraits> devices;
  std::vector<std::array<int64_t, 2>> break_even;  // [device] rows without and with an existing context
  std::optional<process::ProcessUse> use;          // of the GPU process, if it drives them
  std::string why_not;
};

}  // namespace

BATMAP_FUNCTION(batmap_devices) {
  InitMaterializedSRF(fcinfo, 0);
  auto* const result = reinterpret_cast<ReturnSetInfo*>(fcinfo->resultinfo);
  DeviceList& list = *ContextOwned<DeviceList>::reserve(CurrentMemoryContext)->emplace();
  guarded([&] {
    const DeviceUse use = selected_devices();
    Offload& offload = backend_offload();
    std::string notice;
    list.devices = offload.devices(use.only);
    offload.attempt(DeviceMode::kAuto, notice, [&] { offload.prepare(list.devices); });
    for (const DeviceTraits& device : list.devices) {
      DeviceTraits cold = device;
      cold.ready = 0;
      list.break_even.push_back({break_even_rows({&cold, 1}), break_even_rows({&device, 1})});
    }
    list.use = gpu_process_use();
    list.why_not = offload.why_not();
    if (list.devices.empty() && list.why_not.empty()) list.why_not = "batmap.gpu_devices names no device that is there";
  });
  constexpr int kColumns = 19;
  constexpr int kReason = kColumns - 1;
  if (list.devices.empty()) {
    Datum values[kColumns] = {};
    bool nulls[kColumns];
    std::fill_n(nulls, kColumns, true);
    values[1] = CStringGetTextDatum("none");
    values[kReason] = CStringGetTextDatum(list.why_not.c_str());
    nulls[1] = nulls[kReason] = false;
    tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
    return Datum{0};
  }
  for (size_t i = 0; i < list.devices.size(); ++i) {
    const DeviceTraits& device = list.devices[i];
    const DeviceRates& rates = device.rates;
    char capability[16];
    snprintf(capability, sizeof capability, "%d.%d", device.major, device.minor);
    Datum values[kColumns];
    bool nulls[kColumns] = {};
    int at = 0;
    values[at++] = Int32GetDatum(device.index);
    values[at++] = CStringGetTextDatum(device.name);
    values[at++] = CStringGetTextDatum(capability);
    values[at++] = Int32GetDatum(device.multiprocessors);
    values[at++] = Int64GetDatum(static_cast<int64_t>(device.memory_bytes));
    values[at++] = CStringGetTextDatum(device.bit_kernel);
    for (const double rate : {rates.context_ms, rates.upload_bytes, rates.download_bytes, rates.and_bits, rates.increments})
      values[at++] = Float8GetDatum(rate);
    for (const int64_t rows : list.break_even[i]) {
      nulls[at] = rows == 0;
      values[at++] = Int64GetDatum(rows);
    }
    std::fill_n(nulls + at, 5, !list.use);
    const process::ProcessUse use = list.use.value_or(process::ProcessUse{});
    values[at++] = Int32GetDatum(use.pid);
    for (const uint32_t sessions : {use.sessions, use.running, use.waiting})
      values[at++] = Int32GetDatum(static_cast<int32_t>(sessions));
    values[at++] = Int64GetDatum(static_cast<int64_t>(use.memory_bytes[static_cast<uint32_t>(device.index) % kMaxDevices]));
    nulls[at] = list.why_not.empty();
    values[at++] = CStringGetTextDatum(list.why_not.c_str());
    Assert(at == kColumns);
    tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
  }
  return Datum{0};
}
