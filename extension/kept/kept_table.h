// Tables whose pair counts are kept (batmap_keep): what the catalog says about one.
//
// A kept table has three companions in its schema, which belong to its owner:
//   rows      a view (tid, item) over the table, with the filter as its condition. The server keeps the columns and the
//             filter right when columns are renamed, and refuses to drop them
//   counts    a table (part int2, low, counts): part 0 has the supports of the items, part 1 the chunks by their low
//             key (kernels/pairs/counts/kept_counts.h), part 2 the partitions that were counted (kept_partitions.h)
//   log       a table (tid, item, change int2): the rows that came (+1) and went (-1) since the last merge. That of a
//             partitioned table has the partition, too
// and six triggers. The row trigger, which fires only where changes are replicated, names the companions in its WHEN
// condition as constants of type regclass. So dumps, renaming and DROP are the server's, and nothing else is stored.
//
// A partitioned table has the row trigger alone, which always fires: the server gives each partition a copy, and takes it away
// from one that is detached. Statement triggers would fire only for the table that a statement names.
//
// Nothing in the catalog is trusted that another role could have made: all companions must belong to the owner of the
// table, and have the columns that batmap_keep gives them. Then the owner can only break what is his.
#pragma once

#include "extension/kept/kept_triggers.h"

#include "extension/server/pg.h"

namespace batmap::pg {

/// The parts of the table of counts.
inline constexpr int16 kSupportsPart = 0;
inline constexpr int16 kPairsPart = 1;
inline constexpr int16 kPartitionsPart = 2;

struct KeptTable {
  Oid table;  // for a partition the one whose counts are kept
  Oid owner;
  Companions companions;
  AttrNumber tid;  // columns of the table, or of the partition
  AttrNumber item;
  bool is_partitioned;
  Oid tid_type;
  Oid item_type;
  Oid counts_type;  // batmap_pair_counts
  bool has_texts;   // items are counted as texts
  bool all_fire;    // whether the triggers fire when they must
  /// An expression over the table, or the partition, as number 1; nullptr: none. Lives as long as the session's cache.
  const Node* filter;
};

/// How items of a type are counted. @return false for types that are refused
bool is_item_type(Oid type, bool& has_texts);

/// The columns that are read, as pull_varattnos() numbers them.
Bitmapset* read_columns(const KeptTable& kept);

/// @param table  or one of its partitions
/// @return nullptr if the table is not kept. Valid until the next call
/// @raises 55000 if a companion has another owner or other columns than it must
const KeptTable* find_kept_table(Relation table);

/// The same without its errors. @return nullptr also where the companions are not in order
const KeptTable* find_kept_table_quietly(Relation table);

/// Whether a table has an index of all its rows that begins with a column, and in which single values are looked up.
bool has_index(Relation table, AttrNumber column);

/// The expression for a column in a query text.
const char* as_item(const char* column, bool has_texts);

/// Runs what follows as the owner of a table, in a restricted context and with a safe search_path. An error ends this.
///
/// The filter and the triggers of companions are code of the owner, which may try to alter or drop what is being read. The server
/// refuses that for relations that are open.
struct AsOwner {
  explicit AsOwner(Oid owner, bool safe_path = true);
  /// The same, with the companions open.
  explicit AsOwner(const KeptTable& kept);
  void end();

 private:
  Relation companions_[3] = {};
  Oid user_;
  int context_;
  int settings_;
};

/// The name of a table as a constant of SQL, for hints: with quotes, and with its schema where it must have one.
const char* table_literal(Oid table);

}  // namespace batmap::pg
