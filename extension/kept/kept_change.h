// What changed in a kept table since the last merge: its log, and the current rows of the transactions in it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "extension/kept/kept_statements.h"
#include "extension/kept/kept_table.h"
#include "extension/server/boundary.h"
#include "extension/types/pair_counts_datum.h"
#include "pairs/counts/kept_counts.h"

#include "extension/server/pg.h"

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

  /// Forgets the rows that were read.
  void drop_rows() {
    rows.reset();
    texts.reset();
    log_rows = 0;
  }

  std::string_view text_at(int64_t offset) const {
    size_t length;
    memcpy(&length, texts.begin() + offset, sizeof length);
    return {reinterpret_cast<const char*>(texts.begin() + offset + sizeof length), length};
  }
};

/// Some items, or all.
struct Selection {
  bool all = true;
  std::vector<CountsKey>* items = nullptr;  // owned by a context
};

/// Reads the log and the rows, in the active snapshot. SPI is connected, as the owner.
/// @return false: memory does not suffice, if the caller may give up
bool read_change(const KeptTable& kept, KeptWork& work, bool may_give_up = false);

/// Counts the change of some items, or of all. To be called inside over_companions().
void count_change(const KeptTable& kept, const Selection& selection, KeptWork& work);

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

}  // namespace batmap::pg
