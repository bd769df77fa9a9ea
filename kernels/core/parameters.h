// Shared by the checks of parameters: error texts that name the value and the bound.
#pragma once

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>

#include "core/error.h"

namespace batmap {

/// As many digits as are needed to tell the value from its neighbours, and so from a bound that it is just beyond.
inline std::string plain_text(double value) {
  char text[32];
  *std::to_chars(text, text + sizeof text - 1, value, std::chars_format::general, 6).ptr = '\0';
  if (std::strtod(text, nullptr) == value) return text;
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

/// A missing limit is accepted. @throws Error{kInvalidParameter} for one below a millisecond
inline void require_timeout(const std::optional<int64_t>& milliseconds) {
  if (milliseconds && *milliseconds < 1)
    throw Error(ErrorCode::kInvalidParameter, "timeout must be above 0, not " + std::to_string(*milliseconds) + " ms");
}

/// A missing value is accepted. @throws Error{kInvalidParameter} for a value below `min`
inline void require_at_least(const char* name, const std::optional<int64_t>& value, int64_t min) {
  if (value && *value < min)
    throw Error(ErrorCode::kInvalidParameter,
                std::string(name) + " must be at least " + std::to_string(min) + ", not " + std::to_string(*value));
}

/// A missing value is accepted. @param hint  says of what it is a fraction
/// @throws Error{kInvalidParameter} for a value that is not above 0 and at most 1
inline void require_fraction(const char* name, const std::optional<double>& value, const char* hint) {
  if (value && !(*value > 0 && *value <= 1))
    throw Error(ErrorCode::kInvalidParameter,
                std::string(name) + " must be above 0 and at most 1, not " + plain_text(*value), hint);
}

/// The value whose name this is. @param names  of all values of Enum, in order
/// @throws Error{kInvalidParameter} that lists them for another name @param what  is named
template <typename Enum, std::ranges::random_access_range Names>
Enum parse_name(const char* what, std::string_view name, const Names& names, const char* first = nullptr) {
  std::string all = first == nullptr ? "" : first;
  for (size_t k = 0; k < std::ranges::size(names); ++k) {
    if (name == names[k]) return static_cast<Enum>(k);
    all.append(all.empty() ? "" : ", ").append(names[k]);
  }
  throw Error(ErrorCode::kInvalidParameter, "unknown " + std::string(what) + " \"" + std::string(name) + "\"",
              "Available values: " + all + ".");
}
/// The same; empty for "auto".
template <typename Enum, std::ranges::random_access_range Names>
std::optional<Enum> parse_name_or_auto(const char* what, std::string_view name, const Names& names) {
  if (name == "auto") return std::nullopt;
  return parse_name<Enum>(what, name, names, "auto");
}

/// Two thresholds of which a query has one. @param fraction_name  of the parameter behind min_count
/// @param choice  says what the two are: a hint, with its full stop
/// @throws Error{kInvalidParameter} if both are given: with their values, as a call without names may mean another parameter
inline void require_one_threshold(const std::optional<int64_t>& min_count, const char* fraction_name,
                                  const std::optional<double>& fraction, const char* choice) {
  if (!min_count || !fraction) return;
  const std::string name = fraction_name;
  throw Error(
      ErrorCode::kInvalidParameter,
      "min_count " + std::to_string(*min_count) + " and " + name + " " + plain_text(*fraction) + " exclude each other",
      std::string(choice) + " Without names, the parameter behind min_count is " + name + ": give parameters by name.");
}

}  // namespace batmap
