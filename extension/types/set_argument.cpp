// Arguments of type batmap, fetched once per statement. See set_argument.h.
#include "extension/types/set_argument.h"

#include <cstring>
#include <span>

#include "extension/types/set_datum.h"
#include "extension/types/set_slice.h"
#include "extension/types/set_store.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

const struct varlena* raw_argument(FunctionCallInfo fcinfo, int argument) {
  return reinterpret_cast<const struct varlena*>(PG_GETARG_POINTER(argument));
}

bool same_toast(const struct varlena* a, const struct varlena* b) {
  return VARATT_IS_EXTERNAL_ONDISK(a) && VARATT_IS_EXTERNAL_ONDISK(b) && memcmp(a, b, VARSIZE_EXTERNAL(a)) == 0;
}

/// Fetches arguments 0 and 1. A value is kept when it comes for the second time. @param kept  set to the entries of those that are kept
SetPair fetch_arguments(FunctionCallInfo fcinfo, SetStore*& store, StoredSet* (&kept)[2]) {
  const struct varlena* const raw[2] = {raw_argument(fcinfo, 0), raw_argument(fcinfo, 1)};
  SetView views[2];
  if (VARATT_IS_EXTERNAL_ONDISK(raw[0]) || VARATT_IS_EXTERNAL_ONDISK(raw[1])) store = set_store(fcinfo);
  if (store == nullptr) {
    for (int i = 0; i < 2; ++i) views[i] = set_of_datum(PointerGetDatum(raw[i]));
    return {views[0], views[1]};
  }
  // Looks up both before it fetches either, because making room for one must not drop the other.
  store->begin_call();
  for (int i = 0; i < 2; ++i)
    if (VARATT_IS_EXTERNAL_ONDISK(raw[i])) kept[i] = store->find(i, raw[i]);
  for (int i = 0; i < 2; ++i) {
    if (!VARATT_IS_EXTERNAL_ONDISK(raw[i])) {
      views[i] = set_of_datum(PointerGetDatum(raw[i]));
      continue;
    }
    // The second argument may be the value of the first, whose entry was replaced if it has just been fetched.
    if (i == 1 && same_toast(raw[0], raw[1])) {
      kept[1] = kept[0];
      return {views[0], views[0]};
    }
    if (kept[i] == nullptr) {
      // Most values come once. Memory of their own would be fresh each time, which costs as much as fetching them.
      store->note(raw[i]);
      views[i] = set_of_datum(PointerGetDatum(raw[i]));
      continue;
    }
    if (!kept[i]->complete()) kept[i] = store->fetch(i, raw[i]);
    views[i] = kept[i]->view;
  }
  return {views[0], views[1]};
}

/// Looks for those of two compact sets that are inside their rows. @return whether both have an entry
bool find_inline(FunctionCallInfo fcinfo, const SetPair& sets, SetStore*& store, StoredSet* (&kept)[2]) {
  const SetView* const views[2] = {&sets.a, &sets.b};
  // A value outside its row is kept by its toast pointer, from its second call on. Before, it has no entry.
  for (int i = 0; i < 2; ++i)
    if (kept[i] == nullptr && (VARATT_IS_EXTERNAL_ONDISK(raw_argument(fcinfo, i)) || !SetStore::may_keep_inline(*views[i])))
      return false;
  if (store == nullptr) {
    store = set_store(fcinfo);
    if (store == nullptr) return false;
    store->begin_call();
  }
  for (int i = 0; i < 2; ++i)
    if (kept[i] == nullptr) kept[i] = store->find_inline(i, *views[i]);
  return kept[0] != nullptr && kept[1] != nullptr;
}

}  // namespace

SetView set_of_datum(Datum value) { return open_set(set_bytes(PG_DETOAST_DATUM_PACKED(value))); }

SetView set_argument(FunctionCallInfo fcinfo, int argument) { return set_of_datum(PG_GETARG_DATUM(argument)); }

SetPair set_arguments(FunctionCallInfo fcinfo) {
  SetStore* store = nullptr;
  StoredSet* kept[2] = {};
  return fetch_arguments(fcinfo, store, kept);
}

SetPair counted_arguments(FunctionCallInfo fcinfo) {
  SetStore* store = nullptr;
  StoredSet* kept[2] = {};
  const SetPair sets = fetch_arguments(fcinfo, store, kept);
  if (!sets.a.is_compact() || !sets.b.is_compact()) return sets;
  if ((kept[0] == nullptr || kept[1] == nullptr) && !find_inline(fcinfo, sets, store, kept)) return sets;
  if (!store->meet(kept[0], kept[1])) return sets;
  return {kept[0]->prepared, kept[1]->prepared};
}

SetView header_of_datum(Datum value) {
  const auto* const raw = reinterpret_cast<const struct varlena*>(DatumGetPointer(value));
  if (!VARATT_IS_EXTERNAL(raw) && !VARATT_IS_COMPRESSED(raw)) return open_set(set_bytes(raw));
  const size_t whole = toast_raw_datum_size(value) - VARHDRSZ;
  const std::span<const std::byte> first = set_bytes(PG_DETOAST_DATUM_SLICE(value, 0, kSetHeadBytes));
  return guarded([&] { return SetView::header(first, whole); });
}

SetView set_header(FunctionCallInfo fcinfo, int argument) { return header_of_datum(PG_GETARG_DATUM(argument)); }

bool set_argument_contains(FunctionCallInfo fcinfo, int argument, int64 x) {
  if (x < 0) return false;
  const struct varlena* const raw = raw_argument(fcinfo, argument);
  const auto element = static_cast<uint64_t>(x);
  if (!VARATT_IS_EXTERNAL_ONDISK(raw)) return set_of_datum(PointerGetDatum(raw)).contains(element);
  SetStore* const store = set_store(fcinfo);
  if (store == nullptr) return sliced_contains(PointerGetDatum(raw), element);
  store->begin_call();
  StoredSet* kept = store->find(argument, raw);
  if (kept == nullptr || !kept->complete()) {
    if (store->worth_fetching(kept, raw))
      kept = store->fetch(argument, raw);
    else
      return sliced_contains(PointerGetDatum(raw), element);
  }
  return kept->view.contains(element);
}

}  // namespace batmap::pg
