// Converts numbers to SQL constants and back. See plan_numbers.h.
#include "extension/server/plan_numbers.h"

#include "extension/server/pg.h"

namespace batmap::pg {

List* put_number(List* numbers, int number) {
  return lappend(numbers, makeConst(INT4OID, -1, InvalidOid, sizeof(int32), Int32GetDatum(number), false, true));
}

List* put_numbers(List* numbers, const List* values) {
  numbers = put_number(numbers, list_length(values));
  const bool are_oids = values != NIL && IsA(values, OidList);
  const ListCell* cell;
  foreach (cell, values) numbers = put_number(numbers, are_oids ? static_cast<int>(lfirst_oid(cell)) : lfirst_int(cell));
  return numbers;
}

int PlanNumbers::next() {
  const Node* const number = at_ < list_length(numbers_) ? static_cast<const Node*>(list_nth(numbers_, at_++)) : nullptr;
  if (number == nullptr || !IsA(number, Const)) elog(ERROR, "unexpected private list of a plan node of batmap");
  return DatumGetInt32(reinterpret_cast<const Const*>(number)->constvalue);
}

List* PlanNumbers::next_ints() {
  List* values = NIL;
  for (int left = next(); left > 0; --left) values = lappend_int(values, next());
  return values;
}

List* PlanNumbers::next_oids() {
  List* values = NIL;
  for (int left = next(); left > 0; --left) values = lappend_oid(values, static_cast<Oid>(next()));
  return values;
}

}  // namespace batmap::pg
