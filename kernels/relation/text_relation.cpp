// Appends to, merges, finishes and checks relations of text items. See text_relation.h for the bytes.
#include "relation/text_relation.h"

#include <algorithm>
#include <bit>
#include <string>

#include "core/error.h"
#include "core/poll.h"

namespace batmap {

namespace {

constexpr uint32_t kMaxTexts = uint32_t{1} << 30;  // far more than a value of 1 GB can hold

struct TextSlot {
  uint32_t hash;
  uint32_t number;  // of the text, from 1; 0: free
  uint32_t offset;  // of the text among the bytes of the texts
};
static_assert(sizeof(TextSlot) == kTextSlotBytes);

[[noreturn]] void refuse_text_relation(const char* what) {
  throw Error(ErrorCode::kInvalidData, std::string("invalid relation: ") + what);
}

__extension__ using WideProduct = unsigned __int128;

/// Multiplies to 128 bits and folds the halves.
uint64_t folded_product(uint64_t x, uint64_t y) {
  const WideProduct product = static_cast<WideProduct>(x) * y;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

template <typename Word>
uint64_t load(const char* at) {
  Word word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

/// A text of up to 8 bytes as a number, a different one for each text of this length.
uint64_t short_text(const char* text, size_t size) {
  if (size >= 4) return load<uint32_t>(text) << 32 | load<uint32_t>(text + size - 4);
  if (size == 0) return 0;
  return load<uint8_t>(text) << 16 | load<uint8_t>(text + size / 2) << 8 | load<uint8_t>(text + size - 1);
}

/// Never stored in a finished value, so it may change. Both factors of each product depend on the seed, so texts that collide
/// for one seed do not for another. The last 16 bytes overlap those before, so that no length needs a loop over bytes.
uint32_t hash_text(std::string_view text, uint32_t seed) {
  constexpr uint64_t kOdd = 0x9e3779b97f4a7c15u;
  const uint64_t spread_seed = folded_product(seed ^ 0xd6e8feb86659fd93u, kOdd);
  const uint64_t turned_seed = std::rotl(spread_seed, 32) ^ 0xe7037ed1a0b428dbu;
  const char* at = text.data();
  const size_t size = text.size();
  uint64_t hash = spread_seed ^ size;
  if (size <= 8) {
    hash = folded_product(short_text(at, size) ^ hash, turned_seed | 1);
  } else if (size <= 16) {
    hash = folded_product(load<uint64_t>(at) ^ hash, load<uint64_t>(at + size - 8) ^ turned_seed);
  } else {
    const char* const last = at + size - 16;
    for (; at < last; at += 16) hash = folded_product(load<uint64_t>(at) ^ hash, load<uint64_t>(at + 8) ^ turned_seed);
    hash = folded_product(load<uint64_t>(last) ^ hash, load<uint64_t>(last + 8) ^ turned_seed);
  }
  hash = folded_product(hash ^ 0xa0761d6478bd642fu, spread_seed | 1);
  return static_cast<uint32_t>(hash ^ hash >> 32);
}

/// The steps of look-ups, which poll a token.
class PolledSteps {
 public:
  explicit PolledSteps(const CancelToken& cancel) : poll_(cancel) { cancel.throw_if_requested(); }

  void add_text(std::string_view text) { add(1 + text.size() / 16); }
  void add(size_t steps) { poll_.after(steps); }

 private:
  Poll poll_;
};

void set_text_header(std::span<std::byte> bytes, const TextRelationHeader& header) {
  std::memcpy(bytes.data(), &header, sizeof header);
}

std::byte* text_slots(std::span<std::byte> state, const TextRelationHeader& header) {
  return state.data() + kTextRelationHeaderBytes + header.text_room;
}

TextSlot text_slot(const std::byte* slots, size_t index) {
  TextSlot slot;
  std::memcpy(&slot, slots + index * kTextSlotBytes, sizeof slot);
  return slot;
}
void set_text_slot(std::byte* slots, size_t index, const TextSlot& slot) {
  std::memcpy(slots + index * kTextSlotBytes, &slot, sizeof slot);
}

/// Puts a slot that is not there yet into the table.
void insert_text_slot(std::byte* slots, uint32_t mask, const TextSlot& slot, PolledSteps& steps) {
  size_t index = slot.hash & mask;
  for (; text_slot(slots, index).number != 0; index = (index + 1) & mask) steps.add(1);
  set_text_slot(slots, index, slot);
}

/// Texts are mostly short: to call memcmp for each would take longer than to compare.
bool are_equal(const char* a, const char* b, size_t size) {
  if (size < 4 || size > 16) return std::memcmp(a, b, size) == 0;
  if (size < 8)
    return load<uint32_t>(a) == load<uint32_t>(b) && load<uint32_t>(a + size - 4) == load<uint32_t>(b + size - 4);
  return load<uint64_t>(a) == load<uint64_t>(b) && load<uint64_t>(a + size - 8) == load<uint64_t>(b + size - 8);
}

/// Is this the text at the offset of a slot? The bytes of a state are trusted no further than its header.
bool is_text_of(const TextSlot& slot, std::span<const std::byte> texts, std::string_view text) {
  std::byte length[kMaxVarint];
  const auto length_bytes = static_cast<size_t>(put_varint(length, text.size()) - length);
  if (slot.offset > texts.size() || texts.size() - slot.offset < length_bytes + text.size()) return false;
  const std::byte* const at = texts.data() + slot.offset;
  for (size_t k = 0; k < length_bytes; ++k)
    if (at[k] != length[k]) return false;
  return are_equal(reinterpret_cast<const char*>(at + length_bytes), text.data(), text.size());
}

/// The numbers of texts that chunks of a flat relation hold must be below `texts`.
void check_numbers(std::span<const TidItem> rows, uint32_t texts) {
  uint64_t largest = 0;
  for (const TidItem& row : rows) largest = std::max(largest, static_cast<uint64_t>(row.item));
  if (!rows.empty() && largest >= texts) refuse_text_relation("an item without a text");
}

/// Calls body(rows) with the rows of a flat relation, chunk by chunk and with the open ones at last.
template <typename Body>
void for_each_chunk(const std::byte* flat, const CancelToken& cancel, Body body) {
  const FlatHeader header = flat_header(flat);
  TidItem rows[kChunkRows];
  const std::byte* at = flat + kFlatHeaderBytes;
  for (const std::byte* const end = at + header.sealed_bytes; at < end;) {
    cancel.throw_if_requested();
    const ChunkView chunk = read_stored_chunk({at, end});
    decode_chunk(chunk, rows);
    body(std::span(rows, chunk.rows));
    at += chunk.bytes;
  }
  if (header.open_rows == 0) return;
  std::memcpy(rows, at, header.open_rows * sizeof(TidItem));
  body(std::span(rows, header.open_rows));
}

}  // namespace

bool is_text_relation(std::span<const std::byte> bytes) {
  if (bytes.size() < kTextRelationHeaderBytes + kFlatHeaderBytes) return false;
  const TextRelationHeader header = text_relation_header(bytes.data());
  if (header.version != kTextRelationVersion || header.zero[0] != 0 || header.zero[1] != 0 || header.zero[2] != 0)
    return false;
  if (header.slots == 0 && header.seed != 0) return false;
  if (header.text_bytes > header.text_room || header.texts > header.text_bytes) return false;
  if (header.text_room > UINT32_MAX || header.texts > kMaxTexts) return false;
  if (header.slots != 0 && (!std::has_single_bit(header.slots) || header.texts > header.slots / 2)) return false;
  const uint64_t behind = bytes.size() - kTextRelationHeaderBytes - kFlatHeaderBytes;
  if (header.text_room > behind || uint64_t{header.slots} * kTextSlotBytes > behind - header.text_room) return false;
  return is_flat_relation(bytes.subspan(header.rows_begin()));
}

TextRelationRoom text_relation_room(std::span<const std::byte> state) {
  const TextRelationHeader header = text_relation_header(state.data());
  return {header.text_room, header.slots, state.size() - header.rows_begin()};
}

TextRelationRoom text_relation_needed(std::span<const std::byte> relation, size_t text_bytes, uint32_t texts, size_t rows) {
  const TextRelationHeader header = text_relation_header(relation.data());
  const FlatHeader flat = flat_header(text_relation_rows(relation).data());
  return {header.text_bytes + text_bytes, std::max(kFirstTextSlots, std::bit_ceil((header.texts + texts) * 2)),
          flat_used(flat) + rows * sizeof(TidItem) + (rows / kChunkRows + 1) * kFlatSlack};
}

TextRelationRoom text_relation_room_within(const TextRelationRoom& needed, const TextRelationRoom& wanted,
                                           size_t max_bytes) {
  if (wanted.bytes() <= max_bytes) return wanted;
  if (needed.bytes() >= max_bytes) return needed;
  const uint64_t left = max_bytes - needed.bytes();
  const uint64_t more = wanted.bytes() - needed.bytes();  // larger than `left`
  const auto share = [&](uint64_t of_more) { return static_cast<size_t>(static_cast<WideProduct>(left) * of_more / more); };
  // The slots are a power of two: all of those that are wanted, or none.
  return {needed.texts + share(wanted.texts - needed.texts), needed.slots,
          needed.relation + share(wanted.relation - needed.relation)};
}

void text_relation_init(std::span<std::byte> state, const TextRelationRoom& room, uint32_t seed) {
  TextRelationHeader header{};
  header.version = kTextRelationVersion;
  header.slots = room.slots;
  header.seed = seed;
  header.text_room = room.texts;
  set_text_header(state, header);
  std::memset(text_slots(state, header), 0, size_t{room.slots} * kTextSlotBytes);
  flat_init(text_relation_rows(state).data());
}

void text_relation_copy(std::span<const std::byte> relation, std::span<std::byte> state, const TextRelationRoom& room,
                        const CancelToken& cancel, uint32_t seed) {
  const TextRelationHeader from = text_relation_header(relation.data());
  TextRelationHeader header = from;
  header.slots = room.slots;
  if (from.slots != header.slots) header.seed = seed;
  header.text_room = room.texts;
  set_text_header(state, header);
  const std::span<const std::byte> texts = text_relation_texts(relation);
  std::memcpy(state.data() + kTextRelationHeaderBytes, texts.data(), texts.size());
  const std::span<const std::byte> rows = text_relation_rows(relation);
  std::memcpy(state.data() + header.rows_begin(), rows.data(), flat_used(flat_header(rows.data())));

  std::byte* const slots = text_slots(state, header);
  if (from.slots == header.slots) {
    std::memcpy(slots, relation.data() + kTextRelationHeaderBytes + from.text_room, size_t{from.slots} * kTextSlotBytes);
    return;
  }
  std::memset(slots, 0, size_t{header.slots} * kTextSlotBytes);
  ItemTexts each(texts);
  uint32_t number = 0;
  PolledSteps steps(cancel);
  for (size_t offset = 0; each.next(); offset = texts.size() - each.rest().size()) {
    if (number == header.texts) refuse_text_relation("more texts than their number says");
    steps.add_text(each.text());
    const uint32_t hash = hash_text(each.text(), header.seed);
    insert_text_slot(slots, header.slots - 1, {hash, ++number, static_cast<uint32_t>(offset)}, steps);
  }
  if (number != header.texts) refuse_text_relation("fewer texts than their number says");
}

namespace {

/// For one look-up of a row, which nobody needs to cancel.
struct NoSteps {
  void add_text(std::string_view) const {}
  void add(size_t) const {}
};

/// text_relation_number() that tells its steps.
template <typename Steps>
int64_t number_of_text(std::span<std::byte> state, std::string_view text, Steps& steps) {
  TextRelationHeader header = text_relation_header(state.data());
  if (header.slots == 0) return -1;
  const std::span<const std::byte> texts = text_relation_texts(state);
  std::byte* const slots = text_slots(state, header);
  const uint32_t mask = header.slots - 1;
  steps.add_text(text);
  const uint32_t hash = hash_text(text, header.seed);
  size_t index = hash & mask;
  for (uint32_t probes = 0;; index = (index + 1) & mask) {
    const TextSlot slot = text_slot(slots, index);
    if (slot.number == 0) break;
    if (slot.hash == hash && slot.number <= header.texts && is_text_of(slot, texts, text)) return slot.number - 1;
    if (++probes == header.slots) return -1;  // only a damaged table is full
    steps.add(1);
  }
  if (header.texts >= header.slots / 2 || header.text_room - header.text_bytes < text_bytes_at_most(text.size())) return -1;
  set_text_slot(slots, index, {hash, ++header.texts, static_cast<uint32_t>(header.text_bytes)});
  std::byte* const at = state.data() + kTextRelationHeaderBytes + header.text_bytes;
  header.text_bytes += static_cast<uint64_t>(put_text(at, text) - at);
  set_text_header(state, header);
  return header.texts - 1;
}

}  // namespace

int64_t text_relation_number(std::span<std::byte> state, std::string_view text) {
  NoSteps steps;
  return number_of_text(state, text, steps);
}

TextRelationMerge::TextRelationMerge(std::span<const std::byte> other, std::span<std::string_view> texts,
                                     std::span<uint32_t> numbers, const CancelToken& cancel)
    : rows_(text_relation_rows(other)), texts_(texts), numbers_(numbers), at_(rows_.data() + kFlatHeaderBytes) {
  read_texts(text_relation_texts(other), texts, cancel);
}

bool TextRelationMerge::into(std::span<std::byte> state, const CancelToken& cancel) {
  PolledSteps steps(cancel);
  for (; next_ < texts_.size(); ++next_) {
    const int64_t number = number_of_text(state, texts_[next_], steps);
    if (number < 0) return false;
    numbers_[next_] = static_cast<uint32_t>(number);
  }
  const FlatHeader more = flat_header(rows_.data());
  const std::byte* const chunks_end = rows_.data() + kFlatHeaderBytes + more.sealed_bytes;
  TidItem rows[kChunkRows];
  while (at_ < chunks_end) {
    cancel.throw_if_requested();
    const ChunkView chunk = read_stored_chunk({at_, chunks_end});
    decode_chunk(chunk, rows);
    if (!append(state, {rows, chunk.rows})) return false;
    at_ += chunk.bytes;
  }
  std::memcpy(rows, chunks_end, more.open_rows * sizeof(TidItem));
  if (!append(state, {rows, more.open_rows})) return false;
  std::byte* const flat = text_relation_rows(state).data();
  FlatHeader header = flat_header(flat);
  header.carried = std::max(header.carried, more.carried);
  set_flat_header(flat, header);
  return true;
}

bool TextRelationMerge::append(std::span<std::byte> state, std::span<const TidItem> rows) const {
  const std::span<std::byte> flat = text_relation_rows(state);
  const size_t needed = flat_used(flat_header(flat.data())) + rows.size() * sizeof(TidItem) + 2 * kFlatSlack;
  if (flat.size() < needed) return false;
  check_numbers(rows, static_cast<uint32_t>(numbers_.size()));
  for (const TidItem& row : rows) flat_append(flat.data(), flat.size(), {row.tid, numbers_[static_cast<size_t>(row.item)]});
  return true;
}

size_t text_relation_finished_capacity(std::span<const std::byte> relation) {
  const TextRelationHeader header = text_relation_header(relation.data());
  const std::byte* const flat = text_relation_rows(relation).data();
  const FlatHeader rows = flat_header(flat);
  const auto column_bytes = [](uint64_t range, uint64_t count) { return (count * offset_width(range) + 7) & ~uint64_t{7}; };
  // The numbers of a chunk may spread over all texts.
  size_t bytes = kTextRelationHeaderBytes + header.text_bytes + kFlatHeaderBytes;
  const std::byte* at = flat + kFlatHeaderBytes;
  for (const std::byte* const end = at + rows.sealed_bytes; at < end;) {
    const ChunkView chunk = read_stored_chunk({at, end});
    bytes += kChunkHeaderBytes + column_bytes(chunk.tid_range, chunk.rows) + column_bytes(header.texts, chunk.rows);
    at += chunk.bytes;
  }
  return bytes + rows.open_rows * sizeof(TidItem) + kFlatSlack;
}

bool is_finished_text_relation(std::span<const std::byte> relation) {
  const TextRelationHeader header = text_relation_header(relation.data());
  if (header.slots != 0 || header.text_bytes != header.text_room) return false;
  const std::span<const std::byte> rows = text_relation_rows(relation);
  const FlatHeader flat = flat_header(rows.data());
  return flat.open_rows == 0 && flat_used(flat) == rows.size();
}

size_t text_relation_finish(std::span<const std::byte> relation, std::byte* out, MemoryMeter& meter,
                            const CancelToken& cancel) {
  TextRelationHeader header = text_relation_header(relation.data());
  Buffer<std::string_view> texts(meter, header.texts);
  read_texts(text_relation_texts(relation), texts.span(), cancel);
  Buffer<uint32_t> ranks(meter, header.texts);
  Buffer<uint32_t> order(meter, header.texts);
  rank_texts(texts.span(), ranks.span(), order.span(), meter, cancel);

  std::byte* at = out + kTextRelationHeaderBytes;
  for (const uint32_t number : order) at = put_text(at, texts[number]);
  header.slots = 0;
  header.seed = 0;
  header.text_room = header.text_bytes;
  std::memcpy(out, &header, sizeof header);

  const std::byte* const flat = text_relation_rows(relation).data();
  std::byte* const to = at;
  at += kFlatHeaderBytes;
  for_each_chunk(flat, cancel, [&](std::span<TidItem> rows) {
    check_numbers(rows, header.texts);
    for (TidItem& row : rows) row.item = ranks[static_cast<size_t>(row.item)];
    at += write_chunk(rows, at);
  });
  FlatHeader finished = flat_header(flat);
  finished.sealed_bytes = static_cast<uint64_t>(at - to) - kFlatHeaderBytes;
  finished.sealed_rows = finished.rows();
  finished.open_rows = 0;
  set_flat_header(to, finished);
  return static_cast<size_t>(at - out);
}

void text_relation_validate(std::span<const std::byte> bytes, MemoryMeter& meter, const CancelToken& cancel) {
  if (bytes.size() < kTextRelationHeaderBytes) refuse_text_relation("header is cut off");
  const TextRelationHeader header = text_relation_header(bytes.data());
  if (header.zero[0] != 0 || header.zero[1] != 0 || header.zero[2] != 0 || header.seed != 0)
    refuse_text_relation("reserved bytes are not zero");
  if (header.slots != 0 || header.text_bytes != header.text_room) refuse_text_relation("texts that are not sorted");
  if (header.text_bytes > bytes.size() - kTextRelationHeaderBytes) refuse_text_relation("length and header disagree");
  if (header.texts > header.text_bytes || header.texts > kMaxTexts)
    refuse_text_relation("number of texts and their bytes disagree");
  validate_texts(text_relation_texts(bytes), header.texts, cancel);
  const std::span<const std::byte> rows = text_relation_rows(bytes);
  flat_validate(rows);
  if (header.texts == 0) refuse_text_relation("text items without a text");
  Buffer<uint8_t> occurs(meter, header.texts, Fill::kZero);
  for_each_chunk(rows.data(), cancel, [&](std::span<const TidItem> of_chunk) {
    check_numbers(of_chunk, header.texts);
    for (const TidItem& row : of_chunk) occurs[static_cast<size_t>(row.item)] = 1;
  });
  if (std::find(occurs.begin(), occurs.end(), 0) != occurs.end()) refuse_text_relation("a text without a row");
}

bool has_numbers_of_texts(std::span<const std::byte> relation) {
  const uint64_t texts = text_relation_header(relation.data()).texts;
  const std::byte* const flat = text_relation_rows(relation).data();
  const std::byte* at = flat + kFlatHeaderBytes;
  for (const std::byte* const end = at + flat_header(flat).sealed_bytes; at < end;) {
    const ChunkView chunk = read_stored_chunk({at, end});
    if (chunk.item_base < 0 || chunk.item_range >= texts ||
        static_cast<uint64_t>(chunk.item_base) >= texts - chunk.item_range)
      return false;
    at += chunk.bytes;
  }
  return true;
}

}  // namespace batmap
