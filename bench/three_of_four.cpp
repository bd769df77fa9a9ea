// Whether three sets are counted faster in a form of their own: each element in three of four tables, so that any three sets
// that share it agree on a slot of at least one table (Amossen & Pagh 2011 II, V, which leaves it open). Beside it stand the
// ways that the extension has: the smallest prepared set is walked and the others are probed, and compact sets meet key by key.
// `bench/run sets` builds and runs it. Prints Markdown.
//
// usage: three_of_four [--elements N]    (only this size)
//
// The form is a prototype for this measurement: tables of r >= 4 |S| slots, in planes of 512 slots as those of a batmap
// (kernels/set/FORMAT.md); a plane for valid slots, one for each bit of the key, and two for the table that lacks the element.
// A common element is counted in the first table in which all three sets have it. What finds no place goes to a stash. Random
// sets of equal size; several triples meet in turn; the least of some samples of CPU time counts. Every count is compared with
// std::set_intersection.
#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <new>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "bench/thread_time.h"
#include "compact/compact_writer.h"
#include "core/sort_elements.h"
#include "set/permutation.h"
#include "set/set_builder.h"
#include "set/set_intersect.h"

using namespace batmap;

namespace {

MemoryMeter meter;
const ExecutionOptions options{1, &meter, {}};

constexpr uint64_t kSizes[] = {1'000, 10'000, 100'000, 1'000'000};
constexpr double kDensities[] = {0.1, 0.01, 1e-3, 1e-4};
constexpr int kSamples = 9;
constexpr int kTables = 4;
constexpr size_t kGroupSlots = 512;
constexpr uint64_t kSlotsAnElement = 4;
constexpr int kMaxSteps = 500;  // of the walk that places an element

// ---- the form

/// 512 bits, one for each slot of a group.
using Lanes = uint64_t __attribute__((vector_size(kGroupSlots / 8)));
constexpr size_t kLaneWords = kGroupSlots / 64;

/// The permutations of the first three tables are those of the stored format.
class Places {
 public:
  Places(int width, size_t slots)
      : first_{Permutation<uint64_t>(0, width), Permutation<uint64_t>(1, width), Permutation<uint64_t>(2, width)},
        fourth_(0, width),
        slots_(slots) {
    constexpr uint64_t kFactors[kRounds] = {0xbf58476d1ce4e5b9, 0x94d049bb133111eb, 0xff51afd7ed558ccd};
    std::copy(std::begin(kFactors), std::end(kFactors), fourth_.factors);
  }
  struct Place {
    size_t slot;
    uint64_t key;
  };
  Place of(int table, uint64_t x) const {
    const uint64_t image = (table < 3 ? first_[static_cast<size_t>(table)] : fourth_).forward(x);
    return {image & (slots_ - 1), image >> std::countr_zero(slots_)};
  }

 private:
  std::array<Permutation<uint64_t>, 3> first_;
  Permutation<uint64_t> fourth_;
  size_t slots_;
};

class ThreeOfFour {
 public:
  ThreeOfFour(const std::vector<uint64_t>& elements, int width)
      : slots_(std::max(kGroupSlots, std::bit_ceil(kSlotsAnElement * elements.size()))),
        key_bits_(width - std::countr_zero(slots_)),
        places_(width, slots_),
        words_(meter, kTables * groups() * planes() * kLaneWords, Fill::kZero) {
    place(elements);
  }

  size_t groups() const { return slots_ / kGroupSlots; }
  size_t planes() const { return static_cast<size_t>(key_bits_) + 3; }
  size_t bytes() const { return words_.bytes() + 8 * stash_.size(); }
  const Lanes* group(size_t number) const {
    return reinterpret_cast<const Lanes*>(words_.data() + number * planes() * kLaneWords);
  }
  const std::vector<uint64_t>& stash() const { return stash_; }

  bool contains(uint64_t x) const {
    for (int table = 0; table < 2; ++table) {
      const auto [slot, key] = places_.of(table, x);
      const Lanes* const at = group(static_cast<size_t>(table) * groups() + slot / kGroupSlots);
      const auto bit = [&](size_t plane) { return at[plane][slot / 64 % kLaneWords] >> (slot % 64) & 1; };
      bool is_equal = bit(0) != 0;
      for (int i = 0; i < key_bits_; ++i) is_equal = is_equal && bit(1 + static_cast<size_t>(i)) == (key >> i & 1);
      if (is_equal) return true;
    }
    return std::binary_search(stash_.begin(), stash_.end(), x);
  }

 private:
  static constexpr int kStashed = -1;

  /// Each element lacks one table. Where two want a slot, the one that has it is to lack that table instead, and takes its
  /// place in the one that it lacked.
  void place(const std::vector<uint64_t>& elements) {
    std::vector<uint32_t> owner(kTables * slots_, 0);  // number of the element, from 1 on; 0: free
    std::vector<int> lacks(elements.size() + 1, kStashed);
    std::vector<std::array<size_t, kTables>> at(elements.size() + 1);
    std::vector<std::pair<uint32_t, int>> lost;  // an element has lost its slot of this table
    const auto take = [&](uint32_t element, int table) {
      uint32_t& slot = owner[at[element][static_cast<size_t>(table)]];
      if (const uint32_t before = std::exchange(slot, element); before != 0 && before != element)
        lost.emplace_back(before, table);
    };
    for (uint32_t element = 1; element <= elements.size(); ++element) {
      for (size_t table = 0; table < kTables; ++table)
        at[element][table] = table * slots_ + places_.of(static_cast<int>(table), elements[element - 1]).slot;
      int lacked = static_cast<int>(element % kTables);
      for (int table = 0; table < kTables; ++table)
        if (owner[at[element][static_cast<size_t>(table)]] != 0) lacked = table;
      lacks[element] = lacked;
      for (int table = 0; table < kTables; ++table)
        if (table != lacked) take(element, table);
      for (int step = 0; !lost.empty(); ++step) {
        const auto [other, table] = lost.back();
        lost.pop_back();
        if (lacks[other] == kStashed) continue;
        if (step < kMaxSteps) {
          take(other, std::exchange(lacks[other], table));
          continue;
        }
        lacks[other] = kStashed;
        stash_.push_back(elements[other - 1]);
        for (const size_t slot : at[other])
          if (owner[slot] == other) owner[slot] = 0;
      }
    }
    std::sort(stash_.begin(), stash_.end());
    for (int table = 0; table < kTables; ++table)
      for (size_t slot = 0; slot < slots_; ++slot) {
        const uint32_t element = owner[static_cast<size_t>(table) * slots_ + slot];
        if (element == 0) continue;
        const uint64_t key = places_.of(table, elements[element - 1]).key;
        uint64_t* const words =
            words_.data() + (static_cast<size_t>(table) * groups() + slot / kGroupSlots) * planes() * kLaneWords;
        const auto put = [&](size_t plane, uint64_t bit) {
          words[plane * kLaneWords + slot / 64 % kLaneWords] |= bit << (slot % 64);
        };
        put(0, 1);
        for (int i = 0; i < key_bits_; ++i) put(1 + static_cast<size_t>(i), key >> i & 1);
        for (size_t i = 0; i < 2; ++i) put(planes() - 2 + i, static_cast<uint64_t>(lacks[element]) >> i & 1);
      }
  }

  size_t slots_;
  int key_bits_;
  Places places_;
  Buffer<uint64_t> words_;  // at a multiple of 64 bytes
  std::vector<uint64_t> stash_;
};

#if defined(__x86_64__)
#define THREE_OF_FOUR_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define THREE_OF_FOUR_CLONES
#endif

/// The slots of all four tables, less the stashes.
THREE_OF_FOUR_CLONES uint64_t count_slots(const ThreeOfFour& a, const ThreeOfFour& b, const ThreeOfFour& c) {
  constexpr size_t kPlanesAtOnce = 4;  // then it is seen whether anything can match
  const size_t planes = a.planes();
  const size_t groups = a.groups();
  uint64_t count = 0;
  for (size_t group = 0; group < kTables * groups; ++group) {
    const Lanes* const x = a.group(group);
    const Lanes* const y = b.group(group);
    const Lanes* const z = c.group(group);
    Lanes match = x[0] & y[0] & z[0];
    uint64_t any = 1;
    for (size_t plane = 1; plane < planes - 2 && any != 0;) {
      for (const size_t end = std::min(plane + kPlanesAtOnce, planes - 2); plane < end; ++plane)
        match &= ~((x[plane] ^ y[plane]) | (x[plane] ^ z[plane]));
      any = 0;
      for (size_t i = 0; i < kLaneWords; ++i) any |= match[i];
    }
    if (any == 0) continue;
    // Not if all three have the element in a table before this one.
    const size_t table = group / groups;
    const Lanes* const sets[] = {x, y, z};
    for (size_t before = 0; before < table; ++before) {
      Lanes is_lacked = {};
      for (const Lanes* const set : sets) {
        const Lanes low = (before & 1) != 0 ? set[planes - 2] : ~set[planes - 2];
        const Lanes high = (before & 2) != 0 ? set[planes - 1] : ~set[planes - 1];
        is_lacked |= low & high;
      }
      match &= is_lacked;
    }
    for (size_t i = 0; i < kLaneWords; ++i) count += static_cast<uint64_t>(std::popcount(match[i]));
  }
  return count;
}

uint64_t count_three(const ThreeOfFour& a, const ThreeOfFour& b, const ThreeOfFour& c) {
  uint64_t count = count_slots(a, b, c);
  // An element that one of them has in its stash has not been counted.
  const ThreeOfFour* const sets[] = {&a, &b, &c};
  for (size_t i = 0; i < 3; ++i)
    for (const uint64_t x : sets[i]->stash()) {
      bool is_common = true;
      for (size_t j = 0; j < 3; ++j) {
        const std::vector<uint64_t>& stash = sets[j]->stash();
        if (j < i) is_common = is_common && !std::binary_search(stash.begin(), stash.end(), x) && sets[j]->contains(x);
        if (j > i) is_common = is_common && sets[j]->contains(x);
      }
      count += is_common;
    }
  return count;
}

// ---- measuring

std::vector<uint64_t> random_elements(std::mt19937_64& random, uint64_t count, uint64_t universe) {
  GrowingBuffer<uint64_t> drawn(meter);
  while (drawn.size() < count) {
    while (drawn.size() < count) drawn.push_back(random() % universe);
    sort_distinct(drawn, options);
  }
  return {drawn.begin(), drawn.end()};
}

/// A value with its planes at a multiple of 64 bytes, as the extension keeps it.
struct Value {
  std::vector<std::byte> room;
  SetView view;
};

Value compact_value(const std::vector<uint64_t>& elements) {
  CompactWriter writer(options);
  writer.add_elements(std::span<const uint64_t>(elements));
  Value value{std::vector<std::byte>(writer.bytes()), {}};
  writer.write(value.room.data());
  value.view = SetView::open(value.room);
  return value;
}

Value prepared_value(const std::vector<uint64_t>& elements, int width) {
  SetEncoder encoder(options);
  const size_t bytes = encoder.prepare(elements, width);
  const size_t front = kSetHeaderBytes + kStashHeaderBytes + 8 * encoder.stash().size();
  Value value{std::vector<std::byte>(bytes + 128), {}};
  const auto at = reinterpret_cast<uintptr_t>(value.room.data()) + front;
  std::byte* const data = value.room.data() + ((at + 63) / 64 * 64 - at);
  encoder.write(data);
  value.view = SetView::open({data, bytes});
  return value;
}

/// Three sets in each form.
struct Triple {
  std::vector<Value> compact, prepared;
  std::vector<SetView> compact_views, prepared_views;
  std::vector<std::unique_ptr<ThreeOfFour>> tables;
  uint64_t expected = 0;
};

uint64_t common_of(const std::vector<std::vector<uint64_t>>& sets) {
  std::vector<uint64_t> two, three;
  std::set_intersection(sets[0].begin(), sets[0].end(), sets[1].begin(), sets[1].end(), std::back_inserter(two));
  std::set_intersection(two.begin(), two.end(), sets[2].begin(), sets[2].end(), std::back_inserter(three));
  return three.size();
}

void measure(uint64_t size, double density) {
  const auto universe = static_cast<uint64_t>(static_cast<double>(size) / density);
  const int width = width_for(universe);
  std::mt19937_64 random(size);
  std::vector<Triple> triples(std::clamp<size_t>(100'000 / size, 2, 16));
  double placing = 0;
  for (Triple& triple : triples) {
    std::vector<std::vector<uint64_t>> sets;
    for (int i = 0; i < 3; ++i) sets.push_back(random_elements(random, size, universe));
    triple.expected = common_of(sets);
    for (const std::vector<uint64_t>& set : sets) {
      triple.compact.push_back(compact_value(set));
      triple.prepared.push_back(prepared_value(set, width));
      const double start = bench::thread_ns();
      triple.tables.push_back(std::make_unique<ThreeOfFour>(set, width));
      placing += (bench::thread_ns() - start) / static_cast<double>(3 * triples.size() * size);
    }
    for (const Value& value : triple.compact) triple.compact_views.push_back(value.view);
    for (const Value& value : triple.prepared) triple.prepared_views.push_back(value.view);
  }
  const SetKernel& kernel = best_set_kernel();
  const auto walked_prepared = [&](const Triple& t) { return and_cardinality(t.prepared_views, kernel); };
  const auto by_key = [&](const Triple& t) { return and_cardinality(t.compact_views, kernel); };
  const auto in_tables = [&](const Triple& t) { return count_three(*t.tables[0], *t.tables[1], *t.tables[2]); };
  const auto time_of = [&](const auto& count) {
    for (const Triple& triple : triples)
      if (count(triple) != triple.expected) {
        std::fprintf(stderr, "three_of_four: the ways count differently\n");
        std::exit(1);
      }
    return bench::least_ns(kSamples, std::max<size_t>(triples.size(), 300'000 / size),
                           [&](size_t i) { return count(triples[i % triples.size()]); });
  };
  const double prepared_ns = time_of(walked_prepared);
  const double compact_ns = time_of(by_key);
  const double tables_ns = time_of(in_tables);
  const double least = std::min(prepared_ns, compact_ns);
  const double saved = least - tables_ns;
  const double price = 3 * static_cast<double>(size) * placing;
  const Triple& first = triples[0];
  size_t stashed = 0;
  for (const Triple& triple : triples)
    for (const auto& set : triple.tables) stashed += set->stash().size();
  const std::string pays = saved > 0 ? std::to_string(static_cast<uint64_t>(price / saved) + 1) : "never";
  std::printf("| %llu | %g | %zu | %zu | %zu | %.2f | %.1f | %.1f | %.1f | %.2f | %.0f | %s |\n",
              static_cast<unsigned long long>(size), density, first.compact[0].room.size(), first.prepared[0].view.bytes(),
              first.tables[0]->bytes(), 100 * static_cast<double>(stashed) / static_cast<double>(3 * triples.size() * size),
              prepared_ns / 1e3, compact_ns / 1e3, tables_ns / 1e3, least / tables_ns, placing, pays.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  uint64_t only = 0;
  if (argc == 3 && std::string(argv[1]) == "--elements") only = std::strtoull(argv[2], nullptr, 10);
  if (argc != 1 && only == 0) {
    std::fprintf(stderr, "usage: three_of_four [--elements N]\n");
    return 1;
  }
  std::printf(
      "## Three sets: each element in three of four tables\n\n"
      "Three random sets of equal size, kernel %s; the least of %d samples of CPU time.\n\n"
      "| elements | density | bytes, compact | bytes, prepared | bytes, four tables | in the stash, %% | prepared, us | "
      "compact, us | "
      "four tables, us | the better of the two / four tables | placing in four tables, ns an element | pays from so many "
      "counts |\n"
      "|---|---|---|---|---|---|---|---|---|---|---|---|\n",
      best_set_kernel().name, kSamples);
  for (const uint64_t size : kSizes)
    for (const double density : kDensities)
      if ((only == 0 || size == only) && static_cast<double>(size) / density < 4e9) measure(size, density);
  return bench::sink == 1 ? 2 : 0;
}
