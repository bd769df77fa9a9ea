// Decides which scans can be read without the executor. See heap_rows.h.
#include "extension/input/heap_rows.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

/// Finds the offset of a column. @return false unless the column is passed by value and all columns up to it
/// have a fixed length: otherwise a slot, which reads all columns of a tuple in one pass, is better
bool locate(TupleDesc descriptor, AttrNumber number, HeapRows::Column& column) {
  if (number <= 0) return false;  // a system column
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
  if (!IsMVCCSnapshot(node->state->es_snapshot)) return false;  // visibility is then not known page by page
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
    found.min_columns = Max(found.min_columns, number);
  }
  rows = found;
  return true;
}

bool next_heap_page(HeapRows& rows) {
  ScanState& node = rows.scan->ss;
  // As in ExecProcNode: a rescan may have been put off until the next row.
  if (node.ps.chgParam != nullptr) ExecReScan(&node.ps);
  if (node.ss_currentScanDesc == nullptr)  // a parallel scan has one already
    node.ss_currentScanDesc = table_beginscan(node.ss_currentRelation, node.ps.state->es_snapshot, 0, nullptr);
  if (heap_getnext(node.ss_currentScanDesc, ForwardScanDirection) == nullptr) return false;
  // The scan stands at the first tuple of a page and has listed the visible tuples of that page. We tell it
  // that it stands at the last one.
  auto* const scan = reinterpret_cast<HeapScanDesc>(node.ss_currentScanDesc);
  rows.page = BufferGetPage(scan->rs_cbuf);
  rows.next_visible = scan->rs_vistuples + scan->rs_cindex;
  rows.visible_end = scan->rs_vistuples + scan->rs_ntuples;
  scan->rs_cindex = scan->rs_ntuples - 1;
  for (const OffsetNumber* tuple = rows.next_visible + 1; tuple < rows.visible_end; ++tuple)
    pgstat_count_heap_getnext(node.ss_currentRelation);  // heap_getnext has counted the first one
  return true;
}

}  // namespace batmap::pg
