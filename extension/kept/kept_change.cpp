// Reads and counts what changed. See kept_change.h.
#include "extension/kept/kept_change.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <span>
#include <utility>

#include "core/polled.h"
#include "extension/input/key_column.h"
#include "extension/server/own_statement.h"
#include "extension/server/settings.h"
#include "extension/types/text_items.h"
#include "pairs/counts/pair_counts_build.h"
#include "relation/row_log.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

constexpr long kFetchRows = 8192;
constexpr size_t kCountingShare = 4;  // times the bytes of the rows: what it takes to count them

const char* change_query(const KeptTable& kept) {
  const char* const log = qualified_name(kept.companions.log);
  const char* const rows = qualified_name(kept.companions.rows);
  const char* const item = as_item("item", kept.has_texts);
  // OFFSET keeps the inner query apart, so that it is a look-up for each tid, whatever the planner thinks of the log. Where the
  // index is gone the planner may join as it likes.
  const Relation table = table_open(kept.table, AccessShareLock);
  const char* const apart = has_index(table, kept.tid) ? " OFFSET 0" : "";
  table_close(table, NoLock);
  if (is_integer(kept.tid_type))
    return psprintf(
        "SELECT tid::int8, %s, change::int4, 0 FROM %s UNION ALL "
        "SELECT d.tid::int8, r.item, 0, 1 FROM (SELECT DISTINCT tid FROM %s) d "
        "CROSS JOIN LATERAL (SELECT %s AS item FROM %s r WHERE r.tid = d.tid AND r.item IS NOT NULL%s) r",
        item, log, log, item, rows, apart);
  return psprintf(
      "WITH l AS MATERIALIZED (SELECT tid, %s AS item, change FROM %s), "
      "d AS MATERIALIZED (SELECT tid, row_number() OVER () AS code FROM (SELECT DISTINCT tid FROM l) q) "
      "SELECT d.code, l.item, l.change::int4, 0 FROM l JOIN d ON d.tid = l.tid UNION ALL "
      "SELECT d.code, r.item, 0, 1 FROM d "
      "CROSS JOIN LATERAL (SELECT %s AS item FROM %s r WHERE r.tid = d.tid AND r.item IS NOT NULL%s) r",
      item, log, item, rows, apart);
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

}  // namespace

bool read_change(const KeptTable& kept, KeptWork& work, bool may_give_up) {
  const SPIPlanPtr plan = prepared(kept, change_query(kept));
  const Portal portal = SPI_cursor_open(nullptr, plan, nullptr, nullptr, true);
  check_objects(kept, plan);
  const MemoryContext batch = AllocSetContextCreate(CurrentMemoryContext, "batmap change", ALLOCSET_DEFAULT_SIZES);
  bool enough = true;
  while (enough) {
    CHECK_FOR_INTERRUPTS();
    SPI_cursor_fetch(portal, true, kFetchRows);
    const uint64 count = SPI_processed;
    if (count == 0) break;
    const TupleDesc columns = SPI_tuptable->tupdesc;
    const MemoryContext caller = MemoryContextSwitchTo(batch);
    auto* const rows = static_cast<LoggedRow*>(palloc(count * sizeof(LoggedRow)));
    auto* const texts = static_cast<text**>(palloc0(count * sizeof(text*)));
    uint64 size = 0;
    for (uint64 k = 0; k < count; ++k) {
      Datum values[4];
      bool nulls[4];
      heap_deform_tuple(SPI_tuptable->vals[k], columns, values, nulls);
      if (nulls[0] || nulls[1]) continue;  // the owner has written them into the log; a merge deletes them
      if (kept.has_texts) texts[size] = DatumGetTextPP(values[1]);
      rows[size] = {DatumGetInt64(values[0]), kept.has_texts ? 0 : DatumGetInt64(values[1]),
                    nulls[2] ? 0 : DatumGetInt32(values[2]), DatumGetInt32(values[3])};
      work.log_rows += rows[size++].now == 0;
    }
    enough = guarded_fits(may_give_up, [&] {
      for (uint64 k = 0; k < size; ++k) {
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
  if (may_give_up && work.meter.available() < kCountingShare * work.rows.size() * sizeof(LoggedRow)) enough = false;
  return enough;
}

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

}  // namespace batmap::pg
