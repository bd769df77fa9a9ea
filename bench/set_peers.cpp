// The set engine against its peers: counting the common elements of two random sets, and building. Prints a
// Markdown report with the goals. `bench/run sets` builds and runs it; bench/README.md describes the method.
// The binary needs no other file.
//
// usage: set_peers [--csv FILE] [--largest ELEMENTS]
//
// The engine has two sides: compact sets, and prepared ones. What the extension keeps for a loop is the form that
// meetings_worth_preparing() names; that is the one which the goals look at. Peers: CRoaring (on the heap, and frozen:
// the better one counts), merging of sorted arrays, and the byte-slot batmap of the paper. A peer is a `Format`: how a set is stored, copied, and counted against another.
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "bench/byte_slots.h"
#include "compact/compact_writer.h"
#include "core/cpu.h"
#include "core/sort_elements.h"
#include "roaring.h"
#include "set/set_builder.h"
#include "set/set_intersect.h"

using namespace batmap;

namespace {

MemoryMeter meter;
const ExecutionOptions options{1, &meter, {}};

using Elements = std::vector<uint64_t>;

double cpu_seconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

/// `count` distinct elements below `universe`, ascending; every such subset has the same probability.
Elements random_set(std::mt19937_64& random, uint64_t count, uint64_t universe) {
  Elements elements;
  if (universe / count < 16) {
    for (uint64_t x = 0; elements.size() < count; ++x)
      if (random() % (universe - x) < count - elements.size()) elements.push_back(x);
    return elements;
  }
  GrowingBuffer<uint64_t> drawn(meter);
  while (drawn.size() < count) {
    while (drawn.size() < count) drawn.push_back(random() % universe);
    sort_distinct(drawn, options);
  }
  elements.assign(drawn.begin(), drawn.end());
  return elements;
}

// ---- formats: a Value; make, copy, bytes in memory, bytes as stored, and |a AND b|

/// A prepared value as the extension keeps it: opened, with aligned planes.
struct PreparedFormat {
  struct Value {
    std::unique_ptr<std::byte, decltype(&std::free)> memory{nullptr, &std::free};
    size_t bytes = 0;
    SetView view;
    void open() { view = SetView::open({memory.get() + kOffset, bytes}); }
  };
  static constexpr size_t kOffset = 64 - kSetHeaderBytes - kStashHeaderBytes;

  static Value allocate(size_t bytes) {
    Value value;
    value.memory.reset(static_cast<std::byte*>(std::aligned_alloc(64, (kOffset + bytes + 63) / 64 * 64)));
    value.bytes = bytes;
    return value;
  }
  static Value make(const Elements& elements, uint64_t universe) {
    SetEncoder encoder(options);
    Value value = allocate(encoder.prepare(elements, width_for(universe)));
    encoder.write(value.memory.get() + kOffset);
    value.open();
    return value;
  }
  static Value copy(const Value& from) {
    Value value = allocate(from.bytes);
    std::memcpy(value.memory.get(), from.memory.get(), kOffset + from.bytes);
    value.open();
    return value;
  }
  static size_t resident(const Value& value) { return value.bytes; }
  static size_t stored(const Value& value) { return value.bytes; }
  static uint64_t common(const Value& a, const Value& b) { return and_cardinality(a.view, b.view, best_set_kernel()); }
};

/// A compact value as the extension keeps it: opened.
struct CompactFormat : PreparedFormat {
  static Value make(const Elements& elements, uint64_t) {
    CompactWriter writer(options);
    writer.add_elements(std::span<const uint64_t>(elements));
    Value value = allocate(writer.bytes());
    writer.write(value.memory.get() + kOffset);
    value.open();
    return value;
  }
};

/// A lower bound for comparing prepared sets: reads all bytes of both once, and does nothing with them.
struct ReadPreparedFormat : PreparedFormat {
  static uint64_t common(const Value& a, const Value& b) {
    return best_set_kernel().count_bitmaps(a.memory.get(), b.memory.get(), std::min(a.bytes, b.bytes) / 8 * 8);
  }
};

/// The two sizes of CRoaring under one set of names.
struct Roaring32 {
  using Set = roaring_bitmap_t;
  using Element = uint32_t;
  static constexpr size_t kFrozenAlignment = 32;
  static Set* create() { return roaring_bitmap_create(); }
  static void free(const Set* set) { roaring_bitmap_free(set); }
  static void add(Set* set, size_t count, const Element* elements) { roaring_bitmap_add_many(set, count, elements); }
  static void finish(Set* set) {
    roaring_bitmap_run_optimize(set);
    roaring_bitmap_shrink_to_fit(set);
  }
  static Set* copy(const Set* set) { return roaring_bitmap_copy(set); }
  static size_t stored(const Set* set) { return roaring_bitmap_portable_size_in_bytes(set); }
  static void serialize(const Set* set, char* to) { roaring_bitmap_portable_serialize(set, to); }
  static uint64_t containers(const Set* set) {
    roaring_statistics_t statistics;
    roaring_bitmap_statistics(set, &statistics);
    return statistics.n_containers;
  }
  static uint64_t common(const Set* a, const Set* b) { return roaring_bitmap_and_cardinality(a, b); }
  static size_t frozen_bytes(const Set* set) { return roaring_bitmap_frozen_size_in_bytes(set); }
  static void freeze(const Set* set, char* to) { roaring_bitmap_frozen_serialize(set, to); }
  static const Set* view(const char* from, size_t bytes) { return roaring_bitmap_frozen_view(from, bytes); }
};

struct Roaring64 {
  using Set = roaring64_bitmap_t;
  using Element = uint64_t;
  static constexpr size_t kFrozenAlignment = 64;
  static Set* create() { return roaring64_bitmap_create(); }
  static void free(const Set* set) { roaring64_bitmap_free(const_cast<Set*>(set)); }
  static void add(Set* set, size_t count, const Element* elements) { roaring64_bitmap_add_many(set, count, elements); }
  static void finish(Set* set) {
    roaring64_bitmap_run_optimize(set);
    roaring64_bitmap_shrink_to_fit(set);
  }
  static Set* copy(const Set* set) { return roaring64_bitmap_copy(set); }
  static size_t stored(const Set* set) { return roaring64_bitmap_portable_size_in_bytes(set); }
  static void serialize(const Set* set, char* to) { roaring64_bitmap_portable_serialize(set, to); }
  static uint64_t containers(const Set* set) {
    roaring64_statistics_t statistics;
    roaring64_bitmap_statistics(set, &statistics);
    return statistics.n_containers;
  }
  static uint64_t common(const Set* a, const Set* b) { return roaring64_bitmap_and_cardinality(a, b); }
  static size_t frozen_bytes(const Set* set) { return roaring64_bitmap_frozen_size_in_bytes(set); }
  static void freeze(const Set* set, char* to) { roaring64_bitmap_frozen_serialize(set, to); }
  static const Set* view(const char* from, size_t bytes) { return roaring64_bitmap_frozen_view(from, bytes); }
};

template <typename Roaring>
struct FreeRoaring {
  void operator()(const typename Roaring::Set* set) const { Roaring::free(set); }
};
template <typename Roaring>
using RoaringOwner = std::unique_ptr<typename Roaring::Set, FreeRoaring<Roaring>>;

template <typename Roaring>
RoaringOwner<Roaring> make_roaring(const std::vector<typename Roaring::Element>& elements) {
  RoaringOwner<Roaring> set(Roaring::create());
  Roaring::add(set.get(), elements.size(), elements.data());
  Roaring::finish(set.get());
  return set;
}

template <typename Roaring>
struct RoaringFormat {
  using Value = RoaringOwner<Roaring>;

  static Value make(const Elements& elements, uint64_t) { return make_roaring<Roaring>({elements.begin(), elements.end()}); }
  static Value copy(const Value& from) { return Value(Roaring::copy(from.get())); }
  /// A container takes its struct, its allocation, two malloc headers, and its entries in the arrays of the top level.
  static size_t resident(const Value& value) { return Roaring::stored(value.get()) + 64 * Roaring::containers(value.get()); }
  static size_t stored(const Value& value) { return Roaring::stored(value.get()); }
  static uint64_t common(const Value& a, const Value& b) { return Roaring::common(a.get(), b.get()); }
};

template <typename Roaring>
struct FrozenRoaringFormat {
  struct Value {
    std::unique_ptr<char, decltype(&std::free)> memory{nullptr, &std::free};
    size_t bytes = 0;
    std::unique_ptr<const typename Roaring::Set, FreeRoaring<Roaring>> view;
  };
  static Value allocate(size_t bytes) {
    Value value;
    constexpr size_t kAlignment = Roaring::kFrozenAlignment;
    value.memory.reset(
        static_cast<char*>(std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment)));
    value.bytes = bytes;
    return value;
  }
  static Value make(const Elements& elements, uint64_t) {
    const auto set = make_roaring<Roaring>({elements.begin(), elements.end()});
    Value value = allocate(Roaring::frozen_bytes(set.get()));
    Roaring::freeze(set.get(), value.memory.get());
    value.view.reset(Roaring::view(value.memory.get(), value.bytes));
    return value;
  }
  static Value copy(const Value& from) {
    Value value = allocate(from.bytes);
    std::memcpy(value.memory.get(), from.memory.get(), from.bytes);
    value.view.reset(Roaring::view(value.memory.get(), value.bytes));
    return value;
  }
  static size_t resident(const Value& value) { return value.bytes; }
  static size_t stored(const Value& value) { return value.bytes; }
  static uint64_t common(const Value& a, const Value& b) { return Roaring::common(a.view.get(), b.view.get()); }
};

/// Sorted arrays: merged without branches on the elements, or searched by galloping if one is much longer.
template <typename Element>
struct MergeFormat {
  using Value = std::vector<Element>;
  static constexpr size_t kGallops = 32;  // gallop if one is this many times longer

  static Value make(const Elements& elements, uint64_t) { return {elements.begin(), elements.end()}; }
  static Value copy(const Value& from) { return from; }
  static size_t resident(const Value& value) { return value.size() * sizeof(Element); }
  static size_t stored(const Value& value) { return resident(value); }
  static uint64_t common(const Value& a, const Value& b) {
    if (a.size() * kGallops < b.size()) return gallop(a, b);
    if (b.size() * kGallops < a.size()) return gallop(b, a);
    return merge(a, b);
  }
  static uint64_t merge(const Value& a, const Value& b) {
    size_t i = 0, j = 0;
    uint64_t count = 0;
    while (i < a.size() && j < b.size()) {
      const Element x = a[i], y = b[j];
      count += x == y;
      i += x <= y;
      j += y <= x;
    }
    return count;
  }
  static uint64_t gallop(const Value& few, const Value& many) {
    auto at = many.begin();
    uint64_t count = 0;
    for (const Element x : few) {
      size_t step = 1;
      while (static_cast<size_t>(many.end() - at) > step && at[static_cast<ptrdiff_t>(step)] < x)
        at += static_cast<ptrdiff_t>(step), step *= 2;
      at = std::lower_bound(at, at + static_cast<ptrdiff_t>(std::min(step + 1, static_cast<size_t>(many.end() - at))), x);
      if (at == many.end()) break;
      count += *at == x;
    }
    return count;
  }
};

struct ByteSlotFormat {
  using Value = byte_slots::Value;
  static Value make(const Elements& elements, uint64_t universe) { return byte_slots::build(elements, universe); }
  static Value copy(const Value& from) { return from; }
  static size_t resident(const Value& value) { return value.slots.size() + 8 * value.failed.size(); }
  static size_t stored(const Value& value) { return resident(value); }
  static uint64_t common(const Value& a, const Value& b) { return byte_slots::and_cardinality(a, b); }
};

// ---- sides: pairs of values of one format

class Side {
 public:
  virtual ~Side() = default;
  /// Adds copies of the pairs until they take this many bytes, and shuffles them.
  virtual void spread(size_t bytes) = 0;
  /// Counts the next `calls` pairs in turn. @return the sum of the answers
  virtual uint64_t count(size_t calls) = 0;
  virtual size_t pairs() const = 0;
  virtual uint64_t answer(size_t pair) const = 0;
  /// Stored bytes of the second set of the first pair.
  virtual size_t stored() const = 0;
};

template <typename Format>
class PairsOf final : public Side {
 public:
  PairsOf(const std::vector<Elements>& first, const std::vector<Elements>& second, uint64_t universe) {
    for (size_t i = 0; i < first.size(); ++i)
      pairs_.push_back({Format::make(first[i], universe), Format::make(second[i], universe)});
  }

  void spread(size_t bytes) override {
    size_t used = 0;
    const size_t originals = pairs_.size();
    for (size_t i = 0;; ++i) {
      used += Format::resident(pairs_[i].first) + Format::resident(pairs_[i].second);
      if (i + 1 < originals) continue;
      if (used >= bytes) break;
      pairs_.push_back({Format::copy(pairs_[i + 1 - originals].first), Format::copy(pairs_[i + 1 - originals].second)});
    }
    std::shuffle(pairs_.begin(), pairs_.end(), std::mt19937_64(1));
    next_ = 0;
  }

  uint64_t count(size_t calls) override {
    uint64_t sum = 0;
    while (calls-- > 0) {
      sum += Format::common(pairs_[next_].first, pairs_[next_].second);
      if (++next_ == pairs_.size()) next_ = 0;
    }
    return sum;
  }

  size_t pairs() const override { return pairs_.size(); }
  uint64_t answer(size_t pair) const override { return Format::common(pairs_[pair].first, pairs_[pair].second); }
  size_t stored() const override { return Format::stored(pairs_[0].second); }

 private:
  struct TidItem {
    typename Format::Value first;
    typename Format::Value second;
  };
  std::vector<TidItem> pairs_;
  size_t next_ = 0;
};

// ---- points

struct Point {
  uint64_t size;   // of the larger set
  double density;  // of the larger set
  uint64_t skew;   // size of the larger set divided by that of the other one
  uint64_t universe() const { return static_cast<uint64_t>(std::llround(static_cast<double>(size) / density)); }
  bool wide() const { return universe() > uint64_t{1} << 32; }
};

// kRead compares nothing: it reads both prepared sets, as fast as this processor can.
enum SideNumber { kCompact, kPrepared, kRoaring, kFrozen, kMerge, kBytes, kRead, kSides };
const char* const kSideNames[kSides] = {"compact", "prepared", "roaring", "frozen", "merge", "byte_slots", "read"};

struct Measured {
  Point point;
  bool from_memory;
  double ns[kSides] = {};  // 0: not run
  double bytes_per_element[kSides] = {};
  std::string container;     // of the prepared form
  bool is_prepared = false;  // in a loop, the larger set is prepared sooner or later

  double batmap_ns() const { return ns[is_prepared ? kPrepared : kCompact]; }
  double roaring_ns() const { return std::min(ns[kRoaring], ns[kFrozen]); }
  double ratio() const { return roaring_ns() / batmap_ns(); }
};

constexpr uint64_t kSizes[] = {1'000, 10'000, 100'000, 1'000'000};
constexpr double kDensities[] = {1e-5, 1e-4, 1e-3, 1e-2, 2e-2, 5e-2, 0.1, 0.5};
constexpr uint64_t kSkews[] = {1, 1000};

constexpr size_t kInCache = 256 * 1024;     // of batmaps: fits in the second-level cache, unless one pair is larger
constexpr size_t kMaxPairs = 16;            // too many answers for a branch predictor to learn
constexpr size_t kMaxByteSlots = 32 << 20;  // bytes of a set; the layout is not tried for larger ones
constexpr int kSamples = 11;
constexpr double kSampleSeconds = 2e-3;
constexpr double kSlowSample = 50e-3;  // a side that takes this long has three samples

size_t last_level_cache_bytes() {
  size_t most = size_t{8} << 20;
  for (int index = 0; index < 6; ++index) {
    std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/size");
    size_t size = 0;
    char unit = ' ';
    if (file >> size >> unit) most = std::max(most, size << (unit == 'M' ? 20 : unit == 'K' ? 10 : 0));
  }
  return most;
}

/// Four times the last-level cache, but at most 512 MiB.
size_t memory_working_set() { return std::min(4 * last_level_cache_bytes(), size_t{512} << 20); }

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "set_peers: %s\n", what.c_str());
  std::exit(1);
}

struct Sets {
  std::vector<Elements> few, first, second;  // `few` has a thousandth of the elements
};

Sets random_sets(const Point& point, size_t pairs) {
  std::mt19937_64 random(point.size ^ point.universe());
  Sets sets;
  for (size_t i = 0; i < pairs; ++i) {
    sets.few.push_back(random_set(random, std::max<uint64_t>(point.size / 1000, 1), point.universe()));
    sets.first.push_back(random_set(random, point.size, point.universe()));
    sets.second.push_back(random_set(random, point.size, point.universe()));
  }
  return sets;
}

std::vector<std::unique_ptr<Side>> make_sides(const Point& point, const Sets& sets) {
  const std::vector<Elements>& first = point.skew == 1 ? sets.first : sets.few;
  const uint64_t universe = point.universe();
  std::vector<std::unique_ptr<Side>> sides(kSides);
  const auto make = [&]<typename Format>(Format) { return std::make_unique<PairsOf<Format>>(first, sets.second, universe); };
  sides[kCompact] = make(CompactFormat{});
  sides[kPrepared] = make(PreparedFormat{});
  if (point.wide()) {
    sides[kRoaring] = make(RoaringFormat<Roaring64>{});
    sides[kFrozen] = make(FrozenRoaringFormat<Roaring64>{});
    sides[kMerge] = make(MergeFormat<uint64_t>{});
  } else {
    sides[kRoaring] = make(RoaringFormat<Roaring32>{});
    sides[kFrozen] = make(FrozenRoaringFormat<Roaring32>{});
    sides[kMerge] = make(MergeFormat<uint32_t>{});
  }
  if (kTables * byte_slots::range_for(point.size, universe) <= kMaxByteSlots) sides[kBytes] = make(ByteSlotFormat{});
  if (point.skew == 1) sides[kRead] = make(ReadPreparedFormat{});
  return sides;
}

void compare_answers(const Point& point, const std::vector<std::unique_ptr<Side>>& sides) {
  for (size_t pair = 0; pair < sides[kCompact]->pairs(); ++pair)
    for (int s = 0; s < kSides; ++s)
      if (s != kRead && sides[s] && sides[s]->answer(pair) != sides[kMerge]->answer(pair))
        fail("size " + std::to_string(point.size) + ", universe " + std::to_string(point.universe()) + ", pair " +
             std::to_string(pair) + ": " + kSideNames[s] + " counts " + std::to_string(sides[s]->answer(pair)) +
             ", merging counts " + std::to_string(sides[kMerge]->answer(pair)));
}

uint64_t sink;

/// Measures the ns a call of every side, in turns.
void time_sides(const std::vector<std::unique_ptr<Side>>& sides, bool from_memory, double* ns) {
  std::vector<double> samples[kSides];
  size_t calls[kSides] = {};
  for (int round = -1; round < kSamples; ++round)
    for (int s = 0; s < kSides; ++s) {
      if (!sides[s]) continue;
      if (round < 0) {
        // Find how many calls make a sample.
        double seconds = 0;
        size_t made = 0;
        for (size_t more = 1; seconds < kSampleSeconds / 4; made += more, more *= 2) {
          const double start = cpu_seconds();
          sink += sides[s]->count(more);
          seconds += cpu_seconds() - start;
        }
        calls[s] = std::max<size_t>(1, static_cast<size_t>(kSampleSeconds / seconds * static_cast<double>(made)));
        continue;
      }
      if (samples[s].size() >= 3 && samples[s][0] * static_cast<double>(calls[s]) > kSlowSample * 1e9) continue;
      if (!from_memory) sink += sides[s]->count(std::min(calls[s], sides[s]->pairs()));
      const double start = cpu_seconds();
      sink += sides[s]->count(calls[s]);
      samples[s].push_back((cpu_seconds() - start) * 1e9 / static_cast<double>(calls[s]));
    }
  for (int s = 0; s < kSides; ++s) ns[s] = sides[s] ? median(samples[s]) : 0;
}

std::vector<Measured> measure_intersection(uint64_t largest) {
  std::vector<Measured> all;
  for (const uint64_t size : kSizes)
    for (const double density : kDensities) {
      if (size > largest) continue;
      Point point{size, density, 1};
      std::fprintf(stderr, "set_peers: %llu elements, density %g\n", static_cast<unsigned long long>(size), density);
      const int width = width_for(point.universe());
      const size_t pairs =
          std::clamp<size_t>(kInCache / (2 * encoded_size(size, width, point.universe() - 1)), 1, kMaxPairs);
      const Sets sets = random_sets(point, pairs);
      const auto worth = [&](const Elements& elements) {
        const CompactFormat::Value value = CompactFormat::make(elements, 0);
        return meetings_worth_preparing(value.view) != kNeverPrepared;
      };
      for (const uint64_t skew : kSkews) {
        point.skew = skew;
        const Elements& other = skew == 1 ? sets.first[0] : sets.few[0];
        const bool is_prepared = worth(sets.second[0]) && worth(other) &&
                                 is_faster_prepared(CompactFormat::make(other, 0).view, container_for(other.size(), width),
                                                    CompactFormat::make(sets.second[0], 0).view, container_for(size, width));
        const auto sides = make_sides(point, sets);
        compare_answers(point, sides);
        for (const bool from_memory : {false, true}) {
          Measured measured{point, from_memory, {}, {}, {}, is_prepared};
          const Container container = container_for(size, width);
          measured.container = container == Container::kArray    ? "array"
                               : container == Container::kBatmap ? "batmap"
                                                                 : "bitmap";
          for (int s = 0; s < kSides; ++s)
            if (sides[s])
              measured.bytes_per_element[s] = static_cast<double>(sides[s]->stored()) / static_cast<double>(size);
          if (from_memory)
            for (const auto& side : sides)
              if (side) side->spread(memory_working_set());
          time_sides(sides, from_memory, measured.ns);
          all.push_back(measured);
        }
      }
    }
  return all;
}

// ---- building

struct BuildTimes {
  uint64_t size;
  double compact_sorted, compact_shuffled, prepared_sorted, prepared_shuffled, roaring_sorted,
      roaring_shuffled;  // ns an element
};

std::vector<BuildTimes> measure_builds(uint64_t largest) {
  std::vector<BuildTimes> all;
  for (const uint64_t size : kSizes) {
    if (size > largest) continue;
    std::fprintf(stderr, "set_peers: building sets of %llu elements\n", static_cast<unsigned long long>(size));
    const uint64_t universe = 100 * size;
    std::mt19937_64 random(size);
    const Elements sorted = random_set(random, size, universe);
    Elements shuffled = sorted;
    std::shuffle(shuffled.begin(), shuffled.end(), random);
    const std::vector<uint32_t> narrow_sorted(sorted.begin(), sorted.end());
    const std::vector<uint32_t> narrow_shuffled(shuffled.begin(), shuffled.end());
    std::vector<char> out(64 * size + 4096);

    SetEncoder encoder(options);
    GrowingBuffer<uint64_t> given(meter);
    CompactWriter writer(options);
    const auto sort = [&](const Elements& elements) {
      given.shrink(0);
      std::copy(elements.begin(), elements.end(), given.room(size));
      given.add(size);
      sort_distinct(given, options);
    };
    const auto build_compact = [&](const Elements& elements) {
      sort(elements);
      writer.clear();
      writer.add_elements(given.span());
      if (writer.bytes() > out.size()) fail("a set larger than its room");
      writer.write(reinterpret_cast<std::byte*>(out.data()));
    };
    const auto build_prepared = [&](const Elements& elements) {
      sort(elements);
      if (encoder.prepare(given.span(), width_for(universe)) > out.size()) fail("a set larger than its room");
      encoder.write(reinterpret_cast<std::byte*>(out.data()));
    };
    const auto build_roaring = [&](const std::vector<uint32_t>& elements) {
      const auto set = make_roaring<Roaring32>(elements);
      Roaring32::serialize(set.get(), out.data());
    };
    const auto build = [&](int way) {
      if (way == 0) build_compact(sorted);
      if (way == 1) build_compact(shuffled);
      if (way == 2) build_prepared(sorted);
      if (way == 3) build_prepared(shuffled);
      if (way == 4) build_roaring(narrow_sorted);
      if (way == 5) build_roaring(narrow_shuffled);
    };
    constexpr int kWays = 6;
    std::vector<double> samples[kWays];
    const uint64_t repeats = std::max<uint64_t>(1, 100'000 / size);
    for (int round = 0; round < kSamples; ++round)
      for (int way = 0; way < kWays; ++way) {
        build(way);
        const double start = cpu_seconds();
        for (uint64_t i = 0; i < repeats; ++i) build(way);
        samples[way].push_back((cpu_seconds() - start) * 1e9 / static_cast<double>(size * repeats));
      }
    all.push_back({size, median(samples[0]), median(samples[1]), median(samples[2]), median(samples[3]), median(samples[4]),
                   median(samples[5])});
  }
  return all;
}

// ---- the report

std::string number(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

/// Three significant digits; no rounding of whole digits.
std::string figures(double value) {
  if (value == 0) return "";
  return number(value, value >= 99.95 ? 0 : value >= 9.995 ? 1 : value >= 0.0995 ? 2 : 4);
}

std::string short_number(double value) {
  char text[64];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  return "unknown processor";
}

std::string load() {
  double one = 0;
  std::ifstream("/proc/loadavg") >> one;
  return number(one, 2);
}

struct Goal {
  std::string what;
  double bound;
  bool at_least;
  std::vector<double> values;
  std::vector<std::string> where;

  void see(double value, const std::string& place) {
    values.push_back(value);
    where.push_back(place);
  }
  bool met(double value) const { return at_least ? value >= bound : value <= bound; }
};

std::string place_of(const Measured& m) {
  return short_number(static_cast<double>(m.point.size)) + (m.point.skew == 1 ? "" : " : 1/1000") + " at " +
         short_number(m.point.density) + (m.from_memory ? ", memory" : ", cache");
}

void print_goals(const std::vector<Measured>& all, const std::vector<BuildTimes>& builds) {
  Goal scattered{"in cache, 1e3 of 1e7: CRoaring / batmap", 30, true, {}, {}};
  Goal never[4] = {{"anywhere, in cache, equal sizes: CRoaring / batmap", 0.9, true, {}, {}},
                   {"anywhere, from memory, equal sizes: CRoaring / batmap", 0.9, true, {}, {}},
                   {"anywhere, in cache, 1 : 1000: CRoaring / batmap", 0.9, true, {}, {}},
                   {"anywhere, from memory, 1 : 1000: CRoaring / batmap", 0.9, true, {}, {}}};
  Goal bytes{"bytes, compact: batmap / CRoaring, portable and run-optimised", 1, false, {}, {}};
  Goal build{"building 1e5 elements, prepared, sorted and shuffled: ns an element", 60, false, {}, {}};
  double log_sum = 0;
  int equal_in_cache = 0;
  for (const Measured& m : all) {
    const Point& p = m.point;
    const std::string place = place_of(m);
    if (!m.from_memory && p.skew == 1) {
      if (p.size == 1'000 && p.density == 1e-4) scattered.see(m.ratio(), place);
      bytes.see(m.bytes_per_element[kCompact] / m.bytes_per_element[kRoaring], place);
      log_sum += std::log(m.ratio());
      ++equal_in_cache;
    }
    never[(p.skew == 1 ? 0 : 2) + m.from_memory].see(m.ratio(), place);
  }
  for (const BuildTimes& b : builds)
    if (b.size == 100'000) {
      build.see(b.prepared_sorted, "sorted");
      build.see(b.prepared_shuffled, "shuffled");
    }
  std::printf("## Goals\n\n| | goal | points | worst | where | |\n|---|---|---|---|---|---|\n");
  const double mean = std::exp(log_sum / equal_in_cache);
  std::printf("| in cache, equal sizes: CRoaring / batmap, geometric mean | at least 2 | %d | %s | | %s |\n", equal_in_cache,
              number(mean, 2).c_str(), mean >= 2 ? "met" : "**missed**");
  for (const Goal& goal : {scattered, never[0], never[1], never[2], never[3], bytes, build}) {
    if (goal.values.empty()) continue;
    size_t worst = 0;
    size_t missed = 0;
    for (size_t i = 0; i < goal.values.size(); ++i) {
      missed += !goal.met(goal.values[i]);
      if (goal.at_least ? goal.values[i] < goal.values[worst] : goal.values[i] > goal.values[worst]) worst = i;
    }
    std::printf("| %s | %s %s | %zu | %s | %s | %s |\n", goal.what.c_str(), goal.at_least ? "at least" : "at most",
                short_number(goal.bound).c_str(), goal.values.size(), number(goal.values[worst], 2).c_str(),
                goal.where[worst].c_str(), missed == 0 ? "met" : ("**missed** at " + std::to_string(missed)).c_str());
  }
}

void print_points(const std::vector<Measured>& all, bool from_memory, uint64_t skew) {
  std::printf("\n## %s, %s\n\n", from_memory ? "From memory" : "In cache", skew == 1 ? "equal sizes" : "sizes 1 : 1000");
  std::printf(
      "| elements | density | compact, ns | prepared, ns | CRoaring, ns | frozen, ns | %s, ns | byte slots, ns | kept form "
      "| "
      "ns an element: batmap | CRoaring | CRoaring / batmap |%s\n|---|---|---|---|---|---|---|---|---|---|---|---|%s\n",
      skew == 1 ? "merge" : "galloping", skew == 1 ? " reading both prepared, ns | prepared / reading |" : "",
      skew == 1 ? "---|---|" : "");
  for (const Measured& m : all) {
    if (m.from_memory != from_memory || m.point.skew != skew) continue;
    const auto size = static_cast<double>(m.point.size);
    std::printf("| %s | %s ", short_number(size).c_str(), short_number(m.point.density).c_str());
    for (int s = 0; s < kRead; ++s) std::printf("| %s ", figures(m.ns[s]).c_str());
    std::printf("| %s | %s | %s | %s%s%s |", m.is_prepared ? m.container.c_str() : "compact",
                figures(m.batmap_ns() / size).c_str(), figures(m.roaring_ns() / size).c_str(), m.ratio() < 0.9 ? "**" : "",
                figures(m.ratio()).c_str(), m.ratio() < 0.9 ? "**" : "");
    if (skew == 1) std::printf(" %s | %s |", figures(m.ns[kRead]).c_str(), figures(m.ns[kPrepared] / m.ns[kRead]).c_str());
    std::printf("\n");
  }
}

void print_sizes(const std::vector<Measured>& all) {
  std::printf(
      "\n## Bytes an element\n\n| elements | density | compact | prepared | CRoaring, portable | frozen | sorted array | "
      "byte slots | prepared as | compact / CRoaring |\n|---|---|---|---|---|---|---|---|---|---|\n");
  for (const Measured& m : all) {
    if (m.from_memory || m.point.skew != 1) continue;
    std::printf("| %s | %s ", short_number(static_cast<double>(m.point.size)).c_str(),
                short_number(m.point.density).c_str());
    for (int s = 0; s < kRead; ++s) std::printf("| %s ", figures(m.bytes_per_element[s]).c_str());
    std::printf("| %s | %s |\n", m.container.c_str(),
                figures(m.bytes_per_element[kCompact] / m.bytes_per_element[kRoaring]).c_str());
  }
}

void print_builds(const std::vector<BuildTimes>& builds) {
  std::printf(
      "\n## Building, ns an element\n\nDensity 1e-2; from the elements to the stored bytes, CRoaring with run_optimize and "
      "shrink_to_fit.\n\n| elements | compact, sorted | shuffled | prepared, sorted | shuffled | CRoaring, sorted | "
      "shuffled |\n"
      "|---|---|---|---|---|---|---|\n");
  for (const BuildTimes& b : builds)
    std::printf("| %s | %s | %s | %s | %s | %s | %s |\n", short_number(static_cast<double>(b.size)).c_str(),
                figures(b.compact_sorted).c_str(), figures(b.compact_shuffled).c_str(), figures(b.prepared_sorted).c_str(),
                figures(b.prepared_shuffled).c_str(), figures(b.roaring_sorted).c_str(),
                figures(b.roaring_shuffled).c_str());
}

void write_csv(const std::vector<Measured>& all, const std::string& path) {
  std::ofstream file(path);
  file << "size,density,skew,from_memory,kept";
  for (const char* name : kSideNames) file << ',' << name << "_ns";
  file << '\n';
  for (const Measured& m : all) {
    file << m.point.size << ',' << m.point.density << ',' << m.point.skew << ',' << m.from_memory << ','
         << (m.is_prepared ? "prepared" : "compact");
    for (const double ns : m.ns) file << ',' << (ns > 0 ? number(ns, 1) : "");
    file << '\n';
  }
  if (!file.flush()) fail("cannot write " + path);
}

}  // namespace

int main(int argc, char** argv) {
  std::string csv;
  uint64_t largest = 1'000'000;
  for (int i = 1; i < argc; i += 2) {
    const std::string option = argv[i];
    if (i + 1 < argc && option == "--csv")
      csv = argv[i + 1];
    else if (i + 1 < argc && option == "--largest")
      largest = std::strtoull(argv[i + 1], nullptr, 10);
    else
      fail("usage: set_peers [--csv FILE] [--largest ELEMENTS]");
  }

  char date[16];
  const time_t now = time(nullptr);
  std::strftime(date, sizeof date, "%Y-%m-%d", std::gmtime(&now));
  const std::string load_at_start = load();
  const std::vector<Measured> all = measure_intersection(largest);
  const std::vector<BuildTimes> builds = measure_builds(largest);
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);

  std::printf("# Set intersection, %s\n\n", date);
  std::printf(
      "`set_peers` on %s, %u cores, last-level cache %zu MB; kernel %s; CRoaring %d.%d.%d; revision %s; load %s, at the end "
      "%s; "
      "%ld s of CPU time.\n",
      cpu_name().c_str(), std::thread::hardware_concurrency(), last_level_cache_bytes() >> 20, best_set_kernel().name,
      ROARING_VERSION_MAJOR, ROARING_VERSION_MINOR, ROARING_VERSION_REVISION, BATMAP_REVISION, load_at_start.c_str(),
      load().c_str(), static_cast<long>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec));
  std::printf(
      "All sides gave the same answers. Medians of CPU time, ns a call; the better of CRoaring's two forms counts. From "
      "memory: %zu MB a side, pairs in random order.\n\n",
      memory_working_set() >> 20);
  print_goals(all, builds);
  for (const bool from_memory : {false, true})
    for (const uint64_t skew : kSkews) print_points(all, from_memory, skew);
  print_builds(builds);
  print_sizes(all);
  if (!csv.empty()) write_csv(all, csv);
  return 0;
}
