// Changes blocks in place. See compact_accumulator.h.
#include "compact/compact_accumulator.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "compact/compact_blocks.h"
#include "core/error.h"
#include "core/polled.h"

namespace batmap {

namespace {

/// A log of at most so many units is sorted by comparing. `bench/run neighbours`.
constexpr uint32_t kFewUnits = 32;
/// A log whose ascending pieces have so many units on average is sorted by merging them, any other by its bits.
/// `bench/run neighbours`.
constexpr uint32_t kLongPiece = 4;
/// A log with more units is sorted before it gets more room: the same elements may come again and again.
constexpr uint32_t kSettleFrom = 256;
/// A log does not get room for more units: a bitmap takes twice as much, and costs less an element. `bench/run neighbours`.
constexpr uint32_t kMaxLogUnits = 2048;
/// Elements of runs that are taken one by one.
constexpr uint32_t kFewOfRuns = 64;
/// Elements of an intersection from which up it stays a bitmap. `bench/run neighbours`.
constexpr uint32_t kFewBits = 256;

constexpr unsigned kBitmapClass = PiecePool::kLargest;
static_assert(size_t{1} << kBitmapClass == kBitmapBlockBytes);

uint16_t* units_of(std::byte* data) { return reinterpret_cast<uint16_t*>(data); }
uint64_t* words_of(std::byte* data) { return reinterpret_cast<uint64_t*>(data); }

/// The elements of an array or of runs. @param out  room for block.count @return how many
uint32_t list_elements(const CompactBlock& block, uint16_t* out) {
  if (is(block, BlockKind::kArray)) {
    std::memcpy(out, block.data, block.bytes());
    return block.count;
  }
  uint32_t count = 0;
  for (uint32_t i = 0; i < block.runs(); ++i)
    for (uint32_t x = block.run(i).first; x <= block.run(i).last && count < block.count; ++x)
      out[count++] = static_cast<uint16_t>(x);
  return count;
}

void list_bits(const uint64_t* words, uint16_t* out) {
  for (uint32_t w = 0; w < kBitmapBlockWords; ++w)
    for_each_bit(words[w], [&](uint32_t bit) { *out++ = static_cast<uint16_t>(64 * w + bit); });
}

CompactBlock array_block(uint64_t key, const std::byte* data, uint32_t count) {
  return {key, count, {BlockKind::kArray, count}, data};
}

/// Sorts few units. Of equal ones one is kept, or none of each two for a symmetric difference. @return how many are left
uint32_t sort_units(uint16_t* units, uint32_t count, SetCombination operation) {
  std::sort(units, units + count);
  uint32_t kept = 0;
  for (uint32_t i = 0; i < count; ++i) {
    if (kept == 0 || units[kept - 1] != units[i])
      units[kept++] = units[i];
    else if (operation == SetCombination::kXor)
      --kept;
  }
  return kept;
}

/// Merges neighbouring pieces of `from` until one is left. @param ends  of the pieces @return the number of units
uint32_t merge_pieces(uint16_t* from, uint16_t* to, uint16_t* ends, uint32_t pieces, SetCombination operation,
                      const CompactKernel& kernel, uint16_t* out) {
  const auto merge = operation == SetCombination::kXor ? kernel.keep_single : kernel.keep_either;
  const auto bytes = [](const uint16_t* units) { return reinterpret_cast<const std::byte*>(units); };
  while (pieces > 1) {
    uint32_t merged = 0;
    uint32_t begin = 0;
    uint32_t put = 0;
    for (uint32_t i = 0; i < pieces; i += 2, ++merged) {
      const uint32_t middle = ends[i];
      const uint32_t end = i + 1 < pieces ? ends[i + 1] : middle;
      put += static_cast<uint32_t>(merge(bytes(from + begin), middle - begin, bytes(from + middle), end - middle, to + put));
      ends[merged] = static_cast<uint16_t>(put);
      begin = end;
    }
    pieces = merged;
    std::swap(from, to);
  }
  std::memcpy(out, from, 2 * size_t{ends[0]});
  return ends[0];
}

struct Words {
  alignas(64) uint64_t words[kBitmapBlockWords];
};

}  // namespace

// ---- entries

CompactAccumulator::Entry CompactAccumulator::entry_of(const CompactBlock& block, std::byte* data, unsigned room) {
  Entry entry{
      block.key, data, block.count, static_cast<uint16_t>(block.shape.units), Kind::kRuns, static_cast<uint8_t>(room)};
  if (is(block, BlockKind::kArray)) {
    entry.kind = Kind::kArray;
  } else if (is(block, BlockKind::kBitmap)) {
    entry.kind = Kind::kBitmap;
  }
  return entry;
}

CompactBlock CompactAccumulator::block_of(const Entry& entry) {
  switch (entry.kind) {
    case Kind::kBitmap: return {entry.key, kBlockSpan, {BlockKind::kBitmap, kMaxUnits}, entry.data};
    case Kind::kRuns: return {entry.key, entry.count, {BlockKind::kRuns, entry.units}, entry.data};
    case Kind::kArray:
    case Kind::kLog: break;
  }
  return array_block(entry.key, entry.data, entry.count);
}

size_t CompactAccumulator::room_bytes(const Entry& entry) {
  return entry.room != 0 ? size_t{1} << entry.room : block_of(entry).bytes();
}

/// Gives the entry a piece of this class, with what it has. @param room  large enough for that
void CompactAccumulator::replace(Entry& entry, unsigned room) {
  std::byte* const data = pool_.take(room);
  std::memcpy(data, entry.data, std::min(block_of(entry).bytes(), size_t{1} << room));
  if (entry.room != 0) pool_.give(entry.data, entry.room);
  entry.data = data;
  entry.room = static_cast<uint8_t>(room);
}

void CompactAccumulator::to_bitmap(Entry& entry) {
  if (entry.kind == Kind::kBitmap) {
    if (entry.room == 0) replace(entry, kBitmapClass);
    return;
  }
  std::byte* const data = pool_.take(kBitmapClass);
  if (entry.kind == Kind::kLog) {
    std::memset(data, 0, kBitmapBlockBytes);
    change_words(operation_, block_of(entry), words_of(data));
  } else {
    expand_block(block_of(entry), *kernel_, words_of(data));
  }
  if (entry.room != 0) pool_.give(entry.data, entry.room);
  entry.data = data;
  entry.room = kBitmapClass;
  entry.kind = Kind::kBitmap;
}

/// The elements of a log, ascending. @param out  room for all of its units; may be where the log is @return how many
uint32_t CompactAccumulator::sorted(const Entry& entry, uint16_t* out) const {
  const uint16_t* const units = units_of(entry.data);
  if (entry.count <= kFewUnits) {
    std::memmove(out, units, 2 * size_t{entry.count});
    return sort_units(out, entry.count, operation_);
  }
  uint16_t ends[kMaxUnits / kLongPiece];
  uint32_t pieces = 0;
  const uint32_t most = entry.count / kLongPiece;
  for (uint32_t i = 1; i < entry.count && pieces < most; ++i) {
    ends[pieces] = static_cast<uint16_t>(i);
    pieces += units[i] <= units[i - 1];
  }
  if (pieces < most) {
    ends[pieces++] = static_cast<uint16_t>(entry.count);
    uint16_t a[kMaxUnits + kMoreUnits];
    uint16_t b[kMaxUnits + kMoreUnits];
    std::memcpy(a, units, 2 * size_t{entry.count});
    return merge_pieces(a, b, ends, pieces, operation_, *kernel_, out);
  }
  Words bits{};
  change_words(operation_, block_of(entry), bits.words);
  const auto* const bytes = reinterpret_cast<const std::byte*>(bits.words);
  list_bits(bits.words, out);
  return kernel_->count_words(bytes, bytes);
}

/// Makes a log an array.
void CompactAccumulator::settle(Entry& entry) {
  entry.count = sorted(entry, units_of(entry.data));
  entry.kind = Kind::kArray;
}

// ---- union and symmetric difference

/// Room for more units in an array or log. It may become a bitmap.
void CompactAccumulator::make_room(Entry& entry, uint32_t more) {
  if (entry.kind == Kind::kLog && entry.count > kSettleFrom) settle(entry);
  const size_t needed = 2 * (size_t{entry.count} + more);
  const size_t room = room_bytes(entry);
  // A log that is mostly full of distinct elements gets twice the room, so each is sorted a bounded number of times.
  const bool is_roomy = size_t{4} * entry.count <= room;
  if (needed <= room && is_roomy) return;
  const size_t wanted = std::max(needed, entry.room != 0 && !is_roomy ? 2 * room : needed);
  if (wanted > 2 * kMaxLogUnits)
    to_bitmap(entry);
  else
    replace(entry, PiecePool::size_class(wanted));
}

void CompactAccumulator::append(Entry& entry, const CompactBlock& block) {
  if (room_bytes(entry) < 2 * (size_t{entry.count} + block.count)) make_room(entry, block.count);
  if (entry.kind == Kind::kBitmap) return change_bitmap(entry, block);
  uint16_t* const units = units_of(entry.data);
  const uint32_t first = entry.count;
  entry.count += list_elements(block, units + first);
  if (first > 0 && units[first] <= units[first - 1]) entry.kind = Kind::kLog;
}

void CompactAccumulator::unite(Entry& entry, const CompactBlock& block) {
  if (operation_ == SetCombination::kOr && entry.kind == Kind::kRuns && entry.count == kBlockSpan) return;
  if (operation_ == SetCombination::kOr && is(block, BlockKind::kRuns) && block.count == kBlockSpan) {
    if (entry.room != 0) pool_.give(entry.data, entry.room);
    entry = copied(block);
    return;
  }
  if (entry.kind == Kind::kRuns && entry.count <= kFewOfRuns) {
    const Entry list = copied(block_of(entry));
    if (entry.room != 0) pool_.give(entry.data, entry.room);
    entry = list;
  }
  const bool is_list = is(block, BlockKind::kArray) || (is(block, BlockKind::kRuns) && block.count <= kFewOfRuns);
  if (is_list && (entry.kind == Kind::kArray || entry.kind == Kind::kLog)) return append(entry, block);
  if (entry.kind == Kind::kBitmap && is(block, BlockKind::kBitmap)) return unite_bitmaps(entry, block);
  to_bitmap(entry);
  change_bitmap(entry, block);
}

/// @param entry  a bitmap with room of its own
void CompactAccumulator::change_bitmap(Entry& entry, const CompactBlock& block) {
  uint64_t* const words = words_of(entry.data);
  if (!is(block, BlockKind::kArray) || block.count < kernel_->mark_from) return change_words(operation_, block, words);
  Words bits;
  kernel_->mark_elements(block.data, block.count, bits.words);
  kernel_->combine_words(operation_, entry.data, reinterpret_cast<const std::byte*>(bits.words), words);
}

void CompactAccumulator::unite_bitmaps(Entry& entry, const CompactBlock& block) {
  const CompactBlock mine = block_of(entry);
  std::byte* const data = entry.room != 0 ? entry.data : pool_.take(kBitmapClass);
  entry.data = data;
  entry.room = kBitmapClass;
  const uint64_t* const words = words_of(data);
  kernel_->combine_words(operation_, mine.data, block.data, words_of(data));
  const auto is_full = [](uint64_t word) { return word == ~uint64_t{0}; };
  if (operation_ == SetCombination::kXor || !std::all_of(words, words + kBitmapBlockWords, is_full)) return;
  // Full: nothing that joins a union can change it.
  store_le<uint16_t>(data, 0);
  entry.kind = Kind::kRuns;
  entry.count = kBlockSpan;
  entry.units = 1;
}

/// An entry with a copy of a block. Few elements of runs become an array.
CompactAccumulator::Entry CompactAccumulator::copied(const CompactBlock& block) {
  if (is(block, BlockKind::kRuns) && block.count <= kFewOfRuns) {
    const unsigned room = PiecePool::size_class(size_t{2} * block.count);
    std::byte* const data = pool_.take(room);
    return entry_of(array_block(block.key, data, list_elements(block, units_of(data))), data, room);
  }
  const unsigned room = PiecePool::size_class(block.bytes());
  std::byte* const data = pool_.take(room);
  std::memcpy(data, block.data, block.bytes());
  return entry_of(block, data, room);
}

CompactAccumulator::Entry* CompactAccumulator::grown(Entry* entries, size_t size, size_t& capacity, size_t needed) {
  if (needed <= capacity) return entries;
  const size_t larger = std::max(needed, 2 * capacity);
  auto* const more = reinterpret_cast<Entry*>(source_->take(larger * sizeof(Entry)));
  if (size > 0) std::memcpy(static_cast<void*>(more), entries, size * sizeof(Entry));
  if (capacity > 0) source_->give(reinterpret_cast<std::byte*>(entries), capacity * sizeof(Entry));
  capacity = larger;
  return more;
}

/// The first entry in [from, size_) whose key is not below `key`.
size_t CompactAccumulator::find(size_t from, uint64_t key) const {
  constexpr size_t kSteps = 4;  // before it searches
  const size_t near = std::min(size_, from + kSteps);
  for (; from < near; ++from)
    if (entries_[from].key >= key) return from;
  const Entry* const found = std::lower_bound(entries_ + from, entries_ + size_, key,
                                              [](const Entry& entry, uint64_t bound) { return entry.key < bound; });
  return static_cast<size_t>(found - entries_);
}

/// Inserts the first `count` fresh entries, from the end on.
void CompactAccumulator::merge_fresh(size_t count) {
  entries_ = grown(entries_, size_, capacity_, size_ + count);
  size_t from = size_;
  size_t to = size_ + count;
  size_ = to;
  while (count > 0)
    entries_[--to] = from > 0 && entries_[from - 1].key > fresh_[count - 1].key ? entries_[--from] : fresh_[--count];
}

void CompactAccumulator::unite(const CompactView& set) {
  size_t at = 0;
  size_t fresh = 0;
  uint32_t steps = 0;
  for (BlockCursor cursor(set); !cursor.at_end(); cursor.next()) {
    if (++steps % kStepsPerPoll == 0) cancel_.throw_if_requested();
    const CompactBlock block = cursor.block();
    at = find(at, block.key);
    if (at < size_ && entries_[at].key == block.key) {
      unite(entries_[at++], block);
    } else if (at == size_) {
      entries_ = grown(entries_, size_, capacity_, size_ + 1);
      entries_[size_++] = copied(block);
      at = size_;
    } else {
      fresh_ = grown(fresh_, fresh, fresh_capacity_, fresh + 1);
      fresh_[fresh++] = copied(block);
    }
  }
  merge_fresh(fresh);
}

// ---- intersection

/// @param elements  what is left of the entry @return whether that is something
bool CompactAccumulator::keep_array(Entry& entry, const uint16_t* elements, size_t count) {
  if (count == 0) return false;
  if (room_bytes(entry) < 2 * count) {
    const unsigned room = PiecePool::size_class(2 * count);
    std::byte* const data = pool_.take(room);
    if (entry.room != 0) pool_.give(entry.data, entry.room);
    entry.data = data;
    entry.room = static_cast<uint8_t>(room);
  }
  std::memcpy(entry.data, elements, 2 * count);
  entry.kind = Kind::kArray;
  entry.count = static_cast<uint32_t>(count);
  return true;
}

/// @param entry  a bitmap that has changed @return whether it has elements
bool CompactAccumulator::keep_bitmap(Entry& entry) {
  const uint32_t count = kernel_->count_words(entry.data, entry.data);
  if (count > kFewBits) return true;
  uint16_t elements[kFewBits];
  list_bits(words_of(entry.data), elements);
  return keep_array(entry, elements, count);
}

/// @return whether something is left of the entry
bool CompactAccumulator::intersect(Entry& entry, const CompactBlock& block) {
  if (is(block, BlockKind::kRuns) && block.count == kBlockSpan) return true;
  const CompactBlock mine = block_of(entry);
  if (is(mine, BlockKind::kArray) || is(block, BlockKind::kArray)) {
    uint16_t elements[kFilteredUnits];
    const bool is_first = is(mine, BlockKind::kArray);
    const size_t count = filter_array(is_first ? mine : block, is_first ? block : mine, true, *kernel_, elements);
    return keep_array(entry, elements, std::min<size_t>(count, kMaxUnits));  // more only if elements occur more than once
  }
  to_bitmap(entry);
  uint64_t* const words = words_of(entry.data);
  if (is(block, BlockKind::kBitmap))
    kernel_->combine_words(operation_, entry.data, block.data, words);
  else
    change_words(operation_, block, words);
  return keep_bitmap(entry);
}

void CompactAccumulator::intersect(const CompactView& set) {
  size_t kept = 0;
  BlockCursor cursor(set);
  for (size_t i = 0; i < size_; ++i) {
    if (i % kStepsPerPoll == kStepsPerPoll - 1) cancel_.throw_if_requested();
    Entry entry = entries_[i];
    cursor.seek(entry.key);
    if (cursor.at_end()) break;
    if (cursor.key() == entry.key && intersect(entry, cursor.block())) entries_[kept++] = entry;
  }
  size_ = kept;
}

// ---- the first set, and the result

void CompactAccumulator::adopt(const CompactView& set) {
  const size_t bytes = set.bytes() - set.head_bytes();
  entries_ = grown(entries_, 0, capacity_, set.blocks());
  std::byte* data = source_->take(std::max<size_t>(bytes, 1));
  const std::byte* const behind = data + bytes;
  in_parts(bytes, cancel_, [&](size_t begin, size_t end) {
    std::memcpy(data + begin, set.span().data() + set.head_bytes() + begin, end - begin);
  });
  for (BlockCursor cursor(set); !cursor.at_end(); cursor.next()) {
    if (size_ % kStepsPerPoll == kStepsPerPoll - 1) cancel_.throw_if_requested();
    const CompactBlock block = cursor.block();
    if (block.bytes() > static_cast<size_t>(behind - data))
      throw Error(ErrorCode::kInvalidData, "invalid batmap: blocks are cut off");
    entries_[size_++] = entry_of(block, data, 0);
    data += block.bytes();
  }
}

void CompactAccumulator::add(const CompactView& set) {
  if (!has_set_) {
    has_set_ = true;
    adopt(set);
  } else if (operation_ == SetCombination::kAnd) {
    intersect(set);
  } else {
    unite(set);
  }
}

void CompactAccumulator::write(CompactWriter& out) const {
  size_t bytes = 0;
  for (size_t i = 0; i < size_; ++i) bytes += std::min(block_of(entries_[i]).bytes(), kBitmapBlockBytes);
  out.clear();
  out.reserve(size_, bytes);
  Words bits;
  uint16_t units[kMaxUnits];
  for (size_t i = 0; i < size_; ++i) {
    if (i % kStepsPerPoll == kStepsPerPoll - 1) cancel_.throw_if_requested();
    const Entry& entry = entries_[i];
    switch (entry.kind) {
      case Kind::kArray: out.add_array(entry.key, {units_of(entry.data), entry.count}, *kernel_); break;
      case Kind::kRuns: out.add_block(block_of(entry)); break;
      case Kind::kBitmap:
        if (entry.room == 0) std::memcpy(bits.words, entry.data, kBitmapBlockBytes);
        out.add_words(entry.key, entry.room == 0 ? bits.words : words_of(entry.data), *kernel_);
        break;
      case Kind::kLog: out.add_array(entry.key, {units, sorted(entry, units)}, *kernel_); break;
    }
  }
}

uint64_t CompactAccumulator::cardinality() const {
  uint64_t sum = 0;
  uint16_t units[kMaxUnits];
  for (size_t i = 0; i < size_; ++i) {
    if (i % kStepsPerPoll == kStepsPerPoll - 1) cancel_.throw_if_requested();
    const Entry& entry = entries_[i];
    switch (entry.kind) {
      case Kind::kArray:
      case Kind::kRuns: sum += entry.count; break;
      case Kind::kBitmap: sum += kernel_->count_words(entry.data, entry.data); break;
      case Kind::kLog: sum += sorted(entry, units); break;
    }
  }
  return sum;
}

}  // namespace batmap
