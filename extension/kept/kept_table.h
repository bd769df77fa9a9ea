// Tables whose pair counts are kept (batmap_keep): what the catalog says about one, and who may ask.
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

/// The parts of the table of counts.
inline constexpr int16 kSupportsPart = 0;
inline constexpr int16 kPairsPart = 1;
inline constexpr int16 kPartitionsPart = 2;

struct Companions {
  Oid rows = InvalidOid;
  Oid counts = InvalidOid;
  Oid log = InvalidOid;
};

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
/// Whether tids of a type are numbers themselves; others are numbered.
bool is_integer_type(Oid type);

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

/// Those of them that are certainly companions of this table. A role with the right TRIGGER, but no other, could have named
/// relations of the owner that are none. A list of OIDs.
List* droppable_companions(Relation table, const Companions& companions);

/// Changes of rows of child tables are in no log. @raises 0A000 if the table has such
void check_children(Relation table);

/// @param table  or one of its partitions
/// @return nullptr if the table is not kept. Valid until the next call
/// @raises 55000 if a companion has another owner or other columns than it must
const KeptTable* find_kept_table(Relation table);

/// The same without its errors. @return nullptr also where the companions are not in order
const KeptTable* find_kept_table_quietly(Relation table);

/// The same without errors, also if other things about the table mean that its counts cannot be right, or are not for all who
/// may read its rows. @return nullptr if its counts cannot be asked for, or nothing can be found out in parallel mode
const KeptTable* kept_table_or_none(Relation table);

/// Whether a subscription writes to a companion: then the publisher logs and merges, and nobody does it here.
bool is_subscribed(const Companions& companions);

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

/// Opens a kept table for a question of the current user, and keeps the lock to the end of the transaction.
/// @raises 42809, 55000 if the table is not kept, or if its counts cannot be right; 42501 if the user may not read
/// the columns that are counted, or only some of the rows
KeptTable kept_table_to_read(Oid table);
/// The same for its owner. @raises 42501 for others
KeptTable kept_table_to_change(Oid table);

/// Opens a table of the current user. Others get no lock on it, for which all users of the table would wait. @raises 42501
Relation open_own_table(Oid table, LOCKMODE lock);

/// The table with which a relation is dropped, because tie_companions() has tied it. @return InvalidOid: there is none
Oid tied_table(Oid relation);

/// Why a table cannot be kept, whether or not it is. @raises 42809, 0A000
void check_kind(Relation table);

/// Whether a table has an index of all its rows that begins with a column, and in which single values are looked up.
bool has_index(Relation table, AttrNumber column);

/// "schema"."name"
const char* qualified_name(Oid relation);

/// The expression for a column in a query text.
const char* as_item(const char* column, bool has_texts);

/// Runs what follows as the owner of a table, in a restricted context and with a safe search_path. An error ends this.
struct AsOwner {
  explicit AsOwner(Oid owner, bool safe_path = true);
  void end();

 private:
  Oid user_;
  int context_;
  int settings_;
};

/// The name of a table as a constant of SQL, for hints: with quotes, and with its schema where it must have one.
const char* table_literal(Oid table);

}  // namespace batmap::pg
