// Which scans can be read without the executor. See heap_rows.h.
#include "extension/input/heap_rows.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

/// Where a column lies. @return false for one that is no number, or lies behind a column of variable length: a slot then
/// walks a tuple once for all its columns
bool locate(TupleDesc descriptor, AttrNumber number, HeapRows::Column& column) {
  if (number <= 0) return false;  // of the system
  int offset = 0;
  for (int k = 0; k < number; ++k) {
    const Form_pg_attribute attribute = TupleDescAttr(descriptor, k);
    if (attribute->attlen <= 0) return false;
    offset = static_cast<int>(att_align_nominal(offset, attribute->attalign));
    column = {number, offset, attribute->attlen};
    offset += attribute->attlen;
  }
  return TupleDescAttr(descriptor, number - 1)->attbyval;
}

}  // namespace

bool find_heap_rows(PlanState* node, HeapRows& rows) {
  if (!IsA(node, SeqScanState) || node->qual != nullptr || node->instrument != nullptr) return false;
  if (node->state->es_epq_active != nullptr || list_length(node->plan->targetlist) != 2) return false;
  if (!IsMVCCSnapshot(node->state->es_snapshot)) return false;  // visibility is not looked up page by page
  HeapRows found{};
  found.scan = castNode(SeqScanState, node);
  const Relation table = found.scan->ss.ss_currentRelation;
  if (table->rd_tableam != GetHeapamTableAmRoutine()) return false;
  ListCell* cell;
  foreach (cell, node->plan->targetlist) {
    const Expr* const value = lfirst_node(TargetEntry, cell)->expr;
    if (!IsA(value, Var)) return false;
    const AttrNumber number = reinterpret_cast<const Var*>(value)->varattno;
    if (!locate(RelationGetDescr(table), number, found.columns[foreach_current_index(cell)])) return false;
    found.least_columns = Max(found.least_columns, number);
  }
  rows = found;
  return true;
}

bool next_heap_page(HeapRows& rows) {
  ScanState& node = rows.scan->ss;
  // As ExecProcNode: a rescan may have been left to the next row.
  if (node.ps.chgParam != nullptr) ExecReScan(&node.ps);
  if (node.ss_currentScanDesc == nullptr)  // else it is one of a parallel scan
    node.ss_currentScanDesc = table_beginscan(node.ss_currentRelation, node.ps.state->es_snapshot, 0, nullptr);
  if (heap_getnext(node.ss_currentScanDesc, ForwardScanDirection) == nullptr) return false;
  // The scan stands at the first tuple of a page whose visible ones it has listed. It is told that it stands at the last.
  auto* const scan = reinterpret_cast<HeapScanDesc>(node.ss_currentScanDesc);
  rows.page = BufferGetPage(scan->rs_cbuf);
  rows.next_visible = scan->rs_vistuples + scan->rs_cindex;
  rows.visible_end = scan->rs_vistuples + scan->rs_ntuples;
  scan->rs_cindex = scan->rs_ntuples - 1;
  for (const OffsetNumber* tuple = rows.next_visible + 1; tuple < rows.visible_end; ++tuple)
    pgstat_count_heap_getnext(node.ss_currentRelation);  // the first is counted
  return true;
}

}  // namespace batmap::pg
