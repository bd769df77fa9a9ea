// Relations of text items: append, merge and finish against a plain list of rows; stored bytes against a golden file;
// malformed bytes.
#include "relation/text_relation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "core/error.h"
#include "test/unit/shared/golden.h"
#include "test/unit/shared/shapes.h"
#include "test/unit/shared/text_relations.h"

namespace batmap::test {
namespace {

TextRows random_text_rows(Random& random, size_t count, uint64_t tids, uint64_t texts) {
  TextRows rows;
  for (size_t i = 0; i < count; ++i) {
    const uint64_t text = random.below(texts);
    rows.emplace_back(random.signed_below(tids), text == 0 ? "" : std::string(text % 40, 'x') + std::to_string(text * 7919));
  }
  return rows;
}

bool is_refused_relation(const TextBytes& bytes) {
  MemoryMeter meter;
  try {
    text_relation_validate(bytes, meter, {});
    return false;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidData);
    return true;
  }
}

/// Finishes, checks every guarantee about a finished value, and returns its rows.
TextRows checked_rows(const TextBytes& relation) {
  EXPECT_TRUE(is_text_relation(relation));
  const TextBytes finished = finished_text_relation(relation);
  EXPECT_FALSE(is_refused_relation(finished));
  EXPECT_TRUE(is_text_relation(finished));
  EXPECT_TRUE(is_finished_text_relation(finished));
  EXPECT_TRUE(has_numbers_of_texts(finished));
  EXPECT_EQ(finished_text_relation(finished), finished) << "finishing twice changes nothing";
  const TextRows rows = rows_of_texts(finished);
  std::set<std::string> texts;
  for (const TextRow& row : rows) texts.insert(std::get<1>(row));
  EXPECT_EQ(text_relation_header(finished.data()).texts, texts.size());
  return rows;
}

TEST(TextRelation, KeepsWhatIsAppended) {
  Random random(kSeed);
  for (const size_t count : {1, 2, 4095, 4096, 4097})
    for (const uint64_t texts : {1, 300, 5000}) {
      TextRows rows = random_text_rows(random, count, 100000, texts);
      if (count > 3) rows[1] = {INT64_MIN, std::string(300, 'y')}, rows[2] = rows[3];
      EXPECT_EQ(sorted_rows(checked_rows(text_state_of(rows))), sorted_rows(rows))
          << count << " rows, " << texts << " texts";
    }
}

TEST(TextRelation, MergesEveryCombinationOfSizes) {
  Random random(kSeed + 1);
  for (const size_t left_count : {1, 4095})
    for (const size_t right_count : {1, 4097}) {
      const TextRows left = random_text_rows(random, left_count, 5000, 90);
      const TextRows right = random_text_rows(random, right_count, 900000, 3000);
      TextRows both = left;
      both.insert(both.end(), right.begin(), right.end());
      // Each side while it is built, and finished.
      for (const bool left_finished : {false, true})
        for (const bool right_finished : {false, true}) {
          TextBytes merged = left_finished ? finished_text_relation(text_state_of(left)) : text_state_of(left);
          merge_text_state(merged, right_finished ? finished_text_relation(text_state_of(right)) : text_state_of(right));
          ASSERT_EQ(sorted_rows(checked_rows(merged)), sorted_rows(both)) << left_count << " + " << right_count;
        }
    }
}

TEST(TextRelation, EqualTextsAreEqualBytes) {
  Random random(kSeed + 2);
  TextRows rows = random_text_rows(random, 3000, 100, 500);
  const auto dictionary = [](const TextRows& of) {
    const TextBytes finished = finished_text_relation(text_state_of(of));
    return TextBytes(finished.begin(),
                     finished.begin() + static_cast<ptrdiff_t>(text_relation_header(finished.data()).rows_begin()));
  };
  const TextBytes before = dictionary(rows);
  random.shuffle(rows);
  EXPECT_EQ(dictionary(rows), before);
  rows.emplace_back(1, "one more");
  EXPECT_NE(dictionary(rows), before);
}

TEST(TextRelation, CarriedNumberIsKept) {
  TextBytes state = text_state_of({{1, "a"}});
  TextBytes other = text_state_of({{1, "b"}});
  std::byte* const flat = text_relation_rows(std::span(other)).data();
  FlatHeader header = flat_header(flat);
  header.carried = 7;
  set_flat_header(flat, header);
  merge_text_state(state, other);
  const TextBytes finished = finished_text_relation(state);
  EXPECT_EQ(flat_header(text_relation_rows(std::span<const std::byte>(finished)).data()).carried, 7);
}

TEST(TextRelation, WithoutRoomNothingChanges) {
  TextBytes state = text_state_of({{1, "a"}, {2, "b"}});
  const TextBytes before = state;
  EXPECT_EQ(text_relation_number(state, std::string(1000, 'x')), -1);
  EXPECT_EQ(state, before);
  const TextBytes finished = finished_text_relation(state);
  TextBytes changed = finished;
  EXPECT_EQ(text_relation_number(changed, "a"), -1) << "a finished value has no table";
  EXPECT_EQ(changed, finished);
}

TEST(TextRelation, EveryTruncationIsRefused) {
  Random random(kSeed + 3);
  const TextBytes bytes = finished_text_relation(text_state_of(random_text_rows(random, 30, 30, 5)));
  for (size_t size = 0; size < bytes.size(); ++size) {
    const TextBytes truncated(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(size));
    EXPECT_TRUE(is_refused_relation(truncated)) << size;
    EXPECT_FALSE(is_text_relation(truncated)) << size;
  }
  TextBytes longer = bytes;
  longer.resize(bytes.size() + 64);
  EXPECT_TRUE(is_refused_relation(longer)) << "room is not part of a finished value";
  EXPECT_TRUE(is_text_relation(longer));
  EXPECT_TRUE(is_refused_relation(text_state_of({{1, "a"}}))) << "not finished";
}

// A changed value that is accepted is another relation in its one form.
TEST(TextRelation, EverySingleBitFlipIsRefusedOrAnotherRelation) {
  Random random(kSeed + 4);
  const TextBytes bytes = finished_text_relation(text_state_of(random_text_rows(random, 60, 20, 12)));
  const TextRows before = rows_of_texts(bytes);
  int accepted = 0;
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    TextBytes flipped = bytes;
    flipped[bit / 8] ^= std::byte{1} << (bit % 8);
    if (flipped[0] != bytes[0] || is_refused_relation(flipped)) continue;
    ++accepted;
    ASSERT_EQ(finished_text_relation(flipped), flipped) << "bit " << bit;
    const std::byte* const flat = text_relation_rows(std::span<const std::byte>(flipped)).data();
    EXPECT_TRUE(rows_of_texts(flipped) != before || flat_header(flat).carried != 0) << "nothing changed by bit " << bit;
  }
  EXPECT_GT(accepted, 100);
}

TEST(TextRelation, SoundHeadersAreToldFromOthers) {
  const TextBytes bytes = text_state_of({{1, "a"}, {2, "b"}, {3, "c"}});
  const auto sound = [&](auto change) {
    TextBytes changed = bytes;
    TextRelationHeader header = text_relation_header(changed.data());
    change(header);
    std::memcpy(changed.data(), &header, sizeof header);
    return is_text_relation(changed);
  };
  EXPECT_TRUE(sound([](TextRelationHeader&) {}));
  EXPECT_FALSE(sound([](TextRelationHeader& h) { h.version = 1; }));
  for (const int at : {0, 1, 2}) EXPECT_FALSE(sound([&](TextRelationHeader& h) { h.zero[at] = 1; }));
  EXPECT_TRUE(sound([](TextRelationHeader& h) { h.seed = 1; }));
  TextBytes finished = finished_text_relation(bytes);
  const uint32_t seed = 1;
  std::memcpy(finished.data() + offsetof(TextRelationHeader, seed), &seed, sizeof seed);
  EXPECT_FALSE(is_text_relation(finished)) << "no table, no seed";
  EXPECT_TRUE(is_refused_relation(finished));
  for (const uint32_t slots : {0u, 1u, 2u, 7u, 9u, 4u, 1u << 20, 1u << 31})
    EXPECT_FALSE(sound([&](TextRelationHeader& h) { h.slots = slots; })) << slots;
  EXPECT_FALSE(sound([](TextRelationHeader& h) { h.texts = 100; }));
  EXPECT_FALSE(sound([](TextRelationHeader& h) { h.texts = UINT32_MAX; }));
  EXPECT_FALSE(sound([](TextRelationHeader& h) { h.text_bytes = h.text_room + 1; }));
  EXPECT_FALSE(sound([](TextRelationHeader& h) { h.text_room = UINT64_MAX; }));
  EXPECT_FALSE(sound([](TextRelationHeader& h) { h.text_room = UINT64_MAX - 31; }));
}

// Only storage that is damaged holds such bytes. They raise an error or give other rows, and nothing else.
TEST(TextRelation, DamagedStatesDoNoHarm) {
  Random random(kSeed + 5);
  const TextBytes good = text_state_of(random_text_rows(random, 200, 50, 30));
  const size_t from = kTextRelationHeaderBytes;
  const size_t to = text_relation_header(good.data()).rows_begin();
  for (int i = 0; i < 3000; ++i) {
    TextBytes state = good;
    for (uint64_t k = random.below(4); k < 4; ++k)
      state[from + random.below(to - from)] = static_cast<std::byte>(random.bits());
    ASSERT_TRUE(is_text_relation(state));
    try {
      append_text(state, 1, "new");
      append_text(state, 1, std::string(5, 'x') + std::to_string(5 * 7919));
      merge_text_state(state, good);
      finished_text_relation(state);
    } catch (const std::exception&) {
    }
  }
  // An item without a text.
  TextBytes finished = finished_text_relation(text_state_of({{1, "a"}, {2, "b"}}));
  finished[finished.size() - 7] = std::byte{9};  // the second item; the range of the chunk is 1
  TextBytes state = text_state_of({{1, "c"}});
  EXPECT_THROW(merge_text_state(state, finished), Error);
  EXPECT_THROW(finished_text_relation(finished), Error);
  finished[finished.size() - 16 - 40 + 24] = std::byte{9};  // and the range itself
  EXPECT_FALSE(has_numbers_of_texts(finished));
}

TEST(TextRelation, MergingAndFinishingAreCancelled) {
  Random random(kSeed + 6);
  const TextBytes state = text_state_of(random_text_rows(random, 9000, 100, 100));
  const CancelToken cancel{[](void*) { return true; }, nullptr};
  TextBytes into = text_state_of({{1, "a"}});
  EXPECT_THROW(merge_text_state(into, state, cancel), Error);
  MemoryMeter meter;
  TextBytes out(text_relation_finished_capacity(state));
  EXPECT_THROW(text_relation_finish(state, out.data(), meter, cancel), Error);
  EXPECT_THROW(text_relation_validate(finished_text_relation(state), meter, cancel), Error);
  MemoryMeter small(100);
  EXPECT_THROW(text_relation_finish(state, out.data(), small, {}), Error);
}

// The seed stays with its table, and is not seen in a finished value.
TEST(TextRelation, SeedsChangeTheTableOnly) {
  Random random(kSeed + 7);
  const TextRows rows = random_text_rows(random, 500, 100, 90);
  const TextBytes plain = text_state_of(rows);
  const auto copy = [&](const TextBytes& from, size_t more_texts, uint32_t seed) {
    const TextRelationRoom room = text_relation_needed(from, 100, static_cast<uint32_t>(more_texts), 1);
    TextBytes state(room.bytes());
    text_relation_copy(from, state, room, {}, seed);
    return state;
  };
  TextBytes seeded = copy(finished_text_relation(plain), 1, 77);
  EXPECT_EQ(text_relation_header(seeded.data()).seed, 77u);
  EXPECT_EQ(text_relation_header(copy(seeded, 1, 78).data()).seed, 77u) << "the table was copied";
  EXPECT_EQ(text_relation_header(copy(seeded, 5000, 78).data()).seed, 78u) << "the table was built anew";
  for (const TextBytes& state : {seeded, copy(seeded, 1, 78), copy(seeded, 5000, 78)}) {
    TextBytes again = state;
    merge_text_state(again, plain);
    EXPECT_EQ(text_relation_header(again.data()).texts, text_relation_header(plain.data()).texts) << "all texts are found";
    EXPECT_EQ(finished_text_relation(state), finished_text_relation(copy(finished_text_relation(plain), 1, 0)));
  }
  const TextRelationRoom room{0, kFirstTextSlots, kFlatHeaderBytes};
  TextBytes empty(room.bytes());
  text_relation_init(empty, room, 79);
  EXPECT_EQ(text_relation_header(empty.data()).seed, 79u);
}

// The token is asked by the work that was done, not by the number of texts.
TEST(TextRelation, LongTextsArePolledMoreOften) {
  TextRows rows;
  for (char c = 'a'; c <= 'z'; ++c) rows.emplace_back(1, std::string(1 << 17, c));
  const TextBytes state = text_state_of(rows);
  int polls = 0;
  const CancelToken counting{[](void* arg) { return ++*static_cast<int*>(arg) < 0; }, &polls};
  TextBytes into = with_more_text_room(text_state_of({{1, "x"}}), 27 << 17, 26, kChunkRows);
  merge_text_state(into, state, counting);
  EXPECT_GE(polls, 3) << "26 texts of 8,192 steps";
  polls = 0;
  const TextRelationRoom room = text_relation_needed(state, 1, 100, 1);
  TextBytes copy(room.bytes());
  text_relation_copy(state, copy, room, counting);
  EXPECT_GE(polls, 3);
}

// Near the largest size, whatever the parts fill up with, the state is copied a few times and not for each chunk.
TEST(TextRelation, FewCopiesLeadToTheLargestSize) {
  constexpr size_t kMax = size_t{1} << 30;
  for (const size_t text_bytes : {0, 12, 1000, 1 << 20})
    for (const size_t row_bytes : {1, 16, 100000}) {
      TextRelationRoom used{100000, 8, 100000};
      int copies = 0;
      for (;; ++copies) {
        ASSERT_LT(copies, 200) << text_bytes << " " << row_bytes;
        const TextRelationRoom needed{used.texts + text_bytes, used.slots,
                                      used.relation + std::max<size_t>(row_bytes, 70000)};
        if (needed.bytes() > kMax - kMax / 1024) break;
        const TextRelationRoom wanted{needed.texts + needed.texts / 4, needed.slots, needed.relation + needed.relation / 4};
        const TextRelationRoom room = text_relation_room_within(needed, wanted, kMax);
        ASSERT_LE(room.bytes(), kMax);
        ASSERT_TRUE(room.texts >= needed.texts && room.relation >= needed.relation && room.slots >= needed.slots);
        ASSERT_TRUE(room.bytes() == wanted.bytes() || wanted.bytes() > kMax);
        const size_t fill = std::min(text_bytes == 0 ? SIZE_MAX : (room.texts - used.texts) / text_bytes,
                                     (room.relation - used.relation) / row_bytes);
        used.texts += fill * text_bytes;
        used.relation += fill * row_bytes;
      }
      EXPECT_GT(used.bytes(), kMax / 100 * 95);
    }
  const TextRelationRoom needed{kMax, 8, 100};
  EXPECT_EQ(text_relation_room_within(needed, {2 * kMax, 8, 200}, kMax).bytes(), needed.bytes()) << "too large";
}

// Stored values must stay readable: the bytes of a small relation, as they are in tables.
TEST(TextRelation, BytesAreThoseOfTheGoldenFile) {
  const auto bytes = finished_text_relation(text_state_of({{1, "milk"}, {1, "bread"}, {2, "milk"}, {2, ""}, {4, "bread"}}));
  EXPECT_EQ(hex_of({bytes.begin(), bytes.end()}), hex_of(golden_bytes("small_text_relation")));
}

}  // namespace
}  // namespace batmap::test
