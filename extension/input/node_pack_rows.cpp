// Planning and execution of the plan node "BatmapPackRows". See node_pack_rows.h.
#include "extension/input/node_pack_rows.h"

#include "extension/input/array_rows.h"
#include "extension/input/row_reader.h"
#include "extension/input/run_costs.h"
#include "extension/input/table_rows.h"
#include "extension/server/node_state.h"
#include "extension/server/plan_numbers.h"
#include "relation/chunk.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

constexpr char kNodeName[] = "BatmapPackRows";
constexpr char kChunkColumn[] = "chunk";
constexpr int kPackNodeId = INT_MAX / 2;  // for a node that the planner has not numbered; no plan has this many nodes

Plan* plan_pack(PlannerInfo*, RelOptInfo*, CustomPath* path, List* targets, List*, List* children);

const CustomPathMethods kPathMethods = {kNodeName, plan_pack, nullptr};
const CustomScanMethods* scan_methods();

/// @param targets       the columns for the plan above
/// @param scan_targets  what they are made of: one chunk
Plan* make_pack(Plan* rows, List* numbers, List* targets, List* scan_targets) {
  CustomScan* const scan = makeNode(CustomScan);
  scan->scan.plan.targetlist = targets;
  scan->scan.plan.lefttree = rows;  // where other code looks for children
  scan->scan.scanrelid = 0;         // custom_scan_tlist describes its rows
  scan->custom_private = numbers;
  scan->custom_scan_tlist = scan_targets;
  scan->methods = scan_methods();
  return &scan->scan.plan;
}

Plan* plan_pack(PlannerInfo*, RelOptInfo*, CustomPath* path, List* targets, List*, List* children) {
  auto* const rows = static_cast<Plan*>(linitial(children));
  return make_pack(rows, path->custom_private, targets, static_cast<List*>(copyObjectImpl(targets)));
}

/// A reference to column `number` of the node below, or of custom_scan_tlist.
Var* column_below(int varno, AttrNumber number, const Node* value) {
  Var* const column = makeVar(varno, number, exprType(value), exprTypmod(value), exprCollation(value), 0);
  column->varnosyn = 0;  // it stands for no column of the query
  column->varattnosyn = 0;
  return column;
}

TargetEntry* chunk_target(int varno, const Expr* chunk) {
  Var* const column = column_below(varno, 1, reinterpret_cast<const Node*>(chunk));
  return makeTargetEntry(&column->xpr, 1, pstrdup(kChunkColumn), false);
}

/// The output column as EXPLAIN VERBOSE shows it: the row of both columns, cast to bytea.
Expr* chunk_of(List* columns, int key_column) {
  auto* const row = makeNode(RowExpr);
  row->args = columns;
  row->row_typeid = RECORDOID;
  row->row_format = COERCE_EXPLICIT_CALL;
  row->colnames = list_make2(makeString(pstrdup(key_column == 0 ? "key" : "item")),
                             makeString(pstrdup(key_column == 0 ? "item" : "key")));
  row->location = -1;
  return &makeRelabelType(reinterpret_cast<Expr*>(row), BYTEAOID, -1, InvalidOid, COERCE_EXPLICIT_CAST)->xpr;
}

List* numbers_of(const RowColumns& columns) {
  List* numbers = put_number(NIL, static_cast<int>(columns.key));
  numbers = put_number(numbers, static_cast<int>(columns.item));
  numbers = put_number(numbers, columns.null_items);
  return put_number(numbers, columns.key_column);
}

RowColumns columns_of(const List* custom_private) {
  PlanNumbers numbers(custom_private);
  RowColumns columns{};
  columns.key = static_cast<KeyKind>(numbers.next());
  columns.item = static_cast<KeyKind>(numbers.next());
  columns.null_items = numbers.next();
  columns.key_column = numbers.next();
  return columns;
}

struct PackState {
  CustomScanState base;    // first member: the server sees this
  KeyEncoder encoders[2];  // of the key and of the item
  TidItem* open;           // [kChunkRows]
  struct varlena* chunk;   // room for kChunkMaxBytes
  TableRows tables;
  ArrayRows arrays;
  bool from_tables;  // the rows of the child are read through `tables`
  bool from_arrays;  // likewise through `arrays`
  bool finished;
  SharedChunks* shared;  // of a leader and its workers; may be null
  bool is_worker;        // this process fills slots there
  uint32_t filled;       // so many so far
};

PackState* state_of(CustomScanState* node) { return reinterpret_cast<PackState*>(node); }
PlanState* child_of(CustomScanState* node) { return outerPlanState(node); }

void begin_pack(CustomScanState* node, EState* estate, int eflags) {
  PackState* const state = state_of(node);
  const auto* const scan = castNode(CustomScan, node->ss.ps.plan);
  const RowColumns columns = columns_of(scan->custom_private);
  state->encoders[0] = column_encoder(columns.key, columns.key_column);
  state->encoders[1] = column_encoder(columns.item, 1 - columns.key_column, columns.null_items != 0);
  outerPlanState(node) = ExecInitNode(outerPlan(scan), estate, eflags);
  state->from_tables = find_table_rows(child_of(node), state->encoders, state->tables);
  state->from_arrays = find_array_rows(child_of(node), state->encoders, state->arrays);
  state->open = static_cast<TidItem*>(palloc(sizeof(TidItem) * kChunkRows));
  state->chunk = static_cast<struct varlena*>(palloc(VARHDRSZ + kChunkMaxBytes));
}

/// Collects rows until a chunk is full.
struct ChunkSink {
  TidItem* open;  // [kChunkRows]
  uint32_t rows = 0;

  bool append(int64_t tid, int64_t item, int64_t) {
    open[rows] = {tid, item};
    return ++rows < kChunkRows;
  }
};

/// Reads pages while a whole one is sure to fit. Sets `finished` after the last page. @return the number of rows
uint32_t read_pages(PackState& state) {
  static_assert(MaxHeapTuplesPerPage <= kChunkRows);
  TidItem* end = state.open;
  while (end - state.open <= static_cast<ptrdiff_t>(kChunkRows - MaxHeapTuplesPerPage)) {
    TidItem* const next = read_table_page(state.tables, end);
    state.finished = next == nullptr;
    if (state.finished) break;
    end = next;
  }
  return static_cast<uint32_t>(end - state.open);
}

uint32_t read_child(PackState& state, CustomScanState* node) {
  if (state.finished) return 0;
  if (state.from_tables) return read_pages(state);
  if (state.from_arrays) return static_cast<uint32_t>(read_array_rows(state.arrays, state.open) - state.open);
  ChunkSink sink{state.open};
  state.finished = read_rows(PlanSource{child_of(node), 2}, std::span<const KeyEncoder, 2>(state.encoders), sink);
  return sink.rows;
}

/// Writes chunks while any is sure to fit. @return the number of bytes
size_t write_chunks(PackState& state, CustomScanState* node, std::span<std::byte> to) {
  size_t used = 0;
  while (to.size() - used >= kChunkMaxBytes) {
    const uint32_t rows = read_child(state, node);
    if (rows == 0) break;
    used += write_chunk({state.open, rows}, to.data() + used);
  }
  return used;
}

TupleTableSlot* exec_pack(CustomScanState* node) {
  PackState* const state = state_of(node);
  TupleTableSlot* const slot = ExecClearTuple(node->ss.ss_ScanTupleSlot);
  auto* const row = reinterpret_cast<std::byte*>(VARDATA(state->chunk));
  const auto shared = state->is_worker ? state->shared->free_slot(ParallelWorkerNumber, state->filled) : std::nullopt;
  size_t bytes;
  if (shared) {
    bytes = write_chunks(*state, node, {state->shared->bytes_of(*shared), SharedChunks::kSlotBytes});
    if (bytes == 0) return slot;
    state->shared->note_full(*shared);
    ++state->filled;
    const SharedChunks::Filled filled{*shared, static_cast<uint32_t>(bytes)};
    memcpy(row, &filled, sizeof filled);
    bytes = sizeof filled;
  } else {
    bytes = write_chunks(*state, node, {row, kChunkMaxBytes});
    if (bytes == 0) return slot;
  }
  SET_VARSIZE(state->chunk, VARHDRSZ + bytes);
  slot->tts_values[0] = PointerGetDatum(state->chunk);
  slot->tts_isnull[0] = false;
  return ExecStoreVirtualTuple(slot);
}

void end_pack(CustomScanState* node) { ExecEndNode(child_of(node)); }

void rescan_pack(CustomScanState* node) {
  state_of(node)->finished = false;
  rescan_array_rows(state_of(node)->arrays);
  if (node->ss.ps.chgParam != nullptr) UpdateChangedParamSet(child_of(node), node->ss.ps.chgParam);
  if (child_of(node)->chgParam == nullptr) ExecReScan(child_of(node));
}

Size shared_bytes(CustomScanState*, ParallelContext* context) { return SharedChunks::bytes_for(context->nworkers); }

void begin_sharing(CustomScanState* node, ParallelContext* context, void* memory) {
  state_of(node)->shared = SharedChunks::create(memory, context->nworkers);
}

void join_sharing(CustomScanState* node, shm_toc*, void* memory) {
  state_of(node)->shared = static_cast<SharedChunks*>(memory);
  state_of(node)->is_worker = true;
}

const CustomExecMethods kExecMethods = [] {
  CustomExecMethods methods = node_methods(kNodeName, begin_pack, exec_pack, end_pack, rescan_pack);
  methods.EstimateDSMCustomScan = shared_bytes;
  methods.InitializeDSMCustomScan = begin_sharing;
  methods.ReInitializeDSMCustomScan = begin_sharing;
  methods.InitializeWorkerCustomScan = join_sharing;
  return methods;
}();
const CustomScanMethods kScanMethods = {kNodeName, create_node_state<PackState, &kExecMethods>};

const CustomScanMethods* scan_methods() { return &kScanMethods; }

}  // namespace

Cost packing_cost(PlannerInfo* root, const Path* rows) {
  const Cost saving = table_rows_saving(root, rows);
  if (saving == 0) return rows->rows * cpu_operator_cost;
  const Cost decoded = rows->rows * kHeapRowOperators * cpu_operator_cost;
  return Max(decoded - saving, rows->startup_cost - rows->total_cost);
}

Path* pack_rows_path(PlannerInfo* root, RelOptInfo* rel, Path* rows, const RowColumns& columns) {
  PathTarget* const target = create_empty_pathtarget();
  add_column_to_pathtarget(target, chunk_of(list_copy(rows->pathtarget->exprs), columns.key_column), 0);
  set_pathtarget_cost_width(root, target);

  CustomPath* const path = makeNode(CustomPath);
  path->path.pathtype = T_CustomScan;
  path->path.parent = rel;
  path->path.pathtarget = target;
  path->path.parallel_safe = rows->parallel_safe;
  path->path.parallel_aware = rows->parallel_workers > 0;  // it shares memory
  path->path.parallel_workers = rows->parallel_workers;
  path->path.rows = clamp_row_est(rows->rows / kChunkRows);
  path->path.startup_cost = rows->startup_cost;
  path->path.total_cost = rows->total_cost + packing_cost(root, rows);
  set_disabled_nodes(&path->path, disabled_nodes(rows));
  path->custom_paths = list_make1(rows);
  path->custom_private = numbers_of(columns);
  path->methods = &kPathMethods;
  return &path->path;
}

Plan* pack_rows_plan(Plan* rows, const RowColumns& columns) {
  List* values = NIL;
  const ListCell* cell;
  foreach (cell, rows->targetlist) {
    const auto* const target = lfirst_node(TargetEntry, cell);
    values = lappend(values, column_below(OUTER_VAR, target->resno, reinterpret_cast<const Node*>(target->expr)));
  }
  Expr* const chunk = chunk_of(values, columns.key_column);
  Plan* const pack = make_pack(rows, numbers_of(columns), list_make1(chunk_target(INDEX_VAR, chunk)),
                               list_make1(makeTargetEntry(chunk, 1, pstrdup(kChunkColumn), false)));
  pack->startup_cost = rows->startup_cost;
  pack->total_cost = rows->total_cost + rows->plan_rows * cpu_operator_cost;
  pack->plan_rows = clamp_row_est(rows->plan_rows / kChunkRows);
  pack->plan_width = rows->plan_width;
  pack->parallel_safe = rows->parallel_safe;
  pack->plan_node_id = kPackNodeId;
  pack->extParam = rows->extParam;
  pack->allParam = rows->allParam;
  return pack;
}

void gather_chunks(Gather* gather, Plan* pack) {
  pack->parallel_aware = true;  // it shares memory
  const auto* const chunk = linitial_node(TargetEntry, pack->targetlist)->expr;
  gather->plan.lefttree = pack;
  gather->plan.targetlist = list_make1(chunk_target(OUTER_VAR, chunk));
  gather->plan.plan_rows = pack->plan_rows;
}

const Plan* packed_rows_plan(const Plan* plan) {
  while (plan != nullptr && !(IsA(plan, CustomScan) && reinterpret_cast<const CustomScan*>(plan)->methods == &kScanMethods))
    plan = outerPlan(plan);
  return plan == nullptr ? nullptr : outerPlan(plan);
}

std::span<const std::byte> chunks_of_row(const PlanState* plan, Datum row, SharedChunks*& shared,
                                         SharedChunks::Filled& filled) {
  const auto* const value = reinterpret_cast<const struct varlena*>(DatumGetPointer(row));
  const std::span bytes(reinterpret_cast<const std::byte*>(VARDATA_ANY(value)), VARSIZE_ANY_EXHDR(value));
  if (bytes.size() != sizeof filled) return bytes;
  while (plan != nullptr &&
         !(IsA(plan, CustomScanState) && reinterpret_cast<const CustomScanState*>(plan)->methods == &kExecMethods))
    plan = outerPlanState(plan);
  if (plan != nullptr) shared = reinterpret_cast<const PackState*>(plan)->shared;
  memcpy(&filled, bytes.data(), sizeof filled);
  const std::span<const std::byte> chunks = shared == nullptr ? std::span<const std::byte>() : shared->contents(filled);
  if (chunks.empty()) elog(ERROR, "a row names no chunks");
  return chunks;
}

void register_pack_rows_node() { RegisterCustomScanMethods(&kScanMethods); }

}  // namespace batmap::pg
