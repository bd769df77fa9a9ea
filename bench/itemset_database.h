// Transactions of a data set, or random ones, in the form of either side, for the benchmarks of the itemset search.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "bench/peers/borgelt.h"
#include "core/options.h"
#include "relation/row_log.h"

namespace batmap::bench {

using Transactions = std::vector<std::vector<int64_t>>;

/// @param path  of NAME.dat.zst, with one transaction a line
inline Transactions read_transactions(const std::string& path) {
  FILE* const pipe = popen(("zstd -dc '" + path + "'").c_str(), "r");
  Transactions all(1);
  int64_t item = -1;
  for (int c; (c = std::fgetc(pipe)) != EOF;) {
    if (c >= '0' && c <= '9') {
      item = (item < 0 ? 0 : item * 10) + (c - '0');
      continue;
    }
    if (item >= 0) all.back().push_back(item);
    item = -1;
    if (c == '\n') all.emplace_back();
  }
  all.pop_back();
  if (pclose(pipe) != 0 || all.empty()) {
    std::fprintf(stderr, "cannot read %s\n", path.c_str());
    std::exit(1);
  }
  return all;
}

class ItemsetDatabase {
 public:
  explicit ItemsetDatabase(Transactions transactions) : transactions_(std::move(transactions)), log_(meter_) {
    for (size_t tid = 0; tid < transactions_.size(); ++tid)
      for (const int64_t item : transactions_[tid]) log_.append(static_cast<int64_t>(tid), item);
    log_.seal();
  }

  size_t transactions() const { return transactions_.size(); }
  uint64_t rows() const { return log_.rows(); }
  std::vector<ChunkView> chunks() const { return log_.chunks(); }

  BorgeltData* for_borgelt() const {
    BorgeltData* const data = borgelt_create();
    for (const std::vector<int64_t>& transaction : transactions_) {
      std::vector<std::string> names;
      for (const int64_t item : transaction) names.push_back(std::to_string(item));
      std::vector<const char*> items;
      for (const std::string& name : names) items.push_back(name.c_str());
      borgelt_add(data, items.data(), static_cast<int>(items.size()));
    }
    return data;
  }

 private:
  Transactions transactions_;
  MemoryMeter meter_;
  RowLog log_;
};

}  // namespace batmap::bench
