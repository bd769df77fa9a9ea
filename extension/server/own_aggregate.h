// Whether a function runs for an aggregate of the extension's own. Only then is its state known to be a plain value that
// nobody else sees, so that a transition may change it where it lies. That an aggregate runs says nothing: any role may make
// one whose other functions return stored values, or values of a plan.
#pragma once

#include "extension/server/pg.h"

namespace batmap::pg {

/// Asked for every row; the catalog is read once a node of the plan. Uses fn_extra, so a transition function has no other
/// use for it.
bool runs_for_own_aggregate(FunctionCallInfo fcinfo);

}  // namespace batmap::pg
