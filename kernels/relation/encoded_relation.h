// A relation with both columns as small codes, read block by block: the input of every form that is counted.
//
// The constructor passes over the rows once. It marks the tids that occur and counts the rows of every item.
// If the keys of a column span a narrow range, their codes are distances from the smallest key: nothing is
// kept, each read decodes the block again (cheaper than memory), and several threads share the pass. Other
// keys are hashed and their codes kept, 4 bytes a row and column. One thread hashes a column, because codes
// are given by first appearance: so tids that arrived one after the other have neighbouring codes. Duplicate
// rows stay in. Source: ours.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/options.h"
#include "relation/chunk.h"
#include "relation/item_numbers.h"
#include "relation/key_codes.h"

namespace batmap {

/// The smallest and the largest of some tid codes.
struct TidSpan {
  uint32_t first;
  uint32_t last;
};

class EncodedRelation {
 public:
  /// @param chunks     must outlive the object
  /// @param item_rank  if not empty: items are 0 .. size - 1, and item `i` stands for item_rank[i] (a permutation)
  /// @throws Error{kTooLarge, kMemoryLimit, kCancelled}, std::bad_alloc
  EncodedRelation(std::vector<ChunkView> chunks, std::span<const uint32_t> item_rank, const ExecutionOptions& options);

  uint64_t rows() const { return rows_; }
  uint64_t transactions() const { return transactions_; }  // distinct tids
  uint32_t tid_slots() const { return tid_slots_; }        // tid codes lie in [0, tid_slots)
  uint32_t item_codes() const { return static_cast<uint32_t>(item_rows_.size()); }
  uint32_t items() const { return items_; }  // distinct items
  uint64_t most_item_rows() const { return most_item_rows_; }
  /// Rows of an item, duplicates included, so at least its support. 0: the code is unused.
  uint64_t item_rows(ItemCode code) const { return item_rows_[index_of(code)]; }
  int64_t item_value(ItemCode code) const {
    const int64_t key = items_coded_->key(index_of(code));
    return item_rank_.empty() ? key : item_rank_[static_cast<size_t>(key)];
  }
  static constexpr ItemCode kNoItem{KeyCodes::kNone};
  /// The code of an item value, or kNoItem. @note not for relations with item_rank
  ItemCode item_code(int64_t value) const { return rows_ == 0 ? kNoItem : ItemCode{items_coded_->find(value)}; }

  size_t blocks() const { return chunks_.size(); }
  uint32_t block_rows(size_t block) const { return chunks_[block].rows; }
  /// A span that contains all tid codes of a block.
  TidSpan tid_span(size_t block) const { return tid_spans_[block]; }
  /// Decodes one block.
  /// @param tids, items  [4,096], overwritten with codes
  /// @return rows of the block
  /// @note thread-safe
  uint32_t decode(size_t block, uint32_t* tids, uint32_t* items) const;
  /// The same for one column.
  uint32_t decode_tids(size_t block, uint32_t* tids) const;

 private:
  uint32_t tid_rank(uint32_t code) const;
  void scan(const ExecutionOptions& options);
  size_t count_shares(const ExecutionOptions& options) const;
  void hash_tids(const ExecutionOptions& options);
  void hash_items(const ExecutionOptions& options);
  void mark_tids(size_t first, size_t last, Buffer<uint64_t>& present, const ExecutionOptions& options) const;
  void count_items(size_t first, size_t last, Buffer<uint64_t>& rows, const ExecutionOptions& options) const;
  void rank_tids(MemoryMeter& meter);
  void find_tid_spans();

  std::vector<ChunkView> chunks_;
  std::vector<size_t> first_row_;   // [chunks] rows before each
  std::vector<TidSpan> tid_spans_;  // [chunks]
  std::span<const uint32_t> item_rank_;
  uint64_t rows_ = 0;
  uint64_t transactions_ = 0;
  uint32_t tid_slots_ = 0;
  uint32_t items_ = 0;
  uint64_t most_item_rows_ = 0;
  std::optional<KeyCodes> tids_coded_;
  std::optional<KeyCodes> items_coded_;
  Buffer<uint64_t> item_rows_;    // [item codes]
  Buffer<uint64_t> tid_present_;  // one bit per direct tid code: it occurs
  // [words of tid_present_] rank of each word's first bit; empty: codes are used as they are
  Buffer<uint32_t> tid_ranks_;
  Buffer<uint32_t> kept_tids_;   // [rows] codes, where tids are hashed
  Buffer<uint32_t> kept_items_;  // [rows] codes, where items are hashed
};

}  // namespace batmap
