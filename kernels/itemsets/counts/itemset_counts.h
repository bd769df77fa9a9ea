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
//          48  items, ascending; then the tree of the itemsets (core/counted_tree.h). A code is the position of an item
//              among those of the value, and codes ascend along a path. Counts are transactions
//
// Mostly an itemset takes 2 to 4 bytes, however long it is. None is longer than 65,535 items.
//
// The state of an aggregate is a finished value, then other values behind it, then room, as in pair_counts.h.
// Source: ours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/counted_tree.h"
#include "core/memory.h"
#include "core/options.h"
#include "core/summed_values.h"

namespace batmap {

inline constexpr size_t kItemsetCountsHeaderBytes = 48;

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

/// The tree of a finished value. Codes are positions among its items.
TreeNodes itemset_counts_nodes(const std::byte* value);

/// Appends a finished value. @param items  all items; each is in an itemset @param nodes  a tree whose codes ascend; nothing is
/// added to it then @param total  at least every count @throws Error{kMemoryLimit, kCancelled}
void finish_itemset_counts(const AscendingWriter& items, TreeWriter& nodes, uint64_t total, GrowingBuffer<std::byte>& out);

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
