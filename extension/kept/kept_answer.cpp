// batmap_kept_counts, batmap_merge_kept and batmap_check_kept: the counts of a kept table, its changes, and both together.
//
// Everything is read in one snapshot: the counts of the last merge, the log, and the current rows of the transactions that the
// log names. The rows that such a transaction had at the merge are its current rows with the log undone. A transaction
// of the server changes the table and the log together, and a merge changes the counts and the log together, so any
// snapshot sees a state in which this arithmetic holds (docs/kept-counts.md says why).
//
// Cost: a question about some items reads their chunks, the supports of all items, the log, and the rows of the
// transactions in the log; a question about all items reads all chunks.
#include "extension/kept/kept_answer.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/polled.h"
#include "extension/kept/kept_partitions.h"
#include "extension/kept/kept_setup.h"
#include "extension/server/boundary.h"
#include "extension/server/settings.h"
#include "extension/types/pair_counts_datum.h"
#include "extension/types/text_items.h"
#include "pairs/counts/kept_counts.h"
#include "pairs/counts/pair_counts_build.h"
#include "relation/row_log.h"

#include "extension/server/pg.h"

using namespace batmap;
using namespace batmap::pg;

namespace batmap::pg {

/// A row of the log, or a current row of one of its transactions.
struct LoggedRow {
  int64_t tid;
  int64_t item;    // of texts: the offset in the texts, then the number
  int32_t change;  // by the log
  int32_t now;     // 1: a current row
};

/// The engine's side of one call.
struct KeptWork : CountsWork {
  KeptWork()
      : rows(meter),
        texts(meter),
        names(meter),
        before(meter),
        after(meter),
        before_supports(meter),
        after_supports(meter) {}

  GrowingBuffer<LoggedRow> rows;
  GrowingBuffer<std::byte> texts;         // of each its length as size_t, then its bytes
  GrowingBuffer<std::string_view> names;  // ascending
  GrowingBuffer<std::byte> before, after, before_supports, after_supports;
  CountsChange change;
  std::unique_ptr<KeptCounts> counts;
  std::vector<MadeChunk> made;
  std::vector<CountsKey> lows;
  uint64_t log_rows = 0;

  std::string_view text_at(int64_t offset) const {
    size_t length;
    memcpy(&length, texts.begin() + offset, sizeof length);
    return {reinterpret_cast<const char*>(texts.begin() + offset + sizeof length), length};
  }
};

struct KeptRoom {
  ContextOwned<KeptWork>* work;
};

}  // namespace batmap::pg

namespace {

constexpr long kFetchRows = 8192;
constexpr uint64_t kPairsAPart = 32 * kPairsAChunk;  // of the first count, which is cut into chunks part by part: 32 MB
constexpr const char* kMismatchHint =
    "Were triggers disabled, or the companions changed? batmap_unkeep and batmap_keep count again.";

/// Some items, or all.
struct Selection {
  bool all = true;
  std::vector<CountsKey>* items = nullptr;  // owned by a context
};

// ---- statements over the companions

constexpr const char* kCountFunction = "batmap_pair_counts_agg";

Oid extension_schema(const KeptTable& kept) {
  const HeapTuple tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(kept.counts_type));
  if (!HeapTupleIsValid(tuple)) elog(ERROR, "cache lookup failed for type %u", kept.counts_type);
  const Oid schema = reinterpret_cast<Form_pg_type>(GETSTRUCT(tuple))->typnamespace;
  ReleaseSysCache(tuple);
  return schema;
}

/// The aggregate that counts rows: the one of the extension whose type the counts are.
Oid count_function(const KeptTable& kept) {
  const Oid types[2] = {INT8OID, kept.has_texts ? Oid{TEXTOID} : Oid{INT8OID}};
  return GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid, CStringGetDatum(kCountFunction),
                         PointerGetDatum(buildoidvector(types, 2)), ObjectIdGetDatum(extension_schema(kept)));
}

bool has_foreign_aggregate(Node* node, void* own) {
  if (node == nullptr) return false;
  if (IsA(node, Query)) return query_tree_walker(castNode(Query, node), walker(has_foreign_aggregate), own, 0);
  if (IsA(node, Aggref)) {
    const Oid function = castNode(Aggref, node)->aggfnoid;
    if (function >= FirstGenbkiObjectId && function != *static_cast<const Oid*>(own)) return true;
  }
  return expression_tree_walker(node, walker(has_foreign_aggregate), own);
}

/// Whether a plan reads and changes the companions and the table, counts with our aggregate, and nothing else.
bool has_own_objects(const KeptTable& kept, SPIPlanPtr plan) {
  Oid own = count_function(kept);
  const ListCell* source;
  foreach (source, SPI_plan_get_plan_sources(plan)) {
    if (has_foreign_aggregate(reinterpret_cast<Node*>(static_cast<CachedPlanSource*>(lfirst(source))->query_list), &own))
      return false;
    const ListCell* relation;
    foreach (relation, static_cast<CachedPlanSource*>(lfirst(source))->relationOids) {
      const Oid oid = lfirst_oid(relation);
      if (oid != kept.table && oid != kept.companions.rows && oid != kept.companions.counts && oid != kept.companions.log)
        return false;
    }
  }
  return true;
}

/// A statement names the companions, and the aggregate: the owner of their schema could rename it and make another one of this
/// name, at the very moment between the look at the catalog and the parser's. The statement would run as the owner of the
/// table.
SPIPlanPtr prepared(const KeptTable& kept, const char* text, int count = 0, Oid* types = nullptr) {
  const SPIPlanPtr plan = SPI_prepare(text, count, types);
  if (plan == nullptr) elog(ERROR, "statement failed: %s: %s", SPI_result_code_string(SPI_result), text);
  if (!has_own_objects(kept, plan)) raise_renamed(get_rel_name(kept.table));
  return plan;
}

/// Runs a statement. The server may have parsed it again before it ran, so what it found is checked again.
void run_on_companions(const KeptTable& kept, const char* text, bool reads, int count = 0, Oid* types = nullptr,
                       Datum* values = nullptr) {
  const SPIPlanPtr plan = prepared(kept, text, count, types);
  const int status = SPI_execute_plan(plan, values, nullptr, reads, 0);
  if (status < 0) elog(ERROR, "statement failed: %s: %s", SPI_result_code_string(status), text);
  if (!has_own_objects(kept, plan)) raise_renamed(get_rel_name(kept.table));
  SPI_freeplan(plan);
}

// ---- the change since the merge

const char* change_query(const KeptTable& kept) {
  const char* const log = qualified_name(kept.companions.log);
  const char* const rows = qualified_name(kept.companions.rows);
  const char* const item = as_item("item", kept.has_texts);
  // OFFSET keeps the inner query apart, so that it is a look-up for each tid, whatever the planner thinks of the log.
  if (is_integer_type(kept.tid_type))
    return psprintf(
        "SELECT tid::int8, %s, change::int4, 0 FROM %s UNION ALL "
        "SELECT d.tid::int8, r.item, 0, 1 FROM (SELECT DISTINCT tid FROM %s) d "
        "CROSS JOIN LATERAL (SELECT %s AS item FROM %s r WHERE r.tid = d.tid AND r.item IS NOT NULL OFFSET 0) r",
        item, log, log, item, rows);
  return psprintf(
      "WITH l AS MATERIALIZED (SELECT tid, %s AS item, change FROM %s), "
      "d AS MATERIALIZED (SELECT tid, row_number() OVER () AS code FROM (SELECT DISTINCT tid FROM l) q) "
      "SELECT d.code, l.item, l.change::int4, 0 FROM l JOIN d ON d.tid = l.tid UNION ALL "
      "SELECT d.code, r.item, 0, 1 FROM d "
      "CROSS JOIN LATERAL (SELECT %s AS item FROM %s r WHERE r.tid = d.tid AND r.item IS NOT NULL OFFSET 0) r",
      item, log, item, rows);
}

/// Reads the log and the current rows of its transactions, in the active snapshot.
void read_change(const KeptTable& kept, KeptWork& work) {
  const SPIPlanPtr plan = prepared(kept, change_query(kept));
  const Portal portal = SPI_cursor_open(nullptr, plan, nullptr, nullptr, true);
  if (!has_own_objects(kept, plan)) raise_renamed(get_rel_name(kept.table));
  const MemoryContext batch = AllocSetContextCreate(CurrentMemoryContext, "batmap change", ALLOCSET_DEFAULT_SIZES);
  for (;;) {
    CHECK_FOR_INTERRUPTS();
    SPI_cursor_fetch(portal, true, kFetchRows);
    const uint64 count = SPI_processed;
    if (count == 0) break;
    const TupleDesc columns = SPI_tuptable->tupdesc;
    const MemoryContext caller = MemoryContextSwitchTo(batch);
    auto* const rows = static_cast<LoggedRow*>(palloc(count * sizeof(LoggedRow)));
    auto* const texts = static_cast<text**>(palloc0(count * sizeof(text*)));
    for (uint64 k = 0; k < count; ++k) {
      Datum values[4];
      bool nulls[4];
      heap_deform_tuple(SPI_tuptable->vals[k], columns, values, nulls);
      if (nulls[0] || nulls[1]) continue;  // the owner could have written them into the log
      if (kept.has_texts) texts[k] = DatumGetTextPP(values[1]);
      rows[k] = {DatumGetInt64(values[0]), kept.has_texts ? 0 : DatumGetInt64(values[1]),
                 nulls[2] ? 0 : DatumGetInt32(values[2]), DatumGetInt32(values[3])};
      work.log_rows += rows[k].now == 0;
    }
    guarded([&] {
      for (uint64 k = 0; k < count; ++k) {
        if (texts[k] != nullptr) {
          const size_t length = VARSIZE_ANY_EXHDR(texts[k]);
          rows[k].item = static_cast<int64_t>(work.texts.size());
          std::byte* const room = work.texts.room(sizeof length + length);
          memcpy(room, &length, sizeof length);
          memcpy(room + sizeof length, VARDATA_ANY(texts[k]), length);
          work.texts.add(sizeof length + length);
        }
        work.rows.push_back(rows[k]);
      }
    });
    MemoryContextSwitchTo(caller);
    MemoryContextReset(batch);
    SPI_freetuptable(SPI_tuptable);
  }
  SPI_cursor_close(portal);
  MemoryContextDelete(batch);
}

/// Numbers the texts, ascending. The engine's part, as what follows.
void number_texts(KeptWork& work) {
  const CancelToken& cancel = work.options.cancel;
  for (const LoggedRow& row : work.rows.span()) work.names.push_back(work.text_at(row.item));
  std::sort(work.names.begin(), work.names.end(), polled(cancel, std::less<std::string_view>()));
  work.names.shrink(static_cast<size_t>(std::unique(work.names.begin(), work.names.end()) - work.names.begin()));
  in_parts(work.rows.size(), cancel, [&](size_t begin, size_t end) {
    for (size_t k = begin; k < end; ++k) {
      const auto* const at = std::lower_bound(work.names.begin(), work.names.end(), work.text_at(work.rows[k].item));
      work.rows[k].item = at - work.names.begin();
    }
  });
}

void count_rows(std::span<const TidItem> rows, GrowingBuffer<std::byte>& out, const KeptWork& work) {
  RowLog log(*work.options.memory);
  log.append_rows(rows);
  log.seal();
  count_pairs_of(log.chunks(), 0, selected_kernels(), out, work.options, work.names.span());
}

/// The items of a selection that occur in the change: numbers as in its rows, ascending.
std::vector<int64_t> selected_numbers(const KeptWork& work, const Selection& selection, bool has_texts) {
  std::vector<int64_t> numbers;
  for (const CountsKey& item : *selection.items) {
    if (!has_texts) {
      numbers.push_back(item.number);
      continue;
    }
    const auto* const at = std::lower_bound(work.names.begin(), work.names.end(), item.text);
    if (at != work.names.end() && *at == item.text) numbers.push_back(at - work.names.begin());
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

/// Counts the transactions that changed, as they were at the merge and as they are.
/// @throws Error{kInvalidParameter} if the log took away a row that was not there
void count_change(const KeptTable& kept, const Selection& selection, KeptWork& work) {
  if (work.rows.empty()) return;
  if (kept.has_texts) number_texts(work);
  std::sort(work.rows.begin(), work.rows.end(), polled(work.options.cancel, [](const LoggedRow& x, const LoggedRow& y) {
              return std::pair(x.tid, x.item) < std::pair(y.tid, y.item);
            }));
  const std::vector<int64_t> wanted =
      selection.all ? std::vector<int64_t>() : selected_numbers(work, selection, kept.has_texts);
  // Rows of transactions that are not the same as before, and of those the ones with a selected item.
  GrowingBuffer<TidItem> before(work.meter), after(work.meter), before_wanted(work.meter), after_wanted(work.meter);
  const LoggedRow* const end = work.rows.end();
  for (const LoggedRow* row = work.rows.begin(); row != end;) {
    const int64_t tid = row->tid;
    const size_t first_before = before.size();
    const size_t first_after = after.size();
    bool changed = false;
    bool has_wanted = false;
    while (row != end && row->tid == tid) {
      const int64_t item = row->item;
      int64_t now = 0;
      int64_t change = 0;
      for (; row != end && row->tid == tid && row->item == item; ++row) now += row->now, change += row->change;
      const int64_t then = now - change;
      if (then < 0) throw Error(ErrorCode::kInvalidParameter, "the log has more rows of a transaction than the table");
      if (then > 0) before.push_back({tid, item});
      if (now > 0) after.push_back({tid, item});
      changed |= (then > 0) != (now > 0);
      has_wanted |= (then > 0 || now > 0) && std::binary_search(wanted.begin(), wanted.end(), item);
    }
    if (!changed) {
      before.shrink(first_before);
      after.shrink(first_after);
    } else if (has_wanted) {
      for (size_t k = first_before; k < before.size(); ++k) before_wanted.push_back(before[k]);
      for (size_t k = first_after; k < after.size(); ++k) after_wanted.push_back(after[k]);
    }
  }
  const auto rows_of = [](const GrowingBuffer<TidItem>& rows) {
    return std::span<const TidItem>(rows.begin(), rows.size());
  };
  work.rows.reset();
  if (selection.all) {
    count_rows(rows_of(before), work.before, work);
    count_rows(rows_of(after), work.after, work);
    work.change = {work.before.begin(), work.after.begin(), work.before.begin(), work.after.begin()};
    return;
  }
  count_supports_of(rows_of(before), work.before_supports, work.options, work.names.span());
  count_supports_of(rows_of(after), work.after_supports, work.options, work.names.span());
  count_rows(rows_of(before_wanted), work.before, work);
  count_rows(rows_of(after_wanted), work.after, work);
  work.change = {work.before_supports.begin(), work.after_supports.begin(), work.before.begin(), work.after.begin()};
}

/// Runs engine code over the companions. Counts that do not fit are an error that names the table.
template <typename Body>
auto naming_table(const char* table, Body body) {
  try {
    return body();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kInvalidParameter) throw;
    throw Error(ErrorCode::kInvalidData,
                "kept counts of table \"" + std::string(table) + "\" do not match its rows: " + error.what(), kMismatchHint);
  }
}

template <typename Body>
void over_companions(const char* table, Body body) {
  guarded([&] { naming_table(table, body); });
}

// ---- the counts of the merge

/// A value in the current context: also one that lay in a row.
struct varlena* fetched_copy(Datum value) {
  struct varlena* const counts = counts_finished(flat_fetched(kPairCountsType, value));
  if (PointerGetDatum(counts) != value) return counts;
  return reinterpret_cast<struct varlena*>(DatumGetPointer(datumCopy(value, false, -1)));
}

/// A stored value as it is used, in the current context. @param kept  texts or integers must be its items
const std::byte* stored_value(const KeptTable& kept, Datum value) {
  struct varlena* const counts = fetched_copy(value);
  check_counts_items(counts, kept.has_texts, kMismatchHint);
  return counts_bytes(counts);
}

/// The same, charged to the call, which lives as long as the context.
const std::byte* charged_value(const KeptTable& kept, Datum value, KeptWork& work) {
  const Size bytes = toast_raw_datum_size(value);
  guarded([&] { work.meter.charge(bytes); });
  return stored_value(kept, value);
}

/// Checks what a statement has returned: the filter, which runs as the owner, could have changed a companion meanwhile.
void check_result(const KeptTable& kept, std::initializer_list<Oid> types) {
  const TupleDesc columns = SPI_tuptable->tupdesc;
  bool same = columns->natts == static_cast<int>(types.size());
  int index = 0;
  for (const Oid type : types) same = same && TupleDescAttr(columns, index++)->atttypid == type;
  if (!same)
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("the counts of table \"%s\" have other columns than they must", get_rel_name(kept.table)),
                    errhint("%s", kMismatchHint)));
}

CountsKey key_of_datum(const KeptTable& kept, Datum value) {
  if (!kept.has_texts) return {DatumGetInt64(value), {}};
  const text* const key = DatumGetTextPP(value);
  return {0, {VARDATA_ANY(key), static_cast<size_t>(VARSIZE_ANY_EXHDR(key))}};
}

Datum datum_of_key(const KeptTable& kept, const CountsKey& key) {
  if (!kept.has_texts) return Int64GetDatum(key.number);
  return PointerGetDatum(cstring_to_text_with_len(key.text.data(), static_cast<int>(key.text.size())));
}

CountsKey least_key() { return {INT64_MIN, {}}; }

Oid key_type(const KeptTable& kept) { return kept.has_texts ? TEXTOID : INT8OID; }

struct Stored {
  const std::byte* supports = nullptr;
  StoredChunk* chunks = nullptr;
  size_t count = 0;
};

/// Whether the counts are there for a snapshot that is taken now.
bool are_there_now(const KeptTable& kept) {
  PushActiveSnapshot(GetLatestSnapshot());
  run_on_companions(
      kept, psprintf("SELECT 1 FROM %s WHERE part = %d", qualified_name(kept.companions.counts), kSupportsPart), true);
  PopActiveSnapshot();
  return SPI_processed > 0;
}

/// The snapshot sees no counts. SPI is connected, as the owner.
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

/// Reads the counts, in the active snapshot, into a context; but the low keys of texts live as long as the SPI connection.
/// @return no supports if the counts are newer than the snapshot
Stored read_stored_or_none(const KeptTable& kept, const Selection& selection, MemoryContext context, KeptWork& work) {
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
    const std::byte* const value = charged_value(kept, values[2], work);
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

/// A query for the counts of the rows as they are.
const char* recount_query(const KeptTable& kept) {
  const char* const schema = quote_identifier(get_namespace_name(extension_schema(kept)));
  const char* const rows = qualified_name(kept.companions.rows);
  const char* const item = as_item("item", kept.has_texts);
  if (is_integer_type(kept.tid_type))
    return psprintf("SELECT %s.%s(tid::int8, %s) FROM %s", schema, kCountFunction, item, rows);
  return psprintf(
      "SELECT %s.%s(tid, %s) FROM (SELECT dense_rank() OVER (ORDER BY tid) AS tid, item FROM %s "
      "WHERE tid IS NOT NULL) q",
      schema, kCountFunction, item, rows);
}

/// The counts of the rows in the active snapshot, in a context; nullptr: there are none.
struct varlena* recounted(const KeptTable& kept, MemoryContext context) {
  run_on_companions(kept, recount_query(kept), true);
  bool is_null;
  const Datum value = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &is_null);
  const MemoryContext caller = MemoryContextSwitchTo(context);
  struct varlena* const counted = is_null ? nullptr : fetched_copy(value);
  MemoryContextSwitchTo(caller);
  return counted;
}

/// The same as if they were stored, in one chunk.
Stored recount_stored(const KeptTable& kept, MemoryContext context) {
  Stored stored;
  struct varlena* const counted = recounted(kept, context);
  if (counted == nullptr) return stored;
  stored.supports = counts_bytes(counted);
  stored.chunks = static_cast<StoredChunk*>(MemoryContextAlloc(context, sizeof(StoredChunk)));
  stored.chunks[stored.count++] = {least_key(), stored.supports};
  return stored;
}

// ---- partitions

/// Are the counts in the active snapshot those of these partitions, and is the log theirs? SPI is connected, as the owner.
bool are_counted(const KeptTable& kept, const Partitions& partitions) {
  if (partitions.reason != nullptr) return false;
  const char* const counts = qualified_name(kept.companions.counts);
  run_on_companions(
      kept,
      psprintf("SELECT part, NULL::int8 FROM %s WHERE part = %d UNION ALL SELECT part, low::int8 FROM %s WHERE part = %d "
               "UNION ALL SELECT DISTINCT NULL::int2, partition::int8 FROM %s",
               counts, kSupportsPart, counts, kPartitionsPart, qualified_name(kept.companions.log)),
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
  return has_supports && is_log_known &&
         std::equal(
             keys, keys + counted, partitions.all, partitions.all + partitions.count,
             [](int64 key, const Partition& partition) { return key == partition_key(partition.trigger, partition.file); });
}

// ---- questions

enum class Answer { kFresh, kMirrored };

/// Why there are no counts.
enum class Problem { kNone, kTooOld, kOtherPartitions, kMismatch, kNoRoom };

/// Whether rows of the table may be seen now whose log is not.
bool is_log_incomplete(const KeptTable& kept) { return is_being_changed(kept) || may_miss_log(GetActiveSnapshot()); }

/// Reads counts and change, in the active snapshot, or counts the rows. SPI is connected, as the owner.
/// @param context   where the counts will lie @param work  gets the change
/// @param quietly   problems are told instead of raised: kOtherPartitions, if the rows would have to be counted. Then the caller
///                  knows that no statement is changing the table, or finds that out
/// @param expects   whether the same holds for counts that are newer than the snapshot
Stored read_fresh(const KeptTable& kept, const Selection& selection, MemoryContext context, KeptWork& work, bool quietly,
                  bool expects, Problem& found) {
  const Partitions partitions = kept.is_partitioned ? read_partitions(kept) : Partitions();
  bool is_counted = (quietly || !is_log_incomplete(kept)) && (!kept.is_partitioned || are_counted(kept, partitions));
  Stored stored;
  found = Problem::kNone;
  if (is_counted) {
    read_change(kept, work);
    stored = read_stored_or_none(kept, selection, context, work);
    // Those that were locked are still there. A new one may have been read.
    if (kept.is_partitioned) is_counted = are_same(partitions, read_partitions(kept));
    if (is_counted && stored.supports == nullptr) found = Problem::kTooOld;
  }
  if (found == Problem::kTooOld && !expects) raise_no_counts(kept);
  if (!is_counted && quietly) {
    found = Problem::kOtherPartitions;
  } else if (!is_counted) {
    work.rows.reset();
    stored = recount_stored(kept, context);
  }
  return stored;
}

/// The counts of a table in the active snapshot, in memory of the caller's context.
/// @param problem  set instead of an error if the companions do not match the rows; nullptr: an error
/// @param expects  whether the same holds for counts that are newer than the snapshot, or too large
struct varlena* fresh_counts(const KeptTable& kept, const Selection& selection, Answer answer, Problem* problem = nullptr,
                             bool expects = false) {
  const MemoryContext caller = CurrentMemoryContext;
  const char* const name = get_rel_name(kept.table);
  AsOwner owner(kept.owner);
  SPI_connect();
  KeptWork* const work = ContextOwned<KeptWork>::reserve(CurrentMemoryContext)->emplace();
  Problem found;
  const Stored stored = read_fresh(kept, selection, CurrentMemoryContext, *work, problem != nullptr, expects, found);
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

// ---- writing

void write_counts(const KeptTable& kept, const char* statement, int16 part, const CountsKey& low, const std::byte* bytes,
                  size_t size) {
  const char* const text = psprintf(statement, qualified_name(kept.companions.counts));
  Oid types[3] = {INT2OID, key_type(kept), get_atttype(kept.companions.counts, 3)};
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

/// Writes which partitions have been counted.
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
  if (kept.is_partitioned) {
    // Rows of others may have been read, some of which the snapshot does not see.
    if (!are_same(partitions, read_partitions(kept))) raise_new_partitions(name);
    write_partitions(kept, partitions, work);
  }
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

/// Deletes the rows of a companion that a snapshot sees. @return their number
uint64 delete_rows(const KeptTable& kept, Oid companion, Snapshot snapshot) {
  const SPIPlanPtr deletion = prepared(kept, psprintf("DELETE FROM %s", qualified_name(companion)));
  const int status = SPI_execute_snapshot(deletion, nullptr, nullptr, snapshot, InvalidSnapshot, false, true, 0);
  if (status < 0) elog(ERROR, "statement failed: %s", SPI_result_code_string(status));
  return SPI_processed;
}

/// Merges the log into the counts, in the active snapshot. SPI is connected, as the owner.
void merge_change(const KeptTable& kept, const char* name, KeptWork& work, Snapshot snapshot) {
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

/// Counts all rows again, because the stored counts are not of the partitions that there are. As for a merge, the log keeps the
/// rows that the snapshot does not see, so nobody waits.
uint64 merge_partitions(const KeptTable& kept, const char* name, KeptWork& work) {
  if (IsolationUsesXactSnapshot())
    ereport(ERROR, (errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
                    errmsg("partitions of table \"%s\" were attached, detached, truncated or rewritten", name),
                    errdetail("Their counts can be merged in a transaction with isolation level READ COMMITTED only.")));
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
  AsOwner owner(kept.owner);
  SPI_connect();
  tie_companions(kept.table, kept.companions);
  KeptWork* const work = ContextOwned<KeptWork>::reserve(CurrentMemoryContext)->emplace();
  const Partitions partitions = kept.is_partitioned ? read_partitions(kept) : Partitions();
  // What is merged, and what is deleted from the log, is what this snapshot sees: rows of transactions that are in
  // progress stay in the log.
  const Snapshot snapshot = RegisterSnapshot(GetTransactionSnapshot());
  PushActiveSnapshot(snapshot);
  const bool is_counted = !kept.is_partitioned || are_counted(kept, partitions);
  if (is_counted) {
    read_change(kept, *work);
    if (kept.is_partitioned && !are_same(partitions, read_partitions(kept))) raise_new_partitions(name);
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

/// What a check says that has found a difference. @raises 55006 if the log is not complete
bool is_mismatch(const KeptTable& kept) {
  if (is_log_incomplete(kept))
    ereport(ERROR, (errcode(ERRCODE_OBJECT_IN_USE),
                    errmsg("cannot check the counts of table \"%s\" while a statement changes it", get_rel_name(kept.table)),
                    errhint("Check when the statement is complete.")));
  return true;
}

/// Whether the log has at least so many rows, or the counts are not of the partitions that there are.
bool needs_merge(const KeptTable& kept, int min_rows) {
  AsOwner owner(kept.owner);
  SPI_connect();
  const Partitions partitions = kept.is_partitioned ? read_partitions(kept) : Partitions();
  PushActiveSnapshot(GetTransactionSnapshot());
  bool needed = kept.is_partitioned && !are_counted(kept, partitions);
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

void check_item_type(const KeptTable& kept, bool texts, const Selection& selection) {
  if (kept.has_texts != texts && (texts || !selection.all))
    ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
                    errmsg("the items of the kept counts of table \"%s\" are %s", get_rel_name(kept.table),
                           kept.has_texts ? "text" : "integers"),
                    kept.has_texts ? errhint("The _of forms take text items, from batmap_kept_counts_of(%s, items).",
                                             table_literal(kept.table))
                                   : errhint("Use the function without _of in its name.")));
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

bool merge_if_long(Oid oid, int min_rows) {
  if (!ConditionalLockRelationOid(oid, AccessShareLock)) return false;
  const Relation table = try_relation_open(oid, NoLock);
  Companions companions;
  const bool is_kept = table != nullptr && find_companions(table, companions);
  if (table != nullptr) relation_close(table, NoLock);
  if (!is_kept || is_subscribed(companions)) return false;
  for (const Oid companion : {companions.rows, companions.counts, companions.log})
    if (!ConditionalLockRelationOid(companion, AccessShareLock)) return false;
  const KeptTable kept = kept_table_to_change(oid);
  if (!ConditionalLockRelationOid(kept.companions.rows, ShareUpdateExclusiveLock)) return false;
  return needs_merge(kept, min_rows) && merge_log(kept) > 0;
}

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
    case Problem::kOtherPartitions: why = "they are of other partitions"; break;
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
  AsOwner owner(kept.owner);
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

void insert_no_counts(const KeptTable& kept) {
  write_no_counts(kept, kSupportsPart, least_key(), *ContextOwned<KeptWork>::reserve(CurrentMemoryContext)->emplace());
}

void count_kept_rows(const KeptTable& kept) {
  AsOwner owner(kept.owner);
  SPI_connect();
  const Partitions partitions = kept.is_partitioned ? partitions_to_keep(kept) : Partitions();
  // The snapshot of the transaction may be older than the lock on the table.
  PushActiveSnapshot(GetLatestSnapshot());
  count_and_write(kept, get_rel_name(kept.table), *ContextOwned<KeptWork>::reserve(CurrentMemoryContext)->emplace(),
                  partitions);
  PopActiveSnapshot();
  SPI_finish();
  owner.end();
}

}  // namespace batmap::pg

BATMAP_FUNCTION(batmap_kept_counts) { return kept_counts_answer(fcinfo, false); }

BATMAP_FUNCTION(batmap_kept_counts_of) { return kept_counts_answer(fcinfo, true); }

BATMAP_FUNCTION(batmap_merge_kept) {
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

BATMAP_FUNCTION(batmap_check_kept) {
  const KeptTable kept = kept_table_to_change(PG_GETARG_OID(0));
  bool matches = true;
  struct varlena* values[2] = {};
  for (const Answer answer : {Answer::kFresh, Answer::kMirrored}) {
    Problem problem;
    values[static_cast<int>(answer)] = fresh_counts(kept, {}, answer, &problem);
    if (problem == Problem::kOtherPartitions) PG_RETURN_BOOL(false);
    if (problem != Problem::kNone) PG_RETURN_BOOL(!is_mismatch(kept));
  }
  AsOwner owner(kept.owner);
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
  PG_RETURN_BOOL(matches || !is_mismatch(kept));
}
