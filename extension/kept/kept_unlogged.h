// Changes of a kept table that its log does not have yet, or that a snapshot does not see there.
#pragma once

#include "extension/kept/kept_table.h"

#include "extension/server/pg.h"

namespace batmap::pg {

/// Whether a statement of this session is changing rows of a relation; their log is written when it is complete. A statement
/// that only reads the relation counts, too, if the transaction has changed it before. @param own  how often the caller has it open
bool is_being_changed(Relation relation, int own);
/// The same for a kept table and its partitions, which the caller has not open.
bool is_being_changed(const KeptTable& kept);

/// To be called when rows of a log have been written.
void note_logged_rows();
/// Whether a snapshot may see a change of this transaction, but not the log of it. A cursor that was opened in a trigger has such a
/// snapshot, and can be read when the statement is complete.
bool may_miss_log(Snapshot snapshot);

}  // namespace batmap::pg
