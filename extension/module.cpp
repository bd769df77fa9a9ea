// The entry point of the shared library. Loading it defines the settings, requests shared memory and installs
// the plan nodes, nothing else.
#include "extension/input/inner_estimate.h"
#include "extension/input/node_pack_rows.h"
#include "extension/input/packed_plan.h"
#include "extension/kept/kept_worker.h"
#include "extension/plan/aggregate/node_aggregate.h"
#include "extension/plan/explain_why.h"
#include "extension/plan/join/node_expand_rows.h"
#include "extension/plan/nearest/node_nearest.h"
#include "extension/plan/node_join_project.h"
#include "extension/server/budget.h"
#include "extension/server/gpu_process.h"
#include "extension/server/progress.h"
#include "extension/server/settings.h"
#include "extension/streams/node_row_stream.h"

#include "extension/server/pg.h"

extern "C" {
PG_MODULE_MAGIC;
PGDLLEXPORT void _PG_init(void);
}

void _PG_init(void) {
  batmap::pg::define_settings();
  batmap::pg::request_progress_memory();
  batmap::pg::request_budget_memory();
  batmap::pg::register_gpu_process();
  batmap::pg::register_merge_launcher();
  batmap::pg::install_row_stream_node();
  batmap::pg::register_pack_rows_node();
  batmap::pg::register_expand_rows_node();
  batmap::pg::install_join_project_node();
  batmap::pg::install_aggregate_node();
  batmap::pg::install_nearest_node();
  batmap::pg::install_explain_why();
  batmap::pg::install_packed_plans();
  batmap::pg::install_inner_estimates();
}
