// Plans the queries of a call and expects its answers. See planner_support.h.
#include "extension/streams/planner_support.h"

#include <cmath>

#include "extension/input/run_costs.h"

#include "extension/server/pg.h"

using namespace batmap::pg;

namespace batmap::pg {

namespace {

// ---- estimates that the planner asks for several times

/// Lives as long as the planner works on its query.
struct KnownCall {
  PlannerInfo* root;
  Node* call;
  CallEstimate estimate;
  KnownCall* next;
  MemoryContextCallback forget;
};

KnownCall* known_calls = nullptr;

void forget_call(void* arg) {
  for (KnownCall** at = &known_calls; *at != nullptr; at = &(*at)->next) {
    if (*at != arg) continue;
    *at = (*at)->next;
    return;
  }
}

const KnownCall* find_call(const PlannerInfo* root, const Node* call) {
  for (const KnownCall* known = known_calls; known != nullptr; known = known->next)
    if (known->root == root && equal(known->call, call)) return known;
  return nullptr;
}

const KnownCall* keep_call(PlannerInfo* root, const Node* call, const CallEstimate& estimate) {
  const MemoryContext caller = MemoryContextSwitchTo(root->planner_cxt);
  auto* const known = static_cast<KnownCall*>(palloc0(sizeof(KnownCall)));
  known->root = root;
  known->call = static_cast<Node*>(copyObjectImpl(call));
  known->estimate = estimate;
  known->next = known_calls;
  known->forget.func = forget_call;
  known->forget.arg = known;
  MemoryContextRegisterResetCallback(root->planner_cxt, &known->forget);
  known_calls = known;
  MemoryContextSwitchTo(caller);
  return known;
}

// ---- an estimate

/// The value of an expression, as far as the planner knows it. @return nullptr: it is unknown, or NULL
const Const* known_value(PlannerInfo* root, void* expression) {
  auto* node = static_cast<Node*>(expression);
  if (!IsA(node, Const)) node = estimate_expression_value(root, node);
  return IsA(node, Const) && !castNode(Const, node)->constisnull ? castNode(Const, node) : nullptr;
}

bool is_null(const Node* argument) { return IsA(argument, Const) && reinterpret_cast<const Const*>(argument)->constisnull; }

/// The number of arguments that only say the type of items: the first ones of an _of form.
int type_arguments(const FuncExpr* call) {
  Oid* types;
  int count;
  get_func_signature(call->funcid, &types, &count);
  int leading = 0;
  while (leading < count && (types[leading] == ANYELEMENTOID || types[leading] == ANYCOMPATIBLEOID)) ++leading;
  pfree(types);
  return leading;
}

/// Is the input of the call a table or a query, with the names of its columns behind it?
bool names_columns(const FuncExpr* call, const SupportedCall& layout) {
  if (layout.queries != 1) return false;
  const int input = type_arguments(call) + layout.first - 1;
  const auto type = [&](int at) {
    return input + at < list_length(call->args) ? exprType(static_cast<const Node*>(list_nth(call->args, input + at)))
                                                : InvalidOid;
  };
  return (type(0) == REGCLASSOID && type(1) == NAMEOID) ||
         (type(0) == TEXTOID && type(1) == TEXTOID && type(2) == TEXTOID && (type(3) == INT8OID || type(3) == FLOAT8OID));
}

/// The number of the first argument after the input.
int first_after_input(const FuncExpr* call, const SupportedCall& layout) {
  return type_arguments(call) + layout.first + (names_columns(call, layout) ? kTableColumns : 0);
}

struct Attempt {
  PlannerInfo* root;
  const FuncExpr* call;
  const SupportedCall* layout;
  CallEstimate estimate;
};

/// Uses the value of an argument, if it has one. @param index  from the first argument after the input
/// @return false: it is unknown
template <typename Use>
bool know(const PlannedCall& planned, int index, Use use) {
  if (planned.first + index >= list_length(planned.arguments)) return true;
  if (is_null(static_cast<const Node*>(list_nth(planned.arguments, planned.first + index)))) return true;
  const Const* const value = planned.value(index);
  if (value != nullptr) use(value);
  return value != nullptr;
}

/// @param index  of the name of the first column, a name or a text
bool know_columns(const PlannedCall& planned, int index, InnerQuery& query) {
  const auto name = [](const Const* value) {
    return value->consttype == NAMEOID ? NameStr(*DatumGetName(value->constvalue)) : TextDatumGetCString(value->constvalue);
  };
  return know(planned, index, [&](const Const* value) { query.tid_column = name(value); }) &&
         know(planned, index + 1, [&](const Const* value) { query.item_column = name(value); });
}

bool know_params(const PlannedCall& planned, int index, InnerQuery& query) {
  return know(planned, index, [&](const Const* value) { query.params = value->constvalue; });
}

/// Adds the parameters and the names of columns to a query. @return whether they are known
/// @param has_columns  the names are those of its columns
bool know_places(const QueryArguments& places, bool has_columns, const PlannedCall& planned, InnerQuery& query) {
  if (places.params == QueryArguments::kNone) return true;
  return know_params(planned, places.params, query) &&
         (!places.columns || !has_columns || know_columns(planned, places.params - 2, query));
}

/// Plans the reading of a table or a query, whose columns are named behind it. @return whether all this is known
bool plan_named_columns(const SupportedCall& layout, PlannedCall& planned, Cost& cost) {
  const Const* const input = planned.value(-1 - kTableColumns);
  if (input == nullptr) return false;
  const bool is_table = input->consttype == REGCLASSOID;
  InnerQuery query{is_table ? table_query(DatumGetObjectId(input->constvalue))
                            : query_text(DatumGetTextPP(input->constvalue))};
  if (!know_columns(planned, -kTableColumns, query)) return false;
  if (!is_table && layout.places.columns && !know_params(planned, layout.places.begin(), query)) return false;
  if (!estimate_inner_query(query, false, planned.inputs[0])) return false;
  cost += planned.inputs[0].cost;
  return true;
}

/// Plans the queries of a call. @return whether all of them are known
bool plan_queries(const SupportedCall& layout, PlannedCall& planned, Cost& cost) {
  for (int k = 0; k < layout.queries; ++k) {
    void* const argument = list_nth(planned.arguments, planned.first - layout.queries + k);
    if (exprType(static_cast<Node*>(argument)) != TEXTOID) return false;  // a relation
    const Const* const value = known_value(planned.root, argument);
    if (value == nullptr) return false;
    InnerQuery query{query_text(DatumGetTextPP(value->constvalue))};
    if (!know_places(layout.places, k == 0, planned, query)) return false;
    const bool item_first = k == 0 && layout.first_item_first;
    if (!estimate_inner_query(query, item_first, planned.inputs[k])) return false;
    cost += planned.inputs[k].cost;
  }
  return true;
}

void estimate_call(void* arg) {
  auto* const attempt = static_cast<Attempt*>(arg);
  const SupportedCall& layout = *attempt->layout;
  List* const arguments = attempt->call->args;
  auto* const planned = static_cast<PlannedCall*>(palloc0(sizeof(PlannedCall)));
  planned->root = attempt->root;
  planned->arguments = arguments;
  planned->first = first_after_input(attempt->call, layout);
  CallEstimate estimate{};
  if (!(names_columns(attempt->call, layout) ? plan_named_columns(layout, *planned, estimate.cost)
                                             : plan_queries(layout, *planned, estimate.cost)))
    return;
  estimate.has_cost = true;
  bool is_known = layout.expect != nullptr;
  for (int k = 0; k < layout.queries; ++k) is_known &= planned->inputs[k].has_items || !layout.needs_items;
  if (is_known) layout.expect(*planned, estimate);
  attempt->estimate = estimate;
}

const CallEstimate& estimate_of(PlannerInfo* root, const FuncExpr* call, const SupportedCall& layout) {
  const auto* const node = reinterpret_cast<const Node*>(call);
  const KnownCall* known = find_call(root, node);
  if (known != nullptr) return known->estimate;
  Attempt attempt{root, call, &layout, {}};
  const MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "batmap estimate", ALLOCSET_DEFAULT_SIZES);
  const MemoryContext caller = MemoryContextSwitchTo(context);
  succeeds(estimate_call, &attempt);
  MemoryContextSwitchTo(caller);
  MemoryContextDelete(context);
  return keep_call(root, node, attempt.estimate)->estimate;
}

/// Limits the rows by arguments that are constants. @return whether there are such
bool bound_rows(const FuncExpr* call, const SupportedCall& layout, double& rows) {
  const int first = first_after_input(call, layout);
  bool bounded = false;
  for (const int index : {layout.top_k, layout.max_results}) {
    if (index == SupportedCall::kNone) continue;
    const auto* const value = static_cast<const Node*>(list_nth(call->args, first + index));
    if (!IsA(value, Const) || is_null(value)) continue;
    rows = Min(rows, static_cast<double>(DatumGetInt64(reinterpret_cast<const Const*>(value)->constvalue)));
    bounded = true;
  }
  return bounded;
}

}  // namespace

const Const* PlannedCall::value(int index) const { return known_value(root, list_nth(arguments, first + index)); }

double PlannedCall::number(int index, double otherwise) const {
  const Const* const known = value(index);
  if (known == nullptr) return otherwise;
  switch (known->consttype) {
    case INT4OID: return DatumGetInt32(known->constvalue);
    case INT8OID: return static_cast<double>(DatumGetInt64(known->constvalue));
    case FLOAT8OID: return DatumGetFloat8(known->constvalue);
    default: return otherwise;
  }
}

double PlannedCall::min_count(int count_index, int share_index) const {
  return Max(1, Max(number(count_index, 1), std::ceil(number(share_index, 0) * inputs[0].items.transactions)));
}

LengthCounts PlannedCall::itemsets(double min_count, int max_length, double most, CallEstimate& estimate) const {
  const ItemSupports& supports = inputs[0].items;
  const LengthCounts itemsets = expected_itemsets(supports.items(), supports.transactions, min_count, max_length);
  const double bits = kItemsetOperators + supports.transactions / kBitsAnOperator;
  estimate.cost += Min(itemsets.between(1, max_length), most) * bits * cpu_operator_cost;
  return itemsets;
}

double PlannedCall::share_with(int array_index, double items, double length) const {
  const Const* const array = value(array_index);
  if (array == nullptr) return 1;
  const auto* const elements = DatumGetArrayTypeP(array->constvalue);
  const double listed = ArrayGetNItems(ARR_NDIM(elements), ARR_DIMS(elements));
  return items <= listed ? 1 : 1 - std::pow(1 - listed / items, length);
}

bool first_input_is_text(const Node* request) {
  const Node* const node = IsA(request, SupportRequestRows)   ? reinterpret_cast<const SupportRequestRows*>(request)->node
                           : IsA(request, SupportRequestCost) ? reinterpret_cast<const SupportRequestCost*>(request)->node
                                                              : nullptr;
  if (node == nullptr || !IsA(node, FuncExpr)) return false;
  const auto* const call = reinterpret_cast<const FuncExpr*>(node);
  return exprType(static_cast<Node*>(list_nth(call->args, type_arguments(call)))) == TEXTOID;
}

Node* support_call(Node* request, const SupportedCall& layout) {
  const bool asks_rows = IsA(request, SupportRequestRows);
  if (!asks_rows && !IsA(request, SupportRequestCost)) return nullptr;
  auto* const rows = reinterpret_cast<SupportRequestRows*>(request);
  auto* const cost = reinterpret_cast<SupportRequestCost*>(request);
  PlannerInfo* const root = asks_rows ? rows->root : cost->root;
  Node* const node = asks_rows ? rows->node : cost->node;
  if (node == nullptr || !IsA(node, FuncExpr)) return nullptr;
  const auto* const call = castNode(FuncExpr, node);
  const CallEstimate estimate = root != nullptr && layout.queries > 0 ? estimate_of(root, call, layout) : CallEstimate{};
  if (!asks_rows) {
    if (!estimate.has_cost) return nullptr;
    cost->startup = estimate.cost;
    cost->per_tuple = 0;
    return request;
  }
  double expected = estimate.has_rows ? clamp_row_est(estimate.rows) : HUGE_VAL;
  if (!bound_rows(call, layout, expected) && !estimate.has_rows) return nullptr;
  // A limit does not say that there are so many rows. Without an estimate it is the best guess.
  rows->rows = expected;
  return request;
}

}  // namespace batmap::pg

/// Planner support of table functions whose number of rows no argument limits. The query is the first text among the
/// arguments, or a table.
BATMAP_FUNCTION(batmap_stream_support) {
  auto* const request = reinterpret_cast<Node*>(PG_GETARG_POINTER(0));
  if (!IsA(request, SupportRequestCost)) PG_RETURN_POINTER(NULL);
  const auto* const call = reinterpret_cast<const SupportRequestCost*>(request)->node;
  if (call == nullptr || !IsA(call, FuncExpr)) PG_RETURN_POINTER(NULL);
  List* const arguments = reinterpret_cast<const FuncExpr*>(call)->args;
  const int types = type_arguments(reinterpret_cast<const FuncExpr*>(call));
  const ListCell* cell;
  foreach (cell, arguments) {
    const auto* const argument = static_cast<const Node*>(lfirst(cell));
    if (foreach_current_index(cell) < types) continue;
    if ((exprType(argument) != TEXTOID && exprType(argument) != REGCLASSOID) || is_null(argument)) continue;
    const int first = foreach_current_index(cell) + 1 - types;
    PG_RETURN_POINTER(support_call(request, {first, 1, SupportedCall::kNone, SupportedCall::kNone}));
  }
  PG_RETURN_POINTER(NULL);
}
