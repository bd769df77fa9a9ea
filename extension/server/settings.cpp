// Defines the settings. See settings.h.
#include "extension/server/settings.h"

#include "accel/device_policy.h"
#include "extension/server/budget.h"

#include "extension/server/pg.h"

namespace batmap::pg {

Settings settings;

namespace {

const config_enum_entry kOnTruncation[] = {
    {"warning", static_cast<int>(OnTruncation::kWarning), false},
    {"error", static_cast<int>(OnTruncation::kError), false},
    {nullptr, 0, false},
};

const config_enum_entry kDevices[] = {
    {"auto", static_cast<int>(DeviceMode::kAuto), false},
    {"cpu", static_cast<int>(DeviceMode::kCpu), false},
    {"cuda", static_cast<int>(DeviceMode::kCuda), false},
    {"require", static_cast<int>(DeviceMode::kRequire), false},
    {nullptr, 0, false},
};

/// Accepts an empty list, or numbers with commas between them.
bool check_gpu_devices(char** list, void**, GucSource) {
  for (const char* at = *list; *at != '\0';) {
    char* end;
    const long index = strtol(at, &end, 10);
    if (end == at || index < 0 || index >= static_cast<long>(kMaxDevices) || (*end != ',' && *end != '\0') ||
        (*end == ',' && end[1] == '\0')) {
      GUC_check_errhint("Give the numbers of GPUs, such as 0,1, or nothing for all.");
      return false;
    }
    at = *end == ',' ? end + 1 : end;
  }
  return true;
}

bool check_cpu_kernel(char** name, void**, GucSource) {
  if (find_and_popcount(*name) != nullptr) return true;
  static char names[128];
  strlcpy(names, and_popcount_names().c_str(), sizeof names);
  GUC_check_errhint("Available values on this machine: %s.", names);
  return false;
}

}  // namespace

PairKernels selected_kernels() {
  const AndPopcountKernel* kernel = find_and_popcount(settings.cpu_kernel);
  return {kernel != nullptr ? kernel : &best_and_popcount(), &selected_set_kernel()};
}

const SetKernel& selected_set_kernel() {
  const SetKernel* kernel = find_set_kernel(settings.cpu_kernel);
  return kernel != nullptr ? *kernel : best_set_kernel();
}

void define_settings() {
  DefineCustomIntVariable("batmap.threads", "Threads that a batmap function may use.",
                          "0 means one more than max_parallel_workers_per_gather, at most the number of processors. "
                          "It is cut to one more than batmap.max_threads.",
                          &settings.threads, 0, 0, 1024, PGC_USERSET, GUC_EXPLAIN, nullptr, nullptr, nullptr);
  DefineCustomIntVariable("batmap.memory_limit", "Memory that one run of a batmap function may use.",
                          "-1 means as much as batmap.max_memory allows.", &settings.memory_limit_kb, 4 * 1024 * 1024, -1,
                          INT_MAX, PGC_USERSET, GUC_UNIT_KB | GUC_EXPLAIN, nullptr, nullptr, nullptr);
  DefineCustomIntVariable("batmap.max_threads", "Threads that all runs together may start beside those of their sessions.",
                          "-1 means the number of processors. The runs are those of all sessions where batmap is in "
                          "shared_preload_libraries, and else those of one session.",
                          &settings.max_threads, -1, -1, 65535, PGC_SUSET, GUC_EXPLAIN, nullptr, assign_max_threads,
                          nullptr);
  DefineCustomIntVariable("batmap.max_memory", "Memory that all runs together may use.",
                          "-1 means half of the machine's memory. The runs are those of all sessions where batmap is in "
                          "shared_preload_libraries, and else those of one session.",
                          &settings.max_memory_mb, -1, -1, INT_MAX, PGC_SUSET, GUC_UNIT_MB | GUC_EXPLAIN, nullptr,
                          assign_max_memory, nullptr);
  DefineCustomIntVariable("batmap.work_mem", "Memory that a run tries to stay within by using temporary files.",
                          "-1 means work_mem times hash_mem_multiplier, and at least 256 MB.", &settings.work_mem_kb, -1, -1,
                          INT_MAX, PGC_USERSET, GUC_UNIT_KB | GUC_EXPLAIN, nullptr, nullptr, nullptr);
  DefineCustomEnumVariable("batmap.on_truncation", "What happens when max_results or timeout cuts an answer short.", nullptr,
                           &settings.on_truncation, static_cast<int>(OnTruncation::kWarning), kOnTruncation, PGC_USERSET, 0,
                           nullptr, nullptr, nullptr);
  DefineCustomBoolVariable("batmap.enable_join_project",
                           "Enables the planner's use of the engine for joins that are grouped by items of both sides.",
                           nullptr, &settings.enable_join_project, true, PGC_USERSET, GUC_EXPLAIN, nullptr, nullptr,
                           nullptr);
  DefineCustomBoolVariable("batmap.enable_aggregate",
                           "Enables the planner's use of aggregates that read the rows of batmap in blocks.", nullptr,
                           &settings.enable_aggregate, true, PGC_USERSET, GUC_EXPLAIN, nullptr, nullptr, nullptr);
  DefineCustomBoolVariable("batmap.enable_nearest",
                           "Enables the planner's use of a GIN index for the sets nearest to a set.", nullptr,
                           &settings.enable_nearest, true, PGC_USERSET, GUC_EXPLAIN, nullptr, nullptr, nullptr);
  DefineCustomBoolVariable("batmap.enable_kept_counts",
                           "Enables the planner's use of kept counts for joins of a kept table with itself.", nullptr,
                           &settings.enable_kept_counts, true, PGC_USERSET, GUC_EXPLAIN, nullptr, nullptr, nullptr);
  DefineCustomIntVariable("batmap.merge_interval", "Time between two background merges of kept counts.",
                          "0 turns them off. They run where batmap is in shared_preload_libraries.",
                          &settings.merge_interval_s, 60, 0, 24 * 3600, PGC_SIGHUP, GUC_UNIT_S, nullptr, nullptr, nullptr);
  DefineCustomIntVariable("batmap.merge_rows", "Changes of a kept table from which on a background merge takes them.",
                          nullptr, &settings.merge_rows, 1000, 1, INT_MAX, PGC_SUSET, 0, nullptr, nullptr, nullptr);
  DefineCustomRealVariable("batmap.similarity_threshold",
                           "The least Jaccard index of two sets that are like each other (%).", nullptr,
                           &settings.similarity_threshold, 0.3, 0, 1, PGC_USERSET, GUC_EXPLAIN, nullptr, nullptr, nullptr);
  DefineCustomBoolVariable("batmap.explain_why", "EXPLAIN says why joins that are grouped keep the plain plan.", nullptr,
                           &settings.explain_why, false, PGC_USERSET, 0, nullptr, nullptr, nullptr);
  DefineCustomStringVariable("batmap.cpu_kernel", "Vector instructions used for counting bits.",
                             "auto takes the fastest that the processor has.", &settings.cpu_kernel, "auto", PGC_USERSET, 0,
                             check_cpu_kernel, nullptr, nullptr);
  DefineCustomEnumVariable("batmap.device", "Where pairs, sets, itemsets and episodes are counted.",
                           "auto takes a GPU where that pays, cuda where there is one, require or else fails.",
                           &settings.device, static_cast<int>(DeviceMode::kAuto), kDevices, PGC_USERSET, GUC_EXPLAIN,
                           nullptr, nullptr, nullptr);
  DefineCustomStringVariable("batmap.gpu_devices", "Numbers of the GPUs that may be used.", "Empty means all.",
                             &settings.gpu_devices, "", PGC_USERSET, 0, check_gpu_devices, nullptr, nullptr);
  DefineCustomIntVariable("batmap.gpu_memory_limit", "Memory of each GPU that one run may use.",
                          "-1 means what there is. The value of the server's configuration also holds for all runs of the "
                          "GPU process together.",
                          &settings.gpu_memory_limit_kb, -1, -1, INT_MAX, PGC_USERSET, GUC_UNIT_KB, nullptr, nullptr,
                          nullptr);
  DefineCustomBoolVariable("batmap.gpu_process", "One process of the server drives the GPUs for all sessions.",
                           "off: each session that uses a GPU drives it by itself.", &settings.gpu_process, true, PGC_SUSET,
                           0, nullptr, nullptr, nullptr);
  DefineCustomStringVariable("batmap.accelerator", "Path of the module that drives GPUs.",
                             "It is loaded when a session first asks for a GPU.", &settings.accelerator,
                             "$libdir/batmap_cuda", PGC_SUSET, 0, nullptr, nullptr, nullptr);
  MarkGUCPrefixReserved("batmap");
}

}  // namespace batmap::pg
