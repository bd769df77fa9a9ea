// The counts of the last merge, as they are stored, and the same counted again. SPI must be connected, as the owner.
#pragma once

#include "extension/kept/kept_change.h"
#include "extension/kept/kept_partitions.h"
#include "extension/kept/kept_table.h"

#include "extension/server/pg.h"

namespace batmap::pg {

inline CountsKey least_key() { return {INT64_MIN, {}}; }

inline Oid key_type(const KeptTable& kept) { return kept.has_texts ? TEXTOID : INT8OID; }

CountsKey key_of_datum(const KeptTable& kept, Datum value);
Datum datum_of_key(const KeptTable& kept, const CountsKey& key);

/// A stored value as it is used, in the current context. @raises unless texts or integers are its items, as those of the table
const std::byte* stored_value(const KeptTable& kept, Datum value);

struct Stored {
  const std::byte* supports = nullptr;
  StoredChunk* chunks = nullptr;
  size_t count = 0;
  bool fits = true;  // false: memory does not suffice, and the rest is not there
};

/// @raises that the snapshot sees no counts
[[noreturn]] void raise_no_counts(const KeptTable& kept);

/// @raises that the counts are of other files or partitions, which the snapshot of a transaction may not see
[[noreturn]] void raise_other_files(const KeptTable& kept);

/// Reads the counts, in the active snapshot, into a context; but the low keys of texts live as long as the SPI connection.
/// @return no supports if the counts are newer than the snapshot
Stored read_stored_or_none(const KeptTable& kept, const Selection& selection, MemoryContext context, KeptWork& work,
                           bool may_give_up = false);

/// The same in the current context. @raises if the counts are newer than the snapshot
Stored read_stored(const KeptTable& kept, const Selection& selection, KeptWork& work);

/// The counts of the rows in the active snapshot, in a context; nullptr: there are none.
struct varlena* recounted(const KeptTable& kept, MemoryContext context);

/// The same as if they were stored, in one chunk.
Stored recount_stored(const KeptTable& kept, MemoryContext context);

/// Are the counts in the active snapshot those of these partitions and files, and is the log theirs? The answer is yes also for a
/// table without partitions that has no counts, which is found when they are read, or that gets them from a publisher: they are of a
/// file there.
bool are_counted(const KeptTable& kept, const Partitions& partitions);

}  // namespace batmap::pg
