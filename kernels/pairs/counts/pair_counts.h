// Counts of pairs of items in one block of bytes: the value of the SQL types batmap_pair_counts and batmap_join_counts. Pair
// counts have, for every pair of items that occurs, the number of transactions with both; for every item the number of
// transactions with it; and the number of all transactions. Counts of disjoint sets of transactions add up,
// so values may be added if no transaction is in two.
//
// Join counts are those of a join of two tables R(a, b) and S(b, c): the transactions are the b that occur in both, and each
// pair has an a and a c. The items are the a, then the c. They have no support, and each is in a pair.
//
//   offset  0  uint8   version     1: items are integers; 2: items are texts; 3: join counts, whose items are integers
//           1  uint8   zero x 3
//           4  uint32  items
//           8  uint64  bytes       of this value, header included
//          16  uint64  behind      bytes of values that follow and are not added yet; 0 in a finished value
//          24  uint64  total       transactions; at most 2^63 - 1
//          32  uint64  pairs       number of pairs, each with at least 1 transaction
//          40  uint64  item_bytes  bytes of the items
//          48  of join counts: the number of the a, which belongs to the bytes of the items
//              items, ascending (of join counts: the a, then the c). Each: the item (the first as zigzag, the others as the
//              distance from the one before, less 1; or a text, as its length and its bytes), its support less 1 (not in
//              join counts), the bytes of its row
//              rows, one for each item a. For each b > a that occurs with it, ascending: the distance of the position of b
//              from the one before (at first, from that of a) less 1, and the count less 1
//
// Integers in items and rows are varints: 7 bits a byte, low bits first, the high bit set in all bytes but
// the last. They are as short as possible, so equal counts have equal bytes. A position is the rank of an
// item among those of the value; so a pair takes 2 to 4 bytes even if item numbers are large. count <=
// support <= total always holds, so nothing overflows if total does not. Texts are compared by their bytes. A value
// without items is of version 1.
//
// The state of an aggregate is a finished value, then other values behind it, then room. Adding n bytes of
// values costs O(n log n) time.
// Source: ours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "core/memory.h"
#include "core/options.h"
#include "core/summed_values.h"
#include "core/varint.h"

namespace batmap {

inline constexpr size_t kPairCountsHeaderBytes = 48;
inline constexpr uint8_t kTextCountsVersion = 2;
inline constexpr uint8_t kJoinCountsVersion = 3;

struct PairCountsHeader {
  uint8_t version;
  uint8_t zero[3];
  uint32_t items;
  uint64_t bytes;
  uint64_t behind;
  uint64_t total;
  uint64_t pairs;
  uint64_t item_bytes;

  /// Bytes of all values, without the room.
  size_t used() const { return bytes + behind; }
  bool has_texts() const { return version == kTextCountsVersion; }
  bool is_joined() const { return version == kJoinCountsVersion; }
};
static_assert(sizeof(PairCountsHeader) == kPairCountsHeaderBytes);

inline PairCountsHeader pair_counts_header(const std::byte* bytes) { return header_of<PairCountsHeader>(bytes); }

/// Iterates over one row: the partners of an item.
class PairCountsRow {
 public:
  PairCountsRow(uint32_t index, std::span<const std::byte> bytes)
      : at_(bytes.data()), end_(bytes.data() + bytes.size()), index_(index) {}

  /// @return false after the last partner
  bool next() {
    if (at_ == end_) return false;
    index_ += static_cast<uint32_t>(read_varint(at_)) + 1;
    count_ = read_varint(at_) + 1;
    return true;
  }
  uint32_t index() const { return index_; }  // of the partner
  uint64_t count() const { return count_; }

 private:
  const std::byte* at_;
  const std::byte* end_;
  uint32_t index_;
  uint64_t count_ = 0;
};

/// Iterates over the items of a finished value.
class PairCountsItems {
 public:
  explicit PairCountsItems(const std::byte* value);

  /// @return false after the last item
  bool next();
  uint32_t index() const { return next_index_ - 1; }
  /// Where items are texts: the position.
  int64_t item() const { return static_cast<int64_t>(item_); }
  /// Points into the value. Empty where items are integers.
  std::string_view text() const { return text_; }
  /// Of join counts, whose items have none: the total, which bounds it.
  uint64_t support() const { return support_; }
  /// Of join counts: whether the item is a c. Then its row is empty.
  bool is_right() const { return joined_ && index() >= left_items_; }
  std::span<const std::byte> row_bytes() const { return row_; }
  PairCountsRow row() const { return {index(), row_}; }

 private:
  uint32_t items_;
  bool texts_;
  bool joined_;
  uint32_t left_items_ = 0;  // of join counts
  uint32_t next_index_ = 0;
  std::string_view text_;
  uint64_t item_ = 0;
  uint64_t support_ = 0;
  const std::byte* at_;
  const std::byte* end_;  // of the items
  std::span<const std::byte> row_;
};

/// Writes a finished value from its items and pairs, which must come in order.
class PairCountsWriter {
 public:
  /// @param texts  what the items are numbers of; empty: they are integers
  explicit PairCountsWriter(const ExecutionOptions& options, std::span<const std::string_view> texts = {})
      : cancel_(options.cancel), texts_(texts), items_(*options.memory), rows_(*options.memory) {}
  /// Of join counts. @param left_items  so many items, the first ones, are an a
  PairCountsWriter(const ExecutionOptions& options, uint32_t left_items) : PairCountsWriter(options) {
    left_items_ = left_items;
    write_varint(items_, left_items);
  }

  /// Adds the next item, which must be larger than all before. Of join counts: of its kind; the support is not written.
  /// @throws Error{kTooLarge, kMemoryLimit, kCancelled}
  void add_item(int64_t item, uint64_t support);
  /// The same for a text, which must live until the next item is added. All items must be texts, or none.
  void add_text(std::string_view text, uint64_t support);
  /// Adds the next partner of that item.
  /// @param index  of the partner; larger than the item's and those of earlier partners
  void add_pair(uint32_t index, uint64_t count);
  /// Appends the value to `out`. The writer must not be used afterwards. @param total  at least every support
  void finish(uint64_t total, GrowingBuffer<std::byte>& out);

 private:
  void end_item();
  bool is_first_of_kind() const { return count_ == 1 || (left_items_ && count_ == *left_items_ + 1); }
  void begin_row(uint64_t support);
  void poll() {
    if ((++calls_ & 0xffff) == 0) cancel_.throw_if_requested();
  }

  CancelToken cancel_;
  std::span<const std::string_view> texts_;
  std::optional<uint32_t> left_items_;  // of join counts
  GrowingBuffer<std::byte> items_;
  GrowingBuffer<std::byte> rows_;
  uint32_t count_ = 0;  // items so far
  uint64_t pairs_ = 0;
  int64_t item_ = 0;       // the current item
  int64_t before_ = 0;     // the item before it
  std::string_view text_;  // the current item, if has_texts_
  bool has_texts_ = false;
  uint64_t support_ = 0;  // of the current item
  size_t row_begin_ = 0;
  uint32_t index_ = 0;  // of the current item, then of its last partner
  uint32_t calls_ = 0;
};

inline constexpr const char* kMixedCounts = "pair counts of integer items and of text items have no sum";
inline constexpr const char* kMixedCountsHint = "Cast the integers to text: batmap_pair_counts_agg(tid, item::text).";

/// Appends the sum of one or more values or states, all of them pair counts or all join counts, to `out`, as a finished value.
/// @throws Error{kInvalidParameter} if there are items of both kinds; Error{kTooLarge} if the total exceeds 2^63 - 1;
/// Error{kMemoryLimit, kCancelled}
void add_pair_counts(std::span<const std::byte* const> values, GrowingBuffer<std::byte>& out,
                     const ExecutionOptions& options);

/// Appends what a part has not counted yet: the pairs and items of a sum that its value lacks, and the items of these pairs. Each has
/// the count 1, as these are candidates.
/// @param sum  finished; has all items and pairs of `value`, which is finished, and integers as items
void missing_pair_counts(const std::byte* sum, const std::byte* value, GrowingBuffer<std::byte>& out,
                         const ExecutionOptions& options);

/// Appends the counts of a part and more counts of the same transactions, of other pairs.
/// @return false, and nothing is appended: they are of other transactions, because a total or the support of an item differs, or
/// have a pair in common
bool complete_pair_counts(const std::byte* counts, const std::byte* more, GrowingBuffer<std::byte>& out,
                          const ExecutionOptions& options);

/// Copies `other`, a value or a state, behind a state, which must have room for used() bytes of it.
void pair_counts_append(std::byte* state, const std::byte* other);

/// The number of transactions of a finished value with both items, given in any order. Both equal: the
/// support of the item. 0 if there are none.
uint64_t pair_count(const std::byte* value, int64_t item_a, int64_t item_b);
/// The same for items that are texts.
uint64_t pair_count(const std::byte* value, std::string_view item_a, std::string_view item_b);

/// Whether the header of pair counts is consistent with itself and with the size, room included. Constant time.
/// @param first  at least the header
/// @param size   of the whole value
bool is_pair_counts(std::span<const std::byte> first, size_t size);
/// The same of join counts.
bool is_join_counts(std::span<const std::byte> first, size_t size);

/// Checks untrusted bytes in full.
/// @throws Error{kInvalidData} unless they are finished pair counts; Error{kCancelled}
void validate_pair_counts(std::span<const std::byte> bytes, const ExecutionOptions& options);
/// The same of join counts.
void validate_join_counts(std::span<const std::byte> bytes, const ExecutionOptions& options);

}  // namespace batmap
