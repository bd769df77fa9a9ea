// What the nodes for plain SQL have in common: a run of the engine answers a query. Where it gives up, the plain plan answers,
// which is the last of the node's plans. That is known before the first row is returned.
#pragma once

#include "extension/streams/row_stream.h"

#include "extension/server/pg.h"

namespace batmap::pg {

/// The CustomPath::custom_private of such a node.
/// @param numbers      become the custom_private of the plan
/// @param expressions  become its custom_exprs
/// @param targets      describe the rows of the node
List* run_path_lists(List* numbers, List* expressions, List* targets, List* quals);

/// @param children  the inputs of the run, and then the plain plan
Plan* plan_run_node(const CustomPath* path, List* targets, List* children, const CustomScanMethods* methods);

/// The first part of the state of such a node.
struct RunNode {
  CustomScanState base;   // first member: the server sees this
  PlanState* plain;       // nullptr until it is started
  int flags;              // to start plans with
  MemoryContext context;  // of one run
  RowStream* stream;      // of the run; nullptr before the first row, without rows, and if the run gave up
  const char* why_plain;  // why the plain plan answers; nullptr: it does not
  bool opened;
  bool finished;
};

/// For RunNode::why_plain.
inline constexpr char kForWantOfMemory[] = "for want of memory";
inline constexpr char kForLooks[] = "because values that are equal look different, as 1.0 and 1.00 do";

inline constexpr char kForReplacedRows[] =
    "because this transaction has changed a table that its snapshot may show rows of twice";

/// @tparam State  a RunNode
template <typename State>
State* run_state(CustomScanState* node) {
  return static_cast<State*>(reinterpret_cast<RunNode*>(node));
}

/// Starts the next input of a node.
PlanState* begin_input(RunNode* node, EState* estate, int flags);

/// To be called when all inputs have been started. The plain plan is started when it is needed, because it may have a large hash
/// table; but a subplan that both plans share must not be started again once it has run, so with subplans it is started here.
/// @throws an error if the role may not execute an aggregate that the node computes
void begin_run_node(RunNode* node, EState* estate, int flags);

/// To be called first when a run is opened. @return false: the plain plan answers
bool open_run(RunNode* node);

/// The lowest count of an answer.
/// @param bound  of `count > bound` (if `is_excluded`) or `count >= bound`; nullptr: there is none
/// @return false if no count is large enough
bool read_min_count(const RunNode* node, ExprState* bound, bool is_excluded, int64_t& min_count);

/// Gives a run up.
void answer_by_plain(RunNode* node, const char* why);

/// The next row of the plain plan in the slot of the node, which has the same columns.
TupleTableSlot* next_plain(const RunNode* node);

/// To be called after the last row of the run.
void finish_run(RunNode* node);

/// Ends the node, and a run that may not have reached its last row.
void end_run_node(RunNode* node);

/// The same, but the node can be opened again, perhaps with other parameters.
void rescan_run_node(RunNode* node);

// ---- EXPLAIN

/// `count` columns of an input from `first` on, as SQL.
/// @param packed  the input returns chunks (node_pack_rows.h)
char* columns_text(const PlanState* input, bool packed, int first, int count, List* ancestors, const ExplainState* es);

/// An expression of the node.
/// @param before  stands in front of it
void explain_bound(RunNode* node, const char* label, const char* before, int expression, List* ancestors, ExplainState* es);

/// Device and method: they are chosen when the inputs have been read and their sizes are known.
void explain_device(ExplainState* es);

/// What happened in the run. For EXPLAIN ANALYZE only.
void explain_answer(RunNode* node, ExplainState* es);

}  // namespace batmap::pg
