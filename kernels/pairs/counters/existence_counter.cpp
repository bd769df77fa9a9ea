// Finds which pairs occur, for questions that ask no more: the partners of an item are united, not counted. A transaction
// with many partners is a bit row, and rows are united word by word. Of the others, each partner gets a mark: one byte,
// which is written without being read. An item ends as soon as all columns are found, which is known at any time, since
// the first column that is missing only moves ahead. If an item has few partners among many columns, neither words nor
// bytes are scanned: its partners are marked in levels of bits (marked_indexes.h).
//
// Columns are found in ascending order, and handed over as 4 bytes each. Memory of a thread: 1.5 bytes a column. Bit rows of
// long lists take at most as many bytes as all lists, and a quarter of the memory that is left. See pair_counter.h.
// Source: ours; rows of bits for the long lists and marks for the short ones follow DIM3 (Huang and Chen 2022).
#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <memory>
#include <numeric>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "core/poll.h"
#include "core/polled.h"
#include "core/thread_team.h"
#include "pairs/counters/marked_indexes.h"
#include "pairs/counters/pair_counter.h"
#include "pairs/counters/row_tasks.h"

namespace batmap {

namespace {

// From bench/existence_bench.cpp: words of bit rows that are united in the time of one mark.
constexpr uint64_t kWordsOfAMark = 2;
// An item with fewer marks than this fraction of the columns gets them in levels of bits.
constexpr uint64_t kSparseMarks = 16;
constexpr size_t kTailsAhead = 16;    // between prefetch and use, as in horizontal_counter.cpp
constexpr uint32_t kShortTail = 16;   // items; the line of the last one is prefetched, too
constexpr size_t kBlockWords = 64;    // words of several rows that are united together, so that the result stays in cache
constexpr size_t kUnitedRows = 8;     // rows that are united together
constexpr uint64_t kShareOfRows = 4;  // bit rows of long lists take at most this fraction of the free memory
constexpr uint64_t kTaskMarks = 1 << 20;
constexpr uint64_t kItemMarks = 64;   // marks in the time that an item takes in any case
constexpr uint64_t kMaxPartners = 8;  // an item may have this many times its expected partners

/// What the counter reads. A bit of a row, and a mark, stand for a column: the rank less rows.first_bit.
struct ExistenceForm {
  Transactions lists;           // the short lists of partners; may be empty
  Buffer<uint32_t> tail_count;  // [leading] how many of the tails in `lists` are short
  TransactionBits rows;         // the long lists; `words` and `first_bit` are set even if there are none

  std::span<const uint32_t> supports() const { return (lists.support.empty() ? rows.lists.length : lists.support).span(); }
  std::span<const Tail> tails_of(uint32_t item) const {
    if (tail_count.empty()) return {};
    return {lists.tails.data() + lists.tails_begin[item], tail_count[item]};
  }
  std::span<const uint32_t> rows_of(uint32_t item) const {
    if (rows.bits.empty()) return {};
    return rows.lists.list(item);
  }
};

/// missing &= ~row, for rows of one block. @param words  a multiple of 8
void strike(uint64_t* missing, const uint64_t* const* rows, size_t count, size_t words) {
  for (size_t word = 0; word < words; word += 8) {
    uint64_t line[8] = {};
    for (size_t row = 0; row < count; ++row)
      for (size_t i = 0; i < 8; ++i) line[i] |= rows[row][word + i];
    for (size_t i = 0; i < 8; ++i) missing[word + i] &= ~line[i];
  }
}

/// A bit for each of 64 bytes, which are 0 or 1 and become 0.
uint64_t take_marks(uint8_t* marks) {
  uint64_t bytes[8];
  std::memcpy(bytes, marks, 64);
  uint64_t any = 0;
  for (const uint64_t eight : bytes) any |= eight;
  if (any == 0) return 0;
  std::memset(marks, 0, 64);
  uint64_t bits = 0;
  // The product moves the i-th byte to bit 56 + i; no two products of bits meet.
  for (int i = 0; i < 8; ++i) bits |= (bytes[i] * 0x0102040810204080u >> 56) << (8 * i);
  return bits;
}

/// Appends the columns of a word. @param first  the rank of its lowest bit
void append_columns(uint64_t bits, uint32_t first, GrowingBuffer<uint32_t>& out) {
  uint32_t* to = out.room(64);
  if (bits == ~uint64_t{0}) {
    for (uint32_t i = 0; i < 64; ++i) to[i] = first + i;
    out.add(64);
    return;
  }
  const uint32_t* const begin = to;
  for (; bits != 0; bits &= bits - 1) *to++ = first + static_cast<uint32_t>(std::countr_zero(bits));
  out.add(static_cast<size_t>(to - begin));
}

/// @tparam Item  of the lists
template <typename Item>
class ExistenceCounter final : public PairCounter {
 public:
  ExistenceCounter(ExistenceForm form, std::span<const RowCost> costs, const WantedPairs& pairs,
                   const ExecutionOptions& options)
      : form_(std::move(form)),
        items_(std::get<Buffer<Item>>(form_.lists.items)),
        pairs_(pairs),
        options_(options),
        first_bit_(form_.rows.first_bit),
        end_bit_(static_cast<uint32_t>(form_.supports().size()) - first_bit_),
        first_item_(pairs.first_column - first_bit_),
        tasks_(pairs.leading, kTaskMarks, options.threads, [&](uint32_t item) { return costs[item]; }) {
    for (int worker = 0; worker < options.threads; ++worker)
      rows_.emplace_back(*options.memory, form_.rows.words, !form_.tail_count.empty());
  }

  size_t tasks() const override { return tasks_.size(); }
  uint64_t max_results() const override { return tasks_.max_results() * kMaxPartners; }
  std::span<const uint32_t> supports() const override { return form_.supports(); }

  void count(size_t task, int worker, uint32_t /*threshold*/, GrowingBuffer<PairCount>& out) override {
    FoundPairs& found = rows_[static_cast<size_t>(worker)].found;
    found.clear();
    find(task, worker, found);
    PairCount* to = out.room(found.columns.size());
    size_t k = 0;
    for (const FoundPairs::Row& row : found.rows)
      for (; k < row.end; ++k) to[k] = {row.a, found.columns[k], 1};
    out.add(k);
  }

  bool find(size_t task, int worker, FoundPairs& out) override {
    Row& row = rows_[static_cast<size_t>(worker)];
    for (uint32_t item = tasks_.begin(task); item < tasks_.end(task); ++item) {
      const size_t before = out.columns.size();
      find_row(item, row, out.columns);
      if (out.columns.size() > before) out.rows.push_back({item, out.columns.size()});
    }
    return true;
  }

 private:
  /// What is known of one item at a time. All marks are 0 between two items, unless the run was abandoned.
  struct Row {
    Row(MemoryMeter& meter, size_t words, bool has_lists)
        : missing(meter, words),
          marks(meter, has_lists ? words * 64 + 1 : 0, Fill::kZero),
          few(meter, has_lists ? words * 64 : 0),
          found(meter) {}
    Buffer<uint64_t> missing;  // [words] a bit for each wanted column that no row has had
    Buffer<uint8_t> marks;     // [words * 64 + 1] 1 for each column that a list has had; the last one stays 0
    MarkedIndexes few;
    FoundPairs found;
  };

  void find_row(uint32_t item, Row& row, GrowingBuffer<uint32_t>& out) {
    const std::span<const Tail> tails = form_.tails_of(item);
    const std::span<const uint32_t> rows = form_.rows_of(item);
    const uint32_t first = pairs_.first_after(item) - first_bit_;
    if (first >= end_bit_) return;
    if (rows.empty()) {
      uint64_t marks = 0;
      for (const Tail& tail : tails) marks += tail.length;
      if (marks == 0) return;
      if (marks * kSparseMarks < end_bit_ - first) {
        mark_few(tails, row.few);
        append_few(row.few, marks, out);
        return;
      }
    }
    const bool in_rows = !rows.empty();
    if (in_rows) start(first, row.missing.data());
    const bool all = in_rows && unite(rows, first, row.missing.data());
    const bool in_lists = !all && !tails.empty();
    if (in_lists) mark(tails, first, row.marks.data());
    collect(first, in_rows ? row.missing.data() : nullptr, in_lists ? row.marks.data() : nullptr, out);
  }

  /// The bits of a word that are wanted: those of [first, end_bit_).
  uint64_t wanted(size_t word, uint32_t first) const {
    const size_t bit = word * 64;
    uint64_t bits = ~uint64_t{0};
    if (bit < first) bits &= first - bit < 64 ? ~uint64_t{0} << (first - bit) : 0;
    if (bit + 64 > end_bit_) bits &= bit < end_bit_ ? ~uint64_t{0} >> (bit + 64 - end_bit_) : 0;
    return bits;
  }

  void start(uint32_t first, uint64_t* missing) const {
    const size_t begin = first / 512 * 8;
    std::fill(missing + begin, missing + form_.rows.words, ~uint64_t{0});
    for (size_t word = begin; word <= first / 64; ++word) missing[word] = wanted(word, first);
    for (size_t word = end_bit_ / 64; word < form_.rows.words; ++word) missing[word] = wanted(word, first);
  }

  /// Strikes out the columns that the rows have. @return whether none is missing
  bool unite(std::span<const uint32_t> rows, uint32_t first, uint64_t* missing) {
    const size_t words = form_.rows.words;
    bool all = true;
    for (size_t begin = first / 512 * 8; begin < words; begin += kBlockWords) {
      const size_t end = std::min(begin + kBlockWords, words);
      options_.cancel.throw_if_requested();
      all &= unite_block(rows, begin, end - begin, missing + begin);
    }
    return all;
  }

  bool unite_block(std::span<const uint32_t> rows, size_t first_word, size_t words, uint64_t* missing) {
    const uint64_t* const bits = form_.rows.bits.data() + first_word;
    size_t polled = 0;
    size_t open = 0;  // all words before this one have no column that is missing
    for (size_t k = 0; k < rows.size(); k += kUnitedRows) {
      const uint64_t* group[kUnitedRows];
      const size_t count = std::min(kUnitedRows, rows.size() - k);
      for (size_t i = 0; i < count; ++i) {
        group[i] = bits + rows[k + i] * form_.rows.words;
        if (k + kUnitedRows + i < rows.size())
          for (size_t word = 0; word < words; word += 8)
            __builtin_prefetch(bits + rows[k + kUnitedRows + i] * form_.rows.words + word);
      }
      strike(missing, group, count, words);
      while (open < words && missing[open] == 0) ++open;
      if (open == words) return true;
      if (k - polled >= kPollEvery / kBlockWords) {
        polled = k;
        options_.cancel.throw_if_requested();
      }
    }
    return false;
  }

  /// Calls each(column) for the columns of some tails. @param begin_tail  called before each tail; true: this is the end
  template <typename Each, typename BeginTail>
  void walk(std::span<const Tail> tails, Each each, BeginTail begin_tail) {
    const Item* const items = items_.data();
    const Tail* const all_tails_end = form_.lists.tails.end();
    const uint32_t first_item = first_item_;  // `each` may write bytes, which might be anything
    uint64_t done = 0;
    for (size_t k = 0; k < tails.size(); ++k) {
      // Perhaps a tail of the next items: those follow in memory.
      if (const Tail* const later = tails.data() + k + kTailsAhead; later < all_tails_end) {
        __builtin_prefetch(items + later->begin);
        __builtin_prefetch(items + later->begin + std::min(later->length, kShortTail));
      }
      if (begin_tail()) return;
      const Item* const at = items + tails[k].begin;
      const uint32_t length = tails[k].length;
      for (uint32_t i = 0; i < length; ++i) each(first_item + at[i]);
      done += length + 1;
      if (done < kPollEvery) continue;
      done = 0;
      options_.cancel.throw_if_requested();
    }
  }

  /// @param marks  those from `first` to end_bit_ are set; the next one is 0
  void mark(std::span<const Tail> tails, uint32_t first, uint8_t* marks) {
    const uint8_t* open = marks + first;  // all columns before this one are marked
    const uint8_t* const end = marks + end_bit_;
    walk(
        tails, [=](size_t column) { marks[column] = 1; },
        [&] {
          while (*open != 0) ++open;
          return open == end;
        });
  }

  void mark_few(std::span<const Tail> tails, MarkedIndexes& few) {
    walk(
        tails, [&](size_t column) { few.mark(column); }, [] { return false; });
  }

  void append_few(MarkedIndexes& few, uint64_t marks, GrowingBuffer<uint32_t>& out) {
    uint32_t* to = out.room(marks);
    const uint32_t* const begin = to;
    few.visit([&](size_t column) { *to++ = first_bit_ + static_cast<uint32_t>(column); });
    out.add(static_cast<size_t>(to - begin));
  }

  /// @param missing, marks  nullptr: there are none
  void collect(uint32_t first, const uint64_t* missing, uint8_t* marks, GrowingBuffer<uint32_t>& out) const {
    for (size_t word = first / 64; word * 64 < end_bit_; ++word) {
      uint64_t bits = missing != nullptr ? wanted(word, first) & ~missing[word] : 0;
      if (marks != nullptr) bits |= take_marks(marks + word * 64);
      if (bits != 0) append_columns(bits, first_bit_ + static_cast<uint32_t>(word * 64), out);
    }
  }

  ExistenceForm form_;
  const Buffer<Item>& items_;
  WantedPairs pairs_;
  const ExecutionOptions& options_;
  uint32_t first_bit_;   // the rank of the first bit and the first mark
  uint32_t end_bit_;     // columns end here
  uint32_t first_item_;  // the bit of the column that the lists call 0
  RowTasks tasks_;
  std::vector<Row> rows_;  // [threads]
};

/// Work and results of each leading item if all its transactions are lists. @param longest  set to the longest list
Buffer<RowCost> costs_of_lists(const Transactions& transactions, const WantedPairs& pairs, const ExecutionOptions& options,
                               uint32_t& longest) {
  constexpr uint32_t kItems = 1024;
  const auto items = static_cast<uint32_t>(transactions.support.size());
  Buffer<RowCost> costs(*options.memory, pairs.leading);
  std::atomic<uint32_t> longest_of_all{0};
  parallel_for(options, (size_t{pairs.leading} + kItems - 1) / kItems, [&](size_t block, int) {
    const auto from = static_cast<uint32_t>(block * kItems);
    uint32_t own_longest = 0;
    for (uint32_t item = from; item < std::min(pairs.leading, from + kItems); ++item) {
      uint64_t marks = 0;
      for (const Tail& tail : transactions.tails_of(item)) {
        marks += tail.length;
        own_longest = std::max(own_longest, tail.length);
      }
      costs[item] = {.work = marks + kItemMarks, .results = std::min<uint64_t>(marks, items - pairs.first_after(item))};
    }
    uint32_t known = longest_of_all;
    while (known < own_longest && !longest_of_all.compare_exchange_weak(known, own_longest)) {
    }
  });
  longest = longest_of_all;
  return costs;
}

/// The same if all are bit rows.
Buffer<RowCost> costs_of_rows(const TransactionBits& form, const WantedPairs& pairs, uint64_t pair_instances,
                              const ExecutionOptions& options) {
  const std::span<const uint32_t> length = form.lists.length.span();
  uint64_t rows = 0;
  for (uint32_t item = 0; item < pairs.leading; ++item) rows += length[item];
  // Partners of a row of an average item; twice that for the item that leads all others. Items may have many more.
  const uint64_t partners = 2 * pair_instances / std::max<uint64_t>(rows, 1) + 1;
  Buffer<RowCost> costs(*options.memory, pairs.leading);
  for (uint32_t item = 0; item < pairs.leading; ++item) {
    const uint64_t columns = length.size() - pairs.first_after(item);
    costs[item] = {.work = length[item] * (columns / 64 + 1) / kWordsOfAMark + kItemMarks,
                   .results = std::clamp(length[item] * partners, columns / kMaxPartners + 1, columns)};
  }
  return costs;
}

/// Numbers the lists of transactions of which a tail is long. A list is known by its end, which all its tails share.
class LongLists {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  /// @param max_rows  as many lists become bit rows, the longest ones
  LongLists(const Transactions& lists, uint64_t items, uint32_t leading, uint32_t min_length, uint64_t max_rows,
            const ExecutionOptions& options)
      : min_length_(min_length),
        ends_(*options.memory, (items >> 6) + 1, Fill::kZero),
        before_(*options.memory, ends_.size()) {
    Poll poll(options.cancel);
    const auto visit = [&](auto each) {
      for (uint32_t item = 0; item < leading; ++item) {
        poll.after(lists.support[item]);
        for (const Tail& tail : lists.tails_of(item))
          if (tail.length >= min_length) each(tail);
      }
    };
    visit([&](const Tail& tail) {
      const uint64_t end = uint64_t{tail.begin} + tail.length;
      ends_[end >> 6] |= uint64_t{1} << (end & 63);
    });
    uint32_t count = 0;
    for (size_t word = 0; word < ends_.size(); ++word) {
      before_[word] = count;
      count += static_cast<uint32_t>(std::popcount(ends_[word]));
    }
    longest_ = Buffer<Tail>(*options.memory, count, Fill::kZero);
    visit([&](const Tail& tail) {
      Tail& longest = longest_[number_of(tail)];
      if (longest.length < tail.length) longest = tail;
    });
    row_ = Buffer<uint32_t>(*options.memory, count);
    std::iota(row_.begin(), row_.end(), 0);
    const auto rows = static_cast<uint32_t>(std::min<uint64_t>(count, max_rows));
    const auto longer =
        polled(options.cancel, [&](uint32_t x, uint32_t y) { return longest_[x].length > longest_[y].length; });
    if (rows < count) std::nth_element(row_.begin(), row_.begin() + rows, row_.end(), longer);
    for (uint32_t k = rows; k < count; ++k) longest_[row_[k]].length = 0;
    uint32_t row = 0;
    for (uint32_t number = 0; number < count; ++number) row_[number] = longest_[number].length > 0 ? row++ : kNone;
    rows_ = row;
  }

  uint32_t rows() const { return rows_; }
  /// The bit row of the list, or kNone.
  uint32_t row_of(const Tail& tail) const { return tail.length < min_length_ ? kNone : row_[number_of(tail)]; }
  /// Calls each(row, its longest tail).
  template <typename Each>
  void visit(Each each) const {
    for (size_t number = 0; number < row_.size(); ++number)
      if (row_[number] != kNone) each(row_[number], longest_[number]);
  }

 private:
  uint32_t number_of(const Tail& tail) const {
    const uint64_t end = uint64_t{tail.begin} + tail.length;
    const uint64_t lower = (uint64_t{1} << (end & 63)) - 1;
    return before_[end >> 6] + static_cast<uint32_t>(std::popcount(ends_[end >> 6] & lower));
  }

  uint32_t min_length_;
  uint32_t rows_ = 0;
  Buffer<uint64_t> ends_;    // a bit for each item of all lists: a long list ends before it
  Buffer<uint32_t> before_;  // [words of ends_] how many bits the words before have
  Buffer<Tail> longest_;     // [long lists]
  Buffer<uint32_t> row_;     // [long lists]
};

/// Turns long lists into bit rows. Their tails leave the form.
template <typename Item>
void make_rows(ExistenceForm& form, const Buffer<Item>& items, uint32_t min_length, const WantedPairs& pairs,
               const ExecutionOptions& options) {
  MemoryMeter& meter = *options.memory;
  TransactionBits& rows = form.rows;
  const uint32_t leading = pairs.leading;
  const size_t current = meter.current();
  const size_t free = std::min(meter.available(), options.work_bytes - std::min(current, options.work_bytes));
  const uint64_t max_rows = std::min(items.bytes(), free / kShareOfRows) / (rows.words * 8);
  const LongLists lists(form.lists, items.size(), leading, min_length, max_rows, options);
  if (lists.rows() == 0) return;
  Poll poll(options.cancel);
  rows.bits = Buffer<uint64_t>(meter, lists.rows() * rows.words, Fill::kZero);
  lists.visit([&](uint32_t row, const Tail& tail) {
    poll.after(tail.length);
    for (uint32_t k = 0; k < tail.length; ++k) {
      const uint32_t bit = pairs.first_column - rows.first_bit + items[tail.begin + k];
      rows.bits[row * rows.words + bit / 64] |= uint64_t{1} << (bit & 63);
    }
  });
  rows.lists.begin = Buffer<uint64_t>(meter, size_t{leading} + 1);
  rows.lists.length = Buffer<uint32_t>(meter, leading, Fill::kZero);
  uint64_t listed = 0;
  for (uint32_t item = 0; item < leading; ++item) {
    poll.after(form.lists.support[item]);
    rows.lists.begin[item] = listed;
    for (const Tail& tail : form.tails_of(item)) listed += lists.row_of(tail) != LongLists::kNone;
  }
  rows.lists.begin[leading] = listed;
  rows.lists.tids = Buffer<uint32_t>(meter, listed);
  for (uint32_t item = 0; item < leading; ++item) {
    poll.after(form.lists.support[item]);
    Tail* kept = form.lists.tails.data() + form.lists.tails_begin[item];
    const Tail* const begin = kept;
    for (const Tail& tail : form.tails_of(item)) {
      const uint32_t row = lists.row_of(tail);
      if (row == LongLists::kNone)
        *kept++ = tail;
      else
        rows.lists.append(item, row);
    }
    form.tail_count[item] = static_cast<uint32_t>(kept - begin);
  }
}

template <typename Item>
std::unique_ptr<PairCounter> make_finder(Transactions transactions, const WantedPairs& pairs,
                                         const ExecutionOptions& options) {
  uint32_t longest = 0;
  const Buffer<RowCost> costs = costs_of_lists(transactions, pairs, options, longest);
  ExistenceForm form;
  form.lists = std::move(transactions);
  form.rows.first_bit = static_cast<uint32_t>(first_transaction_bit(pairs.first_column));
  form.rows.words = row_words(form.supports().size() - form.rows.first_bit);
  form.tail_count = Buffer<uint32_t>(*options.memory, pairs.leading);
  std::copy_n(form.lists.support.data(), pairs.leading, form.tail_count.data());
  const auto min_length = static_cast<uint32_t>(form.rows.words / kWordsOfAMark);
  if (longest > 0 && longest >= min_length)
    make_rows(form, std::get<Buffer<Item>>(form.lists.items), min_length, pairs, options);
  return std::make_unique<ExistenceCounter<Item>>(std::move(form), costs.span(), pairs, options);
}

}  // namespace

std::unique_ptr<PairCounter> find_in_lists(Transactions transactions, const WantedPairs& pairs,
                                           const ExecutionOptions& options) {
  if (std::holds_alternative<Buffer<uint16_t>>(transactions.items))
    return make_finder<uint16_t>(std::move(transactions), pairs, options);
  return make_finder<uint32_t>(std::move(transactions), pairs, options);
}

std::unique_ptr<PairCounter> find_in_bit_rows(TransactionBits rows, const WantedPairs& pairs, uint64_t pair_instances,
                                              const ExecutionOptions& options) {
  const Buffer<RowCost> costs = costs_of_rows(rows, pairs, pair_instances, options);
  ExistenceForm form;
  form.rows = std::move(rows);
  return std::make_unique<ExistenceCounter<uint16_t>>(std::move(form), costs.span(), pairs, options);
}

}  // namespace batmap
