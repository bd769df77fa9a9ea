// Writes the counts of a kept table: first all of them, then the changes that its log has.
#pragma once

#include "extension/kept/kept_table.h"

#include "extension/server/pg.h"

namespace batmap::pg {

/// Counts the rows of a table whose companions are new and empty. No other session may change the table.
void count_kept_rows(const KeptTable& kept);

/// Merges the changes of a table if its log has at least so many rows, and does not wait: not for who holds the table, nor for
/// another merge. To be called in a transaction of its own. @return whether it has merged
bool merge_if_long(Oid table, int min_rows);

/// Writes the counts of no rows. SPI must be connected, as the owner.
void insert_no_counts(const KeptTable& kept);

}  // namespace batmap::pg
