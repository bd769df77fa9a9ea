// The record of the last finished run of this session, which batmap_last_run() shows.
#pragma once

#include <optional>

#include "core/run_record.h"

#include "extension/server/pg.h"

namespace batmap::pg {

/// How many lengths batmap_last_run_levels() shows.
inline constexpr size_t kMaxLevels = 64;

extern std::optional<RunRecord> last_run;

/// The same record as lines of EXPLAIN ANALYZE.
void explain_run(const RunRecord& run, ExplainState* state);

}  // namespace batmap::pg
