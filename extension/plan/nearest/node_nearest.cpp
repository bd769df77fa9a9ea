// Planning and execution of the plan node "BatmapNearest". See node_nearest.h.
#include "extension/plan/nearest/node_nearest.h"

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <span>

#include "core/best_k.h"
#include "core/polled.h"
#include "extension/plan/nearest/nearest_path.h"
#include "extension/server/backend.h"
#include "extension/server/context_owned.h"
#include "extension/server/node_state.h"
#include "extension/server/plan_numbers.h"
#include "extension/server/settings.h"
#include "extension/types/gin_postings.h"
#include "extension/types/set_argument.h"
#include "extension/types/set_datum.h"
#include "extension/types/set_gin.h"
#include "extension/types/set_statistics.h"
#include "set/nearest_search.h"
#include "set/set_decode.h"
#include "set/set_intersect.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

constexpr char kNodeName[] = "BatmapNearest";

/// A comparison of all rows keeps so many of the nearest. If more are wanted, the next comparison keeps more.
constexpr uint64_t kFirstBest = 1024;
constexpr uint64_t kBestGrowth = 16;

set_rel_pathlist_hook_type next_pathlist_hook = nullptr;

// ---- planning

const CustomScanMethods* scan_methods();

Plan* plan_node(PlannerInfo*, RelOptInfo* rel, CustomPath* path, List* targets, List* clauses, List*) {
  const NearestPlan nearest = nearest_plan(path);
  CustomScan* const scan = makeNode(CustomScan);
  scan->scan.plan.targetlist = targets;
  scan->scan.plan.qual = extract_actual_clauses(clauses, false);
  scan->scan.scanrelid = rel->relid;
  scan->flags = path->flags;
  scan->methods = scan_methods();
  scan->custom_exprs = list_make2(nearest.set, nearest.query);
  scan->custom_private =
      put_number(put_number(put_number(NIL, static_cast<int>(nearest.index)), nearest.column), nearest.wanted);
  return &scan->scan.plan;
}

const CustomPathMethods kPathMethods = {kNodeName, plan_node, nullptr};

void add_paths(PlannerInfo* root, RelOptInfo* rel, Index relid, RangeTblEntry* entry) {
  if (next_pathlist_hook != nullptr) next_pathlist_hook(root, rel, relid, entry);
  add_nearest_paths(root, rel, entry, &kPathMethods);
}

// ---- execution

/// The ways to the next row, in the order in which they are gone.
enum class Source {
  kClosed,
  kIndex,     // the rows in the lists of the index
  kCompared,  // in place of the lists: the nearest of all rows, which are compared one after the other
  kEqual,     // for the empty query: rows with an empty set
  kDisjoint,  // the rows that share no element with the query
  kNull,      // those whose set is NULL
  kAll,       // for a query that is NULL
  kEnd
};

/// The engine's side of one scan.
struct NearestWork {
  NearestWork() : meter(memory_limit_bytes(), session_memory()), returned(meter) {}

  MemoryMeter meter;
  std::optional<NearestSearch> search;
  // Rows that were returned, all with the Jaccard index `last`: what must not be returned again if all rows are compared.
  GrowingBuffer<uint64_t> returned;
  double last = 2;
  std::optional<BestK<NearSet>> best;  // of a comparison of all rows
  size_t best_returned = 0;
  uint64_t best_wanted = kFirstBest;
};

struct NearestScan {
  CustomScanState base;  // first member: the server sees this
  Oid index_id;
  int index_column;
  int wanted;             // rows that the query will probably take; 0: unknown
  AttrNumber set_column;  // of the table, or 0: the set is an expression
  ExprState* set_expression;
  ExprState* query_expression;
  ExprContext* values;  // of one row
  Relation index;       // nullptr for EXPLAIN without ANALYZE
  TupleTableSlot* tuple;
  MemoryContext context;  // of one scan

  // of one scan
  Source source;
  SetView query;
  int64* elements;  // [cardinality of the query] rarest first
  NearestWork* work;
  GinState* postings;  // to read lists page by page; nullptr: the server scans the index
  IndexScanDesc lists;
  IndexFetchTableData* fetch;
  TableScanDesc rows;
  bool null_seen;  // a row whose set is NULL
  // for EXPLAIN ANALYZE: sums of all scans
  uint64 scans, elements_asked, lists_read, sets_compared, table_scans;
  bool compared_all;
};

NearestScan* state_of(CustomScanState* node) { return reinterpret_cast<NearestScan*>(node); }

Relation table_of(const NearestScan* state) { return state->base.ss.ss_currentRelation; }
Snapshot snapshot_of(const NearestScan* state) { return state->base.ss.ps.state->es_snapshot; }

uint64_t id_of(const ItemPointerData& row) {
  return static_cast<uint64_t>(ItemPointerGetBlockNumberNoCheck(&row)) << 16 | ItemPointerGetOffsetNumberNoCheck(&row);
}

ItemPointerData row_of(uint64_t id) {
  ItemPointerData row;
  ItemPointerSet(&row, static_cast<BlockNumber>(id >> 16), static_cast<OffsetNumber>(id & 0xffff));
  return row;
}

void begin_scan(CustomScanState* node, EState* estate, int flags) {
  NearestScan* const state = state_of(node);
  const auto* const scan = castNode(CustomScan, node->ss.ps.plan);
  PlanNumbers numbers(scan->custom_private);
  state->index_id = static_cast<Oid>(numbers.next());
  state->index_column = numbers.next();
  state->wanted = numbers.next();
  if ((flags & EXEC_FLAG_EXPLAIN_ONLY) != 0) return;
  auto* const set = static_cast<Expr*>(linitial(scan->custom_exprs));
  if (IsA(set, Var) && castNode(Var, set)->varattno > 0) state->set_column = castNode(Var, set)->varattno;
  state->set_expression = ExecInitExpr(set, &node->ss.ps);
  state->query_expression = ExecInitExpr(static_cast<Expr*>(lsecond(scan->custom_exprs)), &node->ss.ps);
  state->values = CreateExprContext(estate);
  state->index = index_open(state->index_id, exec_rt_fetch(scan->scan.scanrelid, estate)->rellockmode);
  state->tuple = table_slot_create(table_of(state), &estate->es_tupleTable);
  state->context = AllocSetContextCreate(estate->es_query_cxt, "batmap nearest", ALLOCSET_DEFAULT_SIZES);
}

/// Puts the fetched row where the plan looks for it.
TupleTableSlot* show_row(NearestScan* state) {
  TupleTableSlot* const slot = ExecClearTuple(state->base.ss.ss_ScanTupleSlot);
  slot_getallattrs(state->tuple);
  const auto columns = static_cast<size_t>(slot->tts_tupleDescriptor->natts);
  std::copy_n(state->tuple->tts_values, columns, slot->tts_values);
  std::copy_n(state->tuple->tts_isnull, columns, slot->tts_isnull);
  ExecStoreVirtualTuple(slot);
  slot->tts_tid = state->tuple->tts_tid;
  slot->tts_tableOid = state->tuple->tts_tableOid;
  return slot;
}

/// Compares the fetched row with the query. @return its Jaccard index; nothing if its set is NULL
std::optional<double> compare_row(NearestScan* state) {
  CHECK_FOR_INTERRUPTS();
  ResetExprContext(state->values);
  bool is_null;
  Datum value;
  if (state->set_column > 0) {
    value = slot_getattr(state->tuple, state->set_column, &is_null);
  } else {
    state->values->ecxt_scantuple = show_row(state);
    value = ExecEvalExprSwitchContext(state->set_expression, state->values, &is_null);
  }
  if (is_null) return std::nullopt;
  const MemoryContext caller = MemoryContextSwitchTo(state->values->ecxt_per_tuple_memory);
  const SetView set = set_of_datum(value);
  const uint64_t both =
      guarded([&] { return and_cardinality(state->query, set, selected_set_kernel(), backend_cancel_token()); });
  MemoryContextSwitchTo(caller);
  const uint64_t either = state->query.cardinality() + set.cardinality() - both;
  return either == 0 ? 1.0 : static_cast<double>(both) / static_cast<double>(either);
}

// ---- the rows in the lists of the index

/// What ANALYZE knows of the elements of the indexed column. In the current context.
ElementStatistics index_statistics(const NearestScan* state) {
  const AttrNumber column = state->index->rd_index->indkey.values[state->index_column - 1];
  const Oid relation = column > 0 ? RelationGetRelid(table_of(state)) : state->index_id;
  VariableStatData variable{};
  // The frequencies only decide which list is read first.
  variable.acl_ok = true;
  variable.statsTuple =
      SearchSysCache3(STATRELATTINH, ObjectIdGetDatum(relation),
                      Int16GetDatum(column > 0 ? column : static_cast<int16>(state->index_column)), BoolGetDatum(false));
  const ElementStatistics s = element_statistics(&variable, InvalidOid);
  if (HeapTupleIsValid(variable.statsTuple)) ReleaseSysCache(variable.statsTuple);
  return s;
}

void open_index(NearestScan* state) {
  struct Element {
    int64 value;
    double length;
  };
  SetWork* const decoded = open_work();
  guarded([&] { decode(state->query, decoded->elements, decoded->options); });
  const size_t count = decoded->elements.size();
  auto* const elements = static_cast<Element*>(palloc(sizeof(Element) * count));
  auto* const lengths = static_cast<double*>(palloc(sizeof(double) * count));
  state->elements = static_cast<int64*>(palloc(sizeof(int64) * count));
  const ElementStatistics s = index_statistics(state);
  const double rows = std::max<double>(table_of(state)->rd_rel->reltuples, 0);
  for (size_t k = 0; k < count; ++k) {
    const auto value = static_cast<int64>(decoded->elements[k]);
    elements[k] = {value, s.known ? s.frequency(value) * rows : 0};
  }
  close_work(decoded);
  std::stable_sort(elements, elements + count, [](const Element& x, const Element& y) { return x.length < y.length; });
  for (size_t k = 0; k < count; ++k) {
    state->elements[k] = elements[k].value;
    lengths[k] = elements[k].length;
  }
  guarded([&] {
    state->work->search.emplace(state->work->meter, std::span<const double>(lengths, count), rows,
                                static_cast<uint64_t>(state->wanted), run_work_bytes());
  });
  if (can_read_postings(state->index)) {
    state->postings = static_cast<GinState*>(palloc(sizeof(GinState)));
    initGinState(state->postings, state->index);
  } else {
    state->lists = begin_bitmap_scan(state->index, snapshot_of(state));
  }
  state->fetch = begin_index_fetch(table_of(state));
  state->elements_asked += count;
}

void find_postings(void* arg, const ItemPointerData* rows, int count) {
  auto& search = *static_cast<NearestSearch*>(arg);
  std::array<uint64_t, 1024> ids;
  for (int begin = 0; begin < count; begin += static_cast<int>(ids.size())) {
    const size_t part = std::min(ids.size(), static_cast<size_t>(count - begin));
    std::transform(rows + begin, rows + begin + part, ids.begin(), id_of);
    guarded([&] { search.found({ids.data(), part}); });
  }
}

/// Reads the list of an element. @return false: the list is too long for work_mem
bool read_list(NearestScan* state, NearestSearch& search) {
  ++state->lists_read;
  if (state->postings != nullptr) {
    read_postings(state->postings, state->index_column, Int64GetDatum(state->elements[search.list()]), snapshot_of(state),
                  find_postings, &search);
    return true;
  }
  ScanKeyData key;
  ScanKeyEntryInitialize(&key, 0, static_cast<AttrNumber>(state->index_column), kContainsElement, INT8OID, InvalidOid,
                         F_INT8EQ, Int64GetDatum(state->elements[search.list()]));
  index_rescan(state->lists, &key, 1, nullptr, 0);
  TIDBitmap* const rows = tbm_create(work_mem * Size{1024}, nullptr);
  index_getbitmap(state->lists, rows);
  const bool is_exact = for_each_page(rows, [&](BlockNumber block, const OffsetNumber* offsets, int count) {
    CHECK_FOR_INTERRUPTS();
    std::array<uint64_t, MaxHeapTuplesPerPage> ids;
    std::transform(offsets, offsets + count, ids.begin(),
                   [&](OffsetNumber offset) { return static_cast<uint64_t>(block) << 16 | offset; });
    guarded([&] { search.found({ids.data(), static_cast<size_t>(count)}); });
  });
  tbm_free(rows);
  return is_exact;
}

void compare_candidates(NearestScan* state, NearestSearch& search) {
  for (const uint64_t id : search.candidates()) {
    ItemPointerData row = row_of(id);
    bool again = false;
    if (!table_index_fetch_tuple(state->fetch, &row, snapshot_of(state), state->tuple, &again, nullptr)) continue;
    const std::optional<double> jaccard = compare_row(state);
    ++state->sets_compared;
    if (!jaccard || *jaccard == 0) continue;  // not so in an index that is in order; the other sources would return it
    const uint64_t version = id_of(state->tuple->tts_tid);
    guarded([&] { search.compared({version, *jaccard}); });
  }
}

/// A row that is returned.
void fetch_row(NearestScan* state, const NearSet& near) {
  NearestWork& work = *state->work;
  guarded([&] {
    if (near.jaccard != work.last) work.returned.shrink(0);
    work.last = near.jaccard;
    work.returned.push_back(near.id);
  });
  ItemPointerData row = row_of(near.id);
  if (!table_tuple_fetch_row_version(table_of(state), &row, snapshot_of(state), state->tuple))
    elog(ERROR, "row %u/%u is not there", ItemPointerGetBlockNumber(&row), ItemPointerGetOffsetNumber(&row));
}

/// @return false: the source has changed
bool next_of_index(NearestScan* state) {
  NearestSearch& search = *state->work->search;
  for (;;) {
    switch (guarded([&] { return search.next(backend_cancel_token()); })) {
      case NearestSearch::Step::kRead:
        if (read_list(state, search)) break;
        state->source = Source::kCompared;
        return false;
      case NearestSearch::Step::kCompare: compare_candidates(state, search); break;
      case NearestSearch::Step::kGiveUp: state->source = Source::kCompared; return false;
      case NearestSearch::Step::kEnd: state->source = Source::kDisjoint; return false;
      case NearestSearch::Step::kRow: fetch_row(state, search.row()); return true;
    }
  }
}

// ---- the rows of the table

void open_table(NearestScan* state) {
  state->rows = begin_table_scan(table_of(state), snapshot_of(state));
  ++state->table_scans;
}

void close_table(NearestScan* state) {
  if (state->rows != nullptr) table_endscan(state->rows);
  state->rows = nullptr;
}

/// Compares all rows. Keeps the nearest of those that were not returned.
void compare_all(NearestScan* state) {
  NearestWork& work = *state->work;
  state->compared_all = true;
  guarded([&] {
    work.search.reset();
    work.best.emplace(work.meter, work.best_wanted);
    work.best_returned = 0;
    std::sort(work.returned.begin(), work.returned.end(), polled(backend_cancel_token(), std::less<>()));
  });
  open_table(state);
  while (table_scan_getnextslot(state->rows, ForwardScanDirection, state->tuple)) {
    const std::optional<double> jaccard = compare_row(state);
    if (!jaccard || *jaccard == 0 || *jaccard > work.last) continue;
    const NearSet near{id_of(state->tuple->tts_tid), *jaccard};
    if (near.jaccard == work.last && std::binary_search(work.returned.begin(), work.returned.end(), near.id)) continue;
    guarded([&] { work.best->offer(near, is_nearer); });
  }
  close_table(state);
  guarded([&] { work.best->sort(backend_cancel_token(), is_nearer); });
  const uint64_t most = std::max<uint64_t>(run_work_bytes() / sizeof(NearSet), kFirstBest);
  work.best_wanted = std::min(work.best_wanted * kBestGrowth, most);
}

/// @return false: the source has changed
bool next_of_compared(NearestScan* state) {
  NearestWork& work = *state->work;
  if (!work.best || (work.best_returned == work.best->size() && work.best->is_full())) compare_all(state);
  if (work.best_returned == work.best->size()) {
    state->source = Source::kDisjoint;
    return false;
  }
  fetch_row(state, work.best->entries()[work.best_returned++]);
  return true;
}

Source source_after(const NearestScan* state) {
  if (state->source == Source::kEqual) return Source::kDisjoint;
  return state->source == Source::kDisjoint && state->null_seen ? Source::kNull : Source::kEnd;
}

/// The next row of the table that is one of the source.
bool next_of_table(NearestScan* state) {
  if (state->rows == nullptr) open_table(state);
  while (table_scan_getnextslot(state->rows, ForwardScanDirection, state->tuple)) {
    if (state->source == Source::kAll) return true;
    const std::optional<double> jaccard = compare_row(state);
    state->null_seen |= !jaccard;
    if (state->source == Source::kNull ? !jaccard : jaccard == (state->source == Source::kEqual ? 1.0 : 0.0)) return true;
  }
  close_table(state);
  state->source = source_after(state);
  return false;
}

// ---- the node

void open_scan(NearestScan* state) {
  ++state->scans;
  const MemoryContext caller = MemoryContextSwitchTo(state->context);
  bool is_null;
  ResetExprContext(state->values);
  const Datum query = ExecEvalExpr(state->query_expression, state->values, &is_null);
  if (is_null) {
    state->source = Source::kAll;
  } else {
    // The value may belong to a row that others will replace.
    state->query = set_of_datum(datumCopy(PointerGetDatum(PG_DETOAST_DATUM_PACKED(query)), false, -1));
    state->work = ContextOwned<NearestWork>::reserve(state->context)->emplace();
    if (state->query.empty()) {
      state->source = Source::kEqual;
    } else if (state->query.cardinality() > static_cast<uint64_t>(kMaxQueryKeys) || GinFuzzySearchLimit > 0) {
      state->source = Source::kCompared;
    } else {
      state->source = Source::kIndex;
      open_index(state);
    }
  }
  MemoryContextSwitchTo(caller);
}

TupleTableSlot* next_row(ScanState* node) {
  NearestScan* const state = state_of(reinterpret_cast<CustomScanState*>(node));
  const MemoryContext caller = MemoryContextSwitchTo(state->context);
  bool is_there = false;
  while (!is_there && state->source != Source::kEnd) {
    switch (state->source) {
      case Source::kClosed: open_scan(state); break;
      case Source::kIndex: is_there = next_of_index(state); break;
      case Source::kCompared: is_there = next_of_compared(state); break;
      default: is_there = next_of_table(state); break;
    }
  }
  MemoryContextSwitchTo(caller);
  return is_there ? show_row(state) : ExecClearTuple(node->ss_ScanTupleSlot);
}

/// The rows have no condition of their own: any version of a row may take the place of another.
bool recheck_row(ScanState*, TupleTableSlot*) { return true; }

TupleTableSlot* exec_scan(CustomScanState* node) { return ExecScan(&node->ss, next_row, recheck_row); }

void close_scan(NearestScan* state) {
  close_table(state);
  if (state->lists != nullptr) index_endscan(state->lists);
  if (state->fetch != nullptr) table_index_fetch_end(state->fetch);
  if (state->tuple != nullptr) ExecClearTuple(state->tuple);
  state->lists = nullptr;
  state->postings = nullptr;
  state->fetch = nullptr;
  state->work = nullptr;
  state->null_seen = false;
  state->source = Source::kClosed;
  if (state->context != nullptr) MemoryContextReset(state->context);
}

void end_scan(CustomScanState* node) {
  NearestScan* const state = state_of(node);
  // The row that was shown last points into the page of the fetched one.
  ExecClearTuple(node->ss.ss_ScanTupleSlot);
  close_scan(state);
  if (state->index != nullptr) index_close(state->index, NoLock);
}

void rescan(CustomScanState* node) {
  ExecClearTuple(node->ss.ss_ScanTupleSlot);
  close_scan(state_of(node));
  ExecScanReScan(&node->ss);
}

// ---- EXPLAIN

void explain_scan(CustomScanState* node, List* ancestors, ExplainState* es) {
  const NearestScan* const state = state_of(node);
  const auto* const scan = castNode(CustomScan, node->ss.ps.plan);
  List* const names = set_deparse_context_plan(es->deparse_cxt, node->ss.ps.plan, ancestors);
  const bool qualified = es->verbose || list_length(es->rtable) > 1;
  char* const set = deparse_expression(static_cast<Node*>(linitial(scan->custom_exprs)), names, qualified, false);
  char* const query = deparse_expression(static_cast<Node*>(lsecond(scan->custom_exprs)), names, qualified, false);
  ExplainPropertyText("Index", get_rel_name(state->index_id), es);
  ExplainPropertyText("Order By", psprintf("%s <%%> %s", set, query), es);
  if (!es->analyze || state->scans == 0) return;
  ExplainPropertyInteger("Elements", nullptr, static_cast<int64>(state->elements_asked), es);
  ExplainPropertyInteger("Elements Read", nullptr, static_cast<int64>(state->lists_read), es);
  ExplainPropertyInteger("Sets Compared", nullptr, static_cast<int64>(state->sets_compared), es);
  if (state->table_scans > 0) ExplainPropertyInteger("Table Scans", nullptr, static_cast<int64>(state->table_scans), es);
  if (state->compared_all) ExplainPropertyText("Answered By", "comparing all rows", es);
}

const CustomExecMethods kExecMethods = node_methods(kNodeName, begin_scan, exec_scan, end_scan, rescan, explain_scan);
const CustomScanMethods kScanMethods = {kNodeName, create_node_state<NearestScan, &kExecMethods>};

const CustomScanMethods* scan_methods() { return &kScanMethods; }

}  // namespace

void install_nearest_node() {
  RegisterCustomScanMethods(&kScanMethods);
  next_pathlist_hook = set_rel_pathlist_hook;
  set_rel_pathlist_hook = add_paths;
}

}  // namespace batmap::pg
