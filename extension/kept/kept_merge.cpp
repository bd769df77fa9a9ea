// batmap_merge_kept, and the first count. See kept_merge.h.
#include "extension/kept/kept_merge.h"

#include <vector>

#include "extension/kept/kept_access.h"
#include "extension/kept/kept_change.h"
#include "extension/kept/kept_partitions.h"
#include "extension/kept/kept_setup.h"
#include "extension/kept/kept_stored.h"
#include "extension/kept/kept_unlogged.h"
#include "extension/server/boundary.h"
#include "extension/server/own_statement.h"

#include "extension/server/pg.h"

using namespace batmap;
using namespace batmap::pg;

namespace {

constexpr uint64_t kPairsAPart = 32 * kPairsAChunk;  // of the first count, which is cut into chunks part by part: 32 MB

void write_counts(const KeptTable& kept, const char* statement, int16 part, const CountsKey& low, const std::byte* bytes,
                  size_t size) {
  const char* const text = psprintf(statement, qualified_name(kept.companions.counts));
  Oid types[3] = {INT2OID, key_type(kept), kept.counts_type};
  struct varlena* const value = counts_allocate(size);
  if (size > 0) memcpy(VARDATA(value), bytes, size);
  Datum values[3] = {Int16GetDatum(part), datum_of_key(kept, low), PointerGetDatum(value)};
  run_on_companions(kept, text, false, 3, types, values);
}

constexpr const char* kInsert = "INSERT INTO %s VALUES ($1, $2, $3)";
constexpr const char* kUpdate = "UPDATE %s SET counts = $3 WHERE part = $1 AND low = $2";

void delete_chunk(const KeptTable& kept, const CountsKey& low) {
  Oid type = key_type(kept);
  Datum value = datum_of_key(kept, low);
  run_on_companions(
      kept, psprintf("DELETE FROM %s WHERE part = %d AND low = $1", qualified_name(kept.companions.counts), kPairsPart),
      false, 1, &type, &value);
}

/// Writes the chunks that a merge has made. @param was_there  whether the first one replaces a chunk
void write_made(const KeptTable& kept, const KeptWork& work, bool was_there) {
  const MemoryContext scratch = AllocSetContextCreate(CurrentMemoryContext, "batmap chunk", ALLOCSET_DEFAULT_SIZES);
  for (size_t k = 0; k < work.made.size(); ++k) {
    CHECK_FOR_INTERRUPTS();
    const MadeChunk& chunk = work.made[k];
    const MemoryContext caller = MemoryContextSwitchTo(scratch);
    write_counts(kept, k == 0 && was_there ? kUpdate : kInsert, kPairsPart, chunk.low, work.bytes.begin() + chunk.begin,
                 chunk.bytes);
    MemoryContextSwitchTo(caller);
    MemoryContextReset(scratch);
  }
  MemoryContextDelete(scratch);
}

/// The low keys of the chunks in the active snapshot.
void read_lows(const KeptTable& kept, KeptWork& work) {
  run_on_companions(
      kept, psprintf("SELECT low FROM %s WHERE part = %d ORDER BY low", qualified_name(kept.companions.counts), kPairsPart),
      true);
  const uint64 count = SPI_processed;
  check_result(kept, {key_type(kept)});
  auto* const keys = static_cast<CountsKey*>(palloc(Max(count, 1) * sizeof(CountsKey)));
  for (uint64 k = 0; k < count; ++k) {
    bool is_null;
    const Datum low = SPI_getbinval(SPI_tuptable->vals[k], SPI_tuptable->tupdesc, 1, &is_null);
    if (is_null)
      ereport(ERROR, (errcode(ERRCODE_DATA_CORRUPTED),
                      errmsg("a chunk of the counts of table \"%s\" has no low", get_rel_name(kept.table)),
                      errhint("%s", kMismatchHint)));
    keys[k] = key_of_datum(kept, low);
  }
  guarded([&] { work.lows.assign(keys, keys + count); });
}

const std::byte* read_chunk_of(const KeptTable& kept, const CountsKey& low) {
  Oid type = key_type(kept);
  Datum value = datum_of_key(kept, low);
  run_on_companions(
      kept,
      psprintf("SELECT counts FROM %s WHERE part = %d AND low = $1", qualified_name(kept.companions.counts), kPairsPart),
      true, 1, &type, &value);
  if (SPI_processed != 1) return nullptr;
  check_result(kept, {kept.counts_type});
  bool is_null;
  const Datum counts = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &is_null);
  return is_null ? nullptr : stored_value(kept, counts);
}

bool is_least(const KeptTable& kept, const CountsKey& low) {
  return kept.has_texts ? low.text.empty() : low.number == INT64_MIN;
}

/// Merges the change into the chunks. SPI is connected, as the owner; reads are in the active snapshot.
void merge_chunks(const KeptTable& kept, const char* name, KeptWork& work) {
  read_lows(kept, work);
  const bool has_first = !work.lows.empty() && is_least(kept, work.lows[0]);
  if (!has_first) guarded([&] { work.lows.insert(work.lows.begin(), least_key()); });
  const MemoryContext scratch = AllocSetContextCreate(CurrentMemoryContext, "batmap merge", ALLOCSET_DEFAULT_SIZES);
  for (size_t k = 0; k < work.lows.size(); ++k) {
    CHECK_FOR_INTERRUPTS();
    const CountsKey low = work.lows[k];
    const CountsKey* const high = k + 1 < work.lows.size() ? &work.lows[k + 1] : nullptr;
    bool changes = false;
    over_companions(name, [&] { changes = work.counts->changes(low, high); });
    if (!changes) continue;
    const MemoryContext caller = MemoryContextSwitchTo(scratch);
    const bool was_there = k > 0 || has_first;
    const std::byte* const value = was_there ? read_chunk_of(kept, low) : nullptr;
    SPITupleTable* const read = was_there ? SPI_tuptable : nullptr;
    over_companions(name, [&] {
      work.made.clear();
      work.bytes.shrink(0);
      work.counts->merge({low, value}, high, work.bytes, work.made);
    });
    if (work.made.empty() && was_there) delete_chunk(kept, low);
    write_made(kept, work, was_there);
    if (read != nullptr) SPI_freetuptable(read);
    MemoryContextSwitchTo(caller);
    MemoryContextReset(scratch);
  }
  MemoryContextDelete(scratch);
}

void write_no_counts(const KeptTable& kept, int16 part, const CountsKey& low, KeptWork& work) {
  guarded([&] {
    work.bytes.shrink(0);
    KeptCounts::make(nullptr, {}, kept.has_texts, work.options)->write_supports(work.bytes);
  });
  write_counts(kept, kInsert, part, low, work.bytes.begin(), work.bytes.size());
}

/// Writes which partitions and files have been counted.
void write_partitions(const KeptTable& kept, const Partitions& partitions, KeptWork& work) {
  for (int k = 0; k < partitions.count; ++k) {
    const Partition& partition = partitions.all[k];
    const int64 key = partition_key(partition.trigger, partition.is_new_file ? InvalidOid : partition.file);
    const CountsKey low = kept.has_texts ? CountsKey{0, psprintf(INT64_FORMAT, key)} : CountsKey{key, {}};
    write_no_counts(kept, kPartitionsPart, low, work);
  }
}

[[noreturn]] void raise_new_partitions(const char* table) {
  ereport(ERROR,
          (errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
           errmsg("partitions of table \"%s\" were attached or detached during the merge", table), errhint("Try again.")));
  pg_unreachable();
}

/// Counts the rows in the active snapshot and writes the counts, where none are stored. SPI is connected, as the owner.
/// @param partitions  as they were before the snapshot was taken: what changed in one before it was attached is seen then
void count_and_write(const KeptTable& kept, const char* name, KeptWork& work, const Partitions& partitions) {
  struct varlena* const counted = recounted(kept, CurrentMemoryContext);
  // Rows of others may have been read, some of which the snapshot does not see.
  if (!are_same(partitions, read_partitions(kept))) raise_new_partitions(name);
  write_partitions(kept, partitions, work);
  if (counted == nullptr) {
    write_no_counts(kept, kSupportsPart, least_key(), work);
    return;
  }
  over_companions(name, [&] {
    work.change.supports_after = work.change.pairs_after = counts_bytes(counted);
    work.counts = KeptCounts::make(nullptr, work.change, kept.has_texts, work.options);
    work.bytes.shrink(0);
    work.counts->write_supports(work.bytes);
    work.lows = work.counts->cuts(kPairsAPart);
    work.lows.insert(work.lows.begin(), least_key());
  });
  write_counts(kept, kInsert, kSupportsPart, least_key(), work.bytes.begin(), work.bytes.size());
  for (size_t k = 0; k < work.lows.size(); ++k) {
    over_companions(name, [&] {
      work.made.clear();
      work.bytes.shrink(0);
      work.counts->merge({work.lows[k], nullptr}, k + 1 < work.lows.size() ? &work.lows[k + 1] : nullptr, work.bytes,
                         work.made);
    });
    write_made(kept, work, false);
  }
}

/// Deletes the rows of a companion that a snapshot sees. @return their number
uint64 delete_rows(const KeptTable& kept, Oid companion, Snapshot snapshot, const char* where = "") {
  const SPIPlanPtr deletion = prepared(kept, psprintf("DELETE FROM %s%s", qualified_name(companion), where));
  const int status = SPI_execute_snapshot(deletion, nullptr, nullptr, snapshot, InvalidSnapshot, false, true, 0);
  if (status < 0) elog(ERROR, "statement failed: %s", SPI_result_code_string(status));
  return SPI_processed;
}

/// Merges the log into the counts, in the active snapshot. SPI is connected, as the owner.
void merge_change(const KeptTable& kept, const char* name, KeptWork& work, Snapshot snapshot) {
  delete_rows(kept, kept.companions.log, snapshot, " WHERE tid IS NULL OR item IS NULL");
  if (work.log_rows == 0) return;
  if (delete_rows(kept, kept.companions.log, snapshot) != work.log_rows)
    elog(ERROR, "log of table \"%s\" has changed during the merge", name);
  const Stored stored =
      read_stored(kept, {false, ContextOwned<std::vector<CountsKey>>::reserve(CurrentMemoryContext)->emplace()}, work);
  over_companions(name, [&] {
    count_change(kept, {}, work);
    work.counts = KeptCounts::make(stored.supports, work.change, kept.has_texts, work.options);
    work.counts->write_supports(work.bytes);
  });
  write_counts(kept, kUpdate, kSupportsPart, least_key(), work.bytes.begin(), work.bytes.size());
  merge_chunks(kept, name, work);
}

/// Counts all rows again, because the stored counts are not of the partitions and files that there are. As for a merge, the log
/// keeps the rows that the snapshot does not see, so nobody waits.
uint64 merge_partitions(const KeptTable& kept, const char* name, KeptWork& work) {
  if (IsolationUsesXactSnapshot()) raise_other_files(kept);
  const Partitions partitions = partitions_to_keep(kept);
  const Snapshot snapshot = RegisterSnapshot(GetLatestSnapshot());
  PushActiveSnapshot(snapshot);
  const uint64 merged = delete_rows(kept, kept.companions.log, snapshot);
  delete_rows(kept, kept.companions.counts, snapshot);
  count_and_write(kept, name, work, partitions);
  PopActiveSnapshot();
  UnregisterSnapshot(snapshot);
  return merged;
}

/// Merges the log into the counts. The lock on the view is held. @return the number of its rows
int64 merge_log(const KeptTable& kept) {
  const char* const name = get_rel_name(kept.table);
  AsOwner owner(kept);
  SPI_connect();
  tie_companions(kept.table, kept.companions);
  KeptWork* const work = ContextOwned<KeptWork>::reserve(CurrentMemoryContext)->emplace();
  const Partitions partitions = read_partitions(kept);
  // What is merged, and what is deleted from the log, is what this snapshot sees: rows of transactions that are in
  // progress stay in the log.
  const Snapshot snapshot = RegisterSnapshot(GetTransactionSnapshot());
  PushActiveSnapshot(snapshot);
  bool is_counted = are_counted(kept, partitions);
  // A log that does not fit into memory may have more rows than the table: these are counted again.
  if (is_counted && !read_change(kept, *work, !IsolationUsesXactSnapshot())) {
    work->drop_rows();
    is_counted = false;
  }
  if (is_counted) {
    if (!are_same(partitions, read_partitions(kept))) raise_new_partitions(name);
    merge_change(kept, name, *work, snapshot);
  }
  PopActiveSnapshot();
  UnregisterSnapshot(snapshot);
  const uint64 merged = is_counted ? work->log_rows : merge_partitions(kept, name, *work);
  SPI_finish();
  owner.end();
  return static_cast<int64>(merged);
}

/// A merge would count rows whose log is yet to be written.
void check_unchanged(const KeptTable& kept) {
  if (is_being_changed(kept))
    ereport(ERROR, (errcode(ERRCODE_OBJECT_IN_USE),
                    errmsg("cannot merge the counts of table \"%s\" while a statement changes it", get_rel_name(kept.table)),
                    errhint("Merge when the statement is complete, in a transaction of its own.")));
}

/// Whether the log has at least so many rows, or the counts are not of the partitions and files that there are.
bool needs_merge(const KeptTable& kept, int min_rows) {
  AsOwner owner(kept);
  SPI_connect();
  const Partitions partitions = read_partitions(kept);
  PushActiveSnapshot(GetTransactionSnapshot());
  bool needed = !are_counted(kept, partitions);
  if (!needed) {
    run_on_companions(
        kept, psprintf("SELECT 1 FROM %s OFFSET %d LIMIT 1", qualified_name(kept.companions.log), Max(min_rows, 1) - 1),
        true);
    needed = SPI_processed > 0;
  }
  PopActiveSnapshot();
  SPI_finish();
  owner.end();
  return needed;
}

}  // namespace

namespace batmap::pg {

void merge_if_long(Oid oid, int min_rows) {
  if (!ConditionalLockRelationOid(oid, AccessShareLock)) return;
  const Relation table = try_relation_open(oid, NoLock);
  Companions companions;
  const bool is_kept = table != nullptr && find_companions(table, companions);
  if (table != nullptr) relation_close(table, NoLock);
  if (!is_kept || is_subscribed(companions)) return;
  for (const Oid companion : {companions.rows, companions.counts, companions.log})
    if (!ConditionalLockRelationOid(companion, AccessShareLock)) return;
  const KeptTable kept = kept_table_to_change(oid);
  if (!ConditionalLockRelationOid(kept.companions.rows, ShareUpdateExclusiveLock)) return;
  if (needs_merge(kept, min_rows)) merge_log(kept);
}

void count_kept_rows(const KeptTable& kept) {
  AsOwner owner(kept);
  SPI_connect();
  const Partitions partitions = partitions_to_keep(kept);
  // The snapshot of the transaction may be older than the lock on the table.
  PushActiveSnapshot(GetLatestSnapshot());
  count_and_write(kept, get_rel_name(kept.table), *ContextOwned<KeptWork>::reserve(CurrentMemoryContext)->emplace(),
                  partitions);
  PopActiveSnapshot();
  SPI_finish();
  owner.end();
}

}  // namespace batmap::pg

BATMAP_FUNCTION(batmap_merge_kept) {
  PreventCommandDuringRecovery("batmap_merge_kept()");
  const KeptTable kept = kept_table_to_change(PG_GETARG_OID(0));
  if (is_subscribed(kept.companions))
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("the counts of table \"%s\" come from a publisher", get_rel_name(kept.table)),
                    errhint("Merge them there.")));
  check_unchanged(kept);
  // Merges wait for each other, nobody else does. The view is locked because VACUUM never is on it.
  LockRelationOid(kept.companions.rows, ShareUpdateExclusiveLock);
  PG_RETURN_INT64(merge_log(kept));
}
