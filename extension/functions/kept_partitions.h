// The partitions of a kept partitioned table: which were counted, and whether they are still all there are.
//
// Rows that come with an attached partition, or go with a detached one, are in no log. So the counts say which partitions they are
// of, each by its copy of the row trigger: the server makes a new one when a partition is attached, also if it was there
// before. A row of the log says the same of the partition that it was changed in. TRUNCATE of a partition leaves no counts.
// Where counts are not of the partitions that there are, questions count the rows, and the next merge does, too.
#pragma once

#include "extension/functions/kept_table.h"

#include "extension/server/pg.h"

namespace batmap::pg {

/// The partitions that have rows, locked against detaching.
struct Partitions {
  List* triggers = NIL;     // ascending OIDs of their copies of the row trigger
  List* untouched = NIL;    // those that have no trigger of TRUNCATE yet
  Oid misfit = InvalidOid;  // a partition whose changes no trigger sees
  const char* reason = nullptr;
};

/// Reads the partitions, as they are now.
Partitions read_partitions(const KeptTable& kept);

/// The same if all can be kept. @raises 42809, 55000
Partitions partitions_to_keep(const KeptTable& kept);

bool are_same(const Partitions& x, const Partitions& y);

/// Makes the triggers of TRUNCATE that are missing. SPI must be connected, as the owner.
void make_partition_triggers(const KeptTable& kept, const Partitions& partitions);

/// The schema of the extension, quoted.
const char* extension_schema(const KeptTable& kept);

}  // namespace batmap::pg
