// Turns errors of the engine into SQLSTATE, message and hint. See boundary.h.
#include "extension/server/boundary.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <string_view>

#include "extension/server/device_use.h"

namespace batmap::pg {

namespace {

int sqlstate_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidParameter: return ERRCODE_INVALID_PARAMETER_VALUE;
    case ErrorCode::kInvalidData: return ERRCODE_INVALID_BINARY_REPRESENTATION;
    case ErrorCode::kTooLarge: return ERRCODE_PROGRAM_LIMIT_EXCEEDED;
    case ErrorCode::kMemoryLimit: return ERRCODE_OUT_OF_MEMORY;
    case ErrorCode::kCancelled: return ERRCODE_QUERY_CANCELED;
    case ErrorCode::kNoDevice: return ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE;
  }
  return ERRCODE_INTERNAL_ERROR;
}

// What a user may do about it. The engine knows no settings.
const char* hint_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kMemoryLimit:
      return "Raise batmap.memory_limit, or ask for less: fewer rows, smaller sets or a higher threshold.";
    case ErrorCode::kNoDevice: return "Set batmap.device to auto to count on the CPU where no GPU can.";
    default: return "";
  }
}

/// The text from its headline on. The headline of the engine says that a GPU could not count: not true where there was none.
const char* headline_of(const Error& error) {
  const char* const detail = error.code() == ErrorCode::kNoDevice ? strchr(error.what(), '\n') : nullptr;
  const bool is_missing = detail != nullptr && std::string_view(detail + 1).starts_with(kNoModule);
  return is_missing ? detail + 1 : error.what();
}

template <size_t kSize>
void copy_text(char (&to)[kSize], const char* from) {
  // What is cut off, here or before, must not leave a part of a character.
  const auto bytes = static_cast<int>(std::min(strlen(from), kSize - 1));
  const auto kept = static_cast<size_t>(pg_encoding_verifymbstr(GetDatabaseEncoding(), from, bytes));
  memcpy(to, from, kept);
  to[kept] = '\0';
}

}  // namespace

void describe_failure(Failure& failure) noexcept {
  failure = {ERRCODE_INTERNAL_ERROR, false, "", "", nullptr};
  try {
    throw;
  } catch (const Error& error) {
    failure.sqlstate = sqlstate_of(error.code());
    failure.cancelled = error.code() == ErrorCode::kCancelled;
    copy_text(failure.message, headline_of(error));
    copy_text(failure.hint, error.hint().empty() ? hint_of(error.code()) : error.hint().c_str());
  } catch (const ServerError& error) {
    failure.server_error = error.data;
  } catch (const std::bad_alloc&) {
    failure.sqlstate = ERRCODE_OUT_OF_MEMORY;
    copy_text(failure.message, "out of memory");
  } catch (const std::exception& error) {
    copy_text(failure.message, error.what());
  } catch (...) {
    copy_text(failure.message, "unknown C++ exception");
  }
}

void raise_failure(const Failure& failure, const char* file, int line, const char* function) {
  if (failure.server_error != nullptr) ReThrowError(failure.server_error);
  if (failure.cancelled) CHECK_FOR_INTERRUPTS();
  // The long form of ereport, so that the error reports the location of the caller.
  if (errstart(ERROR, TEXTDOMAIN)) {
    errcode(failure.sqlstate);
    const bool may_have_detail = failure.sqlstate == sqlstate_of(ErrorCode::kNoDevice);  // see core/error.h
    const size_t length = may_have_detail ? strcspn(failure.message, "\n") : strlen(failure.message);
    errmsg_internal("%.*s", static_cast<int>(length), failure.message);
    if (failure.message[length] != '\0') errdetail_internal("%s", failure.message + length + 1);
    if (failure.hint[0] != '\0') errhint("%s", failure.hint);
    errfinish(file, line, function);
  }
  pg_unreachable();
}

}  // namespace batmap::pg
