// Reads stored counts, and counts rows. See kept_stored.h.
#include "extension/kept/kept_stored.h"

#include <algorithm>

#include "extension/kept/kept_access.h"
#include "extension/server/own_statement.h"
#include "extension/types/pair_counts_datum.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

/// A value in the current context: also one that lay in a row.
struct varlena* fetched_copy(Datum value) {
  struct varlena* const counts = counts_finished(flat_fetched(kPairCountsType, value));
  if (PointerGetDatum(counts) != value) return counts;
  return reinterpret_cast<struct varlena*>(DatumGetPointer(datumCopy(value, false, -1)));
}

/// A stored value, charged to the call, which lives as long as the context. @return nullptr: memory does not suffice
const std::byte* charged_value(const KeptTable& kept, Datum value, KeptWork& work, bool may_give_up) {
  const Size bytes = toast_raw_datum_size(value);
  if (!guarded_fits(may_give_up, [&] { work.meter.charge(bytes); })) return nullptr;
  return stored_value(kept, value);
}

/// Whether the counts are there for a snapshot that is taken now.
bool are_there_now(const KeptTable& kept) {
  PushActiveSnapshot(GetLatestSnapshot());
  run_on_companions(
      kept, psprintf("SELECT 1 FROM %s WHERE part = %d", qualified_name(kept.companions.counts), kSupportsPart), true);
  PopActiveSnapshot();
  return SPI_processed > 0;
}

}  // namespace

CountsKey key_of_datum(const KeptTable& kept, Datum value) {
  if (!kept.has_texts) return {DatumGetInt64(value), {}};
  const text* const key = DatumGetTextPP(value);
  return {0, {VARDATA_ANY(key), static_cast<size_t>(VARSIZE_ANY_EXHDR(key))}};
}

Datum datum_of_key(const KeptTable& kept, const CountsKey& key) {
  if (!kept.has_texts) return Int64GetDatum(key.number);
  return PointerGetDatum(cstring_to_text_with_len(key.text.data(), static_cast<int>(key.text.size())));
}

const std::byte* stored_value(const KeptTable& kept, Datum value) {
  struct varlena* const counts = fetched_copy(value);
  check_counts_items(counts, kept.has_texts, kMismatchHint);
  return counts_bytes(counts);
}

[[noreturn]] void raise_no_counts(const KeptTable& kept) {
  if (!are_there_now(kept))
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("table \"%s\" has no kept counts", get_rel_name(kept.table)),
                    errdetail("The table that holds them is empty, as after a restore of the schema alone."),
                    errhint("batmap_unkeep and batmap_keep count the rows.")));
  ereport(ERROR, (errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
                  errmsg("the counts of table \"%s\" are newer than this snapshot", get_rel_name(kept.table)),
                  errdetail("The table was truncated, or batmap_keep was called, after the snapshot was taken."),
                  errhint("Ask again in a new transaction.")));
  pg_unreachable();
}

[[noreturn]] void raise_other_files(const KeptTable& kept) {
  const char* const name = get_rel_name(kept.table);
  ereport(ERROR,
          (errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
           kept.is_partitioned ? errmsg("partitions of table \"%s\" were attached, detached, truncated or rewritten", name)
                               : errmsg("table \"%s\" was rewritten or restored", name),
           errdetail("The counts can be merged in a transaction with isolation level READ COMMITTED only."),
           errhint("Call batmap_merge_kept in such a transaction. Until then the rows are counted.")));
  pg_unreachable();
}

Stored read_stored_or_none(const KeptTable& kept, const Selection& selection, MemoryContext context, KeptWork& work,
                           bool may_give_up) {
  const char* const counts = qualified_name(kept.companions.counts);
  if (selection.all) {
    run_on_companions(kept,
                      psprintf("SELECT part, low, counts FROM %s WHERE part IN (%d, %d) ORDER BY part, low", counts,
                               kSupportsPart, kPairsPart),
                      true);
  } else {
    const size_t count = selection.items->size();
    auto* const keys = static_cast<Datum*>(palloc(Max(count, 1) * sizeof(Datum)));
    for (size_t k = 0; k < count; ++k) keys[k] = datum_of_key(kept, (*selection.items)[k]);
    ArrayType* const array = kept.has_texts
                                 ? construct_array(keys, static_cast<int>(count), TEXTOID, -1, false, TYPALIGN_INT)
                                 : construct_array(keys, static_cast<int>(count), INT8OID, 8, true, TYPALIGN_DOUBLE);
    Oid type = kept.has_texts ? TEXTARRAYOID : INT8ARRAYOID;
    Datum value = PointerGetDatum(array);
    const char* const collate = kept.has_texts ? " COLLATE \"C\"" : "";
    run_on_companions(
        kept,
        psprintf("SELECT part, low, counts FROM %s WHERE part = %d UNION ALL "
                 "(SELECT part, low, counts FROM %s WHERE part = %d AND low IN (SELECT (SELECT max(n.low) FROM %s n "
                 "WHERE n.part = %d AND n.low <= i%s) FROM unnest($1) i) ORDER BY low)",
                 counts, kSupportsPart, counts, kPairsPart, counts, kPairsPart, collate),
        true, 1, &type, &value);
  }
  const uint64 rows = SPI_processed;
  check_result(kept, {INT2OID, key_type(kept), kept.counts_type});
  Stored stored;
  const MemoryContext caller = MemoryContextSwitchTo(context);
  stored.chunks = static_cast<StoredChunk*>(palloc(Max(rows, 1) * sizeof(StoredChunk)));
  for (uint64 k = 0; k < rows; ++k) {
    CHECK_FOR_INTERRUPTS();
    Datum values[3];
    bool nulls[3];
    heap_deform_tuple(SPI_tuptable->vals[k], SPI_tuptable->tupdesc, values, nulls);
    if (nulls[0] || nulls[1] || nulls[2]) continue;
    const std::byte* const value = charged_value(kept, values[2], work, may_give_up);
    if (value == nullptr) {
      stored.fits = false;
      break;
    }
    if (DatumGetInt16(values[0]) == kSupportsPart)
      stored.supports = value;
    else
      stored.chunks[stored.count++] = {key_of_datum(kept, values[1]), value};
  }
  MemoryContextSwitchTo(caller);
  return stored;
}

Stored read_stored(const KeptTable& kept, const Selection& selection, KeptWork& work) {
  const Stored stored = read_stored_or_none(kept, selection, CurrentMemoryContext, work);
  if (stored.supports == nullptr) raise_no_counts(kept);
  return stored;
}

struct varlena* recounted(const KeptTable& kept, MemoryContext context) {
  run_on_companions(kept, recount_query(kept), true);
  bool is_null;
  const Datum value = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &is_null);
  const MemoryContext caller = MemoryContextSwitchTo(context);
  struct varlena* const counted = is_null ? nullptr : fetched_copy(value);
  MemoryContextSwitchTo(caller);
  return counted;
}

Stored recount_stored(const KeptTable& kept, MemoryContext context) {
  Stored stored;
  struct varlena* const counted = recounted(kept, context);
  if (counted == nullptr) return stored;
  stored.supports = counts_bytes(counted);
  stored.chunks = static_cast<StoredChunk*>(MemoryContextAlloc(context, sizeof(StoredChunk)));
  stored.chunks[stored.count++] = {least_key(), stored.supports};
  return stored;
}

bool are_counted(const KeptTable& kept, const Partitions& partitions) {
  if (partitions.reason != nullptr) return false;
  if (!kept.is_partitioned && is_subscribed(kept.companions)) return true;
  const char* const counts = qualified_name(kept.companions.counts);
  const char* const log_partitions =
      kept.is_partitioned
          ? psprintf(" UNION ALL SELECT DISTINCT NULL::int2, partition::int8 FROM %s", qualified_name(kept.companions.log))
          : "";
  run_on_companions(kept,
                    psprintf("SELECT part, CASE part WHEN %d THEN low::int8 END FROM %s WHERE part IN (%d, %d)%s",
                             kPartitionsPart, counts, kSupportsPart, kPartitionsPart, log_partitions),
                    true);
  check_result(kept, {INT2OID, INT8OID});
  bool has_supports = false;
  bool is_log_known = true;
  uint64 counted = 0;
  auto* const keys = static_cast<int64*>(palloc(Max(SPI_processed, 1) * sizeof(int64)));
  for (uint64 k = 0; k < SPI_processed; ++k) {
    Datum values[2];
    bool nulls[2];
    heap_deform_tuple(SPI_tuptable->vals[k], SPI_tuptable->tupdesc, values, nulls);
    if (nulls[0])
      is_log_known &= !nulls[1] && has_partition(partitions, static_cast<Oid>(DatumGetInt64(values[1])));
    else if (nulls[1])
      has_supports = true;
    else
      keys[counted++] = DatumGetInt64(values[1]);
  }
  // As unsigned numbers, which is the order of the triggers.
  std::sort(keys, keys + counted, [](int64 x, int64 y) { return static_cast<uint64>(x) < static_cast<uint64>(y); });
  if (!has_supports) return !kept.is_partitioned;
  return is_log_known && std::equal(keys, keys + counted, partitions.all, partitions.all + partitions.count,
                                    [](int64 key, const Partition& partition) {
                                      return key == partition_key(partition.trigger, partition.file);
                                    });
}

}  // namespace batmap::pg
