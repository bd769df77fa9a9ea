// The triggers of a kept table, and the companions that its row trigger names. See kept_table.h.
#pragma once

#include "extension/server/pg.h"

namespace batmap::pg {

inline constexpr const char* kRowTrigger = "batmap_keep_rows";
inline constexpr const char* kInsertTrigger = "batmap_keep_insert";
inline constexpr const char* kUpdateTrigger = "batmap_keep_update";
inline constexpr const char* kDeleteTrigger = "batmap_keep_delete";
inline constexpr const char* kTruncateTrigger = "batmap_keep_truncate";
/// It never fires. Because it is a row trigger with a transition table, the server refuses to make the table a partition, or a
/// child of another table: rows would then change through the parent without a statement trigger.
inline constexpr const char* kAloneTrigger = "batmap_keep_alone";
inline constexpr int kTriggers = 6;
inline constexpr int kPartitionedTriggers = 1;  // of the table; a partition has a copy of it

struct Companions {
  Oid rows = InvalidOid;
  Oid counts = InvalidOid;
  Oid log = InvalidOid;
};

/// Whether a trigger is one of those that batmap_keep makes.
bool is_keep_trigger(const Trigger& trigger);

/// Whether a trigger always fires that must. That of rows must only fire where changes are replicated, if statement triggers
/// log the others.
bool fires(const Trigger& trigger, bool is_partitioned);

/// The relations that the row trigger names. @return false if the table is not kept
/// @param[out] is_copy  whether the trigger is a copy of that of a partitioned table
bool find_companions(Relation table, Companions& companions, bool* is_copy = nullptr);

/// The name of a row trigger that names companions, but not under the name that batmap_keep gives; nullptr: there is none.
const char* renamed_row_trigger(Relation table);

}  // namespace batmap::pg
