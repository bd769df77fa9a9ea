// Relations of text items for tests: a state that grows as its callers grow it, with just enough room in a block of the
// exact size, so that a sanitizer detects an access one byte past the end.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/memory.h"
#include "relation/text_relation.h"

namespace batmap::test {

using TextBytes = std::vector<std::byte>;
using TextRow = std::tuple<int64_t, std::string>;
using TextRows = std::vector<TextRow>;

inline TextRows sorted_rows(TextRows rows) {
  std::sort(rows.begin(), rows.end());
  return rows;
}

inline TextBytes empty_text_state() {
  const TextRelationRoom room{0, kFirstTextSlots, kFlatHeaderBytes};
  TextBytes state(room.bytes());
  text_relation_init(state, room);
  return state;
}

/// A state with room for so much more, and no more.
inline TextBytes with_more_text_room(const TextBytes& relation, size_t text_bytes, uint32_t texts, size_t rows) {
  const TextRelationRoom room = text_relation_needed(relation, text_bytes, texts, rows);
  TextBytes state(room.bytes());
  text_relation_copy(relation, state, room, {});
  return state;
}

inline void append_text(TextBytes& state, int64_t tid, std::string_view text) {
  if (text_relation_append(state, tid, text)) return;
  const uint64_t rows = flat_header(text_relation_rows(std::span<const std::byte>(state)).data()).rows();
  state = with_more_text_room(state, text_bytes_at_most(text.size()), 1, 1 + rows / 4);
  if (!text_relation_append(state, tid, text)) throw std::logic_error("no room after growing");
}

inline TextBytes text_state_of(const TextRows& rows) {
  TextBytes state = empty_text_state();
  for (const auto& [tid, text] : rows) append_text(state, tid, text);
  return state;
}

inline void merge_text_state(TextBytes& state, const TextBytes& other, const CancelToken& cancel = {}) {
  const uint32_t texts = text_relation_header(other.data()).texts;
  std::vector<std::string_view> views(texts);
  std::vector<uint32_t> numbers(texts);
  TextRelationMerge merge(other, views, numbers, cancel);
  while (!merge.into(state, cancel)) state = with_more_text_room(state, merge.next_text_bytes(), 1, kChunkRows);
}

inline TextBytes finished_text_relation(const TextBytes& relation) {
  MemoryMeter meter;
  TextBytes out(text_relation_finished_capacity(relation));
  out.resize(text_relation_finish(relation, out.data(), meter, {}));
  return out;
}

/// The rows of a finished relation.
inline TextRows rows_of_texts(const TextBytes& finished) {
  std::vector<std::string_view> texts(text_relation_header(finished.data()).texts);
  read_texts(text_relation_texts(finished), texts, {});
  TextRows rows;
  for (const ChunkView& chunk : flat_chunks(text_relation_rows(std::span<const std::byte>(finished)).data())) {
    std::vector<TidItem> pairs(chunk.rows);
    decode_chunk(chunk, pairs.data());
    for (const TidItem& pair : pairs) rows.emplace_back(pair.tid, texts.at(static_cast<size_t>(pair.item)));
  }
  return rows;
}

}  // namespace batmap::test
