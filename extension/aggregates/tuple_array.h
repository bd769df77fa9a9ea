// An array of tuples, made tuple by tuple.
#pragma once

#include <cstddef>

#include "extension/server/pg.h"

namespace batmap::pg {

/// Memory for one tuple and the array, and a look at interrupts at each step: construct_array() has the tuples twice, and
/// copies them in one step.
class TupleArray {
 public:
  /// @param type  a composite type
  explicit TupleArray(Oid type);
  /// Nulls are not supported.
  /// @param values  of the columns @raises 54000 beyond 1 GB
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
