// Join-project against DIM3: all (a, c) that share a b, and the same with the number of shared b. Both sides have their rows
// in memory, ours packed, theirs as pairs of int. Ours is timed from there to the last batch of pairs (group and count);
// DIM3 until its answer is complete in memory. `bench/run joins` builds and runs it; bench/README.md describes the method.
//
// usage: join_peers [ROUNDS [SHAPE...]]
//   SHAPE  runs these shapes (bench/join_shapes.h) only
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "bench/join_shapes.h"
#include "bench/peers/dim3.h"
#include "core/stopwatch.h"
#include "pairs/join_run.h"
#include "relation/row_log.h"

using namespace batmap;

namespace {

struct Side {
  explicit Side(MemoryMeter& meter) : log(meter) {}
  RowLog log;
  bench::Dim3Rows rows;
};

void fill(Side& side, const bench::JoinShape& shape, size_t number) {
  side.rows.reserve(shape.rows);
  bench::generate_side(shape, number, [&](int64_t key, int64_t item) {
    side.log.append(key, item);
    side.rows.emplace_back(static_cast<int>(item), static_cast<int>(key));
  });
  side.log.seal();
}

struct OwnRun {
  double group_s = 0;
  double count_s = 0;
  RunRecord record;

  double seconds() const { return group_s + count_s; }
};

OwnRun run_own(const Side& left, const Side& right, bool distinct_only, int threads) {
  MemoryMeter meter;
  const ExecutionOptions options{threads, &meter, {}};
  JoinQuery query;
  query.distinct_only = distinct_only;
  OwnRun own;
  const Stopwatch group_watch;
  JoinRun run(join_relations({left.log.chunks(), {}}, {right.log.chunks(), {}}, options), query, options);
  own.group_s = group_watch.milliseconds() / 1e3;
  const Stopwatch count_watch;
  PairBatch batch;
  while (run.next(batch)) continue;
  own.count_s = count_watch.milliseconds() / 1e3;
  own.record = run.record();
  return own;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Prints a row of the table. @return whether both sides have the same number of pairs
bool compare(const bench::JoinShape& shape, const Side& left, const Side& right, bool distinct_only, int threads,
             int rounds) {
  std::vector<OwnRun> own;
  std::vector<double> peer_s;
  size_t peer_pairs = 0;
  for (int round = 0; round < rounds; ++round) {
    own.push_back(run_own(left, right, distinct_only, threads));
    const bench::Dim3Answer answer =
        distinct_only ? bench::dim3_find(left.rows, right.rows, threads) : bench::dim3_count(left.rows, right.rows);
    peer_s.push_back(answer.seconds);
    peer_pairs = answer.pairs;
  }
  std::sort(own.begin(), own.end(), [](const OwnRun& x, const OwnRun& y) { return x.seconds() < y.seconds(); });
  const OwnRun& middle = own[own.size() / 2];
  const uint64_t pairs = middle.record.results;
  std::printf("| %s | %.1f | %.0f | %s | %d | %.3f | %.3f | %.3f | %s |", shape.name, static_cast<double>(pairs) / 1e6,
              static_cast<double>(middle.record.pair_instances) / 1e6, distinct_only ? "existence" : "counts", threads,
              middle.seconds(), middle.group_s, middle.count_s, middle.record.method.c_str());
  const bool has_variant = peer_pairs != 0;
  if (has_variant)
    std::printf(" %.3f | %.2f |\n", median(peer_s), median(peer_s) / middle.seconds());
  else
    std::printf(" none | |\n");
  std::fflush(stdout);
  if (has_variant && peer_pairs != pairs) std::printf("\nDIM3 has %zu pairs for this, and we %zu.\n\n", peer_pairs, pairs);
  return !has_variant || peer_pairs == pairs;
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::max(std::atoi(argv[1]), 1) : 5;
  const std::vector<std::string> wanted(argv + std::min(argc, 2), argv + argc);
  std::printf(
      "Medians of %d runs of each, in turns; %u processors. DIM3 counts on one thread only.\n\n"
      "| shape | M pairs | M paths | answer | threads | batmap s | group s | count s | method | DIM3 s | DIM3 / batmap |\n"
      "|---|---|---|---|---|---|---|---|---|---|---|\n",
      rounds, std::thread::hardware_concurrency());
  bool equal = true;
  for (const bench::JoinShape& shape : bench::kJoinShapes) {
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), shape.name) == wanted.end()) continue;
    MemoryMeter meter;
    Side left(meter);
    Side right(meter);
    fill(left, shape, 0);
    fill(right, shape, 1);
    for (const bool distinct_only : {true, false})
      for (const int threads : {1, 2}) equal &= compare(shape, left, right, distinct_only, threads, rounds);
  }
  return equal ? 0 : 1;
}
