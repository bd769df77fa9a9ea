// Decisions about devices. They are pure functions, so the tests are a table of situations.
#include "accel/device_policy.h"

#include <gtest/gtest.h>

namespace batmap {
namespace {

DeviceTraits device(bool ready) {
  DeviceTraits traits{};
  traits.memory_bytes = uint64_t{80} << 30;
  traits.ready = ready;
  traits.multiprocessors = 100;
  traits.rates = {.context_ms = 200,
                  .upload_bytes = 50,
                  .download_bytes = 50,
                  .and_bits = 4e6,
                  .increments = 100,
                  .grouped_rows = 2,
                  .launch_ms = 1};
  return traits;
}

/// Sizes of a job with these items, in transactions of `length` items each.
DeviceSizes sizes(uint64_t items, uint64_t transactions, uint64_t length) {
  DeviceSizes s;
  s.items = s.leading = items;
  s.tid_slots = transactions;
  s.rows = transactions * length;
  s.pair_instances = transactions * length * (length - 1) / 2;
  return s;
}

TEST(DevicePolicy, Names) {
  EXPECT_EQ(parse_device_mode("auto"), DeviceMode::kAuto);
  EXPECT_EQ(parse_device_mode("cpu"), DeviceMode::kCpu);
  EXPECT_EQ(parse_device_mode("cuda"), DeviceMode::kCuda);
  EXPECT_EQ(parse_device_mode("require"), DeviceMode::kRequire);
  EXPECT_EQ(parse_device_mode("gpu"), std::nullopt);
  EXPECT_EQ(parse_device_mode(""), std::nullopt);
}

TEST(DevicePolicy, AutoWeighsTheContext) {
  const DeviceSizes job = sizes(4000, 50000, 200);
  const DeviceTraits cold[] = {device(false)};
  const DeviceTraits warm[] = {device(true)};
  const double ms = estimate_on_devices(DeviceMethod::kBitmap, job, warm).milliseconds;
  EXPECT_LT(ms, 100);
  EXPECT_NEAR(estimate_on_devices(DeviceMethod::kBitmap, job, cold).milliseconds, ms + 200, 1e-6);
  EXPECT_EQ(choose_device(DeviceMode::kAuto, job, warm, ms + 100, {}).method, DeviceMethod::kBitmap);
  EXPECT_EQ(choose_device(DeviceMode::kAuto, job, cold, ms + 100, {}).method, std::nullopt);
  EXPECT_EQ(choose_device(DeviceMode::kAuto, job, cold, ms + 300, {}).method, DeviceMethod::kBitmap);
  EXPECT_EQ(choose_device(DeviceMode::kAuto, job, warm, ms * 1.05, {}).method, std::nullopt) << "not clearly faster";
}

TEST(DevicePolicy, ModesCommand) {
  const DeviceSizes job = sizes(10, 10, 3);
  const DeviceTraits warm[] = {device(true)};
  EXPECT_EQ(choose_device(DeviceMode::kAuto, job, warm, 0.001, {}).method, std::nullopt);
  EXPECT_NE(choose_device(DeviceMode::kCuda, job, warm, 0.001, {}).method, std::nullopt);
  EXPECT_NE(choose_device(DeviceMode::kRequire, job, warm, 0.001, {}).method, std::nullopt);
  EXPECT_EQ(choose_device(DeviceMode::kCpu, job, warm, 1e9, {}).method, std::nullopt);
  EXPECT_EQ(choose_device(DeviceMode::kCuda, job, {}, 1e9, {}).method, std::nullopt);
}

TEST(DevicePolicy, MethodByDensity) {
  const DeviceTraits warm[] = {device(true)};
  EXPECT_EQ(choose_device(DeviceMode::kCuda, sizes(4000, 50000, 200), warm, 0, {}).method, DeviceMethod::kBitmap);
  EXPECT_EQ(choose_device(DeviceMode::kCuda, sizes(50000, 2000000, 5), warm, 0, {}).method, DeviceMethod::kHorizontal);
  EXPECT_EQ(choose_device(DeviceMode::kCuda, sizes(4000, 50000, 200), warm, 0, DeviceMethod::kHorizontal).method,
            DeviceMethod::kHorizontal)
      << "asked for";
}

TEST(DevicePolicy, MemoryDecides) {
  DeviceSizes job = sizes(100000, 10000000, 10);  // bit rows of 125 GB
  const DeviceTraits warm[] = {device(true)};
  EXPECT_FALSE(estimate_on_devices(DeviceMethod::kBitmap, job, warm).fits);
  EXPECT_TRUE(estimate_on_devices(DeviceMethod::kHorizontal, job, warm).fits);
  EXPECT_EQ(choose_device(DeviceMode::kCuda, job, warm, 0, DeviceMethod::kBitmap).method, std::nullopt);
  job.memory_limit = uint64_t{1} << 30;
  const DeviceChoice choice = choose_device(DeviceMode::kCuda, job, warm, 0, {});
  EXPECT_EQ(choice.method, std::nullopt);
  EXPECT_NE(choice.reason.find("does not fit"), std::string::npos) << choice.reason;
}

TEST(DevicePolicy, DevicesShareTheCounting) {
  const DeviceSizes job = sizes(64000, 100000, 3000);
  const DeviceTraits two[] = {device(true), device(true)};
  const double one_ms = estimate_on_devices(DeviceMethod::kBitmap, job, std::span(two).first(1)).milliseconds;
  const double two_ms = estimate_on_devices(DeviceMethod::kBitmap, job, two).milliseconds;
  EXPECT_LT(two_ms, one_ms);
  EXPECT_GT(two_ms, one_ms / 2) << "every device gets all rows";
}

TEST(DevicePolicy, BatmapsWhereTheyAreThereAndRowsCostMore) {
  const DeviceTraits warm[] = {device(true)};
  DeviceSizes job;
  job.items = job.leading = 4000;
  job.threads = 8;
  EXPECT_EQ(choose_device(DeviceMode::kRequire, job, warm, 1e9, {}).method, std::nullopt) << "no form";
  job.batmap_bytes = uint64_t{60} << 20;
  job.batmap_words = 8e6 * 4000;
  EXPECT_EQ(choose_device(DeviceMode::kAuto, job, warm, 1000, {}).method, DeviceMethod::kBatmap);
  const double alone = estimate_on_devices(DeviceMethod::kBatmap, job, warm).milliseconds;
  job.tid_slots = 50000;
  job.rows = 10'000'000;
  job.pair_instances = 1'000'000'000;
  EXPECT_EQ(choose_device(DeviceMode::kAuto, job, warm, 1000, {}).method, DeviceMethod::kBitmap) << "rows are there";
  job.host_ms = 600;
  EXPECT_EQ(choose_device(DeviceMode::kAuto, job, warm, 1000, {}).method, DeviceMethod::kBatmap) << "rows are to be made";
  EXPECT_EQ(estimate_on_devices(DeviceMethod::kBatmap, job, warm).milliseconds, alone) << "rows do not matter";
  job.memory_limit = uint64_t{32} << 20;
  EXPECT_FALSE(estimate_on_devices(DeviceMethod::kBatmap, job, warm).fits);
}

DeviceTraits episode_device(bool ready) {
  DeviceTraits traits = device(ready);
  traits.multiprocessors = 132;
  return traits;
}

/// Thirty episodes of nine symbols each, of 64 symbols.
EpisodeSizes episode_sizes(uint64_t events) {
  EpisodeSizes sizes;
  sizes.length = 9;
  sizes.events = sizes.sent_events = events;
  sizes.episodes = 30;
  sizes.step_events = events / 64 * 9 * 30;
  return sizes;
}

TEST(DevicePolicy, ListsOfPairs) {
  ListSizes job{.pairs = 10'000'000, .form_bytes = uint64_t{200} << 20, .read_bytes = 1e12, .threads = 16};
  const DeviceTraits one = device(true);
  const DeviceTraits two[] = {device(true), device(true)};
  const double ms = estimate_list_on_devices(job, {&one, 1}).milliseconds;
  EXPECT_LT(estimate_list_on_devices(job, two).milliseconds, ms);
  const DeviceTraits asleep = device(false);
  EXPECT_NEAR(estimate_list_on_devices(job, {&asleep, 1}).milliseconds, ms + 200, 1e-6);
  const auto is_chosen = [&](DeviceMode mode, double cpu_ms) {
    return choose_list_devices(mode, {&job, 1}, {&one, 1}, cpu_ms).method == DeviceMethod::kBatmap;
  };
  EXPECT_TRUE(is_chosen(DeviceMode::kAuto, 2 * ms));
  EXPECT_FALSE(is_chosen(DeviceMode::kAuto, ms)) << "it must be clearly faster";
  EXPECT_TRUE(is_chosen(DeviceMode::kCuda, 0.1));
  EXPECT_FALSE(is_chosen(DeviceMode::kCpu, 1e6));
  EXPECT_FALSE(choose_list_devices(DeviceMode::kRequire, {&job, 1}, {}, 1e6).method.has_value());
  job.left_ms = ms;
  EXPECT_FALSE(is_chosen(DeviceMode::kAuto, 2 * ms)) << "the CPU has to count the others";
  job.memory_limit = uint64_t{500} << 20;
  EXPECT_FALSE(is_chosen(DeviceMode::kCuda, 1e6)) << "it does not fit";
  EXPECT_EQ(choose_list_devices(DeviceMode::kRequire, {}, {&one, 1}, 1e6).reason, "no GPU counts these pairs");
}

TEST(DevicePolicy, ListsOfPairsOfSparseSets) {
  const DeviceTraits one = device(true);
  ListSizes ways[] = {{.items = 2000,
                       .pairs = 2'000'000,
                       .form_bytes = uint64_t{270} << 20,
                       .read_bytes = 5e11,
                       .prepare_ms = 80,
                       .threads = 16},
                      {.method = DeviceMethod::kHorizontal,
                       .items = 2000,
                       .pairs = 2'000'000,
                       .rows = 20'000'000,
                       .tid_slots = uint64_t{1} << 24,
                       .pair_instances = 2e7,
                       .threads = 16}};
  const auto method = [&] { return choose_list_devices(DeviceMode::kAuto, ways, {&one, 1}, 1e6).method; };
  EXPECT_EQ(method(), DeviceMethod::kHorizontal);
  ways[1].pair_instances = 1e12;
  EXPECT_EQ(method(), DeviceMethod::kBatmap) << "many sets have the same elements";
  ways[1].pair_instances = 2e7;
  ways[1].pairs = 100'000;
  EXPECT_EQ(method(), DeviceMethod::kBatmap) << "most pairs are not on the list";
  ways[1].pairs = 2'000'000;
  ways[1].memory_limit = ways[0].memory_limit = uint64_t{700} << 20;
  EXPECT_EQ(method(), std::nullopt) << "neither fits";
  ways[1].rows = 1'000'000;
  ways[1].memory_limit = uint64_t{800} << 20;
  EXPECT_EQ(method(), DeviceMethod::kHorizontal);
}

TEST(DevicePolicy, ListsAreForSparseSetsAndFewOfAllPairs) {
  const DeviceTraits one = device(true);
  ListSizes ways[] = {{.items = 100'000,
                       .pairs = 10'000'000,
                       .form_bytes = uint64_t{400} << 20,
                       .read_bytes = 8e10,
                       .prepare_ms = 300,
                       .threads = 16},
                      {.method = DeviceMethod::kLists,
                       .items = 100'000,
                       .pairs = 10'000'000,
                       .rows = 100'000'000,
                       .look_ups = 1e10,
                       .threads = 16}};
  const auto method = [&] { return choose_list_devices(DeviceMode::kAuto, ways, {&one, 1}, 1e6).method; };
  EXPECT_EQ(method(), DeviceMethod::kLists);
  ways[1].look_ups = 1e13;
  EXPECT_EQ(method(), DeviceMethod::kBatmap) << "sets are dense";
  ways[0].memory_limit = ways[1].memory_limit = uint64_t{2} << 30;
  ways[1].look_ups = 1e10;
  EXPECT_EQ(method(), DeviceMethod::kBatmap) << "lists take more memory while they are made";
  EXPECT_FALSE(estimate_on_devices(DeviceMethod::kLists, {}, {&one, 1}).fits) << "not for all pairs";
}

TEST(DevicePolicy, AListOfManyPairsIsLookedUp) {
  EXPECT_FALSE(pays_to_count_all(0, 0));
  EXPECT_FALSE(pays_to_count_all(1000, 1'000'000)) << "too few tiles";
  EXPECT_TRUE(pays_to_count_all(2000, 1'000'000));
  EXPECT_FALSE(pays_to_count_all(100'000, 10'000'000));
  const DeviceTraits one = device(true);
  const auto ms = [&](uint64_t items, uint64_t pairs) {
    const ListSizes job{
        .items = items, .pairs = pairs, .form_bytes = 1, .read_bytes = 200'000.0 * static_cast<double>(pairs)};
    return estimate_list_on_devices(job, {&one, 1}).milliseconds;
  };
  EXPECT_LT(ms(2000, 1'000'000), ms(20'000, 1'000'000) / 4);
  EXPECT_LT(ms(4000, 2'000'000), ms(4000, 1'999'000)) << "it is not taken for slower";
}

TEST(DevicePolicy, EpisodesWeighContextAndLists) {
  EpisodeSizes sizes = episode_sizes(3'000'000);
  const double ms = estimate_episodes_on_device(sizes, episode_device(true)).milliseconds;
  EXPECT_NEAR(estimate_episodes_on_device(sizes, episode_device(false)).milliseconds, ms + 200, 1e-6);
  EXPECT_TRUE(choose_episode_device(DeviceMode::kAuto, sizes, episode_device(true), 2 * ms).is_chosen);
  EXPECT_FALSE(choose_episode_device(DeviceMode::kAuto, sizes, episode_device(true), 1.05 * ms).is_chosen);
  EXPECT_FALSE(choose_episode_device(DeviceMode::kAuto, sizes, episode_device(false), 2 * ms).is_chosen);
  sizes.is_sent = true;
  const double again = estimate_episodes_on_device(sizes, episode_device(true)).milliseconds;
  EXPECT_LT(again, ms) << "the lists are there";
  sizes.walked_entries = sizes.walked_events = 1;
  sizes.is_sent = false;
  EXPECT_GT(estimate_episodes_on_device(sizes, episode_device(true)).milliseconds, ms) << "their order is sent, too";
}

TEST(DevicePolicy, MachinesTakeTurns) {
  EpisodeSizes sizes = episode_sizes(3'000'000);
  const auto estimate = [&](DeviceEpisodeMethod method) {
    sizes.method = method;
    return estimate_episodes_on_device(sizes, episode_device(true)).milliseconds;
  };
  EXPECT_GT(estimate(DeviceEpisodeMethod::kMapConcat), 2 * estimate(DeviceEpisodeMethod::kCountScanWrite));
  const double automaton = estimate(DeviceEpisodeMethod::kAutomaton);
  EXPECT_GT(automaton, 2 * estimate(DeviceEpisodeMethod::kMapConcat)) << "few machines";
  sizes.episodes *= 10;
  sizes.step_events *= 10;
  EXPECT_LT(estimate(DeviceEpisodeMethod::kAutomaton), 1.1 * automaton) << "each has a thread";
  sizes.episodes *= 100;
  sizes.step_events *= 100;
  EXPECT_GT(estimate(DeviceEpisodeMethod::kAutomaton), 10 * automaton);
}

TEST(DevicePolicy, ModesCommandEpisodes) {
  const EpisodeSizes sizes = episode_sizes(1000);
  EXPECT_FALSE(choose_episode_device(DeviceMode::kAuto, sizes, episode_device(true), 0.01).is_chosen);
  EXPECT_TRUE(choose_episode_device(DeviceMode::kCuda, sizes, episode_device(true), 0.01).is_chosen);
  EXPECT_TRUE(choose_episode_device(DeviceMode::kRequire, sizes, episode_device(false), 0.01).is_chosen);
  EXPECT_FALSE(choose_episode_device(DeviceMode::kCpu, sizes, episode_device(true), 1e9).is_chosen);
}

TEST(DevicePolicy, StreamsAndStepsAreNotForDevices) {
  EpisodeSizes sizes = episode_sizes(3'000'000);
  sizes.is_plain = false;
  for (const DeviceMode mode : {DeviceMode::kAuto, DeviceMode::kCuda, DeviceMode::kRequire}) {
    const DeviceVerdict verdict = choose_episode_device(mode, sizes, episode_device(true), 1e9);
    EXPECT_FALSE(verdict.is_chosen);
    EXPECT_EQ(verdict.reason, " GPUs count neither streams nor events of one time");
  }
}

TEST(DevicePolicy, EpisodesFitOrNot) {
  EpisodeSizes sizes = episode_sizes(100'000'000);
  EXPECT_TRUE(choose_episode_device(DeviceMode::kCuda, sizes, episode_device(true), 1e9).is_chosen);
  sizes.memory_limit = uint64_t{512} << 20;
  const DeviceVerdict choice = choose_episode_device(DeviceMode::kCuda, sizes, episode_device(true), 1e9);
  EXPECT_FALSE(choice.is_chosen);
  EXPECT_NE(choice.reason.find("does not fit"), std::string::npos) << choice.reason;
}

}  // namespace
}  // namespace batmap
