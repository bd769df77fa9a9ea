// The record of the last finished run of this session, which batmap_last_run() shows.
#pragma once

#include "core/run_record.h"

#include "extension/server/pg.h"

namespace batmap::pg {

/// How many lengths batmap_last_run_levels() shows.
inline constexpr size_t kMaxLevels = 64;

/// Keeps the record of a run that has ended. Called in guarded.
void keep_run(const RunRecord& record);

/// Counts a run of the statement whose answer was cut off: the record of the last run says nothing of the runs before it.
void count_truncated_run();

/// The same record as lines of EXPLAIN ANALYZE.
void explain_run(const RunRecord& run, ExplainState* state);

}  // namespace batmap::pg
