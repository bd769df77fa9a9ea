// An array of tuples, made tuple by tuple.
#pragma once

#include <cstddef>

#include "extension/server/pg.h"

namespace batmap::pg {

/// construct_array() copies all tuples in one step; here each step looks for interrupts. The room of the array doubles.
class TupleArray {
 public:
  /// @param type  a composite type
  explicit TupleArray(Oid type);
  /// @param values  of the columns, without nulls @raises 54000 beyond 1 GB
  void add(Datum* values);
  /// Call once, at the end.
  Datum finish();

 private:
  Oid type_;
  TupleDesc descriptor_;
  char* bytes_;
  size_t size_;
  size_t room_;
  int count_ = 0;
};

}  // namespace batmap::pg
