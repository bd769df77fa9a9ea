// Numbers that a plan node needs when it runs, stored in CustomScan::custom_private as a list of SQL
// constants. The server would accept bare integers, but other extensions (Citus among them) take the members
// of that list for nodes. Constants can be walked, copied, printed, read back and compared.
#pragma once

#include <cstring>
#include <type_traits>

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

/// A struct of integers and enumerations of their size, as a list of the integers.
template <typename Spec>
List* ints_of(const Spec& spec) {
  static_assert(std::is_trivially_copyable_v<Spec> && sizeof(Spec) % sizeof(int) == 0 && alignof(Spec) == alignof(int));
  int numbers[sizeof(Spec) / sizeof(int)];
  memcpy(numbers, &spec, sizeof spec);
  List* ints = NIL;
  for (const int number : numbers) ints = lappend_int(ints, number);
  return ints;
}

/// The struct of a list that ints_of() has made. @raises XX000 if its length is another
template <typename Spec>
Spec of_ints(const List* ints) {
  int numbers[sizeof(Spec) / sizeof(int)];
  if (list_length(ints) != lengthof(numbers))
    elog(ERROR, "%d numbers in a plan, not %zu", list_length(ints), lengthof(numbers));
  const ListCell* cell;
  foreach (cell, ints) numbers[foreach_current_index(cell)] = lfirst_int(cell);
  Spec spec;
  memcpy(&spec, numbers, sizeof spec);
  return spec;
}

}  // namespace batmap::pg
