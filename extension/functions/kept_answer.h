// Counts of a kept table, from its companions: first counted, asked for, merged.
#pragma once

#include "extension/functions/kept_table.h"

#include "extension/server/pg.h"

namespace batmap::pg {

/// Counts the rows of a table whose companions are new and empty. No other session may change the table.
/// @param function  any function of the extension: the others lie in the same schema
void count_kept_rows(const KeptTable& kept, Oid function);

/// Writes the counts of no rows. SPI must be connected, as the owner.
void insert_no_counts(const KeptTable& kept);

}  // namespace batmap::pg
