// Makes an array of tuples. See tuple_array.h.
#include "extension/aggregates/tuple_array.h"

#include <algorithm>
#include <cstring>

namespace batmap::pg {

namespace {

constexpr size_t kFirstRoom = 4096;

}  // namespace

TupleArray::TupleArray(Oid type)
    : type_(type),
      descriptor_(lookup_rowtype_tupdesc(type, -1)),
      bytes_(static_cast<char*>(palloc(kFirstRoom))),
      size_(ARR_OVERHEAD_NONULLS(1)),
      room_(kFirstRoom) {}

void TupleArray::add(Datum* values) {
  static constexpr bool kNoNulls[MaxTupleAttributeNumber] = {};
  CHECK_FOR_INTERRUPTS();
  const HeapTuple tuple = heap_form_tuple(descriptor_, values, const_cast<bool*>(kNoNulls));
  const size_t length = MAXALIGN(tuple->t_len);
  if (size_ + length > room_) {
    if (size_ + length > MaxAllocSize)
      ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED), errmsg("array would be larger than 1 GB")));
    room_ = std::min<size_t>(std::max(2 * room_, size_ + length), MaxAllocSize);
    bytes_ = static_cast<char*>(repalloc(bytes_, room_));
  }
  memcpy(bytes_ + size_, tuple->t_data, tuple->t_len);
  memset(bytes_ + size_ + tuple->t_len, 0, length - tuple->t_len);
  size_ += length;
  ++count_;
  heap_freetuple(tuple);
}

Datum TupleArray::finish() {
  ReleaseTupleDesc(descriptor_);
  if (count_ == 0) return PointerGetDatum(construct_empty_array(type_));
  auto* const array = reinterpret_cast<ArrayType*>(bytes_);
  SET_VARSIZE(array, size_);
  array->ndim = 1;
  array->dataoffset = 0;
  array->elemtype = type_;
  ARR_DIMS(array)[0] = count_;
  ARR_LBOUND(array)[0] = 1;
  return PointerGetDatum(array);
}

}  // namespace batmap::pg
