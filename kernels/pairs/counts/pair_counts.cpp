// Reads, writes, adds and checks pair counts. See pair_counts.h for the bytes.
#include "pairs/counts/pair_counts.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/poll.h"
#include "pairs/counters/pair_counter.h"
#include "relation/item_texts.h"

namespace batmap {

namespace {

constexpr uint8_t kIntegerVersion = 1;
constexpr uint64_t kMinItemBytes = 3;      // three varints
constexpr uint64_t kMinJoinItemBytes = 2;  // without the support
constexpr uint64_t kMaxTotal = INT64_MAX;
constexpr uint32_t kMaxItems = UINT32_MAX - 1;

[[noreturn]] void invalid(const char* what) {
  throw Error(ErrorCode::kInvalidData, std::string("invalid pair counts: ") + what);
}

uint64_t checked_number(std::span<const std::byte>& bytes) {
  return checked_varint(bytes, [](const char* what) { invalid(what); });
}

enum class CountsKind { kIntegers, kTexts, kJoin };

/// What an item compares as.
template <CountsKind kKind>
auto key_of(const PairCountsItems& items) {
  if constexpr (kKind == CountsKind::kTexts)
    return items.text();
  else if constexpr (kKind == CountsKind::kJoin)
    return std::pair(items.is_right(), items.item());
  else
    return items.item();
}

/// The position in the sum of each item of two values.
template <CountsKind kKind>
struct SumIndexes {
  SumIndexes(const std::byte* x, const std::byte* y, MemoryMeter& meter)
      : of_x(meter, pair_counts_header(x).items), of_y(meter, pair_counts_header(y).items) {
    PairCountsItems a(x);
    PairCountsItems b(y);
    bool more_a = a.next();
    bool more_b = b.next();
    uint64_t index = 0;
    for (; more_a || more_b; ++index) {
      const bool take_a = more_a && (!more_b || key_of<kKind>(a) <= key_of<kKind>(b));
      const bool take_b = more_b && (!more_a || key_of<kKind>(b) <= key_of<kKind>(a));
      left_items += !(take_a ? a : b).is_right();
      if (take_a) of_x[a.index()] = static_cast<uint32_t>(index), more_a = a.next();
      if (take_b) of_y[b.index()] = static_cast<uint32_t>(index), more_b = b.next();
    }
    if (index > kMaxItems)
      throw Error(ErrorCode::kTooLarge, "more than 4294967294 items in pair counts",
                  "Keep the counts of some items apart from those of the others.");
  }

  Buffer<uint32_t> of_x;
  Buffer<uint32_t> of_y;
  uint32_t left_items = 0;  // of join counts
};

void add_row(const PairCountsItems& from, const Buffer<uint32_t>& indexes, PairCountsWriter& writer) {
  for (PairCountsRow row = from.row(); row.next();) writer.add_pair(indexes[row.index()], row.count());
}

/// @return whether no pair is in both rows
template <CountsKind kKind>
bool add_rows(const PairCountsItems& a, const PairCountsItems& b, const SumIndexes<kKind>& indexes,
              PairCountsWriter& writer) {
  PairCountsRow row_a = a.row();
  PairCountsRow row_b = b.row();
  bool more_a = row_a.next();
  bool more_b = row_b.next();
  bool disjoint = true;
  while (more_a || more_b) {
    const uint64_t index_a = more_a ? indexes.of_x[row_a.index()] : UINT64_MAX;
    const uint64_t index_b = more_b ? indexes.of_y[row_b.index()] : UINT64_MAX;
    const uint64_t index = std::min(index_a, index_b);
    writer.add_pair(static_cast<uint32_t>(index),
                    (index_a == index ? row_a.count() : 0) + (index_b == index ? row_b.count() : 0));
    disjoint = disjoint && index_a != index_b;
    if (index_a == index) more_a = row_a.next();
    if (index_b == index) more_b = row_b.next();
  }
  return disjoint;
}

/// The transactions that two values have in common.
enum class InCommon { kNone, kAll };

/// @return false, and nothing is written: the values cannot be of the same transactions, or have a pair in common
template <CountsKind kKind>
bool add_two_of_kind(const std::byte* x, const std::byte* y, InCommon in_common, GrowingBuffer<std::byte>& out,
                     const ExecutionOptions& options) {
  const bool same = in_common == InCommon::kAll;
  const uint64_t total = pair_counts_header(x).total + (same ? 0 : pair_counts_header(y).total);
  if (total > kMaxTotal)
    throw Error(ErrorCode::kTooLarge, "pair counts of more than " + std::to_string(kMaxTotal) + " transactions");
  if (same && total != pair_counts_header(y).total) return false;
  const SumIndexes<kKind> indexes(x, y, *options.memory);
  PairCountsWriter writer =
      kKind == CountsKind::kJoin ? PairCountsWriter(options, indexes.left_items) : PairCountsWriter(options);
  const auto add_item = [&](const PairCountsItems& items, uint64_t support) {
    if constexpr (kKind == CountsKind::kTexts)
      writer.add_text(items.text(), support);
    else
      writer.add_item(items.item(), support);
  };
  PairCountsItems a(x);
  PairCountsItems b(y);
  bool more_a = a.next();
  bool more_b = b.next();
  while (more_a || more_b) {
    if (more_a && more_b && key_of<kKind>(a) == key_of<kKind>(b)) {
      if (same && a.support() != b.support()) return false;
      add_item(a, a.support() + (same ? 0 : b.support()));
      if (!add_rows(a, b, indexes, writer) && same) return false;
      more_a = a.next();
      more_b = b.next();
    } else if (more_a && (!more_b || key_of<kKind>(a) < key_of<kKind>(b))) {
      add_item(a, a.support());
      add_row(a, indexes.of_x, writer);
      more_a = a.next();
    } else {
      add_item(b, b.support());
      add_row(b, indexes.of_y, writer);
      more_b = b.next();
    }
  }
  writer.finish(total, out);
  return true;
}

bool add_two_of(const std::byte* x, const std::byte* y, InCommon in_common, GrowingBuffer<std::byte>& out,
                const ExecutionOptions& options) {
  if (pair_counts_header(x).has_texts() || pair_counts_header(y).has_texts())
    return add_two_of_kind<CountsKind::kTexts>(x, y, in_common, out, options);
  if (pair_counts_header(x).is_joined()) return add_two_of_kind<CountsKind::kJoin>(x, y, in_common, out, options);
  return add_two_of_kind<CountsKind::kIntegers>(x, y, in_common, out, options);
}

void add_two(const std::byte* x, const std::byte* y, GrowingBuffer<std::byte>& out, const ExecutionOptions& options) {
  add_two_of(x, y, InCommon::kNone, out, options);
}

template <CountsKind kKind>
void missing_of_kind(const std::byte* sum, const std::byte* value, GrowingBuffer<std::byte>& out,
                     const ExecutionOptions& options) {
  Poll poll(options.cancel);
  const SumIndexes<kKind> indexes(sum, value, *options.memory);
  const size_t items = pair_counts_header(sum).items;
  Buffer<bool> is_wanted(*options.memory, items);
  std::fill(is_wanted.begin(), is_wanted.end(), true);
  for (const uint32_t index : indexes.of_y) is_wanted[index] = false;
  GrowingBuffer<PairCount> pairs(*options.memory);
  PairCountsItems own(value);
  bool more_own = own.next();
  for (PairCountsItems all(sum); all.next();) {
    const bool is_own = more_own && indexes.of_y[own.index()] == all.index();
    PairCountsRow own_row = is_own ? own.row() : PairCountsRow(0, {});
    bool more_row = own_row.next();
    for (PairCountsRow row = all.row(); row.next();) {
      poll.after(1);
      if (more_row && indexes.of_y[own_row.index()] == row.index()) {
        more_row = own_row.next();
        continue;
      }
      pairs.push_back({all.index(), row.index(), 1});
      is_wanted[all.index()] = is_wanted[row.index()] = true;
    }
    if (is_own) more_own = own.next();
  }
  uint32_t wanted = 0;
  uint32_t left_items = 0;
  Buffer<uint32_t> index_of(*options.memory, items);
  for (PairCountsItems all(sum); all.next();) {
    poll.after(1);
    index_of[all.index()] = wanted;
    if (!is_wanted[all.index()]) continue;
    ++wanted;
    left_items += !all.is_right();
  }
  PairCountsWriter writer = kKind == CountsKind::kJoin ? PairCountsWriter(options, left_items) : PairCountsWriter(options);
  size_t at = 0;
  for (PairCountsItems all(sum); all.next();) {
    if (!is_wanted[all.index()]) continue;
    writer.add_item(all.item(), 1);
    for (; at < pairs.size() && pairs[at].a == all.index(); ++at) writer.add_pair(index_of[pairs[at].b], 1);
  }
  writer.finish(wanted > 0 ? 1 : 0, out);
}

}  // namespace

bool complete_pair_counts(const std::byte* counts, const std::byte* more, GrowingBuffer<std::byte>& out,
                          const ExecutionOptions& options) {
  return add_two_of(counts, more, InCommon::kAll, out, options);
}

void missing_pair_counts(const std::byte* sum, const std::byte* value, GrowingBuffer<std::byte>& out,
                         const ExecutionOptions& options) {
  if (pair_counts_header(sum).is_joined())
    missing_of_kind<CountsKind::kJoin>(sum, value, out, options);
  else
    missing_of_kind<CountsKind::kIntegers>(sum, value, out, options);
}

PairCountsItems::PairCountsItems(const std::byte* value)
    : items_(pair_counts_header(value).items),
      texts_(pair_counts_header(value).has_texts()),
      joined_(pair_counts_header(value).is_joined()),
      at_(value + kPairCountsHeaderBytes) {
  end_ = at_ + pair_counts_header(value).item_bytes;
  row_ = {end_, size_t{0}};
  if (!joined_) return;
  left_items_ = static_cast<uint32_t>(read_varint(at_));
  support_ = pair_counts_header(value).total;
}

bool PairCountsItems::next() {
  if (next_index_ == items_) return false;
  const uint64_t number = read_varint(at_);
  if (texts_) {
    text_ = {reinterpret_cast<const char*>(at_), std::min<uint64_t>(number, static_cast<uint64_t>(end_ - at_))};
    at_ += text_.size();
    item_ = next_index_;
  } else {
    const bool is_first = next_index_ == 0 || (joined_ && next_index_ == left_items_);
    item_ = is_first ? static_cast<uint64_t>(unzigzag(number)) : item_ + number + 1;
  }
  if (!joined_) support_ = read_varint(at_) + 1;
  const uint64_t bytes = read_varint(at_);
  row_ = {row_.data() + row_.size(), bytes};
  ++next_index_;
  return true;
}

void PairCountsWriter::end_item() {
  if (count_ == 0) return;
  if (has_texts_) {
    std::byte* const room = items_.room(text_bytes_at_most(text_.size()));
    items_.add(static_cast<size_t>(put_text(room, text_) - room));
  } else {
    write_varint(items_,
                 is_first_of_kind() ? zigzag(item_) : static_cast<uint64_t>(item_) - static_cast<uint64_t>(before_) - 1);
  }
  if (!left_items_) write_varint(items_, support_ - 1);
  write_varint(items_, rows_.size() - row_begin_);
}

void PairCountsWriter::add_text(std::string_view text, uint64_t support) {
  poll();
  end_item();
  has_texts_ = true;
  text_ = text;
  begin_row(support);
}

void PairCountsWriter::add_item(int64_t item, uint64_t support) {
  if (!texts_.empty()) {
    add_text(texts_[static_cast<size_t>(item)], support);
    return;
  }
  poll();
  end_item();
  before_ = item_;
  item_ = item;
  begin_row(support);
}

void PairCountsWriter::begin_row(uint64_t support) {
  support_ = support;
  row_begin_ = rows_.size();
  index_ = count_++;
}

void PairCountsWriter::add_pair(uint32_t index, uint64_t count) {
  poll();
  write_varint(rows_, index - index_ - 1);
  write_varint(rows_, count - 1);
  index_ = index;
  ++pairs_;
}

void PairCountsWriter::finish(uint64_t total, GrowingBuffer<std::byte>& out) {
  end_item();
  PairCountsHeader header{};
  header.version = left_items_ ? kJoinCountsVersion : has_texts_ ? kTextCountsVersion : kIntegerVersion;
  header.items = count_;
  header.bytes = kPairCountsHeaderBytes + items_.size() + rows_.size();
  header.total = total;
  header.pairs = pairs_;
  header.item_bytes = items_.size();
  std::byte* const value = out.room(header.bytes);
  std::memcpy(value, &header, sizeof header);
  std::copy(items_.begin(), items_.end(), value + kPairCountsHeaderBytes);
  std::copy(rows_.begin(), rows_.end(), value + kPairCountsHeaderBytes + items_.size());
  out.add(header.bytes);
}

void add_pair_counts(std::span<const std::byte* const> values, GrowingBuffer<std::byte>& out,
                     const ExecutionOptions& options) {
  const std::vector<const std::byte*> finished = single_values<PairCountsHeader>(values);
  bool texts = false;
  bool integers = false;
  for (const std::byte* value : finished) {
    const PairCountsHeader header = pair_counts_header(value);
    if (header.items > 0) (header.has_texts() ? texts : integers) = true;
  }
  if (texts && integers) throw Error(ErrorCode::kInvalidParameter, kMixedCounts, kMixedCountsHint);
  add_summed<PairCountsHeader>(finished, out, options, add_two);
}

void pair_counts_append(std::byte* state, const std::byte* other) { append_summed<PairCountsHeader>(state, other); }

namespace {

/// @param key  of the current item, which compares like `item_a` and `item_b`
template <typename Item, typename Key>
uint64_t find_pair_count(const std::byte* value, Item item_a, Item item_b, Key key) {
  if (item_a > item_b) std::swap(item_a, item_b);
  PairCountsItems items(value);
  while (items.next() && key(items) < item_a) {
  }
  if (items.index() == UINT32_MAX || key(items) != item_a) return 0;
  if (item_a == item_b) return items.support();
  PairCountsRow row = items.row();
  while (key(items) < item_b && items.next()) {
  }
  if (key(items) != item_b) return 0;
  while (row.next())
    if (row.index() >= items.index()) return row.index() == items.index() ? row.count() : 0;
  return 0;
}

}  // namespace

uint64_t pair_count(const std::byte* value, int64_t item_a, int64_t item_b) {
  return find_pair_count(value, item_a, item_b, [](const PairCountsItems& items) { return items.item(); });
}

uint64_t pair_count(const std::byte* value, std::string_view item_a, std::string_view item_b) {
  return find_pair_count(value, item_a, item_b, [](const PairCountsItems& items) { return items.text(); });
}

namespace {

bool is_version(uint8_t version, bool joined) {
  return joined ? version == kJoinCountsVersion : version == kIntegerVersion || version == kTextCountsVersion;
}

bool is_counts(std::span<const std::byte> first, size_t size, bool joined) {
  if (first.size() < kPairCountsHeaderBytes || size < first.size()) return false;
  const PairCountsHeader header = pair_counts_header(first.data());
  if (!is_version(header.version, joined)) return false;
  if (header.zero[0] != 0 || header.zero[1] != 0 || header.zero[2] != 0) return false;
  if (header.bytes < kPairCountsHeaderBytes || header.bytes > size || header.behind > size - header.bytes) return false;
  if (header.total > kMaxTotal || header.item_bytes > header.bytes - kPairCountsHeaderBytes) return false;
  if (joined && header.item_bytes == 0) return false;
  return header.items <= header.item_bytes / (joined ? kMinJoinItemBytes : kMinItemBytes);
}

/// Reads the items of untrusted bytes.
class ItemsCheck {
 public:
  ItemsCheck(std::span<const std::byte> bytes, const PairCountsHeader& header)
      : header_(header), items_(bytes.subspan(kPairCountsHeaderBytes, header.item_bytes)) {
    if (!header.is_joined()) return;
    const uint64_t left_items = checked_number(items_);
    if (left_items > header.items) invalid("number of items and their bytes disagree");
    left_items_ = static_cast<uint32_t>(left_items);
  }

  void next(uint32_t index) {
    const uint64_t number = checked_number(items_);
    if (header_.has_texts()) {
      if (number > items_.size()) invalid("a text is cut off");
      const std::string_view next(reinterpret_cast<const char*>(items_.data()), number);
      if (index > 0 && next <= text_) invalid("texts do not ascend");
      text_ = next;
      items_ = items_.subspan(number);
    } else if (index == 0 || (header_.is_joined() && index == left_items_)) {
      item_ = unzigzag(number);
    } else {
      if (number >= static_cast<uint64_t>(INT64_MAX) - static_cast<uint64_t>(item_)) invalid("an item is too large");
      item_ = static_cast<int64_t>(static_cast<uint64_t>(item_) + number + 1);
    }
    const uint64_t support = header_.is_joined() ? header_.total - 1 : checked_number(items_);
    if (support >= header_.total) invalid("an item with more transactions than there are");
    support_ = support + 1;
    row_bytes_ = checked_number(items_);
  }

  uint32_t left_items() const { return left_items_; }
  uint64_t support() const { return support_; }
  uint64_t row_bytes() const { return row_bytes_; }
  bool at_end() const { return items_.empty(); }

 private:
  const PairCountsHeader& header_;
  std::span<const std::byte> items_;
  uint32_t left_items_ = 0;
  int64_t item_ = 0;
  std::string_view text_;
  uint64_t support_ = 0;
  uint64_t row_bytes_ = 0;
};

void validate_counts(std::span<const std::byte> bytes, bool joined, const ExecutionOptions& options) {
  if (bytes.size() < kPairCountsHeaderBytes) invalid("header is cut off");
  const PairCountsHeader header = pair_counts_header(bytes.data());
  if (!is_version(header.version, joined))
    throw Error(ErrorCode::kInvalidData, "invalid pair counts: unknown version " + std::to_string(header.version));
  if (header.zero[0] != 0 || header.zero[1] != 0 || header.zero[2] != 0) invalid("reserved bytes are not zero");
  if (header.behind != 0) invalid("values that are not added");
  if (header.bytes != bytes.size()) invalid("length and header disagree");
  if (header.total > kMaxTotal) invalid("too many transactions");
  if (header.item_bytes > bytes.size() - kPairCountsHeaderBytes) invalid("items and length disagree");
  if (header.items > header.item_bytes / (joined ? kMinJoinItemBytes : kMinItemBytes))
    invalid("number of items and their bytes disagree");
  if (header.has_texts() && header.items == 0) invalid("text items without a text");

  ItemsCheck items(bytes, header);
  uint64_t row_bytes = bytes.size() - kPairCountsHeaderBytes - header.item_bytes;
  Buffer<uint64_t> supports(*options.memory, header.items);
  Buffer<uint64_t> lengths(*options.memory, header.items);
  for (uint32_t index = 0; index < header.items; ++index) {
    if ((index & 0xffff) == 0) options.cancel.throw_if_requested();
    items.next(index);
    supports[index] = items.support();
    lengths[index] = items.row_bytes();
    if (lengths[index] > row_bytes) invalid("rows and length disagree");
    row_bytes -= lengths[index];
    if (joined && (lengths[index] > 0) != (index < items.left_items())) invalid("rows and kinds of items disagree");
  }
  if (!items.at_end()) invalid("number of items and their bytes disagree");
  if (row_bytes != 0) invalid("rows and length disagree");

  uint64_t pairs = 0;
  Buffer<uint8_t> is_partner(*options.memory, joined ? header.items : 0, Fill::kZero);
  const std::byte* at = bytes.data() + kPairCountsHeaderBytes + header.item_bytes;
  for (uint32_t a = 0; a < header.items; ++a) {
    std::span<const std::byte> row(at, lengths[a]);
    for (uint64_t index = a; !row.empty(); ++pairs) {
      if ((pairs & 0xffff) == 0) options.cancel.throw_if_requested();
      const uint64_t distance = checked_number(row);
      if (distance >= header.items - index - 1) invalid("a pair with an item that is not there");
      index += distance + 1;
      if (checked_number(row) >= std::min(supports[a], supports[index]))
        invalid("a pair with more transactions than its items");
      if (!joined) continue;
      if (index < items.left_items()) invalid("a pair of two items of one kind");
      is_partner[index] = 1;
    }
    at += lengths[a];
  }
  if (pairs != header.pairs) invalid("number of pairs and rows disagree");
  for (uint32_t index = items.left_items(); joined && index < header.items; ++index)
    if (is_partner[index] == 0) invalid("an item that is in no pair");
}

}  // namespace

bool is_pair_counts(std::span<const std::byte> first, size_t size) { return is_counts(first, size, false); }
bool is_join_counts(std::span<const std::byte> first, size_t size) { return is_counts(first, size, true); }

void validate_pair_counts(std::span<const std::byte> bytes, const ExecutionOptions& options) {
  validate_counts(bytes, false, options);
}
void validate_join_counts(std::span<const std::byte> bytes, const ExecutionOptions& options) {
  validate_counts(bytes, true, options);
}

}  // namespace batmap
