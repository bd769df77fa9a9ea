// See plain_plan.h.
#include "extension/plan/join/plain_plan.h"

#include "extension/server/settings.h"

#include "extension/server/pg.h"

namespace batmap::pg {

Path* cheapest_plain(const RelOptInfo* output) {
  Path* cheapest = nullptr;
  ListCell* cell;
  foreach (cell, output->pathlist) {
    auto* const path = static_cast<Path*>(lfirst(cell));
    if (path->param_info == nullptr && (cheapest == nullptr || is_cheaper(path, cheapest))) cheapest = path;
  }
  return cheapest;
}

bool gives_columns(const Path* plain, List* columns) {
  if (IsA(plain, ProjectionPath)) plain = castNode(ProjectionPath, const_cast<Path*>(plain))->subpath;
  return IsA(plain, AggPath) || list_difference(columns, plain->pathtarget->exprs) == NIL;
}

void offer_path(RelOptInfo* output, Path* path, Path* plain, JoinProjectQuery& query) {
  if (!is_cheaper(path, plain)) {
    query.refuse(Refusal::kCost);
    return;
  }
  if (!settings.enable_join_project) {
    query.refuse(Refusal::kDisabled);
    return;
  }
  query.refusal = Refusal::kNone;
  // The plain path is part of the new path now, so add_path must not free it.
  output->pathlist = list_delete_ptr(output->pathlist, plain);
  add_path(output, path);
  if (!list_member_ptr(output->pathlist, path)) add_path(output, plain);
}

namespace {

bool check_rights(Node* node, void* context) {
  if (node == nullptr) return false;
  if (IsA(node, Aggref)) {
    const Oid function = castNode(Aggref, node)->aggfnoid;
    const AclResult allowed = may_execute(function);
    if (allowed != ACLCHECK_OK) aclcheck_error(allowed, OBJECT_AGGREGATE, get_func_name(function));
  }
  return expression_tree_walker(node, walker(check_rights), context);
}

}  // namespace

void check_aggregates(const List* targets) { check_rights(reinterpret_cast<Node*>(const_cast<List*>(targets)), nullptr); }

}  // namespace batmap::pg
