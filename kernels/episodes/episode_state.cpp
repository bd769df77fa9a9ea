// The bytes of a state. See episode_state.h.
#include "episodes/episode_state.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

#include "core/polled.h"
#include "episodes/episode_run.h"

namespace batmap {

bool is_episode_state(std::span<const std::byte> bytes) {
  if (bytes.size() < sizeof(EpisodeStateHeader)) return false;
  const EpisodeStateHeader header = episode_state_header(bytes.data());
  if (header.format != EpisodeStateHeader::kFormat || header.length == 0) return false;
  if (header.gap.low < 0 || header.gap.high < header.gap.low) return false;
  const size_t behind = bytes.size() - sizeof header;
  if (header.length > behind / sizeof(int64_t)) return false;
  return header.rows <= (behind - header.length * sizeof(int64_t)) / kEpisodeStateRowBytes;
}

void validate_episode_state(std::span<const std::byte> bytes) {
  if (!is_episode_state(bytes) || episode_state_header(bytes.data()).bytes() != bytes.size())
    throw Error(ErrorCode::kInvalidData, "invalid batmap_episode_state: header and length disagree");
}

EpisodeStateHeader episode_state_header(const std::byte* state) {
  EpisodeStateHeader header;
  std::memcpy(&header, state, sizeof header);
  return header;
}

void set_episode_state_header(std::byte* state, const EpisodeStateHeader& header) {
  std::memcpy(state, &header, sizeof header);
}

void append_episode_state_row(std::byte* state, int64_t time, int64_t event) {
  EpisodeStateHeader header = episode_state_header(state);
  const int64_t row[] = {time, event};
  std::memcpy(state + header.bytes(), row, sizeof row);
  ++header.rows;
  set_episode_state_header(state, header);
}

void append_episode_state(std::byte* state, const std::byte* other) {
  EpisodeStateHeader header = episode_state_header(state);
  const EpisodeStateHeader added = episode_state_header(other);
  std::memcpy(state + header.bytes(), other + added.rows_at(), added.rows * kEpisodeStateRowBytes);
  header.rows += added.rows;
  set_episode_state_header(state, header);
}

bool same_episode(const std::byte* state, const std::byte* other) {
  const EpisodeStateHeader x = episode_state_header(state);
  const EpisodeStateHeader y = episode_state_header(other);
  return x.length == y.length && x.gap.low == y.gap.low && x.gap.high == y.gap.high &&
         std::memcmp(state + sizeof x, other + sizeof y, x.length * sizeof(int64_t)) == 0;
}

uint64_t count_episode_state(const std::byte* state, const ExecutionOptions& options) {
  const EpisodeStateHeader header = episode_state_header(state);
  std::vector<int64_t> events(header.length);
  std::memcpy(events.data(), state + sizeof header, header.length * sizeof(int64_t));
  // Events become small numbers, whatever their values are.
  std::vector<int64_t> names = events;
  std::sort(names.begin(), names.end(), polled(options.cancel, std::less<>()));
  const auto number = [&](int64_t event) {
    return static_cast<int64_t>(std::lower_bound(names.begin(), names.end(), event) - names.begin());
  };
  const auto poll = [&](uint64_t step) {
    if (step % 4096 == 0) options.cancel.throw_if_requested();
  };
  for (size_t k = 0; k < events.size(); ++k) {
    poll(k);
    events[k] = number(events[k]);
  }
  const GivenEpisodes given{
      .events = std::move(events), .length = header.length, .gaps = {header.gap}, .method = {}, .device = {}};
  EventLog log(options, false, header.rows);
  for (uint64_t k = 0; k < header.rows; ++k) {
    poll(k);
    int64_t row[2];
    std::memcpy(row, state + header.rows_at() + k * sizeof row, sizeof row);
    if (std::binary_search(names.begin(), names.end(), row[1])) log.append(row[0], number(row[1]));
  }
  RunRecord report;
  return count_given(streams_of(std::move(log), {}, given, options), given, options, report)[0];
}

}  // namespace batmap
