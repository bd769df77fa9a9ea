// Type batmap_state: text form ("s1:" and the bytes in base64) and binary form. Both are lossless and
// validated in full, because states travel between servers.
#include <cstring>

#include "extension/server/backend.h"
#include "extension/server/boundary.h"
#include "extension/server/flat_value.h"
#include "extension/types/set_state_datum.h"

#include "extension/server/pg.h"

using namespace batmap;
using namespace batmap::pg;

namespace batmap::pg {

const FlatType kStateType = {"batmap_state", "s1:", nullptr, state_allocate, is_set_state};

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

struct varlena* validated_state(struct varlena* value) {
  guarded([&] { state_validate({state_data(value), state_capacity(value)}, backend_cancel_token()); });
  return value;
}

}  // namespace

BATMAP_FUNCTION(batmap_state_in) { PG_RETURN_POINTER(validated_state(flat_of_text(kStateType, PG_GETARG_CSTRING(0)))); }

BATMAP_FUNCTION(batmap_state_out) {
  struct varlena* const value = state_argument(fcinfo, 0);
  PG_RETURN_CSTRING(flat_to_text(kStateType, {state_data(value), state_used(state_header(state_data(value)))}));
}

BATMAP_FUNCTION(batmap_state_recv) {
  PG_RETURN_POINTER(validated_state(flat_of_message(kStateType, reinterpret_cast<StringInfo>(PG_GETARG_POINTER(0)))));
}

BATMAP_FUNCTION(batmap_state_send) { return sent(state_trimmed(state_argument(fcinfo, 0))); }
