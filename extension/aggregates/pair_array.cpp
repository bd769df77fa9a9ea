// Makes an array of pairs. See pair_array.h.
#include "extension/aggregates/pair_array.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {
// The size of a tuple of three int8 in an array: header, values, length and alignment.
constexpr size_t kBytesPerPair = 64;
}  // namespace

Datum pair_array(FunctionCallInfo fcinfo, std::span<const PairRow> rows, const char* table_function) {
  const Oid pair_type = get_element_type(get_func_rettype(fcinfo->flinfo->fn_oid));
  const size_t count = rows.size();
  if (count > MaxAllocSize / kBytesPerPair)
    ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED), errmsg("%zu pairs do not fit into one array", count),
                    errhint("Use the table function %s, or a higher min_count.", table_function)));
  const TupleDesc descriptor = lookup_rowtype_tupdesc(pair_type, -1);
  auto* const elements = static_cast<Datum*>(palloc(Max(count, 1) * sizeof(Datum)));
  for (size_t k = 0; k < count; ++k) {
    if (k % 4096 == 0) CHECK_FOR_INTERRUPTS();
    const PairRow& row = rows[k];
    Datum values[3] = {Int64GetDatum(row.item_a), Int64GetDatum(row.item_b),
                       Int64GetDatum(static_cast<int64_t>(row.support))};
    bool nulls[3] = {};
    elements[k] = HeapTupleGetDatum(heap_form_tuple(descriptor, values, nulls));
  }
  ReleaseTupleDesc(descriptor);
  return PointerGetDatum(construct_array(elements, static_cast<int>(count), pair_type, -1, false, TYPALIGN_DOUBLE));
}

}  // namespace batmap::pg
