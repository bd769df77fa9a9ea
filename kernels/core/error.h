// The one exception type of the engine. The code says who is at fault and what the caller may do about it.
// The text names the value and the bound in the server's style (lower case, no full stop); the hint says what
// to change. If there is no device, a second line of the text says in detail what a library or a device said.
// Expected answers ("declined", "not found") are return values, bugs are assertions.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace batmap {

enum class ErrorCode {
  kInvalidParameter,  // a value outside its documented range
  kInvalidData,       // bytes from outside that are not a valid value
  kTooLarge,          // more rows, items or bytes than the format can hold
  kMemoryLimit,       // the run's memory budget is used up
  kCancelled,         // the cancel token asked the run to stop
  kNoDevice,          // a GPU was required, and none could do the job
};

class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message, std::string hint = {})
      : std::runtime_error(message), code_(code), hint_(std::move(hint)) {}

  ErrorCode code() const noexcept { return code_; }
  const std::string& hint() const noexcept { return hint_; }

 private:
  ErrorCode code_;
  std::string hint_;
};

}  // namespace batmap
