// The state of the aggregate that counts one episode: the episode, and those events of a group that it names,
// as bytes. It grows in place, is appended to others, and travels between servers. It has a header, the events
// of the episode, then rows; little-endian, at any address. 16 bytes a row, in any order. Source: ours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/options.h"
#include "episodes/episode.h"

namespace batmap {

struct EpisodeStateHeader {
  static constexpr uint32_t kFormat = 0x31706562;  // "bep1"

  uint32_t format = kFormat;
  uint32_t length = 1;  // events of the episode
  Gap gap{};            // for every gap
  uint64_t rows = 0;

  size_t rows_at() const { return sizeof *this + length * sizeof(int64_t); }
  size_t bytes() const { return rows_at() + rows * sizeof(int64_t) * 2; }
};
inline constexpr size_t kEpisodeStateRowBytes = 2 * sizeof(int64_t);

/// Does the header agree with itself and with the size? Room behind the rows is allowed. Takes constant time,
/// and is the whole check: events and times may have any value.
bool is_episode_state(std::span<const std::byte> bytes);
/// Checks bytes from outside. @throws Error{kInvalidData} unless they are a state without room behind the rows
void validate_episode_state(std::span<const std::byte> bytes);

// The following functions take valid states only.
EpisodeStateHeader episode_state_header(const std::byte* state);
void set_episode_state_header(std::byte* state, const EpisodeStateHeader& header);
/// There must be room.
void append_episode_state_row(std::byte* state, int64_t time, int64_t event);
/// Appends the rows of another state of the same episode. There must be room.
void append_episode_state(std::byte* state, const std::byte* other);
bool same_episode(const std::byte* state, const std::byte* other);

/// The support of the episode. @throws Error, std::bad_alloc
uint64_t count_episode_state(const std::byte* state, const ExecutionOptions& options);

}  // namespace batmap
