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

}  // namespace batmap::pg
