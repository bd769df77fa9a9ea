// Makes an array of pairs. See pair_array.h.
#include "extension/aggregates/pair_array.h"

#include "extension/aggregates/tuple_array.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

// The size of a tuple in an array: header, three int8 or two texts and an int8, length and alignment. The bytes of the
// texts come on top.
constexpr size_t kBytesPerPair = 64;

size_t array_bytes(std::span<const PairRow> rows, const Datum* texts) {
  size_t bytes = rows.size() * kBytesPerPair;
  if (texts == nullptr) return bytes;
  for (size_t k = 0; k < rows.size(); ++k) {
    if (k % 4096 == 0) CHECK_FOR_INTERRUPTS();
    bytes += VARSIZE(DatumGetPointer(texts[rows[k].item_a])) + VARSIZE(DatumGetPointer(texts[rows[k].item_b]));
  }
  return bytes;
}

}  // namespace

Datum pair_array(FunctionCallInfo fcinfo, std::span<const PairRow> rows, const char* table_function, const Datum* texts) {
  const Oid pair_type = get_element_type(get_func_rettype(fcinfo->flinfo->fn_oid));
  const size_t count = rows.size();
  if (array_bytes(rows, texts) > MaxAllocSize)
    ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED), errmsg("%zu pairs do not fit into one array", count),
                    errhint("Use the table function %s, or a higher min_count.", table_function)));
  TupleArray array(pair_type);
  for (const PairRow& row : rows) {
    const auto item = [texts](int64_t value) { return texts == nullptr ? Int64GetDatum(value) : texts[value]; };
    Datum values[] = {item(row.item_a), item(row.item_b), Int64GetDatum(static_cast<int64_t>(row.support))};
    array.add(values);
  }
  return array.finish();
}

}  // namespace batmap::pg
