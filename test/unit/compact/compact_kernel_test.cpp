// The loops over sorted 16-bit arrays against the algorithms of the standard library, by every CPU kernel: lengths around
// those of registers, arrays that are equal, interleaved, apart, nested, and random at several densities.
#include "compact/compact_kernel.h"

#include <gtest/gtest.h>

#include "test/unit/shared/sets.h"

namespace batmap::test {
namespace {

using Array = std::vector<uint16_t>;

Array random_array(Random& random, size_t count, uint32_t span, uint32_t first) {
  std::set<uint16_t> elements;
  while (elements.size() < std::min<size_t>(count, span)) elements.insert(static_cast<uint16_t>(first + random.below(span)));
  return {elements.begin(), elements.end()};
}

using Merge = size_t (*)(const std::byte*, size_t, const std::byte*, size_t, uint16_t*);

/// @param most  what the merge may write beside its room of kMoreUnits
Array merged(Merge merge, const Array& a, const Array& b, size_t most) {
  constexpr uint16_t kMark = 0xabcd;
  Array out(most + kMoreUnits + 4, kMark);
  const size_t count = merge(reinterpret_cast<const std::byte*>(a.data()), a.size(),
                             reinterpret_cast<const std::byte*>(b.data()), b.size(), out.data());
  EXPECT_LE(count, most);
  EXPECT_EQ(Array(out.end() - 4, out.end()), Array(4, kMark));
  out.resize(count);
  return out;
}

void check(const Array& a, const Array& b) {
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
    ASSERT_EQ(merged(compact.keep_common, a, b, a.size()), both);
    ASSERT_EQ(merged(compact.keep_either, a, b, a.size() + b.size()), either);
    ASSERT_EQ(merged(compact.keep_single, a, b, a.size() + b.size()), single);
    ASSERT_EQ(merged(compact.keep_missing, a, b, a.size()), missing);
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
    }
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace batmap::test
