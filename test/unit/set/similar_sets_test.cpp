// The sets that are most like a given one against sorting all of them.
#include "set/similar_sets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "test/unit/shared/sets.h"

namespace batmap::test {
namespace {

struct Offered {
  int64_t id;
  Elements elements;
};

std::vector<SimilarSet> sorted(const Elements& to, const std::vector<Offered>& all, const SimilarSetsQuery& query) {
  std::vector<SimilarSet> answers;
  for (const Offered& set : all) {
    Elements both;
    std::ranges::set_intersection(to, set.elements, std::back_inserter(both));
    const size_t either = to.size() + set.elements.size() - both.size();
    const double jaccard = either == 0 ? 1 : static_cast<double>(both.size()) / static_cast<double>(either);
    if (jaccard > 0 && jaccard >= query.min_jaccard.value_or(0)) answers.push_back({set.id, both.size(), jaccard});
  }
  std::stable_sort(answers.begin(), answers.end(), [](const SimilarSet& x, const SimilarSet& y) {
    return std::pair(-x.jaccard, x.id) < std::pair(-y.jaccard, y.id);
  });
  if (query.top_k && answers.size() > static_cast<size_t>(*query.top_k)) answers.resize(static_cast<size_t>(*query.top_k));
  return answers;
}

TEST(SimilarSets, AreThoseOfSortingAll) {
  Random random(11);
  for (int round = 0; round < 60; ++round) {
    const auto some = [&] { return random_elements(random, random.below(12), 5); };
    const Elements to = round % 10 == 0 ? Elements() : some();
    std::vector<Offered> all;
    for (int64_t id = 0; id < 4000; ++id) all.push_back({4000 - id, id % 3 == 0 ? to : some()});
    if (round % 2 == 0) std::reverse(all.begin(), all.end());
    SimilarSetsQuery query;
    if (round % 3 != 0) query.top_k = 1 + static_cast<int64_t>(random.below(3000));
    if (round % 4 == 1) query.min_jaccard = 0.4;
    const Bytes value = encode(to, 5);
    SimilarSets sets(SetView::open(value), query, best_set_kernel(), test_options());
    for (const Offered& set : all) {
      const Bytes bytes = encode(set.elements, 20);
      sets.offer(set.id, SetView::open(bytes));
    }
    sets.finish({});
    const std::vector<SimilarSet> expected = sorted(to, all, query);
    ASSERT_EQ(sets.answers().size(), expected.size()) << "round " << round;
    for (size_t k = 0; k < expected.size(); ++k) {
      EXPECT_EQ(sets.answers()[k].id, expected[k].id) << "round " << round;
      EXPECT_EQ(sets.answers()[k].common, expected[k].common);
      EXPECT_EQ(sets.answers()[k].jaccard, expected[k].jaccard);
    }
    EXPECT_EQ(sets.offered(), all.size());
    EXPECT_LE(sets.compared(), all.size());
  }
}

TEST(SimilarSets, NewIdsOrderTies) {
  const Bytes value = encode({1, 2}, 5);
  SimilarSets sets(SetView::open(value), {.min_jaccard = {}, .top_k = 2}, best_set_kernel(), test_options());
  for (int64_t id = 0; id < 3; ++id) sets.offer(id, SetView::open(value));
  const uint32_t ranks[] = {2, 0, 1};
  sets.finish(ranks);
  ASSERT_EQ(sets.answers().size(), 2U);
  EXPECT_EQ(sets.answers()[0].id, 0);
  EXPECT_EQ(sets.answers()[1].id, 1);
}

TEST(SimilarSets, BadQuestions) {
  EXPECT_THROW((SimilarSetsQuery{.min_jaccard = 0.0, .top_k = {}}.check()), Error);
  EXPECT_THROW((SimilarSetsQuery{.min_jaccard = 1.1, .top_k = {}}.check()), Error);
  EXPECT_THROW((SimilarSetsQuery{.min_jaccard = {}, .top_k = 0}.check()), Error);
}

}  // namespace
}  // namespace batmap::test
