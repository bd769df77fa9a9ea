// The synthetic relations of the benchmarks, generated row by row from a seed.
//
// An instance has `items` items and `transactions` transactions. Without a Zipf exponent, every item is in
// every transaction with probability `density`, independently: the instances of Amossen and Pagh 2011,
// section IV-B. With an exponent s, the number of items of a transaction is drawn in the same way; then the
// items are drawn by popularity, rank^-s, without repetition. A permutation drawn from the seed gives items
// their ranks. In both models no (tid, item) occurs twice, tids ascend from 0, and tids without an item are
// skipped. The same arguments give the same rows.
//
// Cost: O(rows), about 25 ns a row with a Zipf exponent and 10 ns without; memory O(items).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <span>
#include <string_view>
#include <vector>

namespace batmap::bench {

struct Instance {
  std::string_view name;
  int32_t items;
  double density;  // mean fraction of the items that are in a transaction
  double rows;     // expected number of rows
  double zipf;     // exponent of the popularity of the items; 0: all items are equally popular
};

/// An instance with the published numbers of a data set.
constexpr Instance stand_in(std::string_view name, int32_t items, double transactions, double rows, double zipf) {
  return {name, items, rows / transactions / items, rows, zipf};
}

inline constexpr Instance kInstances[] = {
    {"w1", 4'000, 0.05, 10e6, 0.0},
    {"w2", 16'000, 0.05, 10e6, 0.0},
    {"w3", 8'000, 0.005, 10e6, 0.0},
    {"w4", 16'000, 0.000625, 1e6, 1.0},
    {"zipf05", 100'000, 0.0001, 10e6, 0.5},
    {"zipf10", 100'000, 0.0001, 10e6, 1.0},
    {"zipf15", 100'000, 0.0001, 10e6, 1.5},
    // Stand-ins for public data sets. bench/README.md has their sources and what the model leaves out.
    stand_in("clicks", 41'270, 990'002, 8'019'015, 1.05),
    stand_in("movies", 10'681, 71'567, 10'000'054, 0.5),
    stand_in("papers", 1'953'085, 5'624'219, 12'282'059, 0.4),
};

// splitmix64: one 64-bit state, full period; Steele, Lea and Flood 2014.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t bits() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

  // In (0, 1]: never 0, so that its logarithm is finite.
  double unit() { return static_cast<double>((bits() >> 11) + 1) * 0x1p-53; }

  // In [0, bound), for bound below 2^32. The bias is below bound / 2^32.
  uint64_t below(uint64_t bound) { return ((bits() >> 32) * bound) >> 32; }

 private:
  uint64_t state_;
};

inline int64_t transactions_of(const Instance& instance) {
  return std::llround(instance.rows / (instance.items * instance.density));
}

// Calls emit(tid, item) for each row. Items of a transaction ascend; with a Zipf exponent they come as drawn.
template <typename Emit>
void generate(const Instance& instance, uint64_t seed, Emit emit) {
  Random random(seed);
  const int32_t items = instance.items;
  const int64_t transactions = transactions_of(instance);
  const double log_miss = std::log1p(-instance.density);

  // In a row of independent trials, the distance to the next hit is geometric: one draw for each hit, none for a miss.
  auto next_hit = [&](int64_t from) -> int64_t {
    if (instance.density >= 1.0) return from;
    const double gap = std::floor(std::log(random.unit()) / log_miss);
    return gap >= items ? items : from + static_cast<int64_t>(gap);
  };

  if (instance.zipf <= 0.0) {
    for (int64_t tid = 0; tid < transactions; ++tid)
      for (int64_t item = next_hit(0); item < items; item = next_hit(item + 1))
        emit(static_cast<int32_t>(tid), static_cast<int32_t>(item));
    return;
  }

  std::vector<int32_t> item_of_rank(items);
  std::iota(item_of_rank.begin(), item_of_rank.end(), 0);
  for (int32_t rank = items - 1; rank > 0; --rank) std::swap(item_of_rank[rank], item_of_rank[random.below(rank + 1)]);

  std::vector<double> cumulative(items);
  double sum = 0;
  for (int32_t rank = 0; rank < items; ++rank) cumulative[rank] = sum += std::pow(rank + 1.0, -instance.zipf);

  std::vector<int64_t> last_seen(items, -1);
  for (int64_t tid = 0; tid < transactions; ++tid) {
    int64_t length = 0;
    for (int64_t hit = next_hit(0); hit < items; hit = next_hit(hit + 1)) ++length;
    // Repeated items are drawn again. The bound on draws ends a transaction that has more items
    // than can likely be drawn.
    for (int64_t draws = 50 * length; length > 0 && draws > 0; --draws) {
      const double point = random.unit() * sum;
      const auto found = std::lower_bound(cumulative.begin(), cumulative.end(), point) - cumulative.begin();
      const int32_t item = item_of_rank[std::min<int64_t>(found, items - 1)];
      if (last_seen[item] == tid) continue;
      last_seen[item] = tid;
      --length;
      emit(static_cast<int32_t>(tid), item);
    }
  }
}

}  // namespace batmap::bench
