// Looks up the running aggregate in the catalog. See own_aggregate.h.
#include "extension/server/own_aggregate.h"

#include <initializer_list>

#include "extension/server/own_function.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

// fn_extra points to one of these.
const char kOwn = 0;
const char kForeign = 0;

/// Whether all functions of an aggregate come from one library. Only a superuser can create functions
/// of a library.
bool is_of_library(Oid aggregate, const char* library) {
  const HeapTuple tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(aggregate));
  if (!HeapTupleIsValid(tuple)) return false;
  const auto* const form = reinterpret_cast<Form_pg_aggregate>(GETSTRUCT(tuple));
  bool all = true;
  for (const Oid function : {form->aggtransfn, form->aggfinalfn, form->aggcombinefn, form->aggserialfn, form->aggdeserialfn,
                             form->aggmtransfn, form->aggminvtransfn, form->aggmfinalfn}) {
    if (!OidIsValid(function)) continue;
    const char* const its = library_of(function);
    all &= its != nullptr && strcmp(its, library) == 0;
  }
  ReleaseSysCache(tuple);
  return all;
}

/// Whether an aggregate uses `function` as a transition.
bool has_transition(Oid aggregate, Oid function) {
  const HeapTuple tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(aggregate));
  if (!HeapTupleIsValid(tuple)) return true;
  const auto* const form = reinterpret_cast<Form_pg_aggregate>(GETSTRUCT(tuple));
  const bool has = form->aggtransfn == function || form->aggmtransfn == function || form->aggminvtransfn == function;
  ReleaseSysCache(tuple);
  return has;
}

bool is_own(FunctionCallInfo fcinfo) {
  const Oid function = fcinfo->flinfo->fn_oid;
  const char* const library = library_of(function);
  if (library == nullptr) return false;
  if (IsA(fcinfo->context, AggState)) {
    const Aggref* const aggregate = AggGetAggref(fcinfo);
    return aggregate != nullptr && is_of_library(aggregate->aggfnoid, library);
  }
  // A WindowAgg does not tell which of its functions it runs. All candidates must be our own.
  if (!IsA(fcinfo->context, WindowAggState)) return false;
  const ListCell* cell;
  foreach (cell, reinterpret_cast<const WindowAggState*>(fcinfo->context)->funcs) {
    const WindowFunc* const call = static_cast<const WindowFuncExprState*>(lfirst(cell))->wfunc;
    if (call->winagg && has_transition(call->winfnoid, function) && !is_of_library(call->winfnoid, library)) return false;
  }
  return true;
}

}  // namespace

bool runs_for_own_aggregate(FunctionCallInfo fcinfo) {
  FmgrInfo* const function = fcinfo->flinfo;
  if (function == nullptr || AggCheckCallContext(fcinfo, nullptr) == 0) return false;
  if (function->fn_extra == nullptr) function->fn_extra = const_cast<char*>(is_own(fcinfo) ? &kOwn : &kForeign);
  return function->fn_extra == &kOwn;
}

}  // namespace batmap::pg
