// A set in compact form, read in place: its blocks, membership, and all elements in ascending order. Cost: opening
// reads the directory of up to 191 blocks; nothing is allocated. Source: compact_format.h.
#pragma once

#include <bit>
#include <cassert>
#include <span>

#include "compact/compact_format.h"
#include "core/options.h"

namespace batmap {

/// First and last element of a run, without the key.
struct BlockRun {
  uint32_t first;
  uint32_t last;
};

/// The elements of one key. Never owns.
struct CompactBlock {
  uint64_t key;
  uint32_t count;
  BlockShape shape;
  const std::byte* data;  // any alignment

  size_t bytes() const { return size_t{2} * shape.units; }
  uint32_t unit(size_t i) const { return load_le<uint16_t>(data + 2 * i); }
  uint64_t word(size_t i) const { return load_le<uint64_t>(data + 8 * i); }
  uint32_t runs() const { return shape.units == 1 ? 1 : shape.units / 2; }
  /// Ends inside the block whatever the count says: bytes that are damaged must not lead out of it.
  BlockRun run(size_t i) const {
    if (shape.units == 1) return {unit(0), (unit(0) + count < kBlockSpan ? unit(0) + count : kBlockSpan) - 1};
    return {unit(2 * i), unit(2 * i + 1)};
  }
  bool contains(uint32_t low) const;
  uint32_t min() const;
  uint32_t max() const;
};

/// Never owns, trivially copyable. The bytes may be unaligned and must outlive the view. Untrusted bytes must pass
/// validate_compact() first: open() checks sizes only.
class CompactView {
 public:
  CompactView() = default;

  /// Checks that header, directory and size agree. @throws Error{kInvalidData}
  static CompactView open(std::span<const std::byte> bytes) { return header(bytes, bytes.size()); }

  /// A view of a value whose first bytes alone are available: at least kCompactHeadBytes, or all of a shorter value.
  /// Of a value with a long header it knows cardinality, number of blocks and last key only; otherwise everything
  /// but the data of the blocks. @throws Error{kInvalidData}
  static CompactView header(std::span<const std::byte> first_bytes, size_t whole_size);

  /// The view of bytes that have been opened before, whose cardinality is known. Reads the header only.
  static CompactView reopen(std::span<const std::byte> bytes, uint64_t cardinality);

  uint64_t cardinality() const { return cardinality_; }
  size_t blocks() const { return blocks_; }
  size_t bytes() const { return bytes_; }
  std::span<const std::byte> span() const { return {begin_, bytes_}; }
  bool has_long_header() const { return blocks_ >= kLongFrom; }
  /// Bytes of header and directory.
  size_t head_bytes() const { return data_; }
  /// The key of the last block; 0 for the empty set.
  uint64_t last_key() const {
    if (blocks_ == 0) return 0;
    return has_long_header() ? load_le<uint64_t>(begin_ + 16) : key(blocks_ - 1);
  }

  // The directory, by number of the block.
  uint64_t key(size_t i) const {
    const std::byte* const at = begin_ + keys_ + key_bytes_ * i;
    if (key_bytes_ == 2) return load_le<uint16_t>(at);
    if (key_bytes_ == 3) return load_le<uint32_t>(at) & 0xffffff;  // counts lie behind the keys
    return load_le<uint32_t>(at) | uint64_t{load_le<uint16_t>(at + 4)} << 32;
  }
  uint32_t count(size_t i) const { return load_le<uint16_t>(begin_ + counts_ + 2 * i) + uint32_t{1}; }
  BlockShape shape(size_t i) const {
    const uint32_t code = load_le<uint16_t>(begin_ + shapes_ + 2 * i);
    return {static_cast<BlockKind>(code >> 12), (code & 0xfff) + 1};
  }
  /// Where the data of block i begins, in bytes of the value. Adds up to 191 sizes. @param i  0 .. blocks()
  size_t offset(size_t i) const;
  CompactBlock block(size_t i) const { return block(i, begin_ + offset(i)); }
  /// As its data say, so that damaged bytes lead out of nothing: an array has as many elements as units, and what is neither runs
  /// nor a whole bitmap is read as an array. Elements may still be in any order, and occur more than once.
  CompactBlock block(size_t i, const std::byte* data) const {
    CompactBlock found = written_block(i, data);
    const BlockShape shape = found.shape;
    if (shape.kind == BlockKind::kRuns || (shape.kind == BlockKind::kBitmap && shape.units == kMaxUnits)) return found;
    found.shape.kind = BlockKind::kArray;
    found.count = shape.units;
    return found;
  }
  /// The same as the directory says.
  CompactBlock written_block(size_t i, const std::byte* data) const { return {key(i), count(i), shape(i), data}; }
  /// The first block in [from, blocks()) whose key is not below `key`; blocks() if there is none.
  size_t lower_bound(uint64_t key, size_t from = 0) const;

  bool contains(uint64_t x) const;

 private:
  friend class BlockCursor;
  const std::byte* begin_ = nullptr;
  size_t bytes_ = 0;
  uint64_t cardinality_ = 0;
  size_t blocks_ = 0;
  size_t key_bytes_ = 2;
  size_t keys_ = 0;  // where the three columns of the directory begin
  size_t counts_ = 0;
  size_t shapes_ = 0;
  size_t data_ = 0;  // where the data of the blocks begins
};

/// Walks over the blocks of a view, which must outlive it.
class BlockCursor {
 public:
  explicit BlockCursor(const CompactView& set, size_t first = 0)
      : set_(&set), at_(first), data_(set.begin_ + (first == 0 ? set.data_ : set.offset(first))) {}
  bool at_end() const { return at_ == set_->blocks(); }
  size_t number() const { return at_; }
  uint64_t key() const { return set_->key(at_); }
  CompactBlock block() const { return set_->block(at_, data_); }
  void next() {
    data_ += size_t{2} * set_->shape(at_).units;
    ++at_;
  }
  /// Goes on to the first block whose key is not below `key`.
  void seek(uint64_t key);

 private:
  const CompactView* set_;
  size_t at_;
  const std::byte* data_;
};

/// Reads the elements in chunks, ascending. Polls the token every few tens of kilobytes.
class CompactReader {
 public:
  static constexpr size_t kChunk = 512;

  /// @param first  the block to begin with
  explicit CompactReader(const CompactView& set, const CancelToken& cancel = {}, size_t first = 0)
      : set_(set), cancel_(cancel), cursor_(set_, first) {}
  CompactReader(const CompactReader& other) = delete;
  CompactReader& operator=(const CompactReader& other) = delete;

  /// @tparam Element  uint64_t, or uint32_t for the lowest bits of each
  /// @param out  room for 512 @return the number of elements; 0 means the end @throws Error{kCancelled}
  template <typename Element>
  size_t next(Element* out);

 private:
  CompactView set_;
  CancelToken cancel_;
  BlockCursor cursor_;
  uint32_t at_ = 0;     // of the current block: array element, word, or run
  uint32_t taken_ = 0;  // elements of the current run, or bits of the current word, already read
  uint32_t chunks_ = 0;
};

/// Smallest and largest element of a set that is not empty.
inline uint64_t compact_min(const CompactView& set) {
  const CompactBlock block = set.block(0);
  return block.key << kBlockShift | block.min();
}
inline uint64_t compact_max(const CompactView& set) {
  const CompactBlock block = set.block(set.blocks() - 1);
  return block.key << kBlockShift | block.max();
}

/// Calls visit(i) for each bit i of the word that is set, ascending.
template <typename Visit>
void for_each_bit(uint64_t word, Visit visit) {
  for (; word != 0; word &= word - 1) visit(static_cast<uint32_t>(std::countr_zero(word)));
}

/// The bits [first, last] of 1,024 words. Calls change(word, mask) for each word that has some.
template <typename Change>
inline void in_words_of(uint32_t first, uint32_t last, Change change) {
  const uint32_t begin = first / 64;
  const uint32_t end = last / 64;
  const uint64_t head = ~uint64_t{0} << (first % 64);
  const uint64_t tail = ~uint64_t{0} >> (63 - last % 64);
  if (begin == end) return change(begin, head & tail);
  change(begin, head);
  for (uint32_t w = begin + 1; w < end; ++w) change(w, ~uint64_t{0});
  change(end, tail);
}

/// Checks untrusted bytes in full: every block in the kind that takes the fewest bytes, elements and keys ascending,
/// counts, offsets and lengths that agree. So a set has exactly one compact form. O(size), allocates nothing.
/// @throws Error{kInvalidData}, Error{kCancelled}
void validate_compact(std::span<const std::byte> bytes, const CancelToken& cancel = {});

}  // namespace batmap
