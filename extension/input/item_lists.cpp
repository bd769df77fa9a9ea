// Conversion between arrays and items. See item_lists.h.
#include "extension/input/item_lists.h"

#include <cstring>

#include "extension/server/boundary.h"
#include "relation/item_texts.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

Elements elements_of(ArrayType* array, const char* name) {
  Elements elements;
  bool* nulls;
  int16 length;
  bool by_value;
  char alignment;
  get_typlenbyvalalign(ARR_ELEMTYPE(array), &length, &by_value, &alignment);
  deconstruct_array(array, ARR_ELEMTYPE(array), length, by_value, alignment, &elements.values, &nulls, &elements.count);
  for (int k = 0; k < elements.count; ++k)
    if (nulls[k])
      ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("%s must not contain NULL", name),
                      errhint("Use array_remove(..., NULL).")));
  return elements;
}

/// Converts text to values of the type.
void read_items(const Elements& items, Oid item_type) {
  Oid function;
  Oid parameter;
  getTypeInputInfo(item_type, &function, &parameter);
  for (int k = 0; k < items.count; ++k) {
    CHECK_FOR_INTERRUPTS();
    items.values[k] = OidInputFunctionCall(function, TextDatumGetCString(items.values[k]), parameter, -1);
  }
}

/// The beginning of a text, for messages.
char* shown(std::string_view text) {
  return pnstrdup(text.data(),
                  static_cast<Size>(pg_mbcliplen(text.data(), static_cast<int>(Min(text.size(), 1 << 20)), 64)));
}

/// Wanted items that do not occur.
class AbsentItems {
 public:
  explicit AbsentItems(const Dictionary& items) : items_(items) {}

  void add(Datum value) {
    if (count_++ >= kShown) return;
    if (count_ == 1) initStringInfo(&names_);
    Oid output;
    bool is_varlena;
    getTypeOutputInfo(items_.type->type_id, &output, &is_varlena);
    appendStringInfo(&names_, "%s\"%s\"", count_ == 1 ? "" : ", ", shown(OidOutputFunctionCall(output, value)));
  }

  /// Raises a NOTICE if there are any. If there are no rows at all, their items are not to blame.
  void report() {
    if (count_ == 0 || items_.count == 0) return;
    if (count_ > kShown) appendStringInfo(&names_, " and %d more", count_ - kShown);
    ereport(NOTICE, (errmsg_plural("item that is asked for does not occur in the input query: %s",
                                   "items that are asked for do not occur in the input query: %s",
                                   static_cast<unsigned long>(count_), names_.data)));
  }

 private:
  static constexpr int kShown = 3;

  const Dictionary& items_;
  StringInfoData names_;
  int count_ = 0;
};

}  // namespace

void read_lists(std::span<ItemList> lists, const Arguments& arguments, Oid item_type) {
  for (ItemList& list : lists) {
    if (!arguments.has(list.index)) continue;
    ArrayType* const array = arguments.array(list.index);
    list.items = elements_of(array, list.name);
    if (!OidIsValid(item_type))
      guarded([&] {
        list.to.emplace();
        for (int k = 0; k < list.items.count; ++k) list.to->push_back(DatumGetInt64(list.items.values[k]));
      });
    else if (ARR_ELEMTYPE(array) != item_type)
      read_items(list.items, item_type);
  }
}

void rank_lists(std::span<ItemList> lists, const Arguments& arguments, const QueryInput& input) {
  AbsentItems absent(*input.items);
  for (const ItemList& list : lists) {
    if (!arguments.has(list.index)) continue;
    guarded([&] { list.to.emplace(); });
    for (int k = 0; k < list.items.count; ++k) {
      CHECK_FOR_INTERRUPTS();
      uint32_t id;
      if (dictionary_find(*input.items, list.items.values[k], id))
        guarded([&] { list.to->push_back(input.item_rank[id]); });
      else if (list.is_wanted)
        absent.add(list.items.values[k]);
    }
  }
  absent.report();
}

void rank_lists_by_text(std::span<ItemList> lists, const Arguments& arguments, std::span<const std::string_view> texts) {
  for (const ItemList& list : lists) {
    if (!arguments.has(list.index)) continue;
    guarded([&] { list.to.emplace(); });
    for (int k = 0; k < list.items.count; ++k) {
      CHECK_FOR_INTERRUPTS();
      const text* const item = DatumGetTextPP(list.items.values[k]);
      const size_t rank = rank_of_text(texts, {VARDATA_ANY(item), static_cast<size_t>(VARSIZE_ANY_EXHDR(item))});
      if (rank < texts.size()) guarded([&] { list.to->push_back(static_cast<int64_t>(rank)); });
    }
  }
}

namespace {

/// What a dictionary tells the values of a type apart by: the values themselves if they can be hashed, otherwise their text
/// forms.
class ValueKeys {
 public:
  explicit ValueKeys(Oid item_type)
      : type_(lookup_type_cache(item_type, TYPECACHE_HASH_PROC_FINFO | TYPECACHE_EQ_OPR_FINFO)) {
    bool is_varlena;
    getTypeOutputInfo(item_type, &output_, &is_varlena);
  }

  const TypeCacheEntry& type() const { return *type_; }
  bool are_values() const { return OidIsValid(type_->hash_proc_finfo.fn_oid) && OidIsValid(type_->eq_opr_finfo.fn_oid); }
  Datum key(Datum value) const { return are_values() ? value : CStringGetTextDatum(OidOutputFunctionCall(output_, value)); }
  Dictionary* dictionary(MemoryContext context, MemoryMeter& meter) const {
    return are_values() ? dictionary_create(context, type_->type_id, get_typcollation(type_->type_id), meter)
                        : dictionary_create(context, TEXTOID, C_COLLATION_OID, meter);
  }

 private:
  TypeCacheEntry* type_;
  Oid output_;
};

[[noreturn]] void raise_equal_texts(std::string_view first, std::string_view second, Oid item_type) {
  ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                  errmsg("the items \"%s\" and \"%s\" are the same value of type %s", shown(first), shown(second),
                         format_type_be(item_type)),
                  errhint("Cast items to the type, and then to text, before they are aggregated: item::%s::text. Without "
                          "NULL::%s, in the _of form, the items are text.",
                          format_type_be(item_type), format_type_be(item_type))));
  pg_unreachable();
}

}  // namespace

const Dictionary* values_of_texts(std::span<const std::string_view> texts, Oid item_type, std::span<ItemList> lists,
                                  const Arguments& arguments, MemoryContext context, MemoryMeter& meter) {
  Oid function;
  Oid parameter;
  getTypeInputInfo(item_type, &function, &parameter);
  FmgrInfo input;
  fmgr_info(function, &input);
  const ValueKeys keys(item_type);
  Dictionary* const known = keys.dictionary(context, meter);
  Datum* values = nullptr;  // if the dictionary does not have them
  if (!keys.are_values()) {
    const size_t bytes = Max(texts.size(), 1) * sizeof(Datum);
    guarded([&] { meter.charge(bytes); });
    values = static_cast<Datum*>(MemoryContextAllocHuge(context, bytes));
  }
  const MemoryContext scratch = AllocSetContextCreate(CurrentMemoryContext, "batmap item", ALLOCSET_DEFAULT_SIZES);
  const MemoryContext caller = MemoryContextSwitchTo(scratch);
  for (size_t k = 0; k < texts.size(); ++k) {
    CHECK_FOR_INTERRUPTS();
    const Datum value = InputFunctionCall(&input, pnstrdup(texts[k].data(), texts[k].size()), parameter, -1);
    const uint32_t id = dictionary_id(*known, keys.key(value));
    if (id != k) raise_equal_texts(texts[id], texts[k], item_type);
    if (values != nullptr) {
      const TypeCacheEntry& type = keys.type();
      if (!type.typbyval) guarded([&] { meter.charge(datumGetSize(value, false, type.typlen)); });
      MemoryContextSwitchTo(context);
      values[k] = datumCopy(value, type.typbyval, type.typlen);
      MemoryContextSwitchTo(scratch);
    }
    MemoryContextReset(scratch);
  }
  for (const ItemList& list : lists) {
    if (!arguments.has(list.index)) continue;
    guarded([&] { list.to.emplace(); });
    for (int k = 0; k < list.items.count; ++k) {
      CHECK_FOR_INTERRUPTS();
      uint32_t id;
      if (dictionary_find(*known, keys.key(list.items.values[k]), id)) guarded([&] { list.to->push_back(id); });
    }
  }
  MemoryContextSwitchTo(caller);
  MemoryContextDelete(scratch);
  if (values == nullptr) return known;
  return dictionary_of_values(context, item_type, values, static_cast<uint32_t>(texts.size()));
}

ItemArray::ItemArray(const Dictionary* items, MemoryContext context) : items_(items), context_(context) {}

Datum ItemArray::make(std::span<const int64_t> items) {
  if (items_ != nullptr) return make_of_type(items);
  if (items.size() > room_) grow(items.size());
  const Size bytes = items.size() * sizeof(int64_t);
  SET_VARSIZE(array_, ARR_OVERHEAD_NONULLS(1) + bytes);
  ARR_DIMS(array_)[0] = static_cast<int>(items.size());
  memcpy(ARR_DATA_PTR(array_), items.data(), bytes);
  return PointerGetDatum(array_);
}

/// All arrays share one header: only the length and the items change from row to row.
void ItemArray::grow(size_t items) {
  if (array_ != nullptr) pfree(array_);
  room_ = items + 16;
  array_ = static_cast<ArrayType*>(MemoryContextAllocZero(context_, ARR_OVERHEAD_NONULLS(1) + room_ * sizeof(int64_t)));
  array_->ndim = 1;
  array_->elemtype = INT8OID;
  ARR_LBOUND(array_)[0] = 1;
}

Datum ItemArray::make_of_type(std::span<const int64_t> items) {
  const TypeCacheEntry& type = *items_->type;
  const MemoryContext caller = MemoryContextSwitchTo(context_);
  if (array_ != nullptr) pfree(array_);
  auto* const elements = static_cast<Datum*>(palloc(items.size() * sizeof(Datum)));
  for (size_t k = 0; k < items.size(); ++k) elements[k] = item(items[k]);
  array_ =
      construct_array(elements, static_cast<int>(items.size()), type.type_id, type.typlen, type.typbyval, type.typalign);
  pfree(elements);
  MemoryContextSwitchTo(caller);
  return PointerGetDatum(array_);
}

Oid item_type_argument(FunctionCallInfo fcinfo, int index) {
  const Oid item_type = get_fn_expr_argtype(fcinfo->flinfo, index);
  if (!OidIsValid(item_type))
    ereport(ERROR, (errcode(ERRCODE_INDETERMINATE_DATATYPE), errmsg("could not determine the item type"),
                    errhint("Give a NULL of the type, such as NULL::uuid, or call the _of form if items are text.")));
  return item_type;
}

}  // namespace batmap::pg
