// Tells the server about a plan node: its functions, and how to make its state.
#pragma once

#include "extension/server/pg.h"

namespace batmap::pg {

inline CustomExecMethods node_methods(const char* name, decltype(CustomExecMethods::BeginCustomScan) begin,
                                      decltype(CustomExecMethods::ExecCustomScan) next_row,
                                      decltype(CustomExecMethods::EndCustomScan) end,
                                      decltype(CustomExecMethods::ReScanCustomScan) rescan,
                                      decltype(CustomExecMethods::ExplainCustomScan) explain = nullptr) {
  CustomExecMethods methods{};
  methods.CustomName = name;
  methods.BeginCustomScan = begin;
  methods.ExecCustomScan = next_row;
  methods.EndCustomScan = end;
  methods.ReScanCustomScan = rescan;
  methods.ExplainCustomScan = explain;
  return methods;
}

/// Makes a State: zero except for the members that the server reads. Its first member
/// is `CustomScanState base`.
template <typename State, const CustomExecMethods* methods>
Node* create_node_state(CustomScan*) {
  auto* const state = static_cast<State*>(palloc0(sizeof(State)));
  state->base.ss.ps.type = T_CustomScanState;
  state->base.methods = methods;
  return reinterpret_cast<Node*>(state);
}

/// The rows of next_row() that pass the conditions of the node, as the plan above wants them. Not for a node that scans a table.
/// ExecScan() is not used: while the server checks a row again that another transaction has changed, some of its versions expect
/// the row of such a node to be in the slot, and ask for none.
template <TupleTableSlot* (*next_row)(ScanState*)>
TupleTableSlot* scan_rows(CustomScanState* node) {
  ScanState& scan = node->ss;
  ExprContext* const context = scan.ps.ps_ExprContext;
  for (;;) {
    CHECK_FOR_INTERRUPTS();
    ResetExprContext(context);
    TupleTableSlot* const row = next_row(&scan);
    if (TupIsNull(row)) return scan.ps.ps_ProjInfo == nullptr ? row : ExecClearTuple(scan.ps.ps_ResultTupleSlot);
    context->ecxt_scantuple = row;
    if (scan.ps.qual == nullptr || ExecQual(scan.ps.qual, context))
      return scan.ps.ps_ProjInfo == nullptr ? row : ExecProject(scan.ps.ps_ProjInfo);
    InstrCountFiltered1(&scan.ps, 1);
  }
}

}  // namespace batmap::pg
