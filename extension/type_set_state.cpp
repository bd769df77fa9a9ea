// Type batmap_state: text ("s1:" and the bytes in base64) and binary form, lossless and validated in full, because states
// travel between servers.
#include <cstring>

#include "extension/boundary.h"
#include "extension/set_state_datum.h"

#include "extension/pg.h"

using namespace batmap;
using namespace batmap::pg;

namespace batmap::pg {

struct varlena* state_allocate(size_t capacity) {
  if (capacity > MaxAllocSize - VARHDRSZ)
    ereport(ERROR,
            (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED), errmsg("state of a set aggregate would be larger than 1 GB"),
             errdetail("It holds 8 bytes an element."), errhint("Aggregate parts, and unite them with the operator |.")));
  auto* const value = static_cast<struct varlena*>(palloc(capacity + VARHDRSZ));
  SET_VARSIZE(value, capacity + VARHDRSZ);
  return value;
}

struct varlena* state_trimmed(struct varlena* value) {
  const size_t used = state_used(state_header(state_data(value)));
  struct varlena* const copy = state_allocate(used);
  memcpy(state_data(copy), state_data(value), used);
  return copy;
}

}  // namespace batmap::pg

namespace {

constexpr char kTextPrefix[] = "s1:";
constexpr int kTextPrefixLength = 3;

}  // namespace

BATMAP_FUNCTION(batmap_state_in) {
  const char* const text = PG_GETARG_CSTRING(0);
  if (strncmp(text, kTextPrefix, kTextPrefixLength) != 0)
    ereport(ERROR, (errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
                    errmsg("invalid input syntax for type %s: \"%.32s\"", "batmap_state", text)));
  const int encoded = static_cast<int>(strlen(text)) - kTextPrefixLength;
  const int room = pg_b64_dec_len(encoded);
  struct varlena* const value = state_allocate(static_cast<size_t>(room));
  const int used = pg_b64_decode(text + kTextPrefixLength, encoded, VARDATA(value), room);
  if (used < 0)
    ereport(ERROR,
            (errcode(ERRCODE_INVALID_TEXT_REPRESENTATION), errmsg("invalid base64 in a value of type %s", "batmap_state")));
  SET_VARSIZE(value, static_cast<size_t>(used) + VARHDRSZ);
  guarded([&] { state_validate({state_data(value), state_capacity(value)}); });
  PG_RETURN_POINTER(value);
}

BATMAP_FUNCTION(batmap_state_out) {
  struct varlena* const value = state_argument(fcinfo, 0);
  const size_t bytes = state_used(state_header(state_data(value)));
  if (bytes > MaxAllocSize / 4 * 3 - 64)
    ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED), errmsg("batmap_state is too large for its text form"),
                    errhint("Use the binary form.")));
  const int room = pg_b64_enc_len(static_cast<int>(bytes));
  auto* const text = static_cast<char*>(palloc(static_cast<size_t>(room) + kTextPrefixLength + 1));
  memcpy(text, kTextPrefix, kTextPrefixLength);
  const int used = pg_b64_encode(VARDATA(value), static_cast<int>(bytes), text + kTextPrefixLength, room);
  if (used < 0) elog(ERROR, "could not encode batmap_state");
  text[kTextPrefixLength + used] = '\0';
  PG_RETURN_CSTRING(text);
}

BATMAP_FUNCTION(batmap_state_recv) {
  auto* const buffer = reinterpret_cast<StringInfo>(PG_GETARG_POINTER(0));
  const int bytes = buffer->len - buffer->cursor;
  struct varlena* const value = state_allocate(static_cast<size_t>(bytes));
  pq_copymsgbytes(buffer, VARDATA(value), bytes);
  guarded([&] { state_validate({state_data(value), state_capacity(value)}); });
  PG_RETURN_POINTER(value);
}

BATMAP_FUNCTION(batmap_state_send) {
  // bytea has the same shape.
  PG_RETURN_POINTER(state_trimmed(state_argument(fcinfo, 0)));
}
