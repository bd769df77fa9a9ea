// Orders the list, and compares. See listed_sets.h.
#include "pairs/listed_sets.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>

#include "core/counting_sort.h"
#include "core/polled.h"
#include "core/stopwatch.h"
#include "core/thread_team.h"
#include "pairs/counters/device_counter.h"
#include "pairs/counters/set_pair_counter.h"
#include "relation/key_codes.h"
#include "set/set_decode.h"
#include "set/set_intersect.h"

namespace batmap {

/// A row of the list, by rank.
struct ListedSets::Entry {
  uint32_t large;  // or the number of all sets: one of the two is not there
  uint32_t small;
  uint32_t row;
};

/// Of counting all pairs.
struct ListedSets::Costs {
  double cpu_bytes = 0;     // that the CPU compares
  double look_ups = 0;      // elements of the smaller set of each pair
  size_t device_pairs = 0;  // of two batmaps
  double device_bytes = 0;  // of one side of these
};

namespace {

constexpr uint32_t kNoSet = UINT32_MAX;
constexpr uint32_t kNoPair = UINT32_MAX;
constexpr size_t kPairsATask = 1024;
constexpr size_t kPairsAPass = 65536;  // rows or pairs of a task that does little with each
constexpr size_t kPairsAPoll = 64;
constexpr int kMaxTidWidth = 31;  // elements below 2^31 are tids of devices
// Rows of the list for each set from which on preparing a compact set pays: 60 ns an element against the 2 that a comparison
// saves (bench/set_bench.cpp).
constexpr size_t kPreparedPays = 32;
// Nanoseconds of one thread. Comparison and preparation: bench/set_bench.cpp. A byte, read by 16 threads at once:
// bench/gpu/lists.sql (1.0 s for two million pairs of sets of 10,000 elements, bench/results/2026-11-25-h100-process.md).
constexpr double kListedByte = 0.06;
constexpr double kListedComparison = 60;
constexpr double kListedPreparation = 60;
// An element that is sent as a row: decoded, sampled and copied by 16 threads at once (bench/gpu/lists.sql).
constexpr double kSentCompact = 10;
constexpr double kSentPrepared = 28;

/// The first row of each chunk, then the number of all rows.
std::vector<uint64_t> first_rows(const std::vector<ChunkView>& chunks) {
  std::vector<uint64_t> first{0};
  for (const ChunkView& chunk : chunks) first.push_back(first.back() + chunk.rows);
  return first;
}

size_t passes(size_t size) { return (size + kPairsAPass - 1) / kPairsAPass; }

/// Calls body(pass, first, last) for each part of [0, size), on the threads of the run.
template <typename Body>
void in_passes(size_t size, const ExecutionOptions& options, Body body) {
  parallel_for(options, passes(size),
               [&](size_t pass, int) { body(pass, pass * kPairsAPass, std::min((pass + 1) * kPairsAPass, size)); });
}

}  // namespace

ListedSets::ListedSets(SetCollection sets, std::vector<ChunkView> shown, const std::vector<ChunkView>& list,
                       const ListedSetsQuery& query, const ExecutionOptions& options)
    : shown_(std::move(shown)),
      query_(query),
      options_(options),
      sets_(std::move(sets)),
      answers_(*options.memory, query.supports) {
  const Stopwatch watch;
  record_.method = "comparing";
  record_.kernel = query.kernel->name;
  record_.reason = "only listed pairs are counted";
  record_.items = sets_.size();
  rank_sets();
  read_list(list);
  if (query.total) record_.transactions = distinct_elements();
  record_.group_ms = watch.milliseconds();
}

void ListedSets::rank_sets() {
  if (sets_.size() >= kNoSet) throw Error(ErrorCode::kTooLarge, "more than 4294967294 sets");
  for (size_t i = 0; i < sets_.size(); ++i) {
    if (sets_[i].cardinality() > UINT32_MAX)
      throw Error(ErrorCode::kTooLarge, "a set has more than 4294967295 elements, but its pairs are counted in 32 bits");
  }
  order_.resize(sets_.size());
  std::iota(order_.begin(), order_.end(), 0);
  std::stable_sort(order_.begin(), order_.end(), polled(options_.cancel, [this](uint32_t x, uint32_t y) {
                     return sets_[x].cardinality() < sets_[y].cardinality();
                   }));
  rank_of_.resize(sets_.size());
  for (uint32_t rank = 0; rank < order_.size(); ++rank) rank_of_[order_[rank]] = rank;
}

void ListedSets::read_list(const std::vector<ChunkView>& list) {
  MemoryMeter& meter = *options_.memory;
  const std::vector<uint64_t> first_row = first_rows(list);
  const uint64_t rows = first_row.back();
  if (rows >= UINT32_MAX) throw Error(ErrorCode::kTooLarge, "more than 4294967294 rows in a list of pairs");
  pair_of_row_ = Buffer<uint32_t>(meter, rows);
  for (Buffer<uint32_t>& side : supports_) side = Buffer<uint32_t>(meter, query_.supports ? rows : 0, Fill::kZero);
  if (sets_.size() == 0) std::ranges::fill(pair_of_row_.span(), kNoPair);
  if (rows == 0 || sets_.size() == 0) return;

  int64_t low = sets_.id(0);
  int64_t high = low;
  for (size_t i = 0; i < sets_.size(); ++i) {
    low = std::min(low, sets_.id(i));
    high = std::max(high, sets_.id(i));
  }
  KeyCodes codes(options_, low, static_cast<uint64_t>(high) - static_cast<uint64_t>(low), sets_.size());
  Buffer<uint32_t> rank_of_code(meter, codes.direct() ? codes.size() : sets_.size());
  std::ranges::fill(rank_of_code.span(), kNoSet);
  for (uint32_t i = 0; i < sets_.size(); ++i)
    rank_of_code[codes.direct() ? codes.find(sets_.id(i)) : codes.insert(sets_.id(i))] = rank_of_[i];
  const auto rank_of_id = [&](int64_t id) {
    if (id < low || id > high) return kNoSet;
    const uint32_t code = codes.find(id);
    return code == KeyCodes::kNone ? kNoSet : rank_of_code[code];
  };

  const auto ranks = static_cast<uint32_t>(order_.size());
  Buffer<Entry> entries(meter, rows);
  Buffer<uint8_t> is_listed(meter, ranks, Fill::kZero);
  parallel_for(options_, list.size(), [&](size_t chunk, int) {
    TidItem pairs[kChunkRows];
    decode_chunk(list[chunk], pairs);
    auto row = static_cast<uint32_t>(first_row[chunk]);
    for (uint32_t k = 0; k < list[chunk].rows; ++k, ++row) {
      const uint32_t both[] = {rank_of_id(pairs[k].tid), rank_of_id(pairs[k].item)};
      for (int side = 0; side < 2; ++side) {
        if (both[side] == kNoSet) continue;
        const std::atomic_ref listed(is_listed[both[side]]);
        if (listed.load(std::memory_order_relaxed) == 0) listed.store(1, std::memory_order_relaxed);
        if (query_.supports) supports_[side][row] = static_cast<uint32_t>(sets_[order_[both[side]]].cardinality());
      }
      if (both[0] == kNoSet || both[1] == kNoSet) {
        entries[row] = {ranks, 0, row};
        pair_of_row_[row] = kNoPair;
      } else {
        entries[row] = {std::max(both[0], both[1]), std::min(both[0], both[1]), row};
      }
    }
  });
  Buffer<Entry> sorted(meter, rows);
  sort_by(&Entry::small, ranks, rows, entries, sorted, options_);
  sort_by(&Entry::large, ranks + 1, rows, sorted, entries, options_);
  const auto found = std::ranges::partition_point(entries.span(), [&](const Entry& entry) { return entry.large < ranks; });
  make_pairs(entries, static_cast<size_t>(found - entries.span().begin()));
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    if (is_listed[rank] == 0) continue;
    listed_.push_back(order_[rank]);
    record_.occurrences += sets_[order_[rank]].cardinality();
  }
  record_.items_kept = listed_.size();
  width_ = common_width(sets_, listed_);
}

/// Makes the different pairs of the first entries, and notes the pair of each row.
void ListedSets::make_pairs(const Buffer<Entry>& sorted, size_t size) {
  const auto is_new = [&](size_t k) {
    return k == 0 || sorted[k].large != sorted[k - 1].large || sorted[k].small != sorted[k - 1].small;
  };
  std::vector<size_t> begin(passes(size) + 1);  // of the pairs that are new in a pass
  in_passes(size, options_, [&](size_t pass, size_t first, size_t last) {
    size_t pairs = 0;
    for (size_t k = first; k < last; ++k) pairs += is_new(k);
    begin[pass + 1] = pairs;
  });
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  pairs_ = Buffer<RankPair>(*options_.memory, begin.back());
  counts_ = Buffer<uint32_t>(*options_.memory, begin.back(), Fill::kZero);
  in_passes(size, options_, [&](size_t pass, size_t first, size_t last) {
    size_t next = begin[pass];
    for (size_t k = first; k < last; ++k) {
      if (is_new(k)) pairs_[next++] = {sorted[k].large, sorted[k].small};
      pair_of_row_[sorted[k].row] = static_cast<uint32_t>(next - 1);
    }
  });
}

/// The number of elements that any of the sets has. Takes a bit for each possible element, or 8 bytes for each element.
uint64_t ListedSets::distinct_elements() {
  uint64_t bound = 0;
  uint64_t elements = 0;
  for (size_t i = 0; i < sets_.size(); ++i) {
    elements += sets_[i].cardinality();
    if (const std::optional<uint64_t> max = set_max(sets_[i], options_.cancel)) bound = std::max(bound, *max + 1);
  }
  const auto visit = [&](auto take) {
    uint64_t chunk[kChunkElements];
    for (size_t i = 0; i < sets_.size(); ++i) {
      SetReader reader(sets_[i], *query_.kernel, options_.cancel);
      while (const size_t count = reader.next(chunk)) {
        options_.cancel.throw_if_requested();
        check_elements({chunk, count}, bound);
        for (size_t k = 0; k < count; ++k) take(chunk[k]);
      }
    }
  };
  if (bound / 64 <= elements) {
    Buffer<uint64_t> seen(*options_.memory, bound / 64 + 1, Fill::kZero);
    visit([&](uint64_t x) { seen[x >> 6] |= uint64_t{1} << (x & 63); });
    uint64_t distinct = 0;
    for (const uint64_t word : seen) distinct += static_cast<uint64_t>(std::popcount(word));
    return distinct;
  }
  Buffer<uint64_t> all(*options_.memory, elements);
  size_t size = 0;
  visit([&](uint64_t x) { all[size++] = x; });
  std::sort(all.span().begin(), all.span().end(), polled(options_.cancel, std::less<>()));
  return static_cast<uint64_t>(std::unique(all.span().begin(), all.span().end()) - all.span().begin());
}

ListedSets::Costs ListedSets::costs() const {
  std::vector<Costs> parts(passes(pairs_.size()));
  in_passes(pairs_.size(), options_, [&](size_t pass, size_t first, size_t last) {
    Costs part;
    double on_cpu = 0;  // of a pair with this large set
    double on_device = 0;
    for (size_t k = first; k < last; ++k) {
      const RankPair& pair = pairs_[k];
      if (k == first || pair.large != pairs_[k - 1].large) {
        const SetView& large = sets_[order_[pair.large]];
        on_cpu = compared_bytes(large, width_);
        on_device =
            device_rank_[pair.large] == kNoSet ? 0 : static_cast<double>(batmap_shape(large.cardinality(), width_).bytes());
      }
      part.cpu_bytes += on_cpu;
      part.look_ups += static_cast<double>(sets_[order_[pair.small]].cardinality());
      if (!is_for_devices(pair)) continue;
      ++part.device_pairs;
      part.device_bytes += on_device;
    }
    parts[pass] = part;
  });
  Costs all;
  for (const Costs& part : parts) {
    all.cpu_bytes += part.cpu_bytes;
    all.look_ups += part.look_ups;
    all.device_pairs += part.device_pairs;
    all.device_bytes += part.device_bytes;
  }
  return all;
}

double ListedSets::expected_cpu_ms(const Costs& costs) const {
  double ns = static_cast<double>(pairs_.size()) * kListedComparison;
  double compact = 0;
  for (const uint32_t set : listed_) compact += sets_[set].is_compact() ? static_cast<double>(sets_[set].cardinality()) : 0;
  if (pairs_.size() >= kPreparedPays * listed_.size()) ns += compact * kListedPreparation;
  ns += kListedByte * costs.cpu_bytes;
  return ns / options_.threads / 1e6;
}

bool ListedSets::is_for_devices(const RankPair& pair) const {
  return !device_rank_.empty() && device_rank_[pair.large] != kNoSet && device_rank_[pair.small] != kNoSet;
}

/// Gives the sets that are batmaps of one width, or would be if they were prepared, names for devices.
/// @return these sets, by rank
std::vector<uint32_t> ListedSets::name_batmaps() {
  std::vector<uint32_t> batmaps;
  device_rank_.assign(order_.size(), kNoSet);
  for (const uint32_t set : listed_) {
    const SetView& view = sets_[set];
    const Container container = view.is_compact() ? container_for(view.cardinality(), width_) : view.container();
    if (container != Container::kBatmap || (!view.is_compact() && view.width() != width_)) continue;
    device_rank_[rank_of_[set]] = static_cast<uint32_t>(batmaps.size());
    batmaps.push_back(set);
  }
  return batmaps;
}

/// The pairs of equal elements of different sets, estimated from a share of the elements. Heavy ones may be missed: of each
/// there is at most one for each pair of sets, which costs less than to compare them.
double ListedSets::expected_pair_instances() const {
  constexpr uint64_t kSampled = uint64_t{1} << 16;
  int shift = 0;  // an element of 2^shift is taken
  while (record_.occurrences >> shift > kSampled) ++shift;
  std::vector<GrowingBuffer<uint64_t>> found;
  for (int worker = 0; worker < options_.threads; ++worker) found.emplace_back(*options_.memory);
  parallel_for(options_, listed_.size(), [&](size_t k, int worker) {
    for_each_element(sets_[listed_[k]], options_.cancel, [&](uint64_t x) {
      if ((x * 0x9e3779b97f4a7c15 & (UINT64_MAX << (63 - shift) << 1)) == 0) found[static_cast<size_t>(worker)].push_back(x);
    });
  });
  GrowingBuffer<uint64_t> sample(*options_.memory);
  for (const GrowingBuffer<uint64_t>& part : found) {
    std::copy(part.begin(), part.end(), sample.room(part.size()));
    sample.add(part.size());
  }
  std::sort(sample.begin(), sample.end(), polled(options_.cancel, std::less<>()));
  double pairs = 0;
  for (size_t first = 0, k = 1; k <= sample.size(); ++k) {
    if (k < sample.size() && sample[k] == sample[first]) continue;
    const auto sets = static_cast<double>(k - first);
    pairs += sets * (sets - 1) / 2;
    first = k;
  }
  return std::ldexp(pairs, shift);
}

/// Lets devices count pairs: those of two batmaps, or all, from the elements of the sets.
/// @return how many pairs are counted
size_t ListedSets::count_on_devices() {
  DeviceSession session(query_.device);
  if (!session.is_possible() || pairs_.size() == 0) return 0;
  std::vector<uint32_t> named = name_batmaps();
  const Costs costs = this->costs();
  const double cpu_ms = expected_cpu_ms(costs);
  std::vector<ListSizes> ways;
  if (costs.device_pairs > 0) {
    ListSizes& way = ways.emplace_back();
    double to_prepare = 0;  // elements
    for (const uint32_t set : named) {
      way.form_bytes += batmap_shape(sets_[set].cardinality(), width_).bytes();
      if (sets_[set].is_compact()) to_prepare += static_cast<double>(sets_[set].cardinality());
    }
    way.items = named.size();
    way.pairs = costs.device_pairs;
    way.read_bytes = 2 * costs.device_bytes;
    way.prepare_ms = to_prepare * kListedPreparation / options_.threads / 1e6;
    way.left_ms = cpu_ms * (1 - static_cast<double>(costs.device_pairs) / static_cast<double>(pairs_.size()));
  }
  if (record_.occurrences > 0 && width_ <= kMaxTidWidth) {
    ListSizes way;
    way.method = DeviceMethod::kLists;
    way.items = listed_.size();
    way.pairs = pairs_.size();
    way.rows = record_.occurrences;
    way.look_ups = costs.look_ups;
    for (const uint32_t set : listed_)
      way.prepare_ms += static_cast<double>(sets_[set].cardinality()) *
                        (sets_[set].is_compact() ? kSentCompact : kSentPrepared) / options_.threads / 1e6;
    ways.push_back(way);
    if (pays_to_count_all(listed_.size(), pairs_.size())) {
      way.method = DeviceMethod::kHorizontal;
      way.tid_slots = uint64_t{1} << width_;
      if (within_memory_limit([&] { way.pair_instances = expected_pair_instances(); })) ways.push_back(way);
    }
  }
  for (ListSizes& way : ways) {
    way.memory_limit = query_.device.memory_limit;
    way.threads = options_.threads;
  }
  std::optional<DeviceMethod> method;
  const bool is_counted = session.offer(
      cpu_ms,
      [&](std::span<const DeviceTraits> devices) {
        DeviceChoice choice = choose_list_devices(query_.device.mode, ways, devices, cpu_ms);
        method = choice.method;
        return DeviceVerdict{method.has_value(), std::move(choice.reason)};
      },
      [&](std::span<const DeviceTraits> devices) {
        if (method == DeviceMethod::kBatmap) {
          sets_.prepare(listed_, width_, options_);
        } else {
          named = listed_;
          for (size_t name = 0; name < named.size(); ++name)
            device_rank_[rank_of_[named[name]]] = static_cast<uint32_t>(name);
        }
        count_on(devices, *std::ranges::find(ways, method, &ListSizes::method), named);
        return true;
      });
  record_.reason += session.reason();
  record_.notice = session.notice();
  record_.device = session.device();
  if (!is_counted) {
    device_rank_.clear();
    return 0;
  }
  if (method == DeviceMethod::kBatmap) return costs.device_pairs;
  record_.method = method == DeviceMethod::kLists ? "lists" : "horizontal";
  return pairs_.size();
}

/// @param way    the one that was chosen
/// @param named  the sets that devices get, whose names are their places here
void ListedSets::count_on(std::span<const DeviceTraits> devices, const ListSizes& way, std::span<const uint32_t> named) {
  const auto fill = [&](size_t first, size_t last, uint32_t* a, uint32_t* b) {
    size_t size = 0;
    for (size_t k = first; k < last; ++k) {
      if (!is_for_devices(pairs_[k])) continue;
      a[size] = device_rank_[pairs_[k].small];
      b[size++] = device_rank_[pairs_[k].large];
    }
    return size;
  };
  const auto take = [&](size_t first, size_t last, const uint32_t* counts) {
    for (size_t k = first; k < last; ++k)
      if (is_for_devices(pairs_[k])) counts_[k] = *counts++;
  };
  const ListedPairs pairs{.size = pairs_.size(),
                          .counts_all = way.method != DeviceMethod::kLists && pays_to_count_all(way.items, way.pairs),
                          .fill = fill,
                          .take = take};
  const DeviceUse& use = query_.device;
  if (way.method == DeviceMethod::kBatmap)
    count_listed_sets_on_devices(*use.offload, devices, use.memory_limit, sets_, named, pairs, options_);
  else
    count_listed_elements_on_devices(*use.offload, devices, way.method, use.memory_limit, sets_, named, width_, pairs,
                                     options_);
}

/// Counts the pairs that no device has counted.
void ListedSets::count_on_cpu() {
  record_.tasks = (pairs_.size() + kPairsATask - 1) / kPairsATask;
  parallel_for(options_, record_.tasks, [&](size_t task, int) {
    const size_t last = std::min((task + 1) * kPairsATask, pairs_.size());
    for (size_t k = task * kPairsATask; k < last; ++k) {
      if (k % kPairsAPoll == 0) options_.cancel.throw_if_requested();
      const RankPair pair = pairs_[k];
      if (is_for_devices(pair)) continue;
      const SetView& large = sets_[order_[pair.large]];
      counts_[k] = static_cast<uint32_t>(
          pair.large == pair.small ? large.cardinality()
                                   : and_cardinality(sets_[order_[pair.small]], large, *query_.kernel, options_.cancel));
    }
  });
  record_.tasks_done = record_.tasks;
}

void ListedSets::count() {
  is_counted_ = true;
  if (count_on_devices() < pairs_.size()) {
    if (pairs_.size() >= kPreparedPays * listed_.size()) sets_.prepare(listed_, width_, options_);
    count_on_cpu();
  }
  pairs_ = Buffer<RankPair>();
  sets_ = SetCollection(*options_.memory);
}

bool ListedSets::next(PairBatch& batch) {
  answers_.clear();
  batch = answers_.batch();
  const Stopwatch watch;
  if (!is_counted_) {
    count();
    record_.count_ms += watch.milliseconds();
  }
  if (next_chunk_ == shown_.size()) return false;
  options_.cancel.throw_if_requested();
  const ChunkView& chunk = shown_[next_chunk_++];
  TidItem rows[kChunkRows];
  decode_chunk(chunk, rows);
  static_assert(kChunkRows <= kBatchRows);
  const PairList::Room room = answers_.fill(chunk.rows);
  for (uint32_t k = 0; k < chunk.rows; ++k, ++next_row_) {
    const uint32_t pair = pair_of_row_[next_row_];
    room.pairs[k] = {rows[k].tid, rows[k].item, pair == kNoPair ? 0 : counts_[pair]};
    if (query_.supports) room.supports[k] = {supports_[0][next_row_], supports_[1][next_row_]};
  }
  batch = answers_.batch();
  record_.results += chunk.rows;
  return true;
}

}  // namespace batmap
