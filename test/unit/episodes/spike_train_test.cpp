// The generated spikes: the same for the same seed, at the rates of the paper, and with the embedded episodes.
#include "episodes/spike_train.h"

#include <gtest/gtest.h>

#include "episodes/episode_run.h"
#include "test/unit/shared/episodes.h"

namespace batmap::test {
namespace {

std::vector<Spike> spikes_of(const SpikeModel& model, int seconds) {
  SpikeTrain train(model);
  std::vector<Spike> all;
  std::vector<Spike> some;
  for (int bin = 0; bin < seconds * 1000; ++bin) {
    train.next(some);
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

TEST(SpikeTrain, IsAFunctionOfTheModel) {
  const std::vector<Spike> spikes = spikes_of({}, 2);
  const std::vector<Spike> again = spikes_of({}, 2);
  ASSERT_EQ(spikes.size(), again.size());
  for (size_t k = 0; k < spikes.size(); ++k) {
    EXPECT_EQ(spikes[k].time_us, again[k].time_us);
    EXPECT_EQ(spikes[k].neuron, again[k].neuron);
    if (k > 0) {
      EXPECT_GE(spikes[k].time_us, spikes[k - 1].time_us);
    }
    EXPECT_LT(spikes[k].neuron, 64u);
  }
  const std::vector<Spike> other = spikes_of({.seed = 2}, 2);
  EXPECT_FALSE(other.size() == spikes.size() && other[0].time_us == spikes[0].time_us);
}

TEST(SpikeTrain, HasTheRatesOfThePaper) {
  // EP Table II: 65,428 spikes in 20 s, 12,840,684 in 4,000 s.
  const std::vector<Spike> spikes = spikes_of({}, 50);
  const double rate = static_cast<double>(spikes.size()) / 50;
  EXPECT_GT(rate, 3000);
  EXPECT_LT(rate, 3500);
  std::vector<size_t> count(64);
  for (const Spike& spike : spikes) ++count[spike.neuron];
  for (const size_t alone : {0u, 9u, 18u, 27u, 40u, 63u}) {
    EXPECT_GT(count[alone], 15u * 50) << alone;
    EXPECT_LT(count[alone], 27u * 50) << alone;
  }
}

/// The frequent episodes of nine neurons and their supports.
std::map<std::vector<int64_t>, uint64_t> episodes_of_nine(const SpikeModel& model, int seconds, int64_t min_count) {
  MemoryMeter meter;
  const ExecutionOptions options{.threads = 2, .memory = &meter, .cancel = {}};
  EventLog log(options, false);
  for (const Spike& spike : spikes_of(model, seconds)) log.append(spike.time_us, spike.neuron);
  EpisodeQuery query;
  query.gaps = {{5000, 10000}};
  query.min_count = min_count;
  query.min_length = 9;
  query.max_length = 9;
  EpisodeRun run(std::move(log), {}, query, options);
  std::map<std::vector<int64_t>, uint64_t> found;
  while (const std::optional<EpisodeRun::Row> row = run.next()) {
    std::vector<int64_t> events;
    for (const uint32_t step : row->steps) events.push_back(run.event(step));
    found[events] = row->support;
  }
  return found;
}

std::vector<int64_t> embedded(int64_t episode) {
  std::vector<int64_t> events;
  for (int64_t k = 0; k < 9; ++k) events.push_back(episode * 9 + k);
  return events;
}

TEST(SpikeTrain, DiscoveryFindsTheEmbeddedEpisodes) {
  // With little noise, the embedded episodes and no others are found.
  std::set<std::vector<int64_t>> found;
  for (const auto& [events, support] : episodes_of_nine({.rate = 4}, 60, 55)) found.insert(events);
  EXPECT_EQ(found, (std::set<std::vector<int64_t>>{embedded(0), embedded(1), embedded(2), embedded(3)}));
}

TEST(SpikeTrain, EmbeddedEpisodesStandOutFromTheNoiseOfThePaper) {
  // The last neurons of a chain fire so often that other orders of them are frequent, too. But among all
  // episodes that begin with the first neuron of a chain, the chain is the most frequent.
  const std::map<std::vector<int64_t>, uint64_t> found = episodes_of_nine({}, 20, 110);
  for (int64_t episode = 0; episode < 4; ++episode) {
    ASSERT_TRUE(found.contains(embedded(episode))) << episode;
    for (const auto& [events, support] : found)
      if (events[0] == episode * 9) {
        EXPECT_LE(support, found.at(embedded(episode)));
      }
  }
}

TEST(SpikeTrain, RefusesBadModels) {
  for (const SpikeModel& model :
       {SpikeModel{.neurons = 0}, SpikeModel{.neurons = 2'001}, SpikeModel{.rate = 0}, SpikeModel{.rate = 501},
        SpikeModel{.episodes = -1}, SpikeModel{.length = 0}, SpikeModel{.episodes = 8}, SpikeModel{.strength = 1}})
    EXPECT_THROW(SpikeTrain{model}, Error);
}

}  // namespace
}  // namespace batmap::test
