// Makes and runs encoders. See key_encoder.h.
#include "extension/input/key_encoder.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

// A dictionary raises an error when memory runs out. An encoder that may give up does so while this much
// is still free.
constexpr size_t kDictionaryReserve = size_t{1} << 20;

bool has_room(const Dictionary& dictionary, Datum value) {
  const size_t bytes = dictionary.type->typlen == -1 ? toast_raw_datum_size(value) : 0;
  return dictionary.meter->available() >= kDictionaryReserve + bytes;
}

}  // namespace

void add_dictionary(KeyEncoder& encoder, Oid type, Oid collation, MemoryContext context, MemoryMeter& meter) {
  if (encoder.kind == KeyKind::kDictionary && encoder.dictionary == nullptr)
    encoder.dictionary = dictionary_create(context, type, collation, meter);
}

KeyEncoder plan_encoder(KeyKind kind, int first, List* operators, bool null_is_key, PlanState* parent, TupleDesc row,
                        MemoryContext context, MemoryMeter& meter) {
  KeyEncoder encoder = column_encoder(kind, first, null_is_key);
  encoder.may_give_up = true;
  if (kind == KeyKind::kDictionary) {
    const Form_pg_attribute column = TupleDescAttr(row, first);
    encoder.dictionary = dictionary_create(context, column->atttypid, column->attcollation, meter);
  }
  if (kind == KeyKind::kTuples) {
    encoder.columns = list_length(operators);
    encoder.tuples = tuple_codes_create(context, parent, row, first, operators, meter);
  }
  return encoder;
}

bool leaves_out(const KeyEncoder& encoder, const bool* nulls) {
  if (encoder.null_is_key) return false;
  for (int k = encoder.first; k < encoder.first + encoder.columns; ++k)
    if (nulls[k]) return true;
  return false;
}

bool encode_key(const KeyEncoder& encoder, const Datum* values, const bool* nulls, int64_t& key) {
  const Datum value = values[encoder.first];
  switch (encoder.kind) {
    case KeyKind::kInt2:
    case KeyKind::kInt4: key = nulls[encoder.first] ? kNullKey : own_key(encoder.kind, value); return true;
    case KeyKind::kInt8:
      if (nulls[encoder.first]) elog(ERROR, "NULL in a column that is NOT NULL");
      key = own_key(encoder.kind, value);
      return true;
    case KeyKind::kDictionary:
      if (encoder.may_give_up && !has_room(*encoder.dictionary, value)) return false;
      key = dictionary_id(*encoder.dictionary, value);
      return true;
    case KeyKind::kTuples: key = tuple_code(*encoder.tuples, values + encoder.first, nulls + encoder.first); return key >= 0;
    case KeyKind::kConverted: key = encoder.convert(value); return true;
  }
  pg_unreachable();
}

void decode_key(const KeyEncoder& encoder, int64_t key, Datum* values, bool* nulls) {
  if (encoder.kind == KeyKind::kTuples) {
    tuple_of_code(*encoder.tuples, key, values, nulls);
    return;
  }
  nulls[0] = encoder.null_is_key && encoder.kind != KeyKind::kInt8 && key == kNullKey;
  if (nulls[0])
    values[0] = Datum{0};
  else
    values[0] = encoder.kind == KeyKind::kDictionary ? encoder.dictionary->values[key] : value_of_key(encoder.kind, key);
}

}  // namespace batmap::pg
