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

}  // namespace
}  // namespace batmap::test
