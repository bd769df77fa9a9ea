// The wall of the module: no exception passes it.
#pragma once

#include <cstdio>
#include <exception>
#include <new>

#include "cuda/device_memory.h"

namespace batmap::cuda {

/// Runs a body; what it throws becomes a status and a message.
template <typename Body>
AcceleratorStatus guarded(AcceleratorMessage* why, Body body) {
  const auto say = [why](const char* text) {
    if (why != nullptr) std::snprintf(why->text, sizeof why->text, "%s", text);
  };
  try {
    body();
    return AcceleratorStatus::kOk;
  } catch (const DeviceError& error) {
    say(error.text.c_str());
    return error.status;
  } catch (const std::bad_alloc&) {
    say("out of memory");
    return AcceleratorStatus::kOutOfMemory;
  } catch (const std::exception& error) {
    say(error.what());
    return AcceleratorStatus::kFailed;
  } catch (...) {
    say("unknown error");
    return AcceleratorStatus::kFailed;
  }
}

}  // namespace batmap::cuda
