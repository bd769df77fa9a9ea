// The itemset search against Borgelt's eclat, fpgrowth and apriori: one thread, from transactions in memory to every
// frequent itemset written as text ("1 2 3 (57)") to /dev/null. `bench/run itemsets` builds and runs it, bench/README.md has
// the method.
//
// usage: itemset_peers FOLDER [ROUNDS]     FOLDER holds NAME.dat.zst, as BATMAP_TEST_DATA/fimi
#include <time.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "bench/itemset_text.h"
#include "bench/peers/borgelt.h"
#include "itemsets/itemset_run.h"
#include "relation/pair_log.h"

using namespace batmap;

namespace {

struct Instance {
  const char* name;
  int64_t min_count;
  int items = 0;  // 0: a data set; else a random one: so many items, each in a transaction with a chance of `percent`
  int transactions = 0;
  unsigned percent = 0;
};
constexpr Instance kInstances[] = {
    {"retail", 9},
    {"chess", 1279},
    {"mushroom", 407},
    {"connect", 47290},
    {"T10I4D100K", 10},
    {"groceries", 10},
    {"T40I10D100K-regen", 1000},
    {"T40I10D100K-regen", 500},
    {"chess", 1598},
    {"connect", 54046},
    {"mushroom", 813},
    {"retail", 45},
    {"random 60 x 50,000, 30 %", 500, 60, 50'000, 30},
    {"random 30 x 50,000, 50 %", 500, 30, 50'000, 50},
};

using Transactions = std::vector<std::vector<int64_t>>;

Transactions read_transactions(const std::string& path) {
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
    std::fprintf(stderr, "itemset_peers: cannot read %s\n", path.c_str());
    std::exit(1);
  }
  return all;
}

Transactions random_transactions(const Instance& instance) {
  std::mt19937 random(1);
  Transactions all(static_cast<size_t>(instance.transactions));
  for (std::vector<int64_t>& transaction : all)
    for (int item = 0; item < instance.items; ++item)
      if (random() % 100 < instance.percent) transaction.push_back(item);
  return all;
}

double cpu_milliseconds() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: itemset_peers FOLDER [ROUNDS]\n");
    return 2;
  }
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 5;
  FILE* const out = std::fopen("/dev/null", "w");
  std::printf("| data, min_count | itemsets | batmap ms |");
  for (int miner = 0; miner < BORGELT_MINERS; ++miner)
    std::printf(" %s ms |", borgelt_name(static_cast<BorgeltMiner>(miner)));
  std::printf(" best / batmap |\n|---|---|---|---|---|---|---|\n");
  std::vector<double> ratios;
  for (const Instance& instance : kInstances) {
    const Transactions transactions = instance.items != 0
                                          ? random_transactions(instance)
                                          : read_transactions(std::string(argv[1]) + "/" + instance.name + ".dat.zst");
    MemoryMeter meter;
    PairLog log(meter);
    for (size_t tid = 0; tid < transactions.size(); ++tid)
      for (const int64_t item : transactions[tid]) log.append(static_cast<int64_t>(tid), item);
    log.seal();
    std::vector<std::vector<double>> times(BORGELT_MINERS + 1);
    long itemsets = 0;
    for (int round = 0; round < rounds; ++round) {
      {
        const double start = cpu_milliseconds();
        ItemsetQuery query;
        query.min_count = instance.min_count;
        ItemsetRun run(log.chunks(), {}, query, {.memory = &meter, .cancel = {}});
        bench::ItemsetText text(run, out);
        run.search(text);
        text.flush();
        times[BORGELT_MINERS].push_back(cpu_milliseconds() - start);
        itemsets = text.itemsets;
      }
      for (int miner = 0; miner < BORGELT_MINERS; ++miner) {
        if (round > 0 && times[static_cast<size_t>(miner)][0] > 5000) continue;  // not worth a second time
        BorgeltData* const data = borgelt_create();
        for (const std::vector<int64_t>& transaction : transactions) {
          std::vector<std::string> names;
          for (const int64_t item : transaction) names.push_back(std::to_string(item));
          std::vector<const char*> items;
          for (const std::string& name : names) items.push_back(name.c_str());
          borgelt_add(data, items.data(), static_cast<int>(items.size()));
        }
        const double start = cpu_milliseconds();
        const long found = borgelt_mine(data, static_cast<BorgeltMiner>(miner), instance.min_count, out);
        times[static_cast<size_t>(miner)].push_back(cpu_milliseconds() - start);
        // They leave out the item that all transactions have, where it stands alone.
        if (found != itemsets && found + 1 != itemsets) {
          std::fprintf(stderr, "itemset_peers: %s %" PRId64 ": %ld itemsets, %s finds %ld\n", instance.name,
                       instance.min_count, itemsets, borgelt_name(static_cast<BorgeltMiner>(miner)), found);
          return 1;
        }
      }
    }
    double best = 1e300;
    for (size_t miner = 0; miner < BORGELT_MINERS; ++miner) best = std::min(best, median(times[miner]));
    const double own = median(times[BORGELT_MINERS]);
    ratios.push_back(best / own);
    std::printf("| %s %" PRId64 " | %ld | %.1f |", instance.name, instance.min_count, itemsets, own);
    for (size_t miner = 0; miner < BORGELT_MINERS; ++miner) std::printf(" %.1f |", median(times[miner]));
    std::printf(" %.2f |\n", best / own);
    std::fflush(stdout);
  }
  std::printf("\nmedian of the ratios %.2f, least %.2f\n", median(ratios), *std::min_element(ratios.begin(), ratios.end()));
  return 0;
}
