// States of batmap_episode_count_agg from arbitrary bytes: either refused, or tracking and the automaton
// count the same.

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "core/error.h"
#include "episodes/episode_run.h"
#include "episodes/episode_state.h"
#include "require.h"

using namespace batmap;
using batmap::test::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto* const state = reinterpret_cast<const std::byte*>(data);
  if (!is_episode_state({state, size})) return 0;
  const EpisodeStateHeader header = episode_state_header(state);
  require(header.bytes() <= size, "a state lies within its bytes");
  require(same_episode(state, state), "it is of its own episode");
  if (header.length > 64) return 0;  // longer episodes are slow and test nothing new
  MemoryMeter meter;
  const ExecutionOptions options{.threads = 1, .memory = &meter, .cancel = {}};
  try {
    const uint64_t count = count_episode_state(state, options);
    require(count <= header.rows / header.length, "occurrences share no event");
    GivenEpisodes given{.events = {}, .length = header.length, .gaps = {header.gap}, .method = EpisodeMethod::kAutomaton};
    for (uint32_t k = 0; k < header.length; ++k) {
      int64_t event;
      std::memcpy(&event, state + sizeof header + k * sizeof event, sizeof event);
      given.events.push_back(event);
    }
    EventLog log(options, false);
    for (uint64_t k = 0; k < header.rows; ++k) {
      int64_t row[2];
      std::memcpy(row, state + header.rows_at() + k * sizeof row, sizeof row);
      log.append(row[0], row[1]);
    }
    RunRecord record;
    const EventStreams streams = streams_of(std::move(log), {}, given, options);
    require(count_given(streams, given, options, record)[0] == count, "the automaton counts alike");
  } catch (const Error& error) {
    require(error.code() == ErrorCode::kTooLarge, "the times are too far apart");
  }
  require(meter.current() == 0, "memory is back");
  return 0;
}
