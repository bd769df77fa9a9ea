// Lists of items: include and exclude among the arguments of a table function, as int8[] or, in the _of forms, as text[];
// and arrays of items in its answer.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "extension/query_source.h"

#include "extension/pg.h"

namespace batmap::pg {

struct Elements {
  Datum* values;
  int count;
};

/// The elements of an include or exclude list. @raises 22004 for a NULL element
Elements elements_of(ArrayType* array, const char* name);

/// Integer items.
void set_list(std::optional<std::vector<int64_t>>& list, ArrayType* array, const char* name);

/// Items in text form as values of the item type. @raises 22004, what the type's input function raises
Elements items_of_text(ArrayType* array, const char* name, Oid item_type);

/// Items to their ranks in the answer; those that do not occur are left out.
void set_ranks(std::optional<std::vector<int64_t>>& list, const Elements& items, const QueryInput& input);

/// Makes arrays of items.
class ItemArrays {
 public:
  /// @param items  of an _of form, where the engine's items are ranks in it; nullptr: they are int8
  explicit ItemArrays(const Dictionary* items);
  /// An array in the current memory context.
  Datum make(std::span<const int64_t> items) const;

 private:
  const Dictionary* items_;
  Oid type_;
  int16 length_;
  bool by_value_;
  char alignment_;
};

/// The item type of an _of form, whose first argument is a typed NULL. @raises 42P18 where it has no type
Oid item_type_argument(FunctionCallInfo fcinfo);

}  // namespace batmap::pg
