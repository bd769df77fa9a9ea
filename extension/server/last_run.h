// The record of the last finished run of this session, which batmap_last_run() shows.
#pragma once

#include <cstdint>

#include "extension/server/pg.h"

namespace batmap::pg {

/// The itemsets or episodes of one length; -1 means not known.
struct LastLevel {
  int64_t candidates;  // counted candidates
  int64_t frequent;    // frequent ones among them or, without candidates, those in the answer
  double milliseconds;
};

struct LastRun {
  static constexpr int kMostLevels = 64;

  bool any;
  char operation[64];
  char method[32];
  char kernel[32];
  char device[96];  // empty: cpu
  char reason[512];
  char input[32];
  int threads;
  int64_t rows_read;
  int64_t transactions;
  int64_t items;
  int64_t items_kept;
  int64_t occurrences;
  int64_t pair_instances;
  int64_t results;
  const char* results_are;  // the name of `results` in EXPLAIN
  int64_t file_bytes;
  bool truncated;
  double read_ms;
  double group_ms;
  double count_ms;
  double answer_ms;
  int64_t peak_memory;
  LastLevel levels[kMostLevels];  // of length 1, 2, ...
  int level_count;
};

extern LastRun last_run;

/// The same record as lines of EXPLAIN ANALYZE.
void explain_run(const LastRun& run, ExplainState* state);

}  // namespace batmap::pg
