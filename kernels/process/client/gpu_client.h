// The side of a session: the functions of accel/accelerator.h, done by the GPU process (gpu_host.h). To the engine it is
// a module like any other. A call takes a channel, puts its arrays into the memory that it shares with the process,
// and waits for the reply; while it waits, it looks whether the run is to stop and whether the process lives. Rows
// are collected until a megabyte is full. If the process ends or says nothing, calls end with kFailed, and the CPU
// goes on. Source: ours.
#pragma once

#include <cstdint>
#include <string>

#include "accel/accelerator.h"

namespace batmap::process {

struct ClientOptions {
  std::string socket;        // path
  uint64_t module_mark = 0;  // the process must have this module; 0: any
  int silence_ms = 15000;    // a process that shows no life for so long counts as gone
  bool (*stop)() = nullptr;  // asked while a call without a job waits; may be null
  int patience_ms = 2000;    // how long a call that is to stop, or a job that is closed, is waited for
};

enum class Connected {
  kYes,
  kNobody,    // no process listens
  kRefused,   // it is of another version, or has another module
  kNoModule,  // it could not load its module
};

/// Begins a session with the process. Jobs of a session before stay with that one, and fail.
/// @param why  set unless kYes
Connected connect(const ClientOptions& options, std::string& why);
/// Is there a session, and does its process live as far as is known?
bool is_connected();
/// Ends the session.
void disconnect();

/// What the process said when the session began.
struct ProcessState {
  int32_t pid;
  bool is_warm;  // a device is awake
};
ProcessState last_greeting();

struct ProcessUse {
  int32_t pid;
  uint32_t sessions;
  uint32_t running;                    // of these: that have a call running
  uint32_t waiting;                    // that wait for their turn
  uint64_t memory_bytes[kMaxDevices];  // device memory of all jobs, without contexts
};
/// @return false: the process does not answer
bool ask_use(ProcessUse& use);

/// The functions. They fail without a session.
const AcceleratorApi* client_api();

}  // namespace batmap::process
