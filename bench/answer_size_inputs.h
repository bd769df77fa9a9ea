// Relations whose numbers of pairs are estimated, by the test and the benchmark of pairs/answer_size.h: 57 made from
// seeds, of any size, and by name three data sets. Items of the Zipf relations, and their lengths, are those of
// instances.h. Joins are like those of DIM3 (Huang and Chen 2022): both sides have as many rows, the columns are
// drawn from domains, b and c uniformly and a perhaps by popularity.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "bench/instances.h"

namespace batmap::bench {

struct SizeInput {
  std::string name;
  Instance instance;      // not a join: as it is; a join: `zipf` is that of a
  double join_b = 0;      // a join: how many rows of a side share a b, else 0
  double join_items = 0;  // a join: values of a, and of c
};

inline constexpr std::array<const char*, 3> kSizeDataSets{"retail", "chess", "mushroom"};

/// @param rows  about so many rows each
inline std::vector<SizeInput> size_inputs(double rows) {
  std::vector<SizeInput> inputs;
  char name[100];
  for (const double zipf : {0.0, 0.5, 1.0, 1.5}) {
    for (const int32_t items : {1000, 10000, 100000}) {
      for (const int length : {4, 15, 60}) {
        std::snprintf(name, sizeof name, "%s%.1f, %d items, %d a transaction", zipf > 0 ? "Zipf " : "uniform ", zipf, items,
                      length);
        inputs.push_back({name, {"", items, length / static_cast<double>(items), rows, zipf}});
      }
    }
  }
  for (const int32_t items : {60, 300, 1500}) {
    for (const double density : {0.1, 0.3, 0.6}) {
      std::snprintf(name, sizeof name, "dense %.1f, %d items", density, items);
      inputs.push_back({name, {"", items, density, rows, 0}});
    }
  }
  for (const double zipf : {0.0, 1.0}) {
    for (const double shared : {3.0, 10.0, 100.0}) {
      for (const double items : {0.1, 0.01}) {
        std::snprintf(name, sizeof name, "join, %.0f rows a b, %.0f rows an item%s", shared, 1 / items,
                      zipf > 0 ? ", Zipf" : "");
        inputs.push_back({name, {"", 0, 0, rows, zipf}, shared, rows / 2 * items});
      }
    }
  }
  return inputs;
}

/// Items below this are the left side of a join, those from it on the right side; 0: no join.
inline int64_t left_items_of(const SizeInput& input) { return static_cast<int64_t>(input.join_items); }

/// Calls emit(tid, item) for each row.
template <typename Emit>
void generate(const SizeInput& input, uint64_t seed, Emit emit) {
  if (input.join_b == 0) return generate(input.instance, seed, emit);
  Random random(seed);
  const auto side = static_cast<int64_t>(input.instance.rows / 2);
  const int64_t items = left_items_of(input);
  const auto shared = std::max<uint64_t>(1, static_cast<uint64_t>(static_cast<double>(side) / input.join_b));
  std::vector<double> cumulative(static_cast<size_t>(items));
  double sum = 0;
  for (size_t rank = 0; rank < cumulative.size(); ++rank)
    cumulative[rank] = sum += std::pow(static_cast<double>(rank) + 1, -input.instance.zipf);
  for (int64_t row = 0; row < side; ++row) {
    const auto found = std::lower_bound(cumulative.begin(), cumulative.end(), random.unit() * sum) - cumulative.begin();
    emit(static_cast<int64_t>(random.below(shared)), std::min<int64_t>(found, items - 1));
    emit(static_cast<int64_t>(random.below(shared)),
         items + static_cast<int64_t>(random.below(static_cast<uint64_t>(items))));
  }
}

}  // namespace batmap::bench
