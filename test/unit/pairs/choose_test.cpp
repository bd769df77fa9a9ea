// The chooser as a function: more work never costs less, a method that does not fit is never chosen if
// another one fits, and names are converted both ways. No test says which method is fastest for a real job:
// that needs measurements.
#include "pairs/choose.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "core/stopwatch.h"
#include "pairs/build_counter.h"
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
  job.min_count = 1 + magnitude(10);
  job.row_words = magnitude(36);
  job.bitmap_words_per_ns = 0.5 + static_cast<double>(random.below(200)) / 10;
  job.positional_words_per_ns = 0.5 + static_cast<double>(random.below(200)) / 10;
  job.threads = static_cast<int>(1 + random.below(16));
  job.memory_bytes = random.chance(30) ? UINT64_MAX : magnitude(40);
  job.cache_bytes = magnitude(30);
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

/// A budget of which others hold almost everything until it has been asked some times.
struct HeldByOthers final : MemoryBudget {
  static constexpr size_t kLittle = size_t{1} << 18;
  static constexpr size_t kMuch = size_t{1} << 30;
  explicit HeldByOthers(int times) : times_left(times) {}
  void charge(size_t) override {}
  void release(size_t) noexcept override {}
  size_t available() const noexcept override { return times_left-- > 0 ? kLittle : kMuch; }
  size_t attainable() const noexcept override { return kMuch; }
  mutable int times_left;
};

TEST(Choose, WaitsForMemoryThatOthersHoldAsLongAsThatPays) {
  PairJob job;
  job.items = job.leading = 1000;
  job.tid_slots = 4000;
  job.occurrences = 50000;
  job.pair_instances = 300000;
  job.row_words = 400000;
  job.bitmap_words_per_ns = job.positional_words_per_ns = 2;
  job.threads = 1;
  const auto chosen = [&](size_t memory_bytes) {
    PairJob other = job;
    other.memory_bytes = memory_bytes;
    const PairChoice choice = choose_pair_method(other);
    return choice.estimates[static_cast<size_t>(choice.method)];
  };
  const double slow_ms = chosen(HeldByOthers::kLittle).milliseconds;
  const double fast_ms = chosen(HeldByOthers::kMuch).milliseconds;
  ASSERT_GT(slow_ms, 4 * fast_ms);
  const auto patient_ms = [&](int times) {
    const HeldByOthers held(times);
    MemoryMeter meter(MemoryMeter::kUnlimited, const_cast<HeldByOthers*>(&held));
    job.memory_bytes = meter.available();
    const PairChoice choice = choose_with_patience(job, {.memory = &meter, .cancel = {}});
    return choice.estimates[static_cast<size_t>(choice.method)].milliseconds;
  };
  EXPECT_EQ(patient_ms(0), fast_ms);
  EXPECT_EQ(patient_ms(3), fast_ms) << "it becomes free";
  const Stopwatch watch;
  EXPECT_EQ(patient_ms(1000000), slow_ms) << "it stays held";
  EXPECT_GE(watch.milliseconds(), std::min((slow_ms - fast_ms) / 2, 5000.0));
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
      constexpr double kRounding = 1 - 1e-9;
      ASSERT_GE(larger.milliseconds, less.milliseconds * kRounding) << entry.name << ", job " << i << ", seed " << kSeed;
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
  try {
    parse_pair_method("magic");
    ADD_FAILURE() << "a name that is none is accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.hint(), "Available values: " + all + ".");
  }
}

}  // namespace
}  // namespace batmap::test
