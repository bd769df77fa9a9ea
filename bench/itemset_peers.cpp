// The itemset search against Borgelt's eclat, fpgrowth and apriori. One thread, from transactions in memory
// to every frequent itemset written as text ("1 2 3 (57)") to /dev/null; then closed and maximal itemsets
// only; then the spectrum. `bench/run itemsets` builds and runs it; bench/README.md describes the method.
//
// usage: itemset_peers FOLDER [ROUNDS [NAME]]
//   FOLDER  has NAME.dat.zst, as BATMAP_TEST_DATA/fimi does
//   NAME    runs this data set only
#include <time.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "bench/itemset_database.h"
#include "bench/itemset_text.h"
#include "itemsets/itemset_run.h"

using namespace batmap;

namespace {

struct Instance {
  const char* name;
  int64_t min_count;
  // 0: a data set; else a random one with this many items, each in a transaction with a probability of `percent`
  int items = 0;
  int transactions = 0;
  unsigned percent = 0;
};
constexpr Instance kAllItemsets[] = {
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

struct Chosen {
  Instance instance;
  ItemsetTarget target;
};
constexpr Chosen kChosen[] = {
    {{"chess", 1279}, ItemsetTarget::kClosed},    {{"chess", 1279}, ItemsetTarget::kMaximal},
    {{"mushroom", 407}, ItemsetTarget::kClosed},  {{"mushroom", 407}, ItemsetTarget::kMaximal},
    {{"connect", 47290}, ItemsetTarget::kClosed}, {{"connect", 47290}, ItemsetTarget::kMaximal},
    {{"retail", 9}, ItemsetTarget::kClosed},      {{"retail", 9}, ItemsetTarget::kMaximal},
    {{"T10I4D100K", 10}, ItemsetTarget::kClosed}, {{"T10I4D100K", 10}, ItemsetTarget::kMaximal},
};
constexpr Instance kSpectra[] = {{"chess", 1279}, {"chess", 959}, {"mushroom", 82}, {"connect", 33778}};

bench::Transactions random_transactions(const Instance& instance) {
  std::mt19937 random(1);
  bench::Transactions all(static_cast<size_t>(instance.transactions));
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

bench::ItemsetDatabase database_of(const std::string& folder, const Instance& instance) {
  return bench::ItemsetDatabase(instance.items != 0 ? random_transactions(instance)
                                                    : bench::read_transactions(folder + "/" + instance.name + ".dat.zst"));
}

ItemsetQuery query_of(const Instance& instance, ItemsetTarget target) {
  ItemsetQuery query;
  query.min_count = instance.min_count;
  query.target = target;
  return query;
}

void start_table(int miners) {
  std::printf("| data, min_count | itemsets | batmap ms |");
  for (int miner = 0; miner < miners; ++miner) std::printf(" %s ms |", borgelt_name(static_cast<BorgeltMiner>(miner)));
  std::printf(" best / batmap |\n|---|---|---|");
  for (int miner = 0; miner < miners; ++miner) std::printf("---|");
  std::printf("---|\n");
}

/// Prints a row of the table. @return best / batmap
double compare(const std::string& folder, const Instance& instance, ItemsetTarget target, int miners, int rounds,
               FILE* out) {
  constexpr BorgeltTarget kTargets[] = {BORGELT_ALL, BORGELT_CLOSED, BORGELT_MAXIMAL};
  constexpr const char* kNames[] = {"", ", closed", ", maximal"};
  const bench::ItemsetDatabase database = database_of(folder, instance);
  MemoryMeter meter;
  const ExecutionOptions options{.memory = &meter, .cancel = {}};
  std::vector<double> own;
  std::vector<std::vector<double>> times(static_cast<size_t>(miners));
  long itemsets = 0;
  for (int round = 0; round < rounds; ++round) {
    {
      const double start = cpu_milliseconds();
      ItemsetRun run(database.chunks(), {}, query_of(instance, target), options);
      bench::ItemsetText text(run, out);
      run.search(text);
      text.flush();
      own.push_back(cpu_milliseconds() - start);
      itemsets = text.itemsets;
    }
    for (int miner = 0; miner < miners; ++miner) {
      std::vector<double>& taken = times[static_cast<size_t>(miner)];
      if (round > 0 && taken[0] > 5000) continue;  // too slow to run again
      BorgeltData* const data = database.for_borgelt();
      const double start = cpu_milliseconds();
      const long found =
          borgelt_mine(data, static_cast<BorgeltMiner>(miner), kTargets[static_cast<int>(target)], instance.min_count, out);
      taken.push_back(cpu_milliseconds() - start);
      // The miners leave out the itemset of the one item that all transactions have.
      if (found != itemsets && found + 1 != itemsets) {
        std::fprintf(stderr, "itemset_peers: %s %" PRId64 ": %ld itemsets, %s finds %ld\n", instance.name,
                     instance.min_count, itemsets, borgelt_name(static_cast<BorgeltMiner>(miner)), found);
        std::exit(1);
      }
    }
  }
  std::printf("| %s %" PRId64 "%s | %ld | %.1f |", instance.name, instance.min_count, kNames[static_cast<int>(target)],
              itemsets, median(own));
  double best = 1e300;
  for (const std::vector<double>& taken : times) {
    best = std::min(best, median(taken));
    std::printf(" %.1f |", median(taken));
  }
  std::printf(" %.2f |\n", best / median(own));
  std::fflush(stdout);
  return best / median(own);
}

void end_table(const std::vector<double>& ratios) {
  if (ratios.empty()) return;
  std::printf("\nmedian of the ratios %.2f, least %.2f\n\n", median(ratios),
              *std::min_element(ratios.begin(), ratios.end()));
}

/// Counts the itemsets without listing them: grouping the rows and searching.
void count_spectrum(const std::string& folder, const Instance& instance, int rounds) {
  const bench::ItemsetDatabase database = database_of(folder, instance);
  MemoryMeter meter;
  const ExecutionOptions options{.memory = &meter, .cancel = {}};
  std::vector<double> times;
  uint64_t itemsets = 0;
  for (int round = 0; round < rounds; ++round) {
    const double start = cpu_milliseconds();
    ItemsetRun run(database.chunks(), {}, query_of(instance, ItemsetTarget::kAll), options);
    const GrowingBuffer<SpectrumRow> rows = run.spectrum();
    times.push_back(cpu_milliseconds() - start);
    itemsets = 0;
    for (const SpectrumRow& row : rows) itemsets += row.itemsets;
  }
  std::printf("| %s %" PRId64 " | %" PRIu64 " | %.1f |\n", instance.name, instance.min_count, itemsets, median(times));
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: itemset_peers FOLDER [ROUNDS [NAME]]\n");
    return 2;
  }
  const std::string folder = argv[1];
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 5;
  const auto wanted = [name = argc > 3 ? argv[3] : nullptr](const Instance& instance) {
    return name == nullptr || std::strcmp(name, instance.name) == 0;
  };
  FILE* const out = std::fopen("/dev/null", "w");

  std::printf("All frequent itemsets\n\n");
  start_table(BORGELT_MINERS);
  std::vector<double> ratios;
  for (const Instance& instance : kAllItemsets)
    if (wanted(instance)) ratios.push_back(compare(folder, instance, ItemsetTarget::kAll, BORGELT_MINERS, rounds, out));
  end_table(ratios);

  std::printf("Closed and maximal itemsets\n\n");
  constexpr int kMiners = BORGELT_APRIORI;  // only the miners before apriori, which takes minutes on dense data
  start_table(kMiners);
  ratios.clear();
  for (const Chosen& chosen : kChosen)
    if (wanted(chosen.instance)) ratios.push_back(compare(folder, chosen.instance, chosen.target, kMiners, rounds, out));
  end_table(ratios);

  std::printf("Spectrum\n\n| data, min_count | itemsets | batmap ms |\n|---|---|---|\n");
  for (const Instance& instance : kSpectra)
    if (wanted(instance)) count_spectrum(folder, instance, rounds);
  return 0;
}
