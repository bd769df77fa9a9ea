// Flat relations: append, merge and finish against a plain list of pairs; stored bytes against a golden
// file; malformed bytes.
#include "relation/flat_relation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "core/error.h"
#include "core/memory.h"
#include "relation/encoded_relation.h"
#include "test/unit/shared/golden.h"
#include "test/unit/shared/shapes.h"

namespace batmap::test {
namespace {

std::vector<std::tuple<int64_t, int64_t>> sorted(const std::vector<TidItem>& pairs) {
  std::vector<std::tuple<int64_t, int64_t>> all;
  for (const TidItem& pair : pairs) all.emplace_back(pair.tid, pair.item);
  std::sort(all.begin(), all.end());
  return all;
}

/// A relation that grows as its callers grow it: just enough room, in a block of the exact size.
class Flat {
 public:
  Flat() : bytes_(kFlatHeaderBytes) { flat_init(bytes_.data()); }
  explicit Flat(const std::vector<TidItem>& pairs) : Flat() {
    for (const TidItem& pair : pairs) append(pair);
  }

  void append(TidItem pair) {
    if (flat_append(bytes_.data(), bytes_.size(), pair)) return;
    const std::vector<std::byte> before = bytes_;
    bytes_.resize(flat_used(header()) + sizeof(TidItem) + kFlatSlack - 1);
    EXPECT_FALSE(flat_append(bytes_.data(), bytes_.size(), pair)) << "one byte short";
    EXPECT_TRUE(std::equal(before.begin(), before.begin() + static_cast<ptrdiff_t>(flat_used(header())), bytes_.begin()))
        << "refused, yet changed";
    bytes_.resize(std::max(bytes_.size() + 1, flat_used(header()) * 2));
    EXPECT_TRUE(flat_append(bytes_.data(), bytes_.size(), pair));
  }
  void merge(const Flat& other) {
    bytes_.resize(std::max(bytes_.size(), flat_merged_capacity(header(), other.bytes_.data())));
    flat_merge(bytes_.data(), bytes_.size(), other.bytes_.data(), {});
  }
  void seal() {
    bytes_.resize(std::max(bytes_.size(), flat_used(header()) + kFlatSlack));
    flat_seal(bytes_.data());
  }
  Flat finished() const {
    Flat out;
    out.bytes_.resize(flat_finished_capacity(header()));
    const size_t size = flat_finish(bytes_.data(), out.bytes_.data());
    EXPECT_LE(size, out.bytes_.size());
    out.bytes_.resize(size);
    return out;
  }
  void set_carried(int64_t count) {
    FlatHeader header_now = header();
    header_now.carried = count;
    set_flat_header(bytes_.data(), header_now);
  }

  FlatHeader header() const { return flat_header(bytes_.data()); }
  const std::vector<std::byte>& bytes() const { return bytes_; }
  std::vector<std::byte>& bytes() { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

std::vector<TidItem> rows_of(const std::byte* bytes) {
  std::vector<TidItem> all;
  for (const ChunkView& chunk : flat_chunks(bytes)) {
    std::vector<TidItem> pairs(chunk.rows);
    decode_chunk(chunk, pairs.data());
    all.insert(all.end(), pairs.begin(), pairs.end());
  }
  return all;
}

/// Finishes, checks every guarantee about a finished value, and returns its rows.
std::vector<TidItem> finished_rows(const Flat& flat) {
  const Flat finished = flat.finished();
  EXPECT_NO_THROW(flat_validate(finished.bytes()));
  EXPECT_EQ(finished.header().open_rows, 0u);
  EXPECT_EQ(finished.header().rows(), flat.header().rows());
  EXPECT_EQ(finished.header().carried, flat.header().carried);
  EXPECT_EQ(flat_used(finished.header()), finished.bytes().size());
  EXPECT_EQ(finished.finished().bytes(), finished.bytes()) << "finishing twice changes nothing";
  const std::vector<TidItem> rows = rows_of(finished.bytes().data());
  EXPECT_EQ(rows.size(), finished.header().rows());
  return rows;
}

bool refused(const std::vector<std::byte>& bytes) {
  try {
    flat_validate(bytes);
    return false;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidData);
    return true;
  }
}

const size_t kSizes[] = {0, 1, 2, 1023, 1024, 1025, 4095, 4096, 4097, 9000};

TEST(FlatRelation, KeepsWhatIsAppended) {
  Random random(kSeed);
  for (const size_t size : kSizes) {
    std::vector<TidItem> pairs = random_rows(random, size, 100000, 300);
    if (size > 3) pairs[1] = {INT64_MIN, INT64_MAX}, pairs[2] = pairs[3];
    const Flat flat(pairs);
    EXPECT_EQ(flat.header().rows(), size);
    EXPECT_EQ(flat.header().open_rows, size % kChunkRows);
    const std::vector<TidItem> rows = finished_rows(flat);
    EXPECT_EQ(sorted(rows), sorted(pairs)) << size << " rows, seed " << kSeed;
  }
}

TEST(FlatRelation, MergesEveryCombinationOfSizes) {
  Random random(kSeed + 1);
  for (const size_t left_size : kSizes)
    for (const size_t right_size : kSizes) {
      const std::vector<TidItem> left = random_rows(random, left_size, 5000, 90);
      const std::vector<TidItem> right = random_rows(random, right_size, 900000, 70000);
      std::vector<TidItem> both = left;
      both.insert(both.end(), right.begin(), right.end());
      const Flat other(right);
      // The other side in each of its states: while it is built, packed, and finished.
      for (const int state : {0, 1, 2}) {
        Flat merged(left);
        Flat packed(right);
        packed.seal();
        const Flat& source = state == 0 ? other : state == 1 ? packed : packed.finished();
        merged.merge(source);
        EXPECT_EQ(merged.header().rows(), both.size());
        ASSERT_EQ(sorted(finished_rows(merged)), sorted(both))
            << left_size << " + " << right_size << ", state " << state << ", seed " << kSeed;
      }
    }
}

// Many small relations become chunks of thousands of rows, not many small ones.
TEST(FlatRelation, MergingManySmallOnesLeavesNoTinyChunks) {
  Random random(kSeed + 2);
  Flat sum;
  std::vector<TidItem> all;
  for (int i = 0; i < 400; ++i) {
    const std::vector<TidItem> pairs = random_rows(random, random.below(60), 1000, 1000);
    all.insert(all.end(), pairs.begin(), pairs.end());
    sum.merge(i % 2 == 0 ? Flat(pairs) : Flat(pairs).finished());
  }
  EXPECT_EQ(sorted(finished_rows(sum)), sorted(all));
  EXPECT_LE(flat_chunks(sum.finished().bytes().data()).size(), all.size() / 1024 + 1);
}

TEST(FlatRelation, LargeChunksAreKeptAsTheyAre) {
  Random random(kSeed + 3);
  const std::vector<TidItem> pairs = random_rows(random, 1024, 1000, 1000);
  const Flat other = Flat(pairs).finished();
  Flat sum(random_rows(random, 10, 10, 10));
  sum.merge(other);
  EXPECT_EQ(sum.header().open_rows, 10u);
  EXPECT_EQ(sum.header().sealed_bytes, other.header().sealed_bytes);
}

TEST(FlatRelation, MergingKeepsTheLargerThreshold) {
  for (const auto& [left, right] : {std::pair{0, 0}, {0, 5}, {5, 0}, {5, 7}, {7, 5}}) {
    Flat sum({{1, 1}});
    sum.set_carried(left);
    Flat other({{2, 2}});
    other.set_carried(right);
    sum.merge(other);
    EXPECT_EQ(sum.header().carried, std::max(left, right));
    EXPECT_EQ(sum.finished().header().carried, std::max(left, right));
  }
}

TEST(FlatRelation, EmptyOneIsAHeader) {
  const Flat empty;
  EXPECT_EQ(empty.finished().bytes().size(), kFlatHeaderBytes);
  EXPECT_FALSE(refused(empty.finished().bytes()));
  EXPECT_TRUE(flat_chunks(empty.bytes().data()).empty());
}

TEST(FlatRelation, PackingNeverNeedsMoreThanTheSlack) {
  // The worst case: 8-byte offsets in both columns.
  for (const size_t size : {1, 2, 3, 4095}) {
    std::vector<TidItem> pairs(size, TidItem{INT64_MIN, INT64_MAX});
    if (size > 1) pairs.back() = {INT64_MAX, INT64_MIN};
    Flat flat(pairs);
    const size_t used = flat_used(flat.header());
    flat.seal();
    EXPECT_LE(flat_used(flat.header()), used + kFlatSlack);
    EXPECT_EQ(sorted(finished_rows(flat)), sorted(pairs));
  }
}

TEST(FlatRelation, EveryTruncationIsRefused) {
  Random random(kSeed + 4);
  const std::vector<std::byte> bytes = Flat(random_rows(random, 40, 300, 5)).finished().bytes();
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_TRUE(refused(std::vector(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(size)))) << size;
  std::vector<std::byte> longer = bytes;
  longer.push_back(std::byte{0});
  EXPECT_TRUE(refused(longer));
  longer.resize(bytes.size() + 64);
  EXPECT_TRUE(refused(longer)) << "room is not part of a finished value";
}

// A changed value that is accepted has other rows, and is in the one form that these have.
TEST(FlatRelation, EverySingleBitFlipIsRefusedOrAnotherRelation) {
  Random random(kSeed + 5);
  Flat state(random_rows(random, 1500, 300, 5));
  state.seal();
  for (const TidItem& pair : random_rows(random, 9, 100000, 1)) state.append(pair);
  const std::vector<std::byte> bytes = state.finished().bytes();
  const std::vector<TidItem> before = rows_of(bytes.data());
  int accepted = 0;
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    if (bit > 3000 && bit + 1500 < bytes.size() * 8 && bit % 37 != 0) continue;  // most bits of the columns are sampled
    std::vector<std::byte> flipped = bytes;
    flipped[bit / 8] ^= std::byte{1} << (bit % 8);
    if (refused(flipped)) continue;
    ++accepted;
    const std::vector<TidItem> rows = rows_of(flipped.data());
    const FlatHeader header = flat_header(flipped.data());
    ASSERT_EQ(rows.size(), header.rows());
    EXPECT_TRUE(sorted(rows) != sorted(before) || header.carried != 0) << "nothing changed by bit " << bit;
    std::vector<std::byte> again(kFlatHeaderBytes);
    set_flat_header(again.data(), header);
    size_t from = 0;
    for (const ChunkView& chunk : flat_chunks(flipped.data())) {
      std::vector<std::byte> packed(kChunkMaxBytes);
      packed.resize(write_chunk(std::span(rows).subspan(from, chunk.rows), packed.data()));
      again.insert(again.end(), packed.begin(), packed.end());
      from += chunk.rows;
    }
    ASSERT_EQ(again, flipped) << "bit " << bit;
  }
  EXPECT_GT(accepted, 100);
}

// Stored bytes are not validated again. Whatever they say, reading, merging and coding stay in the value and in their room.
TEST(FlatRelation, DamagedChunksLeadNowhere) {
  Random random(kSeed + 8);
  Flat state(random_rows(random, 1500, 300, 5));
  state.seal();
  for (const TidItem& pair : random_rows(random, 9, 100000, 1)) state.append(pair);
  const Flat finished = state.finished();
  ASSERT_EQ(flat_chunks(finished.bytes().data()).size(), 2u);
  std::vector<bool> is_header(finished.bytes().size());
  for (const ChunkView& chunk : flat_chunks(finished.bytes().data()))
    std::fill_n(is_header.begin() + (chunk.tids - finished.bytes().data()) - static_cast<ptrdiff_t>(kChunkHeaderBytes),
                kChunkHeaderBytes, true);
  MemoryMeter meter;
  const ExecutionOptions options{1, &meter, {}};
  int refused = 0;
  for (size_t bit = kFlatHeaderBytes * 8; bit < finished.bytes().size() * 8; ++bit) {
    if (!is_header[bit / 8] && bit % 5 != 0) continue;  // most bits of the columns are sampled
    Flat damaged = finished;
    damaged.bytes()[bit / 8] ^= std::byte{1} << (bit % 8);
    try {
      EXPECT_EQ(rows_of(damaged.bytes().data()).size(), finished.header().rows());
      const EncodedRelation coded(flat_chunks(damaged.bytes().data()), {}, options);
      EXPECT_EQ(coded.rows(), finished.header().rows());
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidData);
      ++refused;
    }
    try {
      Flat target;
      target.merge(damaged);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidData);
    }
  }
  EXPECT_GT(refused, 500);
}

TEST(FlatRelation, HeadersThatDisagreeAreRefused) {
  const std::vector<std::byte> good = Flat({{1, 1}, {2, 2}}).finished().bytes();
  const auto with = [&](auto change) {
    std::vector<std::byte> bytes = good;
    FlatHeader header = flat_header(bytes.data());
    change(header);
    set_flat_header(bytes.data(), header);
    return bytes;
  };
  EXPECT_FALSE(refused(with([](FlatHeader&) {})));
  EXPECT_FALSE(refused(with([](FlatHeader& h) { h.carried = INT64_MAX; })));
  EXPECT_TRUE(refused(with([](FlatHeader& h) { h.carried = -1; })));
  EXPECT_TRUE(refused(with([](FlatHeader& h) { h.version = 0; })));
  EXPECT_TRUE(refused(with([](FlatHeader& h) { h.version = 2; })));
  for (const int at : {0, 1, 2}) EXPECT_TRUE(refused(with([&](FlatHeader& h) { h.zero[at] = 1; })));
  EXPECT_TRUE(refused(with([](FlatHeader& h) { h.sealed_rows = 1; })));
  EXPECT_TRUE(refused(with([](FlatHeader& h) { h.sealed_rows = 3; })));
  EXPECT_TRUE(refused(with([](FlatHeader& h) { h.sealed_bytes = UINT64_MAX; })));
  EXPECT_TRUE(refused(with([](FlatHeader& h) { h.sealed_bytes = 0; })));
  EXPECT_TRUE(refused(with([](FlatHeader& h) { h.open_rows = 1; })));
  EXPECT_TRUE(refused(Flat({{1, 1}}).bytes())) << "not finished";
}

// The check that every function makes before it reads: valid with any room behind, invalid with
// less than the header says.
TEST(FlatRelation, SoundHeadersAreToldFromOthers) {
  Flat state({{1, 1}, {2, 2}});
  state.seal();
  state.append({3, 3});
  const std::vector<std::byte> bytes = state.bytes();
  const size_t used = flat_used(flat_header(bytes.data()));
  for (size_t size = 0; size <= bytes.size(); ++size)
    EXPECT_EQ(is_flat_relation(std::span(bytes).first(size)), size >= used) << size;
  auto sound = [&](auto change) {
    std::vector<std::byte> changed = bytes;
    FlatHeader header = flat_header(changed.data());
    change(header);
    set_flat_header(changed.data(), header);
    return is_flat_relation(changed);
  };
  EXPECT_TRUE(sound([](FlatHeader& h) { h.carried = INT64_MAX; }));
  EXPECT_FALSE(sound([](FlatHeader& h) { h.carried = -1; }));
  EXPECT_FALSE(sound([](FlatHeader& h) { h.version = 2; }));
  EXPECT_FALSE(sound([](FlatHeader& h) { h.zero[2] = 1; }));
  EXPECT_FALSE(sound([](FlatHeader& h) { h.open_rows = kChunkRows; }));
  EXPECT_FALSE(sound([](FlatHeader& h) { h.open_rows = UINT32_MAX; }));
  EXPECT_FALSE(sound([](FlatHeader& h) { h.sealed_bytes = UINT64_MAX; }));
  EXPECT_FALSE(sound([](FlatHeader& h) { h.sealed_bytes = UINT64_MAX - 100; }));
  EXPECT_FALSE(sound([](FlatHeader& h) { h.sealed_bytes = 0; })) << "rows without bytes";
  EXPECT_FALSE(sound([](FlatHeader& h) { h.sealed_rows = 0; })) << "bytes without rows";
  EXPECT_FALSE(sound([](FlatHeader& h) { h.sealed_rows = UINT64_MAX; }));
}

TEST(FlatRelation, MergingIsCancelled) {
  std::vector<TidItem> rows(10000);
  for (size_t k = 0; k < rows.size(); ++k) rows[k] = {static_cast<int64_t>(k), 1};
  const std::vector<std::byte> other = Flat(rows).finished().bytes();
  std::vector<std::byte> state(kFlatHeaderBytes);
  flat_init(state.data());
  state.resize(flat_merged_capacity(flat_header(state.data()), other.data()));
  const CancelToken cancel{[](void*) { return true; }, nullptr};
  EXPECT_THROW(flat_merge(state.data(), state.size(), other.data(), cancel), Error);
}

// Stored values must stay readable: the bytes of a small relation, as they are in tables.
TEST(FlatRelation, BytesAreThoseOfTheGoldenFile) {
  std::vector<TidItem> pairs;
  for (int64_t tid = 1; tid <= 4; ++tid)
    for (int64_t item = 1; item <= tid; ++item) pairs.push_back({tid, item * item * 100 - 250});
  pairs.push_back({4, 1350});
  Flat state(pairs);
  state.seal();
  state.append({INT64_MIN, -1});
  state.append({INT64_MAX, -1});
  state.set_carried(3);
  const Flat finished = state.finished();
  const auto bytes = finished.bytes();
  EXPECT_EQ(hex_of({bytes.begin(), bytes.end()}), hex_of(golden_bytes("small_relation")));
}

}  // namespace
}  // namespace batmap::test
