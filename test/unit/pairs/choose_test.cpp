// The chooser as a function: more work never costs less, a method that does not fit is never chosen if
// another one fits, and names are converted both ways. No test says which method is fastest for a real job:
// that needs measurements.
#include "pairs/choose.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "pairs/pair_run.h"
#include "test/unit/shared/shapes.h"

namespace batmap::test {
namespace {

PairJob random_job(Random& random) {
  const auto magnitude = [&](uint64_t max_bits) { return random.bits() >> (63 - random.below(max_bits)); };
  PairJob job;
  job.items = magnitude(20);
  job.leading = random.chance(70) ? job.items : random.below(job.items + 1);
  job.tid_slots = magnitude(26);
  job.occurrences = magnitude(30);
  if (random.chance(30)) {  // a rectangle
    job.first_column = job.leading = random.below(job.items + 1);
    job.leading_occurrences = random.below(job.occurrences + 1);
  }
  job.pair_instances = magnitude(36);
  job.row_words = magnitude(36);
  job.bitmap_words_per_ns = 0.5 + static_cast<double>(random.below(200)) / 10;
  job.positional_words_per_ns = 0.5 + static_cast<double>(random.below(200)) / 10;
  job.threads = static_cast<int>(1 + random.below(16));
  job.memory_bytes = random.chance(30) ? UINT64_MAX : magnitude(40);
  return job;
}

TEST(Choose, TheCheapestThatFits) {
  Random random(kSeed);
  int none_fits = 0;
  std::set<PairMethod> chosen;
  for (int i = 0; i < 20000; ++i) {
    const PairJob job = random_job(random);
    const PairChoice choice = choose_pair_method(job);
    bool any_fits = false;
    for (const PairMethodName& entry : kPairMethodNames) {
      const PairEstimate estimate = estimate_pairs(entry.method, job);
      const PairEstimate& kept = choice.estimates[static_cast<size_t>(entry.method)];
      ASSERT_EQ(estimate.milliseconds, kept.milliseconds);
      ASSERT_EQ(estimate.bytes, kept.bytes);
      ASSERT_EQ(estimate.fits, kept.fits);
      ASSERT_GE(estimate.milliseconds, 0);
      if (estimate.fits) {
        ASSERT_LE(estimate.bytes, job.memory_bytes);
      }
      any_fits |= estimate.fits;
    }
    const PairEstimate& best = choice.estimates[static_cast<size_t>(choice.method)];
    for (const PairEstimate& other : choice.estimates) {
      if (any_fits) {
        ASSERT_TRUE(best.fits) << "job " << i << ", seed " << kSeed;
        if (other.fits) {
          ASSERT_LE(best.milliseconds, other.milliseconds);
        }
      } else {
        ASSERT_LE(best.bytes, other.bytes) << "job " << i << ", seed " << kSeed;
      }
    }
    none_fits += !any_fits;
    chosen.insert(choice.method);
    for (const PairMethodName& entry : kPairMethodNames)
      ASSERT_NE(choice.reason.find(entry.name), std::string::npos) << choice.reason;
  }
  EXPECT_GT(none_fits, 100);
  EXPECT_EQ(chosen.size(), kPairMethods) << "a method that is never chosen";
}

TEST(Choose, MoreWorkNeverCostsLess) {
  Random random(kSeed + 1);
  for (int i = 0; i < 20000; ++i) {
    const PairJob job = random_job(random);
    PairJob more = job;
    const uint64_t extra = 1 + random.below(100000);
    switch (random.below(6)) {
      case 0: more.occurrences += extra; break;
      case 1: more.pair_instances += extra; break;
      case 2: more.tid_slots += extra; break;
      case 3: more.row_words += extra; break;
      case 4:
        if (job.first_column == 0) more.leading += random.below(job.items - job.leading + 1);
        break;
      default: more.bitmap_words_per_ns /= 2, more.positional_words_per_ns /= 2; break;
    }
    for (const PairMethodName& entry : kPairMethodNames) {
      const PairEstimate less = estimate_pairs(entry.method, job);
      const PairEstimate larger = estimate_pairs(entry.method, more);
      ASSERT_GE(larger.milliseconds, less.milliseconds) << entry.name << ", job " << i << ", seed " << kSeed;
      ASSERT_GE(larger.bytes, less.bytes) << entry.name << ", job " << i << ", seed " << kSeed;
    }
  }
}

TEST(Choose, StoppingEarlyNeverCostsMore) {
  Random random(kSeed + 3);
  int cheaper = 0;
  for (int i = 0; i < 20000; ++i) {
    const PairJob job = random_job(random);
    PairJob stops = job;
    stops.enough = 1 + random.below(100);
    for (const PairMethodName& entry : kPairMethodNames) {
      const double all = estimate_pairs(entry.method, job).milliseconds;
      const double less = estimate_pairs(entry.method, stops).milliseconds;
      ASSERT_LE(less, all) << entry.name << ", job " << i << ", seed " << kSeed;
      cheaper += less < all;
    }
  }
  EXPECT_GT(cheaper, 1000);
}

TEST(Choose, MoreThreadsAreNotSlowerAndMoreMemoryFitsMore) {
  Random random(kSeed + 2);
  for (int i = 0; i < 20000; ++i) {
    const PairJob job = random_job(random);
    PairJob wider = job;
    wider.threads += 1;
    PairJob roomier = job;
    roomier.memory_bytes = UINT64_MAX;
    for (const PairMethodName& entry : kPairMethodNames) {
      const PairEstimate estimate = estimate_pairs(entry.method, job);
      ASSERT_LE(estimate_pairs(entry.method, wider).milliseconds, estimate.milliseconds) << entry.name << ", job " << i;
      const PairEstimate with_room = estimate_pairs(entry.method, roomier);
      if (estimate.fits) {
        ASSERT_TRUE(with_room.fits) << entry.name << ", job " << i;
      }
      ASSERT_EQ(with_room.milliseconds, estimate.milliseconds);
    }
  }
}

TEST(Choose, AnEmptyJobIsFine) {
  const PairChoice choice = choose_pair_method({});
  for (const PairEstimate& estimate : choice.estimates) EXPECT_GE(estimate.milliseconds, 0);
  EXPECT_FALSE(choice.reason.empty());
}

TEST(Choose, NamesGoBothWays) {
  std::string all = "auto";
  std::set<PairMethod> methods;
  for (const PairMethodName& entry : kPairMethodNames) {
    EXPECT_STREQ(pair_method_name(entry.method), entry.name);
    EXPECT_EQ(parse_pair_method(entry.name), entry.method);
    methods.insert(entry.method);
    all += std::string(", ") + entry.name;
  }
  EXPECT_EQ(methods.size(), kPairMethods);
  EXPECT_EQ(pair_method_names(), all);
}

}  // namespace
}  // namespace batmap::test
