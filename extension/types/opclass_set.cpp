// Equality, order and hash of sets, for the btree and hash operator classes. They depend on the elements
// alone: two sets with the same elements are equal, even if their universes differ or they were built in a
// different order. Sets are ordered by their ascending elements, like int8[].
#include "extension/server/backend.h"
#include "extension/server/settings.h"
#include "extension/types/set_argument.h"
#include "extension/types/set_datum.h"
#include "set/set_intersect.h"

#include "extension/server/pg.h"

using namespace batmap;
using namespace batmap::pg;

namespace {

bool equal_sets(FunctionCallInfo fcinfo) {
  const SetPair sets = set_arguments(fcinfo);
  return guarded([&] { return equal(sets.a, sets.b, selected_set_kernel(), backend_cancel_token()); });
}

int compare_sets(FunctionCallInfo fcinfo) {
  const SetPair sets = set_arguments(fcinfo);
  return guarded([&] {
    MemoryMeter meter(memory_limit_bytes(), session_memory());
    const int order = compare(sets.a, sets.b, {1, &meter, backend_cancel_token()});
    return order < 0 ? -1 : order > 0 ? 1 : 0;
  });
}

uint64_t hash_of(FunctionCallInfo fcinfo, uint64_t seed) {
  const SetView set = set_argument(fcinfo, 0);
  return guarded([&] { return hash(set, seed, backend_cancel_token()); });
}

}  // namespace

BATMAP_FUNCTION(batmap_eq) { PG_RETURN_BOOL(equal_sets(fcinfo)); }
BATMAP_FUNCTION(batmap_ne) { PG_RETURN_BOOL(!equal_sets(fcinfo)); }
BATMAP_FUNCTION(batmap_lt) { PG_RETURN_BOOL(compare_sets(fcinfo) < 0); }
BATMAP_FUNCTION(batmap_le) { PG_RETURN_BOOL(compare_sets(fcinfo) <= 0); }
BATMAP_FUNCTION(batmap_gt) { PG_RETURN_BOOL(compare_sets(fcinfo) > 0); }
BATMAP_FUNCTION(batmap_ge) { PG_RETURN_BOOL(compare_sets(fcinfo) >= 0); }
BATMAP_FUNCTION(batmap_cmp) { PG_RETURN_INT32(compare_sets(fcinfo)); }

// With seed 0 the lower half of the extended hash equals the plain hash, as the server requires.
BATMAP_FUNCTION(batmap_hash) { PG_RETURN_INT32(static_cast<int32>(hash_of(fcinfo, 0))); }
BATMAP_FUNCTION(batmap_hash_extended) {
  PG_RETURN_INT64(static_cast<int64>(hash_of(fcinfo, static_cast<uint64_t>(PG_GETARG_INT64(1)))));
}
