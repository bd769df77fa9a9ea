// Makes and runs encoders. See key_encoder.h.
#include "extension/input/key_encoder.h"

#include "extension/server/pg.h"

namespace batmap::pg {

void add_dictionary(KeyEncoder& encoder, Oid type, Oid collation, MemoryContext context, MemoryMeter& meter) {
  if (encoder.kind == KeyKind::kDictionary && encoder.dictionary == nullptr)
    encoder.dictionary = dictionary_create(context, type, collation, meter);
}

KeyEncoder plan_encoder(KeyKind kind, int first, List* operators, const List* shown, bool null_is_key, PlanState* parent,
                        TupleDesc row, MemoryContext context, MemoryMeter& meter) {
  KeyEncoder encoder = column_encoder(kind, first, null_is_key);
  encoder.may_give_up = true;
  if (kind == KeyKind::kDictionary) {
    const Form_pg_attribute column = TupleDescAttr(row, first);
    encoder.dictionary = dictionary_create(context, column->atttypid, column->attcollation, meter);
    encoder.dictionary->must_look_same = must_look_same(shown, 0, *column);
  }
  if (kind == KeyKind::kTuples) {
    encoder.columns = list_length(operators);
    encoder.tuples = tuple_codes_create(context, parent, row, first, operators, shown, meter);
  }
  return encoder;
}

bool looks_differ(const KeyEncoder& encoder) {
  return (encoder.kind == KeyKind::kDictionary && encoder.dictionary->looks_differ) ||
         (encoder.kind == KeyKind::kTuples && encoder.tuples->looks_differ);
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
