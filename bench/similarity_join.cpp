// All pairs of sets with a Jaccard index of at least t: each way of pairs/all_pairs.h, the choice between them, and a plain
// PPJoin. Prints a table for each part; CPU seconds, of all threads together.
//
//   similarity_join [SETS]   SETS: of the large part (1,000,000), and at most so many in the other
//
// Large: small sets of Zipf tags, J >= 0.8. Tiles are run over the first 20,000 sets and scaled by the square, because all of them
// would take hours. Both the engine and PPJoin start from sets in memory: the engine from stored values, PPJoin from
// vectors of tags.
// Choices: 100,000 sets or fewer of other shapes, each way forced, beside what was expected of it and what the engine chose. A
// way is not run where the engine expects more than 4 s of it.
//
// Source of PPJoin: Xiao, Wang, Lin, Yu 2008, with the prefixes of the index after their section 4; ours, without any
// part of the engine.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <numeric>
#include <string>
#include <vector>

#include "instances.h"
#include "pairs/all_pairs.h"
#include "set/set_builder.h"

namespace {

using namespace batmap;

MemoryMeter meter;

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

using Sets = std::vector<std::vector<uint64_t>>;

struct Shape {
  const char* name;
  size_t sets;
  double mean;      // elements, from half to one and a half of it
  double elements;  // of the universe
  bool zipf;        // frequencies like 1 / rank; otherwise all alike
  double changed;   // every second set is its neighbour with this share of its elements drawn anew
};

Sets generate(const Shape& shape, uint64_t seed) {
  bench::Random random(seed);
  const auto element = [&] {
    return static_cast<uint64_t>(shape.zipf ? std::exp(random.unit() * std::log(shape.elements))
                                            : random.unit() * shape.elements);
  };
  Sets sets(shape.sets);
  for (size_t k = 0; k < shape.sets; ++k) {
    std::vector<uint64_t>& set = sets[k];
    if (k % 10 == 1) {
      for (const uint64_t x : sets[k - 1]) set.push_back(random.unit() < shape.changed ? element() : x);
    } else {
      const auto size = static_cast<size_t>(shape.mean * (0.5 + random.unit()));
      for (size_t i = 0; i < std::max<size_t>(size, 1); ++i) set.push_back(element());
    }
    std::sort(set.begin(), set.end());
    set.erase(std::unique(set.begin(), set.end()), set.end());
  }
  return sets;
}

SetCollection stored(const Sets& sets) {
  SetCollection collection(meter);
  const ExecutionOptions options{1, &meter, {}};
  SetEncoder encoder(options);
  std::vector<std::byte> bytes;
  for (size_t k = 0; k < sets.size(); ++k) {
    bytes.resize(encoder.prepare(sets[k], 32));
    encoder.write(bytes.data());
    collection.add(static_cast<int64_t>(k), bytes);
  }
  return collection;
}

struct Result {
  double seconds;
  uint64_t pairs;
  std::string method;
  std::string reason;
};

Result run(const Sets& sets, double min_jaccard, std::optional<AllPairsWay> way, std::optional<int64_t> top_k = {}) {
  SetCollection collection = stored(sets);
  const ExecutionOptions options{1, &meter, {}};
  AllPairsQuery query;
  query.min_jaccard = min_jaccard;
  query.top_k = top_k;
  query.way = way;
  const double start = cpu_seconds();
  AllPairsRun pairs(std::move(collection), query, options);
  PairBatch batch;
  uint64_t count = 0;
  while (pairs.next(batch)) count += batch.size();
  return {cpu_seconds() - start, count, pairs.record().method, pairs.record().reason};
}

/// Plain PPJoin. @return the number of pairs
uint64_t ppjoin(const Sets& given, double t) {
  uint64_t bound = 0;
  for (const auto& set : given) bound = std::max(bound, set.empty() ? 0 : set.back() + 1);
  std::vector<uint32_t> frequencies(bound);
  for (const auto& set : given)
    for (const uint64_t x : set) ++frequencies[x];
  std::vector<uint32_t> order(bound);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](uint32_t x, uint32_t y) { return frequencies[x] < frequencies[y]; });
  std::vector<uint32_t> rank(bound);
  for (uint32_t k = 0; k < bound; ++k) rank[order[k]] = k;
  std::vector<std::vector<uint32_t>> sets;
  for (const auto& set : given) {
    std::vector<uint32_t>& row = sets.emplace_back();
    for (const uint64_t x : set) row.push_back(rank[x]);
    std::sort(row.begin(), row.end());
  }
  std::sort(sets.begin(), sets.end(), [](const auto& x, const auto& y) { return x.size() < y.size(); });
  struct Posting {
    uint32_t set;
    uint32_t position;
  };
  std::vector<std::vector<Posting>> index(bound);
  std::vector<size_t> begin(bound);
  std::vector<int32_t> overlap(sets.size());
  std::vector<uint32_t> touched;
  uint64_t pairs = 0;
  const auto least = [](double x) { return static_cast<size_t>(std::ceil(x - 1e-9)); };
  for (uint32_t x = 0; x < sets.size(); ++x) {
    const std::vector<uint32_t>& row = sets[x];
    const size_t size = row.size();
    const size_t probe = size - least(t * static_cast<double>(size)) + 1;
    const size_t insert = size - least(2 * t / (1 + t) * static_cast<double>(size)) + 1;
    touched.clear();
    for (size_t i = 0; i < std::min(probe, size); ++i) {
      std::vector<Posting>& list = index[row[i]];
      size_t& first = begin[row[i]];
      while (first < list.size() && static_cast<double>(sets[list[first].set].size()) < t * static_cast<double>(size) - 1e-9)
        ++first;
      for (size_t k = first; k < list.size(); ++k) {
        const auto [y, j] = list[k];
        const size_t other = sets[y].size();
        const size_t needed = least(t / (1 + t) * static_cast<double>(size + other));
        if (overlap[y] < 0) continue;
        if (overlap[y] == 0) touched.push_back(y);
        const size_t possible = static_cast<size_t>(overlap[y]) + std::min(size - i, other - j);
        overlap[y] = possible >= needed ? overlap[y] + 1 : -1;
      }
    }
    for (const uint32_t y : touched) {
      if (overlap[y] > 0) {
        const std::vector<uint32_t>& other = sets[y];
        const size_t needed = least(t / (1 + t) * static_cast<double>(size + other.size()));
        size_t i = 0, j = 0, common = 0;
        while (i < size && j < other.size() && common + std::min(size - i, other.size() - j) >= needed) {
          if (row[i] == other[j])
            ++common, ++i, ++j;
          else if (row[i] < other[j])
            ++i;
          else
            ++j;
        }
        pairs += common >= needed;
      }
      overlap[y] = 0;
    }
    for (size_t i = 0; i < std::min(insert, size); ++i) index[row[i]].push_back({x, static_cast<uint32_t>(i)});
  }
  return pairs;
}

void large(size_t count) {
  const Shape shape{"", count, 10, 50000, true, 0.05};
  const Sets sets = generate(shape, 24);
  Sets few(sets.begin(), sets.begin() + static_cast<std::ptrdiff_t>(std::min<size_t>(20000, count)));
  const double scale = std::pow(static_cast<double>(count) / static_cast<double>(few.size()), 2);
  std::printf(
      "| %zu small sets, J >= | pairs | prefix, s | PPJoin, s | tiles, s (from %zu) | tiles / prefix | PPJoin / prefix |\n",
      count, few.size());
  std::printf("|---|---|---|---|---|---|---|\n");
  for (const double t : {0.9, 0.8, 0.6}) {
    double prefix[3], plain[3];
    uint64_t pairs = 0;
    for (int round = 0; round < 3; ++round) {
      const Result result = run(sets, t, AllPairsWay::kPrefix);
      prefix[round] = result.seconds;
      pairs = result.pairs;
      const double start = cpu_seconds();
      const uint64_t found = ppjoin(sets, t);
      plain[round] = cpu_seconds() - start;
      if (found != pairs)
        std::printf("**PPJoin finds %zu pairs, the engine %zu**\n", static_cast<size_t>(found), static_cast<size_t>(pairs));
    }
    std::sort(prefix, prefix + 3);
    std::sort(plain, plain + 3);
    const double tiles = run(few, t, AllPairsWay::kTiles).seconds * scale;
    std::printf("| %.1f | %zu | %.2f | %.2f | %.0f | %.0f | %.2f |\n", t, static_cast<size_t>(pairs), prefix[1], plain[1],
                tiles, tiles / prefix[1], plain[1] / prefix[1]);
    std::fflush(stdout);
  }
  const Result best = run(sets, 0.5, AllPairsWay::kPrefix, 100);
  std::printf("\nThe 100 best with J >= 0.5: %.2f s.\n", best.seconds);
}

/// The number before " ms" that follows a name in the reason of a run.
double expected_ms(const std::string& reason, const char* name) {
  const size_t at = reason.find(name);
  return at == std::string::npos ? NAN : std::atof(reason.c_str() + at + std::string(name).size());
}

void choices(size_t max_sets) {
  constexpr Shape kShapes[] = {
      {"tags", 100000, 20, 50000, true, 0.2},    {"tags, few kinds", 100000, 10, 500, true, 0.2},
      {"even", 100000, 20, 100000, false, 0.2},  {"small", 3000, 10, 50000, true, 0.2},
      {"large", 1000, 2000, 1000000, true, 0.2}, {"dense", 2000, 1000, 5000, false, 0.2},
  };
  constexpr AllPairsWay kWays[] = {AllPairsWay::kTiles, AllPairsWay::kPositional, AllPairsWay::kRelation,
                                   AllPairsWay::kPrefix};
  constexpr const char* kNames[] = {"tiles", "positional", "relation", "prefix"};
  std::printf(
      "\n| sets, J >= | tiles, s (expected) | positional | relation | prefix | chosen | s | chosen / best "
      "|\n|---|---|---|---|---|---|---|---|\n");
  for (Shape shape : kShapes) {
    shape.sets = std::min(shape.sets, max_sets);
    const Sets sets = generate(shape, 7);
    for (const double t : {0.5, 0.8, 0.3}) {
      const Result chosen = run(sets, t, {});
      std::printf("| %s, %.1f |", shape.name, t);
      double best = chosen.seconds;
      for (size_t way = 0; way < std::size(kWays); ++way) {
        const double expected = expected_ms(chosen.reason, kNames[way]) / 1e3;
        if (std::isfinite(expected) && expected > 0 && expected < 4) {
          const double seconds = run(sets, t, kWays[way]).seconds;
          best = std::min(best, seconds);
          std::printf(" %.3f (%.3f) |", seconds, expected);
        } else {
          std::printf(" (%.3g) |", expected);
        }
      }
      std::printf(" %s | %.3f | %.2f |\n", chosen.method.c_str(), chosen.seconds, chosen.seconds / best);
      std::fflush(stdout);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const size_t sets = argc > 1 ? static_cast<size_t>(std::strtoull(argv[1], nullptr, 10)) : 1000000;
  large(sets);
  choices(sets);
}
