// Arbitrary bytes as episode counts. Those that are accepted are read, written and added up without loss, and answered from.
#include <cstring>
#include <map>
#include <vector>

#include "core/error.h"
#include "episodes/episode_counts.h"
#include "episodes/episode_parts.h"
#include "test/fuzz/require.h"

using namespace batmap;
using batmap::test::require;

namespace {

using Bytes = std::vector<std::byte>;
using Supports = std::map<std::vector<uint32_t>, uint64_t>;

Bytes exact(const GrowingBuffer<std::byte>& buffer) { return {buffer.begin(), buffer.end()}; }

Supports read(const Bytes& value) {
  Supports supports;
  for (TreeNodes nodes = episode_counts_nodes(value.data()); nodes.next();) {
    if (nodes.count() == 0) continue;
    const std::vector<uint32_t> path(nodes.path().begin(), nodes.path().end());
    require(supports.emplace(path, nodes.count()).second, "an episode comes once");
  }
  require(supports.size() == episode_counts_header(value.data()).episodes, "the header knows the episodes");
  return supports;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  MemoryMeter meter(size_t{1} << 30);
  const ExecutionOptions options{1, &meter, {}};
  Bytes value(size);
  if (size > 0) std::memcpy(value.data(), data, size);
  try {
    validate_episode_counts(value, options);
  } catch (const Error& error) {
    require(error.code() == ErrorCode::kInvalidData, "a refusal is about the data");
    return 0;
  }
  require(is_episode_counts(value, value.size()), "a value has a sound header");
  const EpisodeCountsHeader header = episode_counts_header(value.data());
  const EpisodeShape shape = episode_counts_shape(value.data());
  const Supports supports = read(value);
  EpisodePaths paths(options);
  for (const auto& [path, support] : supports) paths.add(path, support);
  const Buffer<int64_t> events = episode_counts_events(value.data(), options);
  GrowingBuffer<std::byte> again(meter);
  write_episodes(paths, events.span(), shape, {header.rows, header.streams, header.duration}, again, options);
  require(exact(again) == value, "equal counts have equal bytes");

  EpisodeQuery query;
  query.gaps = shape.gaps;
  query.min_count = 1;
  StoredEpisodes stored(value.data(), query, options);
  size_t answers = 0;
  while (stored.next()) ++answers;
  require(answers == supports.size(), "all episodes are answers");

  GrowingBuffer<std::byte> nothing(meter);
  missing_episode_counts(value.data(), value.data(), nothing, options);
  require(episode_counts_header(nothing.begin()).episodes == 0, "a value lacks nothing of itself");
  const std::byte* const values[2] = {value.data(), value.data()};
  GrowingBuffer<std::byte> out(meter);
  try {
    add_episode_counts(values, out, options);
  } catch (const Error& error) {
    require(error.code() == ErrorCode::kTooLarge, "a refusal is about the totals");
    return 0;
  }
  const Bytes sum = exact(out);
  validate_episode_counts(sum, options);  // throws, and the fuzzer reports that
  Supports twice = supports;
  for (auto& [path, support] : twice) support *= 2;
  require(read(sum) == twice, "twice a value is twice its supports");
  return 0;
}
