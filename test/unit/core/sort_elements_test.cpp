// Sorting against std::set, and like std::sort.
#include "core/sort_elements.h"

#include <gtest/gtest.h>

#include "test/unit/shared/sets.h"

namespace batmap::test {
namespace {

TEST(SortElements, SortsAndDropsDuplicates) {
  Random random(7);
  for (const size_t count : {0u, 1u, 2u, 1000u, 1023u, 1024u, 1025u, 70000u})
    for (const int width : {0, 3, 11, 12, 33, 62, 63}) {
      GrowingBuffer<uint64_t> buffer(test_meter());
      std::set<uint64_t> expected;
      for (size_t i = 0; i < count; ++i) {
        buffer.push_back(random.below(uint64_t{1} << width));
        expected.insert(buffer[i]);
      }
      sort_distinct(buffer, test_options());
      EXPECT_EQ(to_vector(buffer), Elements(expected.begin(), expected.end()));
      sort_distinct(buffer, test_options());
      EXPECT_EQ(buffer.size(), expected.size());
    }
}

/// Elements that ascend up to a place: behind it one is repeated, or less than the one before. Around the parts between polls.
TEST(SortElements, AscendingFront) {
  for (const size_t count : {1u, 2u, 3u, 100u, 16383u, 16384u, 16385u, 40000u})
    for (const size_t front : {size_t{1}, count / 2, count - 1, count, size_t{16383}, size_t{16384}, size_t{16385}}) {
      if (front == 0 || front > count) continue;
      for (const uint64_t less : {0u, 1u}) {
        Elements elements;
        for (uint64_t i = 0; i < count; ++i) elements.push_back(3 * i + 5);
        if (front < count) elements[front] = elements[front - 1] - less;
        EXPECT_EQ(ascending_front(elements, {}), front) << count;
        GrowingBuffer<uint64_t> buffer(test_meter());
        for (const uint64_t x : elements) buffer.push_back(x);
        sort_distinct(buffer, test_options());
        const std::set<uint64_t> expected(elements.begin(), elements.end());
        EXPECT_EQ(to_vector(buffer), Elements(expected.begin(), expected.end())) << count << " " << front;
      }
    }
  EXPECT_EQ(ascending_front({}, {}), 0u);
}

}  // namespace
}  // namespace batmap::test
