// Roaring bytes against vectors written by hand from the RoaringFormatSpec, round trips, and invalid bytes.
#include "compact/roaring_format.h"

#include <gtest/gtest.h>

#include <functional>

#include "test/unit/shared/sets.h"

namespace batmap::test {
namespace {

Elements read(const Bytes& bytes, RoaringForm form) {
  CompactWriter out(test_options());
  read_roaring(bytes, form, *best_set_kernel().compact, out, test_options());
  const Bytes compact = written(out);
  validate_compact(compact);
  return decoded(SetView::open(compact));
}

Bytes write(const Elements& elements, RoaringForm form) {
  const Bytes compact = encode_compact(elements);
  GrowingBuffer<std::byte> out(test_meter());
  write_roaring(CompactView::open(compact), form, out, test_options());
  return {out.begin(), out.end()};
}

std::optional<ErrorCode> refusal(const Bytes& bytes, RoaringForm form) {
  try {
    read(bytes, form);
    return std::nullopt;
  } catch (const Error& error) {
    return error.code();
  }
}

/// Writes little-endian numbers of the given sizes, in the order of the specification's fields.
class Fields {
 public:
  Fields& u16(std::initializer_list<uint64_t> values) { return add(values, 2); }
  Fields& u32(std::initializer_list<uint64_t> values) { return add(values, 4); }
  Fields& u64(std::initializer_list<uint64_t> values) { return add(values, 8); }
  Fields& u8(std::initializer_list<uint64_t> values) { return add(values, 1); }
  Fields& all(const Bytes& more) {
    bytes.insert(bytes.end(), more.begin(), more.end());
    return *this;
  }
  Bytes bytes;

 private:
  Fields& add(std::initializer_list<uint64_t> values, int size) {
    for (const uint64_t value : values)
      for (int i = 0; i < size; ++i) bytes.push_back(static_cast<std::byte>(value >> (8 * i)));
    return *this;
  }
};

// Two arrays: cookie, count; (key, cardinality - 1) of each; offsets; values.
Bytes two_arrays() { return Fields().u32({12346, 2}).u16({0, 2, 3, 1}).u32({24, 30}).u16({1, 5, 65535}).u16({0, 7}).bytes; }
const Elements kTwoArrays = {1, 5, 65535, 3 * 65536, 3 * 65536 + 7};

// One bitset: the 5,000 multiples of 13.
Bytes one_bitset() {
  Fields fields;
  fields.u32({12346, 1}).u16({2, 4999}).u32({16});
  Bytes bits(8192, std::byte{0});
  for (unsigned i = 0; i < 5000; ++i) bits[13 * i / 8] |= std::byte{1} << (13 * i % 8);
  return fields.all(bits).bytes;
}

// Runs in fewer than four containers: no offsets. Container 0 has runs [10, 29] and [100, 100 + 65535
// - 200], 1 is an array.
Bytes run_and_array() {
  return Fields()
      .u32({12347 | 1u << 16})
      .u8({0b01})
      .u16({0, 20 + 65336 - 1, 9, 0})
      .u16({2, 10, 19, 100, 65335})
      .u16({42})
      .bytes;
}

// Runs in four containers: offsets.
Bytes four_runs() {
  Fields fields;
  fields.u32({12347 | 3u << 16}).u8({0b1111});
  for (const uint64_t key : {0, 1, 2, 3}) fields.u16({key, 9});
  fields.u32({37, 43, 49, 55});
  for (int i = 0; i < 4; ++i) fields.u16({1, 5, 9});
  return fields.bytes;
}

TEST(RoaringFormat, ReadsWhatTheSpecificationSays) {
  EXPECT_EQ(read(Fields().u32({12346, 0}).bytes, RoaringForm::k32), Elements{});
  EXPECT_EQ(read(two_arrays(), RoaringForm::k32), kTwoArrays);
  Elements multiples;
  for (uint64_t i = 0; i < 5000; ++i) multiples.push_back(2 * 65536 + 13 * i);
  EXPECT_EQ(read(one_bitset(), RoaringForm::k32), multiples);
  Elements runs;
  for (uint64_t x = 10; x < 30; ++x) runs.push_back(x);
  for (uint64_t x = 100; x < 100 + 65336; ++x) runs.push_back(x);
  runs.push_back(9 * 65536 + 42);
  EXPECT_EQ(read(run_and_array(), RoaringForm::k32), runs);
  Elements tens;
  for (uint64_t key = 0; key < 4; ++key)
    for (uint64_t x = 5; x < 15; ++x) tens.push_back(key * 65536 + x);
  EXPECT_EQ(read(four_runs(), RoaringForm::k32), tens);
}

TEST(RoaringFormat, WritesWhatTheSpecificationSays) {
  EXPECT_EQ(write({}, RoaringForm::k32), Fields().u32({12346, 0}).bytes);
  for (const Bytes& bytes : {two_arrays(), one_bitset(), run_and_array(), four_runs()})
    EXPECT_EQ(write(read(bytes, RoaringForm::k32), RoaringForm::k32), bytes);
}

TEST(RoaringFormat, SixtyFourBits) {
  const Bytes bytes = Fields().u64({2}).u32({0}).all(two_arrays()).u32({7}).all(four_runs()).bytes;
  Elements expected = kTwoArrays;
  for (const uint64_t x : read(four_runs(), RoaringForm::k32)) expected.push_back(uint64_t{7} << 32 | x);
  EXPECT_EQ(read(bytes, RoaringForm::k64), expected);
  EXPECT_EQ(write(expected, RoaringForm::k64), bytes);
  EXPECT_EQ(read(Fields().u64({0}).bytes, RoaringForm::k64), Elements{});
  EXPECT_EQ(write({}, RoaringForm::k64), Fields().u64({0}).bytes);
}

TEST(RoaringFormat, RoundTrips) {
  for (const NamedSet& set : awkward_sets()) {
    ASSERT_EQ(read(write(set.elements, RoaringForm::k64), RoaringForm::k64), set.elements) << set.name;
    if (set.width > 32) continue;
    ASSERT_EQ(read(write(set.elements, RoaringForm::k32), RoaringForm::k32), set.elements) << set.name;
  }
  Random random(1);
  for (const uint64_t count : {4095u, 4096u, 4097u, 60000u, 65535u, 65536u}) {
    const Elements elements = random_elements(random, count, 16);
    EXPECT_EQ(read(write(elements, RoaringForm::k32), RoaringForm::k32), elements);
  }
}

// Our blocks and Roaring's containers differ where an array, a bitset or runs take equally many bytes.
TEST(RoaringFormat, EveryShapeOfABlock) {
  for (const NamedSet& set : compact_sets()) {
    const RoaringForm form = !set.elements.empty() && set.elements.back() > UINT32_MAX ? RoaringForm::k64 : RoaringForm::k32;
    const Bytes bytes = write(set.elements, form);
    ASSERT_EQ(read(bytes, form), set.elements) << set.name;
    ASSERT_EQ(write(read(bytes, form), form), bytes) << set.name;
  }
}

// Runs that touch are two runs in Roaring bytes, and one run here.
TEST(RoaringFormat, AdjacentRuns) {
  EXPECT_EQ(read(Fields().u32({12347}).u8({1}).u16({0, 9}).u16({2, 5, 4, 10, 4}).bytes, RoaringForm::k32),
            (Elements{5, 6, 7, 8, 9, 10, 11, 12, 13, 14}));
}

TEST(RoaringFormat, RefusesWhatDoesNotFit) {
  const auto code_of = [](const std::function<void()>& body) {
    try {
      body();
    } catch (const Error& error) {
      return std::optional(error.code());
    }
    return std::optional<ErrorCode>();
  };
  EXPECT_EQ(code_of([] { write({uint64_t{1} << 32}, RoaringForm::k32); }), ErrorCode::kInvalidParameter);
  EXPECT_EQ(refusal(Fields().u64({1}).u32({1u << 30}).all(two_arrays()).bytes, RoaringForm::k64),
            ErrorCode::kInvalidParameter);
}

TEST(RoaringFormat, RefusesEveryCutAndEveryTail) {
  for (Bytes bytes : {two_arrays(), one_bitset(), run_and_array(), four_runs()}) {
    for (size_t size = 0; size < bytes.size(); ++size)
      ASSERT_EQ(refusal({bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(size)}, RoaringForm::k32),
                ErrorCode::kInvalidData);
    bytes.push_back(std::byte{0});
    ASSERT_EQ(refusal(bytes, RoaringForm::k32), ErrorCode::kInvalidData);
  }
}

TEST(RoaringFormat, RefusesContentThatDisagrees) {
  const std::vector<Bytes> wrong = {
      Fields().u32({12345, 0}).bytes,
      Fields().u32({12346, 65537}).bytes,
      Fields().u32({12346, 2}).u16({3, 0, 3, 0}).u32({24, 26}).u16({1, 1}).bytes,  // the same key twice
      Fields().u32({12346, 2}).u16({3, 0, 2, 0}).u32({24, 26}).u16({1, 1}).bytes,  // keys descend
      Fields().u32({12346, 2}).u16({2, 0, 3, 0}).u32({24, 25}).u16({1, 1}).bytes,  // wrong offset
      Fields().u32({12346, 1}).u16({0, 1}).u32({16}).u16({5, 5}).bytes,            // the same element twice
      Fields().u32({12346, 1}).u16({0, 1}).u32({16}).u16({5, 4}).bytes,            // elements descend
      Fields().u32({12347}).u8({1}).u16({0, 9}).u16({1, 5, 8}).bytes,              // too few elements
      Fields().u32({12347}).u8({1}).u16({0, 9}).u16({1, 5, 10}).bytes,             // too many elements
      Fields().u32({12347}).u8({1}).u16({0, 9}).u16({2, 5, 4, 9, 4}).bytes,        // runs overlap
      Fields().u32({12347}).u8({1}).u16({0, 9}).u16({2, 50, 4, 9, 4}).bytes,       // runs descend
      Fields().u32({12347}).u8({1}).u16({0, 9}).u16({1, 65530, 9}).bytes,          // a run leaves the container
  };
  for (size_t i = 0; i < wrong.size(); ++i) EXPECT_EQ(refusal(wrong[i], RoaringForm::k32), ErrorCode::kInvalidData) << i;
  Bytes bitset = one_bitset();
  bitset[bitset.size() - 1] ^= std::byte{0x80};
  EXPECT_EQ(refusal(bitset, RoaringForm::k32), ErrorCode::kInvalidData);
  EXPECT_EQ(refusal(Fields().u64({2}).u32({1}).all(two_arrays()).u32({1}).all(two_arrays()).bytes, RoaringForm::k64),
            ErrorCode::kInvalidData);
  EXPECT_EQ(refusal(Fields().u64({~uint64_t{0}}).bytes, RoaringForm::k64), ErrorCode::kInvalidData);
}

}  // namespace
}  // namespace batmap::test
