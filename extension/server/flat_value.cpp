// Text form, messages and growth. See flat_value.h.
#include "extension/server/flat_value.h"

#include <algorithm>
#include <cstring>

#include "extension/server/own_aggregate.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

/// Apart from checked(), which runs for every row of an aggregate.
[[noreturn]] pg_noinline void refuse(const FlatType& type, struct varlena* value) {
  if (type.refuse != nullptr) type.refuse(flat_bytes(value));
  raise_unsound(type);
}

struct varlena* checked(const FlatType& type, struct varlena* value) {
  if (!type.has_sound_header(flat_bytes(value))) refuse(type, value);
  return value;
}

/// Some milliseconds, with the first access to each page. Three bytes are four characters of base64.
constexpr size_t kBytesBetweenChecks = 3 << 20;
constexpr size_t kTextBetweenChecks = kBytesBetweenChecks / 3 * 4;

}  // namespace

void raise_unsound(const FlatType& type) {
  ereport(ERROR, (errcode(ERRCODE_DATA_CORRUPTED), errmsg("invalid value of type %s", type.name),
                  errdetail("Its header and its size disagree.")));
  pg_unreachable();
}

struct varlena* flat_argument(const FlatType& type, FunctionCallInfo fcinfo, int argument) {
  return flat_fetched(type, PG_GETARG_DATUM(argument));
}

struct varlena* flat_fetched(const FlatType& type, Datum value) {
  return checked(type, PG_DETOAST_DATUM(value));
}

struct varlena* flat_state(const FlatType& type, FunctionCallInfo fcinfo) {
  const Datum state = PG_GETARG_DATUM(0);
  return checked(type, runs_for_own_aggregate(fcinfo) ? PG_DETOAST_DATUM(state) : PG_DETOAST_DATUM_COPY(state));
}

Datum unchanged_state(FunctionCallInfo fcinfo) {
  if (PG_ARGISNULL(0)) PG_RETURN_NULL();
  PG_RETURN_DATUM(PG_GETARG_DATUM(0));
}

struct varlena* flat_of_text(const FlatType& type, const char* text) {
  const size_t prefix = strlen(type.prefix);
  if (strncmp(text, type.prefix, prefix) != 0)
    ereport(ERROR, (errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
                    errmsg("invalid input syntax for type %s: \"%.*s\"", type.name,
                           pg_mbcliplen(text, static_cast<int>(std::min(strlen(text), size_t{1} << 20)), 32), text),
                    type.hint != nullptr ? errhint("%s", type.hint) : 0));
  text += prefix;
  const size_t encoded = strlen(text);
  struct varlena* const value = type.allocate(encoded / 4 * 3 + 3);  // pg_b64_dec_len() counts in int
  size_t used = 0;
  for (size_t at = 0; at < encoded; at += kTextBetweenChecks) {
    const int piece = static_cast<int>(std::min(encoded - at, kTextBetweenChecks));
    const int room = pg_b64_dec_len(piece);
    const int decoded = pg_b64_decode(text + at, piece, reinterpret_cast<Base64Byte*>(VARDATA(value)) + used, room);
    // A text ends at its padding: only the last piece may have less than it has room for.
    if (decoded < 0 || (at + kTextBetweenChecks < encoded && decoded < room))
      ereport(ERROR,
              (errcode(ERRCODE_INVALID_TEXT_REPRESENTATION), errmsg("invalid base64 in a value of type %s", type.name)));
    used += static_cast<size_t>(decoded);
    CHECK_FOR_INTERRUPTS();
  }
  SET_VARSIZE(value, used + VARHDRSZ);
  return value;
}

char* flat_to_text(const FlatType& type, std::span<const std::byte> bytes) {
  // pg_b64_enc_len counts in int. A text of more than 1.5 GB is refused anyway.
  if (bytes.size() > MaxAllocSize / 4 * 3 - 64)
    ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED), errmsg("%s is too large for its text form", type.name),
                    errhint("Use the binary form.")));
  const size_t prefix = strlen(type.prefix);
  const auto room = static_cast<size_t>(pg_b64_enc_len(static_cast<int>(bytes.size())));
  auto* const text = static_cast<char*>(palloc(prefix + room + 1));
  memcpy(text, type.prefix, prefix);
  size_t used = prefix;
  for (size_t at = 0; at < bytes.size(); at += kBytesBetweenChecks) {
    const auto piece = bytes.subspan(at, std::min(bytes.size() - at, kBytesBetweenChecks));
    const int encoded = pg_b64_encode(reinterpret_cast<const Base64Byte*>(piece.data()), static_cast<int>(piece.size()),
                                      text + used, static_cast<int>(room - (used - prefix)));
    if (encoded < 0) elog(ERROR, "could not encode %s", type.name);
    used += static_cast<size_t>(encoded);
    CHECK_FOR_INTERRUPTS();
  }
  text[used] = '\0';
  return text;
}

void copy_rest_of_message(StringInfo message, char* to) {
  while (message->cursor < message->len) {
    const int bytes = std::min(message->len - message->cursor, static_cast<int>(kBytesBetweenChecks));
    pq_copymsgbytes(message, to, bytes);
    to += bytes;
    CHECK_FOR_INTERRUPTS();
  }
}

struct varlena* flat_of_message(const FlatType& type, StringInfo message) {
  const int bytes = message->len - message->cursor;
  struct varlena* const value = type.allocate(static_cast<size_t>(bytes));
  copy_rest_of_message(message, VARDATA(value));
  return value;
}

size_t grown_capacity(size_t needed, size_t part) {
  constexpr size_t kDoubleUpTo = size_t{4} << 20;
  const size_t capacity = needed <= kDoubleUpTo ? needed * 2 : needed + part;
  return std::max(std::min(capacity, MaxAllocSize - VARHDRSZ), needed);
}

}  // namespace batmap::pg
