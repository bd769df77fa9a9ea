// A relation whose items are texts, in one block of bytes: a dictionary, and a flat relation (flat_relation.h) whose
// items are numbers of texts in it. It is a value of the SQL type batmap_relation, like a flat relation, and the
// state of the aggregates that build it. Texts are compared by their bytes.
//
//   offset  0  uint8   version       2; that of a flat relation is 1
//           1  uint8   zero x 3
//           4  uint32  slots         of the hash table: a power of two, at least twice the texts; 0 in a finished value
//           8  uint32  texts         distinct texts
//          12  uint32  seed          of the hashes in the table; 0 in a finished value
//          16  uint64  text_bytes    bytes of the texts
//          24  uint64  text_room     bytes kept for the texts
//          32  texts (item_texts.h), then room for more
//              slots x (uint32 hash, uint32 number of the text + 1, uint32 offset of the text); number 0: free
//              flat relation, then its room
//
// In a state the texts are numbered by first appearance. In a finished value they ascend, each of them occurs, and
// there are neither slots nor room; so the dictionary is determined by the rows. A finished value has at least one
// row: an empty relation has no kind of items.
//
// Appending a row costs a hash of its text and a look-up, amortised, and a store. Merging two relations maps the
// numbers of one to those of the other. Source: ours; the hash table is open addressing with linear probing. The seed
// is drawn for each table and stays with it, so that a state can go on in another process, and nobody can choose texts
// beforehand whose hashes collide.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "core/memory.h"
#include "core/options.h"
#include "relation/flat_relation.h"
#include "relation/item_texts.h"

namespace batmap {

inline constexpr uint8_t kTextRelationVersion = 2;
inline constexpr size_t kTextRelationHeaderBytes = 32;
inline constexpr size_t kTextSlotBytes = 12;

struct TextRelationHeader {
  uint8_t version;
  uint8_t zero[3];
  uint32_t slots;
  uint32_t texts;
  uint32_t seed;
  uint64_t text_bytes;
  uint64_t text_room;

  /// The offset of the flat relation.
  size_t rows_begin() const { return kTextRelationHeaderBytes + text_room + size_t{slots} * kTextSlotBytes; }
};
static_assert(sizeof(TextRelationHeader) == kTextRelationHeaderBytes);

inline TextRelationHeader text_relation_header(const std::byte* bytes) {
  TextRelationHeader header;
  std::memcpy(&header, bytes, sizeof header);
  return header;
}

/// Whether bytes that are a relation of either kind have text items.
inline bool has_text_items(std::span<const std::byte> relation) {
  return !relation.empty() && relation[0] == std::byte{kTextRelationVersion};
}

/// Whether the header is consistent with itself and with the size, room included. Constant time: texts, slots and
/// chunks are not checked.
bool is_text_relation(std::span<const std::byte> bytes);

/// The texts of a relation, and its flat relation with the room behind.
inline std::span<const std::byte> text_relation_texts(std::span<const std::byte> bytes) {
  return bytes.subspan(kTextRelationHeaderBytes, text_relation_header(bytes.data()).text_bytes);
}
inline std::span<const std::byte> text_relation_rows(std::span<const std::byte> bytes) {
  return bytes.subspan(text_relation_header(bytes.data()).rows_begin());
}
inline std::span<std::byte> text_relation_rows(std::span<std::byte> bytes) {
  return bytes.subspan(text_relation_header(bytes.data()).rows_begin());
}

/// Room for each part of a state.
struct TextRelationRoom {
  size_t texts;     // bytes
  uint32_t slots;   // a power of two
  size_t relation;  // bytes of the flat relation

  size_t bytes() const { return kTextRelationHeaderBytes + texts + size_t{slots} * kTextSlotBytes + relation; }
};

inline constexpr uint32_t kFirstTextSlots = 8;

/// The room that a state has.
TextRelationRoom text_relation_room(std::span<const std::byte> state);
/// The room that a relation needs, to become a state and to take so many more bytes of texts, texts and rows.
TextRelationRoom text_relation_needed(std::span<const std::byte> relation, size_t text_bytes, uint32_t texts, size_t rows);

/// The room for a state that is to grow: `wanted` if that takes `max_bytes` at most. Otherwise the bytes that are left
/// beside `needed` are shared out in proportion to what each part wanted more, so few copies lead to the end.
/// @param wanted  no less than `needed` in any part
/// @return `needed` if that takes more than `max_bytes`
TextRelationRoom text_relation_room_within(const TextRelationRoom& needed, const TextRelationRoom& wanted, size_t max_bytes);

/// Makes an empty state. @param state  of room.bytes() @param seed  random
void text_relation_init(std::span<std::byte> state, const TextRelationRoom& room, uint32_t seed = 0);
/// Makes a state of a relation, which may be finished or not.
/// @param state  of room.bytes(), where room is at least text_relation_needed(); must not overlap `relation`
/// @param seed   random, for a table that is built anew
/// @throws Error{kInvalidData} if the texts of the relation are damaged; Error{kCancelled}
void text_relation_copy(std::span<const std::byte> relation, std::span<std::byte> state, const TextRelationRoom& room,
                        const CancelToken& cancel, uint32_t seed = 0);

/// The number of a text, which is new if the text has none yet. @return -1 if there is no room for a new text;
/// then nothing is changed
int64_t text_relation_number(std::span<std::byte> state, std::string_view text);

/// Appends one row. @return false if there is no room. Then the row is not there; its text may be
inline bool text_relation_append(std::span<std::byte> state, int64_t tid, std::string_view text) {
  const int64_t item = text_relation_number(state, text);
  if (item < 0) return false;
  const std::span<std::byte> rows = text_relation_rows(state);
  return flat_append(rows.data(), rows.size(), {tid, item});
}

/// A merge into a state that has got so far: it stops when the state needs more room, and goes on in a larger copy.
class TextRelationMerge {
 public:
  /// @param other    a relation, finished or not; must outlive the object
  /// @param texts    [texts of other] working memory
  /// @param numbers  [texts of other] working memory
  /// @throws Error{kInvalidData} if the texts of `other` are damaged; Error{kCancelled}
  TextRelationMerge(std::span<const std::byte> other, std::span<std::string_view> texts, std::span<uint32_t> numbers,
                    const CancelToken& cancel);

  /// @return true if all is merged; false if the state needs room for next_text_bytes(), one text and kChunkRows rows
  /// @throws Error{kInvalidData} if rows of `other` are damaged; Error{kCancelled}; the state is then to be dropped
  bool into(std::span<std::byte> state, const CancelToken& cancel);
  size_t next_text_bytes() const { return text_bytes_at_most(next_ < texts_.size() ? texts_[next_].size() : 0); }

 private:
  bool append(std::span<std::byte> state, std::span<const TidItem> rows) const;

  std::span<const std::byte> rows_;  // the flat relation of `other`
  std::span<std::string_view> texts_;
  std::span<uint32_t> numbers_;
  size_t next_ = 0;      // of the texts
  const std::byte* at_;  // the next chunk, or the open rows
};

/// A size of which text_relation_finish() never needs more.
size_t text_relation_finished_capacity(std::span<const std::byte> relation);
/// Writes the finished form of a relation with one row or more.
/// @param out  text_relation_finished_capacity() bytes; must not overlap `relation`
/// @return bytes written
/// @throws Error{kInvalidData} if texts or rows are damaged; Error{kMemoryLimit, kCancelled}
size_t text_relation_finish(std::span<const std::byte> relation, std::byte* out, MemoryMeter& meter,
                            const CancelToken& cancel);

/// Whether a relation is in its finished form.
bool is_finished_text_relation(std::span<const std::byte> relation);

/// Checks untrusted bytes in full. @throws Error{kInvalidData} unless they are a finished relation; Error{kCancelled}
void text_relation_validate(std::span<const std::byte> bytes, MemoryMeter& meter, const CancelToken& cancel);

/// Checks the chunks of a finished relation against the number of its texts, by their headers.
bool has_numbers_of_texts(std::span<const std::byte> relation);

}  // namespace batmap
