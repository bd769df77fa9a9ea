// Which scans can be read without the executor. See heap_rows.h.
#include "extension/heap_rows.h"

#include "extension/pg.h"

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
  rows.scan = castNode(SeqScanState, node);
  rows.least_columns = 0;
  const Relation table = rows.scan->ss.ss_currentRelation;
  if (table->rd_tableam != GetHeapamTableAmRoutine()) return false;
  ListCell* cell;
  foreach (cell, node->plan->targetlist) {
    const Expr* const value = lfirst_node(TargetEntry, cell)->expr;
    if (!IsA(value, Var)) return false;
    const AttrNumber number = reinterpret_cast<const Var*>(value)->varattno;
    if (!locate(RelationGetDescr(table), number, rows.columns[foreach_current_index(cell)])) return false;
    rows.least_columns = Max(rows.least_columns, number);
  }
  return true;
}

}  // namespace batmap::pg
