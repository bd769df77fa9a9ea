// How well the number of pairs is estimated (pairs/answer_size.h), and how long it takes beside counting them, over
// 60 relations. Prints Markdown.
//
// usage: answer_size [--data FOLDER] [rows [threads [sample [name]]]]
//   FOLDER  has NAME.dat.zst, as BATMAP_TEST_DATA/fimi does; without it, 57 relations
//   name    only relations with this in their names
//
// The time of a run is that of PairRun from packed chunks to the last batch of answers, without reading a table and
// without making tuples. That of the estimate starts where the rows are coded and the items to keep are known, as they
// are in a run. CPU time of the process, each the least of three.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <limits>

#include "bench/answer_size_inputs.h"
#include "bench/itemset_database.h"
#include "pairs/answer_size.h"
#include "pairs/pair_forecast.h"
#include "pairs/pair_run.h"

using namespace batmap;

namespace {

double now_ms() {
  timespec at{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &at);
  return static_cast<double>(at.tv_sec) * 1e3 + static_cast<double>(at.tv_nsec) / 1e6;
}

struct Settings {
  std::string data;
  double rows = 1e6;
  int threads = 1;
  uint32_t sample = AnswerSizeQuery().sample;
  std::string name;

  bool wants(const std::string& other) const { return other.find(name) != std::string::npos; }
};

struct Outcome {
  double run_ms = std::numeric_limits<double>::infinity();
  double estimate_ms = run_ms;
  uint64_t pairs = 0;
  AnswerSize size;
  double independent = 0;  // pairs to expect if items were independent

  double error(double estimate) const { return pairs == 0 ? estimate : estimate / static_cast<double>(pairs) - 1; }
};

double expect_of_independent(const EncodedRelation& relation, const KeptItems& kept) {
  std::vector<uint64_t> left;
  std::vector<uint64_t> right;
  for (uint32_t rank = 0; rank < kept.size; ++rank)
    (kept.pairs.rectangle() && rank >= kept.pairs.first_column ? right : left)
        .push_back(relation.item_rows(kept.code(Rank{rank})));
  const double both = expected_pairs(left, relation.transactions(), 1);
  if (!kept.pairs.rectangle()) return both;
  const double right_only = expected_pairs(right, relation.transactions(), 1);
  left.insert(left.end(), right.begin(), right.end());
  return expected_pairs(left, relation.transactions(), 1) - both - right_only;
}

Outcome measure(const RowLog& log, std::optional<int64_t> left_items, const Settings& settings) {
  constexpr int kTurns = 3;
  Outcome outcome;
  for (int turn = 0; turn < kTurns; ++turn) {
    MemoryMeter meter;
    const ExecutionOptions options{settings.threads, &meter, {}};
    {
      const double begin = now_ms();
      PairQuery query;
      query.min_count = 1;
      query.left_items = left_items;
      PairRun run(log.chunks(), {}, query, options);
      PairBatch batch;
      while (run.next(batch)) {
      }
      outcome.run_ms = std::min(outcome.run_ms, now_ms() - begin);
      outcome.pairs = run.record().results;
    }
    const EncodedRelation relation(log.chunks(), {}, options);
    const KeptItems kept = keep_items(relation, {.include = {}, .exclude = {}, .left_items = left_items}, options);
    const TransactionLengths lengths = transaction_lengths(relation, kept, options);
    outcome.independent = expect_of_independent(relation, kept);
    const double begin = now_ms();
    outcome.size = estimate_answer_size(relation, kept, lengths, {.sample = settings.sample}, options);
    outcome.estimate_ms = std::min(outcome.estimate_ms, now_ms() - begin);
  }
  return outcome;
}

class Report {
 public:
  Report() {
    std::printf(
        "| relation | rows | pairs | estimate | error, %% | in standard errors | if independent, %% | run, ms | estimate, "
        "ms | "
        "of the run |\n");
    std::printf("|---|---|---|---|---|---|---|---|---|---|\n");
  }
  void add(const char* name, const RowLog& log, const Outcome& outcome) {
    const double deviation =
        outcome.size.exact() ? 0 : (outcome.size.pairs - static_cast<double>(outcome.pairs)) / outcome.size.standard_error;
    std::printf("| %s | %llu | %llu | %.0f | %+.1f | %+.1f | %+.1f | %.1f | %.2f | %.3f |\n", name,
                static_cast<unsigned long long>(log.rows()), static_cast<unsigned long long>(outcome.pairs),
                outcome.size.pairs, outcome.error(outcome.size.pairs) * 100, deviation,
                outcome.error(outcome.independent) * 100, outcome.run_ms, outcome.estimate_ms,
                outcome.estimate_ms / outcome.run_ms);
    std::fflush(stdout);
    errors_.push_back(std::abs(outcome.error(outcome.size.pairs)));
    independent_ += std::abs(outcome.error(outcome.independent));
    shares_.push_back(outcome.estimate_ms / outcome.run_ms);
    run_ms_ += outcome.run_ms;
    estimate_ms_ += outcome.estimate_ms;
  }
  void print_summary() {
    if (errors_.empty()) return;
    double sum = 0;
    for (const double error : errors_) sum += error;
    std::sort(errors_.begin(), errors_.end());
    std::sort(shares_.begin(), shares_.end());
    const double mean = sum / static_cast<double>(errors_.size());
    const double share = estimate_ms_ / run_ms_;
    std::printf(
        "\n%zu relations. Error: mean %.1f %% (goal: at most 10 %%, %s), worst %.1f %%; mean if items were "
        "independent: %.1f %%.\n",
        errors_.size(), mean * 100, mean <= 0.1 ? "met" : "missed", errors_.back() * 100,
        independent_ / static_cast<double>(errors_.size()) * 100);
    std::printf(
        "Time of the estimate: %.3f of all runs together (goal: at most 0.1, %s); of each run: median %.3f, worst %.3f, "
        "%zu above 0.1.\n",
        share, share <= 0.1 ? "met" : "missed", shares_[shares_.size() / 2], shares_.back(),
        static_cast<size_t>(shares_.end() - std::upper_bound(shares_.begin(), shares_.end(), 0.1)));
  }

 private:
  std::vector<double> errors_;
  std::vector<double> shares_;
  double independent_ = 0;
  double run_ms_ = 0;
  double estimate_ms_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  if (argc > 2 && std::strcmp(argv[1], "--data") == 0) {
    settings.data = argv[2];
    argv += 2;
    argc -= 2;
  }
  if (argc > 1) settings.rows = std::atof(argv[1]);
  if (argc > 2) settings.threads = std::atoi(argv[2]);
  if (argc > 3) settings.sample = static_cast<uint32_t>(std::atoi(argv[3]));
  if (argc > 4) settings.name = argv[4];
  if (settings.rows < 1000 || settings.threads < 1 || settings.sample < 3) {
    std::fprintf(stderr, "usage: answer_size [--data FOLDER] [rows [threads [sample [name]]]]\n");
    return 2;
  }
  std::printf("# Estimated numbers of pairs, %d thread%s, samples of %u\n\n", settings.threads,
              settings.threads == 1 ? "" : "s", settings.sample);
  Report report;
  uint64_t seed = 0;
  for (const bench::SizeInput& input : bench::size_inputs(settings.rows)) {
    ++seed;
    if (!settings.wants(input.name)) continue;
    MemoryMeter meter;
    RowLog log(meter);
    bench::generate(input, seed, [&](int64_t tid, int64_t item) { log.append(tid, item); });
    log.seal();
    const int64_t left_items = bench::left_items_of(input);
    report.add(input.name.c_str(), log, measure(log, left_items > 0 ? std::optional(left_items) : std::nullopt, settings));
  }
  for (const char* const name : bench::kSizeDataSets) {
    if (settings.data.empty() || !settings.wants(name)) continue;
    MemoryMeter meter;
    RowLog log(meter);
    const bench::Transactions transactions = bench::read_transactions(settings.data + "/" + name + ".dat.zst");
    for (size_t tid = 0; tid < transactions.size(); ++tid)
      for (const int64_t item : transactions[tid]) log.append(static_cast<int64_t>(tid), item);
    log.seal();
    report.add(name, log, measure(log, std::nullopt, settings));
  }
  report.print_summary();
  return 0;
}
