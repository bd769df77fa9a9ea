// Shared by the table functions that answer with pairs: they pull the batches of a run and record it.
#pragma once

#include <optional>
#include <span>

#include "extension/input/dictionary.h"
#include "extension/server/server_files.h"
#include "extension/streams/run_stream.h"
#include "pairs/pair_run.h"

#include "extension/server/pg.h"

namespace batmap::pg {

/// The engine's side of one call; lives in the memory context of the call.
template <typename Query, typename Run>
struct PairRowsCall : RunCall {
  explicit PairRowsCall(MemoryContext context) : RunCall(thread_count()), files(context) {
    options.files = &files;
    options.work_bytes = run_work_bytes();
  }

  ServerFiles files;
  Query query;
  std::optional<Run> run;
  PairBatch batch;
};

/// Lets a run keep only the rows that are wanted, unless the arguments of the call limit them already.
template <typename Query>
void limit_to_wanted(const WantedRows& wanted, Query& query) {
  if (!wanted.best || query.top_k || query.per_item_top_k || query.max_results) return;
  query.top_k = wanted.best;
  if constexpr (requires { query.ties; }) query.ties = wanted.ties;
}

template <typename Call>
class PairRowStream : public RunStream<Call> {
 public:
  using RunStream<Call>::RunStream;
  using RunStream<Call>::call;

  bool next(Datum* values) final {
    if (block_.next == block_.rows && !fill_block()) return false;
    for (int k = 0; k < columns_; ++k) values[k] = block_.value(k);
    ++block_.next;
    return true;
  }

  RowBlock* block() final { return &block_; }

  bool fill_block() final {
    do {
      const bool more = this->count([&] { return call().run->next(call().batch); });
      const RunRecord& record = call().run->record();
      call().progress.tasks(record.tasks_done, record.tasks, record.results);
      begin_batch();
      this->tell(record.notice);
      if (more) continue;
      this->end_answer(record.truncation);
      return false;
    } while (call().batch.empty());
    return true;
  }

  void finish() final {
    RunStream<Call>::finish();
    this->tell(call().run->record().notice);
    call().files.close_all();
  }

 protected:
  /// Starts with the first row of the current batch.
  void begin_batch() {
    block_.next = 0;
    block_.rows = call().batch.size();
    if (block_.rows == 0) return;
    columns_ = 0;
    show();
    Assert(columns_ <= RowBlock::kMaxColumns);
  }

  /// The next column of the block is a number of each pair, or of the supports of each.
  void show_column(const void* first, size_t stride) { block_.columns[columns_++] = {first, stride}; }
  /// The next column has no values: it is NULL, or nobody wants it.
  void show_nothing() {
    static constexpr Datum kNothing = 0;
    show_column(&kNothing, 0);
  }
  /// @param left, right  by what the items are looked up; nullptr: they are int8
  void show_pairs(const Dictionary* left = nullptr, const Dictionary* right = nullptr) {
    show_item_columns(left, right);
    show_support();
  }
  void show_item_columns(const Dictionary* left, const Dictionary* right) {
    show_items(left, &ItemPair::item_a, left_values_);
    show_items(right, &ItemPair::item_b, right_values_);
  }
  void show_support() { show_column(&call().batch.pairs()[0].support, sizeof(ItemPair)); }
  /// @param columns  of float8; NaN stands for NULL there
  void set_nan_is_null(ColumnSet columns) { block_.nan_is_null = columns; }
  static_assert(sizeof(Datum) == sizeof(int64_t) && FLOAT8PASSBYVAL);

 private:
  /// Says where the columns of a batch that is not empty are. Not called for a stream whose rows are read as pairs.
  virtual void show() {}

  void show_items(const Dictionary* dictionary, int64_t ItemPair::*item, Datum*& values) {
    const std::span<const ItemPair> pairs = call().batch.pairs();
    if (dictionary == nullptr) {
      show_column(&(pairs[0].*item), sizeof(ItemPair));
      return;
    }
    Assert(pairs.size() <= kBatchRows);
    if (values == nullptr) values = static_cast<Datum*>(MemoryContextAlloc(this->context(), kBatchRows * sizeof(Datum)));
    for (size_t k = 0; k < pairs.size(); ++k) values[k] = dictionary->values[pairs[k].*item];
    show_column(values, sizeof(Datum));
  }

  void fill(RunRecord& record) const final {
    record = call().run->record();
    record.results -= block_.rows - block_.next;
  }

  RowBlock block_;
  int columns_ = 0;
  Datum* left_values_ = nullptr;  // [kBatchRows] of items that a dictionary has
  Datum* right_values_ = nullptr;
};

}  // namespace batmap::pg
