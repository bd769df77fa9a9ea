// Items that are texts, as the server sees them: shared by relations and pair counts.
#pragma once

#include <span>
#include <string_view>

#include "core/memory.h"

#include "extension/server/pg.h"

namespace batmap::pg {

/// Texts as values of type text, in one block in `context`. @raises 53200 past the limit of the meter
Datum* text_values(std::span<const std::string_view> texts, MemoryContext context, MemoryMeter& meter);

/// An argument of type text. It lives as long as the arguments, or in the current context if it was toasted.
inline std::string_view text_argument(FunctionCallInfo fcinfo, int argument) {
  const text* const value = PG_GETARG_TEXT_PP(argument);
  return {VARDATA_ANY(value), static_cast<size_t>(VARSIZE_ANY_EXHDR(value))};
}

/// Checks a text from outside against the encoding of the database. @raises 22021
inline void check_encoding(std::string_view text) { pg_verifymbstr(text.data(), static_cast<int>(text.size()), false); }

/// The text of a uuid.
struct UuidText {
  explicit UuidText(const pg_uuid_t* uuid);
  std::string_view view() const { return {characters, sizeof characters}; }

  char characters[36];
};

}  // namespace batmap::pg
