// ANALYZE of a batmap column. It adds to what the server collects for any ordered type: the most common
// elements with their frequencies, and a histogram of cardinalities. Cardinalities come from the headers.
// Elements are counted exactly in every n-th row of the sample, where n is chosen so that these rows hold
// about 4 million elements (at most 8 million are read). See set_statistics.h for the slots.
#include "extension/types/set_statistics.h"

#include <algorithm>

#include "core/sort_elements.h"
#include "extension/server/backend.h"
#include "extension/server/context_owned.h"
#include "extension/types/set_argument.h"
#include "extension/types/set_datum.h"
#include "set/set_decode.h"

#include "extension/server/pg.h"

using namespace batmap;
using namespace batmap::pg;

namespace {

constexpr uint64_t kMaxElements = uint64_t{4} << 20;
/// Most common elements per unit of the statistics target; the server uses the same factor for arrays.
constexpr int kCommonPerTarget = 10;

/// What std_typanalyze has set up; our statistics are computed after it.
struct StandardAnalyze {
  AnalyzeAttrComputeStatsFunc compute;
  void* extra;
};

struct ElementCount {
  uint64_t element;
  uint32_t rows;
};

/// The most common elements of the counted rows, allocated in the current context.
struct CommonElements {
  int count;
  Datum* elements;
  float4* numbers;  // the frequencies, then the numbers of ElementNumber
};

int free_slot(const VacAttrStats* stats) {
  for (int slot = 0; slot < STATISTIC_NUM_SLOTS; ++slot)
    if (stats->stakind[slot] == 0) return slot;
  return -1;
}

/// Counts how many rows hold each element. The input is the elements of all rows, in any order.
void count_rows(SetWork* work, GrowingBuffer<ElementCount>& counts) {
  sort_elements({work->elements.begin(), work->elements.size()}, work->options);
  for (size_t i = 0; i < work->elements.size();) {
    size_t end = i + 1;
    while (end < work->elements.size() && work->elements[end] == work->elements[i]) ++end;
    counts.push_back({work->elements[i], static_cast<uint32_t>(end - i)});
    i = end;
  }
}

CommonElements most_common(SetWork* work, int rows, int max_common) {
  struct Result {
    size_t common;
    size_t others;
    double others_rows;
    ElementCount* counts;  // the common elements in ascending order; owned by `buffer`
  };
  auto* const buffer = ContextOwned<GrowingBuffer<ElementCount>>::reserve(work->context)->emplace(work->meter);
  const Result result = guarded([&] {
    count_rows(work, *buffer);
    auto more_rows = [](const ElementCount& x, const ElementCount& y) {
      return x.rows != y.rows ? x.rows > y.rows : x.element < y.element;
    };
    size_t common = buffer->size();
    if (common > static_cast<size_t>(max_common)) {
      common = static_cast<size_t>(max_common);
      std::nth_element(buffer->begin(), buffer->begin() + common, buffer->end(), more_rows);
    }
    std::sort(buffer->begin(), buffer->begin() + common,
              [](const ElementCount& x, const ElementCount& y) { return x.element < y.element; });
    double others_rows = 0;
    for (size_t i = common; i < buffer->size(); ++i) others_rows += (*buffer)[i].rows;
    return Result{common, buffer->size() - common, others_rows, buffer->begin()};
  });

  CommonElements common{static_cast<int>(result.common), nullptr, nullptr};
  common.elements = static_cast<Datum*>(palloc(sizeof(Datum) * std::max<size_t>(result.common, 1)));
  common.numbers = static_cast<float4*>(palloc(sizeof(float4) * (result.common + kElementNumbers)));
  float4 least = 1;
  float4 greatest = 0;
  for (size_t i = 0; i < result.common; ++i) {
    common.elements[i] = Int64GetDatum(static_cast<int64>(result.counts[i].element));
    common.numbers[i] = static_cast<float4>(result.counts[i].rows) / static_cast<float4>(rows);
    least = std::min(least, common.numbers[i]);
    greatest = std::max(greatest, common.numbers[i]);
  }
  float4* const extra = common.numbers + result.common;
  extra[kMinFrequency] = least;
  extra[kGreatestFrequency] = greatest;
  extra[kNullFrequency] = 0;
  extra[kOtherFrequency] =
      result.others == 0 ? 0 : static_cast<float4>(result.others_rows / static_cast<double>(result.others) / rows);
  extra[kOtherElements] = static_cast<float4>(result.others);
  return common;
}

void store_common(VacAttrStats* stats, const CommonElements& common) {
  const int slot = free_slot(stats);
  if (slot < 0 || common.count == 0) return;
  stats->stakind[slot] = STATISTIC_KIND_MCELEM;
  stats->staop[slot] = kInt8Equal;
  stats->stanumbers[slot] = common.numbers;
  stats->numnumbers[slot] = common.count + kElementNumbers;
  stats->stavalues[slot] = common.elements;
  stats->numvalues[slot] = common.count;
  stats->statypid[slot] = INT8OID;
  stats->statyplen[slot] = sizeof(int64);
  stats->statypbyval[slot] = FLOAT8PASSBYVAL;
  stats->statypalign[slot] = TYPALIGN_DOUBLE;
}

/// @param cardinalities  of all rows that are not NULL, ascending
void store_cardinalities(VacAttrStats* stats, const uint64_t* cardinalities, int rows, double mean) {
  const int slot = free_slot(stats);
  if (slot < 0) return;
  const int bounds = std::min(rows, std::max(statistics_target(stats), 2));
  auto* const numbers = static_cast<float4*>(palloc(sizeof(float4) * static_cast<size_t>(bounds + 1)));
  for (int i = 0; i < bounds; ++i) {
    const int64 rank = bounds == 1 ? 0 : static_cast<int64>(i) * (rows - 1) / (bounds - 1);
    numbers[i] = static_cast<float4>(cardinalities[rank]);
  }
  numbers[bounds] = static_cast<float4>(mean);
  stats->stakind[slot] = STATISTIC_KIND_DECHIST;
  stats->staop[slot] = kInt8Equal;
  stats->stanumbers[slot] = numbers;
  stats->numnumbers[slot] = bounds + 1;
}

void compute_set_statistics(VacAttrStats* stats, AnalyzeAttrFetchFunc fetch, int sample_rows, double total_rows) {
  auto* const standard = static_cast<StandardAnalyze*>(stats->extra_data);
  stats->extra_data = standard->extra;
  standard->compute(stats, fetch, sample_rows, total_rows);
  stats->extra_data = standard;
  if (sample_rows == 0) return;

  const MemoryContext row_context = AllocSetContextCreate(CurrentMemoryContext, "batmap analyze", ALLOCSET_DEFAULT_SIZES);
  auto* const cardinalities = static_cast<uint64_t*>(palloc(sizeof(uint64_t) * static_cast<size_t>(sample_rows)));
  int rows = 0;
  uint64_t elements = 0;
  for (int i = 0; i < sample_rows; ++i) {
    delay_analyze();
    bool null;
    const Datum value = fetch(stats, i, &null);
    if (null) continue;
    const MemoryContext caller = MemoryContextSwitchTo(row_context);
    cardinalities[rows] = header_of_datum(value).cardinality();
    elements += cardinalities[rows++];
    MemoryContextSwitchTo(caller);
    MemoryContextReset(row_context);
  }
  if (rows == 0) return;

  // Every n-th row is read, so that the elements fit.
  const uint64_t stride = elements / kMaxElements + 1;
  SetWork* const work = open_work();
  int seen = 0;
  int counted = 0;
  for (int i = 0; i < sample_rows; ++i) {
    delay_analyze();
    bool null;
    const Datum value = fetch(stats, i, &null);
    if (null) continue;
    const int row = seen++;
    if (static_cast<uint64_t>(row) % stride != 0 || work->elements.size() + cardinalities[row] > 2 * kMaxElements) continue;
    const MemoryContext caller = MemoryContextSwitchTo(row_context);
    const SetView set = set_of_datum(value);
    guarded([&] { decode(set, work->elements, work->options); });
    ++counted;
    MemoryContextSwitchTo(caller);
    MemoryContextReset(row_context);
  }

  const MemoryContext caller = MemoryContextSwitchTo(stats->anl_context);
  if (counted > 0) store_common(stats, most_common(work, counted, statistics_target(stats) * kCommonPerTarget));
  std::sort(cardinalities, cardinalities + rows);
  store_cardinalities(stats, cardinalities, rows, static_cast<double>(elements) / rows);
  MemoryContextSwitchTo(caller);
  close_work(work);
  MemoryContextDelete(row_context);
}

}  // namespace

BATMAP_FUNCTION(batmap_typanalyze) {
  auto* const stats = reinterpret_cast<VacAttrStats*>(PG_GETARG_POINTER(0));
  if (!std_typanalyze(stats)) PG_RETURN_BOOL(false);
  auto* const standard = static_cast<StandardAnalyze*>(palloc(sizeof(StandardAnalyze)));
  *standard = {stats->compute_stats, stats->extra_data};
  stats->compute_stats = compute_set_statistics;
  stats->extra_data = standard;
  PG_RETURN_BOOL(true);
}
