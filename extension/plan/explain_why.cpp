// Notes refusals while a query is planned, and shows them. See explain_why.h.
#include "extension/plan/explain_why.h"

#include "extension/input/inner_estimate.h"
#include "extension/input/inner_query.h"
#include "extension/server/settings.h"

#include "extension/server/pg.h"

using namespace batmap::pg;

namespace batmap::pg {

namespace {

ExplainOneQuery_hook_type next_explain_hook = nullptr;

struct Note {
  char* relations;   // of the block
  char* expression;  // nullptr: the reason is about the whole block
  Refusal refusal;
};

/// The notes of the query that is being planned.
struct Notes {
  const Query* query;        // others are planned while it is planned, and while it runs
  bool is_planning = false;  // it, and no other
  List* blocks = NIL;        // Note
  MemoryContext context;
};

Notes* notes = nullptr;

planner_hook_type next_planner = nullptr;

/// @param more  from version 19 on: the state of EXPLAIN
template <typename... More>
PlannedStmt* plan_as_others(Query* query, const char* text, int options, ParamListInfo params, More... more) {
  return (next_planner != nullptr ? next_planner : standard_planner)(query, text, options, params, more...);
}

template <typename... More>
PlannedStmt* plan_and_note(Query* query, const char* text, int options, ParamListInfo params, More... more) {
  Notes* const now = notes;
  if (now == nullptr) return plan_as_others(query, text, options, params, more...);
  const bool was_planning = now->is_planning;
  PlannedStmt* statement = nullptr;
  PG_TRY();
  {
    // The planner may replace the query by a copy, so this is the place to know it.
    now->is_planning = query == now->query;
    statement = plan_as_others(query, text, options, params, more...);
  }
  PG_FINALLY();
  { now->is_planning = was_planning; }
  PG_END_TRY();
  return statement;
}

/// The library was there before the first statement of the session, or the user has been told that it was not.
bool loading_is_known = false;

/// Says once in a session that the plans of other sessions may be others.
void note_loading() {
  if (loading_is_known) return;
  loading_is_known = true;
  ereport(NOTICE,
          (errmsg("batmap is not preloaded: a session plans without it until the first call of one of its functions"),
           errhint("Set session_preload_libraries = 'batmap' for the database or the role, or shared_preload_libraries.")));
}

char* names_of(const PlannerInfo* root) {
  StringInfoData names;
  initStringInfo(&names);
  for (int k = -1; (k = bms_next_member(root->all_baserels, k)) >= 0;) {
    const RangeTblEntry* const entry = planner_rt_fetch(k, root);
    appendStringInfo(&names, "%s%s", names.len > 0 ? ", " : "", quote_identifier(entry->eref->aliasname));
  }
  return names.data;
}

char* text_of(const PlannerInfo* root, Node* expression) {
  PlannedStmt* const statement = makeNode(PlannedStmt);
  statement->rtable = root->parse->rtable;
  List* const names = select_rtable_names_for_explain(statement->rtable, root->all_baserels);
  return deparse_expression(expression, deparse_context_for_plan_tree(statement, names), true, false);
}

/// Calls `plan`, which plans a query, and returns what became of its blocks: a list of Note.
template <typename Plan>
List* notes_of(const Query* query, Plan plan) {
  Notes* const outer = notes;
  Notes own;
  own.query = query;
  own.context = CurrentMemoryContext;
  PG_TRY();
  {
    notes = &own;
    plan();
  }
  PG_FINALLY();
  { notes = outer; }
  PG_END_TRY();
  return own.blocks;
}

void explain_query(Query* query, int options, IntoClause* into, ExplainState* es, const char* text, ParamListInfo params,
                   QueryEnvironment* environment) {
  const auto explain = [&] {
    if (next_explain_hook != nullptr)
      next_explain_hook(query, options, into, es, text, params, environment);
    else
      explain_one_query(query, options, into, es, text, params, environment);
  };
  if (!settings.explain_why) {
    explain();
    return;
  }
  List* const blocks = notes_of(query, explain);
  ExplainOpenGroup("Plain Plans", nullptr, true, es);
  const ListCell* cell;
  foreach (cell, blocks) {
    const auto* const note = static_cast<const Note*>(lfirst(cell));
    if (note->refusal == Refusal::kNone) continue;
    const RefusalText& why = text_of(note->refusal);
    ExplainPropertyText("Plain Plan",
                        psprintf("%s: %s%s%s%s%s", note->relations, why.reason, note->expression != nullptr ? ": " : "",
                                 note->expression != nullptr ? note->expression : "", why.hint != nullptr ? ". " : "",
                                 why.hint != nullptr ? why.hint : ""),
                        es);
  }
  ExplainCloseGroup("Plain Plans", nullptr, true, es);
}

}  // namespace

void install_explain_why() {
  loading_is_known = debug_query_string == nullptr;  // set from the first statement of a session on
  next_planner = planner_hook;
  planner_hook = plan_and_note;
  next_explain_hook = ExplainOneQuery_hook;
  ExplainOneQuery_hook = explain_query;
}

bool explains_refusals() { return notes != nullptr && !is_estimating(); }

void note_refusal(PlannerInfo* root, Refusal refusal, Node* about) {
  if (!notes->is_planning) return;
  const MemoryContext caller = MemoryContextSwitchTo(notes->context);
  auto* const note = static_cast<Note*>(palloc0(sizeof(Note)));
  note->relations = names_of(root);
  note->expression = about == nullptr ? nullptr : text_of(root, about);
  note->refusal = refusal;
  notes->blocks = lappend(notes->blocks, note);
  MemoryContextSwitchTo(caller);
}

}  // namespace batmap::pg

BATMAP_FUNCTION(batmap_explain_why) {
  note_loading();
  InitMaterializedSRF(fcinfo, 0);
  auto* const result = reinterpret_cast<ReturnSetInfo*>(fcinfo->resultinfo);
  const char* const query = text_to_cstring(PG_GETARG_TEXT_PP(0));
  ErrorContextCallback callback;
  enter_inner_query(callback, query);
  Query* const analyzed = analyze_select({.text = query, .open_params = true}, nullptr);
  List* const blocks = notes_of(analyzed, [&] { may_read(plan_select(analyzed, query), true); });
  leave_inner_query(callback);
  const ListCell* cell;
  foreach (cell, blocks) {
    const auto* const note = static_cast<const Note*>(lfirst(cell));
    const RefusalText& why = text_of(note->refusal);
    const bool taken = note->refusal == Refusal::kNone;
    const bool nulls[] = {false, false, false, note->expression == nullptr, taken, why.hint == nullptr};
    const Datum values[] = {Int32GetDatum(foreach_current_index(cell) + 1),
                            CStringGetTextDatum(note->relations),
                            BoolGetDatum(taken),
                            nulls[3] ? Datum{0} : CStringGetTextDatum(note->expression),
                            CStringGetTextDatum(why.reason),
                            nulls[5] ? Datum{0} : CStringGetTextDatum(why.hint)};
    tuplestore_putvalues(result->setResult, result->setDesc, const_cast<Datum*>(values), const_cast<bool*>(nulls));
  }
  return Datum{0};
}
