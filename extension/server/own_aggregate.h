// Tells whether a function runs for an aggregate of the extension itself. Only then is the state known to be
// a plain value that nobody else sees, so that a transition may change it in place. It is not enough that
// some aggregate runs: any role may create an aggregate whose other functions return stored values or values
// of a plan.
#pragma once

#include "extension/server/pg.h"

namespace batmap::pg {

/// Called for every row; it reads the catalog once for each plan node. It uses fn_extra, so a transition
/// function must not.
bool runs_for_own_aggregate(FunctionCallInfo fcinfo);

}  // namespace batmap::pg
