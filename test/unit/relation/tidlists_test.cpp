// Lists of tids that become sets, against std::set: short ones, which are compared, and long ones, which are marked.
#include "relation/tidlists.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "test/unit/shared/shapes.h"

namespace batmap::test {
namespace {

TEST(SortLists, MakesSets) {
  Random random(3);
  for (const uint32_t tid_slots : {1u, 63u, 64u, 65u, 1000u, 100'000u})
    for (const int threads : {1, 3}) {
      MemoryMeter meter;
      const ExecutionOptions options{.threads = threads, .memory = &meter, .cancel = {}};
      std::vector<std::vector<uint32_t>> wanted;
      for (const size_t length : {0u, 1u, 2u, 3u, 40u, 95u, 98u, 500u, 3000u})
        for (const bool sorted : {false, true}) {
          wanted.emplace_back();
          for (size_t k = 0; k < length; ++k) wanted.back().push_back(static_cast<uint32_t>(random.below(tid_slots)));
          if (sorted) std::sort(wanted.back().begin(), wanted.back().end());
        }
      Tidlists lists;
      lists.begin = Buffer<uint64_t>(meter, wanted.size() + 1);
      lists.length = Buffer<uint32_t>(meter, wanted.size(), Fill::kZero);
      lists.begin[0] = 0;
      for (size_t item = 0; item < wanted.size(); ++item) lists.begin[item + 1] = lists.begin[item] + wanted[item].size();
      lists.tids = Buffer<uint32_t>(meter, lists.begin[wanted.size()]);
      for (uint32_t item = 0; item < wanted.size(); ++item)
        for (const uint32_t tid : wanted[item]) lists.append(item, tid);

      const auto untouched = static_cast<uint32_t>(wanted.size() - 1);
      sort_lists(lists, tid_slots, options, untouched);
      for (uint32_t item = 0; item < wanted.size(); ++item) {
        const std::set<uint32_t> set(wanted[item].begin(), wanted[item].end());
        const std::vector<uint32_t> right = item < untouched ? std::vector<uint32_t>(set.begin(), set.end()) : wanted[item];
        EXPECT_TRUE(std::ranges::equal(lists.list(item), right)) << tid_slots << " tids, list " << item;
      }
    }
}

}  // namespace
}  // namespace batmap::test
