// Between arrays and items. See item_lists.h.
#include "extension/item_lists.h"

#include "extension/boundary.h"

#include "extension/pg.h"

namespace batmap::pg {

Elements elements_of(ArrayType* array, const char* name) {
  Elements elements;
  bool* nulls;
  int16 length;
  bool by_value;
  char alignment;
  get_typlenbyvalalign(ARR_ELEMTYPE(array), &length, &by_value, &alignment);
  deconstruct_array(array, ARR_ELEMTYPE(array), length, by_value, alignment, &elements.values, &nulls, &elements.count);
  for (int k = 0; k < elements.count; ++k)
    if (nulls[k]) ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("%s must not contain NULL", name)));
  return elements;
}

void set_list(std::optional<std::vector<int64_t>>& list, ArrayType* array, const char* name) {
  const Elements elements = elements_of(array, name);
  guarded([&] {
    list.emplace();
    for (int k = 0; k < elements.count; ++k) list->push_back(DatumGetInt64(elements.values[k]));
  });
}

Elements items_of_text(ArrayType* array, const char* name, Oid item_type) {
  Elements items = elements_of(array, name);
  Oid function;
  Oid parameter;
  getTypeInputInfo(item_type, &function, &parameter);
  for (int k = 0; k < items.count; ++k)
    items.values[k] = OidInputFunctionCall(function, TextDatumGetCString(items.values[k]), parameter, -1);
  return items;
}

void set_ranks(std::optional<std::vector<int64_t>>& list, const Elements& items, const QueryInput& input) {
  guarded([&] { list.emplace(); });
  for (int k = 0; k < items.count; ++k) {
    uint32_t id;
    if (dictionary_find(*input.items, items.values[k], id)) guarded([&] { list->push_back(input.item_rank[id]); });
  }
}

ItemArrays::ItemArrays(const Dictionary* items)
    : items_(items), type_(items == nullptr ? Oid{INT8OID} : items->type->type_id) {
  get_typlenbyvalalign(type_, &length_, &by_value_, &alignment_);
}

Datum ItemArrays::make(std::span<const int64_t> items) const {
  auto* const elements = static_cast<Datum*>(palloc(items.size() * sizeof(Datum)));
  for (size_t k = 0; k < items.size(); ++k)
    elements[k] = items_ == nullptr ? Int64GetDatum(items[k]) : items_->values[items[k]];
  return PointerGetDatum(construct_array(elements, static_cast<int>(items.size()), type_, length_, by_value_, alignment_));
}

Oid item_type_argument(FunctionCallInfo fcinfo) {
  const Oid item_type = get_fn_expr_argtype(fcinfo->flinfo, 0);
  if (!OidIsValid(item_type))
    ereport(ERROR, (errcode(ERRCODE_INDETERMINATE_DATATYPE), errmsg("could not determine the item type"),
                    errhint("Give a typed NULL as the first argument, such as NULL::text.")));
  return item_type;
}

}  // namespace batmap::pg
