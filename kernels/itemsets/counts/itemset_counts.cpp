// Reads, writes, adds and checks itemset counts. See itemset_counts.h for the bytes.
#include "itemsets/counts/itemset_counts.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "core/error.h"
#include "itemsets/counts/itemset_sorter.h"

namespace batmap {

namespace {

constexpr uint8_t kVersion = 1;
constexpr uint64_t kMaxTotal = INT64_MAX;
constexpr uint32_t kMaxItems = UINT32_MAX - 1;

constexpr CodesBelow kBelow = CodesBelow::kAscend;
constexpr TreeWords kWords{"itemset counts", "item", "items", "itemset", "itemsets"};

/// @param total  of the sum
/// @return whether no itemset is counted in both
bool add_itemsets(const std::byte* x, const std::byte* y, uint64_t total, GrowingBuffer<std::byte>& out,
                  const ExecutionOptions& options) {
  const Buffer<int64_t> items_of_x = itemset_counts_items(x, options);
  const Buffer<int64_t> items_of_y = itemset_counts_items(y, options);
  const auto check = [](uint64_t items) {
    if (items > kMaxItems)
      throw Error(ErrorCode::kTooLarge, "more than 4294967294 items in itemset counts", "Raise the threshold of the parts.");
  };
  const AscendingUnion items(items_of_x.span(), items_of_y.span(), check, options);
  TreeWriter nodes(kBelow, options);
  const bool disjoint = add_trees(
      itemset_counts_nodes(x), itemset_counts_nodes(y), [&](uint32_t index) { return uint64_t{items.of_x[index]}; },
      [&](uint32_t index) { return uint64_t{items.of_y[index]}; }, nodes);
  finish_itemset_counts(items.numbers, nodes, total, out);
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
  return read_ascending(value + kItemsetCountsHeaderBytes, itemset_counts_header(value).items, options);
}

TreeNodes itemset_counts_nodes(const std::byte* value) {
  const ItemsetCountsHeader header = itemset_counts_header(value);
  return {value + kItemsetCountsHeaderBytes + header.item_bytes, value + header.bytes, kBelow};
}

void finish_itemset_counts(const AscendingWriter& items, TreeWriter& nodes, uint64_t total, GrowingBuffer<std::byte>& out) {
  const GrowingBuffer<std::byte>& of_nodes = nodes.finish();
  ItemsetCountsHeader header{};
  header.version = kVersion;
  header.items = items.count();
  header.bytes = kItemsetCountsHeaderBytes + items.bytes().size() + of_nodes.size();
  header.total = total;
  header.itemsets = nodes.counted();
  header.item_bytes = items.bytes().size();
  std::byte* const value = out.room(header.bytes);
  std::memcpy(value, &header, sizeof header);
  std::byte* const behind_items = std::copy(items.bytes().begin(), items.bytes().end(), value + kItemsetCountsHeaderBytes);
  std::copy(of_nodes.begin(), of_nodes.end(), behind_items);
  out.add(header.bytes);
}

void write_itemsets(const ItemsetSorter& sorter, std::span<const int64_t> items, uint64_t total,
                    GrowingBuffer<std::byte>& out, const ExecutionOptions& options) {
  Buffer<uint32_t> position(*options.memory, items.size(), Fill::kZero);
  sorter.visit([&](uint32_t, uint32_t index, uint64_t, size_t) { position[index] = 1; });
  AscendingWriter used(options);
  for (size_t index = 0; index < items.size(); ++index) {
    if (position[index] == 0) continue;
    position[index] = used.count();
    used.add(items[index]);
  }
  TreeWriter nodes(kBelow, options);
  sorter.visit([&](uint32_t length, uint32_t index, uint64_t count, size_t) { nodes.add(length, position[index], count); });
  finish_itemset_counts(used, nodes, total, out);
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
  const Buffer<uint32_t> position = positions_among(items.span(), itemset_counts_items(value, options).span(), options);
  ItemsetSorter missing(options);  // sorted already
  visit_missing(
      itemset_counts_nodes(sum), itemset_counts_nodes(value), [&](uint32_t index) { return uint64_t{position[index]}; },
      options, [&](std::span<const uint32_t> path, uint64_t count) { missing.add(path, count); });
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
  if (bytes.size() < kItemsetCountsHeaderBytes) kWords.refuse("header is cut off");
  const ItemsetCountsHeader header = itemset_counts_header(bytes.data());
  if (header.version != kVersion) kWords.refuse("unknown version " + std::to_string(header.version));
  if (header.zero[0] != 0 || header.zero[1] != 0 || header.zero[2] != 0) kWords.refuse("reserved bytes are not zero");
  if (header.behind != 0) kWords.refuse("values that are not added");
  if (header.bytes != bytes.size()) kWords.refuse("length and header disagree");
  if (header.total > kMaxTotal) kWords.refuse("too many transactions");
  if (header.item_bytes > bytes.size() - kItemsetCountsHeaderBytes) kWords.refuse("items and length disagree");
  if (header.items > header.item_bytes) kWords.refuse("number of items and their bytes disagree");

  check_ascending(bytes.subspan(kItemsetCountsHeaderBytes, header.item_bytes), header.items, kWords, options);
  check_tree(bytes.subspan(kItemsetCountsHeaderBytes + header.item_bytes), kBelow,
             {.numbers = header.items, .kinds = 1, .counted = header.itemsets}, kWords, options,
             [&](std::span<const uint32_t>, uint64_t count) {
               if (count > header.total) kWords.refuse("an itemset with more transactions than there are");
             });
}

}  // namespace batmap
