// Who may ask for kept counts, who may change them, and of which tables.
#pragma once

#include "extension/kept/kept_table.h"

#include "extension/server/pg.h"

namespace batmap::pg {

/// Why a table cannot be kept, whether or not it is. @raises 42809, 0A000
void check_kind(Relation table);

/// Changes of rows of child tables are in no log. @raises 0A000 if the table has such
void check_children(Relation table);

/// Whether a subscription writes to a companion: then the publisher logs and merges, and nobody does it here.
bool is_subscribed(const Companions& companions);

/// Whether no change can have been missed: all triggers fire, and one subscription writes to everything or none to anything.
bool has_all_changes(const KeptTable& kept);

/// Without errors. @return nullptr also if the counts cannot be right, are not for all who may read the rows, or in parallel mode,
/// where nothing can be found out
const KeptTable* kept_table_or_none(Relation table);

/// Opens a kept table for a question of the current user, and keeps the lock to the end of the transaction.
/// @raises 42809, 55000 if the table is not kept, or if its counts cannot be right; 42501 if the user may not read
/// the columns that are counted, or only some of the rows
KeptTable kept_table_to_read(Oid table);
/// The same for its owner. @raises 42501 for others
KeptTable kept_table_to_change(Oid table);

/// Opens a table of the current user. Others get no lock on it, for which all users of the table would wait. @raises 42501
Relation open_own_table(Oid table, LOCKMODE lock);

}  // namespace batmap::pg
