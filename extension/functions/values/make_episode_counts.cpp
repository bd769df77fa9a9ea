// Function batmap_episode_counts_from: episode counts of the rows of a query, of the frequent episodes or of given ones. See
// episodes/episode_parts.h. Its form for the parts of a table has no polymorphic arguments, so that no other function of its name
// can fit a call better, takes gaps in ticks, which no setting can change, and wants streams, because only these may lie in parts.
#include <array>
#include <optional>
#include <utility>

#include "episodes/episode_parts.h"
#include "extension/functions/values/value_run.h"
#include "extension/input/arguments.h"
#include "extension/input/event_source.h"
#include "extension/input/gap_list.h"
#include "extension/input/item_lists.h"
#include "extension/server/device_use.h"
#include "extension/types/episode_counts_datum.h"

#include "extension/server/pg.h"

using namespace batmap;
using namespace batmap::pg;

namespace {

// Positions of the arguments after the gaps.
enum Argument { kMinCount, kMinRate, kMaxLength, kInclude, kExclude, kCounting, kSameTimeSteps, kCandidates, kParams };

constexpr QueryArguments kQuery{kParams + 1};
constexpr QueryArguments kPartQuery{};

struct MakerCall : ValueCall {
  using ValueCall::ValueCall;

  EpisodeQuery query;
  TimeKind unit = TimeKind::kInteger;
  std::optional<EventLog> events;
  const std::byte* candidates = nullptr;  // nullptr: the frequent ones are found
};

using MakerRun = ValueRun<MakerCall>;

/// Reads and checks the arguments behind the gaps. The candidates are in the current context.
void read_arguments(FunctionCallInfo fcinfo, int first, MakerCall& call) {
  const Arguments arguments{fcinfo, first, kParams};
  EpisodeQuery& query = call.query;
  std::array<ItemList, 2> lists{{{kInclude, "include", query.include}, {kExclude, "exclude", query.exclude}}};
  read_lists(lists, arguments, InvalidOid);
  query.min_count = arguments.int8(kMinCount);
  query.min_rate = arguments.float8(kMinRate);
  query.ticks_a_unit = ticks_a_unit(call.unit);
  query.max_length = arguments.int4(kMaxLength);
  query.same_time = arguments.boolean(kSameTimeSteps).value_or(false);
  const char* const counting = arguments.string(kCounting, kEpisodeCountingNames[0]);
  if (arguments.has(kCandidates)) call.candidates = value_bytes(episode_counts_argument(fcinfo, first + kCandidates));
  guarded([&] {
    check_number_of_gaps(query.gaps.size());
    keep_distinct(query.gaps);
    query.counting = parse_episode_counting(counting);
    query.device = selected_devices();
    if (call.candidates == nullptr) {
      if (!query.min_count && !query.min_rate)
        throw Error(ErrorCode::kInvalidParameter, "a threshold is missing", "Give min_count or min_rate, or candidates.");
      return query.check();
    }
    if (query.min_count || query.min_rate || query.max_length || query.include || query.exclude)
      throw Error(ErrorCode::kInvalidParameter, "candidates are counted whatever their number",
                  "Give either candidates, or a threshold, max_length, include and exclude.");
    if (episode_counts_shape(call.candidates) != shape_of(query, static_cast<uint8_t>(call.unit)))
      throw Error(ErrorCode::kInvalidParameter, "the candidates are of other gaps, or another rule of counting",
                  "Give the gaps, counting and same_time with which they were found.");
  });
}

/// Reads the rows, and makes the value in the context of the caller.
/// @param needs_streams  the query must have the third column, whatever is counted
Datum make_counts(const TableInput& input, MakerRun* run, bool needs_streams, MemoryContext caller) {
  MakerCall& call = run->call();
  EventInput rows{};
  rows.log = &call.events;
  rows.options = &call.options;
  rows.progress = &call.progress;
  rows.time = call.unit;
  rows.distances = "gaps";
  rows.needs_streams = needs_streams || call.query.counting == EpisodeCounting::kStreams;
  rows.other_counting = needs_streams ? nullptr : kEpisodeCountingNames[0];
  read_events(input.query(), rows, input.context);
  run->run("stream", call.events->rows(), [&] {
    if (call.candidates != nullptr)
      return count_episodes_of_part(std::move(*call.events), call.candidates, call.bytes, call.options);
    EpisodeRun found(std::move(*call.events), {}, call.query, call.options);
    write_episode_counts(found, shape_of(call.query, static_cast<uint8_t>(call.unit)), call.bytes, call.options);
    RunRecord record = found.record();
    record.results = episode_counts_header(call.bytes.begin()).episodes;
    return record;
  });
  MemoryContextSwitchTo(caller);
  struct varlena* const value = run->value(kSummedEpisodeCounts.type);
  MemoryContextDelete(input.context);
  PG_RETURN_POINTER(value);
}

}  // namespace

BATMAP_FUNCTION(batmap_episode_counts_from) {
  constexpr int kGaps = 1;
  const MemoryContext context = call_context();
  const MemoryContext caller = MemoryContextSwitchTo(context);
  const TableInput input = query_input(fcinfo, context, "batmap_episode_counts_from", 0, kQuery);
  auto* const run = new_stream<MakerRun>(input.operation, context);
  MakerCall& call = run->call();
  Arguments{fcinfo, 0}.require(kGaps, "gaps");
  const GapList gaps = read_gaps(PG_GETARG_ARRAYTYPE_P(kGaps));
  call.unit = gaps.kind;
  append_gaps(gaps, call.query.gaps);
  read_arguments(fcinfo, kGaps + 1, call);
  return make_counts(input, run, false, caller);
}

BATMAP_FUNCTION(batmap_episode_counts_of_part) {
  constexpr int kUnit = 1;
  constexpr int kTicks = 2;
  const MemoryContext context = call_context();
  const MemoryContext caller = MemoryContextSwitchTo(context);
  const TableInput input = query_input(fcinfo, context, "batmap_episode_counts_from", 0, kPartQuery);
  auto* const run = new_stream<MakerRun>(input.operation, context);
  MakerCall& call = run->call();
  for (const int part : {kUnit, kTicks}) Arguments{fcinfo, 0}.require(part, "gaps");
  const int32 unit = PG_GETARG_INT32(kUnit);
  ArrayType* const ticks = PG_GETARG_ARRAYTYPE_P(kTicks);
  const int elements = ArrayGetNItems(ARR_NDIM(ticks), ARR_DIMS(ticks));
  if (unit < 0 || unit > static_cast<int32>(TimeKind::kTimestamp) || elements == 0 || elements % 2 != 0 ||
      array_contains_nulls(ticks))
    ereport(ERROR,
            (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("gaps of a part must be pairs of ticks, with their unit"),
             errhint("Use batmap_episode_counts_from(query, gaps, ...).")));
  call.unit = static_cast<TimeKind>(unit);
  const auto* const bounds = reinterpret_cast<const int64*>(ARR_DATA_PTR(ticks));
  guarded([&] {
    for (int k = 0; k < elements; k += 2) {
      call.query.gaps.push_back({bounds[k], bounds[k + 1]});
      check_gap(call.query.gaps.back(), 1);
    }
  });
  read_arguments(fcinfo, kTicks + 1, call);
  return make_counts(input, run, true, caller);
}
