// Writing, loading and adding up of runs. See count_runs.h.
//
// A row in a run: varints for a, for the bytes that follow, for the number of partners; then, for each partner,
// for its distance from the one before (the first: from a) and for its count.
#include "pairs/count_runs.h"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "core/varint.h"
#include "pairs/counters/marked_indexes.h"
#include "pairs/counters/row_tasks.h"

namespace batmap {

namespace {

// Bytes of a task: some tenths of a millisecond.
constexpr uint64_t kRunTaskBytes = 1 << 18;
constexpr size_t kMinReadBytes = 1 << 10;

}  // namespace

class CountRuns::Reader {
 public:
  Reader(TempFile& file, size_t buffer_bytes, MemoryMeter& meter) : file_(&file), buffer_(meter, buffer_bytes) {
    file.rewind();
  }

  /// Goes to the next row. @return false: there is none
  bool next() {
    if (begin_ == end_ && file_->unread() == 0) return false;
    row_ = static_cast<uint32_t>(varint());
    bytes_ = varint();
    return true;
  }
  uint32_t row() const { return row_; }

  /// Copies the partners of the row. @return the byte behind them
  std::byte* take(std::byte* to) {
    for (uint64_t left = bytes_; left > 0;) {
      if (begin_ == end_) fill();
      const size_t now = std::min<uint64_t>(left, end_ - begin_);
      std::memcpy(to, buffer_.data() + begin_, now);
      to += now;
      begin_ += now;
      left -= now;
    }
    return to;
  }

 private:
  void fill() {
    begin_ = 0;
    end_ = std::min<uint64_t>(buffer_.size(), file_->unread());
    file_->read(buffer_.span().first(end_));
  }
  uint64_t varint() {
    std::byte bytes[kMaxVarint];
    size_t size = 0;
    do {
      if (begin_ == end_) fill();
      bytes[size] = buffer_[begin_++];
    } while (static_cast<uint8_t>(bytes[size++]) >= 0x80);
    const std::byte* at = bytes;
    return read_varint(at);
  }

  TempFile* file_;
  Buffer<std::byte> buffer_;
  size_t begin_ = 0;  // of what is in the buffer
  size_t end_ = 0;
  uint32_t row_ = 0;
  uint64_t bytes_ = 0;
};

namespace {

/// The rows of some items, added up when they are asked for.
template <typename Count>
class LoadedRuns final : public PairCounter {
 public:
  /// @param rows       the partners of each row, from `first_row` on, of one run after the other
  /// @param row_begin  [rows + 1] where a row begins
  LoadedRuns(Buffer<std::byte> rows, Buffer<uint64_t> row_begin, uint32_t first_row, uint32_t items,
             const WantedPairs& pairs, uint64_t min_count, std::span<const Count> supports, const ExecutionOptions& options)
      : rows_(std::move(rows)),
        row_begin_(std::move(row_begin)),
        first_row_(first_row),
        min_count_(min_count),
        supports_(supports),
        options_(options),
        tasks_(static_cast<uint32_t>(row_begin_.size() - 1), kRunTaskBytes, options.threads, [&](uint32_t row) -> RowCost {
          const uint64_t bytes = row_begin_[row + 1] - row_begin_[row];
          return {.work = bytes + 16, .results = std::min<uint64_t>(bytes / 2, items - pairs.first_after(first_row + row))};
        }) {
    for (int worker = 0; worker < options.threads; ++worker) sums_.emplace_back(*options.memory, items);
  }

  size_t tasks() const override { return tasks_.size(); }
  uint64_t max_results() const override { return tasks_.max_results(); }
  std::span<const uint32_t> supports() const override {
    if constexpr (std::is_same_v<Count, uint32_t>) return supports_;
    return {};
  }
  std::span<const uint64_t> wide_supports() const override {
    if constexpr (std::is_same_v<Count, uint64_t>) return supports_;
    return {};
  }

  void count(size_t task, int worker, uint32_t threshold, GrowingBuffer<PairCount>& out) override {
    const uint64_t min_count = std::max<uint64_t>(threshold, min_count_);
    uint64_t polled = row_begin_[tasks_.begin(task)];
    for (uint32_t row = tasks_.begin(task); row < tasks_.end(task); ++row) {
      if (row_begin_[row + 1] - polled >= kPollEvery) {
        polled = row_begin_[row + 1];
        options_.cancel.throw_if_requested();
      }
      add_up(row, min_count, sums_[static_cast<size_t>(worker)], out);
    }
  }

 private:
  /// The counters of one row at a time. All are zero and unmarked between two rows, unless the run was abandoned.
  struct Sums {
    Sums(MemoryMeter& meter, uint32_t items) : counts(meter, items, Fill::kZero), touched(meter, items) {}
    Buffer<Count> counts;
    MarkedIndexes touched;
  };

  void add_up(uint32_t row, uint64_t min_count, Sums& sums, GrowingBuffer<PairCount>& out) {
    const uint32_t a = first_row_ + row;
    const std::byte* at = rows_.data() + row_begin_[row];
    const std::byte* const end = rows_.data() + row_begin_[row + 1];
    if (at == end) return;
    uint64_t partners = 0;
    bool is_first = true;
    while (at != end) {
      const uint64_t size = read_varint(at);
      partners += size;
      uint32_t b = a;
      if (is_first) {  // perhaps the only run with this row: its partners are in order
        is_first = false;
        PairCount* const to = out.room(size);
        const std::byte* const begin = at;
        size_t found = 0;
        for (uint64_t k = 0; k < size; ++k) {
          b += static_cast<uint32_t>(read_varint(at));
          to[found] = {a, b, read_varint(at)};
          found += to[found].count >= min_count;
        }
        if (at == end) {
          out.add(found);
          return;
        }
        at = begin;
        b = a;
      }
      for (uint64_t k = 0; k < size; ++k) {
        b += static_cast<uint32_t>(read_varint(at));
        sums.touched.mark(b);
        sums.counts[b] += static_cast<Count>(read_varint(at));
      }
    }
    PairCount* const to = out.room(std::min<uint64_t>(partners, sums.counts.size()));
    size_t found = 0;
    sums.touched.visit([&](size_t b) {
      to[found] = {a, static_cast<uint32_t>(b), std::exchange(sums.counts[b], 0)};
      found += to[found].count >= min_count;
    });
    out.add(found);
  }

  Buffer<std::byte> rows_;
  Buffer<uint64_t> row_begin_;
  uint32_t first_row_;
  uint64_t min_count_;
  std::span<const Count> supports_;
  const ExecutionOptions& options_;
  RowTasks tasks_;
  std::vector<Sums> sums_;  // [threads]
};

}  // namespace

CountRuns::CountRuns(uint32_t items, const WantedPairs& pairs, const ExecutionOptions& options)
    : items_(items), wanted_(pairs), options_(options), row_bytes_(*options.memory, pairs.leading, Fill::kZero) {}

CountRuns::~CountRuns() = default;

void CountRuns::begin_run() { runs_.push_back(&options_.files->create()); }

void CountRuns::encode(std::span<const PairCount> counts, GrowingBuffer<std::byte>& out) {
  for (size_t begin = 0; begin < counts.size();) {
    const uint32_t a = counts[begin].a;
    size_t end = begin;
    while (end < counts.size() && counts[end].a == a) ++end;
    const uint64_t partners = end - begin;
    // The length of the row stands before it, and is known behind it.
    std::byte* const room = out.room((2 * partners + 3) * kMaxVarint);
    std::byte* const row = room + 2 * kMaxVarint;
    std::byte* to = put_varint(row, partners);
    for (uint32_t before = a; begin < end; ++begin) {
      to = put_varint(to, counts[begin].b - before);
      to = put_varint(to, counts[begin].count);
      before = counts[begin].b;
    }
    const auto bytes = static_cast<size_t>(to - row);
    std::byte* const behind_head = put_varint(put_varint(room, a), bytes);
    std::memmove(behind_head, row, bytes);
    out.add(static_cast<size_t>(behind_head - room) + bytes);
  }
}

void CountRuns::append(std::span<const std::byte> rows) {
  const std::byte* at = rows.data();
  const std::byte* const end = at + rows.size();
  while (at != end) {
    const uint64_t a = read_varint(at);
    const uint64_t bytes = read_varint(at);
    const std::byte* partners = at;
    pairs_ += read_varint(partners);
    row_bytes_[a] += bytes;
    at += bytes;
  }
  bytes_ += rows.size();
  runs_.back()->write(rows);
}

void CountRuns::clear() noexcept {
  readers_.clear();
  for (TempFile* const run : runs_) run->close();
  runs_.clear();
  std::fill(row_bytes_.begin(), row_bytes_.end(), 0);
  pairs_ = bytes_ = 0;
}

template <typename Count>
std::unique_ptr<PairCounter> CountRuns::next_block(std::span<const Count> supports, uint64_t min_count, uint64_t max_bytes) {
  const auto later = [](const Reader& x, const Reader& y) { return x.row() > y.row(); };
  if (next_row_ == 0) {
    const size_t buffer_bytes =
        std::clamp(options_.work_bytes / 16 / std::max<size_t>(runs_.size(), 1), kMinReadBytes, TempFiles::kRegionBytes);
    for (TempFile* const run : runs_) {
      Reader reader(*run, buffer_bytes, *options_.memory);
      if (reader.next()) readers_.push_back(std::move(reader));
    }
    std::ranges::make_heap(readers_, later);
  }
  if (next_row_ == wanted_.leading) return nullptr;
  const uint32_t first = next_row_;
  uint64_t bytes = 0;
  while (next_row_ < wanted_.leading && (next_row_ == first || bytes + row_bytes_[next_row_] <= max_bytes))
    bytes += row_bytes_[next_row_++];

  Buffer<std::byte> rows(*options_.memory, bytes);
  Buffer<uint64_t> row_begin(*options_.memory, next_row_ - first + 1);
  std::byte* to = rows.data();
  for (uint32_t row = first; row < next_row_; ++row) {
    row_begin[row - first] = static_cast<uint64_t>(to - rows.data());
    while (!readers_.empty() && readers_.front().row() == row) {
      options_.cancel.throw_if_requested();
      std::ranges::pop_heap(readers_, later);
      to = readers_.back().take(to);
      if (readers_.back().next())
        std::ranges::push_heap(readers_, later);
      else
        readers_.pop_back();
    }
  }
  row_begin[next_row_ - first] = bytes;
  return std::make_unique<LoadedRuns<Count>>(std::move(rows), std::move(row_begin), first, items_, wanted_, min_count,
                                             supports, options_);
}

template std::unique_ptr<PairCounter> CountRuns::next_block(std::span<const uint32_t>, uint64_t, uint64_t);
template std::unique_ptr<PairCounter> CountRuns::next_block(std::span<const uint64_t>, uint64_t, uint64_t);

}  // namespace batmap
