// Arguments of type batmap. A stored set is large and usually lies outside its row, so fetching it costs more
// than intersecting it. Therefore
//  - functions of two sets keep the sets that they fetch as long as the calling expression lives (fn_mcxt),
//    by toast pointer, when a value comes for the second time after the first call. All expressions of the backend
//    together keep at most a quarter of batmap.work_mem and drop sets by second chance (set_store.h). The planes are
//    aligned to 64 bytes. A nested loop over n sets fetches each about twice;
//  - what the header tells costs one chunk of the value, and membership costs the header and one or two blocks.
// Values inside their row are used in place, until they have met so many others that a copy of them is prepared. Values never
// change, and neither does the value of a toast pointer while a statement can see it. Expressions that the server caches longer
// (support functions in catalog caches) keep nothing.
#pragma once

#include "set/set_view.h"

#include "extension/server/pg.h"

namespace batmap::pg {

struct SetPair {
  SetView a, b;
};

/// Fetches arguments 0 and 1. They are valid until the call returns.
SetPair set_arguments(FunctionCallInfo fcinfo);

/// The same for functions that only count. Compact sets that are kept and have met others often enough come in prepared form.
SetPair counted_arguments(FunctionCallInfo fcinfo);

/// Fetches one argument in full, in the current context. Nothing is kept.
SetView set_argument(FunctionCallInfo fcinfo, int argument);

/// Fetches a set that is not an argument itself, in the current context.
SetView set_of_datum(Datum value);

/// Only the header of an argument; the elements must not be read.
SetView set_header(FunctionCallInfo fcinfo, int argument);
SetView header_of_datum(Datum value);

/// Does the set of an argument hold x? It fetches only blocks, until such probes have cost as much as
/// fetching the whole value.
bool set_argument_contains(FunctionCallInfo fcinfo, int argument, int64 x);

}  // namespace batmap::pg
