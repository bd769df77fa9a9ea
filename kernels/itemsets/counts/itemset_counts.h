// Counts of itemsets in one block of bytes: the value of the SQL type batmap_itemset_counts. It has a tree of itemsets,
// each with the number of transactions that hold it, and the number of all transactions. Counts of disjoint sets of
// transactions add up, itemset by itemset.
//
//   offset  0  uint8   version     1: items are integers
//           1  uint8   zero x 3
//           4  uint32  items
//           8  uint64  bytes       of this value, header included
//          16  uint64  behind      bytes of values that follow and are not added yet; 0 in a finished value
//          24  uint64  total       transactions; at most 2^63 - 1
//          32  uint64  itemsets    each with at least 1 transaction
//          40  uint64  item_bytes  bytes of the items
//          48  items, ascending: the first as zigzag, the others as the distance from the one before, less 1
//              nodes, each before those below it. A node is an itemset: the items on its path, in ascending order. Each
//              has: the distance of the position of its last item from that of the node before it below the same node (at
//              first, from that of the node above, or from -1); then twice its count, plus 1 if there are nodes below it.
//              A 0 ends the nodes below a node. A node with a count of 0 is no itemset, but only a path to others.
//
// Integers in items and nodes are varints, as short as possible. A position is the rank of an item among those of the
// value. Each item is in an itemset, and below each node without a count there is one with a count, so equal counts have
// equal bytes. Mostly an itemset takes 2 to 4 bytes, however long it is. None is longer than 65,535 items.
//
// The state of an aggregate is a finished value, then other values behind it, then room, as in pair_counts.h.
// Source: the tree is the one that candidates have since Agrawal, Srikant (1994); the bytes are ours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "core/memory.h"
#include "core/options.h"
#include "core/summed_values.h"

namespace batmap {

inline constexpr size_t kItemsetCountsHeaderBytes = 48;
inline constexpr size_t kMaxItemsetLength = 65535;

struct ItemsetCountsHeader {
  uint8_t version;
  uint8_t zero[3];
  uint32_t items;
  uint64_t bytes;
  uint64_t behind;
  uint64_t total;
  uint64_t itemsets;
  uint64_t item_bytes;

  /// Bytes of all values, without the room.
  size_t used() const { return bytes + behind; }
};
static_assert(sizeof(ItemsetCountsHeader) == kItemsetCountsHeaderBytes);

inline ItemsetCountsHeader itemset_counts_header(const std::byte* bytes) { return header_of<ItemsetCountsHeader>(bytes); }

/// The items of a finished value, ascending. @throws Error{kMemoryLimit, kCancelled}
Buffer<int64_t> itemset_counts_items(const std::byte* value, const ExecutionOptions& options);

/// Iterates over the nodes of a finished value, each before those below it. Memory: 4 bytes for each item of the longest itemset.
class ItemsetCountsNodes {
 public:
  explicit ItemsetCountsNodes(const std::byte* value);

  /// @return false after the last node
  bool next();
  uint32_t length() const { return static_cast<uint32_t>(path_.size()); }  // of the itemset
  uint32_t index() const { return path_.back(); }                          // position of its last item
  std::span<const uint32_t> path() const { return path_; }                 // positions of all its items
  uint64_t count() const { return count_; }                                // 0: only a path

 private:
  const std::byte* at_;
  const std::byte* end_;
  std::vector<uint32_t> path_;
  uint64_t count_ = 0;
  bool has_below_ = true;
};

/// Writes a finished value. First all its items, which must ascend and be in an itemset each; then its nodes, in order.
class ItemsetCountsWriter {
 public:
  explicit ItemsetCountsWriter(const ExecutionOptions& options)
      : cancel_(options.cancel), items_(*options.memory), nodes_(*options.memory) {}

  /// All: @throws Error{kMemoryLimit, kCancelled}
  void add_item(int64_t item);
  /// @param length  of the itemset: that of the node before and 1, or less
  /// @param index   position of its last item @param count  0: only a path
  void add_node(uint32_t length, uint32_t index, uint64_t count);
  /// Appends the value to `out`. The writer must not be used afterwards. @param total  at least every count
  void finish(uint64_t total, GrowingBuffer<std::byte>& out);

 private:
  void end_node(uint32_t next_length);

  CancelToken cancel_;
  GrowingBuffer<std::byte> items_;
  GrowingBuffer<std::byte> nodes_;
  uint32_t item_count_ = 0;
  int64_t item_ = 0;
  uint64_t itemsets_ = 0;
  std::vector<uint32_t> path_;  // positions, of the last node
  uint64_t count_ = 0;          // of the last node, which is not written in full yet
  uint32_t calls_ = 0;
};

class ItemsetSorter;

/// Appends sorted itemsets as a finished value, and leaves out the items that they do not have.
/// @param sorter  of positions among the items, in order @param items  ascending
/// @throws Error{kMemoryLimit, kCancelled}
void write_itemsets(const ItemsetSorter& sorter, std::span<const int64_t> items, uint64_t total,
                    GrowingBuffer<std::byte>& out, const ExecutionOptions& options);

/// Appends the sum of one or more values or states to `out`, as a finished value: the itemsets of all of them.
/// @throws Error{kTooLarge} if the total exceeds 2^63 - 1; Error{kMemoryLimit, kCancelled}
void add_itemset_counts(std::span<const std::byte* const> values, GrowingBuffer<std::byte>& out,
                        const ExecutionOptions& options);

/// Appends the counts of two finished values of the same transactions, as a finished value with the total of the first.
/// @return whether no itemset is counted in both; if one is, its count may exceed the total, and the value is invalid
/// @throws Error{kMemoryLimit, kCancelled}
bool complete_itemset_counts(const std::byte* counts, const std::byte* more, GrowingBuffer<std::byte>& out,
                             const ExecutionOptions& options);

/// Appends the itemsets of a sum that one of its values does not have, with the counts and the total of the sum, as a finished
/// value. All are finished. Memory: 4 bytes for each item of each of these itemsets, and 24 an itemset.
/// @param value  one of those that were added up @throws Error{kTooLarge, kMemoryLimit, kCancelled}
void missing_itemset_counts(const std::byte* sum, const std::byte* value, GrowingBuffer<std::byte>& out,
                            const ExecutionOptions& options);

/// Copies `other`, a value or a state, behind a state, which must have room for used() bytes of it.
void itemset_counts_append(std::byte* state, const std::byte* other);

/// Whether a header is consistent with itself and with the size, room included. Constant time.
/// @param first  at least the header
/// @param size   of the whole value
bool is_itemset_counts(std::span<const std::byte> first, size_t size);

/// Checks untrusted bytes in full. Memory: 1 byte an item, and 4 for each item of the longest itemset.
/// @throws Error{kInvalidData} unless they are a finished value; Error{kMemoryLimit, kCancelled}
void validate_itemset_counts(std::span<const std::byte> bytes, const ExecutionOptions& options);

}  // namespace batmap
