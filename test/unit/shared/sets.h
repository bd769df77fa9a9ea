// Sets for tests: elements, stored values, and shapes that are awkward for one of the containers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "compact/compact_writer.h"
#include "core/cpu.h"
#include "core/sort_elements.h"
#include "set/permutation.h"
#include "set/set_builder.h"
#include "set/set_decode.h"
#include "set/set_kernel.h"
#include "set/set_view.h"
#include "test/unit/shared/shapes.h"

namespace batmap::test {

using Elements = std::vector<uint64_t>;
using Bytes = std::vector<std::byte>;

inline MemoryMeter& test_meter() {
  static MemoryMeter meter;
  return meter;
}
inline ExecutionOptions test_options() { return {1, &test_meter(), {}}; }

/// Counts the polls of its token, and stops the run at one of them.
struct Polls {
  uint64_t seen = 0;
  uint64_t stop_at = 0;  // 0: never
  CancelToken token() {
    return {[](void* arg) {
              auto* const polls = static_cast<Polls*>(arg);
              return ++polls->seen == polls->stop_at;
            },
            this};
  }
};

inline Bytes encode(const Elements& elements, int width) {
  SetEncoder encoder(test_options());
  Bytes bytes(encoder.prepare(elements, width));
  encoder.write(bytes.data());
  return bytes;
}

inline Bytes written(const CompactWriter& writer) {
  Bytes bytes(writer.bytes());
  writer.write(bytes.data());
  return bytes;
}

inline Bytes encode_compact(const Elements& elements) {
  CompactWriter writer(test_options());
  writer.add_elements(std::span<const uint64_t>(elements));
  return written(writer);
}

inline Elements to_vector(const GrowingBuffer<uint64_t>& buffer) { return {buffer.begin(), buffer.end()}; }

/// At once; by chunks it must be the same.
inline Elements decoded(SetView set) {
  GrowingBuffer<uint64_t> out(test_meter());
  decode(set, out, test_options());
  Elements all = to_vector(out);
  AscendingReader reader(set, test_options());
  uint64_t chunk[kChunkElements];
  Elements read;
  while (const size_t count = reader.next(chunk)) read.insert(read.end(), chunk, chunk + count);
  EXPECT_TRUE(read == all) << read.size() << " elements by chunks, " << all.size() << " at once";
  return all;
}

inline std::vector<const SetKernel*> set_kernels_here() {
  std::vector<const SetKernel*> all;
  for (const SetKernel& kernel : set_kernels())
    if ((kernel.needs & cpu_features()) == kernel.needs) all.push_back(&kernel);
  return all;
}

/// `count` distinct elements below 2^width, ascending; fewer if the universe is smaller.
inline Elements random_elements(Random& random, uint64_t count, int width) {
  const uint64_t universe = universe_of(width);
  std::set<uint64_t> elements;
  if (count >= universe / 2) {
    for (uint64_t x = 0; x < universe; ++x) elements.insert(x);
    while (elements.size() > count) elements.erase(elements.lower_bound(random.below(*elements.rbegin() + 1)));
  } else {
    while (elements.size() < count) elements.insert(random.below(universe));
  }
  return {elements.begin(), elements.end()};
}

/// Elements whose positions at range 2^range_bits are below `positions` in the first `tables` tables: more
/// elements than there are such slots.
inline Elements clashing_elements(Random& random, uint64_t count, int width, int range_bits, uint64_t positions,
                                  int tables) {
  std::set<uint64_t> elements;
  while (elements.size() < count) {
    const uint64_t x = random.below(universe_of(width));
    bool clashes = true;
    for (int table = 0; table < tables; ++table)
      clashes &= (Permutation<>(table, width).forward(x) & ((uint64_t{1} << range_bits) - 1)) < positions;
    if (clashes) elements.insert(x);
  }
  return {elements.begin(), elements.end()};
}

/// In place of a width: the compact form.
constexpr int kCompactForm = -1;

struct NamedSet {
  std::string name;
  int width;
  Elements elements;
  Bytes bytes;

  NamedSet(std::string n, int w, Elements e)
      : name(std::move(n)),
        width(w),
        elements(std::move(e)),
        bytes(w == kCompactForm ? encode_compact(elements) : encode(elements, width)) {}
  SetView view() const { return SetView::open(bytes); }
};

/// Sets of all three containers, several widths and densities; many of them overlap.
inline std::vector<NamedSet> awkward_sets() {
  Random random(2011);
  std::vector<NamedSet> sets;
  const auto add = [&](const std::string& name, int width, Elements elements) {
    sets.emplace_back(name + "/w" + std::to_string(width), width, std::move(elements));
  };
  const auto thinned = [&](const Elements& from, uint64_t percent) {
    Elements some;
    for (const uint64_t x : from)
      if (random.chance(percent)) some.push_back(x);
    return some;
  };
  for (const int width : {0, 1, 5, 6, 7, 13, 14, 20, 24, 32, 33, 41, 62}) {
    add("empty", width, {});
    add("last", width, {universe_of(width) - 1});
    for (const uint64_t count : {3u, 100u, 255u, 256u, 257u, 600u, 5000u}) {
      if (count > universe_of(width)) continue;
      const Elements elements = random_elements(random, count, width);
      add("random" + std::to_string(count), width, elements);
      if (count >= 256) add("half of random" + std::to_string(count), width, thinned(elements, 50));
      if (count == 5000) add("few of random" + std::to_string(count), width, thinned(elements, 2));
    }
    if (width >= 13) {
      Elements run(3000);
      for (size_t i = 0; i < run.size(); ++i) run[i] = i;
      add("first 3000", width, run);
    }
  }
  for (const int width : {24, 40}) {
    const Elements clashing = clashing_elements(random, 400, width, 10, 64, 3);
    add("clashing", width, clashing);
    add("half of clashing", width, thinned(clashing, 70));
    const Elements others = random_elements(random, 700, width);
    Elements mixed;
    std::set_union(clashing.begin(), clashing.end(), others.begin(), others.end(), std::back_inserter(mixed));
    add("clashing and random", width, mixed);
  }
  add("dense", 14, random_elements(random, 9000, 14));
  add("full", 14, random_elements(random, uint64_t{1} << 14, 14));
  return sets;
}

/// Elements of one block, for every kind of block and sizes at which the kind changes. All are below 2^16.
inline std::vector<std::pair<std::string, Elements>> block_shapes() {
  Random random(2016);
  std::vector<std::pair<std::string, Elements>> shapes;
  const auto add = [&](const std::string& name, Elements elements) { shapes.emplace_back(name, std::move(elements)); };
  const auto every = [](uint64_t step, uint64_t first, uint64_t count) {
    Elements elements(count);
    for (uint64_t i = 0; i < count; ++i) elements[i] = first + i * step;
    return elements;
  };
  add("zero", {0});
  add("last", {65535});
  add("ends", {0, 65535});
  add("two in a run", {65534, 65535});
  add("full", every(1, 0, 65536));
  add("all but one", every(1, 1, 65535));
  add("one run", every(1, 60, 5000));
  add("one run of a word", every(1, 64, 64));
  add("every second of few", every(2, 7, 100));
  add("every second, half full", every(2, 0, 32768));
  for (const uint64_t count : {7u, 8u, 9u, 16u, 40u, 63u, 64u, 65u, 300u, 2047u, 2048u, 4095u, 4096u, 4097u, 20000u, 65000u})
    add("random", random_elements(random, count, 16));
  for (const uint64_t runs : {2u, 3u, 60u, 64u, 65u, 1000u, 2046u, 2047u, 2048u, 2049u}) {
    // Runs with gaps of 1 to 16, spread over the block.
    Elements elements;
    for (uint64_t r = 0; r < runs; ++r)
      for (uint64_t x = 0; x <= random.below(14) + (runs < 100 ? 200 : 1); ++x) elements.push_back(r * (65536 / runs) + x);
    Elements distinct;
    std::sort(elements.begin(), elements.end());
    std::unique_copy(elements.begin(), elements.end(), std::back_inserter(distinct));
    while (!distinct.empty() && distinct.back() > 65535) distinct.pop_back();
    add("runs", distinct);
  }
  return shapes;
}

/// Sets in compact form: one block of each shape, and many blocks with short and long headers, narrow and wide keys.
inline std::vector<NamedSet> compact_sets() {
  Random random(2017);
  std::vector<NamedSet> sets;
  const auto add = [&](const std::string& name, Elements elements) {
    sets.emplace_back(name + " compact", kCompactForm, std::move(elements));
  };
  add("empty", {});
  const auto shapes = block_shapes();
  for (const auto& [name, elements] : shapes) add(name, elements);
  for (const uint64_t blocks : {2u, 3u, 4u, 64u, 65u, 191u, 192u, 193u, 400u})
    for (const uint64_t first_key :
         {uint64_t{0}, uint64_t{65536} - blocks, uint64_t{65537} - blocks, (uint64_t{1} << 46) - blocks}) {
      Elements elements;
      for (uint64_t b = 0; b < blocks; ++b) {
        // Mostly small blocks; every 17th has one of the shapes.
        if (b % 17 == 5)
          for (const uint64_t x : shapes[random.below(shapes.size())].second) elements.push_back((first_key + b) << 16 | x);
        else
          for (const uint64_t x : random_elements(random, 1 + random.below(6), 16))
            elements.push_back((first_key + b) << 16 | x);
      }
      add(std::to_string(blocks) + " blocks from " + std::to_string(first_key), std::move(elements));
    }
  return sets;
}

/// The bytes of a set of one block, with a header that is in order and anything behind it: a count and a kind that do not belong to
/// the data, elements in any order and more than once, runs that end before they begin.
inline Bytes damaged_set(Random& random) {
  constexpr uint32_t kUnits[] = {1, 2, 3, 8, 9, 64, 128, 129, 2048, 4095, 4096};
  const uint32_t units = kUnits[random.below(std::size(kUnits))];
  Bytes bytes(7 + 2 * size_t{units});
  bytes[0] = std::byte{kCompactVersion << 4 | (kFewBlocks + 1)};
  store_le<uint16_t>(&bytes[1], 0);
  store_le<uint16_t>(&bytes[3], static_cast<uint16_t>(random.chance(50) ? units - 1 : random.below(65536)));
  store_le<uint16_t>(&bytes[5], static_cast<uint16_t>(random.below(4) << 12 | (units - 1)));
  const uint64_t pattern = random.below(5);
  for (uint32_t i = 0; i < units; ++i) {
    const uint64_t patterns[] = {random.below(65536), 65535 - i, i % 2 == 0 ? 65535u : 0u, i % 8 == 7 ? 9u : 5u,
                                 i < units / 2 ? 5u : 8u};
    store_le<uint16_t>(&bytes[7 + 2 * size_t{i}], static_cast<uint16_t>(patterns[pattern]));
  }
  return bytes;
}

}  // namespace batmap::test
