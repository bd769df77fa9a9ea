// Relations for tests: named, small, reproducible from a seed, and each awkward in another way. Also packs
// rows into chunks as a caller does.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "core/memory.h"
#include "core/options.h"
#include "relation/chunk.h"
#include "relation/row_log.h"

namespace batmap::test {

constexpr uint64_t kSeed = 20261122;  // of every test with random input
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

/// Random numbers that are the same with every standard library; its distributions are not.
class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  uint64_t bits() { return engine_(); }
  /// 0 .. bound - 1
  uint64_t below(uint64_t bound) { return engine_() % bound; }
  int64_t signed_below(uint64_t bound) { return static_cast<int64_t>(below(bound)); }
  bool chance(uint64_t percent) { return below(100) < percent; }
  template <typename T>
  void shuffle(std::vector<T>& values) {
    for (size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[below(i)]);
  }

 private:
  std::mt19937_64 engine_;
};

struct Shape {
  std::string name;
  std::vector<TidItem> rows;
};

/// Every (tid, item) of [0, tids) x [0, items) with the given probability, in order of tid.
inline std::vector<TidItem> random_grid(Random& random, int64_t tids, int64_t items, uint64_t percent) {
  std::vector<TidItem> rows;
  for (int64_t tid = 0; tid < tids; ++tid)
    for (int64_t item = 0; item < items; ++item)
      if (random.chance(percent)) rows.push_back({tid, item});
  return rows;
}

/// `count` rows with uniform keys: few duplicates, no order.
inline std::vector<TidItem> random_rows(Random& random, uint64_t count, uint64_t tids, uint64_t items) {
  std::vector<TidItem> rows;
  for (uint64_t i = 0; i < count; ++i) rows.push_back({random.signed_below(tids), random.signed_below(items)});
  return rows;
}

/// Keys that cannot be coded by distance, among them the extremes. Does not keep the order.
inline int64_t scattered_key(int64_t small) {
  if (small == 0) return std::numeric_limits<int64_t>::min();
  if (small == 1) return std::numeric_limits<int64_t>::max();
  if (small == 2) return std::numeric_limits<int64_t>::min() + 1;
  return static_cast<int64_t>(static_cast<uint64_t>(small) * 0x9e3779b97f4a7c15u);
}

inline std::vector<Shape> shapes(uint64_t seed) {
  Random random(seed);
  std::vector<Shape> all;
  const auto add = [&](std::string name, std::vector<TidItem> rows) { all.push_back({std::move(name), std::move(rows)}); };

  add("empty", {});
  add("one row", {{5, 7}});
  add("one row many times", std::vector<TidItem>(300, TidItem{-1, -1}));
  add("one pair", {{1, 10}, {1, 20}});
  add("two extremes", {{kMin, kMin}, {kMin, kMax}, {kMax, kMin}, {kMax, kMax}, {0, kMax}});
  add("negative keys", [&] {
    std::vector<TidItem> rows = random_grid(random, 40, 15, 30);
    for (TidItem& pair : rows) pair = {-1000 - pair.tid, pair.item - 8};
    return rows;
  }());
  add("sparse", random_rows(random, 600, 400, 60));
  add("dense", random_grid(random, 70, 25, 70));
  add("full", random_grid(random, 66, 9, 100));
  add("skewed", [&] {
    std::vector<TidItem> rows;
    for (int i = 0; i < 1500; ++i) {
      const int64_t item = random.signed_below(random.below(50) + 1);
      rows.push_back({random.signed_below(random.below(300) + 1), item});
    }
    return rows;
  }());
  add("one item in all transactions", [&] {
    std::vector<TidItem> rows = random_rows(random, 300, 200, 40);
    for (int64_t tid = 0; tid < 200; ++tid) rows.push_back({tid, 17});
    return rows;
  }());
  add("one transaction with all items", [&] {
    std::vector<TidItem> rows = random_rows(random, 300, 150, 90);
    for (int64_t item = 0; item < 90; ++item) rows.push_back({75, item});
    return rows;
  }());
  add("duplicates", [&] {
    std::vector<TidItem> rows = random_grid(random, 30, 12, 40);
    const size_t distinct = rows.size();
    // Unevenly: items with few transactions get the most copies.
    for (size_t i = 0; i < distinct; ++i)
      for (uint64_t copies = random.below(2 + static_cast<uint64_t>(rows[i].item)); copies > 0; --copies)
        rows.push_back(rows[i]);
    random.shuffle(rows);
    return rows;
  }());
  add("scattered tids", [&] {
    std::vector<TidItem> rows = random_grid(random, 60, 12, 40);
    for (TidItem& pair : rows) pair.tid = scattered_key(pair.tid);
    random.shuffle(rows);
    return rows;
  }());
  add("scattered items", [&] {
    std::vector<TidItem> rows = random_grid(random, 60, 12, 40);
    for (TidItem& pair : rows) pair.item = scattered_key(pair.item);
    return rows;
  }());
  add("scattered keys", [&] {
    std::vector<TidItem> rows = random_rows(random, 900, 120, 30);
    for (TidItem& pair : rows) pair = {scattered_key(pair.tid), scattered_key(pair.item)};
    return rows;
  }());
  add("gaps", [&] {
    std::vector<TidItem> rows = random_rows(random, 900, 100, 30);
    for (TidItem& pair : rows) pair = {pair.tid * 7 - 300, pair.item * 5 + (int64_t{1} << 40)};
    return rows;
  }());
  for (const int64_t tids : {63, 64, 65, 511, 512, 513})
    add(std::to_string(tids) + " tids", [&] {
      std::vector<TidItem> rows = random_grid(random, tids, 10, 25);
      // The first and the last tid, so that the edges of words are used.
      for (const int64_t item : {0, 4, 9})
        for (const int64_t tid : {int64_t{0}, tids - 1}) rows.push_back({tid, item});
      return rows;
    }());
  for (const uint64_t count : {4095u, 4096u, 4097u})
    add(std::to_string(count) + " rows", random_rows(random, count, 900, 80));
  add("more than a tile of items", random_rows(random, 2500, 250, 300));
  return all;
}

/// The rows in a sealed log, which is in files if they exceed its share of the work memory.
inline RowLog log_of(std::span<const TidItem> rows, const ExecutionOptions& options) {
  RowLog log(options);
  log.append_rows(rows);
  log.seal();
  return log;
}

/// Rows packed as a caller packs them, and their memory.
class PackedRows {
 public:
  /// @param seed  0: full chunks; else chunks end at random places
  explicit PackedRows(const std::vector<TidItem>& rows, uint64_t seed = 0) : log_(meter_) {
    Random random(seed);
    for (const TidItem& pair : rows) {
      log_.append(pair.tid, pair.item);
      if (seed != 0 && random.below(50) == 0) log_.seal();
    }
    log_.seal();
  }
  std::vector<ChunkView> chunks() const { return log_.chunks(); }

 private:
  MemoryMeter meter_;
  RowLog log_;
};

}  // namespace batmap::test
