// Numbers that a plan node needs when it runs, stored in CustomScan::custom_private as a list of SQL
// constants. The server would accept bare integers, but other extensions (Citus among them) take the members
// of that list for nodes. Constants can be walked, copied, printed, read back and compared.
#pragma once

#include "extension/server/pg.h"

namespace batmap::pg {

/// @return the list with one more number
List* put_number(List* numbers, int number);

/// @param values  integers or OIDs, or NIL
/// @return the list with the number of values appended, then the values
List* put_numbers(List* numbers, const List* values);

/// Reads numbers in the order in which they were put. @raises XX000 if there are no more
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
