// The check of numbers that a session sends, against a plain loop: bounds and values around the highest bit, in all lengths around
// the parts that become vector instructions.
#include "process/host/request.h"

#include <gtest/gtest.h>

#include <vector>

namespace batmap::test {
namespace {

TEST(Request, NumbersAreAtMost) {
  constexpr uint32_t kHighest = uint32_t{1} << 31;
  const std::vector<uint32_t> near = {
      0, 1, 2, 1000, kHighest - 2, kHighest - 1, kHighest, kHighest + 1, UINT32_MAX - 1, UINT32_MAX};
  for (const uint32_t last : near) {
    for (const uint32_t value : near) {
      for (const size_t size : {1, 7, 1023, 1024, 1025, 3000}) {
        for (const size_t at : {size_t{0}, size / 2, size - 1}) {
          std::vector<uint32_t> values(size, last / 2);
          values[at] = value;
          EXPECT_EQ(process::host::are_at_most(last, values), value <= last)
              << value << " at " << at << " of " << size << ", at most " << last;
        }
      }
    }
    EXPECT_TRUE(process::host::are_at_most(last, {}));
  }
}

}  // namespace
}  // namespace batmap::test
