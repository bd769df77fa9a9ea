// The boundary between C++ exceptions and errors of the server.
//
// Every SQL function has three kinds of steps. *Read* and *answer* call the server and keep nothing on the
// stack that owns anything. *Compute* calls the engine inside guarded() and never calls the server. A memory
// context owns what must live across steps (context_owned.h). Where the engine must call the server
// (server_files.h), it does so through server_call(), which turns errors of the server into exceptions.
#pragma once

#include <new>
#include <type_traits>

#include "core/error.h"
#include "extension/server/pg.h"

namespace batmap::pg {

/// An error of the server that passes through engine code as an exception.
struct ServerError {
  ErrorData* data;  // in the memory context of the caller
};

/// Runs server code below engine frames. An error that it raises is thrown as ServerError. The body must
/// not own anything.
template <typename Body>
void server_call(Body&& body) {
  static_assert(std::is_void_v<std::invoke_result_t<Body>>);
  ErrorData* volatile error = nullptr;
  const MemoryContext caller = CurrentMemoryContext;
  PG_TRY();
  { body(); }
  PG_CATCH();
  {
    MemoryContextSwitchTo(caller);
    error = CopyErrorData();
    FlushErrorState();
  }
  PG_END_TRY();
  if (error != nullptr) throw ServerError{error};
}

/// A failure of the engine as plain data, so that no owning object is alive when the error of
/// the server jumps.
struct Failure {
  int sqlstate;
  bool cancelled;
  char message[512];
  char hint[1024];
  ErrorData* server_error;  // an error of the server, raised again unchanged
};

/// Describes the current exception. To be called only in a catch block.
void describe_failure(Failure& failure) noexcept;

/// Raises the failure as an error of the server. If the run was cancelled, the server first reports why
/// it was interrupted.
[[noreturn]] void raise_failure(const Failure& failure, const char* file, int line, const char* function);

/// Runs engine code. An exception becomes an error of the server after the try block has been left.
template <typename Body>
auto guarded(Body&& body, const char* file = __builtin_FILE(), int line = __builtin_LINE(),
             const char* function = __builtin_FUNCTION()) {
  using Result = std::invoke_result_t<Body>;
  static_assert(std::is_trivially_destructible_v<Result> || std::is_void_v<Result>,
                "what a guarded body returns must not own anything");
  Failure failure;
  try {
    return body();
  } catch (...) {
    describe_failure(failure);
  }
  raise_failure(failure, file, line, function);
}

/// Runs engine code, inside guarded(), whose caller has another way to answer. Unlike within_memory_limit() of the engine, it also
/// gives up if the system has no memory, or if there are more of something than the engine can number.
/// @return false if the work was given up: only if `may_give_up` is set @throws any other error
template <typename Body>
bool fits(bool may_give_up, Body body) {
  try {
    body();
    return true;
  } catch (const Error& error) {
    if (!may_give_up || (error.code() != ErrorCode::kMemoryLimit && error.code() != ErrorCode::kTooLarge)) throw;
  } catch (const std::bad_alloc&) {
    if (!may_give_up) throw;
  }
  return false;
}

/// The same outside guarded().
template <typename Body>
bool guarded_fits(bool may_give_up, Body body, const char* file = __builtin_FILE(), int line = __builtin_LINE(),
                  const char* function = __builtin_FUNCTION()) {
  return guarded([&] { return fits(may_give_up, body); }, file, line, function);
}

}  // namespace batmap::pg
