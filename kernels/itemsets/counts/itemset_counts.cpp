// Reads, writes, adds and checks itemset counts. See itemset_counts.h for the bytes.
#include "itemsets/counts/itemset_counts.h"

#include <algorithm>
#include <string>

#include "core/error.h"
#include "core/poll.h"
#include "core/polled.h"
#include "core/varint.h"
#include "itemsets/counts/itemset_sorter.h"

namespace batmap {

namespace {

constexpr uint8_t kVersion = 1;
constexpr uint64_t kMaxTotal = INT64_MAX;
constexpr uint32_t kMaxItems = UINT32_MAX - 1;

[[noreturn]] void invalid(const char* what) {
  throw Error(ErrorCode::kInvalidData, std::string("invalid itemset counts: ") + what);
}

/// The position in the sum of each item of two values, and the items of the sum.
struct SumItems {
  SumItems(const std::byte* x, const std::byte* y, ItemsetCountsWriter& writer, const ExecutionOptions& options)
      : of_x(*options.memory, itemset_counts_header(x).items), of_y(*options.memory, itemset_counts_header(y).items) {
    const Buffer<int64_t> a = itemset_counts_items(x, options);
    const Buffer<int64_t> b = itemset_counts_items(y, options);
    size_t at_a = 0;
    size_t at_b = 0;
    uint64_t index = 0;
    for (; at_a < a.size() || at_b < b.size(); ++index) {
      const bool take_a = at_a < a.size() && (at_b == b.size() || a[at_a] <= b[at_b]);
      const bool take_b = at_b < b.size() && (at_a == a.size() || b[at_b] <= a[at_a]);
      if (index == kMaxItems)
        throw Error(ErrorCode::kTooLarge, "more than 4294967294 items in itemset counts",
                    "Raise the threshold of the parts.");
      writer.add_item(take_a ? a[at_a] : b[at_b]);
      if (take_a) of_x[at_a++] = static_cast<uint32_t>(index);
      if (take_b) of_y[at_b++] = static_cast<uint32_t>(index);
    }
  }

  Buffer<uint32_t> of_x;
  Buffer<uint32_t> of_y;
};

/// @param total  of the sum
/// @return whether no itemset is counted in both
bool add_itemsets(const std::byte* x, const std::byte* y, uint64_t total, GrowingBuffer<std::byte>& out,
                  const ExecutionOptions& options) {
  ItemsetCountsWriter writer(options);
  const SumItems items(x, y, writer, options);
  ItemsetCountsNodes a(x);
  ItemsetCountsNodes b(y);
  bool more_a = a.next();
  bool more_b = b.next();
  bool disjoint = true;
  while (more_a || more_b) {
    // Both walks have the path above the shorter of the two nodes in common. So a longer one lies below a node that the
    // other walk has passed, and comes first.
    const uint32_t length_a = more_a ? a.length() : 0;
    const uint32_t length_b = more_b ? b.length() : 0;
    const uint64_t index_a = more_a ? items.of_x[a.index()] : UINT64_MAX;
    const uint64_t index_b = more_b ? items.of_y[b.index()] : UINT64_MAX;
    const bool take_a = length_a > length_b || (length_a == length_b && index_a <= index_b);
    const bool take_b = length_b > length_a || (length_a == length_b && index_b <= index_a);
    writer.add_node(std::max(length_a, length_b), static_cast<uint32_t>(take_a ? index_a : index_b),
                    (take_a ? a.count() : 0) + (take_b ? b.count() : 0));
    disjoint = disjoint && !(take_a && take_b && a.count() > 0 && b.count() > 0);
    if (take_a) more_a = a.next();
    if (take_b) more_b = b.next();
  }
  writer.finish(total, out);
  return disjoint;
}

void add_two(const std::byte* x, const std::byte* y, GrowingBuffer<std::byte>& out, const ExecutionOptions& options) {
  const uint64_t total = itemset_counts_header(x).total + itemset_counts_header(y).total;
  if (total > kMaxTotal)
    throw Error(ErrorCode::kTooLarge, "itemset counts of more than " + std::to_string(kMaxTotal) + " transactions");
  add_itemsets(x, y, total, out, options);
}

}  // namespace

Buffer<int64_t> itemset_counts_items(const std::byte* value, const ExecutionOptions& options) {
  Buffer<int64_t> items(*options.memory, itemset_counts_header(value).items);
  const std::byte* at = value + kItemsetCountsHeaderBytes;
  in_parts(items.size(), options.cancel, [&](size_t begin, size_t end) {
    for (size_t index = begin; index < end; ++index) {
      const uint64_t number = read_varint(at);
      items[index] =
          index == 0 ? unzigzag(number) : static_cast<int64_t>(static_cast<uint64_t>(items[index - 1]) + number + 1);
    }
  });
  return items;
}

ItemsetCountsNodes::ItemsetCountsNodes(const std::byte* value)
    : at_(value + kItemsetCountsHeaderBytes + itemset_counts_header(value).item_bytes),
      end_(value + itemset_counts_header(value).bytes) {}

bool ItemsetCountsNodes::next() {
  uint32_t before;
  if (has_below_) {
    if (at_ == end_) return false;
    before = path_.empty() ? UINT32_MAX : path_.back();
    path_.push_back(0);
  } else {
    while (path_.size() > 1 && *at_ == std::byte{0}) {
      ++at_;
      path_.pop_back();
    }
    if (at_ == end_) return false;
    before = path_.back();
  }
  path_.back() = before + static_cast<uint32_t>(read_varint(at_));
  const uint64_t number = read_varint(at_);
  count_ = number >> 1;
  has_below_ = (number & 1) != 0;
  return true;
}

void ItemsetCountsWriter::add_item(int64_t item) {
  if ((++calls_ & 0xffff) == 0) cancel_.throw_if_requested();
  write_varint(items_, item_count_ == 0 ? zigzag(item) : static_cast<uint64_t>(item) - static_cast<uint64_t>(item_) - 1);
  item_ = item;
  ++item_count_;
}

/// Writes the count of the last node, and the ends of what lies between it and the next.
void ItemsetCountsWriter::end_node(uint32_t next_length) {
  if (path_.empty()) return;
  write_varint(nodes_, count_ << 1 | (next_length > path_.size() ? 1 : 0));
  for (size_t length = path_.size(); length > std::max<size_t>(next_length, 1); --length) nodes_.push_back(std::byte{0});
}

void ItemsetCountsWriter::add_node(uint32_t length, uint32_t index, uint64_t count) {
  if ((++calls_ & 0xffff) == 0) cancel_.throw_if_requested();
  end_node(length);
  const bool is_first = length > path_.size();
  const uint32_t before = is_first ? (path_.empty() ? UINT32_MAX : path_.back()) : path_[length - 1];
  path_.resize(length);
  path_.back() = index;
  write_varint(nodes_, index - before);
  count_ = count;
  itemsets_ += count > 0;
}

void ItemsetCountsWriter::finish(uint64_t total, GrowingBuffer<std::byte>& out) {
  end_node(0);
  ItemsetCountsHeader header{};
  header.version = kVersion;
  header.items = item_count_;
  header.bytes = kItemsetCountsHeaderBytes + items_.size() + nodes_.size();
  header.total = total;
  header.itemsets = itemsets_;
  header.item_bytes = items_.size();
  std::byte* const value = out.room(header.bytes);
  std::memcpy(value, &header, sizeof header);
  std::copy(items_.begin(), items_.end(), value + kItemsetCountsHeaderBytes);
  std::copy(nodes_.begin(), nodes_.end(), value + kItemsetCountsHeaderBytes + items_.size());
  out.add(header.bytes);
}

void write_itemsets(const ItemsetSorter& sorter, std::span<const int64_t> items, uint64_t total,
                    GrowingBuffer<std::byte>& out, const ExecutionOptions& options) {
  ItemsetCountsWriter writer(options);
  Buffer<uint32_t> position(*options.memory, items.size(), Fill::kZero);
  sorter.visit([&](uint32_t, uint32_t index, uint64_t, size_t) { position[index] = 1; });
  uint32_t used = 0;
  for (uint32_t index = 0; index < items.size(); ++index) {
    if (position[index] == 0) continue;
    writer.add_item(items[index]);
    position[index] = used++;
  }
  sorter.visit(
      [&](uint32_t length, uint32_t index, uint64_t count, size_t) { writer.add_node(length, position[index], count); });
  writer.finish(total, out);
}

void add_itemset_counts(std::span<const std::byte* const> values, GrowingBuffer<std::byte>& out,
                        const ExecutionOptions& options) {
  add_summed<ItemsetCountsHeader>(single_values<ItemsetCountsHeader>(values), out, options, add_two);
}

bool complete_itemset_counts(const std::byte* counts, const std::byte* more, GrowingBuffer<std::byte>& out,
                             const ExecutionOptions& options) {
  return add_itemsets(counts, more, itemset_counts_header(counts).total, out, options);
}

void missing_itemset_counts(const std::byte* sum, const std::byte* value, GrowingBuffer<std::byte>& out,
                            const ExecutionOptions& options) {
  const Buffer<int64_t> items = itemset_counts_items(sum, options);
  const Buffer<int64_t> own_items = itemset_counts_items(value, options);
  Buffer<uint32_t> position(*options.memory, own_items.size());  // of an item of the value among those of the sum
  in_parts(own_items.size(), options.cancel, [&](size_t begin, size_t end) {
    for (size_t index = begin; index < end; ++index)
      position[index] =
          static_cast<uint32_t>(std::lower_bound(items.begin(), items.end(), own_items[index]) - items.begin());
  });
  // The nodes of the value come in the same order among those of the sum. Up to the next of them, all nodes of the sum lie below
  // the one above it; so its length and its last item are enough to know it.
  ItemsetCountsNodes own(value);
  bool more_own = own.next();
  ItemsetSorter missing(options);  // sorted already
  Poll poll(options.cancel);
  for (ItemsetCountsNodes nodes(sum); nodes.next();) {
    poll.after(8);
    const bool is_own = more_own && own.length() == nodes.length() && position[own.index()] == nodes.index();
    if (nodes.count() > 0 && (!is_own || own.count() == 0)) missing.add(nodes.path(), nodes.count());
    if (is_own) more_own = own.next();
  }
  write_itemsets(missing, items.span(), itemset_counts_header(sum).total, out, options);
}

void itemset_counts_append(std::byte* state, const std::byte* other) { append_summed<ItemsetCountsHeader>(state, other); }

bool is_itemset_counts(std::span<const std::byte> first, size_t size) {
  if (first.size() < kItemsetCountsHeaderBytes || size < first.size()) return false;
  const ItemsetCountsHeader header = itemset_counts_header(first.data());
  if (header.version != kVersion || header.zero[0] != 0 || header.zero[1] != 0 || header.zero[2] != 0) return false;
  if (header.bytes < kItemsetCountsHeaderBytes || header.bytes > size || header.behind > size - header.bytes) return false;
  if (header.total > kMaxTotal || header.item_bytes > header.bytes - kItemsetCountsHeaderBytes) return false;
  return header.items <= header.item_bytes && header.itemsets <= header.bytes;
}

void validate_itemset_counts(std::span<const std::byte> bytes, const ExecutionOptions& options) {
  if (bytes.size() < kItemsetCountsHeaderBytes) invalid("header is cut off");
  const ItemsetCountsHeader header = itemset_counts_header(bytes.data());
  if (header.version != kVersion)
    throw Error(ErrorCode::kInvalidData, "invalid itemset counts: unknown version " + std::to_string(header.version));
  if (header.zero[0] != 0 || header.zero[1] != 0 || header.zero[2] != 0) invalid("reserved bytes are not zero");
  if (header.behind != 0) invalid("values that are not added");
  if (header.bytes != bytes.size()) invalid("length and header disagree");
  if (header.total > kMaxTotal) invalid("too many transactions");
  if (header.item_bytes > bytes.size() - kItemsetCountsHeaderBytes) invalid("items and length disagree");
  if (header.items > header.item_bytes) invalid("number of items and their bytes disagree");

  Poll poll(options.cancel);
  const auto varint = [](std::span<const std::byte>& from) {
    return checked_varint(from, [](const char* what) { invalid(what); });
  };
  std::span<const std::byte> items = bytes.subspan(kItemsetCountsHeaderBytes, header.item_bytes);
  int64_t item = 0;
  for (uint32_t index = 0; index < header.items; ++index) {
    poll.after(8);
    const uint64_t number = varint(items);
    if (index == 0) {
      item = unzigzag(number);
    } else {
      if (number >= static_cast<uint64_t>(INT64_MAX) - static_cast<uint64_t>(item)) invalid("an item is too large");
      item = static_cast<int64_t>(static_cast<uint64_t>(item) + number + 1);
    }
  }
  if (!items.empty()) invalid("number of items and their bytes disagree");

  std::span<const std::byte> nodes = bytes.subspan(kItemsetCountsHeaderBytes + header.item_bytes);
  Buffer<bool> is_used(*options.memory, header.items, Fill::kZero);
  uint32_t used = 0;
  uint64_t itemsets = 0;
  GrowingBuffer<uint32_t> path(*options.memory);
  bool has_below = true;  // whether nodes below the last node must follow
  while (!nodes.empty()) {
    poll.after(8);
    const uint64_t distance = varint(nodes);
    if (distance == 0) {
      if (has_below || path.size() < 2) invalid("an end without nodes");
      path.shrink(path.size() - 1);
      continue;
    }
    const uint64_t before = path.empty() ? UINT64_MAX : path.end()[-1];
    if (distance > uint64_t{header.items} - 1 - before) invalid("an itemset with an item that is not there");
    if (has_below) path.push_back(0);
    if (path.size() > kMaxItemsetLength) invalid("an itemset of more than 65535 items");
    const auto index = static_cast<uint32_t>(before + distance);
    path.end()[-1] = index;
    if (!is_used[index]) ++used;
    is_used[index] = true;
    const uint64_t number = varint(nodes);
    if (number >> 1 > header.total) invalid("an itemset with more transactions than there are");
    has_below = (number & 1) != 0;
    itemsets += number >> 1 != 0;
    if (number == 0) invalid("a path to nowhere");
  }
  if ((!path.empty() && has_below) || path.size() > 1) invalid("the nodes are cut off");
  if (itemsets != header.itemsets) invalid("number of itemsets and nodes disagree");
  if (used != header.items) invalid("an item that is in no itemset");
}

}  // namespace batmap
