// The loops over sorted 16-bit arrays against the algorithms of the standard library, by every CPU kernel: lengths around
// those of registers, arrays that are equal, interleaved, apart, nested, and random at several densities, at odd addresses too.
// And those over bitmaps against bit sets of the standard library.
#include "compact/compact_kernel.h"

#include <gtest/gtest.h>

#include <bitset>
#include <cstring>

#include "compact/compact_format.h"
#include "test/unit/shared/sets.h"

namespace batmap::test {
namespace {

using Array = std::vector<uint16_t>;

Array random_array(Random& random, size_t count, uint32_t span, uint32_t first) {
  std::set<uint16_t> elements;
  while (elements.size() < std::min<size_t>(count, span)) elements.insert(static_cast<uint16_t>(first + random.below(span)));
  return {elements.begin(), elements.end()};
}

/// The bytes of an array at an address that is as far from an even one as `offset` says. Nothing lies behind them.
class Placed {
 public:
  Placed(const Array& array, size_t offset) : bytes_(offset + 2 * array.size()), offset_(offset) {
    if (!array.empty()) std::memcpy(bytes_.data() + offset, array.data(), 2 * array.size());
  }
  const std::byte* data() const { return bytes_.data() + offset_; }

 private:
  std::vector<std::byte> bytes_;
  size_t offset_;
};

using Merge = size_t (*)(const std::byte*, size_t, const std::byte*, size_t, uint16_t*);

/// @param most  what the merge may write beside its room of kMoreUnits @param offset  of the arrays (Placed)
Array merged(Merge merge, const Array& a, const Array& b, size_t most, size_t offset = 0) {
  constexpr uint16_t kMark = 0xabcd;
  Array out(most + kMoreUnits + 4, kMark);
  const Placed x(a, offset);
  const Placed y(b, offset);
  const size_t count = merge(x.data(), a.size(), y.data(), b.size(), out.data());
  EXPECT_LE(count, most);
  EXPECT_EQ(Array(out.end() - 4, out.end()), Array(4, kMark));
  out.resize(count);
  return out;
}

void check(const Array& a, const Array& b, size_t offset = 0) {
  SCOPED_TRACE(std::to_string(a.size()) + " and " + std::to_string(b.size()));
  Array both, either, single, missing;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(either));
  std::set_symmetric_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(single));
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(missing));
  for (const SetKernel* const kernel : set_kernels_here()) {
    SCOPED_TRACE(kernel->name);
    const CompactKernel& compact = *kernel->compact;
    ASSERT_EQ(compact.count_common(reinterpret_cast<const std::byte*>(a.data()), a.size(),
                                   reinterpret_cast<const std::byte*>(b.data()), b.size()),
              both.size());
    ASSERT_EQ(merged(compact.keep_common, a, b, a.size(), offset), both);
    ASSERT_EQ(merged(compact.keep_either, a, b, a.size() + b.size(), offset), either);
    ASSERT_EQ(merged(compact.keep_single, a, b, a.size() + b.size(), offset), single);
    ASSERT_EQ(merged(compact.keep_missing, a, b, a.size(), offset), missing);
    if (a.empty()) continue;
    uint32_t runs = 1;
    for (size_t i = 1; i < a.size(); ++i) runs += a[i] != a[i - 1] + 1;
    ASSERT_EQ(compact.count_array_runs(a.data(), a.size()), runs);
  }
}

TEST(CompactKernel, LengthsAroundRegisters) {
  Random random(41);
  for (size_t a = 0; a <= 26; ++a)
    for (size_t b = 0; b <= 26; ++b)
      for (const uint32_t span : {27u, 40u, 500u}) {
        check(random_array(random, a, span, 0), random_array(random, b, span, static_cast<uint32_t>(random.below(2))));
        check(random_array(random, a, span, 65536 - span), random_array(random, b, span, 65536 - span));
        if (HasFatalFailure()) return;
      }
}

/// All lengths up to several registers, each with others at random: elements that are nearly all common, and few. The last element may be
/// the largest one that there is.
TEST(CompactKernel, AllLengths) {
  Random random(45);
  for (size_t a = 0; a <= 200; ++a)
    for (int other = 0; other < 8; ++other) {
      const size_t b = other == 0 ? a : random.below(201);
      const size_t longer = std::max(a, b);
      const uint32_t span = random.chance(50) ? static_cast<uint32_t>(longer + 1 + longer / 8) : 60000;
      const uint32_t first = random.chance(50) ? 65536 - span : static_cast<uint32_t>(random.below(65537 - span));
      check(random_array(random, a, span, first), random_array(random, b, span, first), random.below(2));
      if (HasFatalFailure()) return;
    }
}

/// One array ends long before the other one, or begins behind it, or has a few elements anywhere in it.
TEST(CompactKernel, UnequalLengths) {
  Random random(46);
  for (const size_t few : {1u, 2u, 15u, 16u, 17u, 31u, 32u, 33u, 70u})
    for (const uint32_t first : {0u, 30000u, 65000u})
      for (const uint32_t span : {100u, 536u}) {
        const Array a = random_array(random, few, span, first);
        const Array b = random_array(random, 2000, 65536, 0);
        check(a, b, 1);
        check(b, a);
        if (HasFatalFailure()) return;
      }
}

TEST(CompactKernel, LongArrays) {
  Random random(42);
  for (const uint32_t span : {4000u, 20000u, 65536u})
    for (const size_t a : {8u, 63u, 1000u, 3999u})
      for (const size_t b : {9u, 64u, 1001u, 4000u}) {
        check(random_array(random, a, span, 0), random_array(random, b, span, 0));
        check(random_array(random, a, span, 65536 - span), random_array(random, b, span / 2, 0));
        if (HasFatalFailure()) return;
      }
}

TEST(CompactKernel, EqualNestedInterleavedApart) {
  Random random(43);
  for (const size_t count : {7u, 8u, 9u, 16u, 17u, 31u, 32u, 33u, 500u}) {
    Array even, odd, low, high;
    for (size_t i = 0; i < count; ++i) {
      even.push_back(static_cast<uint16_t>(2 * i));
      odd.push_back(static_cast<uint16_t>(2 * i + 1));
      low.push_back(static_cast<uint16_t>(i));
      high.push_back(static_cast<uint16_t>(65536 - count + i));
    }
    const Array* const arrays[] = {&even, &odd, &low, &high};
    for (const Array* a : arrays)
      for (const Array* b : arrays) check(*a, *b);
    Array nested = low;
    nested.erase(nested.begin() + static_cast<ptrdiff_t>(random.below(count)));
    check(low, nested);
    check(nested, low);
    if (HasFatalFailure()) return;
  }
}

/// Damaged bytes: any answer, but within the room.
TEST(CompactKernel, ElementsInAnyOrder) {
  Random random(44);
  for (int round = 0; round < 500; ++round) {
    Array arrays[2];
    const uint64_t kinds = 1 + random.below(random.chance(50) ? 5 : 65535);
    for (Array& array : arrays)
      for (uint64_t left = random.below(400); left > 0; --left) array.push_back(static_cast<uint16_t>(random.below(kinds)));
    for (const SetKernel* const kernel : set_kernels_here()) {
      const CompactKernel& compact = *kernel->compact;
      for (const Merge merge : {compact.keep_common, compact.keep_either, compact.keep_single, compact.keep_missing})
        merged(merge, arrays[0], arrays[1], arrays[0].size() + arrays[1].size());
      std::vector<uint64_t> words(kBitmapBlockWords + 1, 7);
      compact.mark_elements(reinterpret_cast<const std::byte*>(arrays[0].data()), arrays[0].size(), words.data());
      EXPECT_EQ(words[kBitmapBlockWords], 7u);
    }
    if (HasFailure()) return;
  }
}

using Bits = std::bitset<kBlockSpan>;

Bits bits_of(const uint64_t* words) {
  Bits bits;
  for (size_t x = 0; x < kBlockSpan; ++x) bits[x] = (words[x / 64] >> (x % 64) & 1) != 0;
  return bits;
}

TEST(CompactKernel, MarksElements) {
  Random random(47);
  std::vector<size_t> lengths = {255, 256, 257, 1310, 3277, 4095};
  for (size_t length = 0; length <= 200; ++length) lengths.push_back(length);
  for (const size_t length : lengths)
    for (const uint32_t span : {static_cast<uint32_t>(length + 1 + length / 4), 8192u, 65536u}) {
      const Array array = random_array(random, length, span, static_cast<uint32_t>(random.below(65537 - span)));
      Bits expected;
      for (const uint16_t x : array) expected.set(x);
      for (const SetKernel* const kernel : set_kernels_here()) {
        SCOPED_TRACE(kernel->name);
        const Placed placed(array, random.below(2));
        std::vector<uint64_t> words(kBitmapBlockWords + 1, ~uint64_t{0});
        kernel->compact->mark_elements(placed.data(), array.size(), words.data());
        ASSERT_TRUE(bits_of(words.data()) == expected) << array.size() << " of " << span;
        ASSERT_EQ(words[kBitmapBlockWords], ~uint64_t{0});
      }
    }
}

TEST(CompactKernel, CombinesWords) {
  Random random(48);
  const auto random_words = [&](std::byte* bytes) {
    // None, few or many bits of each word, or all.
    const uint64_t kind = random.below(4);
    for (size_t w = 0; w < kBitmapBlockWords; ++w) {
      const uint64_t any = random.below(~uint64_t{0});
      const uint64_t few = any & random.below(~uint64_t{0}) & random.below(~uint64_t{0});
      store_le<uint64_t>(bytes + 8 * w, kind == 0           ? few
                                        : kind == 1         ? any
                                        : kind == 2         ? ~few
                                        : random.chance(50) ? ~uint64_t{0}
                                                            : 0);
    }
  };
  for (int round = 0; round < 40; ++round) {
    std::vector<std::byte> a_bytes(kBitmapBlockBytes + 3);
    std::vector<std::byte> b_bytes(kBitmapBlockBytes + 2);
    std::byte* const a = a_bytes.data() + random.below(4);
    std::byte* const b = b_bytes.data() + random.below(3);
    random_words(a);
    random_words(b);
    std::vector<uint64_t> a_words(kBitmapBlockWords);
    std::vector<uint64_t> b_words(kBitmapBlockWords);
    std::memcpy(a_words.data(), a, kBitmapBlockBytes);
    std::memcpy(b_words.data(), b, kBitmapBlockBytes);
    const Bits x = bits_of(a_words.data());
    const Bits y = bits_of(b_words.data());
    const std::pair<SetCombination, Bits> results[] = {{SetCombination::kAnd, x & y},
                                                       {SetCombination::kOr, x | y},
                                                       {SetCombination::kAndNot, x & ~y},
                                                       {SetCombination::kXor, x ^ y}};
    for (const auto& [operation, expected] : results) {
      const Bits begins = expected & ~(expected << 1);
      for (const SetKernel* const kernel : set_kernels_here()) {
        SCOPED_TRACE(kernel->name);
        const CompactKernel& compact = *kernel->compact;
        std::vector<uint64_t> words(kBitmapBlockWords + 1, 7);
        compact.combine_words(operation, a, b, words.data());
        ASSERT_TRUE(bits_of(words.data()) == expected);
        ASSERT_EQ(words[kBitmapBlockWords], 7u);
        ASSERT_EQ(compact.count_runs(words.data(), kBlockSpan), begins.count());
        ASSERT_GE(compact.count_runs(words.data(), 5), std::min<size_t>(5, begins.count()));
        // The result takes the place of an argument.
        std::vector<uint64_t> in_place = a_words;
        compact.combine_words(operation, reinterpret_cast<const std::byte*>(in_place.data()), b, in_place.data());
        ASSERT_TRUE(bits_of(in_place.data()) == expected);
        in_place = b_words;
        compact.combine_words(operation, a, reinterpret_cast<const std::byte*>(in_place.data()), in_place.data());
        ASSERT_TRUE(bits_of(in_place.data()) == expected);
      }
    }
  }
}

}  // namespace
}  // namespace batmap::test
