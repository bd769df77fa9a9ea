// Type batmap: text and binary input and output, the declared universe (typmod), casts to and from bytea.
//
// A column batmap(N) holds subsets of [0, 2^w), where 2^w is the smallest power of two >= N. The typmod is N or w. A value
// without a declared universe has w = 32, or w = 62 if an element needs it. The text form is {1,5,9} under all settings; the
// compact form b1:... (base64 of the binary form) is accepted as input.
// Bytes from outside are validated in full.
#include <cstring>

#include "extension/server/backend.h"
#include "extension/server/flat_value.h"
#include "extension/types/set_argument.h"
#include "extension/types/set_datum.h"
#include "set/set_decode.h"
#include "set/set_text.h"

#include "extension/server/pg.h"

using namespace batmap;
using namespace batmap::pg;

namespace {

/// A validated value with the width of the typmod: the value itself, or encoded again.
struct varlena* at_typmod(struct varlena* value, int32 typmod) {
  const SetView set = open_set(set_bytes(value));
  if (typmod < 0 || set.width() == declared_width(typmod)) return value;
  SetWork* const work = open_work();
  guarded([&] { decode(set, work->elements, work->options); });
  const int width = width_of_typmod(typmod, work->elements.span());
  struct varlena* const result = encode_set(work, width);
  close_work(work);
  return result;
}

/// Validates the data of a new value. @param invalid_data  SQLSTATE for bytes that are not a set
void validate_value(const struct varlena* value, int invalid_data) {
  guarded_input(invalid_data, [&] { validate(set_bytes(value), backend_cancel_token()); });
}

}  // namespace

BATMAP_FUNCTION(batmap_in) {
  const char* const text = PG_GETARG_CSTRING(0);
  const int32 typmod = PG_GETARG_INT32(2);
  SetWork* const work = open_work();
  int declared = -1;  // the width of a value in compact form
  guarded_input(ERRCODE_INVALID_TEXT_REPRESENTATION, [&] {
    declared = parse_set_text({text, strlen(text)}, work->elements, work->options).value_or(-1);
  });
  const int width = width_of_typmod(typmod >= 0 ? typmod : declared, work->elements.span());
  struct varlena* const value = encode_set(work, width);
  close_work(work);
  PG_RETURN_POINTER(value);
}

BATMAP_FUNCTION(batmap_out) {
  const SetView set = set_argument(fcinfo, 0);
  SetWork* const work = open_work();
  guarded([&] {
    decode(set, work->elements, work->options);
    print_set_text(work->elements.span(), work->text, work->options.cancel);
  });
  if (work->text.size() >= MaxAllocSize)
    ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED), errmsg("batmap is too large for its text form"),
                    errhint("Use the binary form.")));
  auto* const text = static_cast<char*>(palloc(work->text.size() + 1));
  memcpy(text, work->text.begin(), work->text.size());
  text[work->text.size()] = '\0';
  close_work(work);
  PG_RETURN_CSTRING(text);
}

BATMAP_FUNCTION(batmap_recv) {
  auto* const buffer = reinterpret_cast<StringInfo>(PG_GETARG_POINTER(0));
  const int32 typmod = PG_GETARG_INT32(2);
  const int bytes = buffer->len - buffer->cursor;
  struct varlena* const value = allocate_value(static_cast<uint64_t>(bytes));
  copy_rest_of_message(buffer, VARDATA(value));
  validate_value(value, ERRCODE_INVALID_BINARY_REPRESENTATION);
  PG_RETURN_POINTER(at_typmod(value, typmod));
}

BATMAP_FUNCTION(batmap_send) { return sent(PG_DETOAST_DATUM(PG_GETARG_DATUM(0))); }

BATMAP_FUNCTION(batmap_typmod_in) {
  ArrayType* const array = PG_GETARG_ARRAYTYPE_P(0);
  Datum* modifiers;
  int count;
  deconstruct_array(array, CSTRINGOID, -2, false, TYPALIGN_CHAR, &modifiers, nullptr, &count);
  if (count != 1)
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("type batmap takes one modifier, the size of its universe, not %d", count),
                    errhint("Write batmap(1000000) for a set of numbers below 1000000.")));
  PG_RETURN_INT32(typmod_of_universe(pg_strtoint64(DatumGetCString(modifiers[0]))));
}

BATMAP_FUNCTION(batmap_typmod_out) {
  const int32 typmod = PG_GETARG_INT32(0);
  if (typmod < 0) PG_RETURN_CSTRING(pstrdup(""));
  PG_RETURN_CSTRING(psprintf("(" INT64_FORMAT ")", universe_of_typmod(typmod)));
}

BATMAP_FUNCTION(batmap_to_typmod) {
  const Datum value = PG_GETARG_DATUM(0);
  const int32 typmod = PG_GETARG_INT32(1);
  // Usually nothing has to be done, and then the header is enough.
  if (typmod < 0 || header_of_datum(value).width() == declared_width(typmod)) PG_RETURN_DATUM(value);
  PG_RETURN_POINTER(at_typmod(PG_DETOAST_DATUM_PACKED(value), typmod));
}

BATMAP_FUNCTION(batmap_to_bytea) { PG_RETURN_POINTER(PG_DETOAST_DATUM(PG_GETARG_DATUM(0))); }

BATMAP_FUNCTION(batmap_from_bytea) {
  struct varlena* const value = PG_DETOAST_DATUM_COPY(PG_GETARG_DATUM(0));
  validate_value(value, ERRCODE_INVALID_BINARY_REPRESENTATION);
  PG_RETURN_POINTER(at_typmod(value, PG_GETARG_INT32(1)));
}
