// Arguments of type batmap. A stored set is large and usually lies outside its row: fetching it costs more than
// intersecting it. So
//  - functions of two sets keep what they have fetched for the life of the calling expression (fn_mcxt), by toast pointer,
//    least recently used out, all expressions together within a quarter of batmap.work_mem, and with the planes aligned to
//    64 bytes: a nested loop over n sets fetches each about once;
//  - what the header tells needs its first 16 bytes, and membership the header and one or two blocks.
// Values inside their row are used where they lie. Values are immutable, and so is what a toast pointer names for as long as
// a statement can see it; expressions that the server caches for longer (catalog caches of support functions) keep nothing.
#pragma once

#include "set/set_view.h"

#include "extension/server/pg.h"

namespace batmap::pg {

struct SetPair {
  SetView a, b;
};

/// Arguments 0 and 1. Valid until the call returns.
SetPair set_arguments(FunctionCallInfo fcinfo);

/// One argument in full, in the current context. Nothing is kept.
SetView set_argument(FunctionCallInfo fcinfo, int argument);

/// A set that is not an argument of its own, in the current context.
SetView set_of_datum(Datum value);

/// What the header of an argument tells; its elements may not be asked for.
SetView set_header(FunctionCallInfo fcinfo, int argument);
SetView header_of_datum(Datum value);

/// Does the set of an argument hold x? Fetches blocks only, until asking that way has cost as much as the whole value.
bool set_argument_contains(FunctionCallInfo fcinfo, int argument, int64 x);

}  // namespace batmap::pg
