// What makes, empties and drops the companions of a kept table.
#pragma once

#include "extension/kept/kept_table.h"

#include "extension/server/pg.h"

namespace batmap::pg {

/// A statement names companions in its text. If a schema was renamed since, it could have found others.
/// @raises 40001
[[noreturn]] void raise_renamed(const char* table);

/// Ties the companions to the table, so that they are dropped with it. A dump does not contain these ties.
void tie_companions(Oid table, const Companions& companions);

/// Leaves the counts of no rows, when a table that is not partitioned has been truncated.
void empty_companions(const KeptTable& kept);

}  // namespace batmap::pg
