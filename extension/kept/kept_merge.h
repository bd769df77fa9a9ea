// Writes the counts of a kept table: first all of them, then the changes that its log has.
#pragma once

#include "extension/kept/kept_table.h"

#include "extension/server/pg.h"

namespace batmap::pg {

/// Counts the rows of a table whose companions are empty. No other session may change the table.
void count_kept_rows(const KeptTable& kept);

/// Merges the changes of a table if its log has at least so many rows, and does not wait: not for who holds the table, nor for
/// another merge. To be called in a transaction of its own.
void merge_if_long(Oid table, int min_rows);

}  // namespace batmap::pg
