// Lists of items: the arguments `include` and `exclude` of a table function, as int8[] or, in the _of forms,
// as an array of the item type or text[]; and arrays of items in the answer.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "extension/input/arguments.h"
#include "extension/input/query_source.h"

#include "extension/server/pg.h"

namespace batmap::pg {

struct Elements {
  Datum* values;
  int count;
};

/// A list of items among the arguments, its index there, and where the engine expects it.
struct ItemList {
  int index;
  const char* name;
  std::optional<std::vector<int64_t>>& to;
  bool is_wanted = false;  // answers must have one of the items
  Elements items{};        // in an _of form: values, which get ranks only after the rows are read
};

/// Reads the lists before any row is read, so that a bad list does not cost a run. If `item_type` is
/// InvalidOid, the lists hold integers and are filled here. Otherwise they are arrays of the item type, or
/// text[], which the input function of the type reads.
/// @raises 22004 for a NULL element, and what the input function of the type raises
void read_lists(std::span<ItemList> lists, const Arguments& arguments, Oid item_type);

/// Fills the lists of an _of form with the ranks of their items. Items that do not occur are left out; a NOTICE names wanted ones.
void rank_lists(std::span<ItemList> lists, const Arguments& arguments, const QueryInput& input);

/// The same for lists of type text. @param texts  of the items, by rank
void rank_lists_by_text(std::span<ItemList> lists, const Arguments& arguments, std::span<const std::string_view> texts);

/// The values of a type that texts stand for, in the order of the texts; the lists get the ranks of their items, which
/// are found by the equality of the type. Values of a type that cannot be hashed are told apart by their text form.
/// @param context  of the result @param meter  is charged for the values; must outlive them
/// @raises 22023 if two texts stand for equal values; 53200 past the limit of the meter; what the input function of the
/// type raises
const Dictionary* values_of_texts(std::span<const std::string_view> texts, Oid item_type, std::span<ItemList> lists,
                                  const Arguments& arguments, MemoryContext context, MemoryMeter& meter);

/// One array of items that is filled again for each row of a stream.
class ItemArray {
 public:
  /// @param items    of an _of form, where the items of the engine are ranks; nullptr: items are int8
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
  ArrayType* array_ = nullptr;  // of int8 or of the item type
  size_t room_ = 0;             // capacity in items, for int8
};

/// The item type of an _of form, from the type of an argument. @raises 42P18 if that has no type
Oid item_type_argument(FunctionCallInfo fcinfo, int index = 0);

}  // namespace batmap::pg
