// Planning and running of the plan node "BatmapPackRows". See node_pack_rows.h.
#include "extension/node_pack_rows.h"

#include "extension/heap_rows.h"
#include "extension/node_state.h"
#include "relation/chunk.h"

#include "extension/pg.h"

namespace batmap::pg {

namespace {

constexpr char kNodeName[] = "BatmapPackRows";

Plan* plan_pack(PlannerInfo*, RelOptInfo*, CustomPath* path, List* targets, List*, List* children);

const CustomPathMethods kPathMethods = {kNodeName, plan_pack, nullptr};
const CustomScanMethods* scan_methods();

Plan* plan_pack(PlannerInfo*, RelOptInfo*, CustomPath* path, List* targets, List*, List* children) {
  CustomScan* const scan = makeNode(CustomScan);
  scan->scan.plan.targetlist = targets;
  scan->scan.scanrelid = 0;  // its rows are described by custom_scan_tlist
  scan->flags = path->flags;
  scan->custom_plans = children;
  scan->custom_private = path->custom_private;
  scan->custom_scan_tlist = static_cast<List*>(copyObjectImpl(targets));
  scan->methods = scan_methods();
  return &scan->scan.plan;
}

struct PackState {
  CustomScanState base;  // first: the server sees this
  RowColumns columns;
  Pair* open;             // [kChunkRows]
  struct varlena* chunk;  // of kChunkMaxBytes
  HeapRows heap;
  bool from_heap;  // the child's rows are read there
  bool finished;
};

PackState* state_of(CustomScanState* node) { return reinterpret_cast<PackState*>(node); }
PlanState* child_of(CustomScanState* node) { return static_cast<PlanState*>(linitial(node->custom_ps)); }

void begin_pack(CustomScanState* node, EState* estate, int eflags) {
  PackState* const state = state_of(node);
  const auto* const scan = castNode(CustomScan, node->ss.ps.plan);
  state->columns = {static_cast<KeyKind>(linitial_int(scan->custom_private)),
                    static_cast<KeyKind>(lsecond_int(scan->custom_private)), lthird_int(scan->custom_private),
                    lfourth_int(scan->custom_private)};
  node->custom_ps = list_make1(ExecInitNode(static_cast<Plan*>(linitial(scan->custom_plans)), estate, eflags));
  state->from_heap = find_heap_rows(child_of(node), state->heap);
  state->open = static_cast<Pair*>(palloc(sizeof(Pair) * kChunkRows));
  state->chunk = static_cast<struct varlena*>(palloc(VARHDRSZ + kChunkMaxBytes));
}

/// Reads rows until there are enough for a chunk, or no more. @return how many there are in state->open
template <typename Next>
uint32_t read_rows(PackState* state, Next next) {
  uint32_t rows = 0;
  while (!state->finished && rows < kChunkRows) {
    const Datum* values;
    const bool* nulls;
    if (!next(values, nulls))
      state->finished = true;
    else if (state->columns.read(values, nulls, state->open[rows].tid, state->open[rows].item))
      ++rows;
  }
  return rows;
}

TupleTableSlot* exec_pack(CustomScanState* node) {
  PackState* const state = state_of(node);
  TupleTableSlot* const slot = ExecClearTuple(node->ss.ss_ScanTupleSlot);
  const auto next_in_heap = [state](const Datum*& values, const bool*& nulls) {
    values = state->heap.values;
    nulls = state->heap.nulls;
    return next_heap_row(state->heap);
  };
  const auto next_of_child = [node](const Datum*& values, const bool*& nulls) {
    CHECK_FOR_INTERRUPTS();
    TupleTableSlot* const row = ExecProcNode(child_of(node));
    if (TupIsNull(row)) return false;
    slot_getsomeattrs(row, 2);
    values = row->tts_values;
    nulls = row->tts_isnull;
    return true;
  };
  const uint32_t rows = state->from_heap ? read_rows(state, next_in_heap) : read_rows(state, next_of_child);
  if (rows == 0) return slot;
  const size_t bytes = write_chunk({state->open, rows}, reinterpret_cast<std::byte*>(VARDATA(state->chunk)));
  SET_VARSIZE(state->chunk, VARHDRSZ + bytes);
  slot->tts_values[0] = PointerGetDatum(state->chunk);
  slot->tts_isnull[0] = false;
  return ExecStoreVirtualTuple(slot);
}

void end_pack(CustomScanState* node) { ExecEndNode(child_of(node)); }

void rescan_pack(CustomScanState* node) {
  state_of(node)->finished = false;
  rescan_heap_rows(state_of(node)->heap);
  if (node->ss.ps.chgParam != nullptr) UpdateChangedParamSet(child_of(node), node->ss.ps.chgParam);
  if (child_of(node)->chgParam == nullptr) ExecReScan(child_of(node));
}

const CustomExecMethods kExecMethods = node_methods(kNodeName, begin_pack, exec_pack, end_pack, rescan_pack);
const CustomScanMethods kScanMethods = {kNodeName, create_node_state<PackState, &kExecMethods>};

const CustomScanMethods* scan_methods() { return &kScanMethods; }

}  // namespace

Path* pack_rows_path(PlannerInfo* root, RelOptInfo* rel, Path* rows, const RowColumns& columns) {
  // What EXPLAIN VERBOSE shows as the output: the row of both columns, as bytes.
  auto* const row = makeNode(RowExpr);
  row->args = list_copy(rows->pathtarget->exprs);
  row->row_typeid = RECORDOID;
  row->row_format = COERCE_EXPLICIT_CALL;
  row->colnames = list_make2(makeString(pstrdup(columns.key_column == 0 ? "key" : "item")),
                             makeString(pstrdup(columns.key_column == 0 ? "item" : "key")));
  row->location = -1;
  PathTarget* const target = create_empty_pathtarget();
  add_column_to_pathtarget(
      target, &makeRelabelType(reinterpret_cast<Expr*>(row), BYTEAOID, -1, InvalidOid, COERCE_EXPLICIT_CAST)->xpr, 0);
  set_pathtarget_cost_width(root, target);

  CustomPath* const path = makeNode(CustomPath);
  path->path.pathtype = T_CustomScan;
  path->path.parent = rel;
  path->path.pathtarget = target;
  path->path.parallel_safe = rows->parallel_safe;
  path->path.parallel_workers = rows->parallel_workers;
  path->path.rows = clamp_row_est(rows->rows / kChunkRows);
  path->path.startup_cost = rows->startup_cost;
  path->path.total_cost = rows->total_cost + rows->rows * cpu_operator_cost;
  set_disabled_nodes(&path->path, disabled_nodes(rows));
  path->custom_paths = list_make1(rows);
  path->custom_private =
      list_make4_int(static_cast<int>(columns.key), static_cast<int>(columns.item), columns.null_items, columns.key_column);
  path->methods = &kPathMethods;
  return &path->path;
}

const Plan* packed_rows_plan(const Plan* pack) {
  return static_cast<const Plan*>(linitial(castNode(CustomScan, const_cast<Plan*>(pack))->custom_plans));
}

void register_pack_rows_node() { RegisterCustomScanMethods(&kScanMethods); }

}  // namespace batmap::pg
