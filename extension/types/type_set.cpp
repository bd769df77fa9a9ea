// Type batmap: text and binary input and output, the declared universe (typmod), casts to and from bytea.
//
// A column batmap(N) holds subsets of [0, N). The typmod has N, or w where N is 2^w or very large (set_datum.h), and whether
// values are stored in prepared form, as batmap(N, 'prepared') says; all others are compact. The text form is {1,5,9} under all
// settings; b1:... (base64 of the binary form) and JSON arrays are accepted as input.
// Bytes from outside are validated in full.
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

#include "extension/server/backend.h"
#include "extension/server/flat_value.h"
#include "extension/types/set_argument.h"
#include "extension/types/set_datum.h"
#include "extension/types/set_slice.h"
#include "set/set_decode.h"
#include "set/set_text.h"

#include "extension/server/pg.h"

using namespace batmap;
using namespace batmap::pg;

namespace {

/// Validates the data of a new value. @param invalid_data  SQLSTATE for bytes that are not a set
void validate_value(const struct varlena* value, int invalid_data) {
  guarded_input(invalid_data, [&] { validate(set_bytes(value), backend_cancel_token()); });
}

/// For a printed set: an element takes a digit and a comma, or more.
SetWork* open_print_work(const SetView& set) { return open_work(set.cardinality() * sizeof(uint64_t)); }

/// Prints a set as {1,5,9} into `work`. @param hint  where the text would be too large for a datum
std::span<const char> print_set(const SetView& set, SetWork* work, const char* hint) {
  bool fits = set.cardinality() < MaxAllocSize / 2;
  if (fits) {
    guarded([&] {
      decode(set, work->elements, work->options);
      print_set_text(work->elements.span(), work->text, work->options.cancel);
    });
    fits = work->text.size() < MaxAllocSize;
  }
  if (!fits)
    ereport(ERROR,
            (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED), errmsg("batmap is too large for its text form"), errhint("%s", hint)));
  return work->text.span();
}

struct varlena* read_set(std::string_view text, Typmod typmod) {
  SetWork* const work = open_work(text.size() * sizeof(uint64_t) / 2);  // an element is a digit and a comma, or more
  guarded_input(ERRCODE_INVALID_TEXT_REPRESENTATION, [&] { parse_set_text(text, work->elements, work->options); });
  struct varlena* const value = elements_at_typmod(work, work->elements.span(), typmod);
  close_work(work);
  return value;
}

constexpr size_t kMostDigits = 18;  // of a number that is certainly an element

/// A JSON text that is no array is refused in the words of the server's casts. {} would be read as a set.
/// @param type  json or jsonb
void check_json_array(std::string_view json, const char* type) {
  const size_t begin = json.find_first_not_of(" \t\n\r");
  const char first = begin == json.npos ? 'n' : json[begin];
  if (first == '[') return;
  const char* const kind = first == '{'                   ? "object"
                           : first == '"'                 ? "string"
                           : first == 't' || first == 'f' ? "boolean"
                           : first == 'n'                 ? "null"
                                                          : "numeric";
  ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("cannot cast %s %s to type %s", type, kind, "batmap"),
                  errhint("A set is made of an array of integers: [1,5,9].")));
}

/// A number where a set is expected, as in tags @> '3': there is no malformed set, but an element with the quotes of one.
void refuse_number(const char* text) {
  const size_t digits = strspn(text, "0123456789");
  if (digits == 0 || digits > kMostDigits || text[digits] != '\0') return;
  ereport(ERROR, (errcode(ERRCODE_INVALID_TEXT_REPRESENTATION), errmsg("malformed batmap: \"%s\" is a number", text),
                  errhint("A set is written as {%s}. An element is a number without quotes.", text)));
}

}  // namespace

BATMAP_FUNCTION(batmap_in) {
  const char* const text = PG_GETARG_CSTRING(0);
  refuse_number(text);
  PG_RETURN_POINTER(read_set({text, strlen(text)}, read_typmod(PG_GETARG_INT32(2))));
}

BATMAP_FUNCTION(batmap_from_json) {
  const text* const json = PG_GETARG_TEXT_PP(0);
  const std::string_view characters{VARDATA_ANY(json), VARSIZE_ANY_EXHDR(json)};
  check_json_array(characters, "json");
  PG_RETURN_POINTER(read_set(characters, read_typmod(PG_GETARG_INT32(1))));
}

BATMAP_FUNCTION(batmap_from_jsonb) {
  Jsonb* const json = PG_GETARG_JSONB_P(0);
  const std::string_view characters = JsonbToCString(nullptr, &json->root, static_cast<int>(VARSIZE(json)));
  check_json_array(characters, "jsonb");
  PG_RETURN_POINTER(read_set(characters, read_typmod(PG_GETARG_INT32(1))));
}

BATMAP_FUNCTION(batmap_out) {
  const SetView set = set_argument(fcinfo, 0);
  SetWork* const work = open_print_work(set);
  const std::span<const char> printed = print_set(set, work, "Use the binary form.");
  auto* const text = static_cast<char*>(palloc(printed.size() + 1));
  memcpy(text, printed.data(), printed.size());
  text[printed.size()] = '\0';
  close_work(work);
  PG_RETURN_CSTRING(text);
}

/// As an array of numbers: the printed set in other brackets. The server's array_to_json() does not look for interrupts.
BATMAP_FUNCTION(batmap_to_json) {
  const SetView set = set_argument(fcinfo, 0);
  SetWork* const work = open_print_work(set);
  const std::span<const char> printed = print_set(set, work, "Use batmap_unnest.");
  struct varlena* const json = allocate_value(printed.size());
  char* const text = VARDATA(json);
  memcpy(text, printed.data(), printed.size());
  text[0] = '[';
  text[printed.size() - 1] = ']';
  close_work(work);
  PG_RETURN_POINTER(json);
}

BATMAP_FUNCTION(batmap_recv) {
  auto* const buffer = reinterpret_cast<StringInfo>(PG_GETARG_POINTER(0));
  const Typmod typmod = read_typmod(PG_GETARG_INT32(2));
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
  const bool prepared = count == 2 && strcmp(DatumGetCString(modifiers[1]), "prepared") == 0;
  if (count != 1 && !prepared)
    ereport(
        ERROR,
        (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
         count == 2 ? errmsg("second modifier of type batmap must be prepared, not %s", DatumGetCString(modifiers[1]))
                    : errmsg("type batmap takes the size of its universe and a form, not %d modifiers", count),
         errhint("Write batmap(1000000) for a set of numbers below 1000000, and batmap(1000000, 'prepared') to store the "
                 "form in which sets meet.")));
  PG_RETURN_INT32(typmod_of_universe(pg_strtoint64(DatumGetCString(modifiers[0])), prepared));
}

BATMAP_FUNCTION(batmap_typmod_out) {
  const int32 typmod = PG_GETARG_INT32(0);
  if (typmod < 0) PG_RETURN_CSTRING(pstrdup(""));
  PG_RETURN_CSTRING(
      psprintf("(" INT64_FORMAT "%s)", universe_of_typmod(typmod), read_typmod(typmod).prepared ? ",prepared" : ""));
}

BATMAP_FUNCTION(batmap_to_typmod) {
  const Datum value = PG_GETARG_DATUM(0);
  const Typmod typmod = read_typmod(PG_GETARG_INT32(1));
  if (typmod.width < 0) PG_RETURN_DATUM(value);
  // Often nothing has to be done, and then the header is enough, or the last block.
  const SetView set = header_of_datum(value);
  if (typmod.prepared ? !set.is_compact() && set.width() == typmod.width : set.is_compact()) {
    if (universe_of(set.width()) <= typmod.universe) PG_RETURN_DATUM(value);
    const std::optional<uint64_t> largest = sliced_end(value, SetEnd::kMax);
    if (largest.value_or(0) < typmod.universe) PG_RETURN_DATUM(value);
  }
  PG_RETURN_POINTER(at_typmod(PG_DETOAST_DATUM_PACKED(value), typmod));
}

BATMAP_FUNCTION(batmap_prepare) {
  SetWork* const work = open_work();
  const SetView set = set_argument(fcinfo, 0);
  guarded([&] { decode(set, work->elements, work->options); });
  const uint64_t largest = work->elements.empty() ? 0 : work->elements[work->elements.size() - 1];
  const int width = undeclared_width(largest);
  const Typmod typmod =
      PG_NARGS() > 1 ? declared_universe(PG_GETARG_INT64(1), true) : Typmod{width, true, universe_of(width)};
  struct varlena* const value = elements_at_typmod(work, work->elements.span(), typmod);
  close_work(work);
  PG_RETURN_POINTER(value);
}

BATMAP_FUNCTION(batmap_to_bytea) { PG_RETURN_POINTER(PG_DETOAST_DATUM(PG_GETARG_DATUM(0))); }

BATMAP_FUNCTION(batmap_from_bytea) {
  struct varlena* const value = PG_DETOAST_DATUM_COPY(PG_GETARG_DATUM(0));
  validate_value(value, ERRCODE_INVALID_BINARY_REPRESENTATION);
  PG_RETURN_POINTER(at_typmod(value, read_typmod(PG_GETARG_INT32(1))));
}
