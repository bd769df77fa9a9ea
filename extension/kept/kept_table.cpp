// Reads the catalog about kept tables. See kept_table.h.
#include "extension/kept/kept_table.h"

#include <cstring>
#include <initializer_list>

#include "extension/server/own_function.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

/// The columns of pg_depend by which an index finds a relation.
struct DependencySide {
  Oid index;
  AttrNumber class_column;
  AttrNumber object_column;
};
constexpr DependencySide kDepends = {DependDependerIndexId, Anum_pg_depend_classid, Anum_pg_depend_objid};
constexpr DependencySide kIsDependedOn = {DependReferenceIndexId, Anum_pg_depend_refclassid, Anum_pg_depend_refobjid};

/// Calls visit(row) for the rows of pg_depend that have a relation on this side.
template <typename Visit>
void visit_dependencies(const DependencySide& side, Oid relation, Visit visit) {
  const Relation depend = table_open(DependRelationId, AccessShareLock);
  ScanKeyData keys[2];
  ScanKeyInit(&keys[0], side.class_column, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(RelationRelationId));
  ScanKeyInit(&keys[1], side.object_column, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(relation));
  const SysScanDesc scan = systable_beginscan(depend, side.index, true, nullptr, 2, keys);
  while (const HeapTuple tuple = systable_getnext(scan)) visit(*reinterpret_cast<Form_pg_depend>(GETSTRUCT(tuple)));
  systable_endscan(scan);
  table_close(depend, AccessShareLock);
}

}  // namespace

Oid tied_table(Oid relation) {
  Oid table = InvalidOid;
  visit_dependencies(kDepends, relation, [&](const FormData_pg_depend& row) {
    if (row.refclassid == RelationRelationId && row.refobjsubid == 0 && row.deptype == DEPENDENCY_AUTO) table = row.refobjid;
  });
  return table;
}

namespace {

constexpr const char* kChangeFunction = "batmap_keep_changes";  // in the library
constexpr const char* kAgain = "Call batmap_unkeep and batmap_keep again.";

bool is_ours(const Trigger& trigger) { return is_function(trigger.tgfoid, kChangeFunction); }

struct FoundRelations {
  Oid oids[3];
  int count = 0;
};

bool find_relations(Node* node, void* found_relations) {
  if (node == nullptr) return false;
  auto* const found = static_cast<FoundRelations*>(found_relations);
  if (IsA(node, Const)) {
    const auto* const constant = castNode(Const, node);
    if (constant->consttype == REGCLASSOID && !constant->constisnull && found->count < 3)
      found->oids[found->count++] = DatumGetObjectId(constant->constvalue);
    return false;
  }
  return expression_tree_walker(node, walker(find_relations), found_relations);
}

[[noreturn]] void refuse_companion(Oid companion, Oid table, const char* reason, const char* hint = kAgain) {
  const char* const name = get_rel_name(companion);
  ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                  errmsg("\"%s\" is no companion of table \"%s\": %s", name != nullptr ? name : "(dropped)",
                         get_rel_name(table), reason),
                  errhint("%s", hint)));
  pg_unreachable();
}

struct ColumnType {
  const char* name;
  Oid type;
};

/// Whether a trigger is the copy that a partition has of that of its table.
bool is_copied_trigger(Oid trigger) {
  ScanKeyData key;
  ScanKeyInit(&key, Anum_pg_trigger_oid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(trigger));
  const Relation triggers = table_open(TriggerRelationId, AccessShareLock);
  const SysScanDesc scan = systable_beginscan(triggers, TriggerOidIndexId, true, nullptr, 1, &key);
  const HeapTuple tuple = systable_getnext(scan);
  const bool is_copy =
      HeapTupleIsValid(tuple) && OidIsValid(reinterpret_cast<Form_pg_trigger>(GETSTRUCT(tuple))->tgparentid);
  systable_endscan(scan);
  table_close(triggers, AccessShareLock);
  return is_copy;
}

/// How many row triggers of kept tables name a relation, each in its condition. Those of partitions do not count.
int naming_triggers(Oid relation) {
  int count = 0;
  visit_dependencies(kIsDependedOn, relation, [&](const FormData_pg_depend& row) {
    count += row.classid == TriggerRelationId && !is_copied_trigger(row.objid);
  });
  return count;
}

/// Opens a companion and checks that it is what batmap_keep makes. Until the end of the transaction nobody else changes it.
Relation open_companion(Oid companion, Relation table, char kind, std::initializer_list<ColumnType> columns) {
  const Relation relation = try_relation_open(companion, AccessShareLock);
  const Oid table_oid = RelationGetRelid(table);
  if (relation == nullptr) refuse_companion(companion, table_oid, "it is not there");
  if (relation->rd_rel->relkind != kind) refuse_companion(companion, table_oid, "it is of another kind");
  if (relation->rd_rel->relowner != table->rd_rel->relowner)
    refuse_companion(companion, table_oid, "it has another owner than the table");
  // What comes from a dump is not tied to the table before the first merge.
  const Oid tied = tied_table(companion);
  if (OidIsValid(tied) ? tied != table_oid : naming_triggers(companion) != 1)
    refuse_companion(companion, table_oid, "it may belong to another table");
  if (relation->rd_rel->relpersistence != RELPERSISTENCE_PERMANENT)
    refuse_companion(companion, table_oid,
                     relation->rd_rel->relpersistence == RELPERSISTENCE_TEMP ? "it is temporary"
                                                                             : "it is unlogged, so a crash would empty it");
  const TupleDesc has = RelationGetDescr(relation);
  bool same = has->natts == static_cast<int>(columns.size());
  int index = 0;
  for (const ColumnType& column : columns) {
    if (!same) break;
    const Form_pg_attribute is = TupleDescAttr(has, index++);
    same = !is->attisdropped && strcmp(NameStr(is->attname), column.name) == 0 &&
           (!OidIsValid(column.type) || is->atttypid == column.type);
  }
  if (!same) refuse_companion(companion, table_oid, "it has other columns than it must");
  return relation;
}

/// Whether a relation looks like a companion, whatever its table is.
bool has_columns(Oid oid, char kind, std::initializer_list<const char*> names) {
  if (get_rel_relkind(oid) != kind) return false;
  AttrNumber number = 0;
  for (const char* const name : names) {
    const char* const column = get_attname(oid, ++number, true);
    if (column == nullptr || strcmp(column, name) != 0) return false;
  }
  if (get_attname(oid, ++number, true) != nullptr) return false;
  return true;
}

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

/// The columns that are read, as pull_varattnos() numbers them.
Bitmapset* read_columns(const KeptTable& kept) {
  Bitmapset* columns = nullptr;
  pull_varattnos(const_cast<Node*>(kept.filter), 1, &columns);
  for (const AttrNumber column : {kept.tid, kept.item})
    columns = bms_add_member(columns, column - FirstLowInvalidHeapAttributeNumber);
  return columns;
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

// ---- the cache of a session

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

bool is_keep_trigger(const Trigger& trigger) {
  for (const char* const name :
       {kRowTrigger, kInsertTrigger, kUpdateTrigger, kDeleteTrigger, kTruncateTrigger, kAloneTrigger})
    if (strcmp(trigger.tgname, name) == 0) return is_ours(trigger);
  return false;
}

List* droppable_companions(Relation table, const Companions& companions) {
  List* found = NIL;
  // What comes from a dump is not tied to the table before the first merge.
  const bool in_order = find_kept_table_quietly(table) != nullptr;
  const auto add = [&](Oid companion, char kind, std::initializer_list<const char*> columns) {
    if (has_columns(companion, kind, columns) && naming_triggers(companion) == 1 &&
        (in_order || tied_table(companion) == RelationGetRelid(table)))
      found = lappend_oid(found, companion);
  };
  add(companions.rows, RELKIND_VIEW, {"tid", "item"});
  add(companions.counts, RELKIND_RELATION, {"part", "low", "counts"});
  if (table->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
    add(companions.log, RELKIND_RELATION, {"tid", "item", "change", "partition"});
  else
    add(companions.log, RELKIND_RELATION, {"tid", "item", "change"});
  return found;
}

void check_children(Relation table) {
  if (!table->rd_rel->relhassubclass || find_inheritance_children(RelationGetRelid(table), NoLock) == NIL) return;
  ereport(ERROR,
          (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
           errmsg("rows of table \"%s\", whose counts are kept, cannot be changed while it has children",
                  RelationGetRelationName(table)),
           errdetail("Rows of the children are not counted, but a statement would change them, too."),
           errhint("ALTER TABLE child NO INHERIT %s, or call batmap_unkeep.", qualified_name(RelationGetRelid(table)))));
}

bool is_integer_type(Oid type) {
  const Oid base = getBaseType(type);
  return base == INT2OID || base == INT4OID || base == INT8OID;
}

bool is_item_type(Oid type, bool& has_texts) {
  has_texts = !is_integer_type(type);
  const Oid base = getBaseType(type);
  return !has_texts || base == TEXTOID || base == VARCHAROID || base == UUIDOID;
}

bool fires(const Trigger& trigger, bool is_partitioned) {
  if (strcmp(trigger.tgname, kAloneTrigger) == 0) return trigger.tgnewtable != nullptr;
  if (strcmp(trigger.tgname, kTruncateTrigger) == 0) return trigger.tgenabled == TRIGGER_FIRES_ALWAYS;
  if (strcmp(trigger.tgname, kRowTrigger) == 0)
    return trigger.tgenabled == TRIGGER_FIRES_ALWAYS || (!is_partitioned && trigger.tgenabled == TRIGGER_FIRES_ON_REPLICA);
  return trigger.tgenabled == TRIGGER_FIRES_ON_ORIGIN || trigger.tgenabled == TRIGGER_FIRES_ALWAYS;
}

bool find_companions(Relation table, Companions& companions, bool* is_copy) {
  if (table->trigdesc == nullptr) return false;
  for (int k = 0; k < table->trigdesc->numtriggers; ++k) {
    const Trigger& trigger = table->trigdesc->triggers[k];
    if (strcmp(trigger.tgname, kRowTrigger) != 0 || trigger.tgqual == nullptr) continue;
    // A look into the catalog may read the table's triggers anew.
    const char* const condition = pstrdup(trigger.tgqual);
    const bool is_clone = trigger.tgisclone;
    if (!is_ours(trigger)) continue;
    if (is_copy != nullptr) *is_copy = is_clone;
    FoundRelations found;
    find_relations(static_cast<Node*>(stringToNode(condition)), &found);
    if (found.count != 3) return false;
    companions = {found.oids[0], found.oids[1], found.oids[2]};
    return true;
  }
  return false;
}

const char* renamed_row_trigger(Relation table) {
  for (int k = 0; table->trigdesc != nullptr && k < table->trigdesc->numtriggers; ++k) {
    const Trigger trigger = table->trigdesc->triggers[k];
    if (!TRIGGER_FOR_ROW(trigger.tgtype) || trigger.tgqual == nullptr) continue;
    FoundRelations found;
    find_relations(static_cast<Node*>(stringToNode(trigger.tgqual)), &found);
    // A look into the catalog may read the table's triggers anew.
    const char* const name = pstrdup(trigger.tgname);
    if (found.count == 3 && strcmp(name, kRowTrigger) != 0 && is_ours(trigger)) return name;
  }
  return nullptr;
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
  const MemoryContext caller = CurrentMemoryContext;
  const ResourceOwner owner = CurrentResourceOwner;
  const KeptTable* volatile kept = nullptr;
  BeginInternalSubTransaction(nullptr);
  MemoryContextSwitchTo(caller);
  PG_TRY();
  {
    kept = find_kept_table(table);
    ReleaseCurrentSubTransaction();
  }
  PG_CATCH();
  {
    MemoryContextSwitchTo(caller);
    ErrorData* const error = CopyErrorData();
    FlushErrorState();
    RollbackAndReleaseCurrentSubTransaction();
    // Only what this looks for is no error: a cancelled statement ends.
    if (error->sqlerrcode != ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE &&
        error->sqlerrcode != ERRCODE_FEATURE_NOT_SUPPORTED && error->sqlerrcode != ERRCODE_INVALID_OBJECT_DEFINITION)
      ReThrowError(error);
    FreeErrorData(error);
  }
  PG_END_TRY();
  MemoryContextSwitchTo(caller);
  CurrentResourceOwner = owner;
  return kept;
}

namespace {

enum class Subscription { kNone, kCopying, kReady };

Subscription subscription_of(Oid relation) {
  CatCList* const found = SearchSysCacheList1(SUBSCRIPTIONRELMAP, ObjectIdGetDatum(relation));
  Subscription state = found->n_members > 0 ? Subscription::kReady : Subscription::kNone;
  for (int k = 0; k < found->n_members; ++k) {
    const auto* const form = reinterpret_cast<Form_pg_subscription_rel>(GETSTRUCT(&found->members[k]->tuple));
    if (form->srsubstate != SUBREL_STATE_READY) state = Subscription::kCopying;
  }
  ReleaseSysCacheList(found);
  return state;
}

/// Whether subscriptions write to some of companions and table, but not to all, or still copy one.
bool is_partly_subscribed(const KeptTable& kept) {
  if (!is_subscribed(kept.companions)) return false;
  // The rows of a partitioned table come to it or to its partitions.
  return subscription_of(kept.companions.log) != Subscription::kReady ||
         subscription_of(kept.companions.counts) != Subscription::kReady ||
         (!kept.is_partitioned && subscription_of(kept.table) != Subscription::kReady);
}

}  // namespace

bool is_subscribed(const Companions& companions) {
  return subscription_of(companions.log) != Subscription::kNone || subscription_of(companions.counts) != Subscription::kNone;
}

bool is_being_changed(Relation relation, int own) {
  const Oid oid = RelationGetRelid(relation);
  if (!CheckRelationLockedByMe(relation, RowExclusiveLock, true)) return false;
  // Its executor has the table open, or it has events of triggers left.
  return relation->rd_refcnt > own || AfterTriggerPendingOnRel(oid);
}

bool is_being_changed(const KeptTable& kept) {
  List* const relations =
      kept.is_partitioned ? find_all_inheritors(kept.table, NoLock, nullptr) : list_make1_oid(kept.table);
  const ListCell* cell;
  foreach (cell, relations) {
    const Relation relation = try_relation_open(lfirst_oid(cell), AccessShareLock);
    if (relation == nullptr) continue;  // a partition that was dropped meanwhile
    const bool is_changed = is_being_changed(relation, 1);
    relation_close(relation, AccessShareLock);
    if (is_changed) return true;
  }
  return false;
}

namespace {

FullTransactionId logging_transaction;  // the last one of this session that wrote to a log
CommandId last_logged;                  // its command that did

}  // namespace

void note_logged_rows() {
  logging_transaction = GetTopFullTransactionId();
  last_logged = GetCurrentCommandId(false);
}

bool may_miss_log(Snapshot snapshot) {
  return FullTransactionIdIsValid(logging_transaction) &&
         FullTransactionIdEquals(logging_transaction, GetTopFullTransactionIdIfAny()) && snapshot->curcid <= last_logged;
}

const KeptTable* kept_table_or_none(Relation table) {
  const Form_pg_class form = table->rd_rel;
  Companions companions;
  if (IsInParallelMode() || form->relkind != RELKIND_RELATION || form->relispartition || form->relrowsecurity ||
      form->relhassubclass || form->relpersistence != RELPERSISTENCE_PERMANENT || !find_companions(table, companions) ||
      has_superclass(RelationGetRelid(table)))
    return nullptr;
  const KeptTable* const kept = find_kept_table_quietly(table);
  return kept != nullptr && kept->all_fire && !is_partly_subscribed(*kept) ? kept : nullptr;
}

namespace {

void check_owner(Oid table) {
  const char* const name = get_rel_name(table);
  if (name == nullptr || owns_relation(table)) return;
  ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE), errmsg("must be owner of table \"%s\"", name),
                  errhint("Only its owner may keep, merge and check its counts.")));
}

}  // namespace

Relation open_own_table(Oid oid, LOCKMODE lock) {
  check_owner(oid);
  const Relation table = relation_open(oid, lock);
  check_owner(oid);  // it may have changed hands meanwhile
  return table;
}

void check_kind(Relation table) {
  const char* const name = RelationGetRelationName(table);
  const char* what = nullptr;
  const char* hint = "Keep an ordinary table.";
  switch (table->rd_rel->relkind) {
    case RELKIND_RELATION:
    case RELKIND_PARTITIONED_TABLE: break;
    case RELKIND_FOREIGN_TABLE: what = "a foreign table, which changes without a trigger"; break;
    case RELKIND_VIEW: what = "a view, which has no changes of its own"; break;
    case RELKIND_MATVIEW: what = "a materialized view, which is refreshed without a trigger"; break;
    default: what = "no table";
  }
  if (what == nullptr && table->rd_rel->relispartition) {
    what = "a partition";
    hint = "Keep the partitioned table.";
  }
  if (what == nullptr && table->rd_rel->relkind == RELKIND_RELATION &&
      (has_superclass(RelationGetRelid(table)) || find_inheritance_children(RelationGetRelid(table), NoLock) != NIL))
    what = "part of an inheritance tree, whose tables change without a trigger on the others";
  if (what == nullptr && table->rd_rel->relpersistence != RELPERSISTENCE_PERMANENT) {
    what = table->rd_rel->relpersistence == RELPERSISTENCE_TEMP ? "a temporary table"
                                                                : "an unlogged table, which a crash empties";
    hint = "Keep a permanent table.";
  }
  if (what == nullptr && IsCatalogRelation(table)) what = "a table of the catalog";
  if (what == nullptr) return;
  ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE), errmsg("counts of \"%s\" cannot be kept: it is %s", name, what),
                  errhint("%s", hint)));
}

const char* table_literal(Oid table) {
  return quote_literal_cstr(DatumGetCString(DirectFunctionCall1(regclassout, ObjectIdGetDatum(table))));
}

namespace {

[[noreturn]] void raise_not_kept(Relation table) {
  ereport(ERROR,
          (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
           errmsg("counts of table \"%s\" are not kept", RelationGetRelationName(table)),
           errhint("A function counts the rows if you name two columns behind the table. Its owner can keep the counts: "
                   "batmap_keep(%s, tid, item).",
                   table_literal(RelationGetRelid(table)))));
  pg_unreachable();
}

KeptTable checked_kept_table(Relation table) {
  const KeptTable* const found = find_kept_table(table);
  if (found == nullptr) {
    check_kind(table);
    raise_not_kept(table);
  }
  check_kind(table);
  const KeptTable kept = *found;
  if (!kept.all_fire)
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("a trigger of the kept table \"%s\" is missing or disabled", RelationGetRelationName(table)),
                    errdetail("Changes may be missing from its counts."), errhint("%s", kAgain)));
  if (is_partly_subscribed(kept))
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("the replication of the counts of table \"%s\" is not complete", RelationGetRelationName(table)),
                    errdetail("A subscription must write to the table, to its kept counts and to their log."),
                    errhint("pg_subscription_rel shows the state of each.")));
  if (check_enable_rls(kept.table, kept.owner, true) == RLS_ENABLED)
    ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                    errmsg("row-level security of table \"%s\" applies to its owner", RelationGetRelationName(table)),
                    errdetail("The owner does not see the rows that are counted."),
                    errhint("ALTER TABLE ... NO FORCE ROW LEVEL SECURITY, or batmap_unkeep.")));
  return kept;
}

bool may_read_columns(const KeptTable& kept) {
  if (may_select(kept.table)) return true;
  const Bitmapset* const columns = read_columns(kept);
  for (int member = -1; (member = bms_next_member(columns, member)) >= 0;)
    if (!may_select_column(kept.table, static_cast<AttrNumber>(member + FirstLowInvalidHeapAttributeNumber))) return false;
  return true;
}

}  // namespace

KeptTable kept_table_to_read(Oid oid) {
  const Relation table = relation_open(oid, AccessShareLock);
  // Rights first, so that nothing else is told.
  if (!may_select(oid) && !may_select_any_column(oid))
    aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_TABLE, RelationGetRelationName(table));
  const KeptTable kept = checked_kept_table(table);
  if (!may_read_columns(kept)) aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_TABLE, RelationGetRelationName(table));
  if (check_enable_rls(oid, InvalidOid, true) == RLS_ENABLED)
    ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                    errmsg("row-level security of table \"%s\" applies to role \"%s\"", RelationGetRelationName(table),
                           GetUserNameFromId(GetUserId(), false)),
                    errdetail("Kept counts are of all rows."),
                    errhint("Give a query to the function: it counts the rows that the role may see.")));
  relation_close(table, NoLock);
  return kept;
}

KeptTable kept_table_to_change(Oid oid) {
  const Relation table = open_own_table(oid, AccessShareLock);
  const KeptTable kept = checked_kept_table(table);
  relation_close(table, NoLock);
  return kept;
}

bool has_index(Relation table, AttrNumber column) {
  bool found = false;
  const ListCell* cell;
  foreach (cell, RelationGetIndexList(table)) {
    const Relation index = index_open(lfirst_oid(cell), AccessShareLock);
    const Form_pg_index form = index->rd_index;
    found |= form->indisvalid && form->indnkeyatts > 0 && form->indkey.values[0] == column &&
             RelationGetIndexPredicate(index) == NIL &&
             (index->rd_rel->relam == BTREE_AM_OID || index->rd_rel->relam == HASH_AM_OID);
    index_close(index, AccessShareLock);
  }
  return found;
}

const char* qualified_name(Oid relation) {
  return quote_qualified_identifier(get_namespace_name(get_rel_namespace(relation)), get_rel_name(relation));
}

const char* as_item(const char* column, bool has_texts) {
  return psprintf("%s::pg_catalog.%s", column, has_texts ? "text" : "int8");
}

AsOwner::AsOwner(Oid owner, bool safe_path) {
  GetUserIdAndSecContext(&user_, &context_);
  SetUserIdAndSecContext(owner, context_ | SECURITY_LOCAL_USERID_CHANGE | SECURITY_RESTRICTED_OPERATION);
  settings_ = NewGUCNestLevel();
  if (safe_path)
    set_config_option("search_path", "pg_catalog, pg_temp", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
}

void AsOwner::end() {
  AtEOXact_GUC(false, settings_);
  SetUserIdAndSecContext(user_, context_);
}

}  // namespace batmap::pg
