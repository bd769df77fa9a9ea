// Fills a tuplestore from a stream, and finds table functions by their addresses. See row_stream.h.
#include "extension/streams/row_stream.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

/// Are all columns eight bytes, passed by value?
bool all_numbers(TupleDesc descriptor) {
  for (int k = 0; k < descriptor->natts; ++k) {
    const Form_pg_attribute column = TupleDescAttr(descriptor, k);
    if (!column->attbyval || column->attlen != sizeof(int64_t)) return false;
  }
  return true;
}

/// For rows of int8 and float8 only: forms one tuple and overwrites its numbers for each row, which halves
/// the cost of a row.
void put_numbers(RowStream* stream, const ReturnSetInfo* result, Datum* values, bool* nulls) {
  static_assert(sizeof(Datum) == sizeof(int64_t));
  const size_t bytes = static_cast<size_t>(result->setDesc->natts - stream->null_columns()) * sizeof(int64_t);
  const MinimalTuple tuple = form_minimal_tuple(result->setDesc, values, nulls);
  TupleTableSlot* const slot = MakeSingleTupleTableSlot(result->setDesc, &TTSOpsMinimalTuple);
  ExecStoreMinimalTuple(tuple, slot, false);
  char* const numbers = reinterpret_cast<char*>(tuple) + tuple->t_hoff - MINIMAL_TUPLE_OFFSET;
  Assert(tuple->t_len - (tuple->t_hoff - MINIMAL_TUPLE_OFFSET) == bytes);
  while (stream->next(values)) {
    memcpy(numbers, values, bytes);
    tuplestore_puttupleslot(result->setResult, slot);
  }
}

}  // namespace

Datum materialize(FunctionCallInfo fcinfo, OpenStream open) {
  InitMaterializedSRF(fcinfo, 0);
  auto* const result = reinterpret_cast<ReturnSetInfo*>(fcinfo->resultinfo);
  const MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "batmap run", ALLOCSET_DEFAULT_SIZES);
  if (RowStream* const stream = open(fcinfo, context, {}); stream != nullptr) {
    auto* const values = static_cast<Datum*>(palloc0(static_cast<Size>(result->setDesc->natts) * sizeof(Datum)));
    auto* const nulls = static_cast<bool*>(palloc0(static_cast<Size>(result->setDesc->natts) * sizeof(bool)));
    std::fill_n(nulls + result->setDesc->natts - stream->null_columns(), stream->null_columns(), true);
    const ColumnSet nan_columns = nan_columns_of(stream);
    if (all_numbers(result->setDesc) && nan_columns == 0) {
      put_numbers(stream, result, values, nulls);
    } else {
      while (stream->next(values)) {
        for (int k = 0; nan_columns != 0 && k < result->setDesc->natts; ++k)
          if ((nan_columns & one(k)) != 0) nulls[k] = std::isnan(DatumGetFloat8(values[k]));
        tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
      }
    }
    stream->finish();
  }
  MemoryContextDelete(context);
  return Datum{0};
}

ColumnSet nan_columns_of(RowStream* stream) {
  const RowBlock* const block = stream->block();
  return block != nullptr ? block->nan_is_null : stream->nan_columns();
}

const TableFunction* TableFunction::find(PGFunction address) {
  const TableFunction* function = first_;
  while (function != nullptr && function->address_ != address) function = function->next_;
  return function;
}

}  // namespace batmap::pg
