// Counts of a kept table, from its companions: first counted, asked for, merged.
#pragma once

#include "extension/functions/kept_table.h"

#include "extension/server/pg.h"

namespace batmap::pg {

/// Counts the rows of a table whose companions are new and empty. No other session may change the table.
void count_kept_rows(const KeptTable& kept);

/// The counts of all items of a kept table in a snapshot, in the current memory context. Rights are not checked.
/// @param table      locked by the caller
/// @param[out] why   they cannot be used, if nothing is returned: they are newer than the snapshot, for example
struct varlena* kept_counts_or_none(Oid table, Snapshot snapshot, const char*& why);

/// Merges the changes of a table if its log has at least so many rows, and does not wait: not for who holds the table, nor for
/// another merge. To be called in a transaction of its own. @return whether it has merged
bool merge_if_long(Oid table, int min_rows);

/// Writes the counts of no rows. SPI must be connected, as the owner.
void insert_no_counts(const KeptTable& kept);

}  // namespace batmap::pg
