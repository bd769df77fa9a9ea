// The search for the nearest sets against sorting all of them: random queries and sets, lists of wrong expected lengths, sets that
// are not there, lack of memory and a cancel.
#include "set/nearest_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "test/unit/shared/sets.h"

namespace batmap::test {
namespace {

/// Ids are spread, as those of rows on pages are.
uint64_t id_of(uint64_t number) { return (number / 7) << 16 | (number % 7 + 1); }
uint64_t number_of(uint64_t id) { return (id >> 16) * 7 + (id & 0xffff) - 1; }

struct Collection {
  std::vector<std::set<uint64_t>> sets;  // by id
  std::set<uint64_t> query;

  double jaccard(uint64_t id) const {
    size_t both = 0;
    for (const uint64_t x : sets[id]) both += query.count(x);
    return static_cast<double>(both) / static_cast<double>(sets[id].size() + query.size() - both);
  }
  /// The ids of the sets that have an element.
  std::vector<uint64_t> list(uint64_t element) const {
    std::vector<uint64_t> ids;
    for (uint64_t number = 0; number < sets.size(); ++number)
      if (sets[number].count(element) != 0) ids.push_back(id_of(number));
    return ids;
  }
};

/// Elements with small numbers are in more sets.
std::set<uint64_t> some_elements(Random& random, size_t count, uint64_t universe) {
  std::set<uint64_t> elements;
  for (size_t k = 0; k < count; ++k) elements.insert(random.below(random.below(universe) + 1));
  return elements;
}

struct Found {
  std::vector<NearSet> rows;
  bool gave_up = false;
  uint64_t compared = 0;
};

/// @param missing  every so many candidates are not there; 0: all are
/// @param rows     no more are asked for
Found search(const Collection& all, Random& random, size_t max_bytes, double all_sets, uint64_t missing = 0,
             const CancelToken& cancel = {}, size_t rows = SIZE_MAX) {
  std::vector<uint64_t> elements(all.query.begin(), all.query.end());
  std::vector<double> lengths;
  for (size_t k = 0; k < elements.size(); ++k) std::swap(elements[k], elements[random.below(elements.size())]);
  for (size_t k = 0; k < elements.size(); ++k) lengths.push_back(static_cast<double>(random.below(1000)));
  NearestSearch search(test_meter(), lengths, all_sets, rows == SIZE_MAX ? random.below(20) : rows, max_bytes);
  Found found;
  double last = 1;
  for (;;) {
    switch (search.next(cancel)) {
      case NearestSearch::Step::kRead: search.found(all.list(elements[search.list()])); break;
      case NearestSearch::Step::kCompare:
        EXPECT_TRUE(std::is_sorted(search.candidates().begin(), search.candidates().end()));
        for (const uint64_t id : search.candidates())
          if (missing == 0 || number_of(id) % missing != 0) search.compared({id, all.jaccard(number_of(id))});
        break;
      case NearestSearch::Step::kRow:
        EXPECT_LE(search.row().jaccard, last);
        EXPECT_GE(search.row().jaccard, search.bound());
        last = search.row().jaccard;
        found.rows.push_back(search.row());
        if (found.rows.size() < rows) break;
        found.compared = search.sets_compared();
        return found;
      case NearestSearch::Step::kGiveUp:
        EXPECT_EQ(search.next(cancel), NearestSearch::Step::kGiveUp);
        found.gave_up = true;
        [[fallthrough]];
      case NearestSearch::Step::kEnd: found.compared = search.sets_compared(); return found;
    }
  }
}

Collection random_collection(Random& random, size_t sets, size_t elements) {
  const uint64_t universe = 20 + random.below(400);
  Collection all;
  for (size_t k = 0; k < sets; ++k) all.sets.push_back(some_elements(random, random.below(elements + 1), universe));
  all.query = some_elements(random, random.below(elements + 1), universe);
  return all;
}

TEST(NearestSearch, AgreesWithSortingAllSets) {
  Random random(24);
  for (int round = 0; round < 300; ++round) {
    const Collection all = random_collection(random, random.below(300), 1 + random.below(40));
    const uint64_t missing = random.below(4);
    std::vector<double> expected;
    for (uint64_t number = 0; number < all.sets.size(); ++number)
      if (all.jaccard(number) > 0 && (missing == 0 || number % missing != 0)) expected.push_back(all.jaccard(number));
    std::sort(expected.rbegin(), expected.rend());
    const Found found = search(all, random, SIZE_MAX, 1e9, missing);
    ASSERT_FALSE(found.gave_up) << "round " << round;
    ASSERT_EQ(found.rows.size(), expected.size()) << "round " << round;
    std::set<uint64_t> ids;
    for (size_t k = 0; k < expected.size(); ++k) {
      EXPECT_EQ(found.rows[k].jaccard, expected[k]) << "round " << round;
      EXPECT_EQ(found.rows[k].jaccard, all.jaccard(number_of(found.rows[k].id)));
      EXPECT_TRUE(ids.insert(found.rows[k].id).second) << "twice: " << found.rows[k].id;
    }
  }
}

/// Of the sets, those with few elements of the query are never compared.
TEST(NearestSearch, ComparesFewIfOneIsNear) {
  Random random(5);
  Collection all;
  for (int k = 0; k < 2000; ++k) all.sets.push_back(some_elements(random, 20, 5000));
  all.query = all.sets[123];
  std::vector<double> lengths;
  std::vector<uint64_t> elements(all.query.rbegin(), all.query.rend());
  NearestSearch search(test_meter(), std::vector<double>(elements.size(), 10.0), 1e9, 1, SIZE_MAX);
  NearestSearch::Step step;
  while ((step = search.next({})) != NearestSearch::Step::kRow) {
    if (step == NearestSearch::Step::kRead) {
      search.found(all.list(elements[search.list()]));
    } else {
      for (const uint64_t id : search.candidates()) search.compared({id, all.jaccard(number_of(id))});
    }
  }
  EXPECT_EQ(search.row().id, id_of(123));
  EXPECT_EQ(search.row().jaccard, 1);
  EXPECT_LE(search.sets_compared(), 20U);
}

/// A pass over sets none of which is like the query takes several steps. It leaves out those that the nearest so far rule out.
TEST(NearestSearch, ComparesSomeIfNoneIsNear) {
  Random random(9);
  Collection all;
  for (int k = 0; k < 30000; ++k) all.sets.push_back(some_elements(random, 5 + random.below(30), 300));
  for (const size_t rows : {size_t{1}, size_t{10}, size_t{100}}) {
    all.query = some_elements(random, 15, 300);
    std::vector<double> expected;
    for (uint64_t number = 0; number < all.sets.size(); ++number) expected.push_back(all.jaccard(number));
    const auto sharing = static_cast<uint64_t>(std::ranges::count_if(expected, [](double jaccard) { return jaccard > 0; }));
    std::sort(expected.rbegin(), expected.rend());
    const Found found = search(all, random, SIZE_MAX, 1e9, 0, {}, rows);
    ASSERT_EQ(found.rows.size(), rows);
    for (size_t k = 0; k < rows; ++k) EXPECT_EQ(found.rows[k].jaccard, expected[k]);
    EXPECT_LT(found.compared, sharing / 2);
  }
}

TEST(NearestSearch, EndsAtOnceWithoutElements) {
  NearestSearch search(test_meter(), {}, 1e9, 1, SIZE_MAX);
  EXPECT_EQ(search.next({}), NearestSearch::Step::kEnd);
}

TEST(NearestSearch, RefusesTooManyElements) {
  const std::vector<double> lengths(NearestSearch::kMaxLists + 1, 1.0);
  EXPECT_THROW(NearestSearch(test_meter(), lengths, 1e9, 1, SIZE_MAX), Error);
}

/// Until it gives up, it returns the nearest sets, in order.
TEST(NearestSearch, GivesUpWithoutMemoryOrTime) {
  Random random(7);
  int gave_up = 0;
  for (int round = 0; round < 40; ++round) {
    const Collection all = random_collection(random, 3000, 30);
    std::vector<double> expected;
    for (uint64_t number = 0; number < all.sets.size(); ++number) expected.push_back(all.jaccard(number));
    std::sort(expected.rbegin(), expected.rend());
    const bool is_slow = round % 2 == 0;
    const Found found = search(all, random, is_slow ? SIZE_MAX : size_t{16} << 10, is_slow ? 0 : 1e9);
    gave_up += found.gave_up;
    for (size_t k = 0; k < found.rows.size(); ++k) EXPECT_EQ(found.rows[k].jaccard, expected[k]) << "round " << round;
  }
  EXPECT_GT(gave_up, 10);
}

TEST(NearestSearch, StopsWhenCancelled) {
  Random random(8);
  const Collection all = random_collection(random, 500, 30);
  Polls polls{.stop_at = 1};
  EXPECT_THROW(search(all, random, SIZE_MAX, 1e9, 0, polls.token()), Error);
}

/// A list that has an id twice is out of order, but does no harm.
TEST(NearestSearch, CountsAnIdOfAListOnce) {
  NearestSearch search(test_meter(), std::vector<double>(2, 1.0), 1e9, 1, SIZE_MAX);
  ASSERT_EQ(search.next({}), NearestSearch::Step::kRead);
  search.found(std::vector<uint64_t>(5, id_of(1)));
  EXPECT_LE(search.bound(), 1);
  EXPECT_EQ(search.sets_found(), 1U);
}

}  // namespace
}  // namespace batmap::test
