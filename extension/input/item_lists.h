// Lists of items: include and exclude among the arguments of a table function, as int8[] or, in the _of forms, as text[];
// and arrays of items in its answer.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "extension/input/arguments.h"
#include "extension/input/query_source.h"

#include "extension/server/pg.h"

namespace batmap::pg {

struct Elements {
  Datum* values;
  int count;
};

/// A list of items among the arguments, and where the engine wants it.
struct ItemList {
  int place;
  const char* name;
  std::optional<std::vector<int64_t>>& to;
  Elements items{};  // of an _of form, whose values mean nothing to the engine before the rows are read
};

/// Fills lists of integers, which `item_type` InvalidOid says they are; checks those of an _of form, which are arrays of
/// the item type, or of text, which its input function then reads. Before any row is read: a bad list should not cost a run.
/// @raises 22004 for a NULL element, what the type's input function raises
void read_lists(std::span<ItemList> lists, const Arguments& arguments, Oid item_type);

/// Fills the lists of an _of form with the ranks of their items; those that do not occur are left out.
void rank_lists(std::span<ItemList> lists, const Arguments& arguments, const QueryInput& input);

/// An array of items that is made again and again: for one column of the rows of a stream.
class ItemArray {
 public:
  /// @param items    of an _of form, where the engine's items are ranks in it; nullptr: they are int8
  /// @param context  lives as long as the object
  ItemArray(const Dictionary* items, MemoryContext context);

  Datum item(int64_t item) const { return items_ == nullptr ? Int64GetDatum(item) : items_->values[item]; }
  /// Valid until the next call. @param items  one or more
  Datum make(std::span<const int64_t> items);

 private:
  Datum make_of_type(std::span<const int64_t> items);
  void grow(size_t items);

  const Dictionary* items_;
  MemoryContext context_;
  ArrayType* array_ = nullptr;  // of int8, or of the type
  size_t room_ = 0;             // items, of int8
};

/// The item type of an _of form, whose first argument is a typed NULL. @raises 42P18 where it has no type
Oid item_type_argument(FunctionCallInfo fcinfo);

}  // namespace batmap::pg
