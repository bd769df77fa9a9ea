// The differences between the major versions 15 to 19 of the server. Each one has a name here, so that no
// other file tests the version, except pg.h, which includes this file, for names of headers.
#pragma once

static_assert(PG_VERSION_NUM >= 150000 && PG_VERSION_NUM < 200000, "batmap knows PostgreSQL 15 to 19");

namespace batmap::pg {

/// A callback of expression_tree_walker() and its kin, which take it without parameters up to version 15, in any form since.
template <typename Tree, typename Context>
auto walker(bool (*visit)(Tree*, Context*)) {
  return reinterpret_cast<bool (*)()>(reinterpret_cast<void*>(visit));
}

inline AclResult may_execute(Oid function) {
#if PG_VERSION_NUM >= 160000
  return object_aclcheck(ProcedureRelationId, function, GetUserId(), ACL_EXECUTE);
#else
  return pg_proc_aclcheck(function, GetUserId(), ACL_EXECUTE);
#endif
}

inline bool owns_relation(Oid relation) {
#if PG_VERSION_NUM >= 160000
  return object_ownercheck(RelationRelationId, relation, GetUserId());
#else
  return pg_class_ownercheck(relation, GetUserId());
#endif
}

/// May the user read all columns of a relation, one of them, or any?
inline bool may_select(Oid relation) { return pg_class_aclcheck(relation, GetUserId(), ACL_SELECT) == ACLCHECK_OK; }
inline bool may_select_column(Oid relation, AttrNumber column) {
  return pg_attribute_aclcheck(relation, column, GetUserId(), ACL_SELECT) == ACLCHECK_OK;
}
inline bool may_select_any_column(Oid relation) {
  return pg_attribute_aclcheck_all(relation, GetUserId(), ACL_SELECT, ACLMASK_ANY) == ACLCHECK_OK;
}

/// May the user read all relations of a plan? @param raises  the error of the server if not
inline bool may_read(const PlannedStmt* plan, bool raises = false) {
#if PG_VERSION_NUM >= 160000
  return ExecCheckPermissions(plan->rtable, plan->permInfos, raises);
#else
  return ExecCheckRTPerms(plan->rtable, raises);
#endif
}

/// The role whose rights apply when a table of a query is read; InvalidOid: the current user.
inline Oid checked_user(PlannerInfo* root, const RangeTblEntry* table) {
#if PG_VERSION_NUM >= 160000
  if (table->perminfoindex == 0) return InvalidOid;
  return getRTEPermissionInfo(root->parse->rteperminfos, const_cast<RangeTblEntry*>(table))->checkAsUser;
#else
  (void)root;
  return table->checkAsUser;
#endif
}

/// A path that reads a path of a subquery.
inline Path* subquery_scan_path(PlannerInfo* root, RelOptInfo* subquery, Path* path) {
#if PG_VERSION_NUM >= 160000
  return &create_subqueryscan_path(root, subquery, path, false, NIL, nullptr)->path;
#else
  return &create_subqueryscan_path(root, subquery, path, NIL, nullptr)->path;
#endif
}

/// Does the snapshot in force see what a transaction has defined? An older snapshot may see rows for which it does not hold.
inline bool is_seen(TransactionId defined) {
  return !ActiveSnapshotSet() || TransactionIdIsCurrentTransactionId(defined) ||
         !XidInMVCCSnapshot(defined, GetActiveSnapshot());
}

/// Is a column of a plain table known to have no NULL? From version 18 on a constraint may exist without being valid (NOT VALID).
inline bool is_declared_not_null(PlannerInfo* root, const Var* column) {
  const HeapTuple tuple = SearchSysCache2(ATTNUM, ObjectIdGetDatum(planner_rt_fetch(column->varno, root)->relid),
                                          Int16GetDatum(static_cast<int16>(column->varattno)));
  if (!HeapTupleIsValid(tuple)) return false;
  bool not_null = reinterpret_cast<Form_pg_attribute>(GETSTRUCT(tuple))->attnotnull;
  const TransactionId changed = HeapTupleHeaderGetXmin(tuple->t_data);
  ReleaseSysCache(tuple);
#if PG_VERSION_NUM >= 180000
  const RelOptInfo* const table = root->simple_rel_array[column->varno];
  not_null = not_null && table != nullptr && bms_is_member(column->varattno, table->notnullattnums);
#endif
  return not_null && is_seen(changed);
}

/// The number of nodes of a path that settings disable. Before version 18 a disabled node has a very
/// high cost instead.
inline int disabled_nodes(const Path* path) {
#if PG_VERSION_NUM >= 180000
  return path->disabled_nodes;
#else
  (void)path;
  return 0;
#endif
}

inline void set_disabled_nodes(Path* path, int nodes) {
#if PG_VERSION_NUM >= 180000
  path->disabled_nodes = nodes;
#else
  (void)path;
  (void)nodes;
#endif
}

/// @param handicap  added to the cost of b
inline bool is_cheaper(const Path* a, const Path* b, Cost handicap = 0) {
  if (disabled_nodes(a) != disabled_nodes(b)) return disabled_nodes(a) < disabled_nodes(b);
  return a->total_cost < b->total_cost + handicap;
}

/// Will CHECK_FOR_INTERRUPTS() end the statement? This may be asked where that macro must not be called.
inline bool is_to_end() {
  if (!InterruptPending) return false;
  if (QueryCancelPending || ProcDiePending) return true;
#if PG_VERSION_NUM >= 170000
  if (TransactionTimeoutPending) return true;
#endif
#if PG_VERSION_NUM >= 190000
  // On a standby: the conflicts that end a statement. With the others the server only looks for deadlocks and pins.
  constexpr uint32 kEnding = 1u << RECOVERY_CONFLICT_DATABASE | 1u << RECOVERY_CONFLICT_TABLESPACE |
                             1u << RECOVERY_CONFLICT_LOCK | 1u << RECOVERY_CONFLICT_SNAPSHOT |
                             1u << RECOVERY_CONFLICT_LOGICALSLOT;
  return MyProc != nullptr && (pg_atomic_read_u32(&MyProc->pendingRecoveryConflicts) & kEnding) != 0;
#elif PG_VERSION_NUM >= 160000
  return MyProc != nullptr && MyProc->recoveryConflictPending;  // on a standby; an earlier version sends a cancel
#else
  return false;
#endif
}

/// The relids of the join of some base relations: from version 16 on outer joins have numbers among them.
inline Relids with_outer_joins(const PlannerInfo* root, Relids base) {
  Relids relids = bms_copy(base);
#if PG_VERSION_NUM >= 160000
  const ListCell* cell;
  foreach (cell, root->join_info_list) {
    const auto* const join = lfirst_node(SpecialJoinInfo, cell);
    // The hands of a join may contain numbers of other outer joins.
    const Relids hands = bms_intersect(bms_union(join->min_lefthand, join->min_righthand), root->all_baserels);
    if (join->ojrelid != 0 && bms_is_subset(hands, base)) relids = bms_add_member(relids, static_cast<int>(join->ojrelid));
  }
#else
  (void)root;
#endif
  return relids;
}

/// Can an outer join of the query make a column NULL?
inline bool is_nullable_by_join(const PlannerInfo* root, const Var* column) {
#if PG_VERSION_NUM >= 160000
  (void)root;
  return !bms_is_empty(column->varnullingrels);
#else
  return bms_is_member(column->varno, root->nullable_baserels);
#endif
}

/// What a query groups by, without what adds nothing.
inline List* group_clause(const PlannerInfo* root) {
#if PG_VERSION_NUM >= 160000
  return root->processed_groupClause;
#else
  return root->parse->groupClause;
#endif
}

inline List* distinct_clause(const PlannerInfo* root) {
#if PG_VERSION_NUM >= 160000
  return root->processed_distinctClause;
#else
  return root->parse->distinctClause;
#endif
}

/// Is a clause one of several forms of the same condition, of which the planner chooses one?
inline bool is_clone(const RestrictInfo* clause) {
#if PG_VERSION_NUM >= 160000
  return clause->has_clone || clause->is_clone;
#else
  (void)clause;
  return false;
#endif
}

/// Does an equivalence hold only for rows that an outer join has not filled with NULLs?
inline bool is_below_outer_join(const EquivalenceClass* equivalence) {
#if PG_VERSION_NUM >= 160000
  (void)equivalence;  // its members say so
  return false;
#else
  return equivalence->ec_below_outer_join;
#endif
}

/// The equalities that an inner join of two relations implies.
inline List* join_equalities(PlannerInfo* root, Relids join, Relids outer, RelOptInfo* inner) {
#if PG_VERSION_NUM >= 160000
  return generate_join_implied_equalities(root, join, outer, inner, nullptr);
#else
  return generate_join_implied_equalities(root, join, outer, inner);
#endif
}

inline int statistics_target(const VacAttrStats* stats) {
#if PG_VERSION_NUM >= 170000
  return stats->attstattarget;
#else
  return stats->attr->attstattarget;
#endif
}

/// The operator families that contain a comparison operator: a list of OperatorFamily.
#if PG_VERSION_NUM >= 180000
using OperatorFamily = OpIndexInterpretation;
inline List* operator_families(Oid comparison) { return get_op_index_interpretation(comparison); }
#else
using OperatorFamily = OpBtreeInterpretation;
inline List* operator_families(Oid comparison) { return get_op_btree_interpretation(comparison); }
#endif

inline PlannedStmt* plan_select(Query* query, const char* text, int options = CURSOR_OPT_PARALLEL_OK) {
#if PG_VERSION_NUM >= 190000
  return pg_plan_query(query, text, options, nullptr, nullptr);
#else
  return pg_plan_query(query, text, options, nullptr);
#endif
}

/// What EXPLAIN does for one query.
inline void explain_one_query(Query* query, int options, IntoClause* into, ExplainState* es, const char* text,
                              ParamListInfo params, QueryEnvironment* environment) {
#if PG_VERSION_NUM >= 170000
  standard_ExplainOneQuery(query, options, into, es, text, params, environment);
#else
  const BufferUsage before = pgBufferUsage;
  instr_time start;
  INSTR_TIME_SET_CURRENT(start);
  PlannedStmt* const plan = pg_plan_query(query, text, options, params);
  instr_time duration;
  INSTR_TIME_SET_CURRENT(duration);
  INSTR_TIME_SUBTRACT(duration, start);
  BufferUsage used{};
  if (es->buffers) BufferUsageAccumDiff(&used, &pgBufferUsage, &before);
  ExplainOnePlan(plan, into, es, text, params, environment, &duration, es->buffers ? &used : nullptr);
#endif
}

/// Runs the query to its last row.
inline void run_executor(QueryDesc* query) {
#if PG_VERSION_NUM >= 180000
  ExecutorRun(query, ForwardScanDirection, 0);
#else
  ExecutorRun(query, ForwardScanDirection, 0, true);
#endif
}

inline MinimalTuple form_minimal_tuple(TupleDesc columns, Datum* values, bool* nulls) {
#if PG_VERSION_NUM >= 180000
  return heap_form_minimal_tuple(columns, values, nulls, 0);
#else
  return heap_form_minimal_tuple(columns, values, nulls);
#endif
}

/// A hash table of virtual tuples that stores a number with each.
inline TupleHashTable numbered_tuples(PlanState* parent, TupleDesc tuples, AttrNumber* columns, Oid* equals,
                                      FmgrInfo* hashes, Oid* collations, MemoryContext context, MemoryContext scratch) {
  constexpr long kBuckets = 1024;
#if PG_VERSION_NUM >= 180000
  return BuildTupleHashTable(parent, tuples, &TTSOpsVirtual, tuples->natts, columns, equals, hashes, collations, kBuckets,
                             sizeof(uintptr_t), context, context, scratch, false);
#else
  return BuildTupleHashTableExt(parent, tuples, tuples->natts, columns, equals, hashes, collations, kBuckets, 0, context,
                                context, scratch, false);
#endif
}

inline uintptr_t tuple_number(TupleHashTable table, TupleHashEntry entry) {
#if PG_VERSION_NUM >= 180000
  return *static_cast<const uintptr_t*>(TupleHashEntryGetAdditional(table, entry));
#else
  (void)table;
  return reinterpret_cast<uintptr_t>(entry->additional);
#endif
}

inline void set_tuple_number(TupleHashTable table, TupleHashEntry entry, uintptr_t number) {
#if PG_VERSION_NUM >= 180000
  *static_cast<uintptr_t*>(TupleHashEntryGetAdditional(table, entry)) = number;
#else
  (void)table;
  entry->additional = reinterpret_cast<void*>(number);
#endif
}

/// Moves a forward sequential scan to its next page and pins this, without a look at the tuples. Checks for
/// interrupts. Versions 17 and 18 read ahead. @return false after the last page
inline bool pin_next_page(HeapScanDesc scan) {
  if (BufferIsValid(scan->rs_cbuf)) ReleaseBuffer(scan->rs_cbuf);
  scan->rs_cbuf = InvalidBuffer;
  CHECK_FOR_INTERRUPTS();
#if PG_VERSION_NUM >= 170000
  scan->rs_dir = ForwardScanDirection;
  scan->rs_cbuf = read_stream_next_buffer(scan->rs_read_stream, nullptr);
  if (BufferIsValid(scan->rs_cbuf)) {
    scan->rs_cblock = BufferGetBlockNumber(scan->rs_cbuf);
    return true;
  }
  scan->rs_prefetch_block = InvalidBlockNumber;
#else
  const Relation table = scan->rs_base.rs_rd;
  auto* const shared = reinterpret_cast<ParallelBlockTableScanDesc>(scan->rs_base.rs_parallel);
  BlockNumber next = InvalidBlockNumber;
  if (!scan->rs_inited) {
    if (scan->rs_nblocks == 0 || scan->rs_numblocks == 0) return false;
    if (shared != nullptr) table_block_parallelscan_startblock_init(table, scan->rs_parallelworkerdata, shared);
    scan->rs_inited = true;
    if (shared == nullptr) next = scan->rs_startblock;
  } else if (shared == nullptr) {
    next = scan->rs_cblock + 1 < scan->rs_nblocks ? scan->rs_cblock + 1 : 0;
    if ((scan->rs_base.rs_flags & SO_ALLOW_SYNC) != 0) ss_report_location(table, next);
    const bool at_limit = scan->rs_numblocks != InvalidBlockNumber && --scan->rs_numblocks == 0;
    if (next == scan->rs_startblock || at_limit) next = InvalidBlockNumber;
  }
  if (shared != nullptr) next = table_block_parallelscan_nextpage(table, scan->rs_parallelworkerdata, shared);
  if (next != InvalidBlockNumber) {
    scan->rs_cbuf = ReadBufferExtended(table, MAIN_FORKNUM, next, RBM_NORMAL, scan->rs_strategy);
    scan->rs_cblock = next;
    return true;
  }
#endif
  scan->rs_cblock = InvalidBlockNumber;
  scan->rs_inited = false;
  return false;
}

/// Raises an error if the page is newer than a snapshot that has become too old (old_snapshot_threshold).
inline void check_snapshot_age(Snapshot snapshot, Relation table, Page page) {
#if PG_VERSION_NUM >= 170000
  (void)snapshot, (void)table, (void)page;
#else
  TestForOldSnapshot(snapshot, table, page);
#endif
}

/// Is an interval infinite? From version 17 on it may be; before, what looks so is a number of months.
/// @return the sign of the infinity; 0: it is finite
inline int infinity_of(const Interval* interval) {
#if PG_VERSION_NUM >= 170000
  return INTERVAL_IS_NOEND(interval) ? 1 : INTERVAL_IS_NOBEGIN(interval) ? -1 : 0;
#else
  (void)interval;
  return 0;
#endif
}

/// The byte type of the base64 functions.
#if PG_VERSION_NUM >= 180000
using Base64Byte = uint8;
#else
using Base64Byte = char;
#endif

/// Starts a sequential scan of the table of a node.
inline TableScanDesc begin_scan(ScanState* node) {
  const Snapshot snapshot = node->ps.state->es_snapshot;
#if PG_VERSION_NUM >= 190000
  return table_beginscan(node->ss_currentRelation, snapshot, 0, nullptr,
                         ScanRelIsReadOnly(node) ? SO_HINT_REL_READ_ONLY : SO_NONE);
#else
  return table_beginscan(node->ss_currentRelation, snapshot, 0, nullptr);
#endif
}

/// Removes dead tuples from the page of a scan, if that pays.
inline void prune_page(HeapScanDesc scan) {
  const Relation table = scan->rs_base.rs_rd;
#if PG_VERSION_NUM >= 190000
  heap_page_prune_opt(table, scan->rs_cbuf, &scan->rs_vmbuffer, (scan->rs_base.rs_flags & SO_HINT_REL_READ_ONLY) != 0);
#else
  heap_page_prune_opt(table, scan->rs_cbuf);
#endif
}

/// Does a unique index of a relation have these columns, and maybe others for which the query fixes a value?
/// @param clauses  RestrictInfo: an expression of the relation equals something. The right operand is the expression.
inline bool has_unique_index_for(PlannerInfo* root, RelOptInfo* relation, List* clauses) {
#if PG_VERSION_NUM >= 190000
  return relation_has_unique_index_for(root, relation, clauses, nullptr);
#else
  return relation_has_unique_index_for(root, relation, clauses, NIL, NIL);
#endif
}

inline void delay_analyze() {
#if PG_VERSION_NUM >= 180000
  vacuum_delay_point(true);
#else
  vacuum_delay_point();
#endif
}

/// Is the order of a path the ascending one?
inline bool is_ascending(const PathKey* order) {
#if PG_VERSION_NUM >= 180000
  return order->pk_cmptype == COMPARE_LT;
#else
  return order->pk_strategy == BTLessStrategyNumber;
#endif
}

/// Is the file of a table one that the current transaction has made, so that TRUNCATE may empty it in place?
inline bool has_new_file(Relation table) {
#if PG_VERSION_NUM >= 160000
  const SubTransactionId changed = table->rd_newRelfilelocatorSubid;
#else
  const SubTransactionId changed = table->rd_newRelfilenodeSubid;
#endif
  return table->rd_createSubid != InvalidSubTransactionId || changed != InvalidSubTransactionId;
}

/// An expression over a partitioned table, over one of its partitions.
inline Node* expression_of_child(PlannerInfo* root, Node* expression, RelOptInfo* child) {
#if PG_VERSION_NUM >= 160000
  return adjust_appendrel_attrs_multilevel(root, expression, child, child->top_parent);
#else
  return adjust_appendrel_attrs_multilevel(root, expression, child->relids, child->top_parent_relids);
#endif
}

/// A scan of an index by one key, to be given with index_rescan().
inline IndexScanDesc begin_bitmap_scan(Relation index, Snapshot snapshot) {
#if PG_VERSION_NUM >= 180000
  return index_beginscan_bitmap(index, snapshot, nullptr, 1);
#else
  return index_beginscan_bitmap(index, snapshot, 1);
#endif
}

/// Calls visit(block, offsets, number of offsets) for the pages of a bitmap, in ascending order.
/// @return false: the bitmap has become too large to know the rows of all pages. The rest was not visited
template <typename Visit>
bool for_each_page(TIDBitmap* rows, Visit visit) {
  bool is_exact = true;
#if PG_VERSION_NUM >= 180000
  TBMPrivateIterator* const pages = tbm_begin_private_iterate(rows);
  TBMIterateResult page;
  OffsetNumber offsets[TBM_MAX_TUPLES_PER_PAGE];
  while (is_exact && tbm_private_iterate(pages, &page)) {
    is_exact = !page.lossy;
    if (is_exact) visit(page.blockno, offsets, tbm_extract_page_tuple(&page, offsets, TBM_MAX_TUPLES_PER_PAGE));
  }
  tbm_end_private_iterate(pages);
#else
  TBMIterator* const pages = tbm_begin_iterate(rows);
  while (const TBMIterateResult* const page = is_exact ? tbm_iterate(pages) : nullptr) {
    is_exact = page->ntuples >= 0;
    if (is_exact) visit(page->blockno, page->offsets, page->ntuples);
  }
  tbm_end_iterate(pages);
#endif
  return is_exact;
}

/// The leaf page of a GIN index on which a key is, or would be: locked and pinned.
inline GinBtreeStack* find_gin_leaf(GinBtree tree, Snapshot snapshot) {
#if PG_VERSION_NUM >= 170000
  (void)snapshot;
  return ginFindLeafPage(tree, true, false);
#else
  return ginFindLeafPage(tree, true, false, snapshot);
#endif
}

/// The leftmost leaf page of a posting tree: locked and pinned.
inline GinBtreeStack* begin_posting_tree(GinBtree tree, Relation index, BlockNumber root, Snapshot snapshot) {
#if PG_VERSION_NUM >= 170000
  (void)snapshot;
  return ginScanBeginPostingTree(tree, index, root);
#else
  return ginScanBeginPostingTree(tree, index, root, snapshot);
#endif
}

/// A scan of a whole table, and the fetching of rows by their tids: outside of a plan of the server.
inline TableScanDesc begin_table_scan(Relation table, Snapshot snapshot) {
#if PG_VERSION_NUM >= 190000
  return table_beginscan(table, snapshot, 0, nullptr, SO_NONE);
#else
  return table_beginscan(table, snapshot, 0, nullptr);
#endif
}
inline IndexFetchTableData* begin_index_fetch(Relation table) {
#if PG_VERSION_NUM >= 190000
  return table_index_fetch_begin(table, SO_NONE);
#else
  return table_index_fetch_begin(table);
#endif
}

/// From now on the process does nothing when the signal comes.
inline void ignore_signal(int number) {
#if PG_VERSION_NUM >= 190000
  pqsignal(number, PG_SIG_IGN);
#else
  pqsignal(number, SIG_IGN);
#endif
}

/// The flag of a background worker that DROP DATABASE and the like end; up to version 17 they wait for it.
#ifdef BGWORKER_INTERRUPTIBLE
inline constexpr int kWorkerThatDropDatabaseEnds = BGWORKER_INTERRUPTIBLE;
#else
inline constexpr int kWorkerThatDropDatabaseEnds = 0;
#endif

inline constexpr bool kHasTransactionTimeout = PG_VERSION_NUM >= 170000;

/// Empties relations that the caller has locked and may truncate. @param replicated  those that are published
inline void truncate_relations(List* relations, List* oids, List* replicated) {
#if PG_VERSION_NUM >= 160000
  ExecuteTruncateGuts(relations, oids, replicated, DROP_RESTRICT, false, false);
#else
  ExecuteTruncateGuts(relations, oids, replicated, DROP_RESTRICT, false);
#endif
}

}  // namespace batmap::pg
