// Puts chunks and changes together. See kept_counts.h.
#include "pairs/counts/kept_counts.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "core/error.h"
#include "core/poll.h"
#include "core/polled.h"
#include "pairs/counts/pair_counts.h"

namespace batmap {

namespace {

constexpr const char* kHint = "Subtract only counts that were added before.";
constexpr size_t kShownBytes = 60;  // of a text in an error

template <bool kTexts>
using KeyOf = std::conditional_t<kTexts, std::string_view, int64_t>;

template <bool kTexts>
KeyOf<kTexts> item_key(const CountsKey& key) {
  if constexpr (kTexts)
    return key.text;
  else
    return key.number;
}

template <bool kTexts>
KeyOf<kTexts> item_key(const PairCountsItems& items) {
  if constexpr (kTexts)
    return items.text();
  else
    return items.item();
}

CountsKey public_key(int64_t number) { return {number, {}}; }
CountsKey public_key(std::string_view text) { return {0, text}; }

std::string shown(int64_t item) { return std::to_string(item); }
std::string shown(std::string_view item) {
  if (item.size() <= kShownBytes) return "\"" + std::string(item) + "\"";
  size_t bytes = kShownBytes;
  while (bytes > 0 && (static_cast<uint8_t>(item[bytes]) & 0xc0) == 0x80) --bytes;  // not within a character
  return "\"" + std::string(item.substr(0, bytes)) + "...\"";
}

/// A pair by the indexes of its items, and a count or a change of it.
struct PairChange {
  uint32_t a;
  uint32_t b;
  int64_t count;

  uint64_t key() const { return uint64_t{a} << 32 | b; }
};

/// Counts up to 2^63 - 1 are added before others are subtracted. Modulo 2^64 the sum is right if the result is a count.
int64_t sum_of(int64_t x, int64_t y) { return static_cast<int64_t>(static_cast<uint64_t>(x) + static_cast<uint64_t>(y)); }

/// A range of indexes.
struct IndexRange {
  uint32_t begin;
  uint32_t end;

  bool contains(uint32_t index) const { return begin <= index && index < end; }
  bool touches(const PairChange& pair) const { return contains(pair.a) || contains(pair.b); }
};

template <bool kTexts>
class KeptCountsOf final : public KeptCounts {
 public:
  using Key = KeyOf<kTexts>;

  KeptCountsOf(const std::byte* supports, const CountsChange& change, const ExecutionOptions& options)
      : options_(options), keys_(*options.memory), supports_(*options.memory) {
    add_supports(supports, 1);
    add_supports(change.supports_before, -1);
    add_supports(change.supports_after, 1);
    if (total_ < 0)
      throw Error(ErrorCode::kInvalidParameter, "the number of transactions would be " + std::to_string(total_), kHint);
    Poll poll(options_.cancel);
    for (uint32_t index = 0; index < keys_.size(); ++index) {
      poll.after(1);
      if (supports_[index] >= 0 && supports_[index] <= total_) continue;
      throw Error(ErrorCode::kInvalidParameter,
                  "the support of item " + shown(keys_[index]) + " would be " + std::to_string(supports_[index]) + " of " +
                      std::to_string(total_),
                  kHint);
    }
    after_ = mapped(change.pairs_after);
    before_ = mapped(change.pairs_before);
    find_rows(after_);
    find_rows(before_);
  }

  void write_all(std::span<const StoredChunk> chunks, GrowingBuffer<std::byte>& out, bool mirrored) override {
    if (mirrored) {
      write_mirrored(chunks, out);
      return;
    }
    const Buffer<uint32_t> written = written_indexes([&](size_t index) { return supports_[index] > 0; });
    PairCountsWriter writer(options_);
    ChunkRows base(*this, chunks);
    ChangedRows after(after_);
    ChangedRows before(before_);
    for (uint32_t index = 0; index < keys_.size(); ++index) {
      if (supports_[index] > 0) add_item(writer, index, static_cast<uint64_t>(supports_[index]));
      RowOf stored = base.at(index);
      RowOf plus = after.at(index);
      RowOf minus = before.at(index);
      for (;;) {
        const uint32_t partner = std::min({stored.partner(), plus.partner(), minus.partner()});
        if (partner == kNone) break;
        const int64_t change = plus.take(partner) - minus.take(partner);
        const PairChange pair{index, partner, sum_of(stored.take(partner), change)};
        check(pair);
        if (pair.count > 0) writer.add_pair(written[partner], static_cast<uint64_t>(pair.count));
      }
    }
    writer.finish(static_cast<uint64_t>(total_), out);
  }

  void write_selected(std::span<const StoredChunk> chunks, std::span<const CountsKey> items,
                      GrowingBuffer<std::byte>& out) override {
    Buffer<uint8_t> selected(*options_.memory, keys_.size(), Fill::kZero);
    for (const CountsKey& item : items) {
      const uint32_t index = lower_bound(item_key<kTexts>(item));
      if (index < keys_.size() && keys_[index] == item_key<kTexts>(item)) selected[index] = 1;
    }
    GrowingBuffer<PairChange> pairs(*options_.memory);
    for (size_t k = 0; k < chunks.size(); ++k) {
      const IndexRange range = range_of(chunks, k);
      const Mapped chunk = mapped(chunks[k].value);
      // A pair of two of the items is in the chunks of both: it is taken from that of the smaller one.
      collect(chunk, 1, pairs, [&](uint32_t a, uint32_t b) {
        return selected[a] != 0 ? range.contains(a) : selected[b] != 0 && range.contains(b);
      });
    }
    const auto is_selected = [&](uint32_t a, uint32_t b) { return selected[a] != 0 || selected[b] != 0; };
    collect_change(pairs, is_selected);
    const std::span<const PairChange> summed = sum({pairs.begin(), pairs.size()});
    for (const PairChange& pair : summed) selected[pair.a] = selected[pair.b] = 1;
    write_pairs(summed, selected, out);
  }

  void write_supports(GrowingBuffer<std::byte>& out) override {
    PairCountsWriter writer(options_);
    for (uint32_t index = 0; index < keys_.size(); ++index)
      if (supports_[index] > 0) add_item(writer, index, static_cast<uint64_t>(supports_[index]));
    writer.finish(static_cast<uint64_t>(total_), out);
  }

  bool changes(const CountsKey& low, const CountsKey* high) override {
    const IndexRange range = range_of(low, high);
    return touches(after_, range) || touches(before_, range);
  }

  void merge(const StoredChunk& chunk, const CountsKey* high, GrowingBuffer<std::byte>& out,
             std::vector<MadeChunk>& made) override {
    const IndexRange range = range_of(chunk.low, high);
    const auto touches_range = [&](uint32_t a, uint32_t b) { return range.contains(a) || range.contains(b); };
    GrowingBuffer<PairChange> pairs(*options_.memory);
    collect(mapped(chunk.value), 1, pairs, touches_range);
    collect_change(pairs, touches_range);
    const std::span<const PairChange> summed = sum({pairs.begin(), pairs.size()});
    if (summed.empty()) return;
    const std::vector<uint32_t> begins =
        parts_of(summed, range, summed.size() > 2 * kPairsAChunk ? kPairsAChunk : UINT64_MAX);
    for (size_t k = 0; k < begins.size(); ++k) {
      const IndexRange part{begins[k], k + 1 < begins.size() ? begins[k + 1] : range.end};
      const size_t begin = out.size();
      write_chunk(summed, part, out);
      made.push_back({k == 0 ? chunk.low : public_key(keys_[part.begin]), begin, out.size() - begin});
    }
  }

  std::vector<CountsKey> cuts(uint64_t pairs) override {
    Buffer<uint64_t> degrees(*options_.memory, keys_.size(), Fill::kZero);
    visit(after_, [&](uint32_t a, uint32_t b, uint64_t) { ++degrees[a], ++degrees[b]; });
    std::vector<CountsKey> found;
    uint64_t sum = 0;
    for (uint32_t index = 0; index < keys_.size(); ++index) {
      if (sum > 0 && sum + degrees[index] > pairs && may_begin(index)) {
        found.push_back(public_key(keys_[index]));
        sum = 0;
      }
      sum += degrees[index];
    }
    return found;
  }

  std::span<const int64_t> numbers() const override {
    if constexpr (kTexts)
      return {};
    else
      return {keys_.begin(), keys_.size()};
  }
  std::span<const int64_t> supports() const override { return {supports_.begin(), supports_.size()}; }
  uint64_t total() const override { return static_cast<uint64_t>(total_); }

  void read_chunk(std::span<const StoredChunk> chunks, size_t chunk, uint64_t least,
                  GrowingBuffer<PairCount>& out) const override {
    const bool is_stored = chunk < chunks.size();
    IndexRange range{0, static_cast<uint32_t>(keys_.size())};
    if (is_stored) range = range_of(chunks, chunk);
    if (chunk == 0) range.begin = 0;  // of items before the first chunk only the change has pairs
    const std::byte* const value = is_stored ? chunks[chunk].value : nullptr;
    Buffer<uint32_t> indexes(*options_.memory, value == nullptr ? 0 : pair_counts_header(value).items);
    GrowingBuffer<RowAt> rows(*options_.memory);
    if (value != nullptr) find_rows(value, range, indexes, rows);
    const RowAt* stored_row = rows.begin();
    ChangedRows after(after_, range.begin);
    ChangedRows before(before_, range.begin);
    Poll poll(options_.cancel);
    const auto put = [&](uint32_t index, uint32_t partner, int64_t count) {
      check({index, partner, count});
      if (static_cast<uint64_t>(count) >= least) out.push_back({index, partner, static_cast<uint64_t>(count)});
    };
    for (uint32_t index = range.begin; index < range.end; ++index) {
      poll.after(1);
      const bool is_stored_row = stored_row != rows.end() && stored_row->index == index;
      // No count exceeds a support.
      if (static_cast<uint64_t>(supports_[index]) >= least) {
        PairCountsRow row = is_stored_row ? stored_row->row : PairCountsRow(0, {});
        RowOf plus = after.at(index);
        RowOf minus = before.at(index);
        if (std::min(plus.partner(), minus.partner()) == kNone) {
          for (; row.next(); poll.after(1))
            if (row.count() >= least) put(index, indexes[row.index()], static_cast<int64_t>(row.count()));
        } else {
          const auto next = [&] { return row.next() ? indexes[row.index()] : kNone; };
          for (uint32_t stored = next();;) {
            const uint32_t changed = std::min(plus.partner(), minus.partner());
            for (; stored < changed; stored = next(), poll.after(1))
              if (row.count() >= least) put(index, stored, static_cast<int64_t>(row.count()));
            if (changed == kNone) break;
            int64_t count = plus.take(changed) - minus.take(changed);
            if (stored == changed) {
              count = sum_of(static_cast<int64_t>(row.count()), count);
              stored = next();
            }
            put(index, changed, count);
            poll.after(1);
          }
        }
      }
      stored_row += is_stored_row;
    }
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  /// A value, and for each of its items the index among all.
  struct Mapped {
    const std::byte* value = nullptr;
    Buffer<uint32_t> indexes;
    Buffer<std::span<const std::byte>> rows;  // of the change: that of each item
  };

  struct RowAt {
    uint32_t index;
    PairCountsRow row;
  };

  /// A row whose partners have indexes among all items.
  class RowOf {
   public:
    RowOf() = default;
    RowOf(const PairCountsRow& row, const Buffer<uint32_t>& indexes) : row_(row), indexes_(&indexes) { step(); }

    uint32_t partner() const { return partner_; }
    /// The count, if the row is at this partner, and goes on to the next one; otherwise 0.
    int64_t take(uint32_t partner) {
      if (partner_ != partner) return 0;
      const auto count = static_cast<int64_t>(row_->count());
      step();
      return count;
    }

   private:
    void step() { partner_ = row_->next() ? (*indexes_)[row_->index()] : kNone; }

    std::optional<PairCountsRow> row_;
    const Buffer<uint32_t>* indexes_ = nullptr;
    uint32_t partner_ = kNone;
  };

  /// The rows of a value, asked for by rising index.
  class Rows {
   public:
    explicit Rows(const Mapped& mapped) : mapped_(&mapped) {
      if (mapped.value != nullptr) items_.emplace(mapped.value);
      step();
    }
    uint32_t index() const { return index_; }
    RowOf at(uint32_t index) {
      if (index_ != index) return {};
      const RowOf row(items_->row(), mapped_->indexes);
      step();
      return row;
    }
    void step() { index_ = items_ && items_->next() ? mapped_->indexes[items_->index()] : kNone; }

   private:
    const Mapped* mapped_;
    std::optional<PairCountsItems> items_;
    uint32_t index_ = kNone;
  };

  /// The rows of the change, asked for by rising index, from any one on.
  class ChangedRows {
   public:
    explicit ChangedRows(const Mapped& mapped, uint32_t first = 0)
        : mapped_(mapped),
          at_(static_cast<size_t>(std::lower_bound(mapped.indexes.begin(), mapped.indexes.end(), first) -
                                  mapped.indexes.begin())) {}

    RowOf at(uint32_t index) {
      while (at_ < mapped_.indexes.size() && mapped_.indexes[at_] < index) ++at_;
      if (at_ == mapped_.indexes.size() || mapped_.indexes[at_] != index) return {};
      return {PairCountsRow(static_cast<uint32_t>(at_), mapped_.rows[at_]), mapped_.indexes};
    }

   private:
    const Mapped& mapped_;
    size_t at_;
  };

  /// The rows of the items of each chunk's range, asked for by rising index.
  class ChunkRows {
   public:
    ChunkRows(KeptCountsOf& counts, std::span<const StoredChunk> chunks) : counts_(counts), chunks_(chunks) {}

    RowOf at(uint32_t index) {
      while (index >= end_) {
        if (next_ == chunks_.size()) return {};
        const IndexRange range = counts_.range_of(chunks_, next_);
        end_ = range.end;
        mapped_ = counts_.mapped(chunks_[next_++].value);
        rows_.emplace(mapped_);
        while (rows_->index() < range.begin) rows_->step();
      }
      return rows_->at(index);
    }

   private:
    KeptCountsOf& counts_;
    std::span<const StoredChunk> chunks_;
    size_t next_ = 0;
    uint32_t end_ = 0;
    Mapped mapped_;
    std::optional<Rows> rows_;
  };

  /// Adds the items, supports and total of a value.
  void add_supports(const std::byte* value, int sign) {
    if (value == nullptr) return;
    const PairCountsHeader header = pair_counts_header(value);
    const auto change = static_cast<int64_t>(header.total);
    if (sign > 0 && total_ > 0 && change > INT64_MAX - total_)
      throw Error(ErrorCode::kTooLarge, "pair counts of more than " + std::to_string(INT64_MAX) + " transactions");
    total_ += sign * change;
    GrowingBuffer<Key> keys(*options_.memory);
    GrowingBuffer<int64_t> supports(*options_.memory);
    keys.room(keys_.size() + header.items);
    supports.room(keys_.size() + header.items);
    size_t old = 0;
    visit_items(value, [&](const PairCountsItems& items) {
      const Key key = item_key<kTexts>(items);
      for (; old < keys_.size() && keys_[old] < key; ++old) keys.push_back(keys_[old]), supports.push_back(supports_[old]);
      const bool known = old < keys_.size() && keys_[old] == key;
      keys.push_back(key);
      supports.push_back(sum_of(known ? supports_[old] : 0, sign * static_cast<int64_t>(items.support())));
      old += known;
    });
    for (; old < keys_.size(); ++old) keys.push_back(keys_[old]), supports.push_back(supports_[old]);
    if (keys.size() >= kNone)
      throw Error(ErrorCode::kTooLarge, "more than 4294967294 items in pair counts",
                  "Keep the counts of some items apart from those of the others.");
    keys_ = std::move(keys);
    supports_ = std::move(supports);
  }

  uint32_t lower_bound(Key key) const {
    return static_cast<uint32_t>(std::lower_bound(keys_.begin(), keys_.end(), key) - keys_.begin());
  }

  IndexRange range_of(const CountsKey& low, const CountsKey* high) const {
    const uint32_t begin = lower_bound(item_key<kTexts>(low));
    return {begin,
            high == nullptr ? static_cast<uint32_t>(keys_.size()) : std::max(begin, lower_bound(item_key<kTexts>(*high)))};
  }

  /// The range of a chunk, which ends where the next one begins.
  IndexRange range_of(std::span<const StoredChunk> chunks, size_t k) const {
    return range_of(chunks[k].low, k + 1 < chunks.size() ? &chunks[k + 1].low : nullptr);
  }

  /// Calls body(items) at each item of a value.
  template <typename Body>
  void visit_items(const std::byte* value, Body body) const {
    options_.cancel.throw_if_requested();
    Poll poll(options_.cancel);
    for (PairCountsItems items(value); items.next(); poll.after(1)) body(items);
  }

  Mapped mapped(const std::byte* value) const {
    if (value == nullptr) return {};
    Mapped mapped{value, Buffer<uint32_t>(*options_.memory, pair_counts_header(value).items), {}};
    uint32_t index = 0;
    visit_items(value, [&](const PairCountsItems& items) {
      mapped.indexes[items.index()] = index = index_of(item_key<kTexts>(items), index);
    });
    return mapped;
  }

  void find_rows(Mapped& mapped) const {
    if (mapped.value == nullptr) return;
    mapped.rows = Buffer<std::span<const std::byte>>(*options_.memory, mapped.indexes.size());
    visit_items(mapped.value, [&](const PairCountsItems& items) { mapped.rows[items.index()] = items.row_bytes(); });
  }

  /// Finds the rows of a range of items in a chunk, and the indexes of the items from there on, which are partners.
  void find_rows(const std::byte* value, const IndexRange& range, Buffer<uint32_t>& indexes,
                 GrowingBuffer<RowAt>& rows) const {
    uint32_t index = range.begin;
    visit_items(value, [&](const PairCountsItems& items) {
      const Key key = item_key<kTexts>(items);
      if (range.begin == keys_.size() || key < keys_[range.begin]) return;
      index = index_of(key, index);
      indexes[items.index()] = index;
      if (index < range.end && !items.row_bytes().empty()) rows.push_back({index, items.row()});
    });
  }

  /// The index of an item, which is at `from` or behind it.
  uint32_t index_of(Key key, uint32_t from) const {
    while (from < keys_.size() && keys_[from] < key) ++from;
    if (from == keys_.size() || keys_[from] != key) raise_no_support(key);
    return from;
  }

  [[noreturn]] static void raise_no_support(Key key) {
    throw Error(ErrorCode::kInvalidParameter, "item " + shown(key) + " of a pair has no support", kHint);
  }

  /// Calls body(a, b, count) for each pair, ascending.
  template <typename Body>
  void visit(const Mapped& mapped, Body body) const {
    if (mapped.value == nullptr) return;
    Poll poll(options_.cancel);
    for (PairCountsItems items(mapped.value); items.next();)
      for (PairCountsRow row = items.row(); row.next();) {
        poll.after(1);
        body(mapped.indexes[items.index()], mapped.indexes[row.index()], row.count());
      }
  }

  template <typename Wanted>
  void collect(const Mapped& mapped, int sign, GrowingBuffer<PairChange>& pairs, Wanted wanted) const {
    visit(mapped, [&](uint32_t a, uint32_t b, uint64_t count) {
      if (wanted(a, b)) pairs.push_back({a, b, sign * static_cast<int64_t>(count)});
    });
  }

  /// The same of what has changed.
  template <typename Wanted>
  void collect_change(GrowingBuffer<PairChange>& pairs, Wanted wanted) const {
    collect(after_, 1, pairs, wanted);
    collect(before_, -1, pairs, wanted);
  }

  bool touches(const Mapped& mapped, const IndexRange& range) const {
    if (mapped.value == nullptr) return false;
    Poll poll(options_.cancel);
    for (PairCountsItems items(mapped.value); items.next();) {
      const uint32_t a = mapped.indexes[items.index()];
      if (a >= range.end) return false;
      if (a >= range.begin) {
        if (!items.row_bytes().empty()) return true;
        continue;
      }
      for (PairCountsRow row = items.row(); row.next();) {
        poll.after(1);
        if (range.contains(mapped.indexes[row.index()])) return true;
        if (mapped.indexes[row.index()] >= range.end) break;
      }
    }
    return false;
  }

  void check(const PairChange& pair) const {
    if (pair.count >= 0 && pair.count <= std::min(supports_[pair.a], supports_[pair.b])) return;
    throw Error(ErrorCode::kInvalidParameter,
                "the count of the pair (" + shown(keys_[pair.a]) + ", " + shown(keys_[pair.b]) + ") would be " +
                    std::to_string(pair.count) + (pair.count < 0 ? "" : ", above the support of an item"),
                kHint);
  }

  /// Sorts the pairs, adds up what is equal, and leaves out zeros, in place.
  std::span<const PairChange> sum(std::span<PairChange> pairs) const {
    const auto by_key = [](const PairChange& x, const PairChange& y) { return x.key() < y.key(); };
    if (!std::is_sorted(pairs.begin(), pairs.end(), by_key))
      std::sort(pairs.begin(), pairs.end(), polled(options_.cancel, by_key));
    size_t kept = 0;
    for (size_t begin = 0, end; begin < pairs.size(); begin = end) {
      PairChange pair = pairs[begin];
      for (end = begin + 1; end < pairs.size() && pairs[end].key() == pair.key(); ++end)
        pair.count = sum_of(pair.count, pairs[end].count);
      check(pair);
      if (pair.count > 0) pairs[kept++] = pair;
    }
    return pairs.first(kept);
  }

  /// May a chunk begin with an item? Low keys are in an index, which has room for 2,704 bytes at most.
  bool may_begin(uint32_t index) const {
    if constexpr (kTexts)
      return keys_[index].size() <= kMaxLowBytes;
    else
      return true;
  }

  /// Cuts a range so that each part has at most `most` pairs, or one item, or but one with which a chunk may begin.
  /// @return where the parts begin
  std::vector<uint32_t> parts_of(std::span<const PairChange> pairs, const IndexRange& range, uint64_t most) const {
    std::vector<uint32_t> begins = {range.begin};
    if (pairs.size() <= most) return begins;
    Buffer<uint64_t> degrees(*options_.memory, range.end - range.begin, Fill::kZero);
    for (const PairChange& pair : pairs)
      for (const uint32_t index : {pair.a, pair.b})
        if (range.contains(index)) ++degrees[index - range.begin];
    uint64_t sum = 0;
    for (uint32_t index = range.begin; index < range.end; ++index) {
      const uint64_t more = degrees[index - range.begin];
      if (sum > 0 && sum + more > most && may_begin(index)) {
        begins.push_back(index);
        sum = 0;
      }
      sum += more;
    }
    return begins;
  }

  /// @param is_written  says of an index whether its item will be written @return the index that it will have there
  template <typename IsWritten>
  Buffer<uint32_t> written_indexes(IsWritten is_written) const {
    Buffer<uint32_t> written(*options_.memory, keys_.size());
    uint32_t count = 0;
    for (size_t index = 0; index < keys_.size(); ++index) {
      written[index] = count;
      count += is_written(index);
    }
    return written;
  }

  void add_item(PairCountsWriter& writer, uint32_t index, uint64_t support) const {
    if constexpr (kTexts)
      writer.add_text(keys_[index], support);
    else
      writer.add_item(keys_[index], support);
  }

  /// @param pairs  ascending @param items  which items are written if they occur, those of the pairs among them
  void write_pairs(std::span<const PairChange> pairs, const Buffer<uint8_t>& items, GrowingBuffer<std::byte>& out) const {
    const auto is_written = [&](size_t index) { return items[index] != 0 && supports_[index] > 0; };
    const Buffer<uint32_t> written = written_indexes(is_written);
    PairCountsWriter writer(options_);
    auto pair = pairs.begin();
    for (uint32_t index = 0; index < keys_.size(); ++index) {
      if (!is_written(index)) continue;
      add_item(writer, index, static_cast<uint64_t>(supports_[index]));
      for (; pair != pairs.end() && pair->a == index; ++pair)
        writer.add_pair(written[pair->b], static_cast<uint64_t>(pair->count));
    }
    writer.finish(static_cast<uint64_t>(total_), out);
  }

  /// Writes the pairs that have an item in the range, as a chunk.
  void write_chunk(std::span<const PairChange> pairs, const IndexRange& range, GrowingBuffer<std::byte>& out) const {
    Buffer<int64_t> largest(*options_.memory, keys_.size(), Fill::kZero);
    int64_t total = 0;
    for (const PairChange& pair : pairs) {
      if (!range.touches(pair)) continue;
      for (const uint32_t index : {pair.a, pair.b}) largest[index] = std::max(largest[index], pair.count);
      total = std::max(total, pair.count);
    }
    const Buffer<uint32_t> written = written_indexes([&](size_t index) { return largest[index] > 0; });
    PairCountsWriter writer(options_);
    auto pair = pairs.begin();
    for (uint32_t index = 0; index < keys_.size(); ++index) {
      if (largest[index] == 0) continue;
      add_item(writer, index, static_cast<uint64_t>(largest[index]));
      for (; pair != pairs.end() && pair->a <= index; ++pair)
        if (range.touches(*pair)) writer.add_pair(written[pair->b], static_cast<uint64_t>(pair->count));
    }
    writer.finish(static_cast<uint64_t>(total), out);
  }

  void write_mirrored(std::span<const StoredChunk> chunks, GrowingBuffer<std::byte>& out) {
    GrowingBuffer<PairChange> pairs(*options_.memory);
    for (size_t k = 0; k < chunks.size(); ++k) {
      const IndexRange range = range_of(chunks, k);
      collect(mapped(chunks[k].value), 1, pairs, [&](uint32_t, uint32_t b) { return range.contains(b); });
    }
    collect_change(pairs, [](uint32_t, uint32_t) { return true; });
    Buffer<uint8_t> items(*options_.memory, keys_.size());
    std::fill(items.begin(), items.end(), uint8_t{1});
    write_pairs(sum({pairs.begin(), pairs.size()}), items, out);
  }

  ExecutionOptions options_;
  GrowingBuffer<Key> keys_;          // all items, ascending
  GrowingBuffer<int64_t> supports_;  // of each, after the change
  int64_t total_ = 0;
  Mapped after_;
  Mapped before_;
};

}  // namespace

std::unique_ptr<KeptCounts> KeptCounts::make(const std::byte* supports, const CountsChange& change, bool texts,
                                             const ExecutionOptions& options) {
  if (texts) return std::make_unique<KeptCountsOf<true>>(supports, change, options);
  return std::make_unique<KeptCountsOf<false>>(supports, change, options);
}

void subtract_pair_counts(const std::byte* x, const std::byte* y, GrowingBuffer<std::byte>& out,
                          const ExecutionOptions& options) {
  const PairCountsHeader from = pair_counts_header(x);
  const PairCountsHeader other = pair_counts_header(y);
  if (from.items > 0 && other.items > 0 && from.has_texts() != other.has_texts())
    throw Error(ErrorCode::kInvalidParameter, kMixedCounts, kMixedCountsHint);
  const bool texts = from.has_texts() || other.has_texts();
  CountsChange change;
  change.supports_before = change.pairs_before = y;
  const StoredChunk all{{INT64_MIN, {}}, x};
  KeptCounts::make(x, change, texts, options)->write_all({&all, 1}, out);
}

void count_supports_of(std::span<const TidItem> rows, GrowingBuffer<std::byte>& out, const ExecutionOptions& options,
                       std::span<const std::string_view> texts) {
  Buffer<int64_t> items(*options.memory, rows.size());
  uint64_t total = 0;
  for (size_t k = 0; k < rows.size(); ++k) {
    items[k] = rows[k].item;
    total += k == 0 || rows[k].tid != rows[k - 1].tid;
  }
  std::sort(items.begin(), items.end(), polled(options.cancel, std::less<int64_t>()));
  PairCountsWriter writer(options, texts);
  for (size_t begin = 0, end; begin < items.size(); begin = end) {
    for (end = begin + 1; end < items.size() && items[end] == items[begin]; ++end) {
    }
    writer.add_item(items[begin], end - begin);
  }
  writer.finish(total, out);
}

}  // namespace batmap
