// Counts the common elements of two or more sets in any containers. See set_intersect.h.
#include "set/set_intersect.h"

#include <algorithm>
#include <array>
#include <bit>

#include "compact/compact_operations.h"
#include "set/permutation.h"
#include "set/set_decode.h"
#include "set/set_probe.h"

namespace batmap {

namespace {

/// Look-ups in flight at once: enough to hide misses of the last-level cache, few enough for the line-fill buffers.
constexpr size_t kBatch = 16;

/// For this many elements or fewer, setting up a batch takes longer than the misses that it hides.
constexpr uint64_t kFew = 4;

/// Looking up both copies of an element costs as much as comparing kPlanesPerProbe planes; a scan rarely
/// reads more than kPlanesRead planes of a block. From bench/set_bench.cpp, way/probe and way/scan (15 ns
/// against 1.5 ns in L2, 3 ns beyond).
constexpr uint64_t kPlanesPerProbe = 8;

/// A compact set is read, and its elements looked up in the other one, even if it has this many times as many elements:
/// looking up in a compact set takes two searches. Estimated.
constexpr uint64_t kCompactReadFactor = 8;

// Nanoseconds, from bench/small_sets.cpp (columns "compact", "prepared", "preparing"): what counting two sets of one kind takes
// in either form, and what preparing one takes. An array ends with elements that do not fill a register: kArrayTailUnits.
constexpr double kBlockNs = 20;
constexpr double kArrayUnitNs = 0.4;
constexpr double kArrayTailUnitNs = 1;
constexpr uint32_t kArrayTailUnits = 64;
constexpr double kBitmapNs = 180;
constexpr double kRunNs = 6;
constexpr double kPreparedCallNs = 15;
constexpr double kPreparedByteNs = 0.02;
constexpr double kPreparedArrayNs = 32;
constexpr double kPreparedArrayElementNs = 0.8;
constexpr double kPrepareNs = 3000;  // memory for it; estimated
constexpr double kPrepareElementNs = 3;
constexpr double kPlaceElementNs = 28;
/// A set is prepared once it has met this part of the number of sets that would pay for it: by then it will probably meet as
/// many again.
constexpr double kPartOfPrice = 0.25;

/// Work between two polls of the token: some tens of microseconds. Values with less work are not polled for.
constexpr uint64_t kGroupsPerPoll = 32;
constexpr uint64_t kBlocksPerPoll = 8;
constexpr uint64_t kWordsPerPoll = 8192;
constexpr size_t kLookupsPerPoll = 4096;

size_t keep_members_of_array(const SetView& set, std::span<uint64_t> elements) {
  size_t kept = 0;
  for (const uint64_t x : elements) {
    elements[kept] = x;
    kept += array_contains(set, x);
  }
  return kept;
}

size_t keep_members_of_bitmap(const SetView& set, std::span<uint64_t> elements) {
  const std::byte* bits = set.payload();
  const uint64_t end = set.bits();
  size_t kept = 0;
  for (const uint64_t x : elements) {
    elements[kept] = x;
    if (x < end) kept += std::to_integer<unsigned>(bits[x / 8]) >> (x % 8) & 1;
  }
  return kept;
}

uint64_t count_members_of_bitmap(const SetView& set, std::span<const uint64_t> elements) {
  const std::byte* bits = set.payload();
  const uint64_t end = set.bits();
  uint64_t count = 0;
  for (const uint64_t x : elements)
    if (x < end) count += std::to_integer<unsigned>(bits[x / 8]) >> (x % 8) & 1;
  return count;
}

size_t keep_members_of_batmap(const SetView& set, std::span<uint64_t> elements) {
  const int width = set.width();
  const uint64_t universe = set.universe();
  size_t kept = 0;
  for (size_t done = 0; done < elements.size(); done += kBatch) {
    const std::span<uint64_t> batch = elements.subspan(done, std::min(kBatch, elements.size() - done));
    SlotProbe probes[2][kBatch];
    for (size_t i = 0; i < batch.size(); ++i) {
      const uint64_t x = batch[i] & (universe - 1);
      probes[0][i] = slot_of(set, 0, image_of<0>(x, width));
      probes[1][i] = slot_of(set, 1, image_of<1>(x, width));
      probes[0][i].prefetch();
      probes[1][i].prefetch();
    }
    for (size_t i = 0; i < batch.size(); ++i) {
      const uint64_t x = batch[i];
      if (x >= universe) continue;
      if (probes[0][i].holds_key() || probes[1][i].holds_key() || (set.stash() > 0 && stash_contains(set, x)))
        elements[kept++] = x;
    }
  }
  return kept;
}

/// Common elements that are in the stash of at least one of the two sets.
uint64_t count_stashes(const SetView& a, const SetView& b, const CancelToken& cancel) {
  uint64_t count = 0;
  const auto poll = [&](uint64_t i) {
    if (i % kLookupsPerPoll == kLookupsPerPoll - 1) cancel.throw_if_requested();
  };
  for (uint64_t i = 0; i < a.stash(); ++i) {
    poll(i);
    count += b.contains(a.stash_element(i));
  }
  for (uint64_t i = 0; i < b.stash(); ++i) {
    poll(i);
    const uint64_t x = b.stash_element(i);
    count += a.contains(x) && !stash_contains(a, x);
  }
  return count;
}

PlanePair planes_of(const SetView& small, const SetView& large) {
  return {small.planes(), large.planes(), small.shape(), large.shape()};
}

bool both_are(Container container, const SetView& a, const SetView& b) {
  return a.container() == container && b.container() == container;
}

template <typename Element>
uint64_t count_in_bitmap(const std::byte* elements, uint64_t count, const SetView& bitmap) {
  const std::byte* bits = bitmap.payload();
  const uint64_t end = bitmap.bits();
  uint64_t common = 0;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t x = load_le<Element>(elements + i * sizeof(Element));
    if (x >= end) break;  // array elements are ascending
    common += std::to_integer<unsigned>(bits[x / 8]) >> (x % 8) & 1;
  }
  return common;
}

bool is_narrow_array(const SetView& set) {
  return set.container() == Container::kArray && array_element_bytes(set.width()) == 4;
}

/// Whether the elements of an array are counted where they lie. If not, they go through chunks, as those of batmaps do.
bool counts_in_place(const SetView& array, const SetView& other) {
  return array.cardinality() <= kFew || other.container() == Container::kBitmap ||
         (is_narrow_array(array) && is_narrow_array(other));
}

uint64_t count_in_place(const SetView& array, const SetView& other, const SetKernel& kernel) {
  const uint64_t count = array.cardinality();
  if (other.container() == Container::kBitmap)
    return is_narrow_array(array) ? count_in_bitmap<uint32_t>(array.payload(), count, other)
                                  : count_in_bitmap<uint64_t>(array.payload(), count, other);
  if (count > kFew) return kernel.count_arrays(array.payload(), count, other.payload(), other.cardinality());
  uint64_t common = 0;
  for (uint64_t i = 0; i < count; ++i) common += other.contains(array.array_element(i));
  return common;
}

/// Looks up the elements of the smaller set in the other one. Calls see_count(n) after each chunk;
/// stops if it returns false.
template <typename SeeCount>
void count_by_members(const SetView& a, const SetView& b, const SetKernel& kernel, const CancelToken& cancel,
                      SeeCount see_count) {
  const auto effort = [](const SetView& set) {
    return set.is_compact() ? set.cardinality() / kCompactReadFactor : set.cardinality();
  };
  const bool swapped = effort(a) > effort(b);
  const SetView& few = swapped ? b : a;
  const SetView& many = swapped ? a : b;
  if (few.container() == Container::kArray && counts_in_place(few, many)) {
    see_count(count_in_place(few, many, kernel));
    return;
  }
  SetReader reader(few, kernel, cancel);
  uint64_t chunk[kChunkElements];
  while (const size_t count = reader.next(chunk)) {
    const bool bits = many.container() == Container::kBitmap;
    if (!see_count(bits ? count_members_of_bitmap(many, {chunk, count}) : keep_members(many, {chunk, count}))) return;
  }
}

/// Bits behind the end of the shorter bitmap are zero, so nothing there is common.
template <typename SeeCount>
void count_bitmaps(const SetView& a, const SetView& b, const SetKernel& kernel, uint64_t step, const CancelToken& cancel,
                   SeeCount see_count) {
  const uint64_t bytes = 8 * std::min(a.words(), b.words());
  for (uint64_t at = 0; at < bytes; at += step) {
    if (at > 0) cancel.throw_if_requested();
    if (!see_count(kernel.count_bitmaps(a.payload() + at, b.payload() + at, std::min(step, bytes - at)))) return;
  }
}

/// Calls see_count with the counts of parts of the work until it returns false. This is the one place that
/// chooses a way. Inlined, since one more call takes a tenth of the time of the smallest bitmaps
/// (bench/set_bench.cpp, and/, size 100).
template <typename SeeCount>
[[gnu::always_inline]] inline void count_common(const SetView& a, const SetView& b, const SetKernel& kernel,
                                                uint64_t groups_at_once, const CancelToken& cancel, SeeCount see_count) {
  if (a.empty() || b.empty()) return;
  if (both_are(Container::kCompact, a, b))
    return count_common_blocks(a.compact(), b.compact(), *kernel.compact, cancel, see_count);
  if (both_are(Container::kBitmap, a, b)) {
    return count_bitmaps(a, b, kernel, groups_at_once * kBlockSlots, cancel, see_count);
  }
  if (!both_are(Container::kBatmap, a, b) || a.width() != b.width())
    return count_by_members(a, b, kernel, cancel, see_count);

  const bool swapped = a.slots() > b.slots();
  const SetView& small = swapped ? b : a;
  const SetView& large = swapped ? a : b;
  if (probing_is_cheaper(small, large)) {
    see_count(and_cardinality_by_probe(small, large, kernel, cancel));
    return;
  }
  const PlanePair pair = planes_of(small, large);
  for (uint64_t group = 0; group < pair.large_shape.groups(); group += groups_at_once) {
    if (group > 0) cancel.throw_if_requested();
    const uint64_t last = std::min(group + groups_at_once, pair.large_shape.groups());
    if (!see_count(kernel.count_planes(pair, group, last))) return;
  }
  if (a.stash() + b.stash() > 0) see_count(count_stashes(a, b, cancel));
}

/// What counting this set against one like it takes.
double compact_count_ns(const CompactView& set) {
  double ns = 0;
  for (size_t i = 0; i < set.blocks(); ++i) {
    const BlockShape shape = set.shape(i);
    ns += kBlockNs;
    switch (shape.kind) {
      case BlockKind::kArray:
        ns += shape.units * kArrayUnitNs + std::min(shape.units, kArrayTailUnits) * kArrayTailUnitNs;
        break;
      case BlockKind::kBitmap: ns += kBitmapNs; break;
      case BlockKind::kRuns: ns += shape.units * kRunNs / 2; break;
    }
  }
  return ns;
}

/// The same of a compact set once both are prepared.
double prepared_count_ns(const SetView& set, int width) {
  if (container_for(set.cardinality(), width) == Container::kArray)
    return kPreparedArrayNs + kPreparedArrayElementNs * static_cast<double>(set.cardinality());
  return kPreparedCallNs + kPreparedByteNs * compared_bytes(set, width);
}

}  // namespace

double compared_bytes(const SetView& set, int width) {
  const uint64_t n = set.cardinality();
  if (!set.is_compact() && set.container() != Container::kBatmap) return static_cast<double>(set.bytes());
  if (set.is_compact() && container_for(n, width) != Container::kBatmap)
    return static_cast<double>(encoded_size(n, width, universe_of(width) - 1));
  const BatmapShape shape = set.is_compact() ? batmap_shape(n, width) : set.shape();
  return static_cast<double>(kTables * shape.groups() * kPlaneBytes) *
         static_cast<double>(std::min<uint64_t>(kPlanesRead, shape.planes()));
}

uint32_t meetings_worth_preparing(const SetView& set, double more_ns) {
  if (set.empty()) return kNeverPrepared;
  const int width = width_for(compact_max(set.compact()) + 1);
  const auto elements = static_cast<double>(set.cardinality());
  const bool is_placed = container_for(set.cardinality(), width) == Container::kBatmap;
  const double saved = compact_count_ns(set.compact()) - prepared_count_ns(set, width) - more_ns;
  const double price = kPrepareNs + elements * (is_placed ? kPlaceElementNs : kPrepareElementNs);
  const double meetings = kPartOfPrice * price / saved;
  return saved > 0 && meetings < 1e6 ? static_cast<uint32_t>(meetings) + 1 : kNeverPrepared;
}

bool is_faster_prepared(const SetView& a, Container a_prepared, const SetView& b, Container b_prepared) {
  const auto has_bitmaps = [](const SetView& set) {
    return !set.empty() && set.compact().shape(0).kind == BlockKind::kBitmap;
  };
  const auto is_slow = [&](Container few, const SetView& many, Container many_prepared) {
    return few == Container::kBatmap && many_prepared == Container::kBitmap && has_bitmaps(many);
  };
  return !is_slow(a_prepared, b, b_prepared) && !is_slow(b_prepared, a, a_prepared);
}

size_t keep_members(SetView set, std::span<uint64_t> elements) {
  switch (set.container()) {
    case Container::kArray: return keep_members_of_array(set, elements);
    case Container::kBitmap: return keep_members_of_bitmap(set, elements);
    case Container::kBatmap: return keep_members_of_batmap(set, elements);
    case Container::kCompact: return keep_members(set.compact(), elements);
  }
  return 0;
}

size_t keep_members(SetView set, std::span<uint64_t> elements, const CancelToken& cancel) {
  size_t kept = 0;
  for (size_t done = 0; done < elements.size(); done += kLookupsPerPoll) {
    cancel.throw_if_requested();
    const std::span<uint64_t> some = elements.subspan(done, std::min(kLookupsPerPoll, elements.size() - done));
    const size_t members = keep_members(set, some);
    if (kept != done) std::copy_n(some.begin(), members, elements.begin() + static_cast<ptrdiff_t>(kept));
    kept += members;
  }
  return kept;
}

uint64_t and_cardinality_by_scan(SetView a, SetView b, const SetKernel& kernel) {
  const PlanePair pair = planes_of(a, b);
  const uint64_t common = kernel.count_planes(pair, 0, pair.large_shape.groups());
  return a.stash() + b.stash() > 0 ? common + count_stashes(a, b, {}) : common;
}

uint64_t and_cardinality_by_probe(SetView a, SetView b, const SetKernel& kernel, const CancelToken& cancel) {
  // A slot of `a` has the image of its element, so no permutation is computed. Both copies of each element
  // are looked up, each in its own table. The indicators decide which match counts, as in the scan.
  const BatmapShape shape = a.shape();
  uint64_t images[kBlockSlots];
  uint64_t count = a.stash() + b.stash() > 0 ? count_stashes(a, b, cancel) : 0;
  const std::byte* block = a.planes();
  for (uint64_t number = 0; number < kTables * shape.groups(); ++number, block += shape.block_bytes()) {
    if (number % kBlocksPerPoll == kBlocksPerPoll - 1) cancel.throw_if_requested();
    const int table = static_cast<int>(number % kTables);
    const std::byte* indicators = block + static_cast<size_t>(shape.key_bits + 1) * kPlaneBytes;
    const size_t slots = kernel.read_images(block, shape, number / kTables * kBlockSlots, block, images);
    SlotProbe probes[kBatch];
    for (size_t done = 0; done < slots; done += kBatch) {
      const size_t now = std::min(kBatch, slots - done);
      for (size_t i = 0; i < now; ++i) {
        probes[i] = slot_of(b, table, images[done + i]);
        probes[i].prefetch();
      }
      for (size_t i = 0; i < now; ++i) {
        if (!probes[i].holds_key()) continue;
        const uint64_t p = images[done + i] % kBlockSlots;
        count += (std::to_integer<unsigned>(indicators[p / 8]) >> (p % 8) & 1) | unsigned{probes[i].indicator()};
      }
    }
  }
  return count;
}

bool probing_is_cheaper(SetView a, SetView b) {
  const BatmapShape shape = b.shape();
  return a.cardinality() * kPlanesPerProbe < kTables * shape.groups() * std::min<uint64_t>(shape.planes(), kPlanesRead);
}

uint64_t and_cardinality(SetView a, SetView b, const SetKernel& kernel, const CancelToken& cancel) {
  uint64_t total = 0;
  count_common(a, b, kernel, kGroupsPerPoll, cancel, [&](uint64_t count) {
    total += count;
    return true;
  });
  return total;
}

uint64_t and_cardinality(std::span<const SetView> sets, const SetKernel& kernel, const CancelToken& cancel) {
  if (sets.empty()) return 0;
  if (sets.size() == 1) return sets[0].cardinality();
  if (sets.size() == 2) return and_cardinality(sets[0], sets[1], kernel, cancel);
  if (std::all_of(sets.begin(), sets.end(), [](const SetView& set) { return set.container() == Container::kBitmap; })) {
    const auto shortest =
        std::min_element(sets.begin(), sets.end(), [](const SetView& x, const SetView& y) { return x.words() < y.words(); });
    uint64_t count = 0;
    for (uint64_t w = 0; w < shortest->words(); ++w) {
      if (w % kWordsPerPoll == kWordsPerPoll - 1) cancel.throw_if_requested();
      uint64_t word = ~uint64_t{0};
      for (const SetView& set : sets) word &= set.word(w);
      count += static_cast<uint64_t>(std::popcount(word));
    }
    return count;
  }
  if (sets.size() <= kMostTogether &&
      std::all_of(sets.begin(), sets.end(), [](const SetView& set) { return set.is_compact(); })) {
    std::array<CompactView, kMostTogether> views;
    std::transform(sets.begin(), sets.end(), views.begin(), [](const SetView& set) { return set.compact(); });
    return count_common_of_all({views.data(), sets.size()}, *kernel.compact, cancel);
  }
  const auto smallest = std::min_element(
      sets.begin(), sets.end(), [](const SetView& x, const SetView& y) { return x.cardinality() < y.cardinality(); });
  SetReader reader(*smallest, kernel, cancel);
  uint64_t chunk[kChunkElements];
  uint64_t total = 0;
  size_t lookups = 0;
  while (size_t count = reader.next(chunk)) {
    for (auto set = sets.begin(); set != sets.end() && count > 0; ++set) {
      if (set == smallest) continue;
      lookups += count;
      if (lookups >= kLookupsPerPoll) {
        cancel.throw_if_requested();
        lookups = 0;
      }
      count = keep_members(*set, {chunk, count});
    }
    total += count;
  }
  return total;
}

bool intersects(SetView a, SetView b, const SetKernel& kernel, const CancelToken& cancel) {
  bool found = false;
  count_common(a, b, kernel, 8, cancel, [&](uint64_t count) {
    found = count > 0;
    return !found;
  });
  return found;
}

bool is_subset(SetView a, SetView b, const SetKernel& kernel, const CancelToken& cancel) {
  if (a.is_compact() && b.is_compact()) return is_subset(a.compact(), b.compact(), *kernel.compact, cancel);
  return a.cardinality() <= b.cardinality() && and_cardinality(a, b, kernel, cancel) == a.cardinality();
}

}  // namespace batmap
