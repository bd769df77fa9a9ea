// The experiments of Fang et al. 2009, section 4, and of Losiak 2009, section 6.3, with the algorithms of the
// engine. Prints CSV, one quantity a line. `bench/run paper itemsets` builds and runs it; itemsets_report.py
// beside it makes tables and a plot; bench/README.md describes the method.
//
// usage: paper_itemsets [--seconds S] [--runs N] [--memory MB] [--most-transactions N] [--data FOLDER]
//
//   t40, chess, retail   AP Fig. 6 to 9: a data set, falling minimum support. FOLDER has NAME.dat.zst; without it these
//                        experiments are skipped
//   transactions         RB table 6.4: 32 transactions and more, 2,000 items
//   items                RB table 6.5: 131,072 transactions, 500 items and more
//   transactions_once,   RB tables 6.6 and 6.7: the same without recursion, so every item with all later ones
//   items_once
#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <optional>
#include <string>
#include <vector>

#include "bench/instances.h"
#include "bench/itemset_database.h"
#include "itemsets/itemset_run.h"

using namespace batmap;

namespace {

struct Settings {
  // time of a side at a point: a run is stopped then, and another one starts only if it is likely to fit
  double seconds = 20;
  int runs = 3;
  double memory_mb = 4096;  // of a run
  int64_t max_transactions = 131'072;
  std::string data;
};

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "paper_itemsets: %s\n", what.c_str());
  std::exit(1);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double seconds_of(clockid_t clock) {
  timespec at{};
  clock_gettime(clock, &at);
  return static_cast<double>(at.tv_sec) + static_cast<double>(at.tv_nsec) * 1e-9;
}

double cpu_seconds() { return seconds_of(CLOCK_PROCESS_CPUTIME_ID); }

void print(const std::string& experiment, const std::string& series, double x, const char* quantity, double value) {
  std::printf("%s,%s,%.10g,%s,%.6g\n", experiment.c_str(), series.c_str(), x, quantity, value);
  std::fflush(stdout);
}

/// All sides must agree on this, except for the sum if a peer cannot tell it.
struct Answer {
  uint64_t itemsets = 0;
  uint64_t supports = 0;
  bool operator==(const Answer&) const = default;
};

class AnswerSink final : public ItemsetSink {
 public:
  void take(std::span<const ItemsetStep> steps) override {
    for (const ItemsetStep& step : steps) {
      answer.itemsets += step.support != 0;
      answer.supports += step.support;
    }
  }
  Answer answer;
};

struct Deadline {
  double at;
  static bool passed(void* arg) { return cpu_seconds() > static_cast<const Deadline*>(arg)->at; }
};

struct Side {
  const char* name;
  ItemsetAlgorithm algorithm;
  std::vector<double> total_s{}, search_s{}, candidates_s{}, counting_s{};
  double peak_bytes = 0;
  const char* stopped = nullptr;  // the quantity that exceeded its bound
  Answer answer{};

  bool has_time(double seconds) const {
    return total_s.empty() || static_cast<double>(total_s.size() + 1) * total_s[0] <= seconds;
  }
};

/// One run, from rows in memory to the last itemset. @return false if it was stopped
bool run_once(Side& side, const bench::ItemsetDatabase& database, const ItemsetQuery& asked, const Settings& settings) {
  MemoryMeter meter(static_cast<size_t>(settings.memory_mb * 1e6));
  ItemsetQuery query = asked;
  query.algorithm = side.algorithm;
  AnswerSink sink;
  const double begin = cpu_seconds();
  const double wall_begin = seconds_of(CLOCK_MONOTONIC);
  Deadline deadline{begin + settings.seconds};
  try {
    ItemsetRun run(database.chunks(), {}, query, {.memory = &meter, .cancel = {Deadline::passed, &deadline}});
    const double grouped = cpu_seconds();
    run.search(sink);
    const double end = cpu_seconds();
    const double wall_s = seconds_of(CLOCK_MONOTONIC) - wall_begin;
    side.total_s.push_back(end - begin);
    side.search_s.push_back(end - grouped);
    SearchLevel levels[64];
    const size_t known = run.levels().copy(levels, std::size(levels));
    double candidates_ms = 0;
    double counting_ms = 0;
    for (size_t k = 0; k < known; ++k) {
      candidates_ms += levels[k].candidate_ms;
      counting_ms += levels[k].counting_ms;
    }
    if (known > 0) {  // Levels are timed by the wall clock: take their share of the CPU time.
      const double share = (end - begin) / wall_s / 1e3;
      side.candidates_s.push_back(candidates_ms * share);
      side.counting_s.push_back(counting_ms * share);
    }
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kCancelled)
      side.stopped = "over_s";
    else if (error.code() == ErrorCode::kMemoryLimit)
      side.stopped = "over_mb";
    else
      throw;
    return false;
  }
  if (side.total_s.size() > 1 && !(sink.answer == side.answer))
    fail(std::string(side.name) + " gives different answers in two runs");
  side.answer = sink.answer;
  side.peak_bytes = std::max(side.peak_bytes, static_cast<double>(meter.peak()));
  return true;
}

std::vector<Side> all_algorithms() {
  return {{"pbi", ItemsetAlgorithm::kPbi},
          {"tbi", ItemsetAlgorithm::kTbi},
          {"dfs", ItemsetAlgorithm::kDfs},
          {"auto", ItemsetAlgorithm::kAuto}};
}

#ifdef BATMAP_BORGELT
/// Borgelt's miners write text to /dev/null. One that exceeded the bound is not run again, at this or lower supports.
class Peer {
 public:
  explicit Peer(BorgeltMiner miner) : miner_(miner) {}

  void run_point(const std::string& experiment, double x, const bench::ItemsetDatabase& database, const ItemsetQuery& query,
                 uint64_t itemsets, const Settings& settings) {
    std::vector<double> taken;
    while (!over_ && static_cast<int>(taken.size()) < settings.runs &&
           (taken.empty() || static_cast<double>(taken.size() + 1) * taken[0] <= settings.seconds)) {
      BorgeltData* const data = database.for_borgelt();
      const double begin = cpu_seconds();
      const long found = borgelt_mine(data, miner_, BORGELT_ALL, static_cast<long>(*query.min_count), out_);
      taken.push_back(cpu_seconds() - begin);
      // The miners leave out the itemset of the one item that all transactions have.
      if (itemsets != 0 && found != static_cast<long>(itemsets) && found + 1 != static_cast<long>(itemsets))
        fail(std::string(borgelt_name(miner_)) + " finds " + std::to_string(found) + " itemsets, not " +
             std::to_string(itemsets));
    }
    if (taken.empty()) return print(experiment, name(), x, "over_s", settings.seconds);
    over_ = taken[0] > settings.seconds;
    print(experiment, name(), x, "total_s", median(taken));
    print(experiment, name(), x, "runs", static_cast<double>(taken.size()));
  }

 private:
  std::string name() const { return std::string("Borgelt's ") + borgelt_name(miner_); }

  BorgeltMiner miner_;
  bool over_ = false;
  FILE* out_ = std::fopen("/dev/null", "w");
};
#endif

/// Runs all sides in turns. @return the number of itemsets, 0 if no side finished
uint64_t run_point(const std::string& experiment, double x, const bench::ItemsetDatabase& database,
                   const ItemsetQuery& query, const Settings& settings) {
  std::fprintf(stderr, "paper_itemsets: %s %g, %" PRIu64 " rows\n", experiment.c_str(), x, database.rows());
  std::vector<Side> sides = all_algorithms();
  std::vector<Side*> running;
  for (Side& side : sides) running.push_back(&side);
  for (int round = 0; round < settings.runs; ++round)
    std::erase_if(running, [&](Side* side) {
      return !side->has_time(settings.seconds) || !run_once(*side, database, query, settings);
    });
  const Side* witness = nullptr;
  for (const Side& side : sides) {
    if (side.total_s.empty()) continue;
    if (witness != nullptr && !(side.answer == witness->answer))
      fail(std::string(side.name) + " and " + witness->name + " give different answers");
    witness = &side;
  }
  print(experiment, "instance", x, "rows", static_cast<double>(database.rows()));
  if (witness != nullptr) print(experiment, "instance", x, "itemsets", static_cast<double>(witness->answer.itemsets));
  for (const Side& side : sides) {
    if (side.total_s.empty()) {
      print(experiment, side.name, x, side.stopped,
            side.stopped == std::string("over_s") ? settings.seconds : settings.memory_mb);
      continue;
    }
    print(experiment, side.name, x, "total_s", median(side.total_s));
    print(experiment, side.name, x, "search_s", median(side.search_s));
    if (!side.candidates_s.empty()) {
      print(experiment, side.name, x, "candidates_s", median(side.candidates_s));
      print(experiment, side.name, x, "counting_s", median(side.counting_s));
    }
    print(experiment, side.name, x, "peak_mb", side.peak_bytes / 1e6);
    print(experiment, side.name, x, "runs", static_cast<double>(side.total_s.size()));
  }
  return witness == nullptr ? 0 : witness->answer.itemsets;
}

// ---- data sets (AP)

struct DataSet {
  const char* experiment;
  const char* name;
  std::vector<double> min_supports;  // falling; the last one is that of the paper's breakdown
};

void mine_data_sets(const Settings& settings) {
  const DataSet data_sets[] = {
      {"t40", "T40I10D100K-regen", {0.03, 0.02, 0.015, 0.01}},
      {"chess", "chess", {0.9, 0.8, 0.7, 0.6}},
      {"retail", "retail", {0.01, 0.001, 0.0005, 0.0001}},
  };
  for (const DataSet& data_set : data_sets) {
    const bench::ItemsetDatabase database(bench::read_transactions(settings.data + "/" + data_set.name + ".dat.zst"));
#ifdef BATMAP_BORGELT
    Peer peers[] = {Peer(BORGELT_APRIORI), Peer(BORGELT_FPGROWTH)};
#endif
    for (const double min_support : data_set.min_supports) {
      ItemsetQuery query;
      query.min_count = std::llround(std::ceil(min_support * static_cast<double>(database.transactions()) - 1e-6));
      [[maybe_unused]] const uint64_t itemsets = run_point(data_set.experiment, min_support, database, query, settings);
#ifdef BATMAP_BORGELT
      for (Peer& peer : peers) peer.run_point(data_set.experiment, min_support, database, query, itemsets, settings);
#endif
    }
  }
}

// ---- generated transactions (RB)

/// 50 itemsets of five items, each in a transaction with a probability of 15 %, above the support of 10 %
/// that is asked for; in addition, every item with a probability of 1 %. The paper gives the numbers of
/// itemsets, items and transactions, but no probabilities.
bench::ItemsetDatabase planted(int64_t transactions, int64_t items) {
  constexpr int kItemsets = 50;
  constexpr int kItems = 5;
  bench::Random random(1);
  int64_t itemsets[kItemsets][kItems];
  for (auto& itemset : itemsets)
    for (int64_t& item : itemset) item = static_cast<int64_t>(random.below(static_cast<uint64_t>(items)));
  const double log_miss = std::log1p(-0.01);
  bench::Transactions all(static_cast<size_t>(transactions));
  for (std::vector<int64_t>& transaction : all) {
    for (const auto& itemset : itemsets)
      if (random.unit() < 0.15) transaction.insert(transaction.end(), itemset, itemset + kItems);
    const auto gap = [&] { return static_cast<int64_t>(std::floor(std::log(random.unit()) / log_miss)); };
    for (int64_t item = gap(); item < items; item += 1 + gap()) transaction.push_back(item);
    std::sort(transaction.begin(), transaction.end());
    transaction.erase(std::unique(transaction.begin(), transaction.end()), transaction.end());
  }
  return bench::ItemsetDatabase(std::move(all));
}

void mine_planted(const std::string& experiment, double x, int64_t transactions, int64_t items, const Settings& settings) {
  const bench::ItemsetDatabase database = planted(transactions, items);
  ItemsetQuery query;
  query.min_support = 0.1;
  run_point(experiment, x, database, query, settings);
  query.max_length = 2;
  run_point(experiment + "_once", x, database, query, settings);
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  for (int arg = 1; arg < argc; arg += 2) {
    const std::string name = argv[arg];
    const char* const text = arg + 1 < argc ? argv[arg + 1] : "";
    const double value = std::atof(text);
    if (name == "--data") {
      settings.data = text;
      continue;
    }
    if (value <= 0) fail(name + " needs a positive number");
    if (name == "--seconds")
      settings.seconds = value;
    else if (name == "--runs")
      settings.runs = std::max(1, static_cast<int>(value));
    else if (name == "--memory")
      settings.memory_mb = value;
    else if (name == "--most-transactions")
      settings.max_transactions = static_cast<int64_t>(value);
    else
      fail("no such option: " + name);
  }
  std::printf("experiment,series,x,quantity,value\n");
  if (!settings.data.empty()) mine_data_sets(settings);
  for (int64_t transactions = 32; transactions <= settings.max_transactions; transactions *= 2)
    mine_planted("transactions", static_cast<double>(transactions), transactions, 2000, settings);
  for (const int64_t items : {500, 675, 800, 900, 1000, 1250, 2500, 5000, 6500, 8500})
    mine_planted("items", static_cast<double>(items), settings.max_transactions, items, settings);
}
