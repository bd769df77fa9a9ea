// The wall between C++ exceptions and the server's errors.
//
// Every SQL function has three kinds of steps: *read* and *answer* call the server and keep nothing on the stack
// that owns anything; *compute* calls the engine inside guarded() and never the server. What has to live across
// steps is owned by a memory context (context_owned.h). Where the engine calls back into the server (server_files.h) it is
// through server_call(), which turns the wall around.
#pragma once

#include <new>
#include <type_traits>
#include <utility>

#include "core/error.h"
#include "extension/server/pg.h"

namespace batmap::pg {

/// An error of the server on its way through engine code.
struct ServerError {
  ErrorData* data;  // in the context that was current
};

/// Runs server code under engine frames: what it raises is thrown. The body must not own anything.
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

/// An engine failure as plain data, so that nothing owning is alive when the server's error jumps.
struct Failure {
  int sqlstate;
  bool cancelled;
  char message[512];
  char hint[1024];
  ErrorData* server_error;  // an error of the server, which is raised as it was
};

/// Describes the exception in flight. Call it only in a catch block.
void describe_failure(Failure& failure) noexcept;

/// Raises it as a server error; a cancelled run first lets the server say why it was interrupted.
[[noreturn]] void raise_failure(const Failure& failure, const char* file, int line, const char* function);

/// Runs engine code; whatever it throws becomes a server error after the try block has been left.
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

}  // namespace batmap::pg
