// The numbers that a running plan node has to know, as CustomScan::custom_private holds them: a list of SQL constants, one
// after the other. Bare integers would do for the server, but neighbours (Citus among them) take the members of that list
// for nodes. Constants can be walked, copied, printed, read back and compared.
#pragma once

#include "extension/server/pg.h"

namespace batmap::pg {

/// @return the list with one more number
List* put_number(List* numbers, int number);

/// @param values  integers or OIDs; NIL too
/// @return the list with their number, and each of them
List* put_numbers(List* numbers, const List* values);

/// Reads what has been put, in the same order. @raises XX000 where it is not there
class PlanNumbers {
 public:
  explicit PlanNumbers(const List* numbers) : numbers_(numbers) {}

  int next();
  List* next_ints();
  List* next_oids();

 private:
  const List* numbers_;
  int at_ = 0;
};

}  // namespace batmap::pg
