// Where the rows of a kept table were when they were counted, and whether they are still there. A table that is not partitioned
// counts as its only partition.
//
// Rows that come with an attached partition, or go with a detached one, are in no log. So the counts say which partitions they are
// of, each by its copy of the row trigger: the server makes a new one when a partition is attached, also if it was there
// before. A row of the log says the same of the partition that it was changed in. The counts also say in which file the rows of the
// partition were: TRUNCATE gives it a new one, and so does all that rewrites it. Older snapshots see a rewritten table empty, and a
// dump is restored into another file. No snapshot is too old to notice that, and nobody waits for it. Where counts are not of the
// partitions and files that there are, questions count the rows, and the next merge does, too.
#pragma once

#include "extension/kept/kept_table.h"

#include "extension/server/pg.h"

namespace batmap::pg {

struct Partition {
  Oid trigger;  // its row trigger, or its copy of that of the partitioned table
  Oid file;
  /// The file is of this transaction, which could empty it without a new one, and no trigger would tell.
  bool is_new_file;
};

/// The partitions that have rows, locked against detaching and TRUNCATE.
struct Partitions {
  Partition* all = nullptr;  // [count], ascending by trigger
  int count = 0;
  Oid misfit = InvalidOid;  // a partition whose changes no trigger sees
  const char* reason = nullptr;
};

/// Reads the partitions, or the table that has none, as they are now.
Partitions read_partitions(const KeptTable& kept);

/// The same if all can be kept. @raises 42809, 55000
Partitions partitions_to_keep(const KeptTable& kept);

bool are_same(const Partitions& x, const Partitions& y);

/// @param trigger  of a row of the log
bool has_partition(const Partitions& partitions, Oid trigger);

/// How the counts name a partition. @param file  InvalidOid: one that must not be taken for the same later
int64 partition_key(Oid trigger, Oid file);

}  // namespace batmap::pg
