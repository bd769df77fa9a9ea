// batmap_kept_counts and batmap_check_kept: the counts of a kept table, its changes, and both together.
//
// Everything is read in one snapshot: the counts of the last merge, the log, and the current rows of the transactions that the
// log names. The rows that such a transaction had at the merge are its current rows with the log undone. A transaction
// of the server changes the table and the log together, and a merge changes the counts and the log together, so any
// snapshot sees a state in which this arithmetic holds (docs/kept-counts.md says why).
//
// Cost: a question about some items reads their chunks, the supports of all items, the log, and the rows of the
// transactions in the log; a question about all items reads all chunks.
#include "extension/kept/kept_answer.h"

#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "extension/kept/kept_access.h"
#include "extension/kept/kept_change.h"
#include "extension/kept/kept_partitions.h"
#include "extension/kept/kept_stored.h"
#include "extension/kept/kept_unlogged.h"
#include "extension/server/boundary.h"
#include "extension/types/pair_counts_datum.h"
#include "extension/types/text_items.h"

#include "extension/server/pg.h"

using namespace batmap;
using namespace batmap::pg;

namespace batmap::pg {

struct KeptRoom {
  ContextOwned<KeptWork>* work;
};

}  // namespace batmap::pg

namespace {

enum class Answer { kFresh, kMirrored };

/// Which counts are read: those of the files and partitions that there are, or whatever is stored, to be compared with the rows.
enum class Files { kThese, kAll };

/// Why there are no counts.
enum class Problem { kNone, kTooOld, kOtherFiles, kMismatch, kNoRoom };

/// Whether rows of the table may be seen now whose log is not.
bool is_log_incomplete(const KeptTable& kept) { return is_being_changed(kept) || may_miss_log(GetActiveSnapshot()); }

/// Reads counts and change, in the active snapshot, or counts the rows. SPI is connected, as the owner.
/// @param context   where the counts will lie @param work  gets the change
/// @param quietly   problems are told instead of raised: kOtherFiles, if the rows would have to be counted. Then the caller
///                  knows that no statement is changing the table, or finds that out
/// @param expects   whether the same holds for counts that are newer than the snapshot
Stored read_fresh(const KeptTable& kept, const Selection& selection, MemoryContext context, KeptWork& work, bool quietly,
                  bool expects, Problem& found, Files files = Files::kThese) {
  const Partitions partitions = read_partitions(kept);
  bool is_counted = (quietly || !is_log_incomplete(kept)) && (files == Files::kAll || are_counted(kept, partitions));
  Stored stored;
  found = Problem::kNone;
  if (is_counted) {
    // A log that does not fit may have more rows than the table.
    const bool may_recount = !quietly && files == Files::kThese;
    bool fits = read_change(kept, work, expects || may_recount);
    const bool is_too_long = !fits && !expects;
    if (fits) stored = read_stored_or_none(kept, selection, context, work, expects);
    if (!is_too_long && (!fits || !stored.fits)) {
      found = Problem::kNoRoom;
      return {};
    }
    // Those that were locked are still there. A new one may have been read.
    is_counted = !is_too_long && (files == Files::kAll || are_same(partitions, read_partitions(kept)));
    if (is_counted && stored.supports == nullptr) found = Problem::kTooOld;
  }
  if (found == Problem::kTooOld && !expects) raise_no_counts(kept);
  if (!is_counted && quietly) {
    found = Problem::kOtherFiles;
  } else if (!is_counted) {
    work.drop_rows();
    stored = recount_stored(kept, context);
  }
  return stored;
}

/// The counts of a table in the active snapshot, in memory of the caller's context.
/// @param problem  set instead of an error if the companions do not match the rows; nullptr: an error
/// @param expects  whether the same holds for counts that are newer than the snapshot, or too large
struct varlena* fresh_counts(const KeptTable& kept, const Selection& selection, Answer answer, Problem* problem = nullptr,
                             bool expects = false, Files files = Files::kThese) {
  const MemoryContext caller = CurrentMemoryContext;
  const char* const name = get_rel_name(kept.table);
  AsOwner owner(kept);
  SPI_connect();
  KeptWork* const work = ContextOwned<KeptWork>::reserve(CurrentMemoryContext)->emplace();
  Problem found;
  const Stored stored = read_fresh(kept, selection, CurrentMemoryContext, *work, problem != nullptr, expects, found, files);
  over_companions(name, [&] {
    if (found != Problem::kNone) return;
    try {
      count_change(kept, selection, *work);
      const std::unique_ptr<KeptCounts> counts =
          KeptCounts::make(stored.supports, work->change, kept.has_texts, work->options);
      const std::span<const StoredChunk> chunks{stored.chunks, stored.count};
      if (selection.all)
        counts->write_all(chunks, work->bytes, answer == Answer::kMirrored);
      else
        counts->write_selected(chunks, *selection.items, work->bytes);
    } catch (const Error& error) {
      const bool has_no_room = error.code() == ErrorCode::kMemoryLimit || error.code() == ErrorCode::kTooLarge;
      if (problem == nullptr || (has_no_room ? !expects : error.code() != ErrorCode::kInvalidParameter)) throw;
      found = has_no_room ? Problem::kNoRoom : Problem::kMismatch;
    }
  });
  if (expects && found == Problem::kNone && work->bytes.size() > MaxAllocSize - VARHDRSZ) found = Problem::kNoRoom;
  if (problem != nullptr) *problem = found;
  struct varlena* value = nullptr;
  if (found == Problem::kNone) {
    const MemoryContext inner = MemoryContextSwitchTo(caller);
    value = counts_allocate(work->bytes.size());
    memcpy(VARDATA(value), work->bytes.begin(), work->bytes.size());
    MemoryContextSwitchTo(inner);
  }
  SPI_finish();
  owner.end();
  return value;
}

/// The items of an array, in `context`. @return all, if it is nullptr
Selection read_selection(ArrayType* array, bool texts, MemoryContext context) {
  Selection selection;
  if (array == nullptr) return selection;
  selection.all = false;
  const MemoryContext caller = MemoryContextSwitchTo(context);
  Datum* values;
  bool* nulls;
  int count;
  if (texts)
    deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &values, &nulls, &count);
  else
    deconstruct_array(array, INT8OID, 8, true, TYPALIGN_DOUBLE, &values, &nulls, &count);
  selection.items = ContextOwned<std::vector<CountsKey>>::reserve(context)->emplace();
  for (int k = 0; k < count; ++k) {
    if (nulls[k]) continue;
    CountsKey key;
    if (texts) {
      const text* const value = DatumGetTextPP(values[k]);
      key.text = {VARDATA_ANY(value), static_cast<size_t>(VARSIZE_ANY_EXHDR(value))};
    } else {
      key.number = DatumGetInt64(values[k]);
    }
    guarded([&] { selection.items->push_back(key); });
  }
  MemoryContextSwitchTo(caller);
  return selection;
}

/// To be called by a check that has found a difference. @raises 55006 if the log is not complete
void require_complete_log(const KeptTable& kept) {
  if (!is_log_incomplete(kept)) return;
  ereport(ERROR, (errcode(ERRCODE_OBJECT_IN_USE),
                  errmsg("cannot check the counts of table \"%s\" while a statement changes it", get_rel_name(kept.table)),
                  errhint("Check when the statement is complete.")));
}

void check_item_type(const KeptTable& kept, bool texts, const Selection& selection) {
  if (kept.has_texts != texts && (texts || !selection.all))
    ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
                    errmsg("the items of the kept counts of table \"%s\" are %s", get_rel_name(kept.table),
                           kept.has_texts ? "text" : "integers"),
                    errhint("Use the function %s _of in its name.", kept.has_texts ? "with" : "without")));
}

Datum kept_counts_answer(FunctionCallInfo fcinfo, bool texts) {
  if (PG_ARGISNULL(0)) PG_RETURN_NULL();
  const KeptTable kept = kept_table_to_read(PG_GETARG_OID(0));
  ArrayType* const items = PG_ARGISNULL(1) ? nullptr : PG_GETARG_ARRAYTYPE_P(1);
  const Selection selection = read_selection(items, texts, CurrentMemoryContext);
  check_item_type(kept, texts, selection);
  PG_RETURN_POINTER(fresh_counts(kept, selection, Answer::kFresh));
}

}  // namespace

namespace batmap::pg {

struct varlena* kept_counts_or_none(Oid oid, Snapshot snapshot, const char*& why) {
  const Relation table = table_open(oid, NoLock);
  const KeptTable* const found = find_kept_table(table);
  table_close(table, NoLock);
  if (found == nullptr) {
    why = "they are gone";
    return nullptr;
  }
  const KeptTable kept = *found;
  PushActiveSnapshot(snapshot);
  Problem problem;
  struct varlena* const counts = fresh_counts(kept, {}, Answer::kFresh, &problem, true);
  PopActiveSnapshot();
  switch (problem) {
    case Problem::kNone: break;
    case Problem::kTooOld: why = "they are newer than the snapshot"; break;
    case Problem::kOtherFiles: why = "the table or its partitions are not those that were counted"; break;
    case Problem::kMismatch: why = "they do not match the rows"; break;
    case Problem::kNoRoom: why = "they need too much memory"; break;
  }
  if (problem == Problem::kMismatch)
    ereport(WARNING,
            (errcode(ERRCODE_DATA_CORRUPTED), errmsg("kept counts of table \"%s\" do not match its rows", get_rel_name(oid)),
             errdetail("The rows are counted instead."), errhint("%s", kMismatchHint)));
  return counts;
}

KeptRoom* reserve_kept_room(MemoryContext context) {
  return new (MemoryContextAlloc(context, sizeof(KeptRoom))) KeptRoom{ContextOwned<KeptWork>::reserve(context)};
}

KeptAnswer read_kept_answer(Oid oid, ArrayType* items, MemoryContext context, KeptRoom* room) {
  const KeptTable kept = kept_table_to_read(oid);
  const Selection selection = read_selection(items, false, CurrentMemoryContext);
  check_item_type(kept, false, selection);
  KeptAnswer answer{};
  answer.table = MemoryContextStrdup(context, get_rel_name(kept.table));
  if (!selection.all || kept.has_texts) {
    const MemoryContext caller = MemoryContextSwitchTo(context);
    answer.value = fresh_counts(kept, selection, Answer::kFresh);
    MemoryContextSwitchTo(caller);
    return answer;
  }
  AsOwner owner(kept);
  SPI_connect();
  KeptWork* const work = room->work->emplace();
  Problem problem;
  const Stored stored = read_fresh(kept, selection, context, *work, false, false, problem);
  over_companions(answer.table, [&] {
    count_change(kept, selection, *work);
    work->counts = KeptCounts::make(stored.supports, work->change, false, work->options);
  });
  SPI_finish();
  owner.end();
  answer.counts = work->counts.get();
  answer.chunks = stored.chunks;
  answer.chunk_count = stored.count;
  for (size_t k = 0; k < stored.count; ++k) answer.pairs += pair_counts_header(stored.chunks[k].value).pairs;
  return answer;
}

KeptPairsRun::KeptPairsRun(const KeptAnswer& answer, const PairQuery& query, const ExecutionOptions& options)
    : table_(answer.table) {
  run_.emplace(*answer.counts, std::span<const StoredChunk>{answer.chunks, answer.chunk_count}, query, options);
}

bool KeptPairsRun::next(PairBatch& batch) {
  return naming_table(table_, [&] { return run_->next(batch); });
}

}  // namespace batmap::pg

BATMAP_FUNCTION(batmap_kept_counts) { return kept_counts_answer(fcinfo, false); }

BATMAP_FUNCTION(batmap_kept_counts_of) { return kept_counts_answer(fcinfo, true); }

BATMAP_FUNCTION(batmap_check_kept) {
  const KeptTable kept = kept_table_to_change(PG_GETARG_OID(0));
  // A partitioned table may have other partitions, whose rows are in no log. One that was rewritten has the same rows, but an older
  // snapshot does not see them.
  const Files files = kept.is_partitioned || IsolationUsesXactSnapshot() ? Files::kThese : Files::kAll;
  bool matches = true;
  struct varlena* values[2] = {};
  for (const Answer answer : {Answer::kFresh, Answer::kMirrored}) {
    Problem problem;
    values[static_cast<int>(answer)] = fresh_counts(kept, {}, answer, &problem, false, files);
    if (problem == Problem::kOtherFiles && !kept.is_partitioned) raise_other_files(kept);
    if (problem == Problem::kOtherFiles) PG_RETURN_BOOL(false);
    if (problem != Problem::kNone) {
      require_complete_log(kept);
      PG_RETURN_BOOL(false);
    }
  }
  AsOwner owner(kept);
  SPI_connect();
  struct varlena* counted = recounted(kept, CurrentMemoryContext);
  for (struct varlena* const value : values) {
    if (counted == nullptr) {
      const PairCountsHeader header = pair_counts_header(counts_bytes(value));
      matches &= header.total == 0 && header.items == 0;
    } else {
      matches &= VARSIZE(value) == VARSIZE(counted) && memcmp(value, counted, VARSIZE(counted)) == 0;
    }
  }
  SPI_finish();
  owner.end();
  if (!matches) require_complete_log(kept);
  PG_RETURN_BOOL(matches);
}
