// The table of methods and the cost model. See episode_counter.h.
#include "episodes/episode_counter.h"

#include <algorithm>

#include "core/thread_team.h"
#include "episodes/automaton.h"
#include "episodes/mapconcat.h"
#include "episodes/tracking.h"

namespace batmap {

namespace {

// Nanoseconds, by bench/run episodes on one core of an EPYC with AVX2.
constexpr double kTrackNs = 5.0;        // an event of a list and an entry of a frontier
constexpr double kSortNs = 25.0;        // an entry that is sorted, two columns
constexpr double kMachineNs = 12.0;     // a place that an event moves
constexpr double kScanNs = 2.0;         // an event that a pass looks at
constexpr double kTeamMs = 0.05;        // up to four threads that start and end
constexpr double kMachinesAgain = 1.5;  // of the map: machines until they meet

/// Runs count(first, last) over ranges of neighbours, a few for each thread.
template <typename Count>
void share_out(const EpisodeBatch& batch, const ExecutionOptions& options, size_t ranges, Count count) {
  const size_t tasks = std::min(batch.size, ranges);
  parallel_for(options, tasks, [&](size_t task, int) { count(batch.size * task / tasks, batch.size * (task + 1) / tasks); });
}

size_t threads_of(const ExecutionOptions& options) { return static_cast<size_t>(std::max(options.threads, 1)); }

}  // namespace

std::string episode_method_names() {
  std::string names;
  for (const char* const name : kEpisodeMethodNames) names += (names.empty() ? "" : ", ") + std::string(name);
  return names;
}

double estimate_episodes(EpisodeMethod method, const EpisodeJob& job) {
  constexpr double kMsANs = 1e-6;
  const auto lists = static_cast<double>(job.list_events);
  const auto episodes = static_cast<double>(job.episodes);
  const auto threads = static_cast<double>(std::max(job.threads, 1));
  const auto shared = std::min(threads, episodes);  // threads that have an episode
  const double teams = threads > 1 ? kTeamMs * std::max(threads / 4, 1.0) : 0;
  const double steps = episodes * static_cast<double>(job.length - 1);
  switch (method) {
    case EpisodeMethod::kTracking: return lists * kTrackNs * kMsANs / shared + teams;
    case EpisodeMethod::kCountScanWrite: return 2 * lists * kTrackNs * kMsANs / threads + 2 * teams * steps;
    case EpisodeMethod::kAtomic:
      // One block at a time comes out in order.
      return lists * (kTrackNs / threads + (threads > 1 ? kSortNs : 0)) * kMsANs + teams * steps;
    case EpisodeMethod::kAutomaton:
      return (static_cast<double>(job.events) * kScanNs + lists * kMachineNs / shared) * kMsANs + teams;
    case EpisodeMethod::kMapConcat:
      return episodes * (static_cast<double>(job.events) * kMachineNs * kMachinesAgain / threads * kMsANs + teams);
  }
  return 0;
}

EpisodeMethod choose_episode_method(const EpisodeJob& job) {
  auto best = EpisodeMethod::kTracking;
  for (size_t k = 1; k < kEpisodeMethods; ++k)
    if (const auto method = static_cast<EpisodeMethod>(k); estimate_episodes(method, job) < estimate_episodes(best, job))
      best = method;
  return best;
}

EpisodeJob describe_job(const EventStreamView& view, const EpisodeBatch& batch, int threads) {
  EpisodeJob job{batch.size, batch.length, view.events, 0, threads};
  for (size_t k = 0; k < batch.size * batch.length; ++k) job.list_events += view.list(batch.symbols[k]).size();
  return job;
}

void count_episodes(EpisodeMethod method, const EventStreamView& view, const EpisodeBatch& batch, std::span<uint64_t> counts,
                    const ExecutionOptions& options) {
  switch (method) {
    case EpisodeMethod::kTracking:
      share_out(batch, options, 16 * threads_of(options), [&](size_t first, size_t last) {
        Tracker tracker(view, options);
        for (size_t k = first; k < last; ++k) counts[k] += tracker.count(batch[k]);
      });
      break;
    case EpisodeMethod::kCountScanWrite:
    case EpisodeMethod::kAtomic: {
      const auto compaction = method == EpisodeMethod::kAtomic ? Compaction::kAtomic : Compaction::kCountScanWrite;
      for (size_t k = 0; k < batch.size; ++k) counts[k] += track_in_blocks(view, batch[k], compaction, options);
      break;
    }
    case EpisodeMethod::kAutomaton:
      share_out(batch, options, threads_of(options), [&](size_t first, size_t last) {
        count_by_automaton(view, batch, first, last, counts.data() + first, options);
      });
      break;
    case EpisodeMethod::kMapConcat:
      for (size_t k = 0; k < batch.size; ++k)
        counts[k] += count_by_mapconcat(view, batch[k], 4 * threads_of(options), options);
      break;
  }
}

}  // namespace batmap
