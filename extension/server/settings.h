// The settings (GUCs) of the extension. docs/reference.md describes them for users.
#pragma once

#include "pairs/build_counter.h"
#include "set/set_kernel.h"

namespace batmap::pg {

enum class OnTruncation { kWarning, kError };

struct Settings {
  int threads;          // 0: follow max_parallel_workers_per_gather
  int max_threads;      // -1: the number of processors; see budget.h
  int max_memory_mb;    // -1: half of the memory of the machine; see budget.h
  int memory_limit_kb;  // -1: none
  int work_mem_kb;      // -1: follow work_mem of the server
  int on_truncation;    // OnTruncation
  bool enable_join_project;
  bool enable_aggregate;
  bool enable_nearest;
  bool enable_kept_counts;
  int merge_interval_s;  // 0: the launcher sleeps
  int merge_rows;
  double similarity_threshold;
  bool explain_why;
  bool gpu_process;
  int device;               // DeviceMode
  int gpu_memory_limit_kb;  // -1: none
  char* cpu_kernel;         // name in the table of kernels, or "auto"
  char* gpu_devices;        // "0,1"; empty: all
  char* accelerator;        // path of the module
};

extern Settings settings;

/// The kernels that batmap.cpu_kernel names.
PairKernels selected_kernels();
const SetKernel& selected_set_kernel();

/// Called once, from _PG_init.
void define_settings();

}  // namespace batmap::pg
