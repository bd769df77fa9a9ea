// The table of methods and the cost model. See episode_counter.h.
#include "episodes/episode_counter.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/thread_team.h"
#include "episodes/automaton.h"
#include "episodes/between_pieces.h"
#include "episodes/counting_rule.h"
#include "episodes/frontier.h"
#include "episodes/mapconcat.h"
#include "episodes/tracking.h"

namespace batmap {

namespace {

// Nanoseconds on one core of an EPYC with AVX2, by bench/run episodes. kTrackNs, kUnforeseenNs and kTeamMs are
// from 16 threads, by bench/episode_devices.cpp.
constexpr double kTrackNs = 2.0;        // an event of a list
constexpr double kUnforeseenNs = 21.0;  // more for an event where the branch "extends the frontier" is mispredicted
constexpr double kSortNs = 25.0;        // an entry that is sorted, in two columns
constexpr double kMachineNs = 12.0;     // an event at one position of an episode
constexpr double kScanNs = 2.0;         // an event that a pass looks at
constexpr double kTeamMs = 0.035;       // to start and end up to four threads
constexpr double kMachinesAgain = 1.5;  // machines of a segment, until they meet, for each one that counts

// The sample of mispredicted branches, taken where there are enough list events.
constexpr uint64_t kWorthSampling = 1 << 17;
constexpr size_t kSampledEpisodes = 4;
constexpr double kSampledEvents = 128;  // of each list
constexpr double kUsualShare = 0.1;     // without a sample

/// Runs count(first, last) over ranges of neighbours, a few for each thread.
template <typename Count>
void share_out(const EpisodeBatch& batch, const ExecutionOptions& options, size_t ranges, Count count) {
  const size_t tasks = std::min(batch.size, ranges);
  parallel_for(options, tasks, [&](size_t task, int) { count(batch.size * task / tasks, batch.size * (task + 1) / tasks); });
}

size_t threads_of(const ExecutionOptions& options) { return static_cast<size_t>(std::max(options.threads, 1)); }

/// The share of list events whose branch is mispredicted, from a slice in the middle of the stream.
double sample_unforeseen(const EventAxisView& view, const EpisodeBatch& batch, uint64_t list_events) {
  const double list = static_cast<double>(list_events) / static_cast<double>(batch.size * batch.length);
  const auto whole = static_cast<double>(view.ticks());
  const double ticks = whole * std::min(1.0, kSampledEvents / list);
  const auto slice = [&](uint32_t symbol) {
    const std::span<const int64_t> all = view.list(symbol);
    const auto time = [&](double at) { return view.times[0] + static_cast<int64_t>(at); };
    const auto from = std::lower_bound(all.begin(), all.end(), time((whole - ticks) / 2));
    return std::span(from, std::lower_bound(from, all.end(), time((whole + ticks) / 2)));
  };
  std::vector<int64_t> frontier;
  std::vector<int64_t> longer;
  size_t events = 0;
  size_t unforeseen = 0;
  const size_t sampled = std::min(batch.size, kSampledEpisodes);
  for (size_t k = 0; k < sampled; ++k) {
    const EpisodeView episode = batch[batch.size * k / sampled];
    const std::span<const int64_t> first = slice(episode.symbols[0]);
    frontier.assign(first.begin(), first.end());
    for (size_t position = 1; position < episode.length(); ++position) {
      const std::span<const int64_t> own = slice(episode.symbols[position]);
      longer.clear();
      extend_frontier({frontier.data(), frontier.data(), frontier.size()}, own, view.cut(episode.gaps[position - 1]),
                      [&](int64_t end, int64_t) { longer.push_back(end); });
      events += own.size();
      unforeseen += std::min(longer.size(), own.size() - longer.size());
      frontier.swap(longer);
    }
  }
  return events == 0 ? kUsualShare : static_cast<double>(unforeseen) / static_cast<double>(events);
}

}  // namespace

double threads_apart(int threads) {
  // 16 threads did the work of 6: bench/episode_devices.cpp.
  return std::pow(std::max(threads, 1), 0.65);
}

double estimate_episodes(EpisodeMethod method, const EpisodeJob& job) {
  constexpr double kMsANs = 1e-6;
  const auto lists = static_cast<double>(job.list_events);
  const auto episodes = static_cast<double>(job.episodes);
  const double tracking = lists * kTrackNs + static_cast<double>(job.unforeseen) * kUnforeseenNs;
  const double threads = threads_apart(job.threads);
  const double shared = std::min(threads, episodes);  // threads that have an episode
  const double teams = job.threads > 1 ? kTeamMs * std::max(job.threads / 4.0, 1.0) : 0;
  const double steps = episodes * static_cast<double>(job.length - 1);
  switch (method) {
    case EpisodeMethod::kTracking: return tracking * kMsANs / shared + teams;
    case EpisodeMethod::kCountScanWrite: return 2 * tracking * kMsANs / threads + 2 * teams * steps;
    case EpisodeMethod::kAtomic:
      // With one thread, blocks come out in order and are not sorted.
      return (tracking / threads + (job.threads > 1 ? lists * kSortNs : 0)) * kMsANs + teams * steps;
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

EpisodeJob describe_job(const EventAxisView& view, const EpisodeBatch& batch, int threads) {
  EpisodeJob job{batch.size, batch.length, view.events, 0, 0, threads};
  for (size_t k = 0; k < batch.size * batch.length; ++k) job.list_events += view.list(batch.symbols[k]).size();
  const double share = job.list_events < kWorthSampling ? kUsualShare : sample_unforeseen(view, batch, job.list_events);
  job.unforeseen = static_cast<uint64_t>(static_cast<double>(job.list_events) * share);
  return job;
}

EpisodeMethod choose_for_part(const EventPart& part, const EventAxisView& view, const EpisodeBatch& batch, int threads) {
  return part.is_piece ? EpisodeMethod::kTracking : choose_episode_method(describe_job(view, batch, threads));
}

void count_episodes(EpisodeMethod method, const EventAxisView& view, const EpisodeBatch& batch, std::span<uint64_t> counts,
                    const ExecutionOptions& options, std::span<int64_t> blocked_to, std::span<Occurrence> carried) {
  // Calls count(episode, blocked) for one episode.
  const auto count_one = [&](size_t k, auto count) {
    int64_t nothing = kNothingBlocked;
    counts[k] += count(batch[k], blocked_to.empty() ? nothing : blocked_to[k]);
  };
  switch (method) {
    case EpisodeMethod::kTracking:
      share_out(batch, options, 16 * threads_of(options), [&](size_t first, size_t last) {
        Tracker tracker(view, options);
        for (size_t k = first; k < last; ++k)
          count_one(k, [&](const EpisodeView& episode, int64_t& blocked) {
            const size_t prefixes = episode.length() - 1;
            return tracker.count(episode, blocked, carried.empty() ? carried : carried.subspan(k * prefixes, prefixes));
          });
      });
      break;
    case EpisodeMethod::kCountScanWrite:
    case EpisodeMethod::kAtomic: {
      const auto compaction = method == EpisodeMethod::kAtomic ? Compaction::kAtomic : Compaction::kCountScanWrite;
      for (size_t k = 0; k < batch.size; ++k)
        count_one(k, [&](const EpisodeView& episode, int64_t& blocked) {
          return track_in_blocks(view, episode, compaction, blocked, options);
        });
      break;
    }
    case EpisodeMethod::kAutomaton:
      share_out(batch, options, threads_of(options), [&](size_t first, size_t last) {
        count_by_automaton(view, batch, first, last, counts.data() + first,
                           blocked_to.empty() ? nullptr : blocked_to.data() + first, options);
      });
      break;
    case EpisodeMethod::kMapConcat:
      for (size_t k = 0; k < batch.size; ++k)
        count_one(k, [&](const EpisodeView& episode, int64_t& blocked) {
          return count_by_mapconcat(view, episode, 4 * threads_of(options), blocked, options);
        });
      break;
  }
}

EpisodeMethod count_in_parts(const EventStreams& streams, const EpisodeBatch& batch, std::optional<EpisodeMethod> method,
                             std::span<uint64_t> counts, const ExecutionOptions& options) {
  EpisodeMethod used = method.value_or(EpisodeMethod::kTracking);
  const bool tracks = used == EpisodeMethod::kTracking;  // pieces at least
  const size_t gaps = batch.length - 1;
  BetweenPieces blocked(streams, batch.size, kNothingBlocked, *options.memory);
  BetweenPieces carried(streams, tracks ? batch.size * gaps : 0, kNoOccurrence, *options.memory);
  const int64_t step = tracks ? streams.lag({batch.gaps, batch.size * gaps}) : streams.reach();
  streams.for_parts(batch.length, step, options, [&](const EventPart& part) {
    for (const EventAxis& axis : part.axes) {
      const EventAxisView view = axis.view();
      if (!method) used = choose_for_part(part, view, batch, options.threads);
      count_episodes(used, view, batch, counts, options, blocked.of(part), carried.of(part));
    }
  });
  return used;
}

}  // namespace batmap
