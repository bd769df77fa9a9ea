// Recognises what kept counts answer, and reads them. See join_kept.h.
#include "extension/plan/join/join_kept.h"

#include "extension/input/run_costs.h"
#include "extension/kept/kept_access.h"
#include "extension/kept/kept_answer.h"
#include "extension/kept/kept_unlogged.h"
#include "extension/server/equality.h"
#include "extension/server/settings.h"
#include "extension/streams/pair_stream.h"
#include "extension/types/pair_counts_datum.h"
#include "pairs/counts/pair_counts_run.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

// Costs in units of cpu_operator_cost, as in run_costs.h; bench/sql/kept.sh.
constexpr double kStoredBytes = 5;            // of a pair in a chunk; each pair of two ranges is stored twice
constexpr double kStoredPairOperators = 1;    // read a pair, put it into the fresh counts, and read it there
constexpr double kChangedTidOperators = 200;  // look up the current rows of a transaction of the log, and count them twice
constexpr double kLogRowBytes = 40;

/// The column of a base relation that an expression is; 0: none.
AttrNumber column_of(const Node* expression, Index relation) {
  if (!IsA(expression, Var)) return 0;
  const auto* const column = reinterpret_cast<const Var*>(expression);
  const bool is_own = static_cast<Index>(column->varno) == relation && column->varlevelsup == 0;
  return is_own && column->varattno > 0 ? column->varattno : static_cast<AttrNumber>(0);
}

/// Are the conditions on a relation those of the filter, no more and no fewer?
bool is_filtered_by(PlannerInfo* root, const RelOptInfo* rel, const Node* filter, Oid table_owner) {
  List* has = NIL;
  const ListCell* cell;
  foreach (cell, rel->baserestrictinfo) has = lappend(has, lfirst_node(RestrictInfo, cell)->clause);
  List* must = NIL;
  if (filter != nullptr) {
    // As the planner treats the condition of an index; but the functions in it run as the owner of the table.
    auto* condition = static_cast<Node*>(copyObjectImpl(filter));
    AsOwner owner(table_owner);
    condition = eval_const_expressions(root, condition);
    owner.end();
    must = make_ands_implicit(canonicalize_qual(reinterpret_cast<Expr*>(condition), false));
    if (rel->relid != 1) ChangeVarNodes(reinterpret_cast<Node*>(must), 1, static_cast<int>(rel->relid), 0);
  }
  return list_difference(has, must) == NIL && list_difference(must, has) == NIL;
}

/// Does the query count what kept counts say of any table?
bool counts_pairs(const JoinProjectQuery& query, const JoinProjectSpec& spec) {
  if (!query.self_join || query.expansion != nullptr || query.adds_up || query.grouped || query.rows_repeat) return false;
  if (holds_for_equals(query.order) || query.shared.items != NIL) return false;
  const JoinProjectSide& side = query.sides[0];
  return list_length(side.keys) == 1 && list_length(side.items) == 1 && is_own_key(spec.sides[0].item) &&
         side.rel->reloptkind == RELOPT_BASEREL && side.lookup.rel == nullptr && query.sides[1].lookup.rel == nullptr;
}

double pages_of(Oid relation) {
  const Relation open = try_relation_open(relation, AccessShareLock);
  if (open == nullptr) return 0;
  double pages = RelationGetNumberOfBlocks(open);
  const Oid toast = open->rd_rel->reltoastrelid;
  relation_close(open, NoLock);
  if (OidIsValid(toast)) pages += pages_of(toast);
  return pages;
}

Cost reading_cost(const Companions& companions) {
  const double counts_pages = pages_of(companions.counts);
  const double log_pages = pages_of(companions.log);
  const double pairs = counts_pages * BLCKSZ / kStoredBytes;
  const double changed = log_pages * BLCKSZ / kLogRowBytes;
  return (counts_pages + log_pages) * seq_page_cost +
         (kRunOperators + pairs * kStoredPairOperators + changed * kChangedTidOperators) * cpu_operator_cost;
}

using KeptCall = PairRowsCall<PairQuery, PairCountsRun>;

class KeptPairStream final : public PairRowStream<KeptCall> {
 public:
  using PairRowStream::PairRowStream;

  /// @return no stream: memory does not suffice
  JoinProjectRows start(const std::byte* counts) {
    bool enough = false;
    begin("kept counts", pair_counts_header(counts).pairs, [&] {
      enough = fits(true, [&] {
        call().run.emplace(counts, call().query, call().options);
        while (call().run->next(call().batch) && call().batch.empty()) {
        }
        begin_batch();
      });
    });
    return enough ? JoinProjectRows{this, &call().batch} : JoinProjectRows{};
  }
};

}  // namespace

KeptInput kept_input(PlannerInfo* root, const JoinProjectQuery& query, const JoinProjectSpec& spec) {
  if (!settings.enable_kept_counts || !counts_pairs(query, spec)) return {};
  const JoinProjectSide& side = query.sides[0];
  const RangeTblEntry* const entry = planner_rt_fetch(side.rel->relid, root);
  if (entry->rtekind != RTE_RELATION || entry->relkind != RELKIND_RELATION || entry->inh || entry->tablesample != nullptr)
    return {};
  KeptInput input{};
  const Relation table = table_open(entry->relid, NoLock);
  const KeptTable* const kept = kept_table_or_none(table);
  const AttrNumber tid = column_of(static_cast<const Node*>(linitial(side.keys)), side.rel->relid);
  const AttrNumber item = column_of(static_cast<const Node*>(linitial(side.items)), side.rel->relid);
  // What the session remembers of the table may be read anew while a function of the filter runs.
  const Companions companions = kept != nullptr ? kept->companions : Companions();
  const Oid owner = kept != nullptr ? kept->owner : InvalidOid;
  const Node* const filter = kept != nullptr ? static_cast<const Node*>(copyObjectImpl(kept->filter)) : nullptr;
  if (kept != nullptr && kept->tid == tid && kept->item == item && !kept->has_texts &&
      is_own_equality(linitial_oid(query.key_operators), kept->tid_type,
                      TupleDescAttr(RelationGetDescr(table), tid - 1)->attcollation) &&
      is_filtered_by(root, side.rel, filter, owner)) {
    input = {entry->relid, companions.counts, reading_cost(companions)};
  }
  table_close(table, NoLock);
  return input;
}

const char* why_not_kept(Oid oid, const EState* estate) {
  const Relation table = table_open(oid, NoLock);
  const char* why = nullptr;
  // What this query itself has open does not matter: its snapshot is older than what it changes.
  int own = 1;
  for (Index k = 0; k < estate->es_range_table_size; ++k)
    own += estate->es_relations[k] != nullptr && RelationGetRelid(estate->es_relations[k]) == oid;
  if (is_being_changed(table, own) || may_miss_log(estate->es_snapshot))
    why = "a statement that changes the table is not complete";
  if (why == nullptr && kept_table_or_none(table) == nullptr) why = "they are not in order";
  table_close(table, NoLock);
  return why;
}

JoinProjectRows open_kept(JoinProjectInputs& inputs, const JoinProjectBounds& bounds, MemoryContext context,
                          const char*& why) {
  const JoinProjectSpec& spec = inputs.spec;
  const MemoryContext caller = MemoryContextSwitchTo(context);
  struct varlena* const counts =
      kept_counts_or_none(static_cast<Oid>(spec.kept_table), inputs.parent->state->es_snapshot, why);
  MemoryContextSwitchTo(caller);
  if (counts == nullptr) return {};
  auto* const stream = new_stream<KeptPairStream>("join-project", context);
  KeptCall& call = stream->call();
  const JoinProjectSpec::Side& side = spec.sides[0];
  inputs.items[0] = static_cast<KeyEncoder*>(palloc(sizeof(KeyEncoder)));
  *inputs.items[0] = plan_encoder(side.item, side.keys, static_cast<List*>(list_nth(inputs.lists, kLeftItemOperators)), NIL,
                                  false, inputs.parent, ExecGetResultType(inputs.plans[0]), context, call.meter);
  call.query.kernels = selected_kernels();
  call.query.min_count = bounds.min_count;
  call.query.top_k = bounds.best;
  call.query.ties = bounds.best.has_value();
  call.query.supports = false;
  const JoinProjectRows rows = stream->start(counts_bytes(counts));
  if (rows.stream == nullptr) why = "they need too much memory";
  return rows;
}

}  // namespace batmap::pg
