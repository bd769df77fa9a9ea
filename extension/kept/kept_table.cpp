// Reads the catalog about kept tables. See kept_table.h.
#include "extension/kept/kept_table.h"

#include "extension/input/key_column.h"
#include "extension/kept/kept_companions.h"
#include "extension/server/own_function.h"
#include "extension/server/subtransaction.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

bool has_bad_column(Node* node, void* table) {
  if (node == nullptr) return false;
  if (IsA(node, Var)) {
    const auto* const column = castNode(Var, node);
    return column->varno != 1 || column->varlevelsup != 0 || column->varattno <= 0 ||
           column->varattno > RelationGetDescr(static_cast<Relation>(table))->natts;
  }
  if (IsA(node, SubLink) || IsA(node, Query)) return true;
  return expression_tree_walker(node, walker(has_bad_column), table);
}

/// The column of a view's table that a column of the view is. @return 0 if it is none
AttrNumber table_column(const Query* query, int index, int table_number) {
  const auto* const target = static_cast<const TargetEntry*>(list_nth(query->targetList, index));
  if (!IsA(target->expr, Var)) return 0;
  const auto* const column = castNode(Var, target->expr);
  const bool is_own = static_cast<int>(column->varno) == table_number && column->varlevelsup == 0;
  return is_own && column->varattno > 0 ? column->varattno : static_cast<AttrNumber>(0);
}

/// Reads tid, item and filter from the view.
void read_view(Relation view, Relation table, KeptTable& kept) {
  const Oid oid = RelationGetRelid(view);
  auto* const query = static_cast<Query*>(copyObjectImpl(get_view_query(view)));
  const List* const from = query->jointree->fromlist;
  const bool plain = query->setOperations == nullptr && query->groupClause == NIL && query->groupingSets == NIL &&
                     query->havingQual == nullptr && query->distinctClause == NIL && query->cteList == NIL &&
                     query->limitCount == nullptr && query->limitOffset == nullptr && query->sortClause == NIL &&
                     !query->hasAggs && !query->hasWindowFuncs && !query->hasTargetSRFs && !query->hasSubLinks &&
                     list_length(from) == 1 && IsA(linitial(from), RangeTblRef) && list_length(query->targetList) == 2;
  if (!plain) refuse_companion(oid, RelationGetRelid(table), "it is no plain selection of two columns and rows");
  const int number = static_cast<RangeTblRef*>(linitial(from))->rtindex;
  const RangeTblEntry* const source = rt_fetch(number, query->rtable);
  if (source->rtekind != RTE_RELATION || source->relid != RelationGetRelid(table) || source->tablesample != nullptr)
    refuse_companion(oid, RelationGetRelid(table), "it reads another relation");
  kept.tid = table_column(query, 0, number);
  kept.item = table_column(query, 1, number);
  if (kept.tid == 0 || kept.item == 0)
    refuse_companion(oid, RelationGetRelid(table), "its columns are no columns of the table");
  Node* const filter = query->jointree->quals;
  if (filter != nullptr) {
    if (number != 1) ChangeVarNodes(filter, number, 1, 0);
    if (has_bad_column(filter, table))
      ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                      errmsg("filter of table \"%s\" reads more than columns of the row", RelationGetRelationName(table)),
                      errhint("Write a condition on columns of the table, without subqueries and system columns.")));
    if (contain_mutable_functions(filter))
      ereport(ERROR,
              (errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
               errmsg("functions in the filter of table \"%s\" must be marked IMMUTABLE", RelationGetRelationName(table)),
               errhint("The condition must always say the same of a row, as that of an index must.")));
  }
  kept.filter = filter;
}

/// Triggers see no values of virtual generated columns.
void check_columns(Relation table, const KeptTable& kept) {
  constexpr char kVirtual = 'v';
  const Bitmapset* const columns = read_columns(kept);
  for (int member = -1; (member = bms_next_member(columns, member)) >= 0;) {
    const Form_pg_attribute column = TupleDescAttr(RelationGetDescr(table), member + FirstLowInvalidHeapAttributeNumber - 1);
    if (column->attgenerated == kVirtual)
      ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                      errmsg("counts of the virtual column \"%s\" cannot be kept", NameStr(column->attname)),
                      errhint("Make it a stored generated column.")));
  }
}

KeptTable read_kept_table(Relation table, const Companions& companions) {
  KeptTable kept{};
  kept.table = RelationGetRelid(table);
  kept.owner = table->rd_rel->relowner;
  kept.companions = companions;
  const Relation view = open_companion(companions.rows, table, RELKIND_VIEW, {{"tid", InvalidOid}, {"item", InvalidOid}});
  read_view(view, table, kept);
  relation_close(view, NoLock);
  check_columns(table, kept);
  kept.tid_type = TupleDescAttr(RelationGetDescr(table), kept.tid - 1)->atttypid;
  kept.item_type = TupleDescAttr(RelationGetDescr(table), kept.item - 1)->atttypid;
  if (!is_item_type(kept.item_type, kept.has_texts))
    refuse_companion(companions.rows, kept.table, "items of this type are not counted");
  const Oid low = kept.has_texts ? TEXTOID : INT8OID;
  const Relation counts =
      open_companion(companions.counts, table, RELKIND_RELATION, {{"part", INT2OID}, {"low", low}, {"counts", InvalidOid}});
  if (!is_type_with_input(TupleDescAttr(RelationGetDescr(counts), 2)->atttypid, "batmap_pair_counts_in"))
    refuse_companion(companions.counts, kept.table, "it has other columns than it must");
  kept.counts_type = TupleDescAttr(RelationGetDescr(counts), 2)->atttypid;
  relation_close(counts, NoLock);
  kept.is_partitioned = table->rd_rel->relkind == RELKIND_PARTITIONED_TABLE;
  const ColumnType tid = {"tid", kept.tid_type};
  const ColumnType item = {"item", kept.item_type};
  const ColumnType change = {"change", INT2OID};
  const Relation log = kept.is_partitioned ? open_companion(companions.log, table, RELKIND_RELATION,
                                                            {tid, item, change, {"partition", OIDOID}})
                                           : open_companion(companions.log, table, RELKIND_RELATION, {tid, item, change});
  // Rows are appended without a look at indexes.
  if (RelationGetIndexList(log) != NIL)
    refuse_companion(companions.log, kept.table, "it has an index", "Drop the index: it would not be maintained.");
  relation_close(log, NoLock);
  int firing = 0;
  for (int k = 0; k < table->trigdesc->numtriggers; ++k) {
    const Trigger& trigger = table->trigdesc->triggers[k];
    // A look into the catalog may read the table's triggers anew.
    const bool fires_here = fires(trigger, kept.is_partitioned);
    if (is_keep_trigger(trigger)) firing += fires_here;
  }
  kept.all_fire = firing == (kept.is_partitioned ? kPartitionedTriggers : kTriggers);
  return kept;
}

/// The partitioned table that names the companions which a partition's copy of its trigger names.
/// @param[out] candidate  set to each table before it is looked at: then nothing about it goes unnoticed
Relation open_partitioned_table(Relation partition, const Companions& companions, Oid& candidate) {
  // Also of one that is being detached concurrently: get_partition_ancestors() would not name its table any more.
  for (Oid child = RelationGetRelid(partition); get_rel_relispartition(child); child = candidate) {
    candidate = get_partition_parent(child, true);
    const Relation table = relation_open(candidate, AccessShareLock);
    Companions named;
    bool is_copy;
    if (find_companions(table, named, &is_copy) && !is_copy && named.rows == companions.rows &&
        named.counts == companions.counts && named.log == companions.log)
      return table;
    relation_close(table, NoLock);
  }
  refuse_companion(companions.rows, RelationGetRelid(partition), "no table above this partition names it");
}

/// What a partition needs to know: the table's names of columns, and its filter, for the partition's own columns.
void map_to_partition(Relation table, Relation partition, KeptTable& kept) {
  for (AttrNumber* const column : {&kept.tid, &kept.item})
    *column = get_attnum(RelationGetRelid(partition), get_attname(RelationGetRelid(table), *column, false));
  if (kept.filter == nullptr) return;
  List* const filter = list_make1(const_cast<Node*>(kept.filter));
  kept.filter = static_cast<const Node*>(linitial(map_partition_varattnos(filter, 1, partition, table)));
}

// The cache of a session.

struct CachedTable {
  Oid table;  // the key
  bool valid;
  bool is_kept;
  MemoryContext context;
  KeptTable kept;
};

HTAB* cached_tables = nullptr;

void forget(Datum, Oid relation) {
  HASH_SEQ_STATUS status;
  hash_seq_init(&status, cached_tables);
  while (auto* const cached = static_cast<CachedTable*>(hash_seq_search(&status))) {
    const Companions& companions = cached->kept.companions;
    if (relation == InvalidOid || relation == cached->table || relation == cached->kept.table ||
        relation == companions.rows || relation == companions.counts || relation == companions.log)
      cached->valid = false;
  }
}

void make_cache() {
  HASHCTL control{};
  control.keysize = sizeof(Oid);
  control.entrysize = sizeof(CachedTable);
  cached_tables = hash_create("batmap kept tables", 16, &control, HASH_ELEM | HASH_BLOBS);
  CacheRegisterRelcacheCallback(forget, Datum{0});
}

}  // namespace

bool is_item_type(Oid type, bool& has_texts) {
  has_texts = !is_integer(type);
  const Oid base = getBaseType(type);
  return !has_texts || base == TEXTOID || base == VARCHAROID || base == UUIDOID;
}

/// The columns that are read, as pull_varattnos() numbers them.
Bitmapset* read_columns(const KeptTable& kept) {
  Bitmapset* columns = nullptr;
  pull_varattnos(const_cast<Node*>(kept.filter), 1, &columns);
  for (const AttrNumber column : {kept.tid, kept.item})
    columns = bms_add_member(columns, column - FirstLowInvalidHeapAttributeNumber);
  return columns;
}

const KeptTable* find_kept_table(Relation table) {
  if (cached_tables == nullptr) make_cache();
  const Oid oid = RelationGetRelid(table);
  bool found;
  auto* cached = static_cast<CachedTable*>(hash_search(cached_tables, &oid, HASH_ENTER, &found));
  if (!found) {
    cached->valid = false;
    cached->context = nullptr;
    cached->kept = {};
  }
  if (cached->valid && !cached->is_kept) return nullptr;
  if (cached->valid) {
    // As when they were checked: whoever has changed one is noticed now, and nobody can from here on.
    const Companions locked = cached->kept.companions;
    if (cached->kept.table != oid) LockRelationOid(cached->kept.table, AccessShareLock);
    for (const Oid companion : {locked.rows, locked.counts, locked.log}) LockRelationOid(companion, AccessShareLock);
    cached = static_cast<CachedTable*>(hash_search(cached_tables, &oid, HASH_FIND, nullptr));
    if (cached->valid) return &cached->kept;
  }
  if (cached->context != nullptr) MemoryContextReset(cached->context);
  cached->kept = {};
  // Set first: if the catalog changes while it is read, this is noticed.
  cached->valid = true;
  Companions companions;
  bool is_kept = false;
  KeptTable kept{};
  PG_TRY();
  {
    bool is_copy = false;
    is_kept = find_companions(table, companions, &is_copy);
    if (is_kept) {
      cached->kept.companions = companions;
      if (!is_copy) {
        kept = read_kept_table(table, companions);
      } else {
        const Relation partitioned = open_partitioned_table(table, companions, cached->kept.table);
        kept = read_kept_table(partitioned, companions);
        map_to_partition(partitioned, table, kept);
        relation_close(partitioned, NoLock);
      }
    }
  }
  PG_CATCH();
  {
    cached->valid = false;
    PG_RE_THROW();
  }
  PG_END_TRY();
  cached->is_kept = is_kept;
  if (!is_kept) return nullptr;
  if (kept.filter != nullptr) {
    if (cached->context == nullptr)
      cached->context = AllocSetContextCreate(CacheMemoryContext, "batmap kept table", ALLOCSET_SMALL_SIZES);
    const MemoryContext caller = MemoryContextSwitchTo(cached->context);
    kept.filter = static_cast<const Node*>(copyObjectImpl(kept.filter));
    MemoryContextSwitchTo(caller);
  }
  cached->kept = kept;
  return &cached->kept;
}

const KeptTable* find_kept_table_quietly(Relation table) {
  const KeptTable* kept = nullptr;
  ErrorData* const error = error_of([&] { kept = find_kept_table(table); });
  if (error == nullptr) return kept;
  // Only what this looks for is no error: a cancelled statement ends.
  if (error->sqlerrcode != ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE && error->sqlerrcode != ERRCODE_FEATURE_NOT_SUPPORTED &&
      error->sqlerrcode != ERRCODE_INVALID_OBJECT_DEFINITION)
    ReThrowError(error);
  FreeErrorData(error);
  return nullptr;
}

bool has_index(Relation table, AttrNumber column) {
  bool found = false;
  const ListCell* cell;
  foreach (cell, RelationGetIndexList(table)) {
    const Relation index = index_open(lfirst_oid(cell), AccessShareLock);
    const Form_pg_index form = index->rd_index;
    found |= form->indisvalid && form->indnkeyatts > 0 && form->indkey.values[0] == column &&
             heap_attisnull(index->rd_indextuple, Anum_pg_index_indpred, nullptr) &&
             (index->rd_rel->relam == BTREE_AM_OID || index->rd_rel->relam == HASH_AM_OID);
    index_close(index, AccessShareLock);
  }
  return found;
}

const char* table_literal(Oid table) {
  return quote_literal_cstr(DatumGetCString(DirectFunctionCall1(regclassout, ObjectIdGetDatum(table))));
}

const char* as_item(const char* column, bool has_texts) {
  return psprintf("%s::pg_catalog.%s", column, has_texts ? "text" : "int8");
}

AsOwner::AsOwner(Oid owner, bool safe_path) {
  GetUserIdAndSecContext(&user_, &context_);
  SetUserIdAndSecContext(owner, context_ | SECURITY_LOCAL_USERID_CHANGE | SECURITY_RESTRICTED_OPERATION);
  settings_ = NewGUCNestLevel();
  const auto set = [](const char* name, const char* value) {
    set_config_option(name, value, PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
  };
  if (safe_path) set("search_path", "pg_catalog, pg_temp");
  // The look-ups of a log in many partitions would be compiled for minutes, to run for milliseconds.
  set("jit", "off");
}

AsOwner::AsOwner(const KeptTable& kept) : AsOwner(kept.owner) {
  const Oid companions[3] = {kept.companions.rows, kept.companions.counts, kept.companions.log};
  for (int k = 0; k < 3; ++k) companions_[k] = relation_open(companions[k], AccessShareLock);
}

void AsOwner::end() {
  for (const Relation companion : companions_)
    if (companion != nullptr) relation_close(companion, NoLock);
  AtEOXact_GUC(false, settings_);
  SetUserIdAndSecContext(user_, context_);
}

}  // namespace batmap::pg
