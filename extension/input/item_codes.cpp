// The three codings. See item_codes.h.
#include "extension/input/item_codes.h"

#include "extension/input/node_pack_rows.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {
// A dictionary raises an error when memory runs out. code_of() reports the shortage while this much
// is still free.
constexpr size_t kDictionaryReserve = size_t{1} << 20;

size_t value_bytes(const Dictionary& dictionary, Datum value) {
  return dictionary.type->typlen == -1 ? toast_raw_datum_size(value) : 0;
}
}  // namespace

Codes make_codes(Coding coding, KeyKind kind, MemoryContext context, PlanState* parent, TupleDesc row, int first,
                 List* operators, MemoryMeter& meter) {
  Codes codes{coding, kind, nullptr, nullptr};
  const Form_pg_attribute column = TupleDescAttr(row, first);
  if (coding == Coding::kDictionary)
    codes.dictionary = dictionary_create(context, column->atttypid, column->attcollation, meter);
  if (coding == Coding::kTuples) codes.tuples = tuple_codes_create(context, parent, row, first, operators, meter);
  return codes;
}

bool code_of(const Codes& codes, TupleTableSlot* row, int first, MemoryMeter& meter, int64_t& code) {
  switch (codes.coding) {
    case Coding::kItself: code = key_of({codes.kind, nullptr}, row->tts_values[first]); return true;
    case Coding::kDictionary:
      if (meter.available() < kDictionaryReserve + value_bytes(*codes.dictionary, row->tts_values[first])) return false;
      code = dictionary_id(*codes.dictionary, row->tts_values[first]);
      return true;
    case Coding::kTuples: code = tuple_code(*codes.tuples, row); return code >= 0;
  }
  pg_unreachable();
}

void put_item(const ItemCodes& items, int64_t code, Datum* values, bool* nulls) {
  switch (items.codes.coding) {
    case Coding::kItself:
      nulls[0] = items.codes.kind != KeyKind::kInt8 && code == kNullItem;
      values[0] = nulls[0] ? Datum{0} : value_of_key(items.codes.kind, code);
      break;
    case Coding::kDictionary:
      nulls[0] = false;
      values[0] = items.codes.dictionary->values[code];
      break;
    case Coding::kTuples: tuple_of_code(*items.codes.tuples, code, values, nulls); break;
  }
}

}  // namespace batmap::pg
